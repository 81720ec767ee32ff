/* SPDX-License-Identifier: MIT */
/*
 * Help: a part of an upload's decode on another thread (struct helper,
 * base/memory.h), as a further event of the upload, in a stage with threads of
 * its own.
 *
 * Threads    begin() and end() are called by the step that decodes, on any
 *            thread.  Before the upload ends: help_leave().
 */
#ifndef SERVICE_HELP_H
#define SERVICE_HELP_H

#include "base/memory.h"
#include "stages/stage.h"

#include <semaphore.h>
#include <stdatomic.h>

struct help;

/* What all uploads share. */
struct help_stage {
	struct stage *stage; /* NULL: nobody helps */
	/* Has a core nothing else to do? */
	bool (*is_idle)(const struct help_stage *s);
	_Atomic uint64_t count; /* parts that it has run */
};

/* Zero it before help_enter(). */
struct help {
	struct helper helper;
	struct memory memory; /* with this helper */
	uint64_t cpu_ns;      /* CPU time of all parts */

	/* Private to help.c. */
	struct help_stage *of;
	struct event event;
	_Atomic uint32_t state;
	sem_t ended; /* a part, or the last event */
	void (*run)(void *work);
	void *work;
};

/* `memory` is that of the step.  Then use h->memory instead. */
void help_enter(struct help *h, struct help_stage *of,
		const struct memory *memory, uint64_t number);

/* The stage's handler. */
void help_handle(struct event *ev, void *arg);

/* Wait until no event of it is in the stage. */
void help_leave(struct help *h);

#endif
