/* SPDX-License-Identifier: MIT */
/*
 * Replies with the results of an upload: one picture as it is, several as
 * multipart/mixed (RFC 2046, 5.1.1), or all as JSON, if Accept asks for it.
 * The pictures are sent from where they are; JSON is written while it is sent,
 * with the pictures in base64.
 */
#include "service/http/request.h"
#include "service/http/result.h"

#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include <nettle/base64.h>

enum {
	RESULT_WARNINGS = 2, /* the most that a picture can have */
	RESULT_WARNING_CHARS = 128,
	RESULT_COLOUR_CHARS = 8, /* "#rrggbb" */
	RESULT_PARTS_TYPE_CHARS = 80,
};

/* A sentence without its full stop; NULL: there is no `i`th warning. */
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

/* Of a Warning header (RFC 7234, 5.5).  False: there is no `i`th warning. */
static bool result_warning(char out[RESULT_WARNING_CHARS],
			   const struct variant *v, uint32_t i)
{
	const char *text = warning_text(v, i);

	if (text == NULL)
		return false;
	(void)snprintf(out, RESULT_WARNING_CHARS, "199 darkroom \"%s\"", text);
	return true;
}

static void result_print_colour(char out[RESULT_COLOUR_CHARS],
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
	if (!u->wants.placeholder)
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

/* One picture, with Warning headers. */
static struct MHD_Response *picture(struct request *r, const struct variant *v)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		v->jpeg_bytes, v->jpeg, MHD_RESPMEM_PERSISTENT);

	if (response == NULL)
		return NULL;
	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		char text[RESULT_WARNING_CHARS];

		if (result_warning(text, v, i))
			reply_add_header(r, response, MHD_HTTP_HEADER_WARNING,
					 text);
	}
	return response;
}

static void add_placeholder(struct request *r, struct MHD_Response *response)
{
	const struct upload *u = &r->upload;
	char colour[RESULT_COLOUR_CHARS];

	if (!u->wants.placeholder)
		return;
	result_print_colour(colour, &u->placeholder);
	reply_add_header(r, response, "X-Blurhash", u->placeholder.blurhash);
	reply_add_header(r, response, "X-Dominant-Color", colour);
}

/*
 * A piece of a text that is written while it is sent: characters, or bytes to
 * be encoded in base64 (RFC 4648), so that the text itself takes no memory.
 */
struct base64_piece {
	const void *bytes; /* lent */
	size_t count;
	bool is_encoded; /* else they are characters as they are */
};

enum { GROUP_BYTES = 3, GROUP_CHARS = 4 };

static uint64_t base64_piece_chars(const struct base64_piece *p)
{
	return p->is_encoded ? BASE64_ENCODE_RAW_LENGTH((uint64_t)p->count) :
			       p->count;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A part of one group of characters: the last one, or all that fit. */
static size_t base64_read_group(const uint8_t *bytes, size_t count,
				size_t skipped, char *out, size_t max)
{
	char group[GROUP_CHARS];
	size_t taken = least(GROUP_CHARS - skipped, max);

	base64_encode_raw(group, least(count, GROUP_BYTES), bytes);
	memcpy(out, group + skipped, taken);
	return taken;
}

static size_t base64_read(const struct base64_piece *p, uint64_t offset,
			  char *out, size_t max)
{
	size_t from = (size_t)(offset / GROUP_CHARS) * GROUP_BYTES;
	size_t skipped = offset % GROUP_CHARS;
	const uint8_t *bytes = (const uint8_t *)p->bytes + from;
	size_t groups =
		least(max / GROUP_CHARS, (p->count - from) / GROUP_BYTES);

	if (skipped > 0 || groups == 0)
		return base64_read_group(bytes, p->count - from, skipped, out,
					 max);
	base64_encode_raw(out, groups * GROUP_BYTES, bytes);
	return groups * GROUP_CHARS;
}

static size_t base64_piece_read(const struct base64_piece *p, uint64_t offset,
				char *out, size_t max)
{
	size_t taken;

	if (p->is_encoded)
		return base64_read(p, offset, out, max);
	taken = least(p->count - (size_t)offset, max);
	memcpy(out, (const char *)p->bytes + offset, taken);
	return taken;
}

enum { SENT_BYTES = 16 << 10 }; /* of libmicrohttpd's buffer */

struct json_reply {
	struct base64_piece pieces[2 * VARIANTS_MAX + 1];
	uint32_t piece_count;
	char *text; /* of the pieces that are no pictures */
	uint64_t chars;
};

static void json_free(void *arg)
{
	struct json_reply *b = arg;

	if (b != NULL)
		free(b->text);
	free(b);
}

static void json_append_piece(struct json_reply *b, const void *bytes,
			      size_t count, bool is_encoded)
{
	struct base64_piece *p = &b->pieces[b->piece_count++];

	*p = (struct base64_piece){ bytes, count, is_encoded };
	b->chars += base64_piece_chars(p);
}

/* A MHD_ContentReaderCallback. */
static ssize_t json_read(void *arg, uint64_t offset, char *out, size_t max)
{
	const struct json_reply *b = arg;
	size_t taken = 0;

	for (uint32_t i = 0; i < b->piece_count && taken < max; i++) {
		uint64_t chars = base64_piece_chars(&b->pieces[i]);

		while (offset < chars && taken < max) {
			size_t some =
				base64_piece_read(&b->pieces[i], offset,
						  out + taken, max - taken);

			offset += some;
			taken += some;
		}
		offset -= chars;
	}
	return taken > 0 ? (ssize_t)taken : MHD_CONTENT_READER_END_OF_STREAM;
}

/* The text; cuts[i] is where the data of picture i belong. */
static char *json_print(const struct upload *u, size_t cuts[VARIANTS_MAX],
			size_t *count)
{
	struct text text;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)fputc('{', out);
	result_print_upload(out, u);
	(void)fputs(",\"variants\":[", out);
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		(void)fputs(i > 0 ? "\"},{" : "{", out);
		result_print_variant(out, v, v->name);
		(void)fputs(",\"data\":\"", out);
		(void)fflush(out); /* an error is found at the end */
		cuts[i] = text.count;
	}
	(void)fputs("\"}]}\n", out);

	char *bytes = text_close(&text, out);

	*count = text.count;
	return bytes;
}

