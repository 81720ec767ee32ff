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
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include "service/clock.h"
#include "service/http/viewers.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ANSWER_POLL_MS = 5,
	QUIET_POLLS = 10,
};

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

void *http_on_target(void *cls, const char *target,
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
	atomic_store(&r->holder_count, 1);
	client_enter(r->client, CLIENT_BODY);
	r->begin_ns = clock_now_ns();
	r->upload.number = atomic_fetch_add(&h->requests_begun, 1) + 1;
	(void)snprintf(r->id, sizeof(r->id), "%08" PRIx32 "-" UPLOAD_NUMBER,
		       h->id_prefix, r->upload.number);
	r->method = http_method_name(method);

	enum problem unfound = http_find_route(r, path, method);

	r->problem = http_check_head(r, method, version);
	if (r->problem == PROBLEM_NONE)
		r->problem = unfound;
	if (r->problem == PROBLEM_NONE)
		r->problem = http_check_auth(r, path, method);
	if (r->problem == PROBLEM_NONE && r->route->begin != NULL)
		r->route->begin(r);
}

static bool has_begun(const struct request *r)
{
	return r->begin_ns > 0;
}

void http_release(struct request *r)
{
	struct port *port = r->port;
	bool is_endless = r->is_endless;

	if (atomic_fetch_sub(&r->holder_count, 1) > 1)
		return;
	http_end_upload(r);
	http_end_live(r);
	free(r);
	/* Last: it keeps the server. */
	if (!is_endless)
		atomic_fetch_sub(&port->request_count, 1);
}

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *connection,
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

void http_on_end(void *cls, struct MHD_Connection *connection, void **slot,
		 enum MHD_RequestTerminationCode how)
{
	struct request *r = *slot;

	(void)cls;
	client_enter(client_of(connection), CLIENT_IDLE);
	if (r == NULL)
		return;
	if (has_begun(r)) {
		http_log(r, how);
		http_release(r);
	} else {
		free(r);
	}
	*slot = NULL;
}

struct http *http_start(const struct http_config *config)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->config = *config;
	h->refused_fd = MHD_INVALID_SOCKET;
	ends_init(&h->ends);
	h->suspends = pipeline_worker_count(config->pipeline) > 0;
	h->id_prefix = (uint32_t)clock_now_ns() ^ (uint32_t)getpid() << 16;
	h->viewers = viewers_start(config->live_frame, config->report_arg);
	if (h->viewers != NULL && http_start_ports(h))
		return h;
	http_stop(h);
	return NULL;
}

void http_leave(struct http *h)
{
	atomic_store(&h->leaving, true);
}

/*
 * The socket is closed at the end alone: libmicrohttpd's thread may be about to
 * look at it once more.
 */
void http_refuse(struct http *h)
{
	atomic_store(&h->refusing, true);
	h->refused_fd = MHD_quiesce_daemon(h->main.daemon);
	if (h->refused_fd != MHD_INVALID_SOCKET)
		(void)shutdown(h->refused_fd, SHUT_RDWR);
	if (h->config.admin_fd < 0)
		viewers_end(h->viewers);
}

bool http_wait_answered(struct http *h, uint32_t limit_ms)
{
	uint64_t end_ns = clock_after_ms(limit_ms);
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
	viewers_end(h->viewers);
	http_stop_ports(h);
	viewers_stop(h->viewers);
	if (h->refused_fd != MHD_INVALID_SOCKET)
		(void)close(h->refused_fd);
	ends_release(&h->ends);
	free(h);
}
