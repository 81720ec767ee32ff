/* SPDX-License-Identifier: MIT */
/*
 * An upload's way through a request, and what it is charged on it: from `begin`
 * on what http_charge.c says, nothing from its header on if that will be
 * refused, what the header says from `submit` on, the results' bytes when it is
 * done, nothing at the end.
 */
#include "service/http/auth.h"
#include "service/http/http_reply.h"

#include "service/clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PEEK_BYTES_MIN = 2 }; /* tell a JPEG from others */

struct request *http_request_of(const struct upload *u)
{
	return (struct request *)((char *)u - offsetof(struct request, upload));
}

/*
 * Called by a worker.  A suspended connection notices nothing, so its socket is
 * asked.  To have shut down one way, as a client may that has sent all, looks
 * the same as being closed.
 */
static bool is_gone(const struct upload *u)
{
	const struct request *r = http_request_of(u);
	struct pollfd client = { .fd = r->fd, .events = POLLRDHUP };

	/* Who got a promise does not wait, and may have gone his way. */
	if (atomic_load(&r->keeping.is_promised))
		return false;
	return poll(&client, 1, 0) > 0;
}

/*
 * Called by a worker.  The request is the connection's again, and its alone; or
 * that has got a promise instead.
 */
static void on_done(struct upload *u)
{
	struct request *r = http_request_of(u);
	bool is_early = r->keeping.answers_early;

	if (http_end_keeping(r) && r->http->suspends)
		MHD_resume_connection(r->connection);
	if (is_early)
		http_release(r);
}

/* The body is of no use any more; results, if any, are. */
static void drop_body(struct request *r)
{
	struct upload *u = &r->upload;

	body_release(&r->body);
	budget_lower(&u->charge, upload_result_bytes(u));
}

/* The pipeline will not have it.  Called once of an upload. */
static void give_up(struct request *r, enum problem problem)
{
	r->problem = problem;
	drop_body(r);
	if (!problem_is_refusal(problem))
		return;
	pipeline_count_refused(r->config->pipeline);
	atomic_fetch_add(&r->http->counts.refusals[problem], 1);
}

enum problem http_problem_of_upload(const struct upload *u)
{
	switch (u->end) {
	case UPLOAD_ENDED:
		return problem_of_image(u->err);
	case UPLOAD_NO_PLACE:
		return PROBLEM_OVERLOADED;
	case UPLOAD_MEMORY_FULL:
		return PROBLEM_MEMORY_FULL;
	case UPLOAD_TOO_MUCH:
		return PROBLEM_TOO_MUCH_MEMORY;
	case UPLOAD_ABANDONED:
		return PROBLEM_STOPPING;
	case UPLOAD_LATE:
		return PROBLEM_DEADLINE_EXCEEDED;
	case UPLOAD_STORE_FULL:
		return PROBLEM_STORE_FULL;
	case UPLOAD_NOT_STORED:
		return PROBLEM_STORE_FAILED;
	case UPLOAD_GONE:
		break; /* who should read it? */
	}
	abort();
}

/* From here on a worker may hold `r`, unless the pipeline refuses it. */
static void submit(struct request *r)
{
	struct http *h = r->http;

	r->upload.jpeg = r->body.bytes;
	r->upload.jpeg_bytes = r->body.count;
	r->upload.is_gone = is_gone;
	r->upload.done = on_done;
	r->submitted = true;
	if (r->keeping.answers_early)
		atomic_fetch_add(&r->holder_count, 1);
	/* First: a worker may be done, and resume, before submit returns. */
	if (h->suspends)
		MHD_suspend_connection(r->connection);
	if (!atomic_load(&h->refusing) &&
	    pipeline_submit(h->config.pipeline, &r->upload))
		return;
	r->submitted = false;
	give_up(r, atomic_load(&h->refusing) ?
			   PROBLEM_STOPPING :
			   http_problem_of_upload(&r->upload));
	if (r->keeping.answers_early)
		atomic_fetch_sub(&r->holder_count, 1);
	if (h->suspends)
		MHD_resume_connection(r->connection);
}

enum MHD_Result http_answer_upload(struct request *r)
{
	if (!r->submitted) {
		bool suspends = r->http->suspends;
		enum problem problem = body_finish(&r->body);

		if (problem != PROBLEM_NONE) {
			give_up(r, problem);
			return http_reply_problem(r);
		}
		submit(r);
		if (suspends)
			return MHD_YES;
	}
	if (atomic_load(&r->keeping.is_promised))
		return http_reply_promise(r);
	drop_body(r); /* while the client reads the reply */
	if (r->upload.end == UPLOAD_GONE)
		return MHD_NO; /* closes the connection */
	if (r->problem == PROBLEM_NONE)
		r->problem = http_problem_of_upload(&r->upload);
	if (r->problem != PROBLEM_NONE)
		return http_reply_problem(r);
	return r->reply_result(r);
}

