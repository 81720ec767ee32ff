/* SPDX-License-Identifier: MIT */
/*
 * Promises: the reports for viewers agree with the events, to the last one; the
 * recent values cover the last frames only, and start again with a new viewer.
 *
 * usage: test_live PHOTO
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/test/check.h"
#include "service/report/recent.c"
#include "service/test/pipeline/jobs.h"
#include "service/test/report/told.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The places of the stages, which are those of --stages image. */
enum { DECODE, ENCODE = 3, STORE, STAGES };

static cJSON *stage(const cJSON *frame, int place)
{
	return at(get(frame, "stages"), place);
}

static bool is_null(const cJSON *o, const char *name, const char *span)
{
	return cJSON_IsNull(get(get(o, name), span));
}

/* The events in all visits to a stage that a frame reports. */
static double told_events(const cJSON *frame, int of_stage)
{
	const cJSON *span;
	double count = 0;

	cJSON_ArrayForEach(span, get(frame, "spans"))
	{
		if (at(span, 1)->valueint == of_stage)
			count += at(span, 4)->valuedouble;
	}
	return count;
}

/*
 * The number of events that passed an edge of the graph; -1: there is no such
 * edge.
 */
static double passed(const cJSON *frame, int from, int to)
{
	const cJSON *edge;

	cJSON_ArrayForEach(edge, get(frame, "edges"))
	{
		if (at(edge, 0)->valueint == from &&
		    at(edge, 1)->valueint == to)
			return at(edge, 2)->valuedouble;
	}
	return -1;
}

/* All service time of `s` must be in the recent time of this frame. */
static void assert_load(const cJSON *of, const struct stage_stats *s, double us,
			const struct cores *cores)
{
	double load = (double)s->service_ns / (us * 1e3) / cores_count(cores);

	CHECK_NUMBER(load, >, 0);
	CHECK_NUMBER(fabs(number(of, "load") / load - 1), <, 0.02);
}

/*
 * Two cores for one second, with known service times of each stage in each
 * group of workers.
 */
static void test_stages_have_no_more_cpu_than_the_process(void)
{
	const uint32_t groups[PIPELINE_STAGES] = { 0, 0, 0, 0, 1 };
	const struct cpu_reading from = { .at_ns = 5 };
	struct cpu_reading to = {
		.at_ns = 5 + 1000000000,
		.process_ns = 1280000000,
		.groups_ns = { 1200000000, 10000000 },
		/* Two busy threads, and a stage that waits for a disk. */
		.services_ns = { 1200000000, 200000000, 0, 600000000,
				 500000000 },
	};
	const double stages[] = { 0.72, 0.12, 0, 0.36, 0.01 };
	struct cpu_use u = { 0 };
	double sum = 0;

	cpu_use_divide(&u, &from, &to, STAGES, groups);
	CHECK(u.is_known);
	CHECK_NUMBER(fabs(u.process - 1.28), <, 1e-9);
	for (int i = 0; i < STAGES; i++)
		CHECK_NUMBER(fabs(u.stages[i] - stages[i]), <, 1e-9);

	to.process_ns = 1000000000; /* read before the threads' clocks */
	cpu_use_divide(&u, &from, &to, STAGES, groups);
	for (int i = 0; i < STAGES; i++)
		sum += u.stages[i];
	CHECK_NUMBER(sum, <=, u.process + 1e-9);
	CHECK_NUMBER(sum, >, u.process - 1e-9);

	to = from; /* no time passes between the readings */
	cpu_use_divide(&u, &from, &to, STAGES, groups);
	CHECK(!u.is_known);
}

/*
 * The sum of the cores that stages use; it must not exceed the process's total.
 */
static double cpu_of_stages(const cJSON *frame)
{
	const cJSON *s;
	double sum = 0;

	cJSON_ArrayForEach(s, get(frame, "stages"))
	{
		CHECK_NUMBER(number(s, "cpu"), >=, 0);
		CHECK_NUMBER(number(s, "cpu"), <=, number(s, "load") + 1e-4);
		sum += number(s, "cpu");
	}
	CHECK_NUMBER(sum, <=, number(frame, "cpu") + 1e-4);
	return sum;
}

