/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON, written while it is sent: text, and between it the pictures
 * in base64.
 */
#include "service/http/http_result.h"

#include "service/http/base64_piece.h"
#include "service/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { SENT_BYTES = 16 << 10 }; /* at once; libmicrohttpd's buffer */

struct json_body {
	struct base64_piece pieces[2 * VARIANTS_MAX + 1];
	uint32_t piece_count;
	char *text; /* what pieces point to, but for pictures */
	uint64_t chars;
};

static void body_free(void *arg)
{
	struct json_body *b = arg;

	if (b != NULL)
		free(b->text);
	free(b);
}

static void add_piece(struct json_body *b, const void *bytes, size_t count,
		      bool is_encoded)
{
	struct base64_piece *p = &b->pieces[b->piece_count++];

	*p = (struct base64_piece){ bytes, count, is_encoded };
	b->chars += base64_piece_chars(p);
}

/* A MHD_ContentReaderCallback. */
static ssize_t body_read(void *arg, uint64_t offset, char *out, size_t max)
{
	const struct json_body *b = arg;
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

/* The text, and where in it each picture's data belong. */
static char *print_all(const struct upload *u, size_t cuts[VARIANTS_MAX],
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
		(void)fflush(out); /* failing, it is told at the end */
		cuts[i] = text.count;
	}
	(void)fputs("\"}]}\n", out);

	char *bytes = text_close(&text, out);

	*count = text.count;
	return bytes;
}

/* False: no memory. */
static bool body_init(struct json_body *b, const struct upload *u)
{
	size_t cuts[VARIANTS_MAX], count, from = 0;

	b->text = print_all(u, cuts, &count);
	if (b->text == NULL)
		return false;
	for (uint32_t i = 0; i < u->variant_count; i++) {
		const struct variant *v = &u->variants[i];

		add_piece(b, b->text + from, cuts[i] - from, false);
		add_piece(b, v->jpeg, v->jpeg_bytes, true);
		from = cuts[i];
	}
	add_piece(b, b->text + from, count - from, false);
	return true;
}

struct MHD_Response *result_json(const struct upload *u)
{
	struct json_body *b = calloc(1, sizeof(*b));
	struct MHD_Response *response = NULL;

	if (b != NULL && body_init(b, u))
		response = MHD_create_response_from_callback(
			b->chars, SENT_BYTES, body_read, b, body_free);
	if (response == NULL)
		body_free(b);
	return response;
}
