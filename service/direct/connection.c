/* SPDX-License-Identifier: MIT */
/*
 * A connection, from its first byte to its last, as straight-line code.  It
 * waits in transfers, and in await() while it is suspended.
 */
#include "service/direct/direct.h"

#include "base/util.h"
#include "service/http/head/field_values.h"
#include "service/http/connection/clients.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	HEAD_READ_BYTES = 32 * 1024, /* received at once, of a head */
};

static struct direct_connection *direct_of(struct connection *c)
{
	return container_of(c, struct direct_connection, base);
}

void direct_suspend(struct connection *c)
{
	direct_of(c)->is_suspended = true;
}

void direct_resume(struct connection *c)
{
	uthread_wake(direct_of(c)->thread);
}

bool direct_send(struct connection *base, struct reply *reply)
{
	struct direct_connection *c = direct_of(base);

	assert(!c->has_reply);
	c->terms.is_last = c->is_early;
	c->has_reply = outgoing_begin(&c->reply, reply, &c->terms);
	return c->has_reply;
}

/* False: no memory. */
static bool keep_input(struct direct_connection *c, const char *data,
		       size_t bytes)
{
	size_t kept = c->input_bytes - c->input_at;
	char *input;

	if (c->input_at > 0)
		memmove(c->input, c->input + c->input_at, kept);
	c->input_at = 0;
	c->input_bytes = kept;
	input = realloc(c->input, kept + bytes);
	if (input == NULL)
		return false;
	memcpy(input + kept, data, bytes);
	c->input = input;
	c->input_bytes = kept + bytes;
	return true;
}

static void read_input(struct direct_connection *c)
{
	c->event = head_read(&c->reader, c->input + c->input_at,
			     c->input_bytes - c->input_at);
}

/*
 * After a call that got fewer bytes than it asked for, the next one would
 * usually get none.
 */
static bool is_drained(const struct wire *w, ssize_t got, size_t bytes)
{
	return !w->blocks && w->session == NULL && (size_t)got < bytes;
}

/* Nothing of a head has been received. */
static bool is_silent(const struct direct_connection *c)
{
	return c->input_at == c->input_bytes && wire_is_empty(&c->wire);
}

/* A transfer_fn: receive until the reader has found something. */
static enum transfer_need step_head(void *arg, char *buffer, size_t bytes)
{
	struct direct_connection *c = arg;
	size_t max = min_u64(bytes, HEAD_READ_BYTES);

	c->event = HEAD_MORE;
	client_be_silent(c->base.client, false);
	while (c->event == HEAD_MORE) {
		ssize_t got = wire_recv(&c->wire, buffer, max);

		if (got == WIRE_AGAIN) {
			client_be_silent(c->base.client, is_silent(c));
			return c->wire.need;
		}
		c->is_lost = got == WIRE_END;
		if (c->is_lost || !keep_input(c, buffer, (size_t)got)) {
			c->event = HEAD_BROKEN;
			break;
		}
		read_input(c);
		if (c->event == HEAD_MORE && is_drained(&c->wire, got, max))
			return TRANSFER_NEEDS_INPUT;
	}
	return TRANSFER_DONE;
}

/* What the reader finds next. */
static enum head_event read_head(struct direct_connection *c)
{
	c->event = HEAD_MORE;
	if (c->input_at < c->input_bytes)
		read_input(c);
	if (c->event == HEAD_MORE)
		uthread_transfer(c->wire.fd, step_head, c);
	return c->event;
}

static void drop_input(struct direct_connection *c)
{
	free(c->input);
	c->input = NULL;
	c->input_at = 0;
	c->input_bytes = 0;
}

/* The head is copied; the rest of the input stays.  False: no memory. */
static bool copy_head(struct direct_connection *c)
{
	size_t bytes = c->reader.end - c->reader.begin;

	c->head_text = malloc(bytes + 1);
	if (c->head_text == NULL)
		return false;
	memcpy(c->head_text, c->input + c->input_at + c->reader.begin, bytes);
	head_move(&c->reader, c->head_text);
	c->input_at += c->reader.end;
	return true;
}

