/* SPDX-License-Identifier: MIT */
/*
 * Contexts of lcms2 that one can leave when memory is short.
 *
 * Where lcms2 2.14 gets no memory it takes a good profile for a bad one, or
 * crashes.  So its allocations do not fail: they jump to who called it, and all
 * that it had is freed with the context.
 *
 *	if (icc_context_init(&c)) {
 *		if (setjmp(c.no_memory) == 0) {
 *			c.jumps = true;
 *			... calls of lcms2 in c.lcms ...
 *			c.jumps = false;
 *		}
 *		icc_context_release(&c);
 *	}
 *
 * Threads    One for each context; there are no locks that a jump could leave
 *            taken.
 */
#ifndef IMGOPS_ICC_CONTEXT_H
#define IMGOPS_ICC_CONTEXT_H

#include "imgops/image.h"

#include <setjmp.h>
#include <sys/queue.h>

#include <lcms2.h>

/* Stays where it is until it is released. */
struct icc_context {
	cmsContext lcms;
	bool jumps; /* else allocations fail as usual */
	jmp_buf no_memory;
	LIST_HEAD(, icc_block) blocks;
};

/* False: no memory. */
IMG_CHECK bool icc_context_init(struct icc_context *c);

/* With all that lcms2 made in it. */
void icc_context_release(struct icc_context *c);

#endif
