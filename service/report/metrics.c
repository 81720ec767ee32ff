/* SPDX-License-Identifier: MIT */
/*
 * Prometheus' text format 0.0.4: for each metric a head (HELP and TYPE), then
 * one sample for each set of labels.  All samples of a name must be together.
 *
 * Metrics are the rows of figures.def that have such a name.  A metric that is
 * a TIME is kept in nanoseconds and printed in seconds.  Labels are texts in
 * the format's own form, such as stage="decode"; "" means no label.
 */
#include "service/report/figures.h"

#include "stages/flags.h"

#include "base/clock.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LABELS_BYTES = 128 };

/* The first and the last bucket of a histogram end at 2^bits - 1. */
struct buckets {
	uint32_t first_bits, last_bits;
};
static const struct buckets time_buckets = { 17, 36 };
static const struct buckets count_buckets = { 1, 10 };

/* What a report is made from. */
struct scrape {
	const struct stats_source *source;
	struct counts counts;
	uint32_t worker_count;
	struct worker_counts *workers;
};

static void print_head(FILE *to, const struct figure *f)
{
	const char *type = (f->is & COUNTER) != 0 ? "counter" : "gauge";

	(void)fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", f->metric,
		      f->sentence, f->metric,
		      f->sum != NULL ? "histogram" : type);
}

/*
 * Print a value; if `in_seconds` is true, it is in nanoseconds and printed in
 * seconds.
 */
static void print_value(FILE *to, bool in_seconds, uint64_t value)
{
	if (in_seconds)
		(void)fprintf(to, "%" PRIu64 ".%09" PRIu64, value / NS_PER_S,
			      value % NS_PER_S);
	else
		(void)fprintf(to, "%" PRIu64, value);
}

/* One line of a sample; `suffix` is appended to the metric's name. */
static void print_line(FILE *to, const struct figure *f, const char *suffix,
		       const char *labels, bool in_seconds, uint64_t value)
{
	(void)fprintf(to, labels[0] != '\0' ? "%s%s{%s} " : "%s%s%s ",
		      f->metric, suffix, labels);
	print_value(to, in_seconds, value);
	(void)fputc('\n', to);
}

static void print_sample(FILE *to, const struct figure *f, const char *labels,
			 uint64_t value)
{
	print_line(to, f, "", labels, (f->is & TIME) != 0, value);
}

/*
 * A sample of a histogram.  Its buckets end at 2^k - 1 (1, 3 ... 1023; or 131
 * us ... 69 s).  Buckets of `h` end there too, so all counts are exact.
 */
static void print_histogram(FILE *to, const struct figure *f,
			    const char *labels, const struct histogram_copy *h,
			    uint64_t sum)
{
	const char *comma = labels[0] != '\0' ? "," : "";
	bool is_time = (f->is & TIME) != 0;
	const struct buckets *b = is_time ? &time_buckets : &count_buckets;

	for (uint32_t bits = b->first_bits; bits <= b->last_bits; bits++) {
		(void)fprintf(to, "%s_bucket{%s%sle=\"", f->metric, labels,
			      comma);
		print_value(to, is_time, (UINT64_C(1) << bits) - 1);
		(void)fprintf(to, "\"} %" PRIu64 "\n",
			      histogram_count_to(h, bits));
	}
	(void)fprintf(to, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", f->metric,
		      labels, comma, h->count);
	print_line(to, f, "_sum", labels, is_time, sum);
	print_line(to, f, "_count", labels, false, h->count);
}

/* The samples of a family; their head was printed. */
typedef void family_fn(FILE *to, const struct figure *f,
		       const struct scrape *s);

static void samples_of_replies(FILE *to, const struct figure *f,
			       const struct scrape *s)
{
	char labels[LABELS_BYTES];

	for (int role = 0; role < ROLES; role++)
		for (int status = 0; status < STATUSES; status++) {
			uint64_t n = atomic_load(
				&s->counts.http.counts->replies[role][status]);

			if (n == 0)
				continue;
			(void)snprintf(labels, sizeof(labels),
				       "role=\"%s\",status=\"%d\"",
				       role_names[role], status);
			print_sample(to, f, labels, n);
		}
}

/* Print every code, also those that have not occurred. */
static void samples_of_problems(FILE *to, const struct figure *f,
				const struct scrape *s)
{
	char labels[LABELS_BYTES];

	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		(void)snprintf(labels, sizeof(labels),
			       "code=\"%s\",status=\"%u\"", problem_code(i),
			       problem_status(i));
		print_sample(to, f, labels,
			     atomic_load(&s->counts.http.counts->problems[i]));
	}
}

static void samples_of_refusals(FILE *to, const struct figure *f,
				const struct scrape *s)
{
	char label[LABELS_BYTES];

	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++) {
		if (!problem_is_refusal(i))
			continue;
		(void)snprintf(label, sizeof(label), "reason=\"%s\"",
			       problem_code(i));
		print_sample(to, f, label,
			     atomic_load(&s->counts.http.counts->refusals[i]));
	}
}

