/* SPDX-License-Identifier: MIT */
/*
 * The head of a request.  If a proxy in front of us could read a head in
 * another way than we do, the request is refused and the connection is closed,
 * because it is not known where the next request begins.
 */
#include "service/http/request.h"

#include "service/http/head/auth.h"
#include "service/http/head/field_values.h"
#include "service/http/head/query.h"

#include "base/clock.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

/* If the kernel has no random numbers yet, the time is used as the span id. */
static uint64_t new_span(void)
{
	uint64_t span = 0;

	(void)getrandom(&span, sizeof(span), GRND_NONBLOCK);
	return span != 0 ? span : clock_now_ns();
}

static bool is_zero(const char *id)
{
	return id[strspn(id, "0")] == '\0';
}

/* Later versions of the standard may have more after the flags. */
static bool trace_context_read(struct trace_context *out, const char *value)
{
	struct trace_context c = { .trace_id = "" };
	char version[3], flags[3];
	int count = 0;

	(void)sscanf(value, "%2[0-9a-f]-%32[0-9a-f]-%16[0-9a-f]-%2[0-9a-f]%n",
		     version, c.trace_id, c.parent_id, flags, &count);
	if (count != TRACEPARENT_BYTES - 1 || strcmp(version, "ff") == 0 ||
	    is_zero(c.trace_id) || is_zero(c.parent_id))
		return false;
	value += count;
	if (value[0] != '\0' && (value[0] != '-' || strcmp(version, "00") == 0))
		return false;
	c.is_sampled = strchr("13579bdf", flags[1]) != NULL;
	(void)snprintf(c.span_id, sizeof(c.span_id), "%016" PRIx64, new_span());
	*out = c;
	return true;
}

/* Flags that only later versions define must be 0. */
void trace_context_print(char out[TRACEPARENT_BYTES],
			 const struct trace_context *c)
{
	(void)snprintf(out, TRACEPARENT_BYTES, "00-%s-%s-%s", c->trace_id,
		       c->span_id, c->is_sampled ? "01" : "00");
}

/*
 * The transport has room for more than these limits, so it is this program that
 * refuses.
 */
enum {
	TARGET_BYTES_MAX = 16 * 1024,
	HEAD_BYTES_MAX = 64 * 1024,
	HEADERS_MAX = 256,
};

/* What the target and the headers say. */
struct findings {
	size_t target_bytes;      /* 0: the target is not valid */
	uint32_t parameter_count; /* of its query */
	bool is_other_scheme;     /* http:// with TLS, or https:// without */
	bool lacks_memory;        /* there is none for the parameters */
	bool expects_more; /* it expects something other than "100-continue" */
	uint32_t length_count, host_count, origin_count, parent_count;
	const char *parent; /* the last traceparent header */
};

/* Most names differ in their first letter, so strcasecmp() is called rarely. */
bool http_field_is(const struct http_field *field, const char *name)
{
	return (field->name[0] | 0x20) == (name[0] | 0x20) &&
	       strcasecmp(field->name, name) == 0;
}

const char *http_field_find(const struct http_field *fields, size_t count,
			    const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (http_field_is(&fields[i], name))
			return fields[i].value;
	return NULL;
}

static bool is_token(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) &&
		    strchr("!#$%&'*+-.^_`|~", *c) == NULL)
			return false;
	return text[0] != '\0';
}

/* No control characters (CR is one); Latin-1 or UTF-8 is allowed. */
static bool is_text(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c) && *c != '\t')
			return false;
	return true;
}

/* Has the target only bytes that may be in one? */
static bool is_target_clean(const char *target)
{
	for (const char *c = target; *c != '\0'; c++)
		if (*c == ' ' || iscntrl((unsigned char)*c))
			return false;
	/* A decoded NUL would end a value early. */
	return strstr(target, "%00") == NULL;
}

/* The bytes of a host and its port; a user name before them is refused. */
#define HOST_BYTES                                                             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"       \
	"-._~!$&'()*+,;=%:[]"

/*
 * A target in absolute form, http://HOST/PATH: its host counts, and the header
 * Host is ignored (RFC 9112, 3.2.2).  The host moves to the beginning of the
 * target, so that there is room for its NUL, and for the "/" of an empty path.
 * Returns what is left, a path; NULL: it is not in this form.
 */
static char *split_absolute(struct request *r, char *target, struct findings *f)
{
	static const char http[] = "http://", https[] = "https://";
	bool is_https = strncasecmp(target, https, strlen(https)) == 0;
	char *host, *path;
	size_t bytes;

	if (!is_https && strncasecmp(target, http, strlen(http)) != 0)
		return NULL;
	host = target + strlen(is_https ? https : http);
	bytes = strspn(host, HOST_BYTES);
	path = host + bytes;
	if (bytes == 0 || host[0] == ':' ||
	    (*path != '/' && *path != '?' && *path != '\0'))
		return NULL;
	f->is_other_scheme = is_https != (r->connection->tls != NULL);
	memmove(target, host, bytes);
	target[bytes] = '\0';
	r->host = target;
	if (*path != '/')
		*--path = '/';
	return path;
}

