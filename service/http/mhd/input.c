/* SPDX-License-Identifier: MIT */
#include "service/http/mhd/input.h"
#include "service/http/head/field_values.h"

#include "base/util.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/queue.h>

enum {
	ROOM_BYTES_MIN = 1024, /* of a head's text, at first */
	TEXT_BYTES = 192,      /* of what is passed on for a head */
};

struct kept_head {
	STAILQ_ENTRY(kept_head) link;
	struct head_reader reader;
	char *text;
	size_t bytes, room;
};

struct input {
	STAILQ_HEAD(, kept_head) heads;
	struct kept_head *last; /* it is being received; NULL: none */
	size_t head_bytes_max;
	size_t kept_bytes;        /* of the complete heads */
	uint64_t body_bytes_left; /* of the last request */
	/* The last request, while its body comes in chunks; NULL: none. */
	struct kept_head *chunked;
	uint64_t body_bytes_max;
	bool is_last; /* no other request follows it */
	/* Of a head, to be passed on. */
	char text[TEXT_BYTES];
	size_t text_at, text_bytes;
	/* Bytes that were received when there was little room. */
	char rest[TEXT_BYTES];
	size_t rest_at, rest_bytes;
	bool may_stop;
};

/*
 * Bytes that were received, and where they are passed on to: before them in the
 * same memory, or apart from them.
 */
struct pass {
	const char *from, *end;
	char *to, *to_end;
	bool is_apart;
};

struct input *input_new(size_t head_bytes_max, uint64_t body_bytes_max,
			bool may_stop)
{
	struct input *in = calloc(1, sizeof(*in));

	if (in == NULL)
		return NULL;
	STAILQ_INIT(&in->heads);
	in->head_bytes_max = head_bytes_max;
	in->body_bytes_max = body_bytes_max;
	in->may_stop = may_stop;
	return in;
}

static void head_free(struct kept_head *h)
{
	head_reader_release(&h->reader);
	free(h->text);
	free(h);
}

void input_free(struct input *in)
{
	while (in != NULL && !STAILQ_EMPTY(&in->heads)) {
		struct kept_head *h = STAILQ_FIRST(&in->heads);

		STAILQ_REMOVE_HEAD(&in->heads, link);
		head_free(h);
	}
	free(in);
}

const struct request_head *input_head(const struct input *in)
{
	const struct kept_head *h = STAILQ_FIRST(&in->heads);

	return h != NULL ? &h->reader.head : NULL;
}

/* The memory of a complete head. */
static size_t size_of(const struct kept_head *h)
{
	return sizeof(*h) + h->room + head_reader_bytes(&h->reader);
}

void input_drop_head(struct input *in)
{
	struct kept_head *h = STAILQ_FIRST(&in->heads);

	if (h == NULL || h == in->last)
		return;
	if (h == in->chunked) {
		in->chunked = NULL;
		in->is_last = true;
	}
	STAILQ_REMOVE_HEAD(&in->heads, link);
	in->kept_bytes -= size_of(h);
	head_free(h);
}

/* False: no memory. */
static bool begin_head(struct input *in)
{
	struct kept_head *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return false;
	head_reader_init(&h->reader, in->head_bytes_max);
	STAILQ_INSERT_TAIL(&in->heads, h, link);
	in->last = h;
	return true;
}

/* False: no memory. */
static bool append(struct kept_head *h, const char *bytes, size_t count)
{
	size_t room = h->room > 0 ? h->room : ROOM_BYTES_MIN;
	char *text;

	while (room - h->bytes < count)
		room *= 2;
	if (room != h->room) {
		text = realloc(h->text, room);
		if (text == NULL)
			return false;
		h->text = text;
		h->room = room;
	}
	memcpy(h->text + h->bytes, bytes, count);
	h->bytes += count;
	return true;
}

__attribute__((format(printf, 2, 3))) static void
add_text(struct input *in, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	in->text_bytes += (size_t)vsnprintf(in->text + in->text_bytes,
					    sizeof(in->text) - in->text_bytes,
					    format, list);
	va_end(list);
	assert(in->text_bytes < sizeof(in->text));
}

/* Bytes can be passed on without writing over those that were not read. */
static size_t room_of(const struct pass *p)
{
	const char *end =
		p->is_apart || p->from == p->end ? p->to_end : p->from;

	return (size_t)(end - p->to);
}

/* Give back the memory that a complete head does not need. */
static void shrink(struct kept_head *h)
{
	char *text = realloc(h->text, h->bytes);

	if (text == NULL)
		return;
	h->text = text;
	h->room = h->bytes;
	head_move(&h->reader, text + h->reader.begin);
}