static void test_what_happened_is_told(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	struct pipeline_stats stats;
	struct told t;
	double first_us;
	cJSON *f;

	told_begin(&t, &c);
	f = told_frame(&t, true);
	CHECK_NUMBER(number(stage(f, 0), "handled"), ==, 0);
	CHECK(cJSON_IsNull(get(stage(f, 0), "load")));
	CHECK(cJSON_IsNull(get(stage(f, 0), "cpu")));
	CHECK(cJSON_IsNull(get(f, "cpu")));
	CHECK(is_null(stage(f, 0), "wait_ms", "total"));
	first_us = number(f, "at_us");
	cJSON_Delete(f);
	told_upload(&t, UPLOADS - 2, photo_bytes);
	told_upload(&t, 2, photo_bytes / 2);

	pipeline_read(t.stats.pipeline, &stats);
	f = told_frame(&t, false);
	CHECK_NUMBER(number(f, "number"), ==, 2);
	CHECK_NUMBER(number(get(f, "uploads"), "finished"), ==, UPLOADS - 2);
	CHECK_NUMBER(number(get(f, "uploads"), "failed"), ==, 2);
	for (int i = 0; i < STORE; i++) {
		int count = i == DECODE ? UPLOADS : UPLOADS - 2;
		const cJSON *s = stage(f, i);

		CHECK_NUMBER(number(s, "handled"), ==, count);
		CHECK_NUMBER(told_events(f, i), ==, count);
		CHECK_NUMBER(passed(f, i - 1, i), ==, count);
		assert_load(s, &stats.stages[i], number(f, "at_us") - first_us,
			    cores);
		/* Everything happened within the recent frames. */
		CHECK(cJSON_Compare(get(get(s, "wait_ms"), "recent"),
				    get(get(s, "wait_ms"), "total"), true));
		CHECK_NUMBER(number(get(s, "cohort"), "recent"), ==, 1);
	}
	CHECK_NUMBER(passed(f, ENCODE, -1), ==, UPLOADS - 2);
	CHECK_NUMBER(cpu_of_stages(f), >, 0);
	CHECK_NUMBER(number(f, "missed"), ==, 0);
	CHECK(cJSON_GetObjectItem(f, "parts") == NULL);
	CHECK(cJSON_GetObjectItem(f, "stage_parts") == NULL);
	cJSON_Delete(f);

	f = told_frame(&t, false);
	CHECK_NUMBER(told_events(f, DECODE), ==, 0);
	cJSON_Delete(f);

	/* A new viewer arrives. */
	f = told_frame(&t, true);
	CHECK_NUMBER(number(stage(f, 0), "handled"), ==, UPLOADS);
	CHECK(is_null(stage(f, 0), "service_ms", "recent"));
	CHECK(!is_null(stage(f, 0), "service_ms", "total"));
	cJSON_Delete(f);
	told_end(&t);
}

static void test_parts_are_told_apart(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("cohort"), cores, UPLOADS);
	struct told t;
	cJSON *f, *parts;

	if (cores_count(cores) < 2)
		return;
	c.schedule.balance = BALANCE_REPLICATE;
	c.schedule.part_count = 2;
	told_begin(&t, &c);
	f = told_data(live_hello(t.live, &t.minute), "hello");
	CHECK_NUMBER(number(f, "parts"), ==, 2);
	CHECK_TEXT(get(f, "balance")->valuestring, "replicate");
	CHECK_NUMBER(cJSON_GetArraySize(get(f, "workers")), ==,
		     (int)cores_count(cores));
	cJSON_Delete(f);
	told_upload(&t, UPLOADS, photo_bytes);
	f = told_frame(&t, true);
	parts = get(f, "parts");
	CHECK_NUMBER(cJSON_GetArraySize(parts), ==, 2);
	for (int i = 0; i < STORE; i++)
		/*
		 * Uploads go to the parts in turn, so each part has half of
		 * them.
		 */
		for (int part = 0; part < 2; part++)
			CHECK_NUMBER(number(at(at(parts, part), i), "handled"),
				     ==, UPLOADS / 2);
	cJSON_Delete(f);
	told_end(&t);
}

static void assert_owners(struct told *t, const int owners[STORE])
{
	cJSON *f = told_frame(t, true), *told = get(f, "stage_parts");

	CHECK_NUMBER(cJSON_GetArraySize(told), ==, STORE);
	for (int i = 0; i < STORE; i++)
		CHECK_NUMBER(at(told, i)->valueint, ==, owners[i]);
	cJSON_Delete(f);
}

static void test_whose_stages_are_is_told(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("cohort"), cores, UPLOADS);
	const uint32_t parts[STORE] = { 1, 0, 0, 1 };
	struct told t;

	if (cores_count(cores) < 2)
		return;
	c.schedule.balance = BALANCE_PARTITION;
	c.schedule.part_count = 2;
	told_begin(&t, &c);
	assert_owners(&t, (int[]){ 0, 0, 1, 1 });
	CHECK(group_partition(pipeline_group(t.stats.pipeline), parts));
	assert_owners(&t, (int[]){ 1, 0, 0, 1 });
	told_end(&t);
}

static void test_store_and_cores_are_told(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	struct told t;
	cJSON *hello, *workers, *last;

	c.store_threads = 1;
	told_begin(&t, &c);
	hello = told_data(live_hello(t.live, &t.minute), "hello");
	CHECK_NUMBER(number(hello, "cores"), ==, cores_count(cores));
	CHECK_NUMBER(cJSON_GetArraySize(get(hello, "words")), >, 0);
	CHECK_TEXT(at(get(hello, "stages"), STORE)->valuestring, "store");
	workers = get(hello, "workers");
	last = at(workers, cJSON_GetArraySize(workers) - 1);
	CHECK_TEXT(get(last, "lane")->valuestring, "store");
	cJSON_Delete(hello);
	told_end(&t);
}