/*
 * Make the host, the path and the parameters of the target, in its place.  If
 * it is too long, the parameters are left out.
 */
static void read_target(struct request *r, struct findings *f)
{
	char *target = r->head->target, *path = target, *query;
	size_t bytes = strlen(target);

	r->host = request_header(r, "Host");
	if (target[0] != '/')
		path = split_absolute(r, target, f);
	f->target_bytes = path != NULL && is_target_clean(path) ? bytes : 0;
	r->path = path != NULL ? path : target;
	query = path != NULL ? strchr(path, '?') : NULL;
	if (query != NULL)
		*query++ = '\0';
	f->parameter_count = query != NULL ? query_count(query) : 0;
	if (path != NULL)
		query_decode(path);
	if (f->parameter_count == 0 || bytes > TARGET_BYTES_MAX ||
	    f->parameter_count > AUTH_PARAMETERS_MAX)
		return;
	r->arguments = calloc(f->parameter_count, sizeof(*r->arguments));
	f->lacks_memory = r->arguments == NULL;
	if (!f->lacks_memory)
		r->argument_count =
			query_split(query, r->arguments, f->parameter_count);
}

static void read_field(const struct http_field *field, struct findings *f)
{
	if (http_field_is(field, "Content-Length"))
		f->length_count++;
	else if (http_field_is(field, "Host"))
		f->host_count++;
	else if (http_field_is(field, "Origin"))
		f->origin_count++;
	else if (http_field_is(field, HTTP_HEADER_TRACEPARENT)) {
		f->parent_count++;
		f->parent = field->value;
	}
}

/* An Expect without a value says nothing. */
static void read_expectations(struct request *r, struct findings *f)
{
	struct field_list l = { .head = r->head, .name = "Expect" };

	while (field_list_next(&l)) {
		r->expects = true;
		if (!text_part_is(l.item, text_part_of("100-continue")))
			f->expects_more = true;
	}
}

/* False: it does not strictly follow HTTP/1. */
static bool read_head(struct request *r, struct findings *f)
{
	const struct request_head *head = r->head;

	*f = (struct findings){ .parent = NULL };
	read_target(r, f);
	if (!head->is_exact || f->target_bytes == 0 || !is_token(head->method))
		return false;
	for (size_t i = 0; i < head->field_count; i++) {
		const struct http_field *field = &head->fields[i];

		if (!is_token(field->name) || !is_text(field->value))
			return false;
		read_field(field, f);
	}
	read_expectations(r, f);
	return true;
}

/* True: `detail` and `excess` say that `what` is too large. */
static bool is_over(struct request *r, const char *what, size_t value,
		    size_t limit, const char *unit)
{
	char before[32], detail[REQUEST_DETAIL_BYTES];

	if (value <= limit)
		return false;
	r->excess = (struct excess){ (double)value, (double)limit, unit };
	(void)snprintf(before, sizeof(before), "%s has ", what);
	excess_explain(detail, sizeof(detail), &r->excess, before, "; at most ",
		       " are taken.");
	request_explain(r, "%s", detail);
	return true;
}

/* PROBLEM_NONE: it is small enough. */
static enum problem check_size(struct request *r, const struct findings *f)
{
	const struct request_head *head = r->head;

	if (is_over(r, "The target", f->target_bytes, TARGET_BYTES_MAX,
		    "bytes") ||
	    is_over(r, "The query", f->parameter_count, AUTH_PARAMETERS_MAX,
		    "parameters"))
		return PROBLEM_TARGET_TOO_LONG;
	if (is_over(r, "The head", head->bytes, HEAD_BYTES_MAX, "bytes") ||
	    is_over(r, "The head", head->field_count, HEADERS_MAX,
		    "header lines"))
		return PROBLEM_HEADERS_TOO_LARGE;
	return PROBLEM_NONE;
}

/* `what` has `bytes` of a body, which are too many. */
static enum problem refuse_body(struct request *r, uint64_t bytes,
				const char *what)
{
	char detail[REQUEST_DETAIL_BYTES];

	r->must_close = true;
	r->excess =
		(struct excess){ (double)bytes,
				 (double)r->config->body_bytes_max, "bytes" };
	excess_explain(detail, sizeof(detail), &r->excess, what,
		       "; --max-body allows ", ".");
	request_explain(r, "%s", detail);
	return PROBLEM_BODY_TOO_LARGE;
}

