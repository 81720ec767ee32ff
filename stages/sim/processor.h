/* SPDX-License-Identifier: MIT */
/*
 * Processors: cores that are shared evenly among any number of threads, as a
 * kernel would with a very short quantum (processor sharing).
 *
 * With n threads on c cores each gets min(1, c / n) of a core.  All progress at
 * the same speed, so it is enough to know how much work a thread that was
 * always there would have got, and at which such value each thread is done.
 */
#ifndef STAGES_SIM_PROCESSOR_H
#define STAGES_SIM_PROCESSOR_H

#include "stages/sim/heap.h"

struct processor {
	struct heap threads;
	uint32_t core_count;
	double got_ns;  /* what such a thread has got until ... */
	uint64_t at_ns; /* ... this point in time */
};

/* `item` has so much to do, from now on. */
void processor_add(struct processor *p, uint64_t now_ns, uint64_t work_ns,
		   void *item);

/* When the next thread will be done; UINT64_MAX: there is none. */
uint64_t processor_next_ns(const struct processor *p);

/* Take it out, at that time. */
void *processor_pop(struct processor *p, uint64_t now_ns);

#endif
