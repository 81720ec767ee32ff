/* SPDX-License-Identifier: MIT */
/*
 * The life of an upload's request, all but done() in the connection's thread:
 *
 *	begin    headers are there: route, check, get ready for the body
 *	receive  a piece of the body
 *	submit   the body is there: suspend, hand over to the pipeline
 *	done     a worker resumes the connection
 *	answer   the reply is queued
 *	end      the reply is sent, or the client gone: free
 *
 * A request found wrong in `begin` still has its body read (and dropped), so
 * that the connection lives on; unless the body is over the limit, its length
 * is not sure, or the client waits for "100 Continue": then it is answered at
 * once and closed.
 */
#include "service/http_request.h"

#include "service/clock.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
	IDLE_TIMEOUT_S = 30,
	CONNECTION_BYTES = 128 * 1024, /* mostly read buffer: fewer calls */
	ADMIN_IDLE_TIMEOUT_S = 10,
	ADMIN_CONNECTION_BYTES = 16 * 1024,
	ADMIN_CONNECTIONS_MAX = 16,
	ANSWER_POLL_MS = 5,
	QUIET_POLLS = 10,
};

static const struct route routes[] = {
	{ "/", METHOD_POST, ROLE_UPLOAD, http_answer_upload },
	{ "/v1/process", METHOD_POST, ROLE_UPLOAD, http_answer_upload },
	{ "/healthz", METHOD_GET, ROLE_PROBE, http_answer_health },
	{ "/readyz", METHOD_GET, ROLE_PROBE, http_answer_ready },
	{ "/stats", METHOD_GET, ROLE_REPORT, http_answer_stats },
	{ "/trace", METHOD_GET, ROLE_REPORT, http_answer_trace },
};

static bool serves(const struct port *port, enum role role)
{
	const struct http *h = port->http;

	switch (role) {
	case ROLE_UPLOAD:
		return port == &h->main;
	case ROLE_PROBE:
		return true;
	case ROLE_REPORT:
		return port == &h->admin || h->config.admin_fd < 0;
	}
	abort();
}

static enum problem find_route(struct request *r, const char *path,
			       const char *method)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(routes[i].path, path) == 0 &&
		    serves(r->port, routes[i].role))
			r->route = &routes[i];
	if (r->route == NULL)
		return PROBLEM_NOT_FOUND;

	bool ok = r->route->method == METHOD_POST ?
			  strcmp(method, MHD_HTTP_METHOD_POST) == 0 :
			  strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
				  strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

	return ok ? PROBLEM_NONE : PROBLEM_METHOD_NOT_ALLOWED;
}

static const char *header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					   name);
}

/* A MHD_KeyValueIterator: count the Content-Length headers. */
static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind,
				 const char *key, const char *value)
{
	int *count = cls;

	(void)kind;
	(void)value;
	*count += strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
	return MHD_YES;
}

/*
 * How long is the body?  Where that cannot be told for sure, as with several
 * lengths or with chunks, the connection cannot be trusted to hold another
 * request behind it.
 */
static enum problem read_length(struct request *r)
{
	const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t max = r->config->body_bytes_max;
	int count = 0;

	(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND,
					on_header, &count);
	if (count > 1 || header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL)
		return PROBLEM_LENGTH_REQUIRED;
	r->length_bytes = length != NULL ? strtoull(length, NULL, 10) : 0;
	if (r->length_bytes <= max)
		return PROBLEM_NONE;
	(void)snprintf(r->detail, sizeof(r->detail),
		       "The body has %" PRIu64 " bytes; at most %" PRIu64
		       " are taken.",
		       r->length_bytes, max);
	return PROBLEM_BODY_TOO_LARGE;
}

/* Answer without reading the body, or is it worth keeping the connection? */
static bool answers_at_once(const struct request *r)
{
	return r->problem == PROBLEM_LENGTH_REQUIRED ||
	       r->problem == PROBLEM_BODY_TOO_LARGE ||
	       (r->problem != PROBLEM_NONE &&
		header(r, MHD_HTTP_HEADER_EXPECT) != NULL);
}

