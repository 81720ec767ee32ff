/* SPDX-License-Identifier: MIT */
/*
 * Express: a lane for small uploads, past workers that are all in large ones.
 *
 * Nothing interrupts a step, so whatever the order of the queue, a small upload
 * waits for some step of a large one to end.  Where that would be, it goes to a
 * thread beside the workers, which takes all its steps and may run on any core:
 * the kernel shares these out in slices much shorter than a large step.  As in
 * size interval task assignment (Harchol-Balter, Crovella and Murta, J. of Par.
 * and Distr. Computing 59:2, 1999) small ones have a server of their own;
 * other than there, only where it helps, and only as many as it can serve soon.
 *
 * Threads    express_start(), _stop(), _free(): one.  The rest: any, at once.
 * Units      *_ns: of CPU time, foretold.
 */
#ifndef SERVICE_EXPRESS_H
#define SERVICE_EXPRESS_H

#include "service/pipeline/auxiliary.h"

#include <stdatomic.h>

struct express {
	struct auxiliary *lane; /* NULL: none */
	uint64_t limit_ns;      /* small is what takes less */
	uint32_t core_count;
	_Atomic uint32_t large_count; /* events not small, with the workers */
	_Atomic uint64_t queued_ns;   /* of all in the lane */
};

/* What is chosen by. */
struct express_view {
	uint64_t limit_ns;
	uint32_t core_count;
	uint32_t large_count;
	uint64_t queued_ns;
};

/* Does an upload that takes so long end sooner by the lane?  Pure. */
bool express_is_better(const struct express_view *view, uint64_t upload_ns);

/*
 * With a lane, in which up to `slots` may be at once, or, with a limit of 0,
 * without one: then nothing is ever better.  False: no memory, or no thread.
 */
MUST_CHECK bool express_start(struct express *x, uint64_t limit_ns,
			      uint32_t slots, const struct cores *cores);

/*
 * Choose, and reserve the time in the lane.  True: express_send() comes next,
 * and express_leave() when the upload's steps are over, or it was not taken.
 */
MUST_CHECK bool express_enter(struct express *x, uint64_t upload_ns);
MUST_CHECK bool express_send(struct express *x, struct errand *e);
void express_leave(struct express *x, uint64_t upload_ns);

/* The workers have so many more events, or fewer, of an upload like that. */
void express_count(struct express *x, uint64_t upload_ns, int32_t change);

/* Only with a lane. */
void express_read(const struct express *x, struct stage_stats *out);

/* Finish what is in the lane. */
void express_stop(struct express *x);
void express_free(struct express *x);

#endif
