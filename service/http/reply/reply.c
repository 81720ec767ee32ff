/* SPDX-License-Identifier: MIT */
#include "service/http/request.h"

#include "service/http/connection/tls.h"
#include "service/http/head/browsers.h"
#include "service/http/head/tus.h"
#include "service/http/http_state.h"

#include "base/clock.h"
#include "base/util.h"
#include "base/text.h"
#include "service/pipeline/pipeline.h"

#include <assert.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { UNSENT_BYTES_MAX = 16 * 1024 };

/* What pages of other origins may read besides the body. */
static const char reader_headers[] =
	"Content-Location, Content-Range, ETag, Location, Retry-After, "
	"Server-Timing, Tus-Extension, Tus-Max-Size, Tus-Resumable, "
	"Tus-Version, Upload-Defer-Length, Upload-Expires, Upload-Length, "
	"Upload-Metadata, Upload-Offset, Warning, X-Blurhash, "
	"X-Dominant-Color, X-Frames, X-PDQ, X-PDQ-Quality, X-Request-Id";

void reply_init(struct reply *p)
{
	p->header_count = 0;
	p->text_bytes = 0;
	p->kind = REPLY_PIECES;
	p->has_length = true;
	p->bytes = 0;
	p->piece_count = 0;
	p->release = NULL;
}

void reply_add_header(struct reply *p, const char *name, const char *value)
{
	size_t bytes = strlen(value) + 1;
	char *text = p->text + p->text_bytes;

	if (value[0] == '\0')
		return;
	assert(p->header_count < REPLY_HEADERS_MAX);
	assert(bytes <= sizeof(p->text) - p->text_bytes);
	memcpy(text, value, bytes);
	p->text_bytes += bytes;
	p->headers[p->header_count++] = (struct http_field){ name, text };
}

void reply_add_piece(struct reply *p, const void *bytes, size_t count)
{
	assert(p->kind == REPLY_PIECES && p->piece_count < REPLY_PIECES_MAX);
	p->pieces[p->piece_count++] = (struct iovec){ (void *)bytes, count };
	p->bytes += count;
}

void reply_drop(struct reply *p)
{
	if (p->kind == REPLY_FILE)
		(void)close(p->fd);
	else if (p->release != NULL)
		p->release(p->arg);
}

/*
 * Is it the last reply on its connection?  If there are too many connections,
 * this one would be closed in any case, perhaps while its client sends the next
 * request.
 */
static bool is_last(const struct request *r)
{
	uint64_t max = r->config->requests_max;

	return r->must_close || r->head->is_last ||
	       atomic_load(&r->port->http->leaving) ||
	       (max > 0 && client_request_count(r->client) >= max) ||
	       clients_are_too_many(r->port->clients);
}

/*
 * Called before a byte is sent, so that a client that has the reply finds it
 * counted.
 */
static void count_reply(const struct request *r, unsigned int status)
{
	struct http_counts *c = &r->http->counts;

	atomic_fetch_add(&c->replies[request_role(r)][status], 1);
	atomic_fetch_add(&c->sent_bytes[request_role(r)],
			 r->reply_bytes + r->result_bytes);
	if (request_role(r) == ROLE_UPLOAD)
		minute_count(&r->http->minute, r->replied_ns, status,
			     r->replied_ns - r->begin_ns);
	if (r->problem != PROBLEM_NONE)
		atomic_fetch_add(&c->problems[r->problem], 1);
	/* GETs that find no memory say nothing about room for uploads. */
	if (request_role(r) == ROLE_UPLOAD &&
	    (r->problem == PROBLEM_OVERLOADED ||
	     r->problem == PROBLEM_MEMORY_FULL))
		atomic_store(&r->http->refused_ns, clock_now_ns());
}

/* Added if the caller has sent its trace. */
static void add_trace_header(const struct request *r, struct reply *p)
{
	char text[TRACEPARENT_BYTES];

	if (r->trace.trace_id[0] == '\0')
		return;
	trace_context_print(text, &r->trace);
	reply_add_header(p, HTTP_HEADER_TRACEPARENT, text);
}

