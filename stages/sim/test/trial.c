/* SPDX-License-Identifier: MIT */
#include "stages/sim/test/trial.h"

#include "base/test/check.h"

void trial_init(struct trial *t, const char *graph, uint32_t cores,
		double rate_per_s)
{
	struct error why;

	*t = (struct trial){
		.schedule.policy = policy_find("cohort"),
		.schedule.part_count = 1,
		.config.core_count = cores,
		.config.rate_per_s = rate_per_s,
		.config.request_count = TRIAL_REQUESTS,
		.config.warmup_count = TRIAL_WARMUP,
		.config.seed = 1,
	};
	t->config.model = &t->model;
	t->config.schedule = &t->schedule;
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		t->schedule.pool_threads[i] = 1;
	CHECK(model_read(&t->model, graph, ".", &why));
}

void trial_run(struct trial *t)
{
	sim_run(&t->config, &t->result);
}

void trial_release(struct trial *t)
{
	sim_result_release(&t->result);
	model_release(&t->model);
}

double trial_response_s(const struct trial *t)
{
	double sum = 0;

	for (uint64_t i = 0; i < t->result.request_count; i++)
		sum += (double)t->result.requests[i].response_ns;
	return sum / 1e9 / (double)t->result.request_count;
}

double trial_wait_s(const struct trial *t)
{
	double wait_ns = 0, handled = 0;

	for (uint32_t i = 0; i < t->model.stage_count; i++) {
		wait_ns += t->result.stages[i].wait_ns;
		handled += (double)t->result.stages[i].handled_count;
	}
	return wait_ns / 1e9 / handled;
}
