/* SPDX-License-Identifier: MIT */
/*
 * Memory: an allocator as a value, and a pool that keeps freed blocks.
 *
 * Code that needs large buffers takes a `const struct memory *` from its caller
 * instead of calling malloc().
 *
 * The pool takes blocks from the system in whole pages.  Block sizes grow by at
 * most a quarter, so at most 25 % of a block (and one page) is more than was
 * asked for.  A freed block is kept for a later request of about the same size.
 * When the pool keeps too much, it returns the blocks that were freed longest
 * ago to the system.  It keeps too much if kept blocks exceed the limit.  It
 * also keeps too much if kept blocks and blocks in use together exceed the
 * largest amount in use since the last trim by more than 4 MiB.
 *
 * Ownership  A pool owns its blocks.  All must be freed before
 *            memory_pool_free().
 * Threads    Any number of threads may use one pool at once.  A thread may free
 *            a block that another thread asked for.
 * Limits     memory_pool_new() sets limits for kept memory and for all mapped
 *            memory.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "base/util.h" /* MUST_CHECK */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Another thread for a part of long work, if a core has nothing else to do.
 * begin() has it call run(work) soon.  False: nobody is idle, and it will not.
 * end() waits until run() has returned; or, if it has not been called, takes it
 * back, and returns false.  After begin(), end() comes before the next begin().
 */
struct helper {
	bool (*begin)(struct helper *h, void (*run)(void *work), void *work);
	bool (*end)(struct helper *h);
};

/*
 * What long work gets from its caller: memory, and the chance to pause.
 * `alloc` is like malloc(), `free` like free().  The work calls `pause` again
 * and again, unless `pause` is NULL.  That call may take long and may return on
 * another thread.  So the work holds no lock during the call, and afterwards
 * uses nothing that belongs to the old thread.  `helper` may be NULL: none.
 */
struct memory {
	void *(*alloc)(void *arg, size_t bytes);
	void (*free)(void *arg, void *block);
	void *arg;
	void (*pause)(void *arg);
	struct helper *helper;
};

/* NULL: no memory. */
static inline void *memory_alloc(const struct memory *m, size_t bytes)
{
	return m->alloc(m->arg, bytes);
}

/* NULL is fine. */
static inline void memory_free(const struct memory *m, void *block)
{
	if (block != NULL)
		m->free(m->arg, block);
}

static inline void memory_pause(const struct memory *m)
{
	if (m->pause != NULL)
		m->pause(m->arg);
}

struct memory_pool;

/* Bytes count whole blocks, which are larger than what was asked for. */
struct memory_pool_stats {
	uint64_t live_bytes; /* in use */
	uint64_t live_bytes_peak;
	uint64_t kept_bytes; /* free, for later requests */
	uint64_t live_count; /* blocks */
	uint64_t kept_count;
	uint64_t mapped_count; /* number of blocks that were ever mapped */
};

/*
 * A pool that keeps freed blocks of at most `kept_bytes_max` in all, and maps
 * at most `bytes_max`, in use or kept (SIZE_MAX: no limit).  A request that
 * would exceed `bytes_max` gets NULL.  Returns NULL if there is no memory.
 */
struct memory_pool *memory_pool_new(size_t kept_bytes_max, size_t bytes_max);

/*
 * The part of `bytes_max` that requests can rely on: as long as the charges
 * (below) of all blocks in use add up to at most this, no request is refused
 * because of `bytes_max`.  The rest is needed because a request may get a kept
 * block that is larger than necessary.
 */
size_t memory_pool_guaranteed(size_t bytes_max);

/*
 * The charge of a request for `bytes` (at most 1 TiB): rounded up to a block.
 */
size_t memory_pool_charge(size_t bytes);

/*
 * No fewer than the charges of `count` requests for `bytes` together.
 */
size_t memory_pool_charges_max(size_t bytes, size_t count);

/* The charge of the request that got `block`, of any pool; 0 for NULL. */
size_t memory_pool_block_charge(const void *block);

/*
 * The pool as an allocator, valid until memory_pool_free().  Blocks are aligned
 * to 64 bytes; their content is undefined.
 */
const struct memory *memory_pool_memory(const struct memory_pool *pool);

/* Return all kept blocks to the system.  Call it when the program is idle. */
void memory_pool_trim(struct memory_pool *pool);

/* Free `block`, whichever pool it belongs to.  NULL is fine. */
void memory_pool_block_free(void *block);

void memory_pool_read(struct memory_pool *pool, struct memory_pool_stats *out);

void memory_pool_free(struct memory_pool *pool);

#endif
