/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: how the planes of an image are laid out in memory.
 */
#ifndef IMGOPS_PLANES_H
#define IMGOPS_PLANES_H

#include "imgops/image.h"

/*
 * How far past a plane is written: whole blocks, less than one too many, and
 * whole MCUs, of at most 4 x 4 blocks.
 */
enum {
	IMAGE_BLOCK_PX = 16,
	IMAGE_ROW_GROUP_MAX = 32,
	IMAGE_SIDE_PX_MAX = 65500, /* libjpeg's */
};

/*
 * Allocate the samples of `img`, whose plane_count and planes' width, height
 * and spans are set.  Samples are not initialised.  False: no memory, and
 * `img` is empty.  The only place where sizes are multiplied.
 */
IMG_CHECK bool image_alloc(struct image *img, const struct img_memory *memory);

/* Bytes that image_alloc() would ask for. */
uint64_t image_bytes(const struct image *img);

uint32_t image_planes(enum img_space space);

/* Set up a picture of `size`, chroma of half its sides or full, no samples. */
void image_shape(struct image *img, struct img_size size, enum img_space space,
		 bool full_chroma);

/* Of a picture that is not grey: its chroma is not subsampled. */
bool image_has_full_chroma(const struct image *img);

/* True: `img` holds such a picture, grey or Y'CbCr, as img_scale() makes. */
bool image_is_shaped(const struct image *img);

#endif
