/* SPDX-License-Identifier: MIT */
/*
 * Promise: if visits and sleeps come too fast, a frame has the newest of them,
 * without a gap, and says from what time on none is missing; the missing ones
 * are counted.
 *
 * usage: test_live_spans PHOTO
 */
#include "base/error.h"
#include "base/test/check.h"
#include "service/test/pipeline/jobs.h"
#include "service/test/report/told.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	SPANS_MAX = 4000,
	FLOOD = 6000,
	OVERFLOW = 17000,
	WHILE_US = 100000,
};

/* The spans of one worker, copied from its trace. */
struct ring {
	uint32_t count; /* number of visits and sleeps */
	uint64_t missed_count;
	uint64_t first_end_us; /* end of the oldest span of any kind */
	struct span spans[TRACE_SPANS];
};

static void read_ring(struct ring *r, const struct stage_group *g,
		      uint32_t worker)
{
	static struct span all[TRACE_SPANS];
	uint64_t next = 0;
	uint32_t count;

	*r = (struct ring){ .count = 0 };
	count = group_read_trace(g, worker, &next, all, TRACE_SPANS,
				 &r->missed_count);
	r->first_end_us = all[0].end_ns / 1000;
	for (uint32_t i = 0; i < count; i++)
		if (all[i].kind != SPAN_EVENT)
			r->spans[r->count++] = all[i];
}

/*
 * The frame has the newest spans of the worker, without a gap, and says from
 * what time on none is missing.
 */
static void assert_newest(const cJSON *f, int worker, const struct ring *r)
{
	const cJSON *span, *since;
	uint32_t told_count = 0, left_count, i;

	cJSON_ArrayForEach(span, get(f, "spans"))
	{
		if (at(span, 0)->valueint == worker)
			told_count++;
	}
	CHECK_NUMBER(told_count, <=, r->count);
	i = left_count = r->count - told_count;
	cJSON_ArrayForEach(span, get(f, "spans"))
	{
		if (at(span, 0)->valueint == worker)
			CHECK_NUMBER((uint64_t)at(span, 2)->valuedouble, ==,
				     r->spans[i++].start_ns / 1000);
	}
	since = get(at(get(f, "workers"), worker), "told_since_us");
	if (left_count > 0)
		CHECK_NUMBER((uint64_t)since->valuedouble, ==,
			     r->spans[left_count - 1].end_ns / 1000);
	else if (r->missed_count > 0)
		CHECK_NUMBER((uint64_t)since->valuedouble, ==, r->first_end_us);
	else
		CHECK(cJSON_IsNull(since));
}

/*
 * Wait until the worker sleeps: then its last visit is in its trace, and
 * nothing follows.  A worker that an event has woken and that has not run yet
 * still looks asleep; so the same sleep must last for a while.
 */
static void wait_asleep(const struct stage_group *g, uint32_t worker)
{
	struct worker_stats before, s;

	group_read_worker(g, worker, &s);
	do {
		before = s;
		(void)usleep(WHILE_US);
		group_read_worker(g, worker, &s);
	} while (s.asleep_since_ns == 0 ||
		 s.asleep_since_ns != before.asleep_since_ns);
}

static void flood(struct told *t, int count)
{
	const struct stage_group *g = pipeline_group(t->stats.pipeline);

	for (int i = 0; i < count / UPLOADS; i++)
		told_upload_gone(t, UPLOADS);
	for (uint32_t i = 0; i < group_worker_count(g); i++)
		wait_asleep(g, i);
}

/*
 * Spans that are left out are older than those in the frame, and they are
 * counted.
 */
static void test_newest_is_told(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	static struct ring ring;
	struct pipeline_stats s;
	struct told t;
	cJSON *f;
	double told;

	/* these workers idle, so their spans need no room */
	c.store_threads = 3;
	told_begin(&t, &c);
	cJSON_Delete(told_frame(&t, true));
	flood(&t, FLOOD);
	pipeline_read(t.stats.pipeline, &s);
	f = told_frame(&t, false);
	told = cJSON_GetArraySize(get(f, "spans"));
	CHECK_NUMBER(told, <=, SPANS_MAX);
	CHECK_NUMBER(number(f, "missed"), >, 0);
	CHECK_NUMBER(told, >,
		     SPANS_MAX - cJSON_GetArraySize(get(f, "workers")));
	CHECK_NUMBER(
		told + number(f, "missed"), >=,
		(double)s
			.stages[pipeline_stage_index(&s.steps, PIPELINE_DECODE)]
			.visit_count);
	for (uint32_t i = 0; i < cores_count(cores); i++) {
		read_ring(&ring, pipeline_group(t.stats.pipeline), i);
		assert_newest(f, (int)i, &ring);
	}
	cJSON_Delete(f);
	told_end(&t);
}

/* There are few visits, but more events than a trace can hold. */
static void test_what_is_overwritten_is_told_of(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("pool-per-stage"), cores, UPLOADS);
	static struct ring ring;
	struct told t;
	cJSON *f;

	c.schedule.pool_is_auto = false;
	for (uint32_t i = 0; i < pipeline_steps(c.stages).count; i++)
		c.schedule.pool_threads[i] = 1;
	told_begin(&t, &c);
	cJSON_Delete(told_frame(&t, true));
	flood(&t, OVERFLOW);
	f = told_frame(&t, false);
	read_ring(&ring, pipeline_group(t.stats.pipeline), 0);
	CHECK_NUMBER(ring.missed_count, >, 0);
	assert_newest(f, 0, &ring);
	CHECK_NUMBER(number(f, "missed"), >=, (double)ring.missed_count);
	cJSON_Delete(f);

	/*
	 * The first frame has the earlier spans that are still there; later
	 * frames miss none.
	 */
	told_upload(&t, 1, photo_bytes);
	f = told_frame(&t, false);
	CHECK_NUMBER(number(f, "missed"), ==, 0);
	CHECK(cJSON_IsNull(get(at(get(f, "workers"), 0), "told_since_us")));
	cJSON_Delete(f);
	told_end(&t);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	test_newest_is_told(cores);
	test_what_is_overwritten_is_told_of(cores);
	cores_free(cores);
	free(photo);
	return 0;
}
