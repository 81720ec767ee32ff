/* SPDX-License-Identifier: MIT */
/* Every member is described in service/README.md. */
#include "service/stats.h"

#include "service/clock.h"

#include "stages/cores.h"

#include <stdio.h>
#include <sys/resource.h>

#include <cjson/cJSON.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

/* Of this program: getrusage() would tell of the one that started it, too. */
static double memory_peak_bytes(void)
{
	char line[128];
	unsigned long kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	if (f == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL &&
	       sscanf(line, "VmHWM: %lu", &kib) != 1)
		;
	(void)fclose(f);
	return (double)kib * 1024;
}

/* cJSON's adders do nothing on NULL: one check at the end is enough. */

static void add(cJSON *to, const char *name, double value)
{
	(void)cJSON_AddNumberToObject(to, name, value);
}

static void add_process(cJSON *to)
{
	struct rusage use;

	(void)getrusage(RUSAGE_SELF, &use);
	add(to, "cpu_s", seconds(use.ru_utime) + seconds(use.ru_stime));
	add(to, "memory_peak_bytes", memory_peak_bytes());
}

static void add_uploads(cJSON *to, const struct pipeline_stats *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, "uploads");

	add(o, "sent", (double)s->sent_count);
	add(o, "finished", (double)s->finished_count);
	add(o, "failed", (double)s->failed_count);
	add(o, "in_flight", s->in_flight_count);
	add(o, "refused", (double)s->refused_count);
}

static void add_buffers(cJSON *to, const struct img_pool_stats *s)
{
	cJSON *o = cJSON_AddObjectToObject(to, "buffers");

	add(o, "live_bytes", (double)s->live_bytes);
	add(o, "live_bytes_peak", (double)s->live_bytes_peak);
	add(o, "kept_bytes", (double)s->kept_bytes);
	add(o, "mapped", (double)s->mapped_count);
}

static double mean_ms(uint64_t total_ns, uint64_t count)
{
	return count > 0 ? (double)total_ns / 1e6 / (double)count : 0;
}

static cJSON *stage_object(const char *name, const struct stage_stats *s)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(o, "name", name);
	add(o, "arrived", (double)s->arrived_count);
	add(o, "handled", (double)s->handled_count);
	add(o, "refused", (double)s->refused_count);
	add(o, "queued", (double)s->queued_count);
	add(o, "queued_max", (double)s->queued_count_max);
	add(o, "visits", (double)s->visit_count);
	add(o, "visits_empty", (double)s->visit_empty_count);
	add(o, "wait_ms_mean", mean_ms(s->wait_ns, s->handled_count));
	add(o, "wait_ms_max", (double)s->wait_ns_max / 1e6);
	add(o, "service_ms_mean", mean_ms(s->service_ns, s->handled_count));
	add(o, "service_ms_max", (double)s->service_ns_max / 1e6);
	return o;
}

char *stats_json(const struct stats_source *source)
{
	const struct pipeline_config *c = source->config;
	struct pipeline_stats s;
	cJSON *o = cJSON_CreateObject();

	pipeline_read(source->pipeline, &s);
	(void)cJSON_AddStringToObject(o, "version", DARKROOM_VERSION);
	(void)cJSON_AddStringToObject(o, "policy", c->schedule.policy->name);
	add(o, "replicas", c->schedule.part_count);
	add(o, "workers", pipeline_worker_count(source->pipeline));

	cJSON *cores = cJSON_AddArrayToObject(o, "cores");

	for (uint32_t i = 0; i < cores_count(c->cores); i++)
		(void)cJSON_AddItemToArray(
			cores, cJSON_CreateNumber(cores_cpu(c->cores, i)));
	add(o, "uptime_s", (double)(clock_now_ns() - source->start_ns) / 1e9);
	add_process(o);
	add_uploads(o, &s);
	add_buffers(o, &s.buffers);

	cJSON *stages = cJSON_AddArrayToObject(o, "stages");

	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		(void)cJSON_AddItemToArray(
			stages,
			stage_object(pipeline_step_names[i], &s.stages[i]));

	char *text = cJSON_PrintUnformatted(o);

	cJSON_Delete(o);
	return text;
}
