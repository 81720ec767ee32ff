/* SPDX-License-Identifier: MIT */
#include "service/direct/outgoing.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
	/* More than the text of a reply, the names, and what is added here. */
	HEAD_BYTES = REPLY_TEXT_BYTES + 2048,
	DATE_BYTES = 32,
	SIZE_BYTES = 20, /* before a chunk */
	END_BYTES = 8,   /* after it */
};

/* A text that is written; it must fit. */
struct head_text {
	char text[HEAD_BYTES];
	size_t bytes;
};

__attribute__((format(printf, 2, 3))) static void
add_format(struct head_text *h, const char *format, ...)
{
	va_list list;
	int bytes;

	va_start(list, format);
	bytes = vsnprintf(h->text + h->bytes, sizeof(h->text) - h->bytes,
			  format, list);
	va_end(list);
	h->bytes += (size_t)bytes;
	assert(h->bytes < sizeof(h->text));
}

static void add_text(struct head_text *h, const char *text)
{
	size_t bytes = strlen(text);

	assert(bytes < sizeof(h->text) - h->bytes);
	memcpy(h->text + h->bytes, text, bytes);
	h->bytes += bytes;
}

static void add_header(struct head_text *h, const char *name, const char *value)
{
	add_text(h, name);
	add_text(h, ": ");
	add_text(h, value);
	add_text(h, "\r\n");
}

static void add_status(struct head_text *h, unsigned int status)
{
	char date[DATE_BYTES];
	time_t now = time(NULL);
	struct tm day;

	(void)gmtime_r(&now, &day);
	(void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &day);
	add_format(h, "HTTP/1.1 %u %s\r\n", status, http_reason(status));
	add_header(h, "Date", date);
}

static bool is_connection(const struct http_field *header)
{
	return strcasecmp(header->name, "Connection") == 0;
}

static bool closes(const struct reply *p, const struct reply_terms *terms)
{
	if (terms->is_last || terms->says_close)
		return true;
	if (terms->is_http_1_0 && (!terms->says_keep || !p->has_length))
		return true;
	for (uint32_t i = 0; i < p->header_count; i++)
		if (is_connection(&p->headers[i]))
			return strcasecmp(p->headers[i].value, "close") == 0;
	return false;
}

static void add_head(struct head_text *h, const struct reply *p,
		     const struct reply_terms *terms, bool is_last)
{
	add_status(h, p->status);
	if (is_last)
		add_header(h, "Connection", "close");
	else if (terms->is_http_1_0)
		add_header(h, "Connection", "Keep-Alive");
	for (uint32_t i = 0; i < p->header_count; i++)
		if (!is_connection(&p->headers[i]))
			add_header(h, p->headers[i].name, p->headers[i].value);
	if (p->status != STATUS_NO_CONTENT && p->has_length)
		add_format(h, "Content-Length: %" PRIu64 "\r\n", p->bytes);
	else if (!p->has_length && !terms->is_http_1_0)
		add_header(h, "Transfer-Encoding", "chunked");
	add_text(h, "\r\n");
}

/* False: no memory. */
static bool keep_head(struct outgoing *o, const struct head_text *h)
{
	o->head = malloc(h->bytes);
	if (o->head == NULL)
		return false;
	memcpy(o->head, h->text, h->bytes);
	o->pieces[0] = (struct iovec){ o->head, h->bytes };
	o->piece_count = 1;
	return true;
}

/* False: no memory. */
static bool take_body(struct outgoing *o, const struct reply *p)
{
	o->bytes_left = p->has_length ? p->bytes : UINT64_MAX;
	switch (o->kind) {
	case REPLY_PIECES:
		memcpy(o->pieces + 1, p->pieces,
		       p->piece_count * sizeof(p->pieces[0]));
		o->piece_count += p->piece_count;
		return true;
	case REPLY_FILE:
		o->at = p->offset;
		return true;
	case REPLY_READ:
		o->read = p->read;
		o->chunk_bytes_max = p->read_bytes;
		o->chunk = malloc(SIZE_BYTES + p->read_bytes + END_BYTES);
		return o->chunk != NULL;
	}
	abort();
}

