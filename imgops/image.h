/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: how images are laid out in memory.
 *
 * All planes of an image share one block.  Every row has room for whole JPEG
 * blocks, and every plane for whole rows of blocks, so that libjpeg may write
 * and read past the picture's edge.
 */
#ifndef IMGOPS_IMAGE_H
#define IMGOPS_IMAGE_H

#include "imgops/imgops.h"

/*
 * Allocate the samples of `img`, whose plane_count and planes' width, height
 * and spans are set.  Samples are not initialised.  False: no memory, and
 * `img` is empty.  The only place where sizes are multiplied.
 */
IMG_CHECK bool image_alloc(struct image *img, const struct img_memory *memory);

/* Bytes that image_alloc() would ask for.  UINT64_MAX: more than that. */
uint64_t image_bytes(const struct image *img);

/* Set up a 4:2:0 or grey picture of `size`, without samples. */
void image_shape(struct image *img, struct img_size size, uint32_t plane_count);

#endif
