/* SPDX-License-Identifier: MIT */
#include "service/report/figures.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double mean_of(uint64_t total, uint64_t count)
{
	return count > 0 ? (double)total / (double)count : 0;
}

static double queued_mean(const void *from)
{
	const struct stage_stats *s = from;

	return mean_of(s->queued_count_total, s->arrived_count);
}

static double switch_us_mean(const void *from)
{
	const struct stage_stats *s = from;

	return mean_of(s->switch_ns, s->switch_count) / 1e3;
}

static double cohort_mean(const void *from)
{
	const struct stage_stats *s = from;

	return mean_of(stage_turn_count(s),
		       s->visit_count - s->visit_empty_count);
}

static double cohort_max(const void *from)
{
	const struct stage_stats *s = from;

	return (double)histogram_quantile(&s->cohorts, 1);
}

/* Without workers, no event is handled in a visit. */
static uint64_t cohort_sum(const void *from)
{
	const struct stage_stats *s = from;

	return s->visit_count > 0 ? stage_turn_count(s) : 0;
}

static double wait_mean_ms(const void *from)
{
	const struct stage_stats *s = from;

	return mean_of(s->wait_ns, s->started_count) / 1e6;
}

static uint64_t wait_sum(const void *from)
{
	return ((const struct stage_stats *)from)->wait_ns;
}

static uint64_t wait_max(const void *from)
{
	return ((const struct stage_stats *)from)->wait_ns_max;
}

static double service_mean_ms(const void *from)
{
	const struct stage_stats *s = from;

	return mean_of(s->service_ns, s->handled_count) / 1e6;
}

static uint64_t service_sum(const void *from)
{
	return ((const struct stage_stats *)from)->service_ns;
}

static uint64_t service_max(const void *from)
{
	return ((const struct stage_stats *)from)->service_ns_max;
}

static double total_mean_ms(const void *from)
{
	const struct stage_stats *s = from;

	return (mean_of(s->wait_ns, s->started_count) +
		mean_of(s->service_ns, s->handled_count)) /
	       1e6;
}

static uint64_t total_sum(const void *from)
{
	return wait_sum(from) + service_sum(from);
}

/* Not known. */
static uint64_t total_max(const void *from)
{
	(void)from;
	return UINT64_MAX;
}

static uint64_t inside_sum(const void *from)
{
	return ((const struct counts *)from)->pipeline.inside_ns;
}

static double arrivals_per_s(const void *from)
{
	return ((const struct stage_view *)from)->arrivals_per_s;
}

static double services_per_s(const void *from)
{
	double service_ns = ((const struct stage_view *)from)->service_ns;

	return service_ns > 0 ? 1e9 / service_ns : 0;
}

static double load(const void *from)
{
	const struct stage_view *recent = from;

	return recent->arrivals_per_s * recent->service_ns / 1e9;
}

static double busy(const void *from)
{
	const struct worker_counts *w = from;

	return (double)w->worker.work.service_ns / 1e9 /
	       ((double)w->uptime_ns / 1e9);
}

static const struct {
	const char *object;
	size_t when; /* offset of a bool in struct counts */
} groups[] = {
#define GROUP(id, from, object, when, labels, only)                            \
	[id] = { object, offsetof(struct counts, when) },
#include "service/report/figures.def"
};

/* The struct of a group, for offsetof(). */
#define GROUP(id, from, ...) typedef from from_##id;
#include "service/report/figures.def"

