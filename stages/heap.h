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

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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

static inline bool heap_is_before(const struct heap_entry *a,
				  const struct heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

/* Make room for `count` entries in an empty heap.  False: no memory. */
MUST_CHECK static inline bool heap_reserve(struct heap *h, uint32_t count)
{
	h->entries = calloc(count, sizeof(*h->entries));
	h->capacity = h->entries != NULL ? count : 0;
	return h->entries != NULL;
}

static inline void heap_push(struct heap *h, struct heap_entry entry)
{
	if (h->count == h->capacity) {
		h->capacity = h->capacity == 0 ? 16 : 2 * h->capacity;
		h->entries =
			realloc(h->entries, h->capacity * sizeof(*h->entries));
		assert(h->entries != NULL);
	}
	uint32_t at = h->count++;

	while (at > 0 && heap_is_before(&entry, &h->entries[(at - 1) / 2])) {
		h->entries[at] = h->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	h->entries[at] = entry;
}

/* The heap is not empty. */
static inline struct heap_entry heap_pop(struct heap *h)
{
	assert(h->count > 0);
	struct heap_entry *e = h->entries;
	struct heap_entry first = e[0];
	struct heap_entry last = e[--h->count];
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
		if (child + 1 < h->count &&
		    heap_is_before(&e[child + 1], &e[child]))
			child++;
		if (!heap_is_before(&e[child], &last))
			break;
		e[at] = e[child];
	}
	e[at] = last;
	return first;
}

static inline void heap_release(struct heap *h)
{
	free(h->entries);
	*h = (struct heap){ 0 };
}

#endif
