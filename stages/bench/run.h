/* SPDX-License-Identifier: MIT */
/*
 * Run: a model in real threads, under one schedule.
 *
 *	clients -> stage_send() -> [stages: work] -> ended -> clients
 *
 * Each request draws its path when it begins, owns a buffer, and at each stage
 * touches all of it and computes for the time that was drawn.  Closed loop: so
 * many are under way, a new one begins when one ends.  Open loop: requests
 * are due at random times, and response times count from these.
 *
 * What is counted: all from when the first counted request begins to when all
 * have ended, so that every schedule does the same work; the response times are
 * those of the counted requests.  The CPU time and context switches of the
 * clients are left out, unless clients run the handlers.
 */
#ifndef STAGES_BENCH_RUN_H
#define STAGES_BENCH_RUN_H

#include "stages/bench/figures.h"
#include "stages/sim/model.h"

struct cores;

struct run_config {
	const struct model *model;
	double steps_per_ns;   /* as work_measure_speed() found */
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
__attribute__((warn_unused_result)) bool run(const struct run_config *config,
					     const struct schedule *schedule,
					     const struct cores *cores,
					     struct run_result *out);

#endif
