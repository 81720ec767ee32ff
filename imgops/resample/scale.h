/* SPDX-License-Identifier: MIT */
/* Inside imgops: scales planes, independent of what their samples mean. */
#ifndef IMGOPS_SCALE_H
#define IMGOPS_SCALE_H

#include "imgops/imgops.h"

/*
 * Fill the planes of `dst`, which image_alloc() made, with the part of the
 * planes of `src` that `view` shows.  Both images must have the same number of
 * planes; any spans are allowed.  False: no memory; `dst` still has its planes.
 */
MUST_CHECK bool scale_planes(struct image *dst, const struct image *src,
			     const struct img_view *view,
			     enum img_filter filter,
			     const struct memory *memory);

/*
 * The most memory that scale_planes() needs in addition to the planes, whose
 * samples are not read.
 */
uint64_t scale_planes_bytes(const struct image *dst, const struct image *src,
			    const struct img_view *view,
			    enum img_filter filter);

#endif
