/* SPDX-License-Identifier: MIT */
#include "service/http/http_result.h"

#include "service/http/http_reply.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A sentence without its full stop; NULL: it has not the `i`th of them. */
static const char *warning_text(const struct variant *v, uint32_t i)
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

bool result_warning(char out[RESULT_WARNING_CHARS], const struct variant *v,
		    uint32_t i)
{
	const char *text = warning_text(v, i);

	if (text == NULL)
		return false;
	(void)snprintf(out, RESULT_WARNING_CHARS, "199 darkroom \"%s\"", text);
	return true;
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
		warning = warning_text(v, i);
		if (warning == NULL)
			continue;
		(void)fprintf(out, "%s\"%s\"", comma, warning);
		comma = ",";
	}
	(void)fputc(']', out);
}

/* One alone, with Warning headers. */
static struct MHD_Response *picture(struct request *r, const struct variant *v)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		v->jpeg_bytes, v->jpeg, MHD_RESPMEM_PERSISTENT);

	if (response == NULL)
		return NULL;
	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		char text[RESULT_WARNING_CHARS];

		if (result_warning(text, v, i))
			http_add_header(r, response, MHD_HTTP_HEADER_WARNING,
					text);
	}
	return response;
}

static void add_placeholder(struct request *r, struct MHD_Response *response)
{
	const struct upload *u = &r->upload;
	char colour[RESULT_COLOUR_CHARS];

	if (!u->wants_placeholder)
		return;
	result_print_colour(colour, &u->placeholder);
	http_add_header(r, response, "X-Blurhash", u->placeholder.blurhash);
	http_add_header(r, response, "X-Dominant-Color", colour);
}

/* Is there a weight of 0 among these parameters, up to a comma? */
static bool is_unwanted(const char *at)
{
	for (at = strpbrk(at, ";,"); at != NULL && *at == ';';
	     at = strpbrk(at, ";,")) {
		at += 1 + strspn(at + 1, " \t");
		if (strncasecmp(at, "q=0", 3) == 0) {
			at += 3 + strspn(at + 3, ".0");
			return !isdigit((unsigned char)*at);
		}
	}
	return false;
}

/* A value of Accept.  Wildcards do not name it. */
static bool names_json(const char *at)
{
	static const char json[] = "application/json";

	for (; at != NULL; at = strchr(at, ',')) {
		at += strspn(at, ", \t");
		if (strncasecmp(at, json, sizeof(json) - 1) == 0 &&
		    strchr(",; \t", at[sizeof(json) - 1]) != NULL &&
		    !is_unwanted(at))
			return true;
	}
	return false;
}

/* An MHD_KeyValueIterator, ended by what accepts it. */
static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	bool *accepts_json = cls;

	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) == 0)
		*accepts_json = names_json(value);
	return *accepts_json ? MHD_NO : MHD_YES;
}

static bool accepts_json(const struct request *r)
{
	bool accepts = false;

	(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND,
					on_header, &accepts);
	return accepts;
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
		response = picture(r, &u->variants[0]);
	}
	if (response == NULL)
		return MHD_NO;
	add_placeholder(r, response);
	return http_reply(r, MHD_HTTP_OK, type, response);
}
