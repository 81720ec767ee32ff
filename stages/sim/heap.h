/* SPDX-License-Identifier: MIT */
/*
 * Heaps: the entry of the least key first; of equal keys, the least order.
 *
 * Limits     Grows as needed; a simulation that has no memory left is over, so
 *            it aborts.
 */
#ifndef STAGES_SIM_HEAP_H
#define STAGES_SIM_HEAP_H

#include <stdint.h>

struct heap_entry {
	uint64_t key, order;
	void *item;
	uint32_t tag; /* the user's */
};

/* All zero is empty. */
struct heap {
	struct heap_entry *entries; /* the first is the least */
	uint32_t count, capacity;
};

void heap_push(struct heap *h, struct heap_entry entry);

/* Of a heap that is not empty. */
struct heap_entry heap_pop(struct heap *h);

void heap_release(struct heap *h);

#endif
