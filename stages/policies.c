/* SPDX-License-Identifier: MIT */
#include "stages/policy.h"

#include <string.h>

const struct policy *const policy_list[] = {
#define POLICY(name) &policy_##name,
#include "stages/policies/list.h"
#undef POLICY
	NULL
};

const struct policy *policy_find(const char *name)
{
	for (const struct policy *const *p = policy_list; *p != NULL; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}
