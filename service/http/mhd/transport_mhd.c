/* SPDX-License-Identifier: MIT */
/*
 * The transport over libmicrohttpd, 0.9.75 to 1.0.x.  It frames requests and
 * sends replies; what a head says comes from our own reader: see input.h.
 */
#include "service/http/transport.h"

#include "service/http/connection/tls.h"
#include "service/http/mhd/interpose.h"

#include "base/util.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert((int)REPLY_END == (int)MHD_CONTENT_READER_END_OF_STREAM,
	       "read() is a MHD_ContentReaderCallback");

struct io_thread {
	struct io_thread_config config;
	struct MHD_Daemon
		*daemon; /* used by the main thread and the acceptor */
};

struct mhd_connection {
	struct connection base;
	struct MHD_Connection *library;

	struct input *input;
	bool has_head; /* request_head() was called for the present request */
	/* It keeps the file of the reply open; NULL: there is none. */
	struct MHD_Response *file;
};

static struct mhd_connection *connection_of(struct MHD_Connection *library)
{
	return MHD_get_connection_info(library,
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static struct MHD_Connection *library_of(struct connection *c)
{
	return container_of(c, struct mhd_connection, base)->library;
}

static int fd_of(struct MHD_Connection *library)
{
	return MHD_get_connection_info(library,
				       MHD_CONNECTION_INFO_CONNECTION_FD)
		->connect_fd;
}

static void *tls_of(struct MHD_Connection *library)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(
		library, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	return info != NULL ? info->tls_session : NULL;
}

/* NULL: no memory. */
static struct mhd_connection *connection_new(const struct io_thread *thread,
					     struct MHD_Connection *library)
{
	struct mhd_connection *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->input = input_new(
		thread->config.connection_bytes, thread->config.body_bytes_max,
		thread->config.has_threads && !thread->config.has_tls);
	if (c->input == NULL) {
		free(c);
		return NULL;
	}
	c->library = library;
	c->base = (struct connection){
		.transport = &transport_mhd,
		.port = thread->config.port,
		.io_thread = thread->config.index,
		.fd = fd_of(library),
		.tls = tls_of(library),
	};
	return c;
}

static void drop_file(struct mhd_connection *c)
{
	if (c->file != NULL)
		MHD_destroy_response(c->file);
	c->file = NULL;
}

/* NULL is fine. */
static void connection_free(struct mhd_connection *c)
{
	if (c == NULL)
		return;
	drop_file(c);
	input_free(c->input);
	free(c);
}

/* False: no memory, or the descriptor is too large. */
static bool begin_connection(struct mhd_connection *c,
			     struct MHD_Connection *library)
{
	if (c == NULL ||
	    !interpose_begin(c->base.fd, c->base.tls == NULL, c->input))
		return false;
	connection_begin(&c->base,
			 MHD_get_connection_info(
				 library, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
				 ->client_addr);
	return true;
}

/*
 * A MHD_NotifyConnectionCallback.  If a connection could not begin, *slot stays
 * NULL, and it is shut down, because no client would limit its time.
 */
static void on_connection(void *cls, struct MHD_Connection *library,
			  void **slot, enum MHD_ConnectionNotificationCode what)
{
	struct mhd_connection *c = *slot;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		c = connection_new(cls, library);
		if (!begin_connection(c, library)) {
			(void)shutdown(fd_of(library), SHUT_RDWR);
			connection_free(c);
			return;
		}
		*slot = c;
		return;
	}
	if (c == NULL)
		return;
	interpose_end(c->base.fd);
	connection_end(&c->base);
	connection_free(c);
	*slot = NULL;
}

/*
 * A MHD_AcceptPolicyCallback, called before memory is used: by the acceptor's
 * thread, or without an acceptor by the only I/O thread.
 */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *from,
				 socklen_t bytes)
{
	const struct io_thread *thread = cls;

	(void)bytes;
	return port_admit(thread->config.port, from) ? MHD_YES : MHD_NO;
}

/* The request line is there.  Returns the request. */
static void *on_target(void *cls, const char *target,
		       struct MHD_Connection *library)
{
	struct mhd_connection *c = connection_of(library);

	(void)cls;
	(void)target;
	if (c == NULL)
		return NULL;
	c->has_head = false;
	return request_new(&c->base);
}

/* A MHD_AccessHandlerCallback. */
static enum MHD_Result on_call(void *cls, struct MHD_Connection *library,
			       const char *path, const char *method,
			       const char *version, const char *data,
			       size_t *bytes, void **slot)
{
	const struct request_head *head;
	struct request *r = *slot;
	struct mhd_connection *c;
	bool goes_on;

	(void)cls;
	(void)path;
	(void)method;
	(void)version;
	if (r == NULL)
		return MHD_NO;
	c = connection_of(library);
	if (!c->has_head) {
		head = input_head(c->input);
		if (head ==
		    NULL) /* libmicrohttpd reads in a way unknown to us */
			return MHD_NO;
		c->has_head = true;
		goes_on = request_head(r, head);
	} else if (*bytes > 0) {
		goes_on = request_piece(r, data, *bytes);
		*bytes = 0;
	} else {
		goes_on = request_next(r);
	}
	return goes_on ? MHD_YES : MHD_NO;
}

static enum request_ending ending_of(enum MHD_RequestTerminationCode how)
{
	switch (how) {
	case MHD_REQUEST_TERMINATED_COMPLETED_OK:
		return ENDED_SENT;
	case MHD_REQUEST_TERMINATED_WITH_ERROR:
		return ENDED_BROKEN;
	case MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN:
		return ENDED_STOPPED;
	case MHD_REQUEST_TERMINATED_TIMEOUT_REACHED:
	case MHD_REQUEST_TERMINATED_READ_ERROR:
	case MHD_REQUEST_TERMINATED_CLIENT_ABORT:
		break;
	}
	return ENDED_GONE;
}

/* A MHD_RequestCompletedCallback. */
static void on_end(void *cls, struct MHD_Connection *library, void **slot,
		   enum MHD_RequestTerminationCode how)
{
	struct mhd_connection *c = connection_of(library);
	struct request *r = *slot;

