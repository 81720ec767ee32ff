/* SPDX-License-Identifier: MIT */
/*
 * Promises about POST /v1/images:
 *
 * The list of accepted images: an image is found in it until it is stored or
 * has failed.  For the last ACCEPTED_FAILURES_MAX that failed, the list knows
 * why.
 *
 * Spool tasks: there are never more of them than uploads may be in the
 * pipeline.  A task that has run, or could not be sent, makes room for another.
 *
 * Replies to respond=decoded: the events of an upload may happen in any order,
 * and exactly one of them sends the reply.  An impossible event ends the
 * program.
 */
#include "service/http/handlers/images/store_request.c"

#include "base/test/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UPLOADS_MAX = 2 };

static struct accepted_list *list;
static bool can_send = true;
static uint32_t sent_count;

struct pipeline_load __wrap_pipeline_load(const struct pipeline *p);
bool __wrap_pipeline_send_task(struct pipeline *p, struct task *task);
bool __wrap_upload_is_made(const struct upload *u);

struct pipeline_load __wrap_pipeline_load(const struct pipeline *p)
{
	(void)p;
	return (struct pipeline_load){ .uploads_max = UPLOADS_MAX };
}

/* Keep the task: the tests run it themselves. */
bool __wrap_pipeline_send_task(struct pipeline *p, struct task *task)
{
	(void)p;
	CHECK(task->run != NULL);
	sent_count += can_send;
	return can_send;
}

/* Returns true, so that a task writes nothing. */
bool __wrap_upload_is_made(const struct upload *u)
{
	(void)u;
	return true;
}

static struct accepted accepted_of(uint64_t number)
{
	struct accepted p = { .id = "" };

	(void)snprintf(p.id, sizeof(p.id), "%064" PRIx64, number);
	return p;
}

static enum accepted_state find(uint64_t number, enum problem *problem)
{
	struct accepted p = accepted_of(number);

	*problem = PROBLEM_NONE;
	return accepted_find(list, p.id, problem);
}

static void test_stored_and_failed(void)
{
	struct accepted a = accepted_of(1), b = accepted_of(2),
			c = accepted_of(3);
	enum problem problem;

	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_NONE);
	accepted_add(list, &a);
	accepted_add(list, &b);
	accepted_add(list, &c);
	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_PENDING);
	/* End the image in the middle of the list. */
	accepted_settle(list, &b, PROBLEM_STORE_FULL);
	CHECK_NUMBER(find(2, &problem), ==, ACCEPTED_FAILED);
	CHECK_NUMBER(problem, ==, PROBLEM_STORE_FULL);
	accepted_settle(list, &c, PROBLEM_NONE);
	CHECK_NUMBER(find(3, &problem), ==, ACCEPTED_NONE);
	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_PENDING);
	accepted_settle(list, &a, PROBLEM_NONE);
	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_NONE);
	CHECK_NUMBER(find(2, &problem), ==, ACCEPTED_FAILED);
}

static void test_two_of_one_id(void)
{
	struct accepted a = accepted_of(1), b = accepted_of(1);
	enum problem problem;

	accepted_add(list, &a);
	accepted_add(list, &b);
	accepted_settle(list, &a, PROBLEM_STORE_FULL);
	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_PENDING);
	accepted_settle(list, &b, PROBLEM_STORE_FAILED);
	CHECK_NUMBER(find(1, &problem), ==, ACCEPTED_FAILED);
	CHECK_NUMBER(problem, ==, PROBLEM_STORE_FAILED);
}

static void test_oldest_are_forgotten(void)
{
	enum problem problem;

	for (uint64_t i = 0; i < ACCEPTED_FAILURES_MAX + 10; i++) {
		struct accepted p = accepted_of(100 + i);

		accepted_add(list, &p);
		accepted_settle(list, &p, PROBLEM_STORE_FULL);
	}
	CHECK_NUMBER(find(100 + 9, &problem), ==, ACCEPTED_NONE);
	CHECK_NUMBER(find(100 + 10, &problem), ==, ACCEPTED_FAILED);
	CHECK_NUMBER(find(100 + ACCEPTED_FAILURES_MAX + 9, &problem), ==,
		     ACCEPTED_FAILED);
}

static void init_requests(struct request *requests, struct upload_request *owns,
			  uint32_t count, struct http *h)
{
	for (uint32_t i = 0; i < count; i++) {
		requests[i].http = h;
		requests[i].config = &h->config;
		requests[i].port = &h->main;
		requests[i].holder_count = 1;
		requests[i].own = &owns[i];
		owns[i].request = &requests[i];
		owns[i].storing.early = EARLY_NO;
	}
}

static void run_task(struct upload_request *own)
{
	own->storing.spool_task.run(&own->storing.spool_task);
	CHECK_NUMBER(own->request->holder_count, ==, 1);
}

