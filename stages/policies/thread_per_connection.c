/* SPDX-License-Identifier: MIT */
/*
 * Thread per connection: there are no workers and no queues.  The thread that
 * sends an event calls the handlers of all its stages, one after the other.
 *
 * This is the baseline in Gordon, UCAM-CL-TR-781, section 4.2.3.
 */
#include "stages/policy.h"

const struct policy policy_thread_per_connection = {
	.name = "thread-per-connection",
	.summary = "the baseline: handlers run as calls in the sending thread",
	.meaning =
		"There are no workers and no queues: each connection has a "
		"thread, which runs all stages of what it sends, one after "
		"the other. The kernel shares the cores among as many threads "
		"as have something to do.",
	.workers = POLICY_WORKERS_CALLER,
};