static struct request *begin(struct port *port,
			     struct MHD_Connection *connection,
			     const char *path, const char *method)
{
	struct http *h = port->http;
	struct request *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	atomic_fetch_add(&port->request_count, 1);
	r->port = port;
	r->http = h;
	r->config = &h->config;
	r->connection = connection;
	r->begin_ns = clock_now_ns();
	(void)snprintf(r->id, sizeof(r->id), "%08" PRIx32 "-%06" PRIx64,
		       h->id_prefix, atomic_fetch_add(&h->id_next, 1));
	r->problem = read_length(r);
	if (r->problem == PROBLEM_NONE)
		r->problem = find_route(r, path, method);
	if (r->problem == PROBLEM_NONE &&
	    r->route->answer == http_answer_upload)
		http_begin_upload(r);
	return r;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *bytes, void **slot)
{
	struct request *r = *slot;

	(void)version;
	if (r == NULL) {
		r = begin(cls, connection, url, method);
		*slot = r;
		if (r == NULL)
			return MHD_NO;
		return answers_at_once(r) ? http_reply_problem(r) : MHD_YES;
	}
	if (*bytes > 0) {
		http_receive(r, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	if (r->problem != PROBLEM_NONE)
		return http_reply_problem(r);
	return r->route->answer(r);
}

static void on_end(void *cls, struct MHD_Connection *connection, void **slot,
		   enum MHD_RequestTerminationCode how)
{
	struct request *r = *slot;

	(void)cls;
	(void)connection;
	(void)how;
	if (r == NULL)
		return;
	atomic_fetch_sub(&r->port->request_count, 1);
	http_end_upload(r);
	free(r);
	*slot = NULL;
}

struct port_config {
	int fd;
	unsigned int flags;
	unsigned int connections_max;
	unsigned int idle_s_max;
	size_t connection_bytes;
};

/* False: it could not be started. */
static bool start_port(struct port *port, struct http *h,
		       const struct port_config *c)
{
	port->http = h;
	port->daemon = MHD_start_daemon(
		c->flags | MHD_USE_ITC, 0, NULL, NULL, on_request, port,
		MHD_OPTION_LISTEN_SOCKET, c->fd, MHD_OPTION_NOTIFY_COMPLETED,
		on_end, NULL, MHD_OPTION_CONNECTION_LIMIT, c->connections_max,
		MHD_OPTION_CONNECTION_TIMEOUT, c->idle_s_max,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_bytes,
		MHD_OPTION_END);
	return port->daemon != NULL;
}

static bool start_main(struct http *h)
{
	unsigned int flags = h->suspends ?
				     MHD_USE_EPOLL_INTERNAL_THREAD |
					     MHD_ALLOW_SUSPEND_RESUME :
				     MHD_USE_INTERNAL_POLLING_THREAD |
					     MHD_USE_THREAD_PER_CONNECTION |
					     MHD_USE_POLL;

	return start_port(&h->main, h,
			  &(struct port_config){
				  .fd = h->config.listen_fd,
				  .flags = flags,
				  .connections_max = h->config.connections_max,
				  .idle_s_max = IDLE_TIMEOUT_S,
				  .connection_bytes = CONNECTION_BYTES,
			  });
}

static bool start_admin(struct http *h)
{
	return start_port(&h->admin, h,
			  &(struct port_config){
				  .fd = h->config.admin_fd,
				  .flags = MHD_USE_EPOLL_INTERNAL_THREAD,
				  .connections_max = ADMIN_CONNECTIONS_MAX,
				  .idle_s_max = ADMIN_IDLE_TIMEOUT_S,
				  .connection_bytes = ADMIN_CONNECTION_BYTES,
			  });
}

struct http *http_start(const struct http_config *config)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->config = *config;
	h->suspends = pipeline_worker_count(config->pipeline) > 0;
	h->id_prefix = (uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16;
	if (start_main(h) && (config->admin_fd < 0 || start_admin(h)))
		return h;
	http_stop(h);
	return NULL;
}

void http_refuse(struct http *h)
{
	MHD_socket fd;

	atomic_store(&h->refusing, true);
	fd = MHD_quiesce_daemon(h->main.daemon);
	if (fd != MHD_INVALID_SOCKET)
		(void)close(fd);
}

bool http_wait_answered(struct http *h, uint32_t limit_ms)
{
	uint64_t end_ns = clock_now_ns() + limit_ms * UINT64_C(1000000);
	int quiet_count = 0;

	/* What lies unread in a socket is no request yet: look for a while. */
	while (quiet_count < QUIET_POLLS) {
		bool quiet = atomic_load(&h->main.request_count) == 0;

		if (clock_now_ns() >= end_ns)
			return quiet;
		quiet_count = quiet ? quiet_count + 1 : 0;
		(void)usleep(ANSWER_POLL_MS * 1000);
	}
	return true;
}

void http_stop(struct http *h)
{
	if (h->main.daemon != NULL)
		MHD_stop_daemon(h->main.daemon);
	if (h->admin.daemon != NULL)
		MHD_stop_daemon(h->admin.daemon);
	free(h);
}