static double quantile(const cJSON *of, int place)
{
	return at(get(of, "ms"), place)->valuedouble;
}

/*
 * The data that pages draw: two replies in a past second, two in the current
 * one.
 */
static void test_replies_of_late_are_told(const struct cores *cores)
{
	const uint64_t ms = 1000000, s = 1000 * ms;
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	uint64_t then_ns;
	struct told t;
	cJSON *f, *hello, *history, *recent, *second;

	told_begin(&t, &c);
	then_ns = clock_now_ns() - 3 * s;
	t.minute.start_ns = then_ns - 10 * s;
	minute_count(&t.minute, then_ns, 200, 5 * ms);
	minute_count(&t.minute, then_ns, 415, 1 * ms);
	minute_count(&t.minute, clock_now_ns(), 201, 900 * ms);
	minute_count(&t.minute, clock_now_ns(), 503, 0);
	f = told_frame(&t, true);
	recent = get(f, "recent");
	CHECK_NUMBER(number(recent, "ok"), ==, 2);
	CHECK_NUMBER(number(recent, "client_errors"), ==, 1);
	CHECK_NUMBER(number(recent, "server_errors"), ==, 1);
	CHECK_NUMBER(number(recent, "duration_s"), >=, 5);
	CHECK_NUMBER(fabs(quantile(recent, 0) / 5 - 1), <, 0.13);
	CHECK_NUMBER(quantile(recent, 1), ==, 900);
	CHECK_NUMBER(quantile(recent, 2), ==, 900);
	hello = told_data(live_hello(t.live, &t.minute), "hello");
	history = get(hello, "history");
	CHECK_NUMBER(number(history, "from"), ==,
		     (double)(t.minute.start_ns / s));
	/* The second of the last two replies may be over by now. */
	CHECK_NUMBER(number(history, "to"), >=, (double)(then_ns / s + 3));
	second = at(get(history, "seconds"), 0);
	CHECK_NUMBER(number(second, "second"), ==, (double)(then_ns / s));
	CHECK_NUMBER(number(second, "ok"), ==, 1);
	CHECK_NUMBER(number(second, "client_errors"), ==, 1);
	CHECK_NUMBER(quantile(second, 0), ==, 5);
	CHECK_NUMBER(quantile(second, 2), ==, 5);
	CHECK_NUMBER(number(second, "in_flight"), ==, TOLD_IN_FLIGHT);
	CHECK(cJSON_IsNull(get(second, "cpu")));
	CHECK_NUMBER(number(at(get(get(f, "history"), "seconds"), 0), "second"),
		     ==, (double)(then_ns / s));
	cJSON_Delete(hello);
	cJSON_Delete(f);
	told_end(&t);
}

static void add(struct stage_stats *s, uint64_t wait_ns, uint64_t count)
{
	struct histogram h = { 0 };

	for (uint64_t i = 0; i < count; i++)
		histogram_add(&h, wait_ns);
	histogram_read(&h, &s->waits);
	histogram_read(&h, &s->services);
	s->started_count += count;
	s->visit_count++;
}

static uint64_t median_ns(struct recent *r, const struct stage_stats *s)
{
	struct spread now, late;

	spread_read(s, 1, &now);
	recent_add(r, &now, &late);
	CHECK_NUMBER(late.turn_count, ==, late.waits.count);
	CHECK_NUMBER(late.services.count, ==, late.waits.count);
	return histogram_quantile(&late.waits, 0.5);
}

static void test_what_is_long_ago_is_not_recent(void)
{
	static struct recent r;
	static struct stage_stats s;

	add(&s, 7, 100); /* values below 8 have a bucket each */
	CHECK_NUMBER(median_ns(&r, &s), ==, 0);
	add(&s, 5, 2);
	CHECK_NUMBER(median_ns(&r, &s), ==, 5);
	add(&s, 3, 5);
	for (int i = 2; i <= RECENT_COPIES; i++)
		CHECK_NUMBER(median_ns(&r, &s), ==, 3);
	/* First only the threes are left, then no value. */
	CHECK_NUMBER(median_ns(&r, &s), ==, 3);
	CHECK_NUMBER(median_ns(&r, &s), ==, 0);
	recent_begin(&r);
	add(&s, 1, 1);
	CHECK_NUMBER(median_ns(&r, &s), ==, 0);
}

int main(int argc, char **argv)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);

	CHECK_NUMBER(argc, ==, 2);
	CHECK(cores != NULL);
	read_photo(argv[1]);
	shrink_photo(cores, 500);
	test_what_is_long_ago_is_not_recent();
	test_stages_have_no_more_cpu_than_the_process();
	test_what_happened_is_told(cores);
	test_parts_are_told_apart(cores);
	test_whose_stages_are_is_told(cores);
	test_store_and_cores_are_told(cores);
	test_replies_of_late_are_told(cores);
	cores_free(cores);
	free(photo);
	return 0;
}
