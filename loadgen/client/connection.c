/* SPDX-License-Identifier: MIT */
#include "loadgen/client/connection.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	BODY_BYTES_FIRST = 64 << 10,
	RECEIVE_BYTES = 64 << 10,
};

static bool is_interim(const http_parser *parser)
{
	return parser->status_code < 200 &&
	       parser->status_code != HTTP_STATUS_SWITCHING_PROTOCOLS;
}

static bool reply_reserve_body(struct reply *r, size_t bytes)
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

/* A callback of the parser.  Returning 0 means: go on. */
static int reply_add_body(http_parser *parser, const char *bytes, size_t count)
{
	struct reply *r = parser->data;

	if (count > REPLY_BYTES_MAX - r->body_bytes) {
		r->error = "Reply too long";
		return 1;
	}
	if (r->keep_body) {
		if (!reply_reserve_body(r, r->body_bytes + count)) {
			r->error = "Out of memory for the reply";
			return 1;
		}
		memcpy(r->body + r->body_bytes, bytes, count);
	}
	r->body_bytes += count;
	return 0;
}

/* Pause the parser, so that it does not read bytes after the reply. */
static int reply_set_whole(http_parser *parser)
{
	struct reply *r = parser->data;

	if (is_interim(parser))
		return 0;
	r->is_whole = true;
	r->keep_alive = http_should_keep_alive(parser) && !parser->upgrade;
	http_parser_pause(parser, 1);
	return 0;
}

static const http_parser_settings parser_callbacks = {
	.on_body = reply_add_body,
	.on_message_complete = reply_set_whole,
};

static void reply_init(struct reply *r, bool keep_body)
{
	*r = (struct reply){ .keep_body = keep_body };
}

static void reply_release(struct reply *r)
{
	free(r->body);
}

static void reply_begin(struct reply *r)
{
	http_parser_init(&r->parser, HTTP_RESPONSE);
	r->parser.data = r;
	r->has_begun = false;
	r->is_whole = false;
	r->keep_alive = false;
	r->error = NULL;
	r->body_bytes = 0;
}

static void reply_take(struct reply *r, const char *bytes, size_t count)
{
	size_t used;

	assert(!r->is_whole && r->error == NULL && count > 0);
	r->has_begun = true;
	used = http_parser_execute(&r->parser, &parser_callbacks, bytes, count);
	if (r->error != NULL)
		return;
	if (r->is_whole && used < count)
		r->error = "Bytes beyond the reply";
	else if (!r->is_whole && HTTP_PARSER_ERRNO(&r->parser) != HPE_OK)
		r->error =
			http_errno_description(HTTP_PARSER_ERRNO(&r->parser));
}

static void reply_take_end(struct reply *r)
{
	assert(!r->is_whole && r->error == NULL);
	http_parser_execute(&r->parser, &parser_callbacks, NULL, 0);
	if (!r->is_whole)
		r->error = r->has_begun ? "Connection closed within the reply" :
					  "Connection closed without a reply";
}

static int reply_status(const struct reply *r)
{
	assert(r->is_whole);
	return (int)r->parser.status_code;
}

static void close_socket(struct connection *c)
{
	tls_close(c->session);
	c->session = NULL;
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

static bool connection_fail(struct connection *c, const char *why)
{
	connection_break(c, why);
	return false;
}

/* As recv() and sendmsg() for a socket that does not block. */
static ssize_t receive(struct connection *c, char *to, size_t bytes)
{
	return c->session != NULL ? tls_recv(c->session, to, bytes) :
				    recv(c->fd, to, bytes, 0);
}

static ssize_t send_parts(struct connection *c, struct iovec *parts,
			  size_t count)
{
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };

	return c->session != NULL ? tls_send(c->session, parts, count) :
				    sendmsg(c->fd, &message, MSG_NOSIGNAL);
}

/* Why one of these has failed. */
static const char *explain(const struct connection *c)
{
	return c->session != NULL ? tls_why(c->session) :
				    strerrordesc_np(errno);
}

static bool is_all_sent(const struct connection *c)
{
	return c->sent_bytes == c->head_bytes + c->request.body_bytes;
}

/*
 * The reply is whole.  If it refuses the upload, the rest of the upload is not
 * sent.  If it is 2xx, the rest is sent first, because all bytes of the upload
 * will count as processed.
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

/* Receive until the socket blocks; `to_end`: until the server has closed. */
static bool receive_reply(struct connection *c, bool to_end)
{
	char bytes[RECEIVE_BYTES];
	ssize_t count;

	do {
		if (c->reply.is_whole)
			/* The reply is whole; only sending is left. */
			return true;
		count = receive(c, bytes, sizeof(bytes));
		if (count < 0 && errno == EAGAIN)
			return true;
		if (count < 0)
			return connection_fail(c, explain(c));
		if (count == 0)
			reply_take_end(&c->reply);
		else
			reply_take(&c->reply, bytes, (size_t)count);
		if (c->reply.error != NULL)
			return connection_fail(c, c->reply.error);
		if (c->reply.is_whole && !end_unless_sending(c))
			return false;
	} while (to_end || c->session != NULL || count == sizeof(bytes));
	return true;
}

