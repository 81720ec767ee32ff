/* SPDX-License-Identifier: MIT */
/* Figures: what a run is judged by. */
#ifndef STAGES_BENCH_FIGURES_H
#define STAGES_BENCH_FIGURES_H

#include <stdint.h>

/* What the benchmark asks, and so which figures it prints. */
enum mode {
	MODE_LOAD,  /* how do requests fare? */
	MODE_EMPTY, /* what does an event cost without its handler? */
	MODE_WAKE,  /* when does a handler start whose worker slept? */
};

enum figure {
	FIGURE_REQUESTS_PER_S,
	FIGURE_RESPONSE_MEAN_MS,
	FIGURE_RESPONSE_P50_MS,
	FIGURE_RESPONSE_P90_MS,
	FIGURE_RESPONSE_P99_MS,
	FIGURE_CORES,
	FIGURE_CPU_MS,
	FIGURE_VISITS,
	FIGURE_VISITS_EMPTY,
	FIGURE_SWITCHES,
	FIGURE_SLEEPS,
	FIGURE_VOLUNTARY,
	FIGURE_INVOLUNTARY,
	FIGURE_STOLEN,
	FIGURE_EVENT_WALL_NS,
	FIGURE_EVENT_CPU_NS,
	FIGURE_EVENT_VISITS,
	FIGURE_EVENT_SLEEPS,
	FIGURE_START_P50_US,
	FIGURE_START_P90_US,
	FIGURE_START_P99_US,
	FIGURES
};

struct figure_about {
	const char *name;  /* in JSON */
	const char *title; /* in a table */
	int decimals;
	enum mode mode; /* where it is printed */
};

extern const struct figure_about figure_abouts[FIGURES];

/* Of several runs. */
struct spread {
	double median, least, most;
};

/* Sorts `values`; count >= 1. */
struct spread spread_of(double *values, uint32_t count);

/* Ascending. */
void times_sort(uint64_t *times, uint64_t count);

/* Of sorted times: the least that a share `q` do not exceed; 0: of none. */
uint64_t times_quantile(const uint64_t *times, uint64_t count, double q);

#endif
