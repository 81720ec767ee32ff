/* SPDX-License-Identifier: MIT */
/*
 * GET /v1/live: a reply without an end, from what viewers.h has to read.
 *
 *	answer   the request becomes a viewer's
 *	read     by libmicrohttpd, whenever it can write more
 *	end      the client is gone, or the server stops
 */
#include "service/http/http_reply.h"
#include "service/http/http_route.h"

#include "service/http/viewers.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	PIECE_BYTES = 32 * 1024, /* of HTTP/1.0; chunks have their own */
	UNSENT_BYTES_MAX = 16 * 1024,
};

/* A MHD_ContentReaderCallback. */
static ssize_t on_read(void *cls, uint64_t position, char *to, size_t bytes_max)
{
	struct request *r = cls;
	ssize_t bytes = viewer_read(r->viewer, to, bytes_max);

	(void)position;
	if (bytes < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	atomic_fetch_add(&r->http->counts.sent_bytes[request_role(r)],
			 (uint64_t)bytes);
	return bytes;
}

/*
 * A client that reads slowly is to miss frames, not to get them late: so the
 * kernel keeps few bytes that it cannot send at once.
 */
static void keep_fresh(const struct request *r)
{
	int fd = MHD_get_connection_info(r->connection,
					 MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;
	int bytes = UNSENT_BYTES_MAX;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes,
			 sizeof(bytes));
}

/* Where it cannot be, `problem` is set. */
static void become_viewer(struct request *r)
{
	char *hello = r->config->live_hello(r->config->report_arg);

	if (hello == NULL) {
		r->problem = PROBLEM_OUT_OF_MEMORY;
		return;
	}
	switch (viewer_add(r->http->viewers, hello,
			   r->port->has_threads ? NULL : r->connection,
			   &r->viewer)) {
	case VIEWERS_ENTERED:
		return;
	case VIEWERS_FULL:
		r->problem = PROBLEM_TOO_MANY_VIEWERS;
		break;
	case VIEWERS_ENDED:
		r->problem = PROBLEM_STOPPING;
		break;
	case VIEWERS_NO_MEMORY:
		r->problem = PROBLEM_OUT_OF_MEMORY;
		break;
	}
	free(hello);
}

/* http_wait_answered() does not wait for what has no end. */
static void leave_uncounted(struct request *r)
{
	r->is_endless = true;
	atomic_fetch_sub(&r->port->request_count, 1);
}

enum MHD_Result http_answer_live(struct request *r)
{
	struct MHD_Response *response;
	enum MHD_Result ok;

	if (!r->is_head)
		become_viewer(r);
	if (r->problem != PROBLEM_NONE)
		return http_reply_problem(r);
	response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, PIECE_BYTES, on_read, r, NULL);
	if (response == NULL)
		return MHD_NO;
	http_add_header(r, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	http_add_header(r, response, "X-Accel-Buffering", "no");
	ok = http_reply(r, MHD_HTTP_OK, "text/event-stream", response);
	if (ok == MHD_YES && r->viewer != NULL) {
		client_enter(r->client, CLIENT_STREAM);
		keep_fresh(r);
		leave_uncounted(r);
	}
	return ok;
}

void http_end_live(struct request *r)
{
	if (r->viewer != NULL)
		viewer_remove(r->viewer);
}
