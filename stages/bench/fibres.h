/* SPDX-License-Identifier: MIT */
/*
 * Fibres: what user-level threads cost that do nothing but let others run.
 *
 * `count` events are sent to one stage of a group whose policy is one of
 * user-level threads, on one core.  The stage's handler only sends its event to
 * the same stage again, so that each call ends at a blocking point.  Either all
 * threads are runnable, or RUNNABLE_FEW of them, while the others wait in
 * stage_wait().
 *
 * A switch is what happens from one call of a handler to the next: the thread
 * leaves, the policy picks a thread, that thread continues.
 */
#ifndef STAGES_BENCH_FIBRES_H
#define STAGES_BENCH_FIBRES_H

#include "base/util.h"
#include "stages/stage.h"

#include <stdint.h>

enum {
	FIBRES_RUNNABLE_FEW = 10,
	FIBRES_COUNTS_MAX = 16, /* values of --fibres */
	FIBRES_MAX = 1000000,
	/* Kernel threads are measured up to this number. */
	FIBRES_THREADS_MAX = 10000,
};

enum fibres_figure {
	FIBRES_SWITCH_NS,  /* a switch, whole */
	FIBRES_PICK_NS,    /* the policy's part of it, without a switch */
	FIBRES_STACK_NS,   /* leaving and entering a stack, by fibre.h */
	FIBRES_BYTES,      /* resident, for each thread */
	FIBRES_LEFT_BYTES, /* the same, when all threads have ended */
	/* As FIBRES_BYTES, for a kernel thread; 0: not measured. */
	FIBRES_KERNEL_BYTES,
	FIBRES_FIGURES
};

struct fibres_view {
	const char *name;  /* in JSON */
	const char *title; /* in a table */
	int decimals;
};

extern const struct fibres_view fibres_views[FIBRES_FIGURES];

struct fibres_config {
	uint32_t count;
	bool are_all_runnable;
	bool uses_huge_pages;  /* for the events, in a random order */
	uint64_t switch_count; /* to measure; at least two for each thread */
};

struct fibres_result {
	double values[FIBRES_FIGURES];
	uint64_t ended_count;  /* threads that ended */
	uint64_t waited_count; /* threads that waited in stage_wait() */
	uint64_t switch_count; /* that were measured */
};

/*
 * The schedule's policy is one of user-level threads, and `cores` has one core.
 * False: the system gave no memory or threads.
 */
MUST_CHECK bool fibres_run(const struct fibres_config *config,
			   const struct schedule *schedule,
			   const struct cores *cores,
			   struct fibres_result *out);

#endif
