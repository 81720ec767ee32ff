/* SPDX-License-Identifier: MIT */
#include "service/http/http_result.h"

#include "service/http/http_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *result_warning(const struct variant *v, uint32_t i)
{
	static const struct {
		uint32_t note;
		const char *text;
	} table[RESULT_WARNINGS] = {
		{ IMG_NOTE_DAMAGED,
		  "the file is damaged; some of the picture is missing" },
		{ IMG_NOTE_BAD_PROFILE,
		  "its ICC profile is broken and was ignored" },
	};

	return v->notes & table[i].note ? table[i].text : NULL;
}

void result_print_colour(char out[RESULT_COLOUR_CHARS],
			 const struct img_placeholder *p)
{
	(void)snprintf(out, RESULT_COLOUR_CHARS, "#%02x%02x%02x",
		       p->dominant[0], p->dominant[1], p->dominant[2]);
}

void result_print_upload(FILE *out, const struct upload *u)
{
	struct img_size size = u->header.upright;
	char colour[RESULT_COLOUR_CHARS];

	(void)fprintf(out,
		      "\"source\":{\"width\":%" PRIu32 ",\"height\":%" PRIu32
		      ",\"bytes\":%zu}",
		      size.width_px, size.height_px, u->jpeg_bytes);
	if (!u->wants_placeholder)
		return;
	result_print_colour(colour, &u->placeholder);
	(void)fprintf(out,
		      ",\"placeholder\":{\"blurhash\":\"%s\","
		      "\"dominant_color\":\"%s\"}",
		      u->placeholder.blurhash, colour);
}

void result_print_variant(FILE *out, const struct variant *v, const char *name)
{
	const char *comma = "", *warning;

	(void)fprintf(out,
		      "\"name\":\"%s\",\"type\":\"" RESULT_TYPE
		      "\",\"width\":%" PRIu32 ",\"height\":%" PRIu32
		      ",\"bytes\":%zu,\"warnings\":[",
		      name, v->size.width_px, v->size.height_px, v->jpeg_bytes);
	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		warning = result_warning(v, i);
		if (warning == NULL)
			continue;
		(void)fprintf(out, "%s\"%s\"", comma, warning);
		comma = ",";
	}
	(void)fputc(']', out);
}

/* One alone, with Warning headers (RFC 7234, 5.5). */
static struct MHD_Response *picture(const struct variant *v)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		v->jpeg_bytes, v->jpeg, MHD_RESPMEM_PERSISTENT);

	if (response == NULL)
		return NULL;
	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		const char *warning = result_warning(v, i);
		char text[128];

		if (warning == NULL)
			continue;
		(void)snprintf(text, sizeof(text), "199 darkroom \"%s\"",
			       warning);
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_WARNING,
					      text);
	}
	return response;
}

static void add_placeholder(const struct upload *u,
			    struct MHD_Response *response)
{
	char colour[RESULT_COLOUR_CHARS];

	if (!u->wants_placeholder)
		return;
	result_print_colour(colour, &u->placeholder);
	(void)MHD_add_response_header(response, "X-Blurhash",
				      u->placeholder.blurhash);
	(void)MHD_add_response_header(response, "X-Dominant-Color", colour);
}

/* Does Accept name it?  Wildcards do not. */
static bool accepts_json(const struct request *r)
{
	static const char json[] = "application/json";
	const char *at = MHD_lookup_connection_value(
		r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

	for (; at != NULL; at = strchr(at, ',')) {
		at += strspn(at, ", \t");
		if (strncasecmp(at, json, sizeof(json) - 1) == 0 &&
		    strchr(",; \t", at[sizeof(json) - 1]) != NULL)
			return true;
	}
	return false;
}

enum MHD_Result http_reply_result(struct request *r)
{
	const struct upload *u = &r->upload;
	char parts_type[RESULT_PARTS_TYPE_CHARS];
	const char *type;
	struct MHD_Response *response;

	if (accepts_json(r)) {
		type = "application/json";
		response = result_json(u);
	} else if (u->variant_count > 1) {
		type = parts_type;
		response = result_parts(u, parts_type);
	} else {
		type = RESULT_TYPE;
		response = picture(&u->variants[0]);
	}
	if (response == NULL)
		return MHD_NO;
	add_placeholder(u, response);
	return http_reply(r, MHD_HTTP_OK, type, response);
}
