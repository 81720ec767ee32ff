/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: does a result lose colours if its chroma has half of each
 * side?  That is what IMG_CHROMA_AUTO asks.
 *
 * Some pairs of rows of the result are looked at.  Of each 2 x 2 pixels, 4:2:0
 * keeps only the mean of Cb and that of Cr.  A block of pixels that differ from
 * these varies, and one of pixels that differ much is sharp.  In screens,
 * drawings and coloured text most of those that vary are sharp; in photos few
 * are, even in those with strong colours.
 *
 * Limits  The time does not grow with the picture, and no memory is needed.
 */
#ifndef IMGOPS_CHROMA_H
#define IMGOPS_CHROMA_H

#include "imgops/resample/weights.h"

/* Blocks of 2 x 2 pixels that were looked at. */
struct chroma_count {
	uint32_t blocks;
	uint32_t varied;
	uint32_t sharp; /* they are varied, too */
};

/* How many pairs of rows of a result are looked at. */
uint32_t chroma_pairs(uint32_t height_px);

/*
 * The upper row of pair `i`: even, and not below that of the next pair.  The
 * lower row exists.
 */
uint32_t chroma_pair(uint32_t i, uint32_t height_px);

/* Add the blocks of two rows, each of which has a row of Cb and one of Cr. */
void chroma_add(struct chroma_count *count, const uint8_t *const upper[2],
		const uint8_t *const lower[2], uint32_t width_px);

/* True: with halved chroma, colours would be lost. */
bool chroma_is_sharp(const struct chroma_count *count);

/*
 * The same for a result that is to be scaled from `src`, in Y'CbCr.  `x` and
 * `y` are the axes of its chroma, to a result in 4:4:4 as it is stored in the
 * file; they begin at the sample (left, top).
 */
bool chroma_is_sharp_scaled(const struct image *src, const struct axis *x,
			    const struct axis *y, uint32_t left, uint32_t top);

/*
 * Has the chroma of a file, with these axes, more samples than a result with
 * halved chroma keeps?  If not, nothing is lost.
 */
bool chroma_is_finer(const struct axis *x, const struct axis *y);

/* The same for a picture in RGBA that is encoded in Y'CbCr. */
bool chroma_is_sharp_rgba(const struct image *src);

/* How many pixels of a result of this size are looked at, at most. */
uint64_t chroma_pixels_max(struct img_size size);

#endif
