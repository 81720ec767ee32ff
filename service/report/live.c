/* SPDX-License-Identifier: MIT */
/*
 * A stream is one hello event, then frame events:
 *
 *	hello   what the server is: schedule, stages, workers, last minute
 *	frame   counts since the start, recent figures, the history of replies
 *	        (newest seconds) and the timeline of visits since the last frame
 *
 * This file is in the order: history, timeline, frame, hello.
 */
#include "service/report/figures.h"

#include "service/http/handlers/watch/viewers.h"
#include "service/pipeline/pipeline_graph.h"
#include "service/report/recent.h"

#include "stages/stage.h"
#include "stages/flags.h"

#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIVE_SPANS_MAX = 4000, /* most spans in one frame */
	/*
	 * Most spans kept for one worker.  One more than a frame has: the end
	 * of that span is told_since_us.
	 */
	LIVE_SPANS_KEPT = LIVE_SPANS_MAX + 1,
};

struct live_worker {
	struct worker_group of;
	uint32_t index; /* of the worker within its group */
	uint64_t next_span;
	uint64_t service_ns, cpu_ns; /* counts at the last frame */
	/* The members below belong to the frame that is being made. */
	uint64_t span_count;
	/* Spans that ended before this are missing; 0: none. */
	uint64_t told_since_ns;
	struct span *spans; /* the newest: [count % LIVE_SPANS_KEPT] */
};

struct live {
	const struct stats_source *source;
	uint64_t frame_count;
	uint64_t last_ns;     /* time of the last frame; 0: nobody watched */
	struct counts counts; /* for the frame that is being made */
	struct recent stages[PIPELINE_STAGES];
	struct cpu_use cpu;
	uint32_t part_count;
	struct pipeline_steps steps;
	struct recent *parts; /* [part * steps.count + stage] */
	uint32_t worker_count;
	struct live_worker *workers;
	struct span *spans; /* LIVE_SPANS_KEPT for each worker */
};

/* The groups whose figures a frame has, if they are LIVE. */
#define IS_IN_FRAME(group)                                                     \
	((group) == ENDED || (group) == INSIDE || (group) == LOST ||           \
	 (group) == THREADS || (group) == EVENTS || (group) == QUEUES ||       \
	 (group) == VISITS || (group) == SLEEPS)
