/* SPDX-License-Identifier: MIT */
#include "service/http/head/head_reader.h"
#include "service/http/head/field_values.h"

#include "base/util.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MIN = 8, VERSION_BYTES = 8, LINE_END_BYTES = 2 };

void head_reader_init(struct head_reader *h, size_t bytes_max)
{
	*h = (struct head_reader){ .bytes_max = bytes_max };
	head_reader_begin(h);
}

void head_reader_begin(struct head_reader *h)
{
	h->head = (struct request_head){ .method = NULL };
	h->begin = 0;
	h->end = 0;
	h->length_bytes = 0;
	h->fault = HEAD_FINE;
	h->line = (struct head_line){ .at = 0 };
	h->state = HEAD_AT_REQUEST_LINE;
	h->is_exact = true;
	h->is_http_1_0 = false;
	h->is_head = false;
	h->field_count = 0;
}

size_t head_reader_bytes(const struct head_reader *h)
{
	return h->fields_max * (sizeof(*h->places) + sizeof(*h->fields));
}

void head_reader_release(struct head_reader *h)
{
	free(h->places);
	free(h->fields);
	*h = (struct head_reader){ .places = NULL };
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Find the line's end, and put NULs there.  False: more bytes are needed. */
static bool find_line(struct head_line *line, char *text, size_t bytes)
{
	char *at = text + line->at, *from = at + line->bytes;
	char *end = memchr(from, '\n', (size_t)(text + bytes - from));
	bool has_cr;

	if (end == NULL) {
		line->bytes = (uint32_t)(text + bytes - at);
		return false;
	}
	line->end = (uint32_t)(end + 1 - text);
	has_cr = end > at && end[-1] == '\r';
	*end = '\0';
	if (has_cr)
		*--end = '\0';
	line->bytes = (uint32_t)(end - at);
	line->is_exact = has_cr && memchr(at, '\0', line->bytes) == NULL &&
			 memchr(at, '\r', line->bytes) == NULL;
	return true;
}

/* As http/mhd/interpose.c, so that no text ends before its line. */
static void replace_nuls(struct head_reader *h, char *text)
{
	char *at = text + h->line.at, *end = at + h->line.bytes;

	if (h->state != HEAD_AT_REQUEST_LINE && *at == ':')
		*at = '\1';
	while ((at = memchr(at, '\0', (size_t)(end - at))) != NULL)
		*at++ = '\1';
}

/* The line was read. */
static void end_line(struct head_reader *h)
{
	h->is_exact = h->is_exact && h->line.is_exact;
	h->line = (struct head_line){ .at = h->line.end };
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static enum head_fault check_version(const char *text, size_t bytes)
{
	if (bytes != VERSION_BYTES || memcmp(text, "HTTP/", 5) != 0 ||
	    !is_digit(text[5]) || text[6] != '.' || !is_digit(text[7]))
		return HEAD_MALFORMED;
	return text[5] == '1' ? HEAD_FINE : HEAD_UNKNOWN_VERSION;
}

/*
 * The last word of the line, before any spaces at its end; `end` if there is
 * none.  Spaces inside of the target are not its end.
 */
static char *find_version(char *target, char *end)
{
	char *c = end - 1;

	while (*c == ' ' && c > target)
		c--;
	while (*c != ' ' && c > target)
		c--;
	return c > target ? c + 1 : end;
}

/*
 * Split the request line into method, target and version, with spaces between
 * them.
 */
static enum head_fault split_request_line(struct head_reader *h, char *text)
{
	char *method = text + h->line.at, *end = method + h->line.bytes;
	char *target = memchr(method, ' ', h->line.bytes), *version;
	enum head_fault fault;

	if (target == NULL || target == method)
		return HEAD_MALFORMED;
	*target++ = '\0';
	h->is_head = strcmp(method, "HEAD") == 0;
	h->is_exact = target < end && *target != ' ';
	while (target < end && *target == ' ')
		target++;
	version = target < end ? find_version(target, end) : end;
	fault = check_version(version, (size_t)(end - version));
	if (fault != HEAD_FINE)
		return fault;
	version[-1] = '\0';
	h->is_http_1_0 = version[7] == '0';
	h->begin = (uint32_t)(method - text);
	h->target = (uint32_t)(target - text);
	h->version = (uint32_t)(version - text);
	return HEAD_FINE;
}

static enum head_event read_request_line(struct head_reader *h, char *text)
{
	h->fault = split_request_line(h, text);
	end_line(h);
	h->state = HEAD_AT_FIRST_FIELD;
	return HEAD_TARGET;
}

/* The line at which the reader is cannot be read. */
static enum head_event give_up(struct head_reader *h, char *text,
			       enum head_fault fault)
{
	h->head.fault = fault;
	h->end = h->line.at;
	h->head.bytes = h->end - h->begin;
	h->head.field_count = h->field_count;
	head_move(h, text + h->begin);
	return HEAD_COMPLETE;
}

/* False: no memory. */
static bool add_place(struct head_reader *h, uint32_t name, uint32_t value)
{
	if (h->field_count == h->fields_max) {
		uint32_t max =
			h->fields_max > 0 ? 2 * h->fields_max : FIELDS_MIN;
		struct field_place *places =
			realloc(h->places, max * sizeof(*places));
		struct http_field *fields = NULL;

		if (places == NULL)
			return false;
		h->places = places;
		fields = realloc(h->fields, max * sizeof(*fields));
		if (fields == NULL)
			return false;
		h->fields = fields;
		h->fields_max = max;
	}
	h->places[h->field_count++] = (struct field_place){ name, value };
	return true;
}

/*
 * The line continues the header before it: for libmicrohttpd, it belongs to its
 * name.
 */
static void fold_line(struct head_reader *h, char *text)
{
	text[h->places[h->field_count - 1].name] = '\0';
	end_line(h);
	h->is_exact = false;
}

/* Remove white space after the value of the line. */
static void trim_value(const struct head_reader *h, char *text, char *value)
{
	char *end = text + h->line.at + h->line.bytes;

	while (end > value && is_blank(end[-1]))
		*--end = '\0';
}

/* HEAD_MORE: the line was read. */
static enum head_event read_field(struct head_reader *h, char *text)
{
	char *name = text + h->line.at, *value = strchr(name, ':');

	if (h->state == HEAD_AT_FIELD && is_blank(name[0])) {
		fold_line(h, text);
		return HEAD_MORE;
	}
	if (value == NULL)
		return give_up(h, text, HEAD_MALFORMED);
	*value++ = '\0';
	while (is_blank(*value))
		value++;
	if (!add_place(h, (uint32_t)(name - text), (uint32_t)(value - text)))
		return HEAD_BROKEN;
	trim_value(h, text, value);
	end_line(h);
	h->state = HEAD_AT_FIELD;
	return HEAD_MORE;
}

/*
 * Is the field written as all programs do: no space behind the value, and at
 * most one before it?  Others are no part of the value, but a proxy may think
 * that they are.
 */
static bool is_plain(const struct head_reader *h, uint32_t i)
{
	const struct http_field *f = &h->fields[i];
	uint32_t value = h->places[i].value;
	uint32_t before = value - h->places[i].name - (uint32_t)strlen(f->name);
	uint32_t next = i + 1 < h->field_count ? h->places[i + 1].name :
						 h->end - LINE_END_BYTES;

	return (before == 1 || (before == 2 && f->value[-1] == ' ')) &&
	       next == value + strlen(f->value) + LINE_END_BYTES;
}

/* Does the body come in chunks?  No other coding is accepted. */
static bool is_chunked(const struct head_reader *h)
{
	uint32_t count = 0;
	bool is_plain_chunked = false;

	if (h->is_http_1_0 || !h->is_exact)
		return false;
	for (uint32_t i = 0; i < h->field_count; i++) {
		if (http_field_is(&h->fields[i], "Content-Length"))
			return false;
		if (!http_field_is(&h->fields[i], "Transfer-Encoding"))
			continue;
		is_plain_chunked = strcmp(h->fields[i].value, "chunked") == 0 &&
				   is_plain(h, i);
		count++;
	}
	return count == 1 && is_plain_chunked;
}

/* The length of the body. */
static enum head_fault read_length(struct head_reader *h)
{
	const struct request_head *head = &h->head;
	const char *text = http_field_find(head->fields, head->field_count,
					   "Content-Length");
	const char *end;
	uint64_t length = 0;

	if (http_field_find(head->fields, head->field_count,
			    "Transfer-Encoding") != NULL) {
		h->head.is_chunked = is_chunked(h);
		return HEAD_FINE;
	}
	if (text == NULL)
		return HEAD_FINE;
	end = text + strspn(text, "0123456789");
	if (end == text || *end != '\0')
		return HEAD_WRONG_LENGTH;
	for (; text < end; text++)
		if (__builtin_mul_overflow(length, 10, &length) ||
		    __builtin_add_overflow(length, (uint64_t)(*text - '0'),
					   &length) ||
		    length > INT64_MAX)
			return HEAD_LARGE_LENGTH;
	h->length_bytes = length;
	return HEAD_FINE;
}

void head_move(struct head_reader *h, char *text)
{
	struct request_head *head = &h->head;

	if (h->fault != HEAD_FINE) {
		h->no_target[0] = '\0';
		head->method = h->is_head ? "HEAD" : "";
		head->target = h->no_target;
		head->version = "HTTP/1.1";
		return;
	}
	head->method = text;
	head->target = text + (h->target - h->begin);
	head->version = text + (h->version - h->begin);
	for (uint32_t i = 0; i < h->field_count; i++)
		h->fields[i] = (struct http_field){
			.name = text + (h->places[i].name - h->begin),
			.value = text + (h->places[i].value - h->begin),
		};
	head->fields = h->fields;
}

/* The empty line was read. */
static enum head_event complete(struct head_reader *h, char *text)
{
	h->end = h->line.end;
	end_line(h);
	h->head.bytes = h->end - h->begin;
	h->head.is_exact = h->is_exact;
	h->head.field_count = h->field_count;
	head_move(h, text + h->begin);
	h->head.fault = read_length(h);
	return HEAD_COMPLETE;
}

/* Is there room for `bytes` more bytes of lines? */
static bool has_room(const struct head_reader *h, size_t bytes)
{
	return bytes + h->field_count * (size_t)HEAD_FIELD_BYTES <=
	       h->bytes_max;
}

/* The line at which the reader is. */
static enum head_event read_line(struct head_reader *h, char *text)
{
	replace_nuls(h, text);
	if (h->line.bytes > 0)
		return h->state == HEAD_AT_REQUEST_LINE ?
			       read_request_line(h, text) :
			       read_field(h, text);
	if (h->state != HEAD_AT_REQUEST_LINE)
		return complete(h, text);
	h->line = (struct head_line){ .at = h->line.end };
	return HEAD_MORE;
}

/* There is no room for the line at which the reader is. */
static enum head_event refuse_size(struct head_reader *h, char *text)
{
	if (h->state != HEAD_AT_REQUEST_LINE)
		return give_up(h, text, HEAD_TOO_LARGE);
	h->fault = HEAD_LONG_LINE;
	return HEAD_TARGET;
}

enum head_event head_read(struct head_reader *h, char *text, size_t bytes)
{
	enum head_event event = HEAD_MORE;

	assert(bytes <= UINT32_MAX);
	if (h->fault != HEAD_FINE)
		return give_up(h, text, h->fault);
	while (event == HEAD_MORE) {
		bool is_whole = find_line(&h->line, text, bytes);

		if (!has_room(h, is_whole ? h->line.end : bytes + 1))
			return refuse_size(h, text);
		if (!is_whole)
			return HEAD_MORE;
		event = read_line(h, text);
	}
	return event;
}

bool head_expects_continue(const struct head_reader *h)
{
	return !h->is_http_1_0 && (h->length_bytes > 0 || h->head.is_chunked) &&
	       field_has_word(&h->head, "Expect", "100-continue");
}
