/* SPDX-License-Identifier: MIT */
/*
 * Each policy: how tests go through policies/list.h.
 *
 *	const struct policy *const *p;
 *
 *	for (p = policy_list(); each_policy(*p); p++)
 *
 * A new policy is in all of these tests.  If it breaks the contract of
 * policy.h, workers may look for events for ever, or abort far from the cause.
 * So all policies are tried before a test uses the first one; and if the test
 * aborts later, the name of the policy is printed.
 *
 * Threads    One at a time.
 */
#ifndef STAGES_TEST_EACH_POLICY_H
#define STAGES_TEST_EACH_POLICY_H

#include "stages/policy.h"

/*
 * From here on the test is about this policy.  False: it is NULL, the end of
 * the list.  If it breaks the contract, the test ends with status 1, and the
 * last line of its output names the policy and what it broke.
 */
bool each_policy(const struct policy *p);

#endif