/* Is it to be stored? */
static bool is_kept(const struct request *r)
{
	return r->upload.store != NULL;
}

static enum MHD_Result on_argument(void *cls, enum MHD_ValueKind kind,
				   const char *key, const char *value)
{
	struct request *r = cls;

	(void)kind;
	if (auth_takes_parameter(r->config->auth, key))
		return MHD_YES;
	if (is_kept(r) && strcmp(key, "respond") == 0 ?
		    http_set_respond(r, value) :
		    query_set(&r->query, key, value, r->detail))
		return MHD_YES;
	r->problem = PROBLEM_BAD_PARAMETER;
	return MHD_NO;
}

/* What the query asks for; of one picture, without asking for memory. */
static enum problem make_variants(struct request *r)
{
	struct upload *u = &r->upload;
	uint32_t count;

	if (is_kept(r))
		query_add_presets(&r->query, r->config->presets);
	count = query_picture_count(&r->query);
	u->variants =
		count == 1 ? &r->variant : calloc(count, sizeof(*u->variants));
	if (u->variants == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	u->variant_count = count;
	u->wants_placeholder = r->query.params.placeholder;
	return query_make(&r->query, r->config->presets, u->variants,
			  r->detail) ?
		       PROBLEM_NONE :
		       PROBLEM_BAD_PARAMETER;
}

/* What its head tells.  Its memory is charged last. */
static enum problem begin(struct request *r)
{
	enum problem problem;

	if (!r->has_length)
		return PROBLEM_LENGTH_REQUIRED;
	(void)MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND,
					on_argument, r);
	problem = r->problem;
	if (problem == PROBLEM_NONE)
		problem = make_variants(r);
	if (problem == PROBLEM_NONE && !pipeline_has_place(r->config->pipeline))
		problem = PROBLEM_OVERLOADED;
	if (problem == PROBLEM_NONE)
		problem = http_admit_body(r);
	return problem;
}

void http_begin_upload(struct request *r)
{
	uint32_t deadline_ms = r->config->deadline_ms;
	enum problem problem;

	query_init(&r->query);
	r->reply_result = http_reply_result;
	r->peek_bytes_min = PEEK_BYTES_MIN;
	r->upload.deadline_ns =
		deadline_ms > 0 ?
			r->begin_ns + deadline_ms * UINT64_C(1000000) :
			0;
	r->fd = MHD_get_connection_info(r->connection,
					MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd;
	problem = begin(r);
	if (problem != PROBLEM_NONE)
		give_up(r, problem);
}

/*
 * Is there a header by now that will be refused?  Then nobody needs the rest.
 * Asked whenever the bytes have doubled, so that all looks together take linear
 * time, and not of a body that is whole: that is submitted at once.
 */
static enum problem peek(struct request *r)
{
	struct upload *u = &r->upload;
	size_t bytes = r->body.count;

	if (r->peek_bytes_min == 0 || bytes < r->peek_bytes_min ||
	    bytes == r->length_bytes)
		return PROBLEM_NONE;
	r->peek_bytes_min = 2 * bytes;
	u->jpeg = r->body.bytes;
	u->jpeg_bytes = bytes;
	if (!pipeline_peek(r->config->pipeline, u))
		return PROBLEM_NONE;
	r->peek_bytes_min = 0;
	return http_problem_of_upload(u);
}

/* A body that comes too slowly does not hold its memory for long. */
static bool is_late(const struct request *r)
{
	return r->upload.deadline_ns > 0 &&
	       clock_now_ns() >= r->upload.deadline_ns;
}

static enum problem take(struct request *r, const char *data, size_t bytes)
{
	enum problem problem;

	if (is_late(r))
		return PROBLEM_DEADLINE_EXCEEDED;
	problem = http_make_room(r);
	if (problem == PROBLEM_NONE)
		problem = body_append(&r->body, data, bytes);
	return problem == PROBLEM_NONE ? peek(r) : problem;
}

void http_receive(struct request *r, const char *data, size_t bytes)
{
	enum problem problem;

	if (r->problem != PROBLEM_NONE || r->body.bytes == NULL)
		return;
	problem = take(r, data, bytes);
	if (problem != PROBLEM_NONE)
		give_up(r, problem);
}

void http_end_upload(struct request *r)
{
	upload_free_results(&r->upload);
	drop_body(r);
	free(r->keeping.meta);
	if (r->upload.variants != &r->variant)
		free(r->upload.variants);
}
