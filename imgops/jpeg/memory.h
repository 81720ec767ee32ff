/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: libjpeg's memory manager on top of struct memory.
 *
 *	jpeg_create_decompress(&jpeg);
 *	jpeg_memory_install(&m, (j_common_ptr)&jpeg, memory, bytes_max);
 *	... libjpeg, which may leave by longjmp ...
 *	jpeg_memory_release(&m, (j_common_ptr)&jpeg);
 *	jpeg_destroy_decompress(&jpeg);
 *
 * The manager replaces jpeg->mem until it is released.  Memory that libjpeg's
 * own manager has given before stays valid.  Small requests share chunks.  A
 * large request is a block of its own, and so are the coefficients of each
 * component.  Nothing is written to temporary files.
 *
 * Limits  If `bytes_max` is exceeded or there is no memory, error_exit is
 *         called with JERR_OUT_OF_MEMORY.
 */
#ifndef IMGOPS_JPEG_MEMORY_H
#define IMGOPS_JPEG_MEMORY_H

#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * Sizes of the requests to struct memory.  Small requests share chunks.  A
 * large request gets a block, which is some bytes larger than the request.
 */
enum {
	JPEG_MEMORY_CHUNK_BYTES = 32 << 10,
	JPEG_MEMORY_BLOCK_EXTRA = 48,
	/*
	 * The least memory for a picture: one chunk for libjpeg's object, one
	 * for the rest.
	 */
	JPEG_MEMORY_BYTES_MIN = 2 * JPEG_MEMORY_CHUNK_BYTES,
};

/* Memory that is freed together: with the picture or with the JPEG object. */
struct jpeg_arena {
	struct jpeg_memory_block *blocks;
	uint8_t *next; /* the free part of the last chunk */
	size_t left_bytes;
};

struct jpeg_memory {
	/* Must be the first member: jpeg->mem points here. */
	struct jpeg_memory_mgr methods;
	struct jpeg_memory_mgr *original; /* NULL: not installed */
	const struct memory *memory;
	uint64_t bytes;     /* taken from `memory` and not freed */
	uint64_t bytes_max; /* limit of `bytes`; may be changed at any time */
	bool over_limit;    /* the error was that `bytes_max` was exceeded */
	struct jpeg_arena arenas[JPOOL_NUMPOOLS];
	struct jvirt_sarray_control *sample_arrays;
	struct jvirt_barray_control *block_arrays;
};

/* Call it right after jpeg_create_*(). */
void jpeg_memory_install(struct jpeg_memory *m, j_common_ptr jpeg,
			 const struct memory *memory, uint64_t bytes_max);

/*
 * Free everything and restore libjpeg's own jpeg->mem.  Call it before
 * jpeg_destroy().  Does nothing if `m` is zero or already released.
 */
void jpeg_memory_release(struct jpeg_memory *m, j_common_ptr jpeg);

/*
 * The bytes that libjpeg takes from struct memory for a picture of which it
 * keeps all coefficients.  There are `count` components; component i has
 * blocks[i].  In addition, libjpeg's small allocations take `before` bytes
 * before the coefficients and `after` bytes after them.
 */
uint64_t jpeg_memory_bytes(const struct img_size *blocks, uint32_t count,
			   size_t before, size_t after);

#endif
