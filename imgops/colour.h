/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: what a picture's samples must go through to be grey or Y'CbCr
 * in sRGB, or in the picture's own profile where that is kept.
 */
#ifndef IMGOPS_COLOUR_H
#define IMGOPS_COLOUR_H

#include "imgops/icc.h"
#include "imgops/imgops.h"

struct colour {
	struct icc icc; /* to sRGB; none: the numbers stay */
	bool keeps_profile;
	uint32_t notes; /* bits of image.notes */
};

/*
 * Decide for `src`, of which `size` will be left.  End with colour_close().
 * False: no memory.
 */
IMG_CHECK bool colour_open(struct colour *c, const struct image *src,
			   struct img_size size,
			   const struct img_recipe *recipe);

/* True: pixels must be whole, so all planes as large as luma. */
bool colour_needs_pixels(const struct colour *c, const struct image *src);

/*
 * Make `dst`, which is empty, of `src`, whose planes are all of one size.
 * False: no memory, and `dst` is empty.
 */
IMG_CHECK bool colour_convert(struct image *dst, const struct image *src,
			      const struct colour *c, bool full_chroma,
			      const struct img_memory *memory);

/* Convert a picture that does not need whole pixels, where it lies. */
void colour_convert_grey(struct image *img, const struct colour *c);

/* Give `dst` the notes, and the profile if it is kept.  False: no memory. */
IMG_CHECK bool colour_label(struct image *dst, const struct image *src,
			    const struct colour *c,
			    const struct img_memory *memory);

void colour_close(struct colour *c);

#endif