/* The length of the body; the transport has checked that it is a number. */
static enum problem read_length(struct request *r, const struct findings *f)
{
	const char *length = request_header(r, "Content-Length");

	if (r->head->is_chunked)
		return PROBLEM_NONE;
	if (request_header(r, "Transfer-Encoding") != NULL) {
		r->must_close = true;
		request_explain(
			r, "Transfer-Encoding may only be \"chunked\", once, "
			   "without Content-Length, and in HTTP/1.1.");
		return PROBLEM_LENGTH_REQUIRED;
	}
	if (f->length_count > 1) {
		r->must_close = true;
		return PROBLEM_LENGTH_REQUIRED;
	}
	r->has_length = length != NULL;
	r->length_bytes = r->has_length ? strtoull(length, NULL, 10) : 0;
	return r->length_bytes <= r->config->body_bytes_max ?
		       PROBLEM_NONE :
		       refuse_body(r, r->length_bytes, "The body has ");
}

enum problem head_check_chunks(struct request *r)
{
	const struct chunk_reader *c = &r->head->chunks;

	if (c->fault == CHUNKS_FINE)
		return PROBLEM_NONE;
	if (c->fault == CHUNKS_TOO_LARGE)
		return refuse_body(r, c->wanted_bytes,
				   "The chunks of the body have ");
	r->must_close = true;
	request_explain(r, "%s", chunk_fault_text(c->fault));
	return PROBLEM_BAD_REQUEST;
}

/* A traceparent is ignored if it is invalid or not the only one. */
static void read_trace(struct request *r, const struct findings *f)
{
	if (f->parent_count == 1)
		(void)trace_context_read(&r->trace, f->parent);
}

/* The transport could not read the head, or how long it would have been. */
static enum problem explain_fault(struct request *r)
{
	static const struct {
		enum problem problem;
		const char *detail; /* NULL: the problem's own */
		uint32_t bytes_max; /* 0: it is about no limit */
	} faults[] = {
		[HEAD_MALFORMED] = { PROBLEM_BAD_REQUEST, NULL, 0 },
		[HEAD_UNKNOWN_VERSION] = { PROBLEM_VERSION_UNKNOWN, NULL, 0 },
		[HEAD_WRONG_LENGTH] = { PROBLEM_BAD_REQUEST,
					"Content-Length is not a whole number.",
					0 },
		[HEAD_LARGE_LENGTH] = { PROBLEM_BODY_TOO_LARGE,
					"Content-Length is above 2^63 - 1.",
					0 },
		[HEAD_LONG_LINE] = { PROBLEM_TARGET_TOO_LONG, NULL,
				     TARGET_BYTES_MAX },
		[HEAD_TOO_LARGE] = { PROBLEM_HEADERS_TOO_LARGE, NULL,
				     HEAD_BYTES_MAX },
	};
	const char *detail = faults[r->head->fault].detail;
	double limit = faults[r->head->fault].bytes_max;

	if (r->head->fault == HEAD_LARGE_LENGTH)
		limit = (double)r->config->body_bytes_max;
	if (limit > 0)
		r->excess = (struct excess){ NAN, limit, "bytes" };
	if (detail != NULL)
		request_explain(r, "%s", detail);
	r->must_close = true;
	return faults[r->head->fault].problem;
}

/*
 * RFC 9110, 7.4.  A trusted proxy may end TLS for us, and forward targets as
 * it got them.
 */
static enum problem check_scheme(struct request *r, const struct findings *f)
{
	bool has_tls = r->connection->tls != NULL;

	if (!f->is_other_scheme || client_is_trusted(r->client))
		return PROBLEM_NONE;
	request_explain(r,
			"The target begins with %s://, but this connection has "
			"%s.",
			has_tls ? "http" : "https", has_tls ? "TLS" : "no TLS");
	return PROBLEM_WRONG_HOST;
}

enum problem head_check(struct request *r)
{
	bool needs_host = strcmp(r->head->version, "HTTP/1.0") != 0;
	struct findings f;
	bool is_strict = read_head(r, &f);

	if (r->head->fault != HEAD_FINE)
		return explain_fault(r);
	if (!is_strict || f.host_count > 1 || f.origin_count > 1 ||
	    (needs_host && f.host_count == 0)) {
		r->must_close = true;
		return PROBLEM_BAD_REQUEST;
	}

	enum problem problem = check_size(r, &f);

	if (problem != PROBLEM_NONE) {
		r->must_close = true;
		return problem;
	}
	if (f.lacks_memory)
		return PROBLEM_OUT_OF_MEMORY;
	read_trace(r, &f);
	problem = read_length(r, &f);
	if (problem == PROBLEM_NONE)
		problem = check_scheme(r, &f);
	if (problem == PROBLEM_NONE && needs_host && f.expects_more)
		problem = PROBLEM_EXPECTATION_FAILED;
	return problem;
}
