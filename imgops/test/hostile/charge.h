/* SPDX-License-Identifier: MIT */
/*
 * Charge: the memory that a decode asks of its caller, which is charged to the
 * upload, and what its libraries allocate by themselves.  For one thread.
 *
 * With COUNT_MALLOC, a program that links this has a malloc() that counts.
 */
#ifndef IMGOPS_TEST_HOSTILE_CHARGE_H
#define IMGOPS_TEST_HOSTILE_CHARGE_H

#include "base/memory.h"

struct charge {
	struct memory memory;
	uint64_t live_bytes, peak_bytes;
	/* What libraries had in use beyond `live_bytes`, at most. */
	int64_t uncharged_bytes;
	uint64_t pause_count;
};

/* `c` must not move in memory while blocks are in use.  NULL: no pauses. */
void charge_begin(struct charge *c, void (*pause)(void *charge));

/* What libraries allocate from now on is not counted. */
void charge_end(struct charge *c);

#endif