bool outgoing_begin(struct outgoing *o, struct reply *p,
		    const struct reply_terms *terms)
{
	struct head_text h;

	*o = (struct outgoing){
		.is_last = closes(p, terms),
		.kind = p->kind,
		.has_body = !terms->is_head && p->status != STATUS_NO_CONTENT &&
			    p->status != STATUS_NOT_MODIFIED,
		.is_chunked = !p->has_length && !terms->is_http_1_0,
		.fd = p->kind == REPLY_FILE ? p->fd : -1,
		.release = p->kind == REPLY_FILE ? NULL : p->release,
		.arg = p->arg,
	};
	h.bytes = 0;
	add_head(&h, p, terms, o->is_last);
	if (keep_head(o, &h) && (!o->has_body || take_body(o, p)))
		return true;
	outgoing_release(o);
	return false;
}

void outgoing_text(struct outgoing *o, const char *text)
{
	*o = (struct outgoing){ .kind = REPLY_PIECES, .fd = -1 };
	o->pieces[o->piece_count++] =
		(struct iovec){ (char *)text, strlen(text) };
}

/* `bytes` bytes of the pieces were sent. */
static void skip_sent(struct outgoing *o, size_t bytes)
{
	while (o->piece_at < o->piece_count) {
		struct iovec *piece = &o->pieces[o->piece_at];

		if (bytes < piece->iov_len) {
			piece->iov_base = (char *)piece->iov_base + bytes;
			piece->iov_len -= bytes;
			return;
		}
		bytes -= piece->iov_len;
		o->piece_at++;
	}
}

static bool has_file(const struct outgoing *o)
{
	return o->kind == REPLY_FILE && o->has_body && o->bytes_left > 0;
}

/* Returns how many bytes were sent, WIRE_END or WIRE_AGAIN. */
static ssize_t send_some(struct outgoing *o, struct wire *w, char *buffer,
			 size_t buffer_bytes)
{
	ssize_t sent;

	if (o->piece_at < o->piece_count) {
		sent = wire_send(w, o->pieces + o->piece_at,
				 o->piece_count - o->piece_at, has_file(o),
				 buffer, buffer_bytes);
		if (sent > 0)
			skip_sent(o, (size_t)sent);
		return sent;
	}
	sent = wire_send_file(w, o->fd, o->at,
			      min_u64(o->bytes_left, WIRE_STEP_BYTES), buffer,
			      buffer_bytes);
	if (sent > 0) {
		o->at += (uint64_t)sent;
		o->bytes_left -= (uint64_t)sent;
	}
	return sent;
}

int outgoing_send(struct outgoing *o, struct wire *w, char *buffer,
		  size_t buffer_bytes)
{
	size_t done = 0;

	while (o->piece_at < o->piece_count || has_file(o)) {
		ssize_t sent;

		if (done >= WIRE_STEP_BYTES) {
			w->need = TRANSFER_YIELDS;
			return WIRE_AGAIN;
		}
		sent = send_some(o, w, buffer, buffer_bytes);
		if (sent <= 0)
			return (int)sent;
		done += (size_t)sent;
	}
	return 1;
}

/* Make a chunk of the bytes that were read, or the last one of none. */
static void frame_chunk(struct outgoing *o, size_t bytes)
{
	char size[SIZE_BYTES];
	int size_bytes = snprintf(size, sizeof(size), "%zX\r\n", bytes);
	char *data = o->chunk + SIZE_BYTES, *from = data - size_bytes;

	memcpy(from, size, (size_t)size_bytes);
	memcpy(data + bytes, "\r\n", 2);
	o->pieces[0] = (struct iovec){ from, (size_t)size_bytes + bytes + 2 };
}

ssize_t outgoing_read(struct outgoing *o)
{
	char *data = o->chunk + SIZE_BYTES;
	size_t max = min_u64(o->chunk_bytes_max, o->bytes_left);
	ssize_t bytes = max > 0 ? o->read(o->arg, o->at, data, max) : REPLY_END;

	if (bytes == 0)
		return 0;
	/* Shorter than its head has said: only a close can tell. */
	if (bytes < 0 && !o->is_chunked && o->bytes_left > 0)
		o->is_last = true;
	o->piece_at = 0;
	o->piece_count = bytes > 0 || o->is_chunked;
	if (o->is_chunked)
		frame_chunk(o, bytes > 0 ? (size_t)bytes : 0);
	else if (bytes > 0)
		o->pieces[0] = (struct iovec){ data, (size_t)bytes };
	if (bytes > 0) {
		o->at += (uint64_t)bytes;
		o->bytes_left -= (uint64_t)bytes;
	}
	return bytes;
}

void outgoing_release(struct outgoing *o)
{
	if (o->kind == REPLY_FILE && o->fd >= 0)
		(void)close(o->fd);
	if (o->release != NULL)
		o->release(o->arg);
	free(o->head);
	free(o->chunk);
	*o = (struct outgoing){ .fd = -1 };
}