static void test_spool_tasks_are_limited(void)
{
	enum { REQUESTS = UPLOADS_MAX + 2 };
	struct http *h = calloc(1, sizeof(*h));
	struct request *r = calloc(REQUESTS, sizeof(*r));
	struct upload_request *owns = calloc(REQUESTS, sizeof(*owns));

	CHECK(h != NULL);
	CHECK(r != NULL);
	CHECK(owns != NULL);
	init_requests(r, owns, REQUESTS, h);
	for (uint32_t i = 0; i < REQUESTS; i++)
		send_spool_task(&r[i]);
	CHECK_NUMBER(sent_count, ==, UPLOADS_MAX);
	CHECK_NUMBER(h->spooling_count, ==, UPLOADS_MAX);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		bool is_sent = i < UPLOADS_MAX;

		CHECK_NUMBER(owns[i].storing.early, ==,
			     (is_sent ? EARLY_QUEUED : EARLY_NO));
		CHECK_NUMBER(r[i].holder_count, ==, (is_sent ? 2 : 1));
	}
	run_task(&owns[0]);
	send_spool_task(&r[2]);
	send_spool_task(&r[3]);
	CHECK_NUMBER(sent_count, ==, UPLOADS_MAX + 1);
	CHECK_NUMBER(owns[2].storing.early, ==, EARLY_QUEUED);
	CHECK_NUMBER(owns[3].storing.early, ==, EARLY_NO);
	run_task(&owns[1]);
	run_task(&owns[2]);
	CHECK_NUMBER(h->spooling_count, ==, 0);
	can_send = false;
	send_spool_task(&r[3]);
	CHECK_NUMBER(owns[3].storing.early, ==, EARLY_NO);
	CHECK_NUMBER(r[3].holder_count, ==, 1);
	CHECK_NUMBER(h->spooling_count, ==, 0);
	free(owns);
	free(r);
	free(h);
}

/* The events in this order; returns how many of them let a reply be sent. */
static uint32_t count_replies(const enum early_event *events, uint32_t count)
{
	struct storing s = { .early = EARLY_QUEUED };
	bool is_written = false;
	uint32_t replies = 0;

	for (uint32_t i = 0; i < count; i++) {
		enum early_state before = early_advance(&s, events[i]);

		switch (events[i]) {
		case EVENT_WRITE_BEGINS:
			is_written = before == EARLY_QUEUED;
			break;
		case EVENT_WRITTEN:
			replies += is_written && before == EARLY_WRITING;
			break;
		case EVENT_NOT_WRITTEN:
			replies += before == EARLY_DONE;
			break;
		case EVENT_DONE:
			replies += before == EARLY_NO || before == EARLY_QUEUED;
			break;
		case EVENT_STORE_BEGINS:
		case EARLY_EVENTS:
			break;
		}
	}
	return replies;
}

static void test_one_reply_in_any_order(void)
{
	static const struct {
		enum early_event events[6];
		uint32_t count;
	} cases[] = {
		/* The reply is 202; then the image is stored, or fails. */
		{ { EVENT_WRITE_BEGINS, EVENT_WRITTEN, EVENT_STORE_BEGINS,
		    EVENT_DONE },
		  4 },
		{ { EVENT_WRITE_BEGINS, EVENT_WRITTEN, EVENT_DONE }, 3 },
		/*
		 * The image is stored while its upload is written to the spool.
		 */
		{ { EVENT_WRITE_BEGINS, EVENT_STORE_BEGINS, EVENT_WRITTEN,
		    EVENT_NOT_WRITTEN, EVENT_DONE },
		  5 },
		{ { EVENT_WRITE_BEGINS, EVENT_STORE_BEGINS, EVENT_WRITTEN,
		    EVENT_DONE, EVENT_NOT_WRITTEN },
		  5 },
		{ { EVENT_WRITE_BEGINS, EVENT_STORE_BEGINS, EVENT_DONE,
		    EVENT_WRITTEN, EVENT_NOT_WRITTEN },
		  5 },
		{ { EVENT_WRITE_BEGINS, EVENT_STORE_BEGINS, EVENT_DONE,
		    EVENT_NOT_WRITTEN },
		  4 },
		/* The image fails while its upload is written. */
		{ { EVENT_WRITE_BEGINS, EVENT_DONE, EVENT_WRITTEN,
		    EVENT_NOT_WRITTEN },
		  4 },
		/* The image is stored, or fails, before the task writes. */
		{ { EVENT_STORE_BEGINS, EVENT_WRITE_BEGINS, EVENT_DONE }, 3 },
		{ { EVENT_STORE_BEGINS, EVENT_DONE, EVENT_WRITE_BEGINS }, 3 },
		{ { EVENT_DONE, EVENT_WRITE_BEGINS }, 2 },
		/* The upload cannot be written. */
		{ { EVENT_WRITE_BEGINS, EVENT_NOT_WRITTEN, EVENT_STORE_BEGINS,
		    EVENT_DONE },
		  4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_NUMBER(count_replies(cases[i].events, cases[i].count), ==,
			     1);
}

static bool aborts(enum early_state state, enum early_event event)
{
	pid_t child = fork();
	int status;

	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		struct storing s = { .early = state };

		(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		(void)close(STDERR_FILENO);
		(void)early_advance(&s, event);
		_exit(0);
	}
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	return WIFSIGNALED(status);
}

static void test_what_cannot_happen_ends_the_program(void)
{
	CHECK(!aborts(EARLY_NO, EVENT_STORE_BEGINS));
	CHECK(aborts(EARLY_DONE, EVENT_STORE_BEGINS));
	CHECK(aborts(EARLY_NO, EVENT_WRITTEN));
	CHECK(aborts(EARLY_ACCEPTED, EVENT_WRITE_BEGINS));
	CHECK(aborts(EARLY_DONE, EVENT_DONE));
	CHECK(aborts(EARLY_IMPOSSIBLE, EVENT_DONE));
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_stored_and_failed,
		test_two_of_one_id,
		test_oldest_are_forgotten,
		test_spool_tasks_are_limited,
		test_one_reply_in_any_order,
		test_what_cannot_happen_ends_the_program,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		list = malloc(sizeof(*list));
		CHECK(list != NULL);
		accepted_init(list);
		tests[i]();
		accepted_release(list);
		free(list);
	}
	return 0;
}
