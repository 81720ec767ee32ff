/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the gain map that is attached to an image.
 *
 * Each step makes its own image first, and then calls a function below, which
 * does the same to the map.
 *
 * A map is a picture of its own, usually smaller than its base, and samples of
 * both are where the same fractions of their sides are.  So one view serves for
 * both, except for its size.
 */
#ifndef IMGOPS_GAINMAP_H
#define IMGOPS_GAINMAP_H

#include "imgops/imgops.h"

/* True: each number is one that a map can have. */
bool gain_is_valid(const struct img_gain *gain);

/* Attach an empty map to `img`.  NULL: no memory. */
MUST_CHECK struct img_gainmap *gainmap_attach(struct image *img,
					      const struct memory *memory);

void gainmap_free(struct img_gainmap *map, const struct memory *memory);

/* Attach a copy of `from`, which may be as strange as for img_copy(). */
MUST_CHECK enum img_err gainmap_copy(struct image *dst,
				     const struct img_gainmap *from,
				     const struct memory *memory);

/*
 * Attach to `dst` the map of `src`, scaled.  `is_converted`: the base is no
 * longer in the colours of src->profile.  A map whose profile is bad is left
 * out, with a note.
 */
MUST_CHECK enum img_err gainmap_scale(struct image *dst,
				      const struct image *src,
				      const struct img_view *view,
				      const struct img_transform *transform,
				      bool is_converted,
				      const struct memory *memory);

/* Attach to `dst` the map of `src`, blurred as img_blur() blurs `src`. */
MUST_CHECK enum img_err gainmap_blur(struct image *dst, const struct image *src,
				     double sigma_px,
				     const struct memory *memory);

#endif