/* Pass on the text of a head. */
static void pass_text(struct input *in, struct pass *p)
{
	size_t bytes = min_u64(room_of(p), in->text_bytes - in->text_at);

	memcpy(p->to, in->text + in->text_at, bytes);
	p->to += bytes;
	in->text_at += bytes;
	if (in->text_at == in->text_bytes) {
		in->text_at = 0;
		in->text_bytes = 0;
	}
}

/* Does head.c take it, and go on with the connection? */
static bool goes_on(const struct head_reader *h)
{
	const struct request_head *head = &h->head;
	uint32_t lengths = 0, hosts = 0;

	if (head->fault != HEAD_FINE || !head->is_exact)
		return false;
	for (size_t i = 0; i < head->field_count; i++) {
		const char *name = head->fields[i].name;

		lengths += strcasecmp(name, "Content-Length") == 0;
		hosts += strcasecmp(name, "Host") == 0;
		if (strcasecmp(name, "Transfer-Encoding") == 0 &&
		    !head->is_chunked)
			return false;
	}
	return lengths <= 1 && (h->is_http_1_0 || hosts == 1);
}

/*
 * The rest of a head for libmicrohttpd.  Each line stands for a longer one, or
 * for one as long, that the client has sent; unless it is the last head.
 */
static void add_rest(struct input *in, struct head_reader *h, bool has_more)
{
	const struct request_head *head = &h->head;

	if (!h->is_http_1_0)
		add_text(in, "Host:\r\n");
	if (in->is_last) {
		add_text(in, "Connection:close\r\n\r\n");
		return;
	}
	in->body_bytes_left = h->length_bytes;
	if (head->is_chunked)
		add_text(in, "Transfer-Encoding:chunked\r\n");
	else if (h->length_bytes > 0)
		add_text(in, "Content-Length:%" PRIu64 "\r\n", h->length_bytes);
	if (head_expects_continue(h) && !has_more)
		add_text(in, "Expect:100-continue\r\n");
	if (field_has_word(head, "Connection", "close"))
		add_text(in, "Connection:close\r\n");
	else if (h->is_http_1_0 &&
		 field_has_word(head, "Connection", "keep-alive"))
		add_text(in, "Connection:keep-alive\r\n");
	add_text(in, "\r\n");
}

/* The last head is complete.  `has_more`: bytes came with it. */
static void end_head(struct input *in, bool has_more)
{
	struct kept_head *h = in->last;

	in->last = NULL;
	shrink(h);
	in->kept_bytes += size_of(h);
	in->is_last = !goes_on(&h->reader);
	if (!in->is_last && h->reader.head.is_chunked) {
		chunk_reader_init(&h->reader.head.chunks, in->body_bytes_max);
		in->chunked = h;
	}
	add_rest(in, &h->reader, has_more);
	if (STAILQ_FIRST(&in->heads) != h &&
	    in->kept_bytes > in->head_bytes_max)
		in->is_last = true;
	h->reader.head.is_last = in->is_last;
}

/* The last head has more bytes.  False: no memory. */
static bool read_head(struct input *in, bool has_more)
{
	struct kept_head *h = in->last;
	enum head_event event;

	do {
		event = head_read(&h->reader, h->text, h->bytes);
		if (event == HEAD_TARGET)
			add_text(in, "%s / HTTP/1.%d\r\n",
				 h->reader.is_head ? "HEAD" : "P",
				 !h->reader.is_http_1_0);
	} while (event == HEAD_TARGET);
	if (event == HEAD_COMPLETE)
		end_head(in, has_more);
	return event != HEAD_BROKEN;
}

/* Read a line of a head, or the part of it that is there. */
static bool pass_line(struct input *in, struct pass *p)
{
	const char *end = memchr(p->from, '\n', (size_t)(p->end - p->from));
	size_t bytes = (size_t)((end != NULL ? end + 1 : p->end) - p->from);

	if (in->last == NULL && !begin_head(in))
		return false;
	if (!append(in->last, p->from, bytes))
		return false;
	p->from += bytes;
	if (!read_head(in, p->from < p->end))
		return false;
	pass_text(in, p);
	return true;
}

/* Pass on at most `left` bytes of a body.  Returns how many. */
static size_t pass_bytes(struct pass *p, uint64_t left)
{
	size_t most = p->is_apart ? room_of(p) : SIZE_MAX;
	size_t bytes =
		min_u64(min_u64(most, left), (uint64_t)(p->end - p->from));

	memmove(p->to, p->from, bytes);
	p->from += bytes;
	p->to += bytes;
	return bytes;
}

bool input_has_ended(const struct input *in)
{
	return in->is_last && in->body_bytes_left == 0 && in->chunked == NULL;
}

