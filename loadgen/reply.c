/* SPDX-License-Identifier: MIT */
#include "loadgen/reply.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES_FIRST = 64 << 10 };

static bool is_interim(const http_parser *parser)
{
	return parser->status_code < 200 &&
	       parser->status_code != HTTP_STATUS_SWITCHING_PROTOCOLS;
}

static bool reserve_body(struct reply *r, size_t bytes)
{
	size_t capacity = r->body_capacity;
	char *body;

	if (capacity == 0)
		capacity = BODY_BYTES_FIRST;
	while (capacity < bytes)
		capacity *= 2;
	if (capacity == r->body_capacity)
		return true;
	body = realloc(r->body, capacity);
	if (body == NULL)
		return false;
	r->body = body;
	r->body_capacity = capacity;
	return true;
}

/* For the parser, 0 is to go on. */
static int note_body(http_parser *parser, const char *bytes, size_t count)
{
	struct reply *r = parser->data;

	if (count > REPLY_BYTES_MAX - r->body_bytes) {
		r->error = "Reply too long";
		return 1;
	}
	if (r->keep_body) {
		if (!reserve_body(r, r->body_bytes + count)) {
			r->error = "Out of memory for the reply";
			return 1;
		}
		memcpy(r->body + r->body_bytes, bytes, count);
	}
	r->body_bytes += count;
	return 0;
}

/* Paused, the parser does not take what may follow for another reply. */
static int note_whole(http_parser *parser)
{
	struct reply *r = parser->data;

	if (is_interim(parser))
		return 0;
	r->is_whole = true;
	r->keep_alive = http_should_keep_alive(parser) && !parser->upgrade;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings settings = {
	.on_body = note_body,
	.on_message_complete = note_whole,
};

void reply_init(struct reply *r, bool keep_body)
{
	*r = (struct reply){ .keep_body = keep_body };
}

void reply_release(struct reply *r)
{
	free(r->body);
}

void reply_begin(struct reply *r)
{
	http_parser_init(&r->parser, HTTP_RESPONSE);
	r->parser.data = r;
	r->has_begun = false;
	r->is_whole = false;
	r->keep_alive = false;
	r->error = NULL;
	r->body_bytes = 0;
}

void reply_take(struct reply *r, const char *bytes, size_t count)
{
	size_t used;

	assert(!r->is_whole && r->error == NULL && count > 0);
	r->has_begun = true;
	used = http_parser_execute(&r->parser, &settings, bytes, count);
	if (r->error != NULL)
		return;
	if (r->is_whole && used < count)
		r->error = "Bytes beyond the reply";
	else if (!r->is_whole && HTTP_PARSER_ERRNO(&r->parser) != HPE_OK)
		r->error =
			http_errno_description(HTTP_PARSER_ERRNO(&r->parser));
}

void reply_take_end(struct reply *r)
{
	assert(!r->is_whole && r->error == NULL);
	http_parser_execute(&r->parser, &settings, NULL, 0);
	if (!r->is_whole)
		r->error = r->has_begun ? "Connection closed within the reply" :
					  "Connection closed without a reply";
}

int reply_status(const struct reply *r)
{
	assert(r->is_whole);
	return (int)r->parser.status_code;
}
