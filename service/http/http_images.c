/* SPDX-License-Identifier: MIT */
/*
 * What is stored: GET, HEAD and DELETE of /v1/images/...  Reading is done by
 * the connection's thread; what changes the disk, by the store stage.
 */
#include "service/http/http_reply.h"

#include "service/http/http_range.h"
#include "service/http/http_result.h"
#include "service/http/image_meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { META_BYTES_MAX = 64 << 10 };

/* Of something that the store did not do. */
static enum problem problem_of_store(struct request *r,
				     enum store_answer answer, const char *what)
{
	switch (answer) {
	case STORE_OK:
		return PROBLEM_NONE;
	case STORE_NOT_FOUND:
		return PROBLEM_NOT_FOUND;
	case STORE_FULL:
	case STORE_FAILED:
		break;
	}
	(void)snprintf(r->detail, sizeof(r->detail),
		       "The image could not be %s: %s.", what, strerror(errno));
	return PROBLEM_STORE_FAILED;
}

static enum MHD_Result refuse(struct request *r, enum problem problem)
{
	r->problem = problem;
	return http_reply_problem(r);
}

/* Is there a store, and may this be an image of it? */
static enum problem check_id(const struct request *r)
{
	if (r->config->store == NULL)
		return PROBLEM_NO_STORE;
	return store_is_id(r->segments[0]) ? PROBLEM_NONE : PROBLEM_NOT_FOUND;
}

/* PROBLEM_NONE: *fd and *bytes are of a file of the image. */
static enum problem open_file(struct request *r, int entry, const char *name,
			      int *fd, uint64_t *bytes)
{
	return problem_of_store(r, store_read(entry, name, fd, bytes), "read");
}

static enum problem open_entry(struct request *r, int *entry)
{
	return problem_of_store(
		r, store_find(r->config->store, r->segments[0], entry), "read");
}

/* The file is the response's. */
static struct MHD_Response *response_of_file(struct request *r, int fd,
					     struct range part)
{
	struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(
		part.count, fd, part.offset);

	if (response == NULL)
		(void)close(fd);
	else
		r->reply_bytes = part.count;
	return response;
}

/* What will be, while it is not. */
static enum MHD_Result answer_promise(struct request *r,
				      enum promise_state promise,
				      enum problem broken_by)
{
	switch (promise) {
	case PROMISE_NONE:
		return refuse(r, PROBLEM_NOT_FOUND);
	case PROMISE_BROKEN:
		return refuse(r, broken_by);
	case PROMISE_MADE:
		break;
	}
	(void)memcpy(r->keeping.promise.id, r->segments[0], STORE_ID_BYTES);
	return http_reply_promise(r);
}

enum MHD_Result http_answer_image(struct request *r)
{
	enum problem broken_by = PROBLEM_NONE, problem = check_id(r);
	enum promise_state promise;
	struct MHD_Response *response;
	uint64_t bytes;
	int entry, fd;

	if (problem != PROBLEM_NONE)
		return refuse(r, problem);
	/* First: what it says may come true before the store is looked at. */
	promise = ends_find(&r->http->ends, r->segments[0], &broken_by);
	problem = open_entry(r, &entry);
	if (problem == PROBLEM_NOT_FOUND)
		return answer_promise(r, promise, broken_by);
	if (problem != PROBLEM_NONE)
		return refuse(r, problem);
	problem = open_file(r, entry, "meta.json", &fd, &bytes);
	(void)close(entry);
	if (problem != PROBLEM_NONE)
		return refuse(r, problem);
	response = response_of_file(r, fd, (struct range){ 0, bytes });
	if (response == NULL)
		return MHD_NO;
	http_add_header(r, response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
	return http_reply(r, MHD_HTTP_OK, "application/json", response);
}

/* A stored picture, opened. */
struct picture {
	int fd;
	uint64_t bytes;
	char etag[SHA256_TEXT_BYTES + 2]; /* with its quotes */
};

/* False: the meta does not tell. */
static bool read_etag(struct picture *p, int meta, uint64_t bytes,
		      const char *name)
{
	char sha256[SHA256_TEXT_BYTES];
	char *text =
		bytes <= META_BYTES_MAX ? calloc(1, (size_t)bytes + 1) : NULL;
	bool ok = text != NULL &&
		  read(meta, text, (size_t)bytes) == (ssize_t)bytes &&
		  image_meta_find(text, name, sha256);

	free(text);
	if (ok)
		(void)snprintf(p->etag, sizeof(p->etag), "\"%s\"", sha256);
	return ok;
}

static enum problem open_picture(struct request *r, int entry,
				 struct picture *p)
{
	char name[STORE_NAME_BYTES + sizeof(".jpg")];
	uint64_t bytes;
	int meta;
	enum problem problem = open_file(r, entry, "meta.json", &meta, &bytes);

