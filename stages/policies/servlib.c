/* SPDX-License-Identifier: MIT */
/*
 * ServLib: each connection is a user-level thread, which reads, runs the
 * handlers of all stages, and writes.
 *
 * After Chanda, Elmeleegy, Gil, Mittal, Cox and Zwaenepoel, "An efficient
 * threading model to boost server performance" (ServLib).  The threads are the
 * server's (service/direct/uthread.h); here their events are handled by calls,
 * as with thread per connection.  struct thread_model has the paper's choices.
 */
#include "stages/policy.h"

const struct policy policy_servlib = {
	.name = "servlib",
	.summary = "a user-level thread per connection, which runs the "
		   "handlers as calls",
	.meaning =
		"Each connection has a user-level thread, which reads the "
		"request, runs all stages and writes the reply, one after the "
		"other. A few kernel threads run these threads, first come, "
		"first served.",
	.workers = POLICY_WORKERS_CALLER,
	.has_thread_model = true,
};