#define FIGURE(group, is, member, ...)                                         \
	_Static_assert(((is)&LIVE) == 0 || IS_IN_FRAME(group),                 \
		       #member ": not in a frame");
#define HISTOGRAM(group, is, member, ...)                                      \
	_Static_assert(((is)&LIVE) == 0, #member ": not in a frame");
#define FAMILY(group, is, function, ...)                                       \
	_Static_assert(((is)&LIVE) == 0, #function ": not in a frame");
#include "service/report/figures.def"

/* Begin an event and its line of data, an object.  NULL: no memory. */
static FILE *begin_event(struct json *j, struct text *text, const char *name)
{
	FILE *to = text_open(text);

	if (to == NULL)
		return NULL;
	(void)fprintf(to, "event: %s\ndata: ", name);
	json_begin(j, to, JSON_COMPACT);
	json_open_object(j, NULL);
	return to;
}

/* Finish the event; the caller frees it.  NULL: no memory. */
static char *end_event(struct json *j, struct text *text, FILE *to)
{
	json_close(j);
	(void)fputs("\n\n", to);
	return text_close(text, to);
}

/* A share with this number of digits, or null if it is not known yet. */
static void add_known(struct json *j, const char *name, bool is_known,
		      int digits, double value)
{
	json_add_rounded(j, name, is_known ? value : NAN, digits);
}

/*
 * History: how uploads were answered in the last seconds, and in each second of
 * the last minute.  A frame repeats the newest seconds, so that a viewer who
 * misses a few frames still gets every second; the hello has the whole minute.
 */
enum { FRAME_SECONDS = 10 };

static void add_replies(struct json *j, const struct minute_replies *replies,
			const struct histogram_copy *times, uint64_t most_ns)
{
	json_add_whole(j, "ok", replies->ok_count);
	json_add_whole(j, "client_errors", replies->client_error_count);
	json_add_whole(j, "server_errors", replies->server_error_count);
	if (times->count == 0) {
		json_add_null(j, "ms");
		return;
	}
	json_open_array(j, "ms");
	json_add_rounded(j, NULL, stats_quantile_ms(times, 0.5, most_ns), 6);
	json_add_rounded(j, NULL, stats_quantile_ms(times, 0.9, most_ns), 6);
	json_add_rounded(j, NULL, stats_quantile_ms(times, 0.99, most_ns), 6);
	json_close(j);
}

static void add_second(struct json *j, const struct minute_second *s,
		       double cores)
{
	json_open_object(j, NULL);
	json_add_whole(j, "second", s->second);
	add_replies(j, &s->replies, &s->times, s->time_ns_max);
	json_add_whole(j, "in_flight", s->gauges.in_flight_count);
	json_add_whole(j, "memory_used_bytes", s->gauges.memory_used_bytes);
	add_known(j, "cpu", s->cores >= 0, 4, s->cores / cores);
	json_close(j);
}

static void add_history(const struct live *l, struct json *j, struct minute *m,
			uint64_t now_ns, uint32_t count)
{
	uint64_t first = minute_first(m, now_ns, count);
	uint64_t now = now_ns / NS_PER_S;
	double cores = cores_count(l->source->config->cores);
	struct minute_second s;

	json_open_object(j, "history");
	json_add_whole(j, "from", first);
	json_add_whole(j, "to", now);
	json_open_array(j, "seconds");
	for (uint64_t i = first; i < now; i++)
		if (minute_read(m, i, &s))
			add_second(j, &s, cores);
	json_close(j);
	json_close(j);
}

static void add_recent_history(const struct live *l, struct json *j,
			       struct minute *m, uint64_t now_ns)
{
	struct minute_recent recent;

	minute_look(m, now_ns);
	minute_read_recent(m, now_ns, &recent);
	json_open_object(j, "recent");
	json_add_rounded(j, "duration_s", recent.duration_s, 6);
	add_replies(j, &recent.replies, &recent.times, recent.time_ns_max);
	json_close(j);
	add_history(l, j, m, now_ns, FRAME_SECONDS);
}

/*
 * Timeline: visits and sleeps from the workers' traces.  A frame may have
 * thousands.
 *
 * If there are too many, only the newest spans of each worker are sent.  They
 * have no gap, and told_since_us says where they begin.  If some spans of the
 * whole time were left out, the worker would seem to be idle between the
 * others.
 */
enum {
	FIRST_MS = 2000,  /* how far back a viewer's first frame goes */
	READ_SPANS = 256, /* spans read by one call */
};

static bool is_shown(const struct span *s, uint64_t since_ns)
{
	return s->kind != SPAN_EVENT && s->end_ns > since_ns;
}

/*
 * The ring was overwritten up to `first`.  Forget the spans read so far,
 * because there would be a gap after them.  All missing spans ended before the
 * end of `first`.
 */
static void skip_spans(struct live_worker *w, const struct span *first,
		       uint64_t since_ns)
{
	w->span_count = 0;
	w->told_since_ns = first->end_ns > since_ns ? first->end_ns : 0;
}

/* Returns the number of spans that were overwritten, or came before a gap. */
static uint64_t read_spans(struct live_worker *w, uint64_t since_ns)
{
	struct span read[READ_SPANS];
	uint64_t before, missed_count = 0, skipped_count = 0;

	w->span_count = 0;
	w->told_since_ns = 0;
	do {
		before = w->next_span;

		uint32_t count =
			group_read_trace(w->of.group, w->index, &w->next_span,
					 read, READ_SPANS, &missed_count);

		if (count > 0 && missed_count > skipped_count) {
			missed_count += w->span_count;
			skipped_count = missed_count;
			skip_spans(w, &read[0], since_ns);
		}
		for (uint32_t i = 0; i < count; i++)
			if (is_shown(&read[i], since_ns))
				w->spans[w->span_count++ % LIVE_SPANS_KEPT] =
					read[i];
		/* Fewer spans than READ_SPANS mean that none is left. */
	} while (w->next_span - before >= READ_SPANS);
	return missed_count;
}

/*
 * The largest number of spans that each worker may have so that all fit into a
 * frame.  If a worker has fewer, the others may have more.
 */
static uint32_t fair_share(const struct live *l)
{
	uint32_t share = 0, more = LIVE_SPANS_MAX;

	while (share < more) {
		uint32_t tried = (share + more + 1) / 2;
		uint64_t count = 0;

		for (uint32_t i = 0; i < l->worker_count; i++)
			count += min_u64(l->workers[i].span_count, tried);
		if (count <= LIVE_SPANS_MAX)
			share = tried;
		else
			more = tried - 1;
	}
	return share;
}

static void add_span(const struct live *l, struct json *j, uint32_t worker,
		     const struct live_worker *w, const struct span *s)
{
	uint64_t start_us = s->start_ns / 1000;
	bool is_sleep = s->kind == SPAN_SLEEP;

	json_open_array(j, NULL);
	json_add_whole(j, NULL, worker);
	if (is_sleep)
		json_add_raw(j, NULL, "-1");
	else
		json_add_whole(j, NULL,
			       pipeline_stage_index(
				       &l->steps, w->of.step_first + s->stage));
	json_add_whole(j, NULL, start_us);
	json_add_whole(j, NULL, s->end_ns / 1000 - start_us);
	json_add_whole(j, NULL, is_sleep ? 0 : s->number);
	json_close(j);
}

/* Returns the number of spans that were left out. */
static uint64_t add_spans(struct live *l, struct json *j)
{
	uint32_t share = fair_share(l);
	uint64_t missed_count = 0;

	for (uint32_t i = 0; i < l->worker_count; i++) {
		struct live_worker *w = &l->workers[i];
		uint64_t left_count =
			w->span_count - min_u64(w->span_count, share);

		if (left_count > 0)
			w->told_since_ns =
				w->spans[(left_count - 1) % LIVE_SPANS_KEPT]
					.end_ns;
		/* The newest ones. */
		for (uint64_t k = left_count; k < w->span_count; k++)
			add_span(l, j, i, w, &w->spans[k % LIVE_SPANS_KEPT]);
		missed_count += left_count;
	}
	return missed_count;
}

static void add_new_spans(struct live *l, struct json *j, uint64_t now_ns)
{
	bool is_new = l->last_ns == 0;
	uint64_t first_ns = FIRST_MS * NS_PER_MS;
	uint64_t since_ns = is_new && now_ns > first_ns ? now_ns - first_ns : 0;
	uint64_t missed_count = 0;

	for (uint32_t i = 0; i < l->worker_count; i++)
		missed_count += read_spans(&l->workers[i], since_ns);
	/* Spans before the first frame do not count as missed. */
	if (is_new)
		missed_count = 0;
	json_open_array(j, "spans");
	missed_count += add_spans(l, j);
	json_close(j);
	json_add_whole(j, "missed", missed_count);
}

/* Adds null as long as nothing was counted. */
static void add_quantiles(struct json *j, const char *name,
			  const struct histogram_copy *h, uint64_t most_ns)
{
	if (h->count == 0) {
		json_add_null(j, name);
		return;
	}
	json_open_array(j, name);
	json_add_number(j, NULL, stats_quantile_ms(h, 0.5, most_ns));
	json_add_number(j, NULL, stats_quantile_ms(h, 0.9, most_ns));
	json_close(j);
}

static void add_times(struct json *j, const char *name,
		      const struct histogram_copy *recent,
		      const struct histogram_copy *total, uint64_t most_ns)
{
	json_open_object(j, name);
	add_quantiles(j, "recent", recent, most_ns);
	add_quantiles(j, "total", total, most_ns);
	json_close(j);
}

static void add_mean(struct json *j, const char *name, const struct spread *s)
{
	add_known(j, name, s->filled_count > 0, 6,
		  (double)s->turn_count / (double)s->filled_count);
}

static void add_spread(struct json *j, const struct stage_stats *s,
		       const struct spread *recent, const struct spread *total)
{
	add_times(j, "wait_ms", &recent->waits, &total->waits, s->wait_ns_max);
	add_times(j, "service_ms", &recent->services, &total->services,
		  s->service_ns_max);
	json_open_object(j, "cohort");
	add_mean(j, "recent", recent);
	add_mean(j, "total", total);
	json_close(j);
}

/* Recent CPU use as a share of all cores. */
static void add_cpu(const struct live *l, struct json *j, double cores)
{
	add_known(j, "cpu", l->cpu.is_known, 6,
		  cores / cores_count(l->source->config->cores));
}

static void add_stage(struct live *l, struct json *j, uint32_t stage,
		      const struct stage_stats *s, uint64_t now_ns)
{
	struct spread recent, total;

	spread_read(s, now_ns, &total);
	recent_add(&l->stages[stage], &total, &recent);
	json_open_object(j, NULL);
	figures_add(j, QUEUES, LIVE, s);
	figures_add(j, EVENTS, LIVE, s);
	figures_add(j, VISITS, LIVE, s);
	/* The recent service time as a share of all cores' time. */
	add_known(j, "load", recent.time_ns > 0, 4,
		  (double)recent.service_ns / (double)recent.time_ns /
			  cores_count(l->source->config->cores));
	add_cpu(l, j, l->cpu.stages[stage]);
	add_spread(j, s, &recent, &total);
	json_close(j);
}

static void add_stages(struct live *l, struct json *j,
		       const struct pipeline_stats *s, uint64_t now_ns)
{
	json_open_array(j, "stages");
	for (uint32_t i = 0; i < s->stage_count; i++)
		add_stage(l, j, i, &s->stages[i], now_ns);
	json_close(j);
}

static const struct stage *stage_at(const struct live *l, uint32_t index)
{
	return pipeline_stage(l->source->pipeline, l->steps.first + index);
}

static void add_part(struct live *l, struct json *j, uint32_t part,
		     uint64_t now_ns)
{
	struct stage_stats s;
	struct spread recent, total;

	json_open_array(j, NULL);
	for (uint32_t i = 0; i < l->steps.count; i++) {
		stage_read_part(stage_at(l, i), part, &s);
		json_open_object(j, NULL);
		json_add_whole(j, "queued", s.queued_count);
		json_add_whole(j, "handled", s.handled_count);
		spread_read(&s, now_ns, &total);
		recent_add(&l->parts[part * l->steps.count + i], &total,
			   &recent);
		add_spread(j, &s, &recent, &total);
		json_close(j);
	}
	json_close(j);
}

/* Add the part that each stage belongs to; SIGHUP may change it. */
static void add_stage_parts(const struct live *l, struct json *j)
{
	if (l->source->config->schedule.balance != BALANCE_PARTITION)
		return;
	json_open_array(j, "stage_parts");
	for (uint32_t i = 0; i < l->steps.count; i++)
		json_add_whole(j, NULL, stage_part(stage_at(l, i)));
	json_close(j);
}

static void add_parts(struct live *l, struct json *j, uint64_t now_ns)
{
	if (l->part_count == 1)
		return;
	json_open_array(j, "parts");
	for (uint32_t i = 0; i < l->part_count; i++)
		add_part(l, j, i, now_ns);
	json_close(j);
}

static void add_end(struct json *j, int32_t stage)
{
	if (stage == EDGE_OUTSIDE)
		json_add_raw(j, NULL, "-1");
	else
		json_add_whole(j, NULL, (uint32_t)stage);
}

static void add_edges(const struct live *l, struct json *j,
		      const struct pipeline_stats *s)
{
	struct edge edges[EDGES_MAX];
	uint32_t count = pipeline_read_edges(l->source->pipeline, s, edges);

	json_open_array(j, "edges");
	for (uint32_t i = 0; i < count; i++) {
		json_open_array(j, NULL);
		add_end(j, edges[i].from);
		add_end(j, edges[i].to);
		json_add_whole(j, NULL, edges[i].count);
		json_close(j);
	}
	json_close(j);
}

/*
 * An event is counted when it ends, so `busy` may be above 1 after a long one.
 * CPU time is read a little later than the time of the frame, so `cpu` could
 * be above 1, and is limited to 1.
 */
static void add_busy(const struct live *l, struct json *j,
		     struct live_worker *w, const struct worker_stats *s,
		     uint64_t now_ns)
{
	double time_ns = (double)(now_ns - l->last_ns);
	bool is_known = l->last_ns > 0;

	add_known(j, "busy", is_known, 4,
		  (double)(s->work.service_ns - w->service_ns) / time_ns);
	add_known(j, "cpu", is_known, 4,
		  fmin(1, (double)(s->cpu_ns - w->cpu_ns) / time_ns));
	w->service_ns = s->work.service_ns;
	w->cpu_ns = s->cpu_ns;
}

/* A time of 0 is null. */
static void add_time(struct json *j, const char *name, uint64_t time_ns)
{
	if (time_ns == 0)
		json_add_null(j, name);
	else
		json_add_whole(j, name, time_ns / 1000);
}

static void add_workers(const struct live *l, struct json *j, uint64_t now_ns)
{
	struct worker_counts counts; /* its `worker` only */
	const struct worker_stats *s = &counts.worker;

	json_open_array(j, "workers");
	for (uint32_t i = 0; i < l->worker_count; i++) {
		struct live_worker *w = &l->workers[i];

		group_read_worker(w->of.group, w->index, &counts.worker);
		json_open_object(j, NULL);
		add_busy(l, j, w, s, now_ns);
		figures_add(j, SLEEPS, LIVE, &counts);
		add_time(j, "asleep_since_us", s->asleep_since_ns);
		add_time(j, "told_since_us", w->told_since_ns);
		json_close(j);
	}
	json_close(j);
}

static void add_server(const struct live *l, struct json *j,
		       const struct counts *c, uint64_t now_ns)
{
	json_add_whole(j, "number", l->frame_count);
	json_add_whole(j, "at_us", now_ns / 1000);
	figures_add_object(j, "uploads", LIVE, c);
	json_add_whole(j, "memory_used_bytes", c->pipeline.memory.used_bytes);
	json_add_decimal(j, "cpu_s", clock_cpu_ns() / 1000, 6);
	add_cpu(l, j, l->cpu.process);
}

/*
 * Forget the counts of recent figures: these must not include time in which
 * nobody watched.
 */
static void forget_recent(struct live *l)
{
	l->last_ns = 0;
	cpu_use_begin(&l->cpu);
	for (uint32_t i = 0; i < PIPELINE_STAGES; i++)
		recent_begin(&l->stages[i]);
	for (uint32_t i = 0; i < l->part_count * l->steps.count; i++)
		recent_begin(&l->parts[i]);
	for (uint32_t i = 0; i < l->worker_count; i++)
		l->workers[i].next_span = 0;
}

char *live_frame(struct live *l, struct minute *m, bool is_first)
{
	const struct stats_source *source = l->source;
	uint64_t now_ns = clock_now_ns();
	struct counts *c = &l->counts;
	struct text text;
	struct json j;
	FILE *to = begin_event(&j, &text, "frame");

	if (to == NULL)
		return NULL;
	if (is_first)
		forget_recent(l);
	l->frame_count++;
	pipeline_read(source->pipeline, &c->pipeline);
	c->has_threads = source->uthreads != NULL;
	if (c->has_threads)
		uthreads_read(source->uthreads, &c->threads);
	cpu_use_add(&l->cpu, source->pipeline, &c->pipeline, now_ns);
	add_server(l, &j, c, now_ns);
	add_recent_history(l, &j, m, now_ns);
	add_stages(l, &j, &c->pipeline, now_ns);
	add_stage_parts(l, &j);
	add_parts(l, &j, now_ns);
	add_edges(l, &j, &c->pipeline);
	/*
	 * This must come before the workers are added; otherwise a sleep that
	 * ends now would be sent twice.
	 */
	add_new_spans(l, &j, now_ns);
	add_workers(l, &j, now_ns);
	figures_add_object(&j, "threads", LIVE, c);
	l->last_ns = now_ns;
	return end_event(&j, &text, to);
}

/* The value of --balance without its number, such as "partition". */
static void hello_add_balance(struct json *j, const struct schedule_word *words,
			      uint32_t count)
{
	const char *value = "shared";
	char name[16];

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(words[i].flag, "balance") == 0)
			value = words[i].value;
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(value, "="),
		       value);
	json_add_text(j, "balance", name);
}

static void hello_add_word(struct json *j, const char *flag, const char *value,
			   const char *meaning)
{
	json_open_object(j, NULL);
	json_add_text(j, "flag", flag);
	json_add_text(j, "value", value);
	json_add_text(j, "meaning", meaning);
	json_close(j);
}

static void hello_add_words(struct json *j, const struct pipeline_config *c)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	struct pipeline_steps steps = pipeline_steps(c->stages);
	uint32_t count =
		schedule_words(&c->schedule, steps.names, steps.count, words);

	json_open_array(j, "words");
	for (uint32_t i = 0; i < count; i++)
		hello_add_word(j, words[i].flag, words[i].value,
			       words[i].meaning);
	json_close(j);
	hello_add_balance(j, words, count);
}

