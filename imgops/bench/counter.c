/* SPDX-License-Identifier: MIT */
#include "imgops/bench/counter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *counter_alloc(void *arg, size_t bytes)
{
	struct counter *c = arg;
	void *start;

	if (c->block_count == c->block_room) {
		size_t room = c->block_room * 2 + 16;
		void *more = reallocarray(c->blocks, room, sizeof(*c->blocks));

		if (more == NULL)
			return NULL;
		c->blocks = more;
		c->block_room = room;
	}
	start = c->inner->alloc(c->inner->arg, bytes);
	if (start == NULL)
		return NULL;
	c->blocks[c->block_count++] = (struct counter_block){ start, bytes };
	c->alloc_count++;
	c->live_bytes += bytes;
	if (c->live_bytes > c->peak_bytes)
		c->peak_bytes = c->live_bytes;
	return start;
}

static void counter_free(void *arg, void *start)
{
	struct counter *c = arg;
	size_t i = c->block_count;

	while (i > 0 && c->blocks[i - 1].start != start)
		i--;
	assert(i > 0); /* not ours, or freed twice */
	c->live_bytes -= c->blocks[i - 1].bytes;
	memmove(&c->blocks[i - 1], &c->blocks[i],
		(c->block_count - i) * sizeof(*c->blocks));
	c->block_count--;
	c->inner->free(c->inner->arg, start);
}

void counter_init(struct counter *c, const struct img_memory *inner)
{
	*c = (struct counter){
		.memory = { counter_alloc, counter_free, c },
		.inner = inner,
	};
}

void counter_release(struct counter *c)
{
	assert(c->block_count == 0 && c->live_bytes == 0);
	free(c->blocks);
	*c = (struct counter){ 0 };
}
