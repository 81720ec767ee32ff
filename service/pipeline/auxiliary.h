/* SPDX-License-Identifier: MIT */
/*
 * Auxiliary: a stage for errands, with threads of its own beside the workers of
 * the pipeline: for what waits for disks, and for what is not to wait for them
 * (express.h).
 *
 * Ownership  An errand is the group's from auxiliary_send() until it runs.
 * Threads    auxiliary_send(), auxiliary_read(): any, at once.  The rest: one.
 */
#ifndef SERVICE_AUXILIARY_H
#define SERVICE_AUXILIARY_H

#include "stages/stats.h"

/* Embed one, zeroed but for `run` and, if traces are to tell it, its number. */
struct errand {
	struct event event;
	/* By a worker; the errand is the callee's again, with its times. */
	void (*run)(struct errand *e);
};

struct auxiliary_config {
	const char *name; /* of the stage */
	uint32_t threads; /* 0: who sends an errand runs it */
	uint32_t slots;   /* at least so many may wait */
	const struct cores *cores;
};

/* NULL: no memory, or no threads. */
struct auxiliary *auxiliary_start(const struct auxiliary_config *config);

/* False: too many wait, or it was stopped; the errand is still the caller's. */
MUST_CHECK bool auxiliary_send(struct auxiliary *a, struct errand *e);

/* For what stages/ tells of a running group. */
const struct group *auxiliary_group(const struct auxiliary *a);

void auxiliary_read(const struct auxiliary *a, struct stage_stats *out);

/* Refuse, run what waits, end the threads.  Twice does no harm. */
void auxiliary_stop(struct auxiliary *a);

/* NULL is fine. */
void auxiliary_free(struct auxiliary *a);

#endif
