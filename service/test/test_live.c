/* SPDX-License-Identifier: MIT */
/*
 * Promises to who watches: what is told is what happened, to the event; what is
 * told of late is of the last frames alone, and begins anew with a new viewer;
 * what comes too fast to be told is counted.
 *
 * usage: test_live PHOTO
 */
#include "service/report/live.h"
#include "service/report/recent.h"
#include "service/test/jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { UPLOADS = 16, SPANS_MAX = 4000, FLOOD = 6000 };

static struct job jobs[UPLOADS];

/* A server as far as it is told of. */
struct told {
	struct pipeline_config config;
	struct sandbox sandbox;
	struct stats_source stats;
	struct live *live;
};

static void begin(struct told *t, const struct pipeline_config *config)
{
	t->config = *config;
	stats_init(&t->stats, &t->config, &t->sandbox);
	t->stats.pipeline = start_configured(config);
	t->live = live_new(&t->stats);
	assert(t->live != NULL);
}

static struct pipeline *pipeline_of(struct told *t)
{
	return (struct pipeline *)(uintptr_t)t->stats.pipeline;
}

static void end(struct told *t)
{
	live_free(t->live);
	pipeline_stop(pipeline_of(t));
	pipeline_free(pipeline_of(t));
	stats_release(&t->stats);
}

/* Until all of them are counted, too. */
static void upload(struct told *t, uint32_t count, size_t bytes)
{
	struct pipeline_stats s;

	for (uint32_t i = 0; i < count; i++) {
		prepare(&jobs[i], bytes, 0);
		assert(pipeline_submit(pipeline_of(t), &jobs[i].upload));
	}
	for (uint32_t i = 0; i < count; i++) {
		wait_done(&jobs[i]);
		upload_free_results(&jobs[i].upload);
	}
	do
		pipeline_read(pipeline_of(t), &s);
	while (s.stages[PIPELINE_DECODE].handled_count !=
		       s.stages[PIPELINE_DECODE].arrived_count ||
	       s.stages[PIPELINE_ENCODE].handled_count !=
		       s.stages[PIPELINE_ENCODE].arrived_count);
}

/* The data of an event of that name, which is freed. */
static cJSON *data_of(char *event, const char *name)
{
	char head[64];
	size_t bytes =
		(size_t)snprintf(head, sizeof(head), "event: %s\ndata: ", name);
	const char *line = event + bytes;
	cJSON *data;

	assert(strncmp(event, head, bytes) == 0);
	assert(strcmp(strchr(line, '\n'), "\n\n") == 0);
	data = cJSON_Parse(line);
	assert(data != NULL);
	free(event);
	return data;
}

static cJSON *frame(struct told *t, bool is_first)
{
	return data_of(live_frame(t->live, is_first), "frame");
}

static cJSON *at(const cJSON *list, int place)
{
	cJSON *item = cJSON_GetArrayItem(list, place);

	assert(item != NULL);
	return item;
}

static cJSON *get(const cJSON *o, const char *name)
{
	cJSON *member = cJSON_GetObjectItemCaseSensitive(o, name);

	assert(member != NULL);
	return member;
}

static cJSON *stage(const cJSON *frame, int place)
{
	return at(get(frame, "stages"), place);
}

static double number(const cJSON *o, const char *name)
{
	assert(cJSON_IsNumber(get(o, name)));
	return get(o, name)->valuedouble;
}

static bool is_null(const cJSON *o, const char *name, const char *span)
{
	return cJSON_IsNull(get(get(o, name), span));
}

/* Events in the visits to a stage that a frame tells of. */
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

/* What passed an edge; -1: there is none such. */
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