static void hello_add_stages(struct json *j, const struct pipeline *p)
{
	struct pipeline_stats stats;

	pipeline_read(p, &stats);
	json_open_array(j, "stages");
	for (uint32_t i = 0; i < stats.stage_count; i++)
		json_add_text(j, NULL, stats.stage_names[i]);
	json_close(j);
}

/* The member "lane" names the worker group. */
static void hello_add_workers(struct json *j, const struct live *l)
{
	json_open_array(j, "workers");
	for (uint32_t i = 0; i < l->worker_count; i++) {
		const struct live_worker *w = &l->workers[i];
		struct worker_stats worker;

		group_read_worker(w->of.group, w->index, &worker);
		json_open_object(j, NULL);
		json_add_text(j, "name", worker.name);
		json_add_whole(j, "part", worker.part);
		json_add_text(j, "lane",
			      w->of.step_first < PIPELINE_STEPS ?
				      "workers" :
				      pipeline_step_names[w->of.step_first]);
		json_close(j);
	}
	json_close(j);
}

static void add_hello(const struct live *l, struct json *j,
		      const char *schedule, struct minute *m)
{
	const struct pipeline *p = l->source->pipeline;
	const struct pipeline_config *c = l->source->config;
	struct pipeline_load load = pipeline_load(p);

	json_add_text(j, "version", DARKROOM_VERSION);
	json_add_whole(j, "interval_ms", VIEWERS_INTERVAL_MS);
	json_add_text(j, "policy", c->schedule.policy->name);
	json_add_text(j, "schedule", schedule);
	json_add_bool(j, "blocking_graph",
		      group_has_blocking(pipeline_group(p)));
	hello_add_words(j, c);
	hello_add_stages(j, p);
	json_add_whole(j, "parts", l->part_count);
	hello_add_workers(j, l);
	json_add_whole(j, "cores", cores_count(c->cores));
	json_add_whole(j, "uploads_max", load.uploads_max);
	if (c->memory_bytes_max < UINT64_MAX)
		json_add_whole(j, "memory_limit_bytes", load.limit_bytes);
	else
		json_add_null(j, "memory_limit_bytes");
	add_history(l, j, m, clock_now_ns(), MINUTE_SECONDS);
}

