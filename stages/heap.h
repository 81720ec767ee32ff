/* SPDX-License-Identifier: MIT */
/*
 * Heap: a priority queue.  The entry with the lowest key is first; of equal
 * keys, the one with the lowest order.
 *
 * Limits     heap_push() grows the heap beyond what was reserved.  If there is
 *            no memory for that, it aborts the program.  Only the simulator
 *            pushes more than it has reserved.
 */
#ifndef STAGES_HEAP_H
#define STAGES_HEAP_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_entry {
	uint64_t key, order;
	void *item;
	uint32_t tag; /* for the user */
};

/* A struct of zeros is empty. */
struct heap {
	struct heap_entry *entries; /* the first is the least */
	uint32_t count, capacity;
};

/* Make room for `count` entries in an empty heap.  False: no memory. */
MUST_CHECK bool heap_reserve(struct heap *h, uint32_t count);

void heap_push(struct heap *h, struct heap_entry entry);

/* The heap is not empty. */
struct heap_entry heap_pop(struct heap *h);

void heap_release(struct heap *h);

#endif
