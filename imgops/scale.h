/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: scaling as such, whatever the planes hold.
 */
#ifndef IMGOPS_SCALE_H
#define IMGOPS_SCALE_H

#include "imgops/imgops.h"

/*
 * Fill the planes of `dst`, which image_alloc() made, with those of `src` as
 * far as `view` shows them.  Any number of planes, and any pair of spans; both
 * must have the same number.  False: no memory; `dst` still holds its planes.
 */
IMG_CHECK bool scale_planes(struct image *dst, const struct image *src,
			    const struct img_view *view,
			    const struct img_memory *memory);

#endif
