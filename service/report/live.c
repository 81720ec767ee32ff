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
#include "service/report/live.h"

#include "service/http/watch/viewers.h"
#include "service/pipeline/pipeline_graph.h"
#include "service/report/figures.h"
#include "service/report/recent.h"

#include "stages/cores.h"
#include "stages/schedule.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
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
	uint64_t last_ns; /* time of the last frame; 0: nobody watched */
	struct recent stages[PIPELINE_STAGES];
	struct cpu_use cpu;
	uint32_t part_count;
	struct recent *parts; /* [part * PIPELINE_STEPS + step] */
	uint32_t worker_count;
	struct live_worker *workers;
	struct span *spans; /* LIVE_SPANS_KEPT for each worker */
};

/* Begin an event and its line of data.  NULL: no memory. */
static FILE *begin_event(struct text *text, const char *name)
{
	FILE *to = text_open(text);

	if (to != NULL)
		(void)fprintf(to, "event: %s\ndata: ", name);
	return to;
}

/* Finish the event; the caller frees it.  NULL: no memory. */
static char *end_event(struct text *text, FILE *to)
{
	(void)fputs("\n\n", to);
	return text_close(text, to);
}

/*
 * Print ,"name":value with this number of digits, or null if it is not known
 * yet.
 */
static void print_known(FILE *to, const char *name, bool is_known, int digits,
			double value)
{
	if (is_known)
		(void)fprintf(to, ",\"%s\":%.*g", name, digits, value);
	else
		(void)fprintf(to, ",\"%s\":null", name);
}

/*
 * History: how uploads were answered in the last seconds, and in each second of
 * the last minute.  A frame repeats the newest seconds, so that a viewer who
 * misses a few frames still gets every second; the hello has the whole minute.
 */
enum { FRAME_SECONDS = 10 };

static void print_replies(FILE *to, const struct minute_replies *replies)
{
	(void)fprintf(to,
		      "\"ok\":%" PRIu64 ",\"client_errors\":%" PRIu64
		      ",\"server_errors\":%" PRIu64,
		      replies->ok_count, replies->client_error_count,
		      replies->server_error_count);
}

static void print_reply_times(FILE *to, const struct histogram_copy *times,
			      uint64_t most_ns)
{
	if (times->count == 0)
		(void)fputs(",\"ms\":null", to);
	else
		(void)fprintf(to, ",\"ms\":[%.6g,%.6g,%.6g]",
			      stats_quantile_ms(times, 0.5, most_ns),
			      stats_quantile_ms(times, 0.9, most_ns),
			      stats_quantile_ms(times, 0.99, most_ns));
}

static void print_gauges(FILE *to, const struct minute_second *s, double cores)
{
	(void)fprintf(
		to, ",\"in_flight\":%" PRIu32 ",\"memory_used_bytes\":%" PRIu64,
		s->gauges.in_flight_count, s->gauges.memory_used_bytes);
	print_known(to, "cpu", s->cores >= 0, 4, s->cores / cores);
}

static void print_second(FILE *to, const struct minute_second *s, double cores)
{
	(void)fprintf(to, "{\"second\":%" PRIu64 ",", s->second);
	print_replies(to, &s->replies);
	print_reply_times(to, &s->times, s->time_ns_max);
	print_gauges(to, s, cores);
	(void)fputc('}', to);
}

static void print_history(const struct live *l, FILE *to, struct minute *m,
			  uint64_t now_ns, uint32_t count)
{
	uint64_t first = minute_first(m, now_ns, count);
	uint64_t now = now_ns / NS_PER_S;
	double cores = cores_count(l->source->config->cores);
	const char *comma = "";

	(void)fprintf(to,
		      "{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"seconds\":[",
		      first, now);
	for (uint64_t i = first; i < now; i++) {
		struct minute_second s;

		if (!minute_read(m, i, &s))
			continue;
		(void)fputs(comma, to);
		print_second(to, &s, cores);
		comma = ",";
	}
	(void)fputs("]}", to);
}

static void print_recent_history(const struct live *l, FILE *to,
				 struct minute *m, uint64_t now_ns)
{
	struct minute_recent recent;