/* False: the request has ended; or `*is_full`: epoll tells when to go on. */
static bool send_some(struct connection *c, bool *is_full)
{
	size_t head_sent =
		c->sent_bytes < c->head_bytes ? c->sent_bytes : c->head_bytes;
	size_t body_sent = c->sent_bytes - head_sent;
	struct iovec parts[] = {
		{ c->head + head_sent, c->head_bytes - head_sent },
		{ (char *)c->request.body + body_sent,
		  c->request.body_bytes - body_sent },
	};
	ssize_t count = send_parts(c, parts, 2);

	*is_full = c->session == NULL || count < 0;
	if (count < 0 && errno == EAGAIN)
		return true;
	if (count < 0) {
		const char *why = explain(c);

		/* The server may have sent a reply before it closed. */
		return receive_reply(c, true) && connection_fail(c, why);
	}
	c->sent_bytes += (size_t)count;
	if (is_all_sent(c)) {
		c->sent_ns = clock_now_ns();
		if (c->reply.is_whole)
			return end_unless_sending(c);
	}
	return true;
}

/*
 * Plain HTTP: send once; after a partial send the socket's buffer is full, and
 * epoll reports when it has room again.  TLS: send records until it is full.
 */
static bool send_rest(struct connection *c)
{
	bool is_full = false, goes_on = true;

	while (goes_on && !is_full && !is_all_sent(c))
		goes_on = send_some(c, &is_full);
	return goes_on;
}

static bool start_sending(struct connection *c)
{
	c->started_ns = clock_now_ns();
	return send_rest(c);
}

static bool watch_socket(struct connection *c)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.ptr = c,
	};

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) == 0;
}

static bool open_socket(struct connection *c)
{
	int yes = 1;

	c->fd = socket(c->address->ai_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return c->fd >= 0 &&
	       setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) ==
		       0 &&
	       watch_socket(c);
}

/* The socket is connected: establish TLS, if it is used, and then send. */
static bool establish(struct connection *c)
{
	if (c->tls == NULL)
		return start_sending(c);
	if (c->session == NULL)
		c->session = tls_open(c->tls, c->url->host, c->fd);
	if (c->session == NULL)
		return connection_fail(c, strerrordesc_np(ENOMEM));
	if (tls_handshake(c->session) == 0)
		return start_sending(c);
	return errno == EAGAIN || connection_fail(c, explain(c));
}

/*
 * Begin to connect, or find out whether the socket is connected: until it is, a
 * second connect() fails with EALREADY; then it returns 0.  Addresses are tried
 * in turn; the one that works is used first the next time.
 */
static bool connect_or_wait(struct connection *c)
{
	const char *why;

	do {
		if ((c->fd >= 0 || open_socket(c)) &&
		    connect(c->fd, c->address->ai_addr,
			    c->address->ai_addrlen) == 0)
			return establish(c);
		if (errno == EINPROGRESS || errno == EALREADY)
			return true;
		why = strerrordesc_np(errno);
		close_socket(c);
		c->address = c->address->ai_next;
	} while (c->address != NULL);
	c->address = c->addresses;
	return connection_fail(c, why);
}

/* False: out of memory. */
static bool write_head(struct connection *c)
{
	const struct request *r = &c->request;
	const char *fields = r->fields != NULL ? r->fields : "";
	int length;

	for (;;) {
		if (r->content_type == NULL)
			length = snprintf(c->head, c->head_capacity,
					  "GET %s HTTP/1.1\r\n"
					  "Host: %s\r\n"
					  "%s\r\n",
					  r->target, c->url->authority, fields);
		else
			length = snprintf(c->head, c->head_capacity,
					  "POST %s HTTP/1.1\r\n"
					  "Host: %s\r\n"
					  "Content-Type: %s\r\n"
					  "Content-Length: %zu\r\n"
					  "%s\r\n",
					  r->target, c->url->authority,
					  r->content_type, r->body_bytes,
					  fields);
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

/*
 * A kept socket should have nothing to read.  If the server has closed it, open
 * a new one.  If the server has sent bytes, the request fails.
 */
static bool start_on_kept_socket(struct connection *c)
{
	char byte;
	ssize_t count = c->session != NULL ? tls_recv(c->session, &byte, 1) :
					     recv(c->fd, &byte, 1, MSG_PEEK);

	if (count < 0 && errno == EAGAIN)
		return start_sending(c);
	if (count > 0) {
		c->started_ns = clock_now_ns(); /* it is connected already */
		return connection_fail(c, "Bytes beyond the last reply");
	}
	close_socket(c);
	return connect_or_wait(c);
}

void connection_init(struct connection *c, const struct url *url,
		     const struct addrinfo *addresses, const struct tls *tls,
		     int epoll_fd, bool keep_reply)
{
	*c = (struct connection){
		.url = url,
		.addresses = addresses,
		.tls = tls,
		.epoll_fd = epoll_fd,
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
		return connection_fail(c, strerrordesc_np(ENOMEM));
	return c->fd >= 0 ? start_on_kept_socket(c) : connect_or_wait(c);
}

bool connection_continue(struct connection *c, uint32_t events)
{
	if (c->started_ns == 0)
		return c->session != NULL ? establish(c) : connect_or_wait(c);
	if ((events & ~(uint32_t)EPOLLOUT) != 0 &&
	    !receive_reply(c,
			   (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0))
		return false;
	return is_all_sent(c) || send_rest(c);
}

/* 0 stays 0: it means that there is no time. */
static uint64_t time_since(uint64_t began_ns, uint64_t at_ns)
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
		.intended_ns = time_since(began_ns, c->intended_ns),
		.started_ns = time_since(began_ns, c->started_ns),
		.sent_ns = time_since(began_ns, c->sent_ns),
		.ended_ns = time_since(began_ns, c->ended_ns),
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