/* The last chunk, for libmicrohttpd: nothing follows if there is a fault. */
static void end_chunks(struct input *in)
{
	struct request_head *head = &in->chunked->reader.head;

	if (head->chunks.fault != CHUNKS_FINE) {
		in->is_last = true;
		head->is_last = true;
	}
	if (head->chunks.fault == CHUNKS_BAD_DATA_END)
		add_text(in, "\r\n");
	add_text(in, "0\r\n\r\n");
	in->chunked = NULL;
}

/* Read bytes of a chunk, or the line before or behind them. */
static void pass_chunk(struct input *in, struct pass *p)
{
	struct chunk_reader *c = &in->chunked->reader.head.chunks;

	if (c->left_bytes > 0) {
		chunk_take(c, pass_bytes(p, c->left_bytes));
		return;
	}
	switch (chunk_read(c, &p->from, p->end)) {
	case CHUNK_MORE:
		break;
	case CHUNK_BEGIN:
		add_text(in, "%" PRIx64 "\r\n", c->left_bytes);
		break;
	case CHUNK_DATA_END:
		add_text(in, "\r\n");
		break;
	case CHUNK_END:
	case CHUNK_BROKEN:
		end_chunks(in);
		break;
	}
	if (input_has_ended(in))
		p->from = p->end;
	pass_text(in, p);
}

/* Is there no room for what comes next? */
static bool is_full(const struct input *in, const struct pass *p)
{
	bool is_whole = in->last == NULL && in->text_bytes > 0;

	assert(!is_whole || p->is_apart);
	return is_whole || (p->is_apart && room_of(p) == 0);
}

/* Read what was received.  False: no memory. */
static bool pass_all(struct input *in, struct pass *p)
{
	while (p->from < p->end) {
		if (input_has_ended(in))
			p->from = p->end;
		else if (is_full(in, p))
			break;
		else if (in->body_bytes_left > 0)
			in->body_bytes_left -=
				pass_bytes(p, in->body_bytes_left);
		else if (in->chunked != NULL)
			pass_chunk(in, p);
		else if (!pass_line(in, p))
			return false;
	}
	pass_text(in, p);
	return true;
}

/* False: no memory. */
static bool pass_rest(struct input *in, struct pass *p)
{
	bool has_memory;

	p->from = in->rest + in->rest_at;
	p->end = in->rest + in->rest_bytes;
	p->is_apart = true;
	has_memory = pass_all(in, p);
	in->rest_at = (size_t)(p->from - in->rest);
	if (p->from == p->end) {
		in->rest_at = 0;
		in->rest_bytes = 0;
	}
	return has_memory;
}

/* Was the beginning of a head or of a line of chunks received before? */
static bool is_in_text(const struct input *in)
{
	return in->last != NULL ||
	       (in->chunked != NULL &&
		in->chunked->reader.head.chunks.left_bytes == 0);
}

/*
 * Receive and read.  The text of a head whose beginning was received before may
 * be longer than its rest: it needs room before that.
 */
static ssize_t receive_some(struct input *in, struct pass *p,
			    const struct input_source *s, bool *is_drained)
{
	size_t most = (size_t)(p->to_end - p->to);
	size_t before = is_in_text(in) ? TEXT_BYTES : 0;
	bool is_apart = most <= before;
	char *at = is_apart ? in->rest : p->to + before;
	ssize_t got;
	bool has_memory;

	most = is_apart ? min_u64(most, sizeof(in->rest)) : most - before;
	got = s->receive(s->arg, at, most);
	if (got <= 0)
		return got;
	*is_drained = s->is_drained && (size_t)got < most;
	if (is_apart) {
		in->rest_bytes = (size_t)got;
		has_memory = pass_rest(in, p);
	} else {
		p->from = at;
		p->end = at + got;
		p->is_apart = false;
		has_memory = pass_all(in, p);
	}
	return has_memory ? got : INPUT_NO_MEMORY;
}

ssize_t input_read(struct input *in, char *to, size_t bytes,
		   const struct input_source *source)
{
	struct pass p = { .to = to, .to_end = to + bytes };
	bool is_drained = false;

	pass_text(in, &p);
	if (!pass_rest(in, &p))
		return INPUT_NO_MEMORY;
	while (!is_drained && p.to < p.to_end && !input_has_ended(in)) {
		ssize_t got;

		if (in->may_stop && p.to > to && p.to_end - p.to <= TEXT_BYTES)
			break;
		got = receive_some(in, &p, source, &is_drained);
		if (got == INPUT_NO_MEMORY || (got <= 0 && p.to == to))
			return got;
		if (got <= 0)
			break;
	}
	return p.to > to ? p.to - to : INPUT_NONE;
}

size_t input_waiting(const struct input *in)
{
	return in->text_bytes - in->text_at + in->rest_bytes - in->rest_at;
}
