/* SPDX-License-Identifier: MIT */
#include "loadgen/order.h"

#include "loadgen/random.h"

#include <assert.h>
#include <stdlib.h>

/* 0 .. n-1.  Some values are likelier than others, by less than n / 2^32. */
static uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(((random_next(state) >> 32) * n) >> 32);
}

/* Fisher-Yates, from the sorted order, so that passes do not depend. */
static void shuffle(struct order *o)
{
	uint64_t state = o->seed;

	state = random_next(&state) + o->pass;
	for (uint32_t i = 0; i < o->file_count; i++)
		o->files[i] = i;
	for (uint32_t left = o->file_count; left > 1; left--) {
		uint32_t pick = random_below(&state, left);
		uint32_t last = o->files[left - 1];

		o->files[left - 1] = o->files[pick];
		o->files[pick] = last;
	}
}

bool order_init(struct order *o, uint32_t file_count, uint64_t passes,
		uint64_t seed)
{
	uint32_t *files = calloc(file_count, sizeof(*files));

	assert(file_count > 0);
	if (files == NULL)
		return false;
	*o = (struct order){
		.files = files,
		.file_count = file_count,
		.next = file_count, /* the first call begins a pass */
		.passes = passes,
		.seed = seed,
	};
	return true;
}

bool order_next(struct order *o, uint32_t *file)
{
	if (o->next == o->file_count) {
		if (o->passes != 0 && o->pass == o->passes)
			return false;
		shuffle(o);
		o->pass++;
		o->next = 0;
	}
	*file = o->files[o->next++];
	return true;
}

void order_release(struct order *o)
{
	free(o->files);
	*o = (struct order){ 0 };
}
