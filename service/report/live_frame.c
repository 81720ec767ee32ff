/* SPDX-License-Identifier: MIT */
/*
 * A frame: the counts since start, what came of late, and what workers did
 * since the last one.
 */
#include "service/report/live_state.h"

#include "service/clock.h"
#include "service/pipeline/edges.h"
#include "service/report/stats_figures.h"

#include "stages/cores.h"

#include <inttypes.h>
#include <string.h>

/* Where there is none yet, the figure is null. */
static void print_quantiles(FILE *to, const char *name,
			    const struct histogram_copy *h, uint64_t most_ns)
{
	if (h->count == 0)
		(void)fprintf(to, "\"%s\":null", name);
	else
		(void)fprintf(to, "\"%s\":[%.15g,%.15g]", name,
			      stats_quantile_ms(h, 0.5, most_ns),
			      stats_quantile_ms(h, 0.9, most_ns));
}

static void print_times(FILE *to, const char *name,
			const struct histogram_copy *recent,
			const struct histogram_copy *total, uint64_t most_ns)
{
	(void)fprintf(to, ",\"%s\":{", name);
	print_quantiles(to, "recent", recent, most_ns);
	(void)fputc(',', to);
	print_quantiles(to, "total", total, most_ns);
	(void)fputc('}', to);
}

static void print_mean(FILE *to, const char *name, const struct spread *s)
{
	if (s->filled_count == 0)
		(void)fprintf(to, "\"%s\":null", name);
	else
		(void)fprintf(to, "\"%s\":%.6g", name,
			      (double)s->handled_count /
				      (double)s->filled_count);
}

static void print_spread(FILE *to, const struct stage_stats *s,
			 const struct spread *recent,
			 const struct spread *total)
{
	print_times(to, "wait_ms", &recent->waits, &total->waits,
		    s->wait_ns_max);
	print_times(to, "service_ms", &recent->services, &total->services,
		    s->service_ns_max);
	(void)fputs(",\"cohort\":{", to);
	print_mean(to, "recent", recent);
	(void)fputc(',', to);
	print_mean(to, "total", total);
	(void)fputc('}', to);
}

/* How much of the cores' time went into the stage. */
static void print_load(const struct live *l, FILE *to,
		       const struct spread *recent)
{
	if (recent->time_ns == 0)
		(void)fputs(",\"load\":null", to);
	else
		(void)fprintf(to, ",\"load\":%.4g",
			      (double)recent->service_ns /
				      (double)recent->time_ns /
				      cores_count(l->source->config->cores));
}

static void print_stage(struct live *l, FILE *to, uint32_t stage,
			const struct stage_stats *s, uint64_t now_ns)
{
	struct spread recent, total;

	spread_read(s, now_ns, &total);
	recent_add(&l->stages[stage], &total, &recent);
	(void)fprintf(to,
		      "{\"queued\":%" PRIu64 ",\"arrived\":%" PRIu64
		      ",\"handled\":%" PRIu64 ",\"refused\":%" PRIu64
		      ",\"visits\":%" PRIu64 ",\"visits_empty\":%" PRIu64,
		      s->queued_count, s->arrived_count, s->handled_count,
		      s->refused_count, s->visit_count, s->visit_empty_count);
	print_load(l, to, &recent);
	print_spread(to, s, &recent, &total);
	(void)fputc('}', to);
}

static void print_stages(struct live *l, FILE *to,
			 const struct pipeline_stats *s, uint64_t now_ns)
{
	(void)fputs(",\"stages\":[", to);
	for (uint32_t i = 0; i < s->stage_count; i++) {
		(void)fputs(i > 0 ? "," : "", to);
		print_stage(l, to, i, &s->stages[i], now_ns);
	}
	(void)fputc(']', to);
}

static void print_part(struct live *l, FILE *to, uint32_t part, uint64_t now_ns)
{
	struct stage_stats stages[PIPELINE_STEPS];
	struct spread recent, total;

	pipeline_read_part(l->source->pipeline, part, stages);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
		const struct stage_stats *s = &stages[i];

		(void)fprintf(
			to, "%s{\"queued\":%" PRIu64 ",\"handled\":%" PRIu64,
			i > 0 ? "," : "", s->queued_count, s->handled_count);
		spread_read(s, now_ns, &total);
		recent_add(&l->parts[part * PIPELINE_STEPS + i], &total,
			   &recent);
		print_spread(to, s, &recent, &total);
		(void)fputc('}', to);
	}
}

/* Whose the stages are, which may change while it runs. */
static void print_stage_parts(const struct live *l, FILE *to)
{
	if (l->source->config->schedule.balance != BALANCE_PARTITION)
		return;
	(void)fputs(",\"stage_parts\":[", to);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		(void)fprintf(to, "%s%" PRIu32, i > 0 ? "," : "",
			      pipeline_step_part(l->source->pipeline, i));
	(void)fputc(']', to);
}

