/* SPDX-License-Identifier: MIT */
/*
 * The life of an upload's request, all but done() in the connection's thread:
 *
 *	target   the request line is there
 *	begin    headers are there: check, route, get ready for the body
 *	receive  a piece of the body
 *	submit   the body is there: suspend, hand over to the pipeline
 *	done     a worker resumes the connection
 *	answer   the reply is queued
 *	end      the reply is sent, or the client gone: free
 *
 * A request found wrong in `begin` still has its body read (and dropped), so
 * that the connection lives on; unless the body is over the limit, its length
 * or the whole head is not sure, or the client waits for "100 Continue": then
 * it is answered at once and closed.
 */
#include "service/http_request.h"

#include "service/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CONNECTION_BYTES = 128 * 1024, /* mostly read buffer: fewer calls */
	ADMIN_IDLE_MS = 10000,
	ADMIN_CONNECTION_BYTES = 16 * 1024,
	ADMIN_CONNECTIONS_MAX = 16,
	RATE_WINDOW_MS = 5000,
	LEAVE_US = 2000,
	ANSWER_POLL_MS = 5,
	QUIET_POLLS = 10,
};

static const struct route routes[] = {
	{ "/", METHOD_POST, ROLE_UPLOAD, http_answer_upload },
	{ "/v1/process", METHOD_POST, ROLE_UPLOAD, http_answer_upload },
	{ "/healthz", METHOD_GET, ROLE_PROBE, http_answer_health },
	{ "/readyz", METHOD_GET, ROLE_PROBE, http_answer_ready },
	{ "/metrics", METHOD_GET, ROLE_REPORT, http_answer_metrics },
	{ "/stats", METHOD_GET, ROLE_REPORT, http_answer_stats },
	{ "/trace", METHOD_GET, ROLE_REPORT, http_answer_trace },
};

static bool serves(const struct port *port, enum role role)
{
	const struct http *h = port->http;

	switch (role) {
	case ROLE_NONE:
	case ROLES:
		break;
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

/* Answer without reading the body, or is it worth keeping the connection? */
static bool answers_at_once(const struct request *r)
{
	return r->closes ||
	       (r->problem != PROBLEM_NONE &&
		MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_EXPECT) != NULL);
}

static struct client *client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

/*
 * A MHD_NotifyConnectionCallback.  Where connections have threads, new ones do
 * not wait for a place, but are closed at once; so those who leave their places
 * get the time for it, before the next is accepted.
 */
static void on_connection(void *cls, struct MHD_Connection *connection,
			  void **slot, enum MHD_ConnectionNotificationCode what)
{
	struct port *port = cls;
	const union MHD_ConnectionInfo *tls = MHD_get_connection_info(
		connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	int fd = MHD_get_connection_info(connection,
					 MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		client_remove(*slot);
		return;
	}
	*slot = client_add(port->clients, fd, tls == NULL);
	if (port->has_threads)
		(void)usleep(clients_leaving_count(port->clients) * LEAVE_US);
}

/*
 * The request line is there; `target` as it was sent, which is the only time
 * that it is seen so.  NULL: no memory.
 */
static void *on_target(void *cls, const char *target,
		       struct MHD_Connection *connection)
{
	struct request *r = calloc(1, sizeof(*r));

	client_enter(client_of(connection), CLIENT_HEAD);
	if (r == NULL)
		return NULL;
	r->port = cls;
	r->http = r->port->http;
	r->config = &r->http->config;
	r->connection = connection;
	r->client = client_of(connection);
	r->target = target;
	r->target_bytes = http_target_is_good(target) ? strlen(target) : 0;
	return r;
}

static void begin(struct request *r, const char *path, const char *method,
		  const char *version)
{
	struct http *h = r->http;

	atomic_fetch_add(&r->port->request_count, 1);
	client_enter(r->client, CLIENT_BODY);
	r->begin_ns = clock_now_ns();
	(void)snprintf(r->id, sizeof(r->id), "%08" PRIx32 "-%06" PRIx64,
		       h->id_prefix, atomic_fetch_add(&h->id_next, 1));
	r->method = http_method_name(method);

	enum problem unfound = find_route(r, path, method);

	r->problem = http_check_head(r, method, version);
	if (r->problem == PROBLEM_NONE)
		r->problem = unfound;
	if (r->problem == PROBLEM_NONE)
		r->problem = http_check_auth(r, path, method);
	if (r->problem == PROBLEM_NONE &&
	    r->route->answer == http_answer_upload)
		http_begin_upload(r);
}

static bool has_begun(const struct request *r)
{
	return r->begin_ns > 0;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection,
				  const char *url, const char *method,
				  const char *version, const char *data,
				  size_t *bytes, void **slot)
{
	struct request *r = *slot;

	(void)cls;
	(void)connection;
	if (r == NULL)
		return MHD_NO;
	if (!has_begun(r)) {
		begin(r, url, method, version);
		return answers_at_once(r) ? http_reply_problem(r) : MHD_YES;
	}
	if (*bytes > 0) {
		r->received_bytes += *bytes;
		atomic_fetch_add(
			&r->http->counts.received_bytes[request_role(r)],
			*bytes);
		http_receive(r, data, *bytes);
		*bytes = 0;
		return MHD_YES;
	}
	client_enter(r->client, CLIENT_WORK);
	if (r->problem != PROBLEM_NONE)
		return http_reply_problem(r);
	return r->route->answer(r);
}

static void on_end(void *cls, struct MHD_Connection *connection, void **slot,
		   enum MHD_RequestTerminationCode how)
{
	struct request *r = *slot;

	(void)cls;
	client_enter(client_of(connection), CLIENT_IDLE);
	if (r == NULL)
		return;
	if (has_begun(r)) {
		http_log(r, how);
		atomic_fetch_sub(&r->port->request_count, 1);
		http_end_upload(r);
	}
	free(r);
	*slot = NULL;
}

struct port_config {
	int fd;
	unsigned int flags;
	uint32_t connections_max;
	uint32_t per_address_max; /* 0: any */
	uint32_t idle_ms;
	size_t connection_bytes;
};

enum { TLS_OPTIONS = 4 };

/* Returns a flag for MHD_start_daemon(). */
static unsigned int tls_options(struct MHD_OptionItem options[TLS_OPTIONS],
				const struct http_config *c)
{
	/* TLS 1.2 and 1.3, with keys of each connection's own. */
	static const char priorities[] =
		"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA";
	const struct MHD_OptionItem all[TLS_OPTIONS] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)c->tls_certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)c->tls_key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)priorities },
		{ MHD_OPTION_END, 0, NULL },
	};
	bool is_on = c->tls_certificate != NULL;

	memcpy(options, is_on ? all : &all[TLS_OPTIONS - 1],
	       is_on ? sizeof(all) : sizeof(all[0]));
	return is_on ? MHD_USE_TLS : 0;
}

