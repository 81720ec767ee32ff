/* SPDX-License-Identifier: MIT */
/*
 * A libFuzzer target: the first two bytes say where the rest is divided; the
 * rest is the beginning of a connection.
 *
 * For any input, the reader finds the same in two pieces as at once, and
 * changes nothing after the head.  If the head is exact, its names are valid,
 * and another parser (http_parser) accepts it, both have found the same.
 */
#include "service/http/head/head_reader.h"

#include "base/text.h"

#include <assert.h>
#include <http_parser.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES_MAX = 16 * 1024, SPLIT_BYTES = 2 };

/* A head as a text: method, target, and for each header its name and value. */
struct found {
	struct text text;
	FILE *to;
	bool in_value;
	bool is_complete;
	uint64_t length_bytes;
};

static void open_found(struct found *f)
{
	*f = (struct found){ .in_value = true };
	f->to = text_open(&f->text);
	assert(f->to != NULL);
}

/* White space at the end of a value is not a part of it. */
static void trim_lines(char *text)
{
	char *to = text;

	for (const char *at = text; *at != '\0'; at++) {
		if (*at == '\n')
			while (to > text && (to[-1] == ' ' || to[-1] == '\t'))
				to--;
		*to++ = *at;
	}
	*to = '\0';
}

/* Returns a text to be freed. */
static char *close_found(struct found *f)
{
	char *text;

	(void)fputc('\n', f->to);
	text = text_close(&f->text, f->to);
	assert(text != NULL);
	trim_lines(text);
	return text;
}

/* The callbacks of http_parser. */

static int on_url(http_parser *p, const char *text, size_t bytes)
{
	struct found *f = p->data;

	(void)fwrite(text, 1, bytes, f->to);
	return 0;
}

static int on_name(http_parser *p, const char *text, size_t bytes)
{
	struct found *f = p->data;

	if (f->in_value)
		(void)fputc('\n', f->to);
	f->in_value = false;
	(void)fwrite(text, 1, bytes, f->to);
	return 0;
}

static int on_value(http_parser *p, const char *text, size_t bytes)
{
	struct found *f = p->data;

	if (!f->in_value)
		(void)fputs(": ", f->to);
	f->in_value = true;
	(void)fwrite(text, 1, bytes, f->to);
	return 0;
}

static int on_complete(http_parser *p)
{
	struct found *f = p->data;

	f->is_complete = true;
	f->length_bytes =
		(p->flags & F_CONTENTLENGTH) != 0 ? p->content_length : 0;
	return 1; /* there is no body */
}

static const http_parser_settings callbacks = {
	.on_url = on_url,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_complete,
};

static void print_field(FILE *to, const struct http_field *f)
{
	(void)fprintf(to, "\n%s: %s", f->name, f->value);
}

static void check_other(const struct head_reader *h, const char *text,
			size_t bytes)
{
	struct found other, ours;
	http_parser parser;
	char *a, *b;

	open_found(&other);
	open_found(&ours);
	http_parser_init(&parser, HTTP_REQUEST);
	parser.data = &other;
	(void)http_parser_execute(&parser, &callbacks, text, bytes);
	(void)fputs(h->head.target, ours.to);
	for (size_t i = 0; i < h->head.field_count; i++)
		print_field(ours.to, &h->head.fields[i]);
	a = close_found(&other);
	b = close_found(&ours);
	if (other.is_complete) {
		assert(strcmp(a, b) == 0);
		assert(strcmp(http_method_str(parser.method), h->head.method) ==
		       0);
		assert(parser.upgrade != 0 || (parser.flags & F_CHUNKED) != 0 ||
		       other.length_bytes == h->length_bytes);
		assert(!h->head.is_chunked || (parser.flags & F_CHUNKED) != 0);
	}
	free(a);
	free(b);
}

/* If not, head.c refuses it. */
static bool has_valid_names(const struct request_head *head)
{
	for (size_t i = 0; i < head->field_count; i++)
		if (strchr(head->fields[i].name, ' ') != NULL)
			return false;
	return true;
}

/* Read a copy of the input, of which `first` bytes arrive first. */
static enum head_event read_input(struct head_reader *h, char *text,
				  const uint8_t *data, size_t bytes,
				  size_t first)
{
	enum head_event event;

	memcpy(text, data, bytes);
	head_reader_begin(h);
	event = head_read(h, text, first);
	while (event == HEAD_TARGET)
		event = head_read(h, text, first);
	if (event == HEAD_MORE)
		do {
			event = head_read(h, text, bytes);
		} while (event == HEAD_TARGET);
	return event;
}

static void check_same(const struct head_reader *a, const struct head_reader *b)
{
	assert(a->end == b->end && a->length_bytes == b->length_bytes &&
	       a->is_head == b->is_head && a->is_http_1_0 == b->is_http_1_0);
	assert(a->head.is_chunked == b->head.is_chunked);
	assert(a->head.bytes == b->head.bytes &&
	       a->head.is_exact == b->head.is_exact &&
	       a->head.field_count == b->head.field_count);
	assert(strcmp(a->head.method, b->head.method) == 0 &&
	       strcmp(a->head.target, b->head.target) == 0 &&
	       strcmp(a->head.version, b->head.version) == 0);
	for (size_t i = 0; i < a->head.field_count; i++) {
		assert(strcmp(a->head.fields[i].name, b->head.fields[i].name) ==
		       0);
		assert(strcmp(a->head.fields[i].value,
			      b->head.fields[i].value) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct head_reader whole, parts;
	enum head_event event;
	char *a, *b;
	size_t first;

	if (bytes <= SPLIT_BYTES)
		return 0;
	first = data[0] + ((size_t)data[1] << 8);
	data += SPLIT_BYTES;
	bytes -= SPLIT_BYTES;
	first %= bytes + 1;
	a = malloc(bytes);
	b = malloc(bytes);
	assert(a != NULL && b != NULL);
	head_reader_init(&whole, HEAD_BYTES_MAX);
	head_reader_init(&parts, HEAD_BYTES_MAX);
	event = read_input(&whole, a, data, bytes, bytes);
	assert(read_input(&parts, b, data, bytes, first) == event);
	assert(whole.head.fault == parts.head.fault);
	if (event == HEAD_COMPLETE && whole.head.fault == HEAD_FINE) {
		check_same(&whole, &parts);
		assert(memcmp(a + whole.end, data + whole.end,
			      bytes - whole.end) == 0);
		if (whole.head.is_exact && has_valid_names(&whole.head))
			check_other(&whole, (const char *)data, whole.end);
	}
	head_reader_release(&whole);
	head_reader_release(&parts);
	free(a);
	free(b);
	return 0;
}
