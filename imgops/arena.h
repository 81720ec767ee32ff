/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: memory for a library that makes many small allocations, of
 * sizes that a file may choose.  It comes from a struct memory, so it is
 * charged; it has a limit; and it can be freed when the library was left by
 * longjmp.
 *
 * Small requests share chunks, a large request is a block of its own.  An arena
 * is freed as a whole.  Several arenas may share an account, and so its limit.
 *
 * Threads  One at a time for an account and its arenas.
 */
#ifndef IMGOPS_ARENA_H
#define IMGOPS_ARENA_H

#include "base/memory.h"

#include <stdbool.h>

/*
 * Sizes of the requests to struct memory.  A large request gets a block, which
 * is some bytes larger than the request.
 */
enum {
	ARENA_CHUNK_BYTES = 32 << 10,
	ARENA_BLOCK_EXTRA = 48,
	ARENA_ALIGN_BYTES = 32, /* of everything in an arena */
};

struct arena_account {
	const struct memory *memory;
	uint64_t bytes;     /* taken from `memory` and not freed */
	uint64_t bytes_max; /* limit of `bytes`; may be changed at any time */
	/* A request was refused because it would exceed `bytes_max`. */
	bool over_limit;
};

/* {0} is empty. */
struct arena {
	struct arena_block *blocks;
	uint8_t *next; /* the free part of the last chunk */
	size_t left_bytes;
};

/*
 * Undefined bytes, valid until arena_free().  NULL: no memory, or over the
 * limit.
 */
void *arena_alloc(struct arena *a, struct arena_account *account, size_t bytes);

/* Free everything; the arena is empty then. */
void arena_free(struct arena *a, struct arena_account *account);

/* The memory that arena_alloc() takes for a series of requests; {0}: none. */
struct arena_requests {
	uint64_t bytes;      /* size of all chunks and blocks */
	uint64_t left_bytes; /* still free in the last chunk */
};

void arena_requests_add(struct arena_requests *r, uint64_t bytes);

#endif