/* The head stays in its memory; the rest is copied.  False: no memory. */
static bool copy_rest(struct direct_connection *c)
{
	size_t bytes = c->reader.end - c->reader.begin;
	size_t rest_bytes = c->input_bytes - c->input_at - c->reader.end;
	char *head = c->input, *rest = NULL, *shrunk;

	if (rest_bytes > 0) {
		rest = malloc(rest_bytes);
		if (rest == NULL)
			return false;
		memcpy(rest, head + c->input_bytes - rest_bytes, rest_bytes);
	}
	memmove(head, head + c->input_at + c->reader.begin, bytes);
	shrunk = realloc(head, bytes + 1);
	c->head_text = shrunk != NULL ? shrunk : head;
	head_move(&c->reader, c->head_text);
	c->input = rest;
	c->input_at = 0;
	c->input_bytes = rest_bytes;
	return true;
}

/*
 * The head must stay where it is until the request ends, but not what was
 * received before and after it.  Usually the head is small.  If it is not, it
 * is not kept twice.  False: no memory.
 */
static bool split_input(struct direct_connection *c)
{
	bool is_all = c->input_at == 0 && c->input_bytes == c->reader.end;

	return is_all || c->input_bytes > HEAD_READ_BYTES ? copy_rest(c) :
							    copy_head(c);
}

/* Give the request a piece of its body.  False: it wants no more now. */
static bool give_piece(struct direct_connection *c, const char *data,
		       size_t bytes)
{
	c->body_bytes_left -= bytes;
	c->wants_more = request_piece(c->request, data, bytes);
	return c->wants_more && !c->is_suspended;
}

/* What was received together with the head. */
static void give_input(struct direct_connection *c)
{
	size_t bytes =
		min_u64(c->input_bytes - c->input_at, c->body_bytes_left);
	const char *data = c->input + c->input_at;

	c->input_at += bytes;
	(void)give_piece(c, data, bytes);
	if (c->input_at == c->input_bytes)
		drop_input(c);
}

/* A transfer_fn: receive the body. */
static enum transfer_need step_body(void *arg, char *buffer, size_t bytes)
{
	struct direct_connection *c = arg;
	size_t done = 0;

	while (c->body_bytes_left > 0) {
		size_t max = min_u64(bytes, c->body_bytes_left);
		ssize_t got = wire_recv(&c->wire, buffer, max);

		if (got == WIRE_AGAIN)
			return c->wire.need;
		c->is_lost = got == WIRE_END;
		if (c->is_lost || !give_piece(c, buffer, (size_t)got))
			break;
		if (c->body_bytes_left > 0 && is_drained(&c->wire, got, max))
			return TRANSFER_NEEDS_INPUT;
		done += (size_t)got;
		if (c->body_bytes_left > 0 && done >= WIRE_STEP_BYTES)
			return TRANSFER_YIELDS;
	}
	return TRANSFER_DONE;
}

/*
 * While the request is suspended, wait, and call it after each wait.  False:
 * close the connection.
 */
static bool await(struct direct_connection *c, bool goes_on)
{
	while (goes_on && c->is_suspended) {
		c->is_suspended = false;
		uthread_wait();
		goes_on = request_next(c->request);
	}
	return goes_on;
}

/* A transfer_fn. */
static enum transfer_need step_send(void *arg, char *buffer, size_t bytes)
{
	struct direct_connection *c = arg;

	c->result = outgoing_send(&c->reply, &c->wire, buffer, bytes);
	return c->result == WIRE_AGAIN ? c->wire.need : TRANSFER_DONE;
}

/* False: the connection is lost. */
static bool send_pieces(struct direct_connection *c)
{
	uthread_transfer(c->wire.fd, step_send, c);
	c->is_lost = c->result <= 0;
	return !c->is_lost;
}

/*
 * A client that sends its body together with the head does not wait for it.
 * False: the connection is lost.
 */
static bool send_continue(struct direct_connection *c)
{
	if (!head_expects_continue(&c->reader) || c->input_at < c->input_bytes)
		return true;
	outgoing_text(&c->reply, "HTTP/1.1 100 Continue\r\n\r\n");
	return send_pieces(c);
}

