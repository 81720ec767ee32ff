/* SPDX-License-Identifier: MIT */
/*
 * Queue disciplines: which of the events that wait is first.
 *
 * Each gives an event a rank when it is queued; the lowest rank is first.
 *
 *	fcfs   the order they came
 *	lcfs   the opposite
 *	stack  fcfs, after those that the worker itself sent to the stage,
 *	       newest first (Gordon, UCAM-CL-TR-781, appendix A.1,
 *	       interpretation 1)
 *	srpt   the order of  born + ageing * left
 *
 * SRPT: least predicted work left first, with ageing: in its queue, an event
 * that was born (first sent) at time b with work L left is overtaken only by
 * events born before b + ageing * L.  So none starves there: what may be served
 * before it is bounded by what had come by then.  With the central queue of
 * color that is true of all stages together; else a policy or a regime that
 * stays with early stages lets later queues wait.
 *
 * Ranks of waiting events never change, so a heap is enough.  Ageing 0 is first
 * come first served by birth; the larger, the nearer to pure SRPT.
 */
#ifndef STAGES_DISCIPLINE_H
#define STAGES_DISCIPLINE_H

#include <stdint.h>

struct event;

enum discipline_kind {
	DISCIPLINE_FCFS,
	DISCIPLINE_LCFS,
	DISCIPLINE_STACK,
	DISCIPLINE_SRPT,
};

struct discipline {
	enum discipline_kind kind;
	double ageing; /* of srpt: ns of waiting that 1 ns of work is worth */
};

/*
 * Of the `number`th event of a queue.  Equal ranks: either is first.  For
 * `stack`, the rank in the queue behind the stacks.
 */
uint64_t discipline_rank(const struct discipline *d, const struct event *ev,
			 uint64_t number);

#endif
