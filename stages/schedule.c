/* SPDX-License-Identifier: MIT */
#include "stages/schedule.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_AGEING = 20 };

const struct schedule_flag schedule_flags[] = {
	{ "policy", "NAME", "cohort",
	  "how stages get the CPU; see --list-policies" },
	{ "balance", "shared|replicate", "shared",
	  "one stage graph for all cores, or one per core" },
	{ NULL, NULL, NULL, NULL },
};

void schedule_init(struct schedule *s)
{
	*s = (struct schedule){
		.policy = policy_find("cohort"),
		.discipline.ageing = DEFAULT_AGEING,
	};
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		s->pool_threads[i] = 1;
}

bool schedule_set(struct schedule *s, const char *name, const char *text,
		  const char *const *stages, uint32_t stage_count)
{
	(void)stages;
	(void)stage_count;
	if (strcmp(name, "policy") == 0) {
		s->policy = policy_find(text);
		return s->policy != NULL;
	}
	s->balance = strcmp(text, "shared") == 0 ? BALANCE_SHARED :
						   BALANCE_REPLICATE;
	return s->balance == BALANCE_SHARED || strcmp(text, "replicate") == 0;
}

bool schedule_complete(struct schedule *s, uint32_t stage_count,
		       uint32_t core_count, char error[SCHEDULE_ERROR_BYTES])
{
	(void)stage_count;
	if (s->part_count == 0)
		s->part_count = s->balance == BALANCE_SHARED ? 1 : core_count;
	if (s->part_count > 1 && s->policy->workers == POLICY_WORKERS_CALLER) {
		(void)snprintf(error, SCHEDULE_ERROR_BYTES,
			       "--balance: this policy has no queues");
		return false;
	}
	return true;
}