	if (problem != PROBLEM_NONE)
		return problem;
	if (!read_etag(p, meta, bytes, r->segments[1]))
		problem = PROBLEM_NOT_FOUND;
	(void)close(meta);
	if (problem != PROBLEM_NONE)
		return problem;
	(void)snprintf(name, sizeof(name), "%.*s.jpg", STORE_NAME_BYTES - 1,
		       r->segments[1]);
	return open_file(r, entry, name, &p->fd, &p->bytes);
}

static const char *header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
					   name);
}

/* Which part?  If-Range: only if it is still this picture; HEAD: all. */
static enum range_kind read_range(struct request *r, const struct picture *p,
				  struct range *part)
{
	const char *same = header(r, MHD_HTTP_HEADER_IF_RANGE);
	enum range_kind kind = RANGE_ALL;

	if (!r->is_head && (same == NULL || strcmp(same, p->etag) == 0))
		kind = range_read(header(r, MHD_HTTP_HEADER_RANGE), p->bytes,
				  part);
	if (kind == RANGE_PART)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
			       part->offset, part->offset + part->count - 1,
			       p->bytes);
	if (kind == RANGE_NONE)
		(void)snprintf(r->content_range, sizeof(r->content_range),
			       "bytes */%" PRIu64, p->bytes);
	return kind;
}

/* The file is closed, now or with the reply. */
static enum MHD_Result reply_picture(struct request *r, struct picture *p)
{
	bool is_known = etag_is_listed(header(r, MHD_HTTP_HEADER_IF_NONE_MATCH),
				       p->etag);
	struct range part = { 0, p->bytes };
	enum range_kind kind = is_known ? RANGE_ALL : read_range(r, p, &part);
	struct MHD_Response *response;

	if (kind == RANGE_NONE) {
		(void)close(p->fd);
		return refuse(r, PROBLEM_BAD_RANGE);
	}
	response = response_of_file(r, p->fd, part);
	if (response == NULL)
		return MHD_NO;
	http_add_header(r, response, MHD_HTTP_HEADER_ETAG, p->etag);
	http_add_header(r, response, MHD_HTTP_HEADER_ACCEPT_RANGES, "bytes");
	http_add_header(r, response, MHD_HTTP_HEADER_CACHE_CONTROL,
			"public, max-age=31536000, immutable");
	/* A 304 has the headers of the 200, its length too, and no body. */
	return http_reply(r,
			  is_known           ? MHD_HTTP_NOT_MODIFIED :
			  kind == RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT :
					       MHD_HTTP_OK,
			  RESULT_TYPE, response);
}

enum MHD_Result http_answer_variant(struct request *r)
{
	enum problem problem = check_id(r);
	struct picture p;
	int entry;

	if (problem == PROBLEM_NONE && !store_is_name(r->segments[1]))
		problem = PROBLEM_NOT_FOUND;
	if (problem == PROBLEM_NONE)
		problem = open_entry(r, &entry);
	if (problem != PROBLEM_NONE)
		return refuse(r, problem);
	problem = open_picture(r, entry, &p);
	(void)close(entry);
	return problem == PROBLEM_NONE ? reply_picture(r, &p) :
					 refuse(r, problem);
}

/* An errand's run(). */
static void delete_image(struct errand *e)
{
	struct request *r =
		(struct request *)((char *)e -
				   offsetof(struct request, errand));

	r->problem = problem_of_store(
		r, store_delete(r->config->store, r->segments[0]), "removed");
	if (r->http->suspends)
		MHD_resume_connection(r->connection);
}

/* Called once to send the errand and, if that suspended, once more after. */
enum MHD_Result http_answer_delete(struct request *r)
{
	if (!r->is_sent) {
		bool suspends = r->http->suspends;

		r->problem = check_id(r);
		if (r->problem != PROBLEM_NONE)
			return http_reply_problem(r);
		r->is_sent = true;
		r->errand.run = delete_image;
		r->errand.event.number = r->upload.number;
		if (suspends)
			MHD_suspend_connection(r->connection);
		if (!pipeline_send_errand(r->config->pipeline, &r->errand)) {
			r->problem = PROBLEM_STOPPING;
			if (suspends)
				MHD_resume_connection(r->connection);
		}
		if (suspends)
			return MHD_YES;
	}
	if (r->problem != PROBLEM_NONE)
		return http_reply_problem(r);
	return http_reply(r, MHD_HTTP_NO_CONTENT, NULL,
			  MHD_create_response_from_buffer(
				  0, NULL, MHD_RESPMEM_PERSISTENT));
}
