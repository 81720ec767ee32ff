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
 * own manager has given before stays valid.  The memory of each of libjpeg's
 * pools is an arena, in which the coefficients of each component are a block of
 * their own.  Nothing is written to temporary files.
 *
 * Limits  If `bytes_max` is exceeded or there is no memory, error_exit is
 *         called with JERR_OUT_OF_MEMORY.
 */
#ifndef IMGOPS_FORMATS_JPEG_MEMORY_H
#define IMGOPS_FORMATS_JPEG_MEMORY_H

#include "imgops/arena.h"
#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * The least memory for a picture: one chunk for libjpeg's object, one for the
 * rest.
 */
enum { JPEG_MEMORY_BYTES_MIN = 2 * ARENA_CHUNK_BYTES };

struct jpeg_memory {
	/* Must be the first member: jpeg->mem points here. */
	struct jpeg_memory_mgr methods;
	struct jpeg_memory_mgr *original; /* NULL: not installed */
	struct arena_account account;
	struct arena arenas[JPOOL_NUMPOOLS];
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
