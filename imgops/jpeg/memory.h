/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: libjpeg's memory manager on top of struct memory.
 *
 *	jpeg_create_decompress(&jpeg);
 *	jpeg_memory_install(&m, (j_common_ptr)&jpeg, memory, bytes_max);
 *	... also left by longjmp ...
 *	jpeg_memory_release(&m, (j_common_ptr)&jpeg);
 *	jpeg_destroy_decompress(&jpeg);
 *
 * It replaces jpeg->mem until it is released; what libjpeg's own manager has
 * given before stays valid.  Small requests share chunks.  A large request is a
 * block of its own, and so are the coefficients of each component.  Nothing is
 * written to temporary files.
 *
 * Limits  Over `bytes_max`, or out of memory: JERR_OUT_OF_MEMORY through
 *         error_exit.
 */
#ifndef IMGOPS_JPEG_MEMORY_H
#define IMGOPS_JPEG_MEMORY_H

#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * What is asked of struct memory: chunks, which small requests share, and
 * blocks, which have some bytes more than the large request.
 */
enum {
	JPEG_MEMORY_CHUNK_BYTES = 32 << 10,
	JPEG_MEMORY_BLOCK_EXTRA = 48,
	/* Of a picture: one chunk for libjpeg's object, one for the rest. */
	JPEG_MEMORY_BYTES_MIN = 2 * JPEG_MEMORY_CHUNK_BYTES,
};

/* Memory of one lifetime: that of the picture or that of the JPEG object. */
struct jpeg_arena {
	struct jpeg_memory_block *blocks;
	uint8_t *next; /* in the last chunk: what is still free */
	size_t left_bytes;
};

struct jpeg_memory {
	struct jpeg_memory_mgr methods;   /* first: jpeg->mem points here */
	struct jpeg_memory_mgr *original; /* NULL: not installed */
	const struct memory *memory;
	uint64_t bytes;     /* taken from `memory` and not freed */
	uint64_t bytes_max; /* for all of it; may be set at any time */
	bool over_limit;    /* the error was `bytes_max` */
	struct jpeg_arena arenas[JPOOL_NUMPOOLS];
	struct jvirt_sarray_control *sample_arrays;
	struct jvirt_barray_control *block_arrays;
};

/* Call it right after jpeg_create_*(). */
void jpeg_memory_install(struct jpeg_memory *m, j_common_ptr jpeg,
			 const struct memory *memory, uint64_t bytes_max);

/*
 * Before jpeg_destroy(): give all back; jpeg->mem is libjpeg's own again.  Does
 * nothing if `m` is zero or released.
 */
void jpeg_memory_release(struct jpeg_memory *m, j_common_ptr jpeg);

/*
 * The bytes that libjpeg asks of struct memory for a picture of which it keeps
 * all coefficients.  There are `count` components with `blocks` each; its small
 * allocations take `before` and `after` bytes in addition.
 */
uint64_t jpeg_memory_bytes(const struct img_size *blocks, uint32_t count,
			   size_t before, size_t after);

#endif
