/* SPDX-License-Identifier: MIT */
/*
 * The transport over sockets of our own: each connection has a user-level
 * thread, and one more thread accepts them.
 *
 * accept4() is called as a system call, because http/mhd/interpose.c replaces
 * the function by one that sleeps.
 */
#include "service/http/transport.h"

#include "base/util.h"
#include "service/direct/outgoing.h"
#include "service/direct/uthread.h"
#include "service/direct/wire.h"
#include "service/http/connection/clients.h"
#include "service/http/connection/listen.h"
#include "service/http/head/field_values.h"
#include "service/http/head/head_reader.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	HEAD_READ_BYTES = 32 * 1024, /* received at once, of a head */
	PAUSE_MS = 5, /* while there is no room for another connection */
};

struct direct_connection {
	struct connection base;
	struct io_thread *io_thread;
	struct uthread *thread;
	struct wire wire;
	LIST_ENTRY(direct_connection) link;

	/* Bytes that were received, and not read yet from `input_at` on. */
	char *input;
	size_t input_at, input_bytes;

	/* Of the present request. */
	struct head_reader reader;
	enum head_event event; /* of the reader */
	struct reply_terms terms;
	char *head_text; /* of a complete head, if it is not in `input` */
	struct request *request;
	bool is_suspended;
	bool is_early; /* a reply would be sent before the body was read */
	bool has_reply;
	bool wants_more; /* of its body: request_piece() */
	bool is_lost;    /* the other side has closed it, or it is broken */
	uint64_t body_bytes_left;
	struct outgoing reply;
	int result; /* of a step */
};

struct io_thread {
	struct io_thread_config config;
	struct wire_tls *tls; /* NULL: none */
	int pause_fd;         /* a timer */
	/*
	 * What the accepting thread waits for: the listening socket; or, if
	 * that is shared, and so cannot be shut down to wake the thread, an
	 * epoll of the socket and stop_fd.
	 */
	int wait_fd, stop_fd;

	/* Of the connection that was accepted; the accepting thread's. */
	int accepted_fd;
	struct sockaddr_storage from;
	bool must_pause;

	_Atomic bool refusing; /* accept no more */
	_Atomic bool stopping;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t ended; /* a connection, or the accepting thread */
	bool is_accepting;
	uint32_t connection_count;
	LIST_HEAD(, direct_connection) connections;
};

static void set_blocking(int fd, bool blocks)
{
	int on = !blocks;

	(void)ioctl(fd, FIONBIO, &on);
}

static bool blocks(const struct io_thread *t)
{
	return uthreads_block(t->config.uthreads);
}

/* NULL: no memory. */
static struct direct_connection *connection_new(struct io_thread *t, int fd)
{
	struct direct_connection *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	if (!wire_init(&c->wire, fd, blocks(t), t->tls)) {
		free(c);
		return NULL;
	}
	c->base = (struct connection){
		.transport = &transport_direct,
		.port = t->config.port,
		.io_thread = t->config.index,
		.fd = fd,
		.tls = c->wire.session,
	};
	c->io_thread = t;
	c->reply.fd = -1;
	head_reader_init(&c->reader, t->config.connection_bytes);
	return c;
}

