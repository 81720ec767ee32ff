/* SPDX-License-Identifier: MIT */
/*
 * Placeholder: what a page can show until the picture itself is there.
 *
 * Both parts are of the picture averaged down to a grid of 32 x 32 cells,
 * each the mean of up to 4 x 4 samples spread over it.  Samples are
 * taken for sRGB, also where the picture keeps another profile.
 */
#ifndef IMGOPS_PLACEHOLDER_H
#define IMGOPS_PLACEHOLDER_H

#include "imgops/image.h"

enum { IMG_BLURHASH_CHARS = 28 };

struct img_placeholder {
	/*
	 * BlurHash (blurha.sh) of the grid: 4 x 3 components, or 3 x 4 if the
	 * picture is higher than wide.
	 */
	char blurhash[IMG_BLURHASH_CHARS + 1];
	/*
	 * The dominant colour, R, G and B: the mean of those cells of the grid
	 * that fall in the fullest of 8 x 8 x 8 boxes of equal colours; of
	 * equally full ones, the darkest red, then green, then blue.
	 */
	uint8_t dominant[3];
};

/*
 * Of a picture made by img_scale() or img_blur().  The time does not grow with
 * the picture, and no memory is asked for.
 */
void img_placeholder(struct img_placeholder *out, const struct image *scaled);

#endif