static void print_bytes(FILE *to, const struct figure *f,
			const _Atomic uint64_t *of_roles)
{
	char label[LABELS_BYTES];

	for (int role = 0; role < ROLES; role++) {
		(void)snprintf(label, sizeof(label), "role=\"%s\"",
			       role_names[role]);
		print_sample(to, f, label, atomic_load(&of_roles[role]));
	}
}

static void samples_of_received(FILE *to, const struct figure *f,
				const struct scrape *s)
{
	print_bytes(to, f, s->counts.http.counts->received_bytes);
}

static void samples_of_sent(FILE *to, const struct figure *f,
			    const struct scrape *s)
{
	print_bytes(to, f, s->counts.http.counts->sent_bytes);
}

static void samples_of_connections(FILE *to, const struct figure *f,
				   const struct scrape *s)
{
	const struct http_report *http = &s->counts.http;

	print_sample(to, f, "port=\"main\"", http->connection_count);
	print_sample(to, f, "port=\"admin\"", http->admin_connection_count);
}

static void samples_of_pixels(FILE *to, const struct figure *f,
			      const struct scrape *s)
{
	const struct pipeline_stats *p = &s->counts.pipeline;

	print_sample(to, f, "direction=\"in\"", p->pixels_in);
	print_sample(to, f, "direction=\"out\"", p->pixels_out);
}

/* {version="0.1.0",commit="1a2b3c4",policy="cohort",regime="gated" ... */
static void samples_of_build_info(FILE *to, const struct figure *f,
				  const struct scrape *s)
{
	const char *commit = s->source->commit;
	const struct pipeline_config *c = s->source->config;
	struct pipeline_steps steps = pipeline_steps(c->stages);
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	uint32_t count =
		schedule_words(&c->schedule, steps.names, steps.count, words);

	(void)fprintf(to, "%s{version=\"" DARKROOM_VERSION "\",commit=\"%s\"",
		      f->metric, commit != NULL ? commit : "unknown");
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(to, ",%s=\"%s\"", words[i].flag,
			      words[i].value[0] != '\0' ? words[i].value :
							  "on");
	(void)fprintf(to, "} 1\n");
}

static family_fn *const families[] = {
#define FAMILY(group, is, function, ...)                                       \
	[FAMILY_##function] = samples_of_##function,
#include "service/report/figures.def"
};

static void print_of(FILE *to, const struct figure *f, const char *labels,
		     const void *from)
{
	const void *at = (const char *)from + f->offset;

	if (f->sum != NULL)
		print_histogram(to, f, labels, at, f->sum(from));
	else
		print_sample(to, f, labels, figure_count(f, from));
}

static void samples_of_stages(FILE *to, const struct figure *f,
			      const struct scrape *s)
{
	const struct pipeline_stats *p = &s->counts.pipeline;
	char label[LABELS_BYTES];

	for (uint32_t i = 0; i < p->stage_count; i++) {
		(void)snprintf(label, sizeof(label), "stage=\"%s\"",
			       p->stage_names[i]);
		print_of(to, f, label, &p->stages[i]);
	}
}

static void samples_of_workers(FILE *to, const struct figure *f,
			       const struct scrape *s)
{
	char labels[LABELS_BYTES];

	for (uint32_t i = 0; i < s->worker_count; i++) {
		const struct worker_counts *w = &s->workers[i];

		(void)snprintf(labels, sizeof(labels),
			       "worker=\"%s\",part=\"%u\"", w->worker.name,
			       w->worker.part);
		print_of(to, f, labels, w);
	}
}

static void print_group(FILE *to, enum figure_group group,
			const struct scrape *s)
{
	for (const struct figure *f = figures_of(group); f != NULL;
	     f = figure_next(f)) {
		if (f->metric == NULL)
			continue;
		print_head(to, f);
		if (f->family != FAMILY_NONE)
			families[f->family](to, f, s);
		else if (group < GROUPS_OF_SERVER)
			print_of(to, f, "", &s->counts);
		else if (group < WORKERS)
			samples_of_stages(to, f, s);
		else
			samples_of_workers(to, f, s);
	}
}

static bool is_shown(enum figure_group group, const struct scrape *s)
{
	return (group < WORKERS || s->worker_count > 0) &&
	       figures_are_used(group, &s->counts);
}

static void print_all(FILE *to, const struct scrape *s)
{
	for (enum figure_group g = 0; g < GROUPS; g++)
		if (is_shown(g, s))
			print_group(to, g, s);
}

/* False: no memory. */
static bool read_workers(struct scrape *s)
{
	const struct stage_group *g = pipeline_group(s->source->pipeline);

	s->worker_count = group_worker_count(g);
	s->workers = calloc(s->worker_count, sizeof(*s->workers));
	if (s->workers == NULL)
		return s->worker_count == 0;
	for (uint32_t i = 0; i < s->worker_count; i++)
		group_read_worker(g, i, &s->workers[i].worker);
	return true;
}

char *metrics_text(struct stats_source *source, const struct http_report *http)
{
	struct scrape s = { .source = source };
	struct text text;
	FILE *to;

	stats_read(source, http, &s.counts);
	to = read_workers(&s) ? text_open(&text) : NULL;
	if (to != NULL)
		print_all(to, &s);
	free(s.workers);
	return to != NULL ? text_close(&text, to) : NULL;
}
