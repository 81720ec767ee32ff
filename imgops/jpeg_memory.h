/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: libjpeg's memory manager on top of struct img_memory.
 *
 *	jpeg_create_decompress(&jpeg);
 *	jpeg_memory_install(&m, (j_common_ptr)&jpeg, memory, bytes_max);
 *	... also left by longjmp ...
 *	jpeg_memory_release(&m, (j_common_ptr)&jpeg);
 *	jpeg_destroy_decompress(&jpeg);
 *
 * Takes the place of jpeg->mem, libjpeg's own, which keeps what it has given
 * before.  Small requests are cut from chunks; large ones, and each component's
 * coefficients, are one block.  Nothing goes to a file.
 *
 * Limits  Over `bytes_max`, or out of memory: JERR_OUT_OF_MEMORY through
 *         error_exit.
 */
#ifndef IMGOPS_JPEG_MEMORY_H
#define IMGOPS_JPEG_MEMORY_H

#include "imgops/image.h"

#include <stdio.h>

#include <jpeglib.h>

/* Asked of struct img_memory: for small things together, and beside large. */
enum {
	JPEG_MEMORY_CHUNK_BYTES = 32 << 10,
	JPEG_MEMORY_BLOCK_EXTRA = 48,
};

/* What lives as long as the picture, or as long as the JPEG object. */
struct jpeg_arena {
	struct jpeg_memory_block *blocks;
	uint8_t *next; /* in the last chunk: what is not given away yet */
	size_t left_bytes;
};

struct jpeg_memory {
	struct jpeg_memory_mgr methods;   /* first: jpeg->mem points here */
	struct jpeg_memory_mgr *original; /* NULL: not installed */
	const struct img_memory *memory;
	uint64_t bytes;     /* taken from `memory`, not given back */
	uint64_t bytes_max; /* for all of it; may be set at any time */
	bool over_limit;    /* the error was `bytes_max` */
	struct jpeg_arena arenas[JPOOL_NUMPOOLS];
	struct jvirt_sarray_control *sample_arrays;
	struct jvirt_barray_control *block_arrays;
};

/* Right after jpeg_create_*(). */
void jpeg_memory_install(struct jpeg_memory *m, j_common_ptr jpeg,
			 const struct img_memory *memory, uint64_t bytes_max);

/*
 * Before jpeg_destroy(): give all back; jpeg->mem is libjpeg's own again.  Does
 * nothing if `m` is zero or released.
 */
void jpeg_memory_release(struct jpeg_memory *m, j_common_ptr jpeg);

#endif
