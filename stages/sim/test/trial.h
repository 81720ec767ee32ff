/* SPDX-License-Identifier: MIT */
/* Trials for tests: a graph and a schedule to simulate, and the results. */
#ifndef STAGES_SIM_TEST_TRIAL_H
#define STAGES_SIM_TEST_TRIAL_H

#include "stages/sim/sim.h"

enum { TRIAL_REQUESTS = 400000, TRIAL_WARMUP = 20000 };

struct trial {
	struct model model;
	struct schedule schedule; /* a test may change it, and `config` */
	struct sim_config config;
	struct sim_result result;
};

/*
 * Shared cores with one queue for each stage, cohort policy, first come first
 * served; pools have one thread.
 */
void trial_init(struct trial *t, const char *graph, uint32_t cores,
		double rate_per_s);
void trial_run(struct trial *t);
void trial_release(struct trial *t);

/* Mean of the counted requests. */
double trial_response_s(const struct trial *t);

/* Mean wait in the queues of all stages, by event. */
double trial_wait_s(const struct trial *t);

#endif
