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
 * How far libjpeg may write past a plane.  It writes whole blocks, less than
 * one block too many, and is handed whole groups of rows, less than one group
 * too many.  A component is decoded at n/8 with n <= 8 if that is the scale of
 * the picture; n is doubled only while n < 8 and only for a component with at
 * most half the picture's samples, both ways.  So n <= 14, and rows in a group
 * <= 4 x 8.
 */
enum {
	IMAGE_BLOCK_PX = 16,
	IMAGE_ROW_GROUP_MAX = 32,
};

/*
 * Allocate the samples of `img`, whose plane_count and planes' width, height
 * and spans are set.  Samples are not initialised.  False: no memory, and
 * `img` is empty.  The only place where sizes are multiplied.
 */
IMG_CHECK bool image_alloc(struct image *img, const struct img_memory *memory);

/* Bytes that image_alloc() would ask for. */
uint64_t image_bytes(const struct image *img);

/* Set up a 4:2:0 or grey picture of `size`, without samples. */
void image_shape(struct image *img, struct img_size size, uint32_t plane_count);

/* True: `img` holds such a picture, as img_scale() and img_blur() make. */
bool image_is_shaped(const struct image *img);

#endif
