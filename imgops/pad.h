/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: background around a scaled picture.
 */
#ifndef IMGOPS_PAD_H
#define IMGOPS_PAD_H

#include "imgops/imgops.h"

/* Is there something for pad_image() to do? */
bool pad_is_needed(const struct img_view *view,
		   const struct img_transform *transform);

/*
 * Replace *img, of view->size, by one of img_result_size(), with
 * format_padded_space().  NO_MEMORY: it is unchanged.
 */
MUST_CHECK enum img_err pad_image(struct image *img,
				  const struct img_view *view,
				  const struct img_transform *transform,
				  const struct memory *memory);

/* Make RGBA of a grey or an RGB picture.  NO_MEMORY: it is unchanged. */
MUST_CHECK enum img_err pad_add_alpha(struct image *img,
				      const struct memory *memory);

#endif
