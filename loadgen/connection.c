/* SPDX-License-Identifier: MIT */
#include "loadgen/connection.h"

#include "loadgen/clock.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECEIVE_BYTES = 64 << 10 };

static void close_socket(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

void connection_break(struct connection *c, const char *why)
{
	c->ended_ns = clock_now_ns();
	c->error = why;
	close_socket(c);
}

static bool fail(struct connection *c, const char *why)
{
	connection_break(c, why);
	return false;
}

static bool is_all_sent(const struct connection *c)
{
	return c->sent_bytes == c->head_bytes + c->request.body_bytes;
}

/*
 * With a whole reply.  A server that refuses an upload need not get the rest
 * of it; one that takes it (2xx) must, as its bytes count as processed.
 */
static bool end_unless_sending(struct connection *c)
{
	int status = reply_status(&c->reply);

	if (!is_all_sent(c) && status >= 200 && status <= 299)
		return true;
	c->ended_ns = clock_now_ns();
	if (!is_all_sent(c) || !c->reply.keep_alive)
		close_socket(c);
	return false;
}

/* Receive what there is; `to_end`: until the server has closed. */
static bool receive(struct connection *c, bool to_end)
{
	char bytes[RECEIVE_BYTES];
	ssize_t count;

	do {
		if (c->reply.is_whole)
			return true; /* and only sending is left */
		count = recv(c->fd, bytes, sizeof(bytes), 0);
		if (count < 0 && errno == EAGAIN)
			return true;
		if (count < 0)
			return fail(c, strerrordesc_np(errno));
		if (count == 0)
			reply_take_end(&c->reply);
		else
			reply_take(&c->reply, bytes, (size_t)count);
		if (c->reply.error != NULL)
			return fail(c, c->reply.error);
		if (c->reply.is_whole && !end_unless_sending(c))
			return false;
	} while (to_end || count == sizeof(bytes));
	return true;
}

/* A partial send means that the socket is full: the loop tells when not. */
static bool send_rest(struct connection *c)
{
	size_t head_sent =
		c->sent_bytes < c->head_bytes ? c->sent_bytes : c->head_bytes;
	size_t body_sent = c->sent_bytes - head_sent;
	struct iovec parts[] = {
		{ c->head + head_sent, c->head_bytes - head_sent },
		{ (char *)c->request.body + body_sent,
		  c->request.body_bytes - body_sent },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t count = sendmsg(c->fd, &message, MSG_NOSIGNAL);

	if (count < 0 && errno == EAGAIN)
		return true;
	if (count < 0) {
		const char *why = strerrordesc_np(errno);

		/* The server may have said why it takes no more. */
		return receive(c, true) && fail(c, why);
	}
	c->sent_bytes += (size_t)count;
	if (is_all_sent(c)) {
		c->sent_ns = clock_now_ns();
		if (c->reply.is_whole)
			return end_unless_sending(c);
	}
	return true;
}

static bool start(struct connection *c)
{
	c->started_ns = clock_now_ns();
	return send_rest(c);
}

static bool open_socket(struct connection *c)
{
	int yes = 1;

	c->fd = socket(c->address->ai_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return c->fd >= 0 &&
	       setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) ==
		       0 &&
	       loop_watch(c->loop, c->fd, c);
}

/*
 * Begin to connect, or ask how it goes, which is what a second connect() does:
 * EALREADY while it goes on, 0 when it has succeeded.  One address after the
 * other; that which works is kept for the next time.
 */
static bool connect_or_wait(struct connection *c)
{
	const char *why;

	do {
		if ((c->fd >= 0 || open_socket(c)) &&
		    connect(c->fd, c->address->ai_addr,
			    c->address->ai_addrlen) == 0)
			return start(c);
		if (errno == EINPROGRESS || errno == EALREADY)
			return true;
		why = strerrordesc_np(errno);
		close_socket(c);
		c->address = c->address->ai_next;
	} while (c->address != NULL);
	c->address = c->addresses;
	return fail(c, why);
}

/* False: out of memory. */
static bool write_head(struct connection *c)
{
	const struct request *r = &c->request;
	int length;

	for (;;) {
		length = snprintf(c->head, c->head_capacity,
				  "POST %s HTTP/1.1\r\n"
				  "Host: %s\r\n"
				  "Content-Type: %s\r\n"
				  "Content-Length: %zu\r\n"
				  "%s\r\n",
				  r->target, c->url->authority, r->content_type,
				  r->body_bytes,
				  r->fields != NULL ? r->fields : "");
		assert(length > 0);
		c->head_bytes = (size_t)length;
		if (c->head_bytes < c->head_capacity)
			return true;
		free(c->head);
		c->head_capacity = c->head_bytes + 1;
		c->head = malloc(c->head_capacity);
		if (c->head == NULL) {
			c->head_capacity = 0;
			return false;
		}
	}
}

/* A kept socket has nothing to read, unless the server has closed it. */
static bool start_kept(struct connection *c)
{
	char byte;
	ssize_t count = recv(c->fd, &byte, 1, MSG_PEEK);

	if (count < 0 && errno == EAGAIN)
		return start(c);
	if (count > 0) {
		c->started_ns = clock_now_ns(); /* it was connected */
		return fail(c, "Bytes beyond the last reply");
	}
	close_socket(c);
	return connect_or_wait(c);
}

void connection_init(struct connection *c, const struct url *url,
		     const struct addrinfo *addresses, struct loop *loop,
		     bool keep_reply)
{
	*c = (struct connection){
		.url = url,
		.addresses = addresses,
		.loop = loop,
		.fd = -1,
		.address = addresses,
	};
	reply_init(&c->reply, keep_reply);
}

void connection_release(struct connection *c)
{
	close_socket(c);
	reply_release(&c->reply);
	free(c->head);
}

bool connection_begin(struct connection *c, const struct request *request)
{
	c->request = *request;
	c->sent_bytes = 0;
	c->started_ns = 0;
	c->sent_ns = 0;
	c->error = NULL;
	reply_begin(&c->reply);
	if (!write_head(c))
		return fail(c, strerrordesc_np(ENOMEM));
	return c->fd >= 0 ? start_kept(c) : connect_or_wait(c);
}

bool connection_continue(struct connection *c, uint32_t events)
{
	if (c->started_ns == 0)
		return connect_or_wait(c);
	if ((events & ~(uint32_t)EPOLLOUT) != 0 &&
	    !receive(c, (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0))
		return false;
	return is_all_sent(c) || send_rest(c);
}

/* 0 is no time. */
static uint64_t since(uint64_t began_ns, uint64_t at_ns)
{
	return at_ns == 0 ? 0 : at_ns - began_ns;
}

struct result connection_describe(const struct connection *c, uint64_t began_ns)
{
	struct result r = {
		.file = c->request.file,
		.error = c->error,
		.target = c->request.target,
		.uploaded_bytes = c->request.file_bytes,
		.intended_ns = since(began_ns, c->intended_ns),
		.started_ns = since(began_ns, c->started_ns),
		.sent_ns = since(began_ns, c->sent_ns),
		.ended_ns = since(began_ns, c->ended_ns),
		.scheduled = c->intended_ns != 0,
		.waited = c->waited,
		.lag_ns = c->lag_ns,
		.reply = c->reply.body,
		.reply_bytes = c->reply.body_bytes,
	};

	if (c->error != NULL)
		return r;
	r.status = reply_status(&c->reply);
	r.from_first_byte_ns = c->ended_ns - c->started_ns;
	r.from_last_byte_ns = c->sent_ns != 0 ? c->ended_ns - c->sent_ns : 0;
	r.response_ns = r.scheduled ? c->ended_ns - c->intended_ns :
				      r.from_last_byte_ns;
	return r;
}