/* False: close the connection. */
static bool read_body(struct direct_connection *c)
{
	bool goes_on = true;

	while (goes_on && c->body_bytes_left > 0 && !c->is_lost) {
		if (c->input_at < c->input_bytes)
			give_input(c);
		else
			uthread_transfer(c->wire.fd, step_body, c);
		goes_on = await(c, c->wants_more);
	}
	return goes_on && c->body_bytes_left == 0;
}

/* Send the bytes that are made meanwhile.  False: the connection is lost. */
static bool send_stream(struct direct_connection *c)
{
	ssize_t bytes = 0;

	while (bytes != REPLY_END) {
		bytes = outgoing_read(&c->reply);
		if (bytes == 0) {
			c->is_suspended = false;
			uthread_wait();
		} else if (!send_pieces(c)) {
			return false;
		}
		uthread_yield();
	}
	return true;
}

static bool send_reply(struct direct_connection *c)
{
	return send_pieces(c) && (!outgoing_reads(&c->reply) || send_stream(c));
}

static void set_terms(struct direct_connection *c)
{
	const struct request_head *head = &c->reader.head;

	c->terms.is_http_1_0 = c->reader.is_http_1_0;
	c->terms.is_head = c->reader.is_head;
	c->terms.says_close = field_has_word(head, "Connection", "close");
	c->terms.says_keep = field_has_word(head, "Connection", "keep-alive");
}

/*
 * Let the request make its reply.  It may do so before its body was read; then
 * the body is not read.  False: close the connection without a reply.
 */
static bool make_reply(struct direct_connection *c)
{
	struct request *r = c->request;

	c->is_early = true;
	if (!await(c, request_head(r, &c->reader.head)))
		return false;
	if (c->has_reply)
		return true;
	c->is_early = false;
	if (!send_continue(c) || !read_body(c))
		return false;
	return await(c, request_next(r));
}

/* The connection is lost. */
static enum request_ending ending_of_loss(const struct direct_connection *c)
{
	return atomic_load(&c->io_thread->stopping) ? ENDED_STOPPED :
						      ENDED_GONE;
}

static enum request_ending answer(struct direct_connection *c)
{
	enum head_event event = read_head(c);

	if (c->is_lost)
		return ending_of_loss(c);
	if (event != HEAD_COMPLETE || !split_input(c))
		return ENDED_BROKEN;
	set_terms(c);
	c->body_bytes_left = c->reader.length_bytes;
	if (!make_reply(c))
		return c->is_lost ? ending_of_loss(c) : ENDED_BROKEN;
	assert(c->has_reply);
	return send_reply(c) ? ENDED_SENT : ending_of_loss(c);
}

/* Before the next request. */
static void begin_request(struct direct_connection *c)
{
	head_reader_begin(&c->reader);
	c->terms = (struct reply_terms){ .is_head = false };
	c->request = NULL;
	c->has_reply = false;
	c->wants_more = true;
	if (c->input_at == c->input_bytes)
		drop_input(c);
}

/* Serve a request.  False: the connection ends. */
static bool serve_request(struct direct_connection *c)
{
	enum request_ending how = ENDED_BROKEN;
	bool is_last;

	begin_request(c);
	if (read_head(c) != HEAD_TARGET)
		return false;
	c->request = request_new(&c->base);
	if (c->request != NULL)
		how = answer(c);
	request_end(&c->base, c->request, how);
	is_last = c->reply.is_last;
	outgoing_release(&c->reply);
	free(c->head_text);
	c->head_text = NULL;
	return how == ENDED_SENT && !is_last;
}

/* A transfer_fn. */
static enum transfer_need step_handshake(void *arg, char *buffer, size_t bytes)
{
	struct direct_connection *c = arg;

	(void)buffer;
	(void)bytes;
	c->result = wire_handshake(&c->wire);
	return c->result == WIRE_AGAIN ? c->wire.need : TRANSFER_DONE;
}

static bool shake_hands(struct direct_connection *c)
{
	if (c->wire.session == NULL)
		return true;
	uthread_transfer(c->wire.fd, step_handshake, c);
	return c->result > 0;
}

void connection_serve(void *arg)
{
	struct direct_connection *c = arg;

	c->thread = uthread_self();
	if (shake_hands(c))
		while (serve_request(c))
			uthread_yield();
	wire_bye(&c->wire);
	outgoing_release(&c->reply);
	direct_connection_end(c);
}