/* What figure_count() can read. */
#define FIGURE(id, is, member, ...)                                            \
	_Static_assert(_Generic(((from_##id *)0)->member, bool : 1,            \
				uint32_t : 1, uint64_t : 1, default : 0),      \
		       #member ": no bool, uint32_t or uint64_t");
#include "service/report/figures.def"

#define MEMBER(group, member)                                                  \
	.offset = offsetof(from_##group, member),                              \
	.bytes = sizeof(((from_##group *)0)->member)

static const struct figure figures[] = {
#define FIGURE(id, kind, member, in_stats, in_metrics, text, more)             \
	{ .group = id,                                                         \
	  .is = kind,                                                          \
	  .name = in_stats,                                                    \
	  .metric = in_metrics,                                                \
	  .sentence = text,                                                    \
	  MEMBER(id, member) },
#define COMPUTED(id, function, in_stats, text)                                 \
	{ .group = id,                                                         \
	  .name = in_stats,                                                    \
	  .sentence = text,                                                    \
	  .compute = function },
#define QUANTILE(id, member, q, limit, in_stats)                               \
	{ .group = id,                                                         \
	  .name = in_stats,                                                    \
	  .quantile = q,                                                       \
	  .most = limit,                                                       \
	  MEMBER(id, member) },
#define HISTOGRAM(id, kind, member, total, in_metrics, text, more)             \
	{ .group = id,                                                         \
	  .is = kind,                                                          \
	  .metric = in_metrics,                                                \
	  .sentence = text,                                                    \
	  .sum = total,                                                        \
	  MEMBER(id, member) },
#define TIMES(id, member, limit, total, mean, in_stats, in_metrics, text,      \
	      more)                                                            \
	COMPUTED(id, mean, in_stats "_mean", text)                             \
	QUANTILE(id, member, 0.5, limit, in_stats "_p50")                      \
	QUANTILE(id, member, 0.9, limit, in_stats "_p90")                      \
	QUANTILE(id, member, 0.99, limit, in_stats "_p99")                     \
	QUANTILE(id, member, 1, limit, in_stats "_max")                        \
	HISTOGRAM(id, TIME, member, total, in_metrics, text, more)
#define FAMILY(id, kind, function, in_metrics, labels, text, more)             \
	{ .group = id,                                                         \
	  .is = kind,                                                          \
	  .metric = in_metrics,                                                \
	  .sentence = text,                                                    \
	  .family = FAMILY_##function },
#include "service/report/figures.def"
	{ .group = GROUPS },
};

const struct figure *figures_of(enum figure_group group)
{
	const struct figure *f = figures;

	while (f->group != group)
		f++;
	return f;
}

const struct figure *figure_next(const struct figure *f)
{
	return f[1].group == f->group ? f + 1 : NULL;
}

bool figures_are_used(enum figure_group group, const struct counts *c)
{
	return *(const bool *)((const char *)c + groups[group].when);
}

const char *figures_object(enum figure_group group)
{
	return groups[group].object;
}

uint64_t figure_count(const struct figure *f, const void *from)
{
	const char *at = (const char *)from + f->offset;
	uint64_t large;
	uint32_t small;

	if (f->bytes == sizeof(bool))
		return *(const bool *)at;
	if (f->bytes == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&large, at, sizeof(large));
	return large;
}

double stats_quantile_ms(const struct histogram_copy *h, double q,
			 uint64_t max_ns)
{
	return fmin((double)histogram_quantile(h, q), (double)max_ns) / 1e6;
}

/* How many of a member make one in /stats: its name has the unit. */
static double scale(const struct figure *f)
{
	if ((f->is & TIME) == 0)
		return 1;
	return strcmp(strrchr(f->name, '_'), "_ms") == 0 ? 1e6 : 1e9;
}

double figure_number(const struct figure *f, const void *from)
{
	const void *at = (const char *)from + f->offset;

	if (f->compute != NULL)
		return f->compute(from);
	if (f->quantile > 0)
		return stats_quantile_ms(at, f->quantile, f->most(from));
	return (double)figure_count(f, from) / scale(f);
}

/* Is the value in /stats that of the member?  Then no digit is lost. */
static bool is_whole(const struct figure *f)
{
	return f->compute == NULL && f->quantile == 0 && (f->is & TIME) == 0;
}

void figures_add(struct json *j, enum figure_group group, unsigned is,
		 const void *from)
{
	for (const struct figure *f = figures_of(group); f != NULL;
	     f = figure_next(f)) {
		if (f->name == NULL || (f->is & is) != is)
			continue;
		if (is_whole(f))
			json_add_whole(j, f->name, figure_count(f, from));
		else
			json_add_number(j, f->name, figure_number(f, from));
	}
}

void figures_add_object(struct json *j, const char *object, unsigned is,
			const struct counts *c)
{
	bool is_open = false;

	for (enum figure_group g = 0; g < GROUPS_OF_SERVER; g++) {
		if (strcmp(groups[g].object, object) != 0 ||
		    !figures_are_used(g, c))
			continue;
		if (!is_open)
			json_open_object(j, object);
		is_open = true;
		figures_add(j, g, is, c);
	}
	if (is_open)
		json_close(j);
}