	(void)cls;
	if (c == NULL)
		return;
	*slot = NULL;
	request_end(&c->base, r, ending_of(how));
	drop_file(c);
	input_drop_head(c->input);
}

static unsigned int flags_of(const struct io_thread_config *c)
{
	unsigned int flags = c->has_threads ?
				     MHD_USE_INTERNAL_POLLING_THREAD |
					     MHD_USE_THREAD_PER_CONNECTION |
					     MHD_USE_POLL :
				     MHD_USE_EPOLL_INTERNAL_THREAD |
					     MHD_ALLOW_SUSPEND_RESUME;

	if (c->has_tls)
		flags |= MHD_USE_TLS;
	if (c->listen_fd < 0)
		flags |= MHD_USE_NO_LISTEN_SOCKET;
	return flags | MHD_USE_ITC;
}

static struct MHD_Daemon *start_daemon(struct io_thread *t)
{
	const struct io_thread_config *c = &t->config;
	const struct MHD_OptionItem none = { MHD_OPTION_END, 0, NULL };
	const struct MHD_OptionItem listen[] = {
		{ MHD_OPTION_LISTEN_SOCKET, c->listen_fd, NULL },
		none,
	};
	const struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, tls_callback() },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)tls_priorities },
		none,
	};

	return MHD_start_daemon(
		flags_of(c), 0, on_accept, t, on_call, NULL,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, t,
		MHD_OPTION_URI_LOG_CALLBACK, on_target, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)c->connections_max,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_bytes,
		MHD_OPTION_ARRAY, c->has_tls ? tls : &none, MHD_OPTION_ARRAY,
		c->listen_fd >= 0 ? listen : &none, MHD_OPTION_END);
}

static struct io_thread *mhd_start(const struct io_thread_config *config)
{
	struct io_thread *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->config = *config;
	t->daemon = start_daemon(t);
	if (t->daemon != NULL)
		return t;
	free(t);
	return NULL;
}

static bool mhd_give(struct io_thread *t, int fd, const struct sockaddr *from,
		     socklen_t bytes)
{
	return MHD_add_connection(t->daemon, fd, from, bytes) == MHD_YES;
}

static int mhd_stop_accepting(struct io_thread *t)
{
	int fd = MHD_quiesce_daemon(t->daemon);

	return fd != MHD_INVALID_SOCKET ? fd : -1;
}

static void mhd_stop(struct io_thread *t)
{
	MHD_stop_daemon(t->daemon);
	free(t);
}

static void mhd_suspend(struct connection *c)
{
	MHD_suspend_connection(library_of(c));
}

static void mhd_resume(struct connection *c)
{
	MHD_resume_connection(library_of(c));
}

static struct MHD_Response *response_of_pieces(const struct reply *p)
{
	const struct iovec none = { NULL, 0 };
	const struct iovec *first = p->piece_count > 0 ? p->pieces : &none;
	struct MHD_IoVec pieces[REPLY_PIECES_MAX];

	if (p->piece_count <= 1 && p->release == NULL)
		return MHD_create_response_from_buffer(first->iov_len,
						       first->iov_base,
						       MHD_RESPMEM_PERSISTENT);
	if (p->piece_count <= 1)
		return MHD_create_response_from_buffer_with_free_callback_cls(
			first->iov_len, first->iov_base, p->release, p->arg);
	for (uint32_t i = 0; i < p->piece_count; i++)
		pieces[i] = (struct MHD_IoVec){ p->pieces[i].iov_base,
						p->pieces[i].iov_len };
	return MHD_create_response_from_iovec(pieces, p->piece_count,
					      p->release, p->arg);
}

/* NULL: no memory, and the body is still the reply's. */
static struct MHD_Response *response_of(const struct reply *p)
{
	switch (p->kind) {
	case REPLY_PIECES:
		return response_of_pieces(p);
	case REPLY_FILE:
		return MHD_create_response_from_fd_at_offset64(p->bytes, p->fd,
							       p->offset);
	case REPLY_READ:
		return MHD_create_response_from_callback(
			p->has_length ? p->bytes : MHD_SIZE_UNKNOWN,
			p->read_bytes, p->read, p->arg, p->release);
	}
	abort();
}

static bool add_headers(struct MHD_Response *response, const struct reply *p)
{
	for (uint32_t i = 0; i < p->header_count; i++)
		if (MHD_add_response_header(response, p->headers[i].name,
					    p->headers[i].value) != MHD_YES)
			return false;
	return true;
}

static bool mhd_send(struct connection *c, struct reply *p)
{
	struct mhd_connection *m = container_of(c, struct mhd_connection, base);
	struct MHD_Response *response = response_of(p);
	bool ok;

	if (response == NULL) {
		reply_drop(p);
		return false;
	}
	ok = add_headers(response, p) &&
	     MHD_queue_response(m->library, p->status, response) == MHD_YES;
	if (p->kind == REPLY_FILE)
		m->file = response;
	else
		MHD_destroy_response(response);
	return ok;
}

const struct transport transport_mhd = {
	.start = mhd_start,
	.give = mhd_give,
	.stop_accepting = mhd_stop_accepting,
	.stop = mhd_stop,
	.suspend = mhd_suspend,
	.resume = mhd_resume,
	.send = mhd_send,
};