	minute_look(m, now_ns);
	minute_read_recent(m, now_ns, &recent);
	(void)fprintf(to, ",\"recent\":{\"duration_s\":%.6g,",
		      recent.duration_s);
	print_replies(to, &recent.replies);
	print_reply_times(to, &recent.times, recent.time_ns_max);
	(void)fputs("},\"history\":", to);
	print_history(l, to, m, now_ns, FRAME_SECONDS);
}

/*
 * Timeline: visits and sleeps from the workers' traces.  A frame may have
 * thousands, so numbers are written without printf().
 *
 * If there are too many, only the newest spans of each worker are sent.  They
 * have no gap, and told_since_us says where they begin.  If some spans of the
 * whole time were left out, the worker would seem to be idle between the
 * others.
 */
enum {
	FIRST_MS = 2000,  /* how far back a viewer's first frame goes */
	READ_SPANS = 256, /* spans read by one call */
	SPAN_BYTES = 128,
	DIGITS_MAX = 20,
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

/* Returns the end of the text, as put_span() does. */
static char *put_number(char *at, uint64_t n)
{
	char digits[DIGITS_MAX];
	uint32_t count = 0;

	do
		digits[count++] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static char *put_span(char *at, uint32_t worker, const struct live_worker *w,
		      const struct span *s)
{
	uint64_t start_us = s->start_ns / 1000;

	*at++ = '[';
	at = put_number(at, worker);
	*at++ = ',';
	if (s->kind == SPAN_SLEEP) {
		*at++ = '-';
		*at++ = '1';
	} else {
		at = put_number(at, w->of.step_first + s->stage);
	}
	*at++ = ',';
	at = put_number(at, start_us);
	*at++ = ',';
	at = put_number(at, s->end_ns / 1000 - start_us);
	*at++ = ',';
	at = put_number(at, s->kind == SPAN_SLEEP ? 0 : s->number);
	*at++ = ']';
	return at;
}

/* The newest `count` spans of a worker. */
static void print_worker_spans(struct live *l, FILE *to, uint32_t worker,
			       uint64_t count, bool is_first)
{
	const struct live_worker *w = &l->workers[worker];

	for (uint64_t i = w->span_count - count; i < w->span_count; i++) {
		char text[SPAN_BYTES];
		char *at = text;

		if (!is_first)
			*at++ = ',';
		is_first = false;
		at = put_span(at, worker, w, &w->spans[i % LIVE_SPANS_KEPT]);
		(void)fwrite(text, 1, (size_t)(at - text), to);
	}
}

/* Returns the number of spans that were left out. */
static uint64_t print_spans(struct live *l, FILE *to)
{
	uint32_t share = fair_share(l);
	uint64_t told_count = 0, missed_count = 0;

	for (uint32_t i = 0; i < l->worker_count; i++) {
		struct live_worker *w = &l->workers[i];
		uint64_t count = min_u64(w->span_count, share);
		uint64_t left_count = w->span_count - count;

		if (left_count > 0)
			w->told_since_ns =
				w->spans[(left_count - 1) % LIVE_SPANS_KEPT]
					.end_ns;
		print_worker_spans(l, to, i, count, told_count == 0);
		told_count += count;
		missed_count += left_count;
	}
	return missed_count;
}

static void print_new_spans(struct live *l, FILE *to, uint64_t now_ns)
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
	(void)fputs(",\"spans\":[", to);
	missed_count += print_spans(l, to);
	(void)fprintf(to, "],\"missed\":%" PRIu64, missed_count);
}

/* Prints null as long as nothing was counted. */
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

static void print_stage_times(FILE *to, const char *name,
			      const struct histogram_copy *recent,
			      const struct histogram_copy *total,
			      uint64_t most_ns)
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
			      (double)s->turn_count / (double)s->filled_count);
}

static void print_spread(FILE *to, const struct stage_stats *s,
			 const struct spread *recent,
			 const struct spread *total)
{
	print_stage_times(to, "wait_ms", &recent->waits, &total->waits,
			  s->wait_ns_max);
	print_stage_times(to, "service_ms", &recent->services, &total->services,
			  s->service_ns_max);
	(void)fputs(",\"cohort\":{", to);
	print_mean(to, "recent", recent);
	(void)fputc(',', to);
	print_mean(to, "total", total);
	(void)fputc('}', to);
}

