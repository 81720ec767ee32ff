/* SPDX-License-Identifier: MIT */
#include "stages/policy.h"

#include <string.h>

#define POLICY(name) extern const struct policy policy_##name;
#include "stages/policies/list.h"
#undef POLICY

static const struct policy *policies[POLICIES_MAX + 1] = {
#define POLICY(name) &policy_##name,
#include "stages/policies/list.h"
#undef POLICY
};

const struct policy *const *policy_list(void)
{
	return policies;
}

const struct policy *policy_find(const char *name)
{
	for (uint32_t i = 0; policies[i] != NULL; i++)
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	return NULL;
}

static bool is_complete(const struct policy *p)
{
	if (p->name == NULL || p->summary == NULL || p->meaning == NULL)
		return false;
	switch (p->workers) {
	case POLICY_WORKERS_ROAM:
	case POLICY_WORKERS_STAY:
		return p->pick != NULL;
	case POLICY_WORKERS_CALLER:
		return true;
	case POLICY_WORKERS_FIBRES:
		return p->threads != NULL && p->threads->arrive != NULL &&
		       p->threads->leave != NULL && p->threads->pick != NULL;
	}
	return false;
}

bool policy_register(const struct policy *p)
{
	uint32_t count = 0;

	while (policies[count] != NULL)
		count++;
	if (count == POLICIES_MAX || !is_complete(p) ||
	    policy_find(p->name) != NULL)
		return false;
	policies[count] = p;
	return true;
}
