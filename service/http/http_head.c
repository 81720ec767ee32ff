/* SPDX-License-Identifier: MIT */
/*
 * The head of a request: what a client and a proxy in front of us may read in
 * two ways is refused, and the connection closed, as nobody can tell where the
 * next request begins.
 *
 * libmicrohttpd 0.9.75 is lenient.  It takes spaces before a colon and between
 * the parts of the request line, ends a line at a bare LF, a value at a NUL,
 * and hangs a folded line onto the name of its header.  What it hands out does
 * not show it; but it splits the head in place: a NUL for each colon and for
 * each CR and LF.  So the parts must follow each other without a gap, from the
 * method to the end of the head.  Where another version keeps them elsewhere,
 * every request is refused, and no test passes.
 */
#include "service/http/http_request.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The head as far as it has been compared, and what was counted in it. */
struct head {
	const char *at; /* where the next header must begin */
	bool is_exact;
	bool expects_more; /* than "100-continue" */
	uint32_t length_count, host_count, parent_count;
	const char *parent; /* the last of its kind */
};

static bool is_token(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (!isalnum((unsigned char)*c) &&
		    strchr("!#$%&'*+-.^_`|~", *c) == NULL)
			return false;
	return text[0] != '\0';
}

/* No control characters, which CR is too; Latin-1 or UTF-8 may be. */
static bool is_text(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c) && *c != '\t')
			return false;
	return true;
}

/* Behind the CR and LF that ended the line at `at`, or NULL. */
static const char *behind_line(const char *at)
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
	head->at = behind_line(value + strlen(value));
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

bool http_target_is_good(const char *target)
{
	for (const char *c = target; *c != '\0'; c++)
		if (*c == ' ' || iscntrl((unsigned char)*c))
			return false;
	/* Decoded, a value would end there. */
	return target[0] == '/' && strstr(target, "%00") == NULL;
}

/* Method, target, version: one space between two of them. */
static bool is_exact_line(const struct request *r, const char *method,
			  const char *version)
{
	return r->target_bytes > 0 && is_token(method) &&
	       method + strlen(method) + 1 == r->target &&
	       r->target + r->target_bytes + 1 == version;
}

static bool read_head(const struct request *r, const char *method,
		      const char *version, struct head *head)
{
	size_t bytes =
		MHD_get_connection_info(r->connection,
					MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
			->header_size;

	*head = (struct head){ .at = behind_line(version + strlen(version)) };
	head->is_exact = is_exact_line(r, method, version) && head->at != NULL;
	if (head->is_exact)
		(void)MHD_get_connection_values(r->connection, MHD_HEADER_KIND,
						on_header, head);
	return head->is_exact && behind_line(head->at) == method + bytes;
}

static const char *header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					   name);
}

/* How long is the body?  libmicrohttpd has seen that it is a number. */
static enum problem read_length(struct request *r, const struct head *head)
{
	const char *length = header(r, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t max = r->config->body_bytes_max;

	if (head->length_count > 1 ||
	    header(r, MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL) {
		r->closes = true;
		return PROBLEM_LENGTH_REQUIRED;
	}
	r->has_length = length != NULL;
	r->length_bytes = r->has_length ? strtoull(length, NULL, 10) : 0;
	if (r->length_bytes <= max)
		return PROBLEM_NONE;
	r->closes = true;
	(void)snprintf(r->detail, sizeof(r->detail),
		       "The body has %" PRIu64 " bytes; at most %" PRIu64
		       " are taken.",
		       r->length_bytes, max);
	return PROBLEM_BODY_TOO_LARGE;
}

/* One that is not valid, or one of several, is as if there were none. */
static void read_trace(struct request *r, const struct head *head)
{
	if (head->parent_count == 1)
		(void)trace_context_read(&r->trace, head->parent);
}

enum problem http_check_head(struct request *r, const char *method,
			     const char *version)
{
	bool needs_host = strcmp(version, MHD_HTTP_VERSION_1_0) != 0;
	struct head head;

	if (!read_head(r, method, version, &head) || head.host_count > 1 ||
	    (needs_host && head.host_count == 0)) {
		r->closes = true;
		return PROBLEM_BAD_REQUEST;
	}
	read_trace(r, &head);

	enum problem problem = read_length(r, &head);

	if (problem == PROBLEM_NONE && needs_host && head.expects_more)
		problem = PROBLEM_EXPECTATION_FAILED;
	return problem;
}
