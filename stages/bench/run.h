/* SPDX-License-Identifier: MIT */
/*
 * Run: a model in real threads, under one schedule.
 *
 *	clients -> stage_send() -> [stages: work] -> ended -> clients
 *
 * Each request draws its path when it begins, owns a buffer, and at each stage
 * touches all of it and computes for the time that was drawn.  Closed loop:
 * client_count are under way, and a new one begins when one ends.  Open loop:
 * requests are due at random times, and response times count from these.
 *
 * What is counted: all from when the first counted request begins to when all
 * have ended, so that every schedule does the same work; the response times are
 * those of the counted requests.  The CPU time and context switches of the
 * clients are left out, unless clients run the handlers.
 *
 * The work of a handler is a number of steps, not a time: a handler that loses
 * its core for a while has as much left to do as before.  The cost of a cold
 * cache comes on top.
 */
#ifndef STAGES_BENCH_RUN_H
#define STAGES_BENCH_RUN_H

#include "base/util.h"
#include "stages/sim/model.h"

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

struct cores;

struct run_config {
	const struct model *model;
	double steps_per_ns;   /* as run_measure_speed() found */
	double scale;          /* of the model's times */
	uint64_t memory_bytes; /* of a buffer; if the model has sizes, of a
				* mean request's, others in proportion */
	uint32_t client_count; /* requests under way, at most */
	double rate_per_s;     /* Poisson; 0: closed loop */
	uint64_t pause_ns;     /* before each request */
	uint32_t lap_count;    /* each goes its path so often */
	uint64_t warmup_count; /* requests begun before those that count */
	uint64_t request_count;
	uint64_t duration_ns; /* 0: until all have begun */
	uint64_t seed;
};

struct run_result {
	double figures[FIGURES];
	/* Of the whole run. */
	uint64_t finished_count; /* requests */
	uint64_t step_count;     /* stages on their paths */
	uint64_t arrived_counts[STAGES_MAX], handled_counts[STAGES_MAX];
};

/* False: the system gave no memory or threads. */
MUST_CHECK bool run(const struct run_config *config,
		    const struct schedule *schedule, const struct cores *cores,
		    struct run_result *out);

/* Steps that one core makes in a nanosecond; takes some milliseconds. */
double run_measure_speed(void);

#endif
