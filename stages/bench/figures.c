/* SPDX-License-Identifier: MIT */
#include "stages/bench/figures.h"

#include <math.h>
#include <stdlib.h>

/* Counts are per request, in MODE_EMPTY per event and stage. */
const struct figure_about figure_abouts[FIGURES] = {
	[FIGURE_REQUESTS_PER_S] = { "requests_per_s", "requests/s", 1,
				    MODE_LOAD },
	[FIGURE_RESPONSE_MEAN_MS] = { "response_ms_mean", "response ms, mean",
				      1, MODE_LOAD },
	[FIGURE_RESPONSE_P50_MS] = { "response_ms_p50", "p50", 1, MODE_LOAD },
	[FIGURE_RESPONSE_P90_MS] = { "response_ms_p90", "p90", 1, MODE_LOAD },
	[FIGURE_RESPONSE_P99_MS] = { "response_ms_p99", "p99", 1, MODE_LOAD },
	[FIGURE_CORES] = { "cores_used", "cores used", 2, MODE_LOAD },
	[FIGURE_CPU_MS] = { "cpu_ms", "CPU ms", 3, MODE_LOAD },
	[FIGURE_VISITS] = { "visits", "visits", 2, MODE_LOAD },
	[FIGURE_VISITS_EMPTY] = { "visits_empty", "empty", 3, MODE_LOAD },
	[FIGURE_SWITCHES] = { "switches", "switches", 2, MODE_LOAD },
	[FIGURE_SLEEPS] = { "sleeps", "sleeps", 2, MODE_LOAD },
	[FIGURE_VOLUNTARY] = { "context_switches_voluntary",
			       "context switches, voluntary", 2, MODE_LOAD },
	[FIGURE_INVOLUNTARY] = { "context_switches_involuntary", "involuntary",
				 2, MODE_LOAD },
	[FIGURE_STOLEN] = { "stolen", "stolen", 3, MODE_LOAD },
	[FIGURE_EVENT_WALL_NS] = { "event_wall_ns", "ns per event", 0,
				   MODE_EMPTY },
	[FIGURE_EVENT_CPU_NS] = { "event_cpu_ns", "CPU ns per event", 0,
				  MODE_EMPTY },
	[FIGURE_EVENT_VISITS] = { "event_visits", "visits", 3, MODE_EMPTY },
	[FIGURE_EVENT_SLEEPS] = { "event_sleeps", "sleeps", 3, MODE_EMPTY },
	[FIGURE_START_P50_US] = { "start_us_p50", "send to start us, p50", 1,
				  MODE_WAKE },
	[FIGURE_START_P90_US] = { "start_us_p90", "p90", 1, MODE_WAKE },
	[FIGURE_START_P99_US] = { "start_us_p99", "p99", 1, MODE_WAKE },
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

struct spread spread_of(double *values, uint32_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return (struct spread){
		.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
		.least = values[0],
		.most = values[count - 1],
	};
}

void times_sort(uint64_t *times, uint64_t count)
{
	if (count > 0)
		qsort(times, count, sizeof(*times), compare_times);
}

uint64_t times_quantile(const uint64_t *times, uint64_t count, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)count);

	if (count == 0)
		return 0;
	return times[rank > 0 ? rank - 1 : 0];
}
