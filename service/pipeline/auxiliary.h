/* SPDX-License-Identifier: MIT */
/*
 * Auxiliary: a stage with threads of its own beside the workers of the
 * schedule.  It runs tasks: those that wait for disks (the store), and whole
 * uploads that must not wait for workers (express, see pipeline.c).
 *
 * Ownership  A task belongs to the stage from auxiliary_send() until it runs.
 * Threads    auxiliary_send(), auxiliary_read(): any, at once.  The rest: one.
 */
#ifndef SERVICE_AUXILIARY_H
#define SERVICE_AUXILIARY_H

#include "stages/stats.h"

/*
 * Embed one in a struct.  Set `run` and, for traces, event.number; zero the
 * rest.
 */
struct task {
	struct event event;
	/* Runs on a thread of the stage; it owns the task again. */
	void (*run)(struct task *t);
};

struct auxiliary_config {
	const char *name; /* of the stage */
	uint32_t threads; /* 0: auxiliary_send() runs the task itself */
	uint32_t slots;   /* tasks that may wait, at least */
	const struct cores *cores;
	bool counts_hardware; /* as in pipeline_config */
};

/* NULL: no memory, or no threads. */
struct auxiliary *auxiliary_start(const struct auxiliary_config *config);

/* False: the queue is full or stopped; the task is still the caller's. */
MUST_CHECK bool auxiliary_send(struct auxiliary *a, struct task *t);

const struct group *auxiliary_group(const struct auxiliary *a);

void auxiliary_read(const struct auxiliary *a, struct stage_stats *out);

/* Refuse tasks, run those that wait, end the threads.  Twice is fine. */
void auxiliary_stop(struct auxiliary *a);

/* NULL is fine. */
void auxiliary_free(struct auxiliary *a);

#endif
