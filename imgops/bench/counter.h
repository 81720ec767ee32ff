/* SPDX-License-Identifier: MIT */
/*
 * Counter: a struct img_memory around another that counts what is live.
 *
 * Bytes are counted as asked for, whatever the other one makes of them.  Live
 * blocks are kept in a list beside them, not in front of them, so that the
 * other one gets the sizes and gives the alignment it would without.
 *
 * Threads    One at a time.
 */
#ifndef IMGOPS_BENCH_COUNTER_H
#define IMGOPS_BENCH_COUNTER_H

#include "imgops/image.h"

struct counter_block {
	void *start;
	size_t bytes;
};

struct counter {
	struct img_memory memory; /* give this to imgops */
	const struct img_memory *inner;
	struct counter_block *blocks; /* live, in order of allocation */
	size_t block_count;
	size_t block_room;
	uint64_t alloc_count;
	uint64_t live_bytes;
	uint64_t peak_bytes; /* the caller may set it back to live_bytes */
};

void counter_init(struct counter *c, const struct img_memory *inner);

/* All blocks must have been freed. */
void counter_release(struct counter *c);

#endif
