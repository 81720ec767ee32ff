/* SPDX-License-Identifier: MIT */
/*
 * The head of a request.  If a proxy in front of us could read a head in
 * another way than we do, the request is refused and the connection is closed,
 * because it is not known where the next request begins.
 *
 * libmicrohttpd 0.9.75 is lenient.  It takes spaces before a colon and between
 * the parts of the request line, ends a line at a bare LF and a value at a NUL,
 * and appends a folded line to the name of its header.  The strings that it
 * passes to us do not show this.  But it splits the head in place: each colon,
 * CR and LF becomes a NUL.  So in a correct head, the strings follow each other
 * in memory without a gap, from the method to the end of the head, and this is
 * checked.  If a version of libmicrohttpd kept them elsewhere, every request
 * would be refused, and all tests would fail.
 */
#include "service/http/request.h"
#include "service/http/auth.h"

#include "base/clock.h"

#include <ctype.h>
#include <inttypes.h>
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

	value += strspn(value, " \t");
	(void)sscanf(value, "%2[0-9a-f]-%32[0-9a-f]-%16[0-9a-f]-%2[0-9a-f]%n",
		     version, c.trace_id, c.parent_id, flags, &count);
	if (count != TRACEPARENT_BYTES - 1 || strcmp(version, "ff") == 0 ||
	    is_zero(c.trace_id) || is_zero(c.parent_id))
		return false;
	value += count;
	if (value[strspn(value, " \t")] != '\0' &&
	    (value[0] != '-' || strcmp(version, "00") == 0))
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
 * libmicrohttpd has room for more than these limits, so it is this program that
 * refuses.
 */
enum {
	TARGET_BYTES_MAX = 16 * 1024,
	PARAMETERS_MAX = AUTH_PARAMETERS_MAX,
	HEAD_BYTES_MAX = 64 * 1024,
	HEADERS_MAX = 256,
};

/* The head, as far as it was checked, and the findings. */
struct head {
	const char *at; /* where the next header must begin */
	bool is_exact;
	bool expects_more; /* it expects something other than "100-continue" */
	uint32_t length_count, host_count, parent_count;
	size_t bytes, count; /* bytes of all lines; number of header lines */
	const char *parent;  /* the last traceparent header */
};

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

/*
 * The position after the CR and LF that end the line at `at`; NULL: the line
 * does not end like this.
 */
static const char *after_line(const char *at)
{
	return at[0] == '\0' && at[1] == '\0' ? at + 2 : NULL;
}

/* An MHD_KeyValueIterator. */
static enum MHD_Result on_header(void *cls, enum MHD_ValueKind kind,
				 const char *name, const char *value)
{
	struct head *head = cls;

	(void)kind;
	head->is_exact = name == head->at && is_token(name) && value != NULL &&
			 is_text(value);
	if (!head->is_exact)
		return MHD_NO;
	head->count++;
	head->at = after_line(value + strlen(value));
	head->is_exact = head->at != NULL;
	if (strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
		head->length_count++;
	else if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0)
		head->host_count++;
	else if (strcasecmp(name, HTTP_HEADER_TRACEPARENT) == 0) {
		head->parent_count++;
		head->parent = value;
	} else if (strcasecmp(name, MHD_HTTP_HEADER_EXPECT) == 0 &&
		   strcasecmp(value, "100-continue") != 0)
		head->expects_more = true;
	return head->is_exact ? MHD_YES : MHD_NO;
}

static bool is_target_valid(const char *target)
{
	for (const char *c = target; *c != '\0'; c++)
		if (*c == ' ' || iscntrl((unsigned char)*c))
			return false;
	/* A decoded NUL would end a value early. */
	return target[0] == '/' && strstr(target, "%00") == NULL;
}

/* Are method, target and version there, with one space between them? */
static bool is_exact_line(const struct request *r)
{
	return r->target_bytes > 0 && is_token(r->method) &&
	       r->method + strlen(r->method) + 1 == r->target &&
	       r->target + r->target_bytes + 1 == r->version;
}

static bool read_head(const struct request *r, struct head *head)
{
	size_t bytes =
		MHD_get_connection_info(r->connection,
					MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
			->header_size;

	*head = (struct head){ .at = after_line(r->version +
						strlen(r->version)),
			       .bytes = bytes };
	head->is_exact = is_exact_line(r) && head->at != NULL;
	if (head->is_exact)
		(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND,
						on_header, head);
	return head->is_exact && after_line(head->at) == r->method + bytes;
}

void head_keep_target(struct request *r, const char *target)
{
	const char *query = strchr(target, '?');
	size_t count = 1;

	r->target = target;
	r->target_bytes = is_target_valid(target) ? strlen(target) : 0;
	for (const char *c = query; c != NULL && *c != '\0'; c++)
		count += *c == '&';
	r->is_target_long =
		strlen(target) > TARGET_BYTES_MAX || count > PARAMETERS_MAX;
	if (r->is_target_long && query != NULL)
		((char *)query)[1] = '\0';
}

/* PROBLEM_NONE: it is small enough. */
static enum problem check_size(struct request *r, const struct head *head)
{
	if (r->is_target_long) {
		(void)snprintf(
			r->detail, sizeof(r->detail),
			"The target has %zu bytes; at most %d bytes and %d "
			"parameters are taken.",
			r->target_bytes, TARGET_BYTES_MAX, PARAMETERS_MAX);
		return PROBLEM_TARGET_TOO_LONG;
	}
	if (head->bytes > HEAD_BYTES_MAX || head->count > HEADERS_MAX) {
		(void)snprintf(r->detail, sizeof(r->detail),
			       "The head has %zu bytes and %zu header lines; "
			       "at most %d and %d are taken.",
			       head->bytes, head->count, HEAD_BYTES_MAX,
			       HEADERS_MAX);
		return PROBLEM_HEADERS_TOO_LARGE;
	}
	return PROBLEM_NONE;
}

/* The length of the body; libmicrohttpd has checked that it is a number. */
static enum problem read_length(struct request *r, const struct head *head)
{
	const char *length = request_header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t max = r->config->body_bytes_max;

	if (head->length_count > 1 ||
	    request_header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL) {
		r->must_close = true;
		return PROBLEM_LENGTH_REQUIRED;
	}
	r->has_length = length != NULL;
	r->length_bytes = r->has_length ? strtoull(length, NULL, 10) : 0;
	if (r->length_bytes <= max)
		return PROBLEM_NONE;
	r->must_close = true;
	(void)snprintf(r->detail, sizeof(r->detail),
		       "The body has %" PRIu64 " bytes; at most %" PRIu64
		       " are taken.",
		       r->length_bytes, max);
	return PROBLEM_BODY_TOO_LARGE;
}

/* A traceparent is ignored if it is invalid or not the only one. */
static void read_trace(struct request *r, const struct head *head)
{
	if (head->parent_count == 1)
		(void)trace_context_read(&r->trace, head->parent);
}

enum problem head_check(struct request *r)
{
	bool needs_host = strcmp(r->version, MHD_HTTP_VERSION_1_0) != 0;
	struct head head;

	if (!read_head(r, &head) || head.host_count > 1 ||
	    (needs_host && head.host_count == 0)) {
		r->must_close = true;
		return PROBLEM_BAD_REQUEST;
	}

	enum problem problem = check_size(r, &head);

	if (problem != PROBLEM_NONE) {
		r->must_close = true;
		return problem;
	}
	read_trace(r, &head);
	problem = read_length(r, &head);
	if (problem == PROBLEM_NONE && needs_host && head.expects_more)
		problem = PROBLEM_EXPECTATION_FAILED;
	return problem;
}
