/* SPDX-License-Identifier: MIT */
#include "stages/bench/counts.h"

#include "stages/group.h"
#include "stages/stats.h"

#include <sys/resource.h>

static uint64_t cpu_ns(const struct rusage *u)
{
	return (uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) *
		       1000000000 +
	       (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000;
}

static void read_usage(struct counts *c, bool with_own)
{
	struct rusage all, own = { .ru_nvcsw = 0 };

	(void)getrusage(RUSAGE_SELF, &all);
	if (!with_own)
		(void)getrusage(RUSAGE_THREAD, &own);
	c->cpu_ns = cpu_ns(&all) - cpu_ns(&own);
	c->voluntary_count = (uint64_t)(all.ru_nvcsw - own.ru_nvcsw);
	c->involuntary_count = (uint64_t)(all.ru_nivcsw - own.ru_nivcsw);
}

void counts_read(struct counts *c, const struct group *g,
		 struct stage *const *stages, uint32_t stage_count,
		 bool with_own)
{
	c->at_ns = group_now_ns();
	read_usage(c, with_own);
	for (uint32_t i = 0; i < stage_count; i++) {
		struct stage_stats s;

		stage_read(stages[i], &s);
		c->handled_count += s.handled_count;
		c->visit_count += s.visit_count;
		c->visit_empty_count += s.visit_empty_count;
		c->switch_count += s.switch_count;
	}
	for (uint32_t i = 0; i < group_worker_count(g); i++) {
		struct worker_stats w;

		group_read_worker(g, i, &w);
		c->sleep_count += w.sleep_count;
		c->stolen_count += w.stolen_count;
	}
}

/* What one count grew by, for each of `count`. */
static double grown(uint64_t from, uint64_t to, double count)
{
	return count > 0 ? (double)(to - from) / count : 0;
}

void counts_compare(const struct counts *from, const struct counts *to,
		    double f[FIGURES])
{
	double requests = (double)(to->finished_count - from->finished_count);
	double events = (double)(to->handled_count - from->handled_count);
	double s = (double)(to->at_ns - from->at_ns) / 1e9;

	f[FIGURE_REQUESTS_PER_S] =
		grown(from->finished_count, to->finished_count, s);
	f[FIGURE_CORES] = grown(from->cpu_ns, to->cpu_ns, s) / 1e9;
	f[FIGURE_CPU_MS] = grown(from->cpu_ns, to->cpu_ns, requests) / 1e6;
	f[FIGURE_VISITS] = grown(from->visit_count, to->visit_count, requests);
	f[FIGURE_VISITS_EMPTY] =
		grown(from->visit_empty_count, to->visit_empty_count, requests);
	f[FIGURE_SWITCHES] =
		grown(from->switch_count, to->switch_count, requests);
	f[FIGURE_SLEEPS] = grown(from->sleep_count, to->sleep_count, requests);
	f[FIGURE_VOLUNTARY] =
		grown(from->voluntary_count, to->voluntary_count, requests);
	f[FIGURE_INVOLUNTARY] =
		grown(from->involuntary_count, to->involuntary_count, requests);
	f[FIGURE_STOLEN] =
		grown(from->stolen_count, to->stolen_count, requests);
	f[FIGURE_EVENT_WALL_NS] = grown(from->at_ns, to->at_ns, events);
	f[FIGURE_EVENT_CPU_NS] = grown(from->cpu_ns, to->cpu_ns, events);
	f[FIGURE_EVENT_VISITS] =
		grown(from->visit_count, to->visit_count, events);
	f[FIGURE_EVENT_SLEEPS] =
		grown(from->sleep_count, to->sleep_count, events);
}
