/* SPDX-License-Identifier: MIT */
/*
 * Engine: runs a model under a schedule in virtual time.
 *
 * The policy, the regime, the discipline, the thresholds and the measured rates
 * are the very functions that the threads of a stage group call; cores, queues,
 * sleeping and the clock are simulated.  What is not the same:
 *  - handlers take the time the model says, whatever runs beside them;
 *  - threads that share cores (pools, thread per connection) get equal parts of
 *    them at every moment (processor.h);
 *  - queues never refuse; all stages may be entered by any number of workers;
 *  - a woken worker is there at once, after the one who woke it has gone on.
 *
 * Requests are numbered as they begin.  Those before `warmup_count` are not
 * counted; none begins after `request_count`, and the run ends when all have
 * ended.  The counts of stages are of the time in which the counted requests
 * began.
 */
#ifndef STAGES_SIM_ENGINE_H
#define STAGES_SIM_ENGINE_H

#include "stages/sim/model.h"

struct engine_config {
	const struct model *model;
	const struct schedule *schedule; /* complete */
	uint32_t core_count;
	uint32_t parts[STAGES_MAX]; /* of --balance partition, by stage */

	/* Arrivals: one of these three. */
	double rate_per_s;
	uint32_t client_count; /* each sends anew when it is answered */
	const double *gaps_s;  /* of so many, again and again */
	uint32_t gap_count;
	bool is_constant; /* rate_per_s without chance; else Poisson */

	uint64_t request_count, warmup_count;
	uint64_t seed;

	uint64_t switch_ns; /* a visit costs so much before its first event */
	uint64_t queue_ns;  /* a push or a pop keeps its queue for so long */
	double error_sigma; /* predicted work is true work, times a lognormal
			     * factor of each request; 0: exact */
};

struct engine_stage {
	uint64_t arrived_count;
	uint64_t handled_count;
	uint64_t visit_count;
	uint64_t visit_empty_count;
	uint64_t switch_count; /* visits right after one to another stage */
	double wait_ns;        /* of handled events, in all */
	double service_ns;     /* the same */
	double queued_mean;    /* over time, of all queues */
	uint64_t queued_count_max;
};

struct engine_request {
	double size;
	uint64_t response_ns;
};

struct engine_result {
	uint64_t span_ns; /* in which the counted requests began */
	uint64_t finished_count;
	struct engine_stage stages[STAGES_MAX];
	/* Of all cores together, in the span. */
	double switch_ns;
	double queue_ns; /* at queues that others were at, too */
	uint64_t stolen_count;
	/* The counted requests, in the order they began; owned. */
	uint64_t request_count;
	struct engine_request *requests;
};

/* Out of memory, it aborts. */
void engine_run(const struct engine_config *config, struct engine_result *out);
void engine_release(struct engine_result *result);

#endif