/* Pages of another origin may read it: results, or why there are none. */
static void add_reader_headers(const struct request *r, struct reply *p)
{
	if (r->reader_origin == NULL)
		return;
	reply_add_header(p, "Access-Control-Allow-Origin", r->reader_origin);
	reply_add_header(p, "Access-Control-Expose-Headers", reader_headers);
}

/*
 * The headers of the request that the reply may depend on.  Of an upload it is
 * Accept: JSON or pictures, and their format.
 */
static const char *vary(const struct request *r)
{
	bool by_origin = browsers_reader_varies(r);

	if (request_role(r) == ROLE_UPLOAD)
		return by_origin ? "Accept, Origin" : "Accept";
	return by_origin ? "Origin" : "";
}

/*
 * Restrictions for browsers: pages of other sites may show stored pictures, but
 * only our own page may use reports and files of the page.
 */
static void add_browser_headers(const struct request *r, struct reply *p)
{
	enum role role = request_role(r);

	reply_add_header(p, "X-Content-Type-Options", "nosniff");
	reply_add_header(p, "Content-Security-Policy",
			 r->policy != NULL ? r->policy : HTTP_NO_CONTENT);
	if (role == ROLE_IMAGE ||
	    (r->is_signed && r->route->method == METHOD_GET))
		reply_add_header(p, "Cross-Origin-Resource-Policy",
				 "cross-origin");
	else if (role == ROLE_REPORT || role == ROLE_PAGE)
		reply_add_header(p, "Cross-Origin-Resource-Policy",
				 "same-origin");
}

/* Headers that replies of all kinds may have. */
static void add_headers(const struct request *r, const char *type,
			struct reply *p)
{
	reply_add_header(p, "X-Request-Id", r->id);
	add_browser_headers(r, p);
	add_reader_headers(r, p);
	reply_add_header(p, "Vary", vary(r));
	add_trace_header(r, p);
	if (r->route != NULL && r->route->speaks_tus)
		reply_add_header(p, "Tus-Resumable", TUS_VERSION);
	if (type != NULL)
		reply_add_header(p, "Content-Type", type);
	if (r->content_range[0] != '\0')
		reply_add_header(p, "Content-Range", r->content_range);
	if (r->has_timing)
		r->handler->add_timing(r, p);
	if (is_last(r))
		reply_add_header(p, "Connection", "close");
}

static bool has_body(const struct request *r, unsigned int status)
{
	return !r->is_head && status != STATUS_NOT_MODIFIED;
}

static void note_file(struct request *r, const struct reply *p)
{
	r->file_fd = p->fd;
	r->file_end = p->offset + p->bytes;
}

bool reply_send(struct request *r, unsigned int status, const char *type,
		struct reply *p)
{
	r->replied_ns = clock_now_ns();
	add_headers(r, type, p);
	client_enter(r->client, CLIENT_REPLY);
	p->status = status;
	if (!r->connection->transport->send(r->connection, p)) {
		r->reply_bytes = 0;
		return false;
	}
	r->status = status;
	if (!has_body(r, status))
		r->reply_bytes = 0;
	else if (p->kind == REPLY_FILE)
		note_file(r, p);
	count_reply(r, status);
	return true;
}

void reply_limit_unsent(const struct request *r)
{
	int bytes = UNSENT_BYTES_MAX;

	(void)setsockopt(r->connection->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
			 &bytes, sizeof(bytes));
}

bool reply_begin_text(struct request *r, struct reply *p, char *text)
{
	if (text == NULL)
		return false;
	reply_begin_bytes(r, p, text, strlen(text));
	p->release = free;
	p->arg = text;
	return true;
}

void reply_begin_bytes(struct request *r, struct reply *p, const void *bytes,
		       size_t count)
{
	r->reply_bytes = count;
	reply_init(p);
	reply_add_piece(p, bytes, count);
}

/* Returns "" if there is none. */
static const char *retry_after(const struct request *r, char text[16])
{
	uint32_t after_s = problem_retry_s(r->problem);

	text[0] = '\0';
	if (problem_status(r->problem) != STATUS_SERVICE_UNAVAILABLE)
		return text;
	if (after_s == 0)
		after_s = pipeline_retry_after_s(r->config->pipeline);
	(void)snprintf(text, 16, "%" PRIu32, after_s);
	return text;
}