static void test_what_happened_is_told(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	struct told t;
	cJSON *f;

	begin(&t, &c);
	f = frame(&t, true);
	assert(number(stage(f, 0), "handled") == 0);
	assert(cJSON_IsNull(get(stage(f, 0), "load")));
	assert(is_null(stage(f, 0), "wait_ms", "total"));
	cJSON_Delete(f);
	upload(&t, UPLOADS - 2, photo_bytes);
	upload(&t, 2, photo_bytes / 2);

	f = frame(&t, false);
	assert(number(f, "number") == 2);
	assert(number(get(f, "uploads"), "finished") == UPLOADS - 2);
	assert(number(get(f, "uploads"), "failed") == 2);
	for (int i = 0; i < PIPELINE_STEPS; i++) {
		int count = i == PIPELINE_DECODE ? UPLOADS : UPLOADS - 2;
		const cJSON *s = stage(f, i);

		assert(number(s, "handled") == count);
		assert(told_events(f, i) == count);
		assert(passed(f, i - 1, i) == count);
		assert(number(s, "load") > 0);
		/* All of it is of late. */
		assert(cJSON_Compare(get(get(s, "wait_ms"), "recent"),
				     get(get(s, "wait_ms"), "total"), true));
		assert(number(get(s, "cohort"), "recent") == 1);
	}
	assert(passed(f, PIPELINE_ENCODE, -1) == UPLOADS - 2);
	assert(number(f, "missed") == 0);
	assert(cJSON_GetObjectItem(f, "parts") == NULL);
	cJSON_Delete(f);

	f = frame(&t, false);
	assert(told_events(f, PIPELINE_DECODE) == 0);
	cJSON_Delete(f);

	/* Somebody else comes to watch. */
	f = frame(&t, true);
	assert(number(stage(f, 0), "handled") == UPLOADS);
	assert(is_null(stage(f, 0), "service_ms", "recent"));
	assert(!is_null(stage(f, 0), "service_ms", "total"));
	cJSON_Delete(f);
	end(&t);
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
	begin(&t, &c);
	f = data_of(live_hello(t.live), "hello");
	assert(number(f, "parts") == 2);
	assert(strcmp(get(f, "balance")->valuestring, "replicate") == 0);
	assert(cJSON_GetArraySize(get(f, "workers")) ==
	       (int)cores_count(cores));
	cJSON_Delete(f);
	upload(&t, UPLOADS, photo_bytes);
	f = frame(&t, true);
	parts = get(f, "parts");
	assert(cJSON_GetArraySize(parts) == 2);
	for (int i = 0; i < PIPELINE_STEPS; i++)
		/* In turn, to each its half. */
		for (int part = 0; part < 2; part++)
			assert(number(at(at(parts, part), i), "handled") ==
			       UPLOADS / 2);
	cJSON_Delete(f);
	end(&t);
}

/* Each visit is told, or counted as missed; and sleeps, too. */
static void test_what_is_missed_is_counted(const struct cores *cores)
{
	struct pipeline_config c =
		job_config(policy_find("color"), cores, UPLOADS);
	struct pipeline_stats s;
	struct told t;
	cJSON *f;
	double told;

	begin(&t, &c);
	cJSON_Delete(frame(&t, true));
	/* So little of it that it fails at once, in its first stage. */
	for (int i = 0; i < FLOOD / UPLOADS; i++)
		upload(&t, UPLOADS, photo_bytes / 16);
	pipeline_read(t.stats.pipeline, &s);
	f = frame(&t, false);
	told = cJSON_GetArraySize(get(f, "spans"));
	assert(told <= SPANS_MAX && number(f, "missed") > 0);
	assert(told + number(f, "missed") >=
	       (double)s.stages[PIPELINE_DECODE].visit_count);
	assert(told_events(f, PIPELINE_DECODE) > SPANS_MAX / 16);
	cJSON_Delete(f);
	end(&t);
}

static void add(struct stage_stats *s, uint64_t wait_ns, uint64_t count)
{
	struct histogram h = { 0 };

	for (uint64_t i = 0; i < count; i++)
		histogram_add(&h, wait_ns);
	histogram_read(&h, &s->waits);
	histogram_read(&h, &s->services);
	s->handled_count += count;
	s->visit_count++;
}

static uint64_t median_ns(struct recent *r, const struct stage_stats *s)
{
	struct spread now, late;

	spread_read(s, &now);
	recent_add(r, &now, &late);
	assert(late.handled_count == late.waits.count);
	assert(late.services.count == late.waits.count);
	return histogram_quantile(&late.waits, 0.5);
}

static void test_what_is_long_ago_is_not_recent(void)
{
	static struct recent r;
	static struct stage_stats s;

	add(&s, 7, 100); /* values under 8 have buckets of their own */
	assert(median_ns(&r, &s) == 0);
	add(&s, 5, 2);
	assert(median_ns(&r, &s) == 5);
	add(&s, 3, 5);
	for (int i = 2; i <= RECENT_COPIES; i++)
		assert(median_ns(&r, &s) == 3);
	/* Of the threes alone, and then of nothing. */
	assert(median_ns(&r, &s) == 3);
	assert(median_ns(&r, &s) == 0);
	recent_begin(&r);
	add(&s, 1, 1);
	assert(median_ns(&r, &s) == 0);
}

int main(int argc, char **argv)
{
	const char *why;
	struct cores *cores = cores_new(NULL, &why);

	assert(argc == 2 && cores != NULL);
	read_photo(argv[1]);
	shrink_photo(cores);
	test_what_is_long_ago_is_not_recent();
	test_what_happened_is_told(cores);
	test_parts_are_told_apart(cores);
	test_what_is_missed_is_counted(cores);
	cores_free(cores);
	free(photo);
	return 0;
}
