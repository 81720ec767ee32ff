/* SPDX-License-Identifier: MIT */
#include "service/test/report/told.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "service/test/pipeline/jobs.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static struct job jobs[UPLOADS];
static _Atomic bool are_sent;

/* A minute_gauges_fn. */
static void read_gauges(void *arg, struct minute_gauges *out)
{
	(void)arg;
	*out = (struct minute_gauges){
		.at_ns = clock_now_ns(),
		.in_flight_count = TOLD_IN_FLIGHT,
	};
}

void told_begin(struct told *t, const struct pipeline_config *config)
{
	t->config = *config;
	stats_init(&t->stats, &t->config, &t->sandbox);
	t->stats.pipeline = start_configured(config);
	t->live = live_new(&t->stats);
	minute_init(&t->minute, read_gauges, t, clock_now_ns());
	CHECK(t->live != NULL);
}

static struct pipeline *pipeline_of(struct told *t)
{
	return (struct pipeline *)(uintptr_t)t->stats.pipeline;
}

void told_end(struct told *t)
{
	live_free(t->live);
	minute_release(&t->minute);
	pipeline_stop(pipeline_of(t));
	pipeline_free(pipeline_of(t));
	stats_release(&t->stats);
}

/* No upload ends before all are sent, so that some visits handle many. */
static bool is_gone(const struct upload *u)
{
	(void)u;
	while (!atomic_load(&are_sent))
		(void)sched_yield();
	return true;
}

/* A visit is reported only after its end, which is after its last event. */
static bool all_workers_sleep(const struct stage_group *g)
{
	struct worker_stats w;

	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		group_read_worker(g, i, &w);
		if (w.asleep_since_ns == 0)
			return false;
	}
	return true;
}

static void send(struct told *t, uint32_t count)
{
	uint32_t last = pipeline_own_steps(pipeline_of(t)).count - 1;
	struct pipeline_stats s;

	atomic_store(&are_sent, false);
	for (uint32_t i = 0; i < count; i++)
		CHECK(pipeline_submit(pipeline_of(t), &jobs[i].upload));
	atomic_store(&are_sent, true);
	for (uint32_t i = 0; i < count; i++) {
		wait_done(&jobs[i]);
		upload_free_results(&jobs[i].upload);
	}
	do
		pipeline_read(pipeline_of(t), &s);
	while (s.stages[0].handled_count != s.stages[0].arrived_count ||
	       s.stages[last].handled_count != s.stages[last].arrived_count ||
	       !all_workers_sleep(pipeline_group(pipeline_of(t))));
}

void told_upload(struct told *t, uint32_t count, size_t bytes)
{
	for (uint32_t i = 0; i < count; i++)
		prepare(&jobs[i], bytes, 1);
	send(t, count);
}

void told_upload_gone(struct told *t, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		prepare(&jobs[i], photo_bytes, 0);
		jobs[i].upload.is_gone = is_gone;
	}
	send(t, count);
}

cJSON *told_data(char *event, const char *name)
{
	char head[64];
	size_t bytes =
		(size_t)snprintf(head, sizeof(head), "event: %s\ndata: ", name);
	const char *line = event + bytes;
	cJSON *data;

	CHECK(strncmp(event, head, bytes) == 0);
	CHECK_TEXT(strchr(line, '\n'), "\n\n");
	data = cJSON_Parse(line);
	CHECK(data != NULL);
	free(event);
	return data;
}

cJSON *told_frame(struct told *t, bool is_first)
{
	return told_data(live_frame(t->live, &t->minute, is_first), "frame");
}

cJSON *at(const cJSON *list, int place)
{
	cJSON *item = cJSON_GetArrayItem(list, place);

	CHECK(item != NULL);
	return item;
}

cJSON *get(const cJSON *o, const char *name)
{
	cJSON *member = cJSON_GetObjectItemCaseSensitive(o, name);

	CHECK(member != NULL);
	return member;
}

double number(const cJSON *o, const char *name)
{
	CHECK(cJSON_IsNumber(get(o, name)));
	return get(o, name)->valuedouble;
}
