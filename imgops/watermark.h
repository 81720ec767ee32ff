/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: where a watermark is in a result, and how it gets there.
 */
#ifndef IMGOPS_WATERMARK_H
#define IMGOPS_WATERMARK_H

#include "imgops/imgops.h"

/* The part of a result of this size; its left and upper sides are even. */
struct img_rect watermark_place(const struct img_watermark *w,
				struct img_size result,
				const struct img_transform *transform);

/* Draw it over a result, in place.  NO_MEMORY: nothing has changed. */
MUST_CHECK enum img_err watermark_draw(struct image *img,
				       const struct img_watermark *w,
				       const struct img_transform *transform,
				       const struct memory *memory);

#endif
