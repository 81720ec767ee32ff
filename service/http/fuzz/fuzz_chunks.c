/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the first two bytes say where the rest is divided; the
 * rest is a body in chunks, and what follows it.
 *
 * For any input, the reader finds the same in two pieces as at once, and never
 * more bytes than its limit.  If it finds an end, another parser (http_parser),
 * which is less strict, finds the same bytes and the same end.
 */
#include "service/http/head/chunk_reader.h"

#include "base/util.h"

#include <assert.h>
#include <http_parser.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES_MAX = 20000, SPLIT_BYTES = 2 };

/* What was found. */
struct found_body {
	char *bytes;
	size_t count;
	size_t end; /* where the body ends; or how much was read */
	bool is_complete;
	struct chunk_reader reader;
};

/* Returns how many bytes were read. */
static size_t decode_part(struct found_body *f, const uint8_t *data,
			  size_t bytes)
{
	char *part = malloc(bytes + 1);
	size_t used, count;

	assert(part != NULL);
	memcpy(part, data, bytes);
	count = chunks_decode(&f->reader, part, bytes, &used);
	assert(used <= bytes && count <= used);
	assert(used == bytes || f->reader.is_over);
	assert(f->count + count <= BODY_BYTES_MAX);
	memcpy(f->bytes + f->count, part, count);
	f->count += count;
	assert(f->count == f->reader.bytes - f->reader.left_bytes);
	free(part);
	return used;
}

static void decode(struct found_body *f, const uint8_t *data, size_t bytes,
		   size_t first)
{
	*f = (struct found_body){ .bytes = malloc(BODY_BYTES_MAX) };
	assert(f->bytes != NULL);
	chunk_reader_init(&f->reader, BODY_BYTES_MAX);
	f->end = decode_part(f, data, first);
	if (!f->reader.is_over)
		f->end += decode_part(f, data + first, bytes - first);
	f->is_complete = f->reader.is_over && f->reader.fault == CHUNKS_FINE;
}

/* The callbacks of http_parser. */

static int on_chunk_bytes(http_parser *p, const char *text, size_t bytes)
{
	struct found_body *f = p->data;

	if (bytes > BODY_BYTES_MAX - f->count)
		return 1;
	memcpy(f->bytes + f->count, text, bytes);
	f->count += bytes;
	return 0;
}

static int on_body_end(http_parser *p)
{
	struct found_body *f = p->data;

	f->is_complete = true;
	http_parser_pause(p, 1);
	return 0;
}

static const http_parser_settings body_callbacks = {
	.on_body = on_chunk_bytes,
	.on_message_complete = on_body_end,
};

/*
 * It looks into trailers, and may refuse what it finds there; then nothing is
 * compared.
 */
static void check_other_body(const struct found_body *ours, const char *data,
			     size_t bytes)
{
	static const char head[] = "POST / HTTP/1.1\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	struct found_body other = { .bytes = malloc(BODY_BYTES_MAX) };
	http_parser parser;

	assert(other.bytes != NULL);
	http_parser_init(&parser, HTTP_REQUEST);
	parser.data = &other;
	assert(http_parser_execute(&parser, &body_callbacks, head,
				   sizeof(head) - 1) == sizeof(head) - 1);
	other.end = http_parser_execute(&parser, &body_callbacks, data, bytes);
	if (other.is_complete) {
		assert(other.count == ours->count);
		assert(memcmp(other.bytes, ours->bytes, ours->count) == 0);
		/* It stops before the last LF when it is paused. */
		assert(other.end == ours->end || other.end + 1 == ours->end);
	} else {
		assert(HTTP_PARSER_ERRNO(&parser) != HPE_OK);
	}
	free(other.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct found_body whole, parts;
	size_t first;

	if (bytes <= SPLIT_BYTES)
		return 0;
	first = data[0] + ((size_t)data[1] << 8);
	data += SPLIT_BYTES;
	bytes -= SPLIT_BYTES;
	first %= bytes + 1;
	decode(&whole, data, bytes, bytes);
	decode(&parts, data, bytes, first);
	assert(whole.reader.fault == parts.reader.fault &&
	       whole.reader.is_over == parts.reader.is_over &&
	       whole.end == parts.end && whole.count == parts.count);
	assert(memcmp(whole.bytes, parts.bytes, whole.count) == 0);
	if (whole.is_complete)
		check_other_body(&whole, (const char *)data, bytes);
	free(whole.bytes);
	free(parts.bytes);
	return 0;
}
