/* SPDX-License-Identifier: MIT */
/*
 * Pool: memory for pictures that is used again instead of given back.
 *
 * Blocks come from the system by the page, in sizes that grow by at most a
 * quarter, so at most 25 % of a block (and a page) is not asked for.  A freed
 * block is kept for a request of about its size.  Those not used for longest go
 * back to the system when more than the limit is kept, or when blocks in use
 * and kept together are 16 MiB more than ever were in use since the last trim.
 *
 * Ownership  A pool owns its blocks.  All must be freed before img_pool_free().
 * Threads    Any, at once; a block may be freed by another thread than the one
 *            that asked for it.
 * Limits     What is kept; and all, by img_pool_limit().
 */
#ifndef IMGOPS_POOL_H
#define IMGOPS_POOL_H

#include "imgops/image.h"

struct img_pool;

/* In bytes of whole blocks, so more than was asked for. */
struct img_pool_stats {
	uint64_t live_bytes; /* in use */
	uint64_t live_bytes_peak;
	uint64_t kept_bytes; /* free, for the next request */
	uint64_t live_count; /* blocks */
	uint64_t kept_count;
	uint64_t mapped_count; /* blocks ever taken from the system */
};

/* NULL: no memory. */
struct img_pool *img_pool_new(size_t kept_bytes_max);

/*
 * Have at most `bytes_max` mapped, in use or kept; a request for more gets
 * NULL.  None does while all in use, counted by img_pool_count(), is at most
 * img_pool_promised(bytes_max): the rest is for blocks that are larger than
 * need be because they were kept.  Call it before the first request.
 */
void img_pool_limit(struct img_pool *pool, size_t bytes_max);
size_t img_pool_promised(size_t bytes_max);

/* What a request for `bytes`, at most 1 TiB, counts: its block, rounded up. */
size_t img_pool_count(size_t bytes);

/* The same of a block of any pool; of NULL, 0. */
size_t img_pool_block_count(const void *block);

/*
 * What to hand to the functions of imgops.h.  Blocks are aligned to 64 bytes,
 * their content is not defined.  Valid until img_pool_free().
 */
const struct img_memory *img_pool_memory(const struct img_pool *pool);

/* Give all that is kept back to the system: call it when there is no work. */
void img_pool_trim(struct img_pool *pool);

/* As the pool's own `free`, whichever pool `block` is of.  NULL is fine. */
void img_pool_block_free(void *block);

void img_pool_read(struct img_pool *pool, struct img_pool_stats *out);

void img_pool_free(struct img_pool *pool);

#endif
