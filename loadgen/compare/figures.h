/* SPDX-License-Identifier: MIT */
/*
 * Figures: the results of a comparison, sorted by arm and metric.
 *
 * A sample has one value from each repetition, its blocks: with slices, the
 * mean of the repetition's runs.  The values of all runs are kept, too, for the
 * plots.  If one of an arm's runs lacks the value, or has too few replies for a
 * percentile (samples.h), there are none: the other runs may be the better
 * ones.  There are fewer if a run was not made because the server was
 * overloaded at a lower rate.  A run that was disturbed and made again is only
 * counted, and so is one that was disturbed too much each time (plan.h): its
 * repetition has then no value of the arm, or that of its other slices.
 *
 * Ownership  names and texts are lent by the plan and the results.
 */
#ifndef LOADGEN_COMPARE_FIGURES_H
#define LOADGEN_COMPARE_FIGURES_H

#include "loadgen/compare/plan.h"
#include "base/statistics.h"
#include "loadgen/report/samples.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Of closed loops. */
enum metric {
	METRIC_MEGABYTES_PER_S, /* processed: uploaded and answered 2xx */
	METRIC_MAKESPAN_S,
	METRIC_RESPONSES_PER_S,
	METRIC_REFUSED_PERCENT, /* of the requests: answered 503 */
	METRIC_P90_MS,
	METRIC_CPU_PERCENT,    /* of the server; 100: one core */
	METRIC_UPLOADS_MBIT_S, /* in the best whole 5 s */
	METRIC_CPU_MS_PER_IMAGE,
	METRIC_PEAK_MEMORY_MIB,
	METRIC_SWITCHES_PER_IMAGE,
	METRIC_CLIENT_PERCENT, /* client's CPU time, % of the server's */
	METRIC_GROWTH,         /* see OPEN_GROWTH */
	METRIC_COUNTED_PER_S,  /* by the server; of bytes, in MB */
	METRIC_COUNT,
};

/* How a metric is shown. */
struct metric_view {
	const char *column; /* title in tables */
	int decimals;
	const char *plot_file; /* NULL: it has no plot */
	const char *plot_title;
	const char *plot_axis; /* with the unit */
};

extern const struct metric_view metric_views[METRIC_COUNT];

/* Of open loops. */
enum open_metric {
	OPEN_RATE_PER_S, /* offered */
	OPEN_RESPONSES_PER_S,
	OPEN_P50_MS,
	OPEN_P90_MS,
	OPEN_P99_MS,
	OPEN_SMALLEST_P90_MS, /* of the first size class */
	OPEN_LARGEST_P90_MS,  /* of the last */
	OPEN_LARGEST_P99_MS,
	OPEN_FAILED_PERCENT, /* not answered 2xx */
	/* The mean response time of a run's second half, by the first's. */
	OPEN_GROWTH,
	OPEN_METRIC_COUNT,
};

enum {
	FIGURES_RUNGS_MAX = 128, /* enough for 30 million replies */
	FIGURES_WARNINGS_MAX = 64,
};

/*
 * A step of HdrHistogram's ladder of percentiles: `percent` of the replies came
 * within `ms`.
 */
struct rung {
	double percent;
	struct sample ms;
};

struct arm_figures {
	const char *name;
	size_t number;      /* index in the plan; chooses its colour */
	size_t closed_runs; /* in how many runs it was measured */
	/* The same at each rate; the lowest one is always tried. */
	size_t open_runs[PLAN_RATES_MAX];
	size_t open_tries[PLAN_RATES_MAX]; /* with those that are left out */
	size_t disturbed_runs; /* disturbed each time; the last is used */
	double worst_percent;  /* that others took in one of these */
	size_t left_out_runs;  /* disturbed too much each time */
	double worst_left_out_percent;
	struct sample metrics[METRIC_COUNT];
	struct sample open[PLAN_RATES_MAX][OPEN_METRIC_COUNT];
	/* The values of every run, in ascending order. */
	struct samples every[METRIC_COUNT];
	struct samples every_open[PLAN_RATES_MAX][OPEN_METRIC_COUNT];
	struct rung rungs[FIGURES_RUNGS_MAX]; /* of closed loops */
	size_t rung_count;
};

/*
 * A warning of loadgen, and how many runs had it.  Texts that differ only in
 * their numbers are the same warning.
 */
struct figures_warning {
	const char *arm;
	const char *text; /* that of the first run */
	size_t count;
};

struct figures {
	const struct plan *plan;
	struct arm_figures *arms; /* only measured ones; in the plan's order */
	const struct arm_figures *ranked[PLAN_ARMS_MAX]; /* fastest first */
	size_t arm_count;
	/*
	 * The first arm of the plan that was measured; NULL: all its closed
	 * loops were left out, so nothing can be compared.
	 */
	const struct arm_figures *baseline;
	const char *baseline_name; /* NULL: no arm was measured */
	struct figures_warning warnings[FIGURES_WARNINGS_MAX];
	size_t warning_count;
	bool has_losses; /* of requests, in an open loop */
	struct disturbances {
		size_t repeated;            /* runs that were made again */
		size_t runs;                /* the others */
		size_t disturbed, left_out; /* of these; separate */
		double worst_percent;       /* of both */
		/* Of which it is not known; of these, for the short time. */
		size_t not_judged, too_short;
		/* Arms whose closed loops were all left out. */
		const char *lost[PLAN_ARMS_MAX];
		size_t lost_count;
		/* Repetitions in which the baseline has only such runs. */
		size_t disturbed_rates;
	} disturbances;
	/* At the end of each run that counts, in ascending order. */
	struct samples loads;    /* the load average of a minute */
	struct samples core_mhz; /* where it is known */
	/* Of each run, what others took of the cores, in %, ascending. */
	struct samples taken;
};

/* Is it the name of a counter of bytes, by Prometheus's convention? */
bool counts_bytes(const char *counter);

/* Fill `f`; the plan and the results are lent to it.  False: out of memory. */
MUST_CHECK bool figures_init(struct figures *f, const struct plan *plan,
			     const cJSON *results);

/* Make `f` empty.  An empty one is fine. */
void figures_release(struct figures *f);

#endif
