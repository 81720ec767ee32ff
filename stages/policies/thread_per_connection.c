/* SPDX-License-Identifier: MIT */
/*
 * Thread per connection: no workers and no queues; whoever sends an event runs
 * the handlers of all stages one after the other, as plain calls.
 *
 * The baseline of Gordon, UCAM-CL-TR-781, section 4.2.3.
 */
#include "stages/policy.h"

const struct policy policy_thread_per_connection = {
	.name = "thread-per-connection",
	.summary = "the baseline: handlers run as calls in the sending thread",
	.workers = POLICY_WORKERS_CALLER,
};