const char *http_reason(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *reason;
	} table[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 411, "Length Required" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 423, "Locked" },
		{ 431, "Request Header Fields Too Large" },
		{ 460, "Checksum Mismatch" }, /* tus */
		{ 500, "Internal Server Error" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].status == status)
			return table[i].reason;
	abort();
}

static char *problem_text(enum problem problem, const struct request *r)
{
	if (r == NULL)
		return problem_json(problem, NULL, NULL, NULL);
	return problem_json(problem, r->detail, &r->excess, r->id);
}

/* The headers of reply_whole_problem() that belong to the request. */
static void print_own_headers(FILE *to, const struct request *r)
{
	char seconds[16];

	(void)fprintf(to, "X-Request-Id: %s\r\n", r->id);
	if (retry_after(r, seconds)[0] != '\0')
		(void)fprintf(to, "Retry-After: %s\r\n", seconds);
	if (r->reader_origin != NULL)
		(void)fprintf(to,
			      "Access-Control-Allow-Origin: %s\r\n"
			      "Access-Control-Expose-Headers: %s\r\n",
			      r->reader_origin, reader_headers);
	if (vary(r)[0] != '\0')
		(void)fprintf(to, "Vary: %s\r\n", vary(r));
}

char *reply_whole_problem(enum problem problem, const struct request *r)
{
	unsigned int status = problem_status(problem);
	char *body = problem_text(problem, r);
	struct text text;
	FILE *to = body != NULL ? text_open(&text) : NULL;

	if (to != NULL) {
		(void)fprintf(to,
			      "HTTP/1.1 %u %s\r\n"
			      "Content-Type: application/problem+json\r\n"
			      "X-Content-Type-Options: nosniff\r\n"
			      "Content-Security-Policy: " HTTP_NO_CONTENT "\r\n"
			      "Content-Length: %zu\r\n"
			      "Connection: close\r\n",
			      status, http_reason(status), strlen(body));
		if (r != NULL)
			print_own_headers(to, r);
		(void)fprintf(to, "\r\n%s", body);
	}
	free(body);
	return to != NULL ? text_close(&text, to) : NULL;
}

static void write_raw(const struct request *r, const char *text)
{
	const struct connection *c = r->connection;

	if (c->tls != NULL)
		tls_send(c->tls, text);
	else
		(void)send(c->fd, text, strlen(text),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool reply_cut_off(struct request *r)
{
	char *text = reply_whole_problem(r->problem, r);

	if (text == NULL)
		return false;
	reply_count_sent(r);
	write_raw(r, text);
	free(text);
	return true;
}

void reply_count_sent(struct request *r)
{
	r->replied_ns = clock_now_ns();
	r->status = problem_status(r->problem);
	count_reply(r, r->status);
}

/* RFC 6750, 3: gives the reason, unless no key was sent at all. */
static void add_challenge_header(const struct request *r, struct reply *p)
{
	if (r->problem == PROBLEM_KEY_NOT_ALLOWED)
		reply_add_header(p, "WWW-Authenticate",
				 "Bearer realm=\"darkroom\", "
				 "error=\"insufficient_scope\"");
	if (problem_status(r->problem) != STATUS_UNAUTHORIZED)
		return;
	reply_add_header(p, "WWW-Authenticate",
			 r->problem == PROBLEM_INVALID_KEY ?
				 "Bearer realm=\"darkroom\", "
				 "error=\"invalid_token\"" :
				 "Bearer realm=\"darkroom\"");
}

bool reply_problem(struct request *r)
{
	unsigned int status = problem_status(r->problem);
	char seconds[16];
	struct reply p;

	if (!reply_begin_text(r, &p, problem_text(r->problem, r)))
		return false;
	reply_add_header(&p, "Retry-After", retry_after(r, seconds));
	if (r->problem == PROBLEM_METHOD_NOT_ALLOWED)
		reply_add_header(&p, "Allow", r->allow);
	if (r->problem == PROBLEM_TUS_VERSION)
		reply_add_header(&p, "Tus-Version", TUS_VERSION);
	add_challenge_header(r, &p);
	return reply_send(r, status, "application/problem+json", &p);
}
