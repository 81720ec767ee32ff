/* SPDX-License-Identifier: MIT */
#include "stages/heap.h"

#include <assert.h>
#include <stdlib.h>

static bool is_before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

bool heap_reserve(struct heap *h, uint32_t count)
{
	h->entries = calloc(count, sizeof(*h->entries));
	h->capacity = h->entries != NULL ? count : 0;
	return h->entries != NULL;
}

void heap_push(struct heap *h, struct heap_entry entry)
{
	if (h->count == h->capacity) {
		h->capacity = h->capacity == 0 ? 16 : 2 * h->capacity;
		h->entries =
			realloc(h->entries, h->capacity * sizeof(*h->entries));
		assert(h->entries != NULL);
	}
	uint32_t at = h->count++;

	while (at > 0 && is_before(&entry, &h->entries[(at - 1) / 2])) {
		h->entries[at] = h->entries[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	h->entries[at] = entry;
}

struct heap_entry heap_pop(struct heap *h)
{
	assert(h->count > 0);
	struct heap_entry *e = h->entries;
	struct heap_entry first = e[0];
	struct heap_entry last = e[--h->count];
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < h->count; at = child) {
		if (child + 1 < h->count && is_before(&e[child + 1], &e[child]))
			child++;
		if (!is_before(&e[child], &last))
			break;
		e[at] = e[child];
	}
	e[at] = last;
	return first;
}

void heap_release(struct heap *h)
{
	free(h->entries);
	*h = (struct heap){ 0 };
}