/* False: no memory. */
static bool json_init(struct json_reply *b, const struct upload *u)
{
	size_t cuts[VARIANTS_MAX], count, from = 0;

	b->text = json_print(u, cuts, &count);
	if (b->text == NULL)
		return false;
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		json_append_piece(b, b->text + from, cuts[i] - from, false);
		json_append_piece(b, v->jpeg, v->jpeg_bytes, true);
		from = cuts[i];
	}
	json_append_piece(b, b->text + from, count - from, false);
	return true;
}

static struct MHD_Response *result_json(const struct upload *u)
{
	struct json_reply *b = calloc(1, sizeof(*b));
	struct MHD_Response *response = NULL;

	if (b != NULL && json_init(b, u))
		response = MHD_create_response_from_callback(
			b->chars, SENT_BYTES, json_read, b, json_free);
	if (response == NULL)
		json_free(b);
	return response;
}

enum {
	BOUNDARY_BYTES = 16, /* random: a result may hold a client's profile */
	BOUNDARY_CHARS = 2 * BOUNDARY_BYTES,
	HEAD_CHARS = 512,
};

static void multipart_make_boundary(char out[BOUNDARY_CHARS + 1])
{
	uint8_t bytes[BOUNDARY_BYTES] = { 0 };

	(void)getrandom(bytes, sizeof(bytes), GRND_NONBLOCK);
	for (uint32_t i = 0; i < BOUNDARY_BYTES; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

/* The text between two pictures.  Returns its length. */
static size_t multipart_print_head(char *out, const struct variant *v,
				   const char *boundary, bool is_first)
{
	int at = snprintf(out, HEAD_CHARS,
			  "%s--%s\r\n"
			  "Content-Type: %s\r\n"
			  "Content-Length: %zu\r\n"
			  "Content-Disposition: attachment; name=\"%s\"; "
			  "filename=\"%s.jpg\"\r\n",
			  is_first ? "" : "\r\n", boundary, RESULT_TYPE,
			  v->jpeg_bytes, v->name, v->name);

	for (uint32_t i = 0; i < RESULT_WARNINGS; i++) {
		char warning[RESULT_WARNING_CHARS];

		if (result_warning(warning, v, i))
			at += snprintf(out + at, HEAD_CHARS - (size_t)at,
				       "Warning: %s\r\n", warning);
	}
	at += snprintf(out + at, HEAD_CHARS - (size_t)at, "\r\n");
	assert(at < HEAD_CHARS);
	return (size_t)at;
}

/* The results are not copied; `heads` is owned by the response. */
static struct MHD_Response *
multipart_response(const struct upload *u, char *heads, const char *boundary)
{
	struct MHD_IoVec pieces[2 * VARIANTS_MAX + 1];
	unsigned int count = 0;
	char *at = heads;

	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];
		size_t bytes = multipart_print_head(at, v, boundary, i == 0);

		pieces[count++] = (struct MHD_IoVec){ at, bytes };
		pieces[count++] = (struct MHD_IoVec){ v->jpeg, v->jpeg_bytes };
		at += bytes;
	}

	int last = snprintf(at, HEAD_CHARS, "\r\n--%s--\r\n", boundary);

	pieces[count++] = (struct MHD_IoVec){ at, (size_t)last };
	return MHD_create_response_from_iovec(pieces, count, free, heads);
}

static struct MHD_Response *result_parts(const struct upload *u,
					 char type[RESULT_PARTS_TYPE_CHARS])
{
	char *heads = malloc((u->variant_count + 1) * (size_t)HEAD_CHARS);
	char boundary[BOUNDARY_CHARS + 1];
	struct MHD_Response *response;

	if (heads == NULL)
		return NULL;
	multipart_make_boundary(boundary);
	(void)snprintf(type, RESULT_PARTS_TYPE_CHARS,
		       "multipart/mixed; boundary=%s", boundary);
	response = multipart_response(u, heads, boundary);
	if (response == NULL)
		free(heads);
	return response;
}

/* Is there a weight of 0 among the parameters up to the next comma? */
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

/* Does a value of Accept name JSON?  Wildcards do not. */
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

/* An MHD_KeyValueIterator; it stops when JSON was found. */
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

enum MHD_Result result_reply(struct request *r)
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
	return reply_send(r, MHD_HTTP_OK, type, response);
}