/* False: it could not be started. */
static bool start_port(struct port *port, struct http *h,
		       const struct port_config *c)
{
	uint32_t places = clients_places(c->connections_max);
	struct MHD_OptionItem tls[TLS_OPTIONS];
	unsigned int flags = MHD_USE_ITC | tls_options(tls, &h->config);

	port->http = h;
	port->has_threads = c->flags & MHD_USE_THREAD_PER_CONNECTION;
	port->clients = clients_start(&(struct clients_config){
		.open_max = c->connections_max,
		.places = places,
		.head_ms = h->config.head_ms,
		.idle_ms = c->idle_ms,
		.rate_min = h->config.rate_min,
		.window_ms = RATE_WINDOW_MS,
		.too_slow = h->too_slow,
	});
	if (port->clients == NULL)
		return false;
	port->daemon = MHD_start_daemon(
		c->flags | flags, 0, NULL, NULL, on_request, port,
		MHD_OPTION_LISTEN_SOCKET, c->fd, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, port, MHD_OPTION_URI_LOG_CALLBACK, on_target,
		port, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)places,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned int)c->per_address_max,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, c->connection_bytes,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
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
				  .per_address_max = h->config.per_address_max,
				  .idle_ms = h->config.idle_ms,
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
				  .idle_ms = ADMIN_IDLE_MS,
				  .connection_bytes = ADMIN_CONNECTION_BYTES,
			  });
}

static void stop_port(struct port *port)
{
	if (port->daemon != NULL)
		MHD_stop_daemon(port->daemon);
	clients_stop(port->clients);
}

/* The whole reply.  False: no memory. */
static bool write_too_slow(char text[TOO_SLOW_BYTES])
{
	char *body = problem_json(PROBLEM_REQUEST_TIMEOUT, NULL, NULL);

	if (body == NULL)
		return false;

	int bytes = snprintf(text, TOO_SLOW_BYTES,
			     "HTTP/1.1 408 Request Timeout\r\n"
			     "Content-Type: application/problem+json\r\n"
			     "Content-Length: %zu\r\n"
			     "Connection: close\r\n\r\n%s",
			     strlen(body), body);

	assert(bytes < TOO_SLOW_BYTES);
	free(body);
	return true;
}

struct http *http_start(const struct http_config *config)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->config = *config;
	h->suspends = pipeline_worker_count(config->pipeline) > 0;
	h->id_prefix = (uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16;
	if (write_too_slow(h->too_slow) && start_main(h) &&
	    (config->admin_fd < 0 || start_admin(h)))
		return h;
	http_stop(h);
	return NULL;
}

void http_leave(struct http *h)
{
	atomic_store(&h->leaving, true);
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
	stop_port(&h->main);
	stop_port(&h->admin);
	free(h);
}