/* Recent CPU use as a share of all cores. */
static void print_cpu(const struct live *l, FILE *to, double cores)
{
	print_known(to, "cpu", l->cpu.is_known, 6,
		    cores / cores_count(l->source->config->cores));
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
	/* The recent service time as a share of all cores' time. */
	print_known(to, "load", recent.time_ns > 0, 4,
		    (double)recent.service_ns / (double)recent.time_ns /
			    cores_count(l->source->config->cores));
	print_cpu(l, to, l->cpu.stages[stage]);
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
	struct stage_stats s;
	struct spread recent, total;

	for (uint32_t i = 0; i < PIPELINE_STEPS; i++) {
		stage_read_part(pipeline_stage(l->source->pipeline, i), part,
				&s);
		(void)fprintf(
			to, "%s{\"queued\":%" PRIu64 ",\"handled\":%" PRIu64,
			i > 0 ? "," : "", s.queued_count, s.handled_count);
		spread_read(&s, now_ns, &total);
		recent_add(&l->parts[part * PIPELINE_STEPS + i], &total,
			   &recent);
		print_spread(to, &s, &recent, &total);
		(void)fputc('}', to);
	}
}

/* Print the part that each stage belongs to; SIGHUP may change it. */
static void print_stage_parts(const struct live *l, FILE *to)
{
	if (l->source->config->schedule.balance != BALANCE_PARTITION)
		return;
	(void)fputs(",\"stage_parts\":[", to);
	for (uint32_t i = 0; i < PIPELINE_STEPS; i++)
		(void)fprintf(
			to, "%s%" PRIu32, i > 0 ? "," : "",
			stage_part(pipeline_stage(l->source->pipeline, i)));
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
	uint32_t count = pipeline_read_edges(l->source->pipeline, s, edges);

	(void)fputs(",\"edges\":[", to);
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, "%s[%" PRId32 ",%" PRId32 ",%" PRIu64 "]",
			      i > 0 ? "," : "", edges[i].from, edges[i].to,
			      edges[i].count);
	(void)fputc(']', to);
}

/*
 * An event is counted when it ends, so `busy` may be above 1 after a long one.
 * CPU time is read a little later than the time of the frame, so `cpu` could
 * be above 1, and is limited to 1.
 */
static void print_busy(const struct live *l, FILE *to, struct live_worker *w,
		       const struct worker_stats *s, uint64_t now_ns)
{
	double time_ns = (double)(now_ns - l->last_ns);

	if (l->last_ns == 0)
		(void)fputs("{\"busy\":null,\"cpu\":null", to);
	else
		(void)fprintf(
			to, "{\"busy\":%.4g,\"cpu\":%.4g",
			(double)(s->work.service_ns - w->service_ns) / time_ns,
			fmin(1, (double)(s->cpu_ns - w->cpu_ns) / time_ns));
	w->service_ns = s->work.service_ns;
	w->cpu_ns = s->cpu_ns;
}

/* A time of 0 is printed as null. */
static void print_time(FILE *to, const char *name, uint64_t time_ns)
{
	if (time_ns == 0)
		(void)fprintf(to, ",\"%s\":null", name);
	else
		(void)fprintf(to, ",\"%s\":%" PRIu64, name, time_ns / 1000);
}

static void print_worker_counts(const struct live *l, FILE *to,
				struct live_worker *w, uint64_t now_ns)
{
	struct worker_stats s;

	group_read_worker(w->of.group, w->index, &s);
	print_busy(l, to, w, &s, now_ns);
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
		print_worker_counts(l, to, &l->workers[i], now_ns);
	}
	(void)fputc(']', to);
}

static void print_server(const struct live *l, FILE *to,
			 const struct pipeline_stats *s, uint64_t now_ns)
{
	(void)fprintf(to,
		      "{\"number\":%" PRIu64 ",\"at_us\":%" PRIu64
		      ",\"uploads\":{\"sent\":%" PRIu64 ",\"finished\":%" PRIu64
		      ",\"failed\":%" PRIu64 ",\"refused\":%" PRIu64
		      ",\"late\":%" PRIu64 ",\"unreachable\":%" PRIu64
		      ",\"gone\":%" PRIu64 ",\"abandoned\":%" PRIu64
		      ",\"in_flight\":%" PRIu32
		      "},\"memory_used_bytes\":%" PRIu64 ",\"cpu_s\":%.6f",
		      l->frame_count, now_ns / 1000, s->sent_count,
		      s->finished_count, s->failed_count, s->refused_count,
		      s->late_count, s->unreachable_count, s->gone_count,
		      s->abandoned_count, s->in_flight_count,
		      s->memory.used_bytes, (double)clock_cpu_ns() / 1e9);
	print_cpu(l, to, l->cpu.process);
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
	for (uint32_t i = 0; i < l->part_count * PIPELINE_STEPS; i++)
		recent_begin(&l->parts[i]);
	for (uint32_t i = 0; i < l->worker_count; i++)
		l->workers[i].next_span = 0;
}