char *live_hello(const struct live *l, struct minute *m)
{
	char *schedule = stats_schedule(l->source->config);
	struct text text;
	struct json j;
	FILE *to = schedule != NULL ? begin_event(&j, &text, "hello") : NULL;

	if (to != NULL)
		add_hello(l, &j, schedule, m);
	free(schedule);
	return to != NULL ? end_event(&j, &text, to) : NULL;
}

static void live_add_group(struct live *l, const struct worker_group *workers)
{
	for (uint32_t i = 0; i < group_worker_count(workers->group); i++) {
		uint32_t place = l->worker_count++;

		l->workers[place] = (struct live_worker){
			.of = *workers,
			.index = i,
			.spans = l->spans + (size_t)place * LIVE_SPANS_KEPT,
		};
	}
}

/* Of threads that use no CPU there is nothing to show.  False: no memory. */
static bool live_add_workers(struct live *l, const struct pipeline *p)
{
	struct worker_group groups[WORKER_GROUPS_MAX];
	uint32_t group_count = pipeline_worker_groups(p, groups);
	size_t count = 1; /* not 0, because calloc(0) may return NULL */

	while (group_count > 0 && groups[group_count - 1].only_waits)
		group_count--;
	for (uint32_t i = 0; i < group_count; i++)
		count += group_worker_count(groups[i].group);
	l->workers = calloc(count, sizeof(*l->workers));
	l->spans = calloc(count * LIVE_SPANS_KEPT, sizeof(*l->spans));
	if (l->workers == NULL || l->spans == NULL)
		return false;
	for (uint32_t i = 0; i < group_count; i++)
		live_add_group(l, &groups[i]);
	return true;
}

struct live *live_new(const struct stats_source *source)
{
	struct live *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->source = source;
	l->counts.always = true;
	l->part_count = source->config->schedule.part_count;
	l->steps = pipeline_steps(source->config->stages);
	l->parts = calloc((size_t)l->part_count * l->steps.count,
			  sizeof(*l->parts));
	if (l->parts != NULL && live_add_workers(l, source->pipeline))
		return l;
	live_free(l);
	return NULL;
}

void live_free(struct live *l)
{
	if (l == NULL)
		return;
	free(l->workers);
	free(l->spans);
	free(l->parts);
	free(l);
}
