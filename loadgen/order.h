/* SPDX-License-Identifier: MIT */
/*
 * Order: which file is sent next.
 *
 * Each pass sends every file once, in a fresh shuffle.  The shuffle of a pass
 * depends on the seed, the pass and the number of files alone, so a run can be
 * repeated, on any machine and with any number of connections.
 *
 * Pure: no clock, no files, no network.
 */
#ifndef LOADGEN_ORDER_H
#define LOADGEN_ORDER_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>

struct order {
	uint32_t *files; /* this pass, shuffled; owned */
	uint32_t file_count;
	uint32_t next;   /* place in files */
	uint64_t pass;   /* passes begun */
	uint64_t passes; /* 0: without end */
	uint64_t seed;
};

/* Fill the empty `o`.  False: out of memory, and `o` is still empty. */
MUST_CHECK bool order_init(struct order *o, uint32_t file_count,
			   uint64_t passes, uint64_t seed);

/* The next file.  False: all passes are over. */
bool order_next(struct order *o, uint32_t *file);

/* Make `o` empty.  An empty one is fine. */
void order_release(struct order *o);

#endif