static void print_threads(const struct live *l, FILE *to)
{
	struct counts c = { .has_threads = true };
	struct json j;

	if (l->source->uthreads == NULL)
		return;
	uthreads_read(l->source->uthreads, &c.threads);
	(void)fputs(",\"threads\":", to);
	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	figures_add(&j, THREADS, LIVE, &c);
	json_close(&j);
}

char *live_frame(struct live *l, struct minute *m, bool is_first)
{
	uint64_t now_ns = clock_now_ns();
	struct pipeline_stats s;
	struct text text;
	FILE *to = begin_event(&text, "frame");

	if (to == NULL)
		return NULL;
	if (is_first)
		forget_recent(l);
	l->frame_count++;
	pipeline_read(l->source->pipeline, &s);
	cpu_use_add(&l->cpu, l->source->pipeline, &s, now_ns);
	print_server(l, to, &s, now_ns);
	print_recent_history(l, to, m, now_ns);
	print_stages(l, to, &s, now_ns);
	print_stage_parts(l, to);
	print_parts(l, to, now_ns);
	print_edges(l, to, &s);
	/*
	 * This must come before the workers are printed; otherwise a sleep that
	 * ends now would be sent twice.
	 */
	print_new_spans(l, to, now_ns);
	print_workers(l, to, now_ns);
	print_threads(l, to);
	(void)fputc('}', to);
	l->last_ns = now_ns;
	return end_event(&text, to);
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
	uint32_t count = schedule_words(&c->schedule, pipeline_step_names,
					PIPELINE_STEPS, words);

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
			      w->of.step_first == PIPELINE_DECODE ?
				      "workers" :
				      pipeline_step_names[w->of.step_first]);
		json_close(j);
	}
	json_close(j);
}

static void print_hello(const struct live *l, FILE *to, const char *schedule,
			struct minute *m)
{
	const struct pipeline *p = l->source->pipeline;
	const struct pipeline_config *c = l->source->config;
	struct pipeline_load load = pipeline_load(p);
	struct json j;

	json_begin(&j, to, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "version", DARKROOM_VERSION);
	json_add_whole(&j, "interval_ms", VIEWERS_INTERVAL_MS);
	json_add_text(&j, "policy", c->schedule.policy->name);
	json_add_text(&j, "schedule", schedule);
	json_add_bool(&j, "blocking_graph",
		      group_has_blocking(pipeline_group(p)));
	hello_add_words(&j, c);
	hello_add_stages(&j, p);
	json_add_whole(&j, "parts", l->part_count);
	hello_add_workers(&j, l);
	json_add_whole(&j, "cores", cores_count(c->cores));
	json_add_whole(&j, "uploads_max", load.uploads_max);
	if (c->memory_bytes_max < UINT64_MAX)
		json_add_whole(&j, "memory_limit_bytes", load.limit_bytes);
	else
		json_add_null(&j, "memory_limit_bytes");
	json_add_raw(&j, "history", "");
	print_history(l, to, m, clock_now_ns(), MINUTE_SECONDS);
	json_close(&j);
}

char *live_hello(const struct live *l, struct minute *m)
{
	char *schedule = stats_schedule(l->source->config);
	struct text text;
	FILE *to = schedule != NULL ? begin_event(&text, "hello") : NULL;

	if (to != NULL)
		print_hello(l, to, schedule, m);
	free(schedule);
	return to != NULL ? end_event(&text, to) : NULL;
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

/* False: no memory. */
static bool live_add_workers(struct live *l, const struct pipeline *p)
{
	struct worker_group groups[WORKER_GROUPS_MAX];
	uint32_t group_count = pipeline_worker_groups(p, groups);
	size_t count = 1; /* not 0, because calloc(0) may return NULL */

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
	l->part_count = source->config->schedule.part_count;
	l->parts = calloc((size_t)l->part_count * PIPELINE_STEPS,
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