/* False: the transport stops, or there are connections_max of them. */
static bool list_connection(struct direct_connection *c)
{
	struct io_thread *t = c->io_thread;
	bool has_room;

	(void)pthread_mutex_lock(&t->lock);
	has_room = !atomic_load(&t->stopping) &&
		   t->connection_count < t->config.connections_max;
	if (has_room) {
		LIST_INSERT_HEAD(&t->connections, c, link);
		t->connection_count++;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return has_room;
}

static void free_connection(struct direct_connection *c)
{
	wire_release(&c->wire);
	head_reader_release(&c->reader);
	free(c->input);
	(void)close(c->base.fd);
	free(c);
}

/* It is over: end it, close its socket, and free it. */
static void end_connection(struct direct_connection *c)
{
	struct io_thread *t = c->io_thread;

	(void)pthread_mutex_lock(&t->lock);
	LIST_REMOVE(c, link);
	(void)pthread_mutex_unlock(&t->lock);
	connection_end(&c->base);
	free_connection(c);
	(void)pthread_mutex_lock(&t->lock);
	t->connection_count--;
	(void)pthread_cond_signal(&t->ended);
	(void)pthread_mutex_unlock(&t->lock);
}

static struct direct_connection *direct_of(struct connection *c)
{
	return container_of(c, struct direct_connection, base);
}

static void direct_suspend(struct connection *c)
{
	direct_of(c)->is_suspended = true;
}

static void direct_resume(struct connection *c)
{
	uthread_wake(direct_of(c)->thread);
}

static bool direct_send(struct connection *base, struct reply *reply)
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

static bool has_body_left(const struct direct_connection *c)
{
	const struct request_head *head = &c->reader.head;

	return head->is_chunked ? !head->chunks.is_over :
				  c->body_bytes_left > 0;
}

/*
 * Give the request a piece of its body, or what its chunks have of it.  Returns
 * how many bytes were read: the others are behind the body.
 */
static size_t give_piece(struct direct_connection *c, char *data, size_t bytes)
{
	struct request_head *head = &c->reader.head;
	size_t used = bytes;

	if (head->is_chunked)
		bytes = chunks_decode(&head->chunks, data, bytes, &used);
	else
		c->body_bytes_left -= bytes;
	if (bytes > 0)
		c->wants_more = request_piece(c->request, data, bytes);
	return used;
}

/* What was received together with the head. */
static void give_input(struct direct_connection *c)
{
	size_t bytes = c->input_bytes - c->input_at;

	if (!c->reader.head.is_chunked)
		bytes = min_u64(bytes, c->body_bytes_left);
	c->input_at += give_piece(c, c->input + c->input_at, bytes);
	if (c->input_at == c->input_bytes)
		drop_input(c);
}

/*
 * Give the request what was received, and keep what is behind its body.  False:
 * it wants no more now, or there is no memory.
 */
static bool give_received(struct direct_connection *c, char *data, size_t bytes)
{
	size_t used = give_piece(c, data, bytes);

	if (used < bytes && !keep_input(c, data + used, bytes - used))
		c->wants_more = false;
	return c->wants_more && !c->is_suspended;
}

/* A transfer_fn: receive the body. */
static enum transfer_need step_body(void *arg, char *buffer, size_t bytes)
{
	struct direct_connection *c = arg;
	size_t done = 0;

	while (has_body_left(c)) {
		size_t max = c->reader.head.is_chunked ?
				     bytes :
				     min_u64(bytes, c->body_bytes_left);
		ssize_t got = wire_recv(&c->wire, buffer, max);

		if (got == WIRE_AGAIN)
			return c->wire.need;
		c->is_lost = got == WIRE_END;
		if (c->is_lost || !give_received(c, buffer, (size_t)got))
			break;
		if (has_body_left(c) && is_drained(&c->wire, got, max))
			return TRANSFER_NEEDS_INPUT;
		done += (size_t)got;
		if (has_body_left(c) && done >= WIRE_STEP_BYTES)
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

	while (goes_on && has_body_left(c) && !c->is_lost) {
		if (c->input_at < c->input_bytes)
			give_input(c);
		else
			uthread_transfer(c->wire.fd, step_body, c);
		goes_on = await(c, c->wants_more);
	}
	return goes_on && !has_body_left(c);
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
	chunk_reader_init(&c->reader.head.chunks,
			  c->io_thread->config.body_bytes_max);
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

/*
 * An uthread_fn: serve a connection that has begun to its end, as straight-line
 * code.  It waits in transfers, and in await() while it is suspended.
 */
static void serve_connection(void *arg)
{
	struct direct_connection *c = arg;

	c->thread = uthread_self();
	if (shake_hands(c))
		while (serve_request(c))
			uthread_yield();
	wire_bye(&c->wire);
	outgoing_release(&c->reply);
	end_connection(c);
}

static void begin_connection(struct io_thread *t, int fd,
			     const struct sockaddr *from)
{
	struct direct_connection *c = NULL;
	int on = 1;

	if (port_admit(t->config.port, from))
		c = connection_new(t, fd);
	if (c == NULL) {
		(void)close(fd);
		return;
	}
	if (!list_connection(c)) {
		free_connection(c);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection_begin(&c->base, from);
	if (!uthread_spawn(t->config.uthreads, serve_connection, c))
		end_connection(c);
}

/*
 * After an error that may last, such as a lack of descriptors, trying again at
 * once would only use the CPU.
 */
static bool may_last(int error)
{
	return error != EINTR && error != ECONNABORTED && error != EAGAIN;
}

static int accept_one(const struct io_thread *t, struct sockaddr_storage *from)
{
	socklen_t bytes = sizeof(*from);

	return (int)syscall(SYS_accept4, t->config.listen_fd, from, &bytes,
			    SOCK_CLOEXEC | (blocks(t) ? 0 : SOCK_NONBLOCK));
}

/* A transfer_fn: accept a connection. */
static enum transfer_need step_accept(void *arg, char *buffer, size_t bytes)
{
	struct io_thread *t = arg;

	(void)buffer;
	(void)bytes;
	t->accepted_fd = accept_one(t, &t->from);
	if (t->accepted_fd < 0 && errno == EAGAIN && !atomic_load(&t->refusing))
		return TRANSFER_NEEDS_INPUT;
	t->must_pause = t->accepted_fd < 0 && may_last(errno) &&
			!atomic_load(&t->refusing);
	return TRANSFER_DONE;
}

/* A transfer_fn: wait for the timer. */
static enum transfer_need step_pause(void *arg, char *buffer, size_t bytes)
{
	const struct io_thread *t = arg;
	uint64_t count;

	(void)buffer;
	(void)bytes;
	return read(t->pause_fd, &count, sizeof(count)) < 0 && errno == EAGAIN ?
		       TRANSFER_NEEDS_INPUT :
		       TRANSFER_DONE;
}

static void pause_accepting(struct io_thread *t)
{
	const struct itimerspec after = {
		.it_value.tv_nsec = PAUSE_MS * 1000000,
	};

	(void)timerfd_settime(t->pause_fd, 0, &after, NULL);
	uthread_transfer(t->pause_fd, step_pause, t);
}

/*
 * The thread of a connection that is not counted any more may not have ended
 * yet, so threads count, too.
 */
static bool is_full(struct io_thread *t)
{
	bool result;

	(void)pthread_mutex_lock(&t->lock);
	result = t->connection_count >= t->config.connections_max;
	(void)pthread_mutex_unlock(&t->lock);
	return result || uthreads_are_full(t->config.uthreads);
}

/* An uthread_fn. */
static void accept_all(void *arg)
{
	struct io_thread *t = arg;

	while (!atomic_load(&t->refusing)) {
		t->must_pause = is_full(t);
		t->accepted_fd = -1;
		if (!t->must_pause)
			uthread_transfer(t->wait_fd, step_accept, t);
		if (t->accepted_fd >= 0)
			begin_connection(t, t->accepted_fd,
					 (const struct sockaddr *)&t->from);
		else if (t->must_pause)
			pause_accepting(t);
		/* Clients may come as fast as they are accepted. */
		uthread_yield();
	}
	(void)pthread_mutex_lock(&t->lock);
	t->is_accepting = false;
	(void)pthread_cond_signal(&t->ended);
	(void)pthread_mutex_unlock(&t->lock);
}

static void io_thread_free(struct io_thread *t)
{
	if (t->pause_fd >= 0)
		(void)close(t->pause_fd);
	if (t->wait_fd >= 0 && t->wait_fd != t->config.listen_fd)
		(void)close(t->wait_fd);
	if (t->stop_fd >= 0)
		(void)close(t->stop_fd);
	wire_tls_free(t->tls);
	(void)pthread_cond_destroy(&t->ended);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

/* False: no memory, or no descriptor. */
static bool open_wait(struct io_thread *t)
{
	struct epoll_event input = { .events = EPOLLIN };

	if (!t->config.is_shared) {
		set_blocking(t->config.listen_fd, blocks(t));
		t->wait_fd = t->config.listen_fd;
		return true;
	}
	/* Others that have it must not find a socket that blocks. */
	set_blocking(t->config.listen_fd, false);
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	return t->stop_fd >= 0 && t->wait_fd >= 0 &&
	       epoll_ctl(t->wait_fd, EPOLL_CTL_ADD, t->stop_fd, &input) == 0 &&
	       epoll_ctl(t->wait_fd, EPOLL_CTL_ADD, t->config.listen_fd,
			 &input) == 0;
}

/* False: no memory, no descriptor, or no thread. */
static bool begin_accepting(struct io_thread *t)
{
	if (t->config.has_tls) {
		t->tls = wire_tls_new();
		if (t->tls == NULL)
			return false;
	}
	t->pause_fd = timerfd_create(
		CLOCK_MONOTONIC, TFD_CLOEXEC | (blocks(t) ? 0 : TFD_NONBLOCK));
	if (t->pause_fd < 0)
		return false;
	if (!open_wait(t) || !uthreads_watch(t->config.uthreads, t->pause_fd) ||
	    !uthreads_watch(t->config.uthreads, t->wait_fd))
		return false;
	t->is_accepting = uthread_spawn(t->config.uthreads, accept_all, t);
	return t->is_accepting;
}

static struct io_thread *direct_start(const struct io_thread_config *config)
{
	struct io_thread *t = calloc(1, sizeof(*t));

	assert(config->uthreads != NULL && config->listen_fd >= 0);
	if (t == NULL)
		return NULL;
	t->config = *config;
	t->pause_fd = t->wait_fd = t->stop_fd = -1;
	LIST_INIT(&t->connections);
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_cond_init(&t->ended, NULL);
	if (begin_accepting(t))
		return t;
	io_thread_free(t);
	return NULL;
}

/*
 * The system resets the connections that wait to be accepted when the listening
 * socket is shut down, although their clients may have sent requests.  While
 * all kernel threads run steps, the accepting thread waits for its turn, so the
 * caller accepts them: those that wait now, because others may come as fast.
 * If the accepting thread takes the last room meanwhile, list_connection() or
 * uthread_spawn() fails, and the client is lost as the others that do not fit.
 */
static void accept_rest(struct io_thread *t)
{
	struct sockaddr_storage from;
	int fd = 0;

	set_blocking(t->config.listen_fd, false);
	for (int i = 0; i < LISTEN_BACKLOG && fd >= 0 && !is_full(t); i++) {
		fd = accept_one(t, &from);
		if (fd >= 0)
			begin_connection(t, fd, (struct sockaddr *)&from);
	}
}

static int direct_stop_accepting(struct io_thread *t)
{
	const uint64_t one = 1;
	int fd = t->config.listen_fd;

	atomic_store(&t->refusing, true);
	if (t->config.is_shared) {
		(void)!write(t->stop_fd, &one, sizeof(one));
		return fd;
	}
	accept_rest(t);
	(void)shutdown(fd, SHUT_RDWR);
	return fd;
}

/* Nothing is received or sent any more, so each thread ends soon. */
static void shut_all(struct io_thread *t)
{
	struct direct_connection *c;

	(void)pthread_mutex_lock(&t->lock);
	atomic_store(&t->stopping, true);
	LIST_FOREACH(c, &t->connections, link)
	(void)shutdown(c->base.fd, SHUT_RDWR);
	while (t->connection_count > 0 || t->is_accepting)
		(void)pthread_cond_wait(&t->ended, &t->lock);
	(void)pthread_mutex_unlock(&t->lock);
}

static void direct_stop(struct io_thread *t)
{
	bool owns_socket = !atomic_load(&t->refusing);

	if (owns_socket)
		(void)direct_stop_accepting(t);
	shut_all(t);
	if (owns_socket)
		(void)close(t->config.listen_fd);
	io_thread_free(t);
}

const struct transport transport_direct = {
	.start = direct_start,
	.stop_accepting = direct_stop_accepting,
	.stop = direct_stop,
	.suspend = direct_suspend,
	.resume = direct_resume,
	.send = direct_send,
};