static void print_parts(struct live *l, FILE *to, uint64_t now_ns)
{
	if (l->part_count == 1)
		return;
	(void)fputs(",\"parts\":[", to);
	for (uint32_t i = 0; i < l->part_count; i++) {
		(void)fputs(i > 0 ? ",[" : "[", to);
		print_part(l, to, i, now_ns);
		(void)fputc(']', to);
	}
	(void)fputc(']', to);
}

static void print_edges(const struct live *l, FILE *to,
			const struct pipeline_stats *s)
{
	struct edge edges[EDGES_MAX];
	uint32_t count = edges_read(l->source->pipeline, s, edges);

	(void)fputs(",\"edges\":[", to);
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, "%s[%" PRId32 ",%" PRId32 ",%" PRIu64 "]",
			      i > 0 ? "," : "", edges[i].from, edges[i].to,
			      edges[i].count);
	(void)fputc(']', to);
}

/* A long event is counted when it ends, so it may be more than the time. */
static void print_busy(const struct live *l, FILE *to, struct live_worker *w,
		       uint64_t service_ns, uint64_t now_ns)
{
	if (l->last_ns == 0)
		(void)fputs("{\"busy\":null", to);
	else
		(void)fprintf(to, "{\"busy\":%.4g",
			      (double)(service_ns - w->service_ns) /
				      (double)(now_ns - l->last_ns));
	w->service_ns = service_ns;
}

/* 0: there is none. */
static void print_time(FILE *to, const char *name, uint64_t time_ns)
{
	if (time_ns == 0)
		(void)fprintf(to, ",\"%s\":null", name);
	else
		(void)fprintf(to, ",\"%s\":%" PRIu64, name, time_ns / 1000);
}

static void print_worker(const struct live *l, FILE *to, struct live_worker *w,
			 uint64_t now_ns)
{
	struct worker_stats s;

	group_read_worker(w->lane.group, w->index, &s);
	print_busy(l, to, w, s.work.service_ns, now_ns);
	(void)fprintf(to, ",\"sleeps\":%" PRIu64 ",\"stolen\":%" PRIu64,
		      s.sleep_count, s.stolen_count);
	print_time(to, "asleep_since_us", s.asleep_since_ns);
	print_time(to, "told_since_us", w->told_since_ns);
	(void)fputc('}', to);
}

static void print_workers(const struct live *l, FILE *to, uint64_t now_ns)
{
	(void)fputs(",\"workers\":[", to);
	for (uint32_t i = 0; i < l->worker_count; i++) {
		(void)fputs(i > 0 ? "," : "", to);
		print_worker(l, to, &l->workers[i], now_ns);
	}
	(void)fputc(']', to);
}

static double cpu_s(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_server(const struct live *l, FILE *to,
			 const struct pipeline_stats *s, uint64_t now_ns)
{
	(void)fprintf(to,
		      "{\"number\":%" PRIu64 ",\"at_us\":%" PRIu64
		      ",\"uploads\":{\"sent\":%" PRIu64 ",\"finished\":%" PRIu64
		      ",\"failed\":%" PRIu64 ",\"refused\":%" PRIu64
		      ",\"late\":%" PRIu64 ",\"gone\":%" PRIu64
		      ",\"in_flight\":%" PRIu32
		      "},\"memory_used_bytes\":%" PRIu64 ",\"cpu_s\":%.6f",
		      l->frame_count, now_ns / 1000, s->sent_count,
		      s->finished_count, s->failed_count, s->refused_count,
		      s->late_count, s->gone_count, s->in_flight_count,
		      s->memory.used_bytes, cpu_s());
}

/* What happened while nobody watched is no part of what is told of late. */
static void begin(struct live *l)
{
	l->last_ns = 0;
	for (uint32_t i = 0; i < PIPELINE_STAGES; i++)
		recent_begin(&l->stages[i]);
	for (uint32_t i = 0; i < l->part_count * PIPELINE_STEPS; i++)
		recent_begin(&l->parts[i]);
	for (uint32_t i = 0; i < l->worker_count; i++)
		l->workers[i].next_span = 0;
}

char *live_frame(struct live *l, bool is_first)
{
	uint64_t now_ns = clock_now_ns();
	struct pipeline_stats s;
	struct text text;
	FILE *to = live_begin_event(&text, "frame");

	if (to == NULL)
		return NULL;
	if (is_first)
		begin(l);
	l->frame_count++;
	pipeline_read(l->source->pipeline, &s);
	print_server(l, to, &s, now_ns);
	print_stages(l, to, &s, now_ns);
	print_stage_parts(l, to);
	print_parts(l, to, now_ns);
	print_edges(l, to, &s);
	/* First: who sleeps now is then told of no sleep twice. */
	live_print_spans(l, to, now_ns);
	print_workers(l, to, now_ns);
	(void)fputc('}', to);
	l->last_ns = now_ns;
	return live_end_event(&text, to);
}
