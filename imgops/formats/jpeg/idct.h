/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the inverse DCT at a reduced size.  A block is decoded at n/8
 * of its size, n = 1 .. 4, by an inverse DCT of n by n points over its n by n
 * lowest coefficients.
 *
 * This is the ideal low-pass filter within a block.  For its own reduced sizes
 * 2 and 4, libjpeg averages samples of the full inverse DCT instead.  On 149
 * photos in a 400 box, libjpeg's way gave a median PSNR of 45.6 dB, and this
 * way 47.8 dB.  Also, coefficients after the last needed one do not have to be
 * decoded.  At n = 1 both ways give the same.
 */
#ifndef IMGOPS_FORMATS_JPEG_IDCT_H
#define IMGOPS_FORMATS_JPEG_IDCT_H

#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

enum {
	IDCT_MAX = 4, /* the largest n */
	IDCT_COEFFICIENTS = IDCT_MAX * IDCT_MAX,
	/*
	 * Limit of a dequantised coefficient.  Those of samples of 8 bits are
	 * 2048 at most, and half a step by rounding; between the two passes,
	 * values of this size still fit into 16 bits.
	 */
	IDCT_LIMIT = 4095,
	IDCT_UNUSED = IDCT_COEFFICIENTS,
	IDCT_POSITIONS = 25, /* the needed ones are among the first 25 */
};

/*
 * idct_positions[k] is the index at which idct_block() expects coefficient k in
 * zigzag order (T.81, figure 5), or IDCT_UNUSED. idct_last[n] is the last
 * coefficient that a block of n x n samples needs.
 */
extern const uint8_t idct_positions[IDCT_POSITIONS];
extern const uint8_t idct_last[IDCT_MAX + 1];

/*
 * idct_order[k] is the index of coefficient k in a whole block: (u, v), u along
 * a row, is at [v * DCTSIZE + u].
 */
extern const uint8_t idct_order[DCTSIZE2];

/*
 * The steps of table `number` of `jpeg` for coefficients in zigzag order.
 * False: there is no such table, or a step that idct_block() needs is over
 * INT16_MAX: libjpeg's vector code would take it for a negative number.
 */
MUST_CHECK bool idct_quant(uint16_t quant[DCTSIZE2],
			   const struct jpeg_decompress_struct *jpeg,
			   int number);

static inline int32_t idct_limited(int32_t v)
{
	return v < -IDCT_LIMIT ? -IDCT_LIMIT : v > IDCT_LIMIT ? IDCT_LIMIT : v;
}

/*
 * Choose from the steps of all coefficients, in zigzag order, those of
 * idct_block().
 */
void idct_choose_steps(uint16_t steps[IDCT_COEFFICIENTS],
		       const uint16_t quant[DCTSIZE2]);

/*
 * Write n x n samples to rows `stride_bytes` apart.  Coefficient (u, v), u
 * along a row, is at [v * IDCT_MAX + u], as it is in the file, and so is its
 * step. Their product is limited if n > 1; at 1/8, libjpeg does not limit it.
 * If n > 1, steps are INT16_MAX at most.
 */
void idct_block(uint8_t *out, size_t stride_bytes,
		const int16_t coefficients[IDCT_COEFFICIENTS],
		const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n);

/* The same without vectors, which gives the same samples; for tests. */
void idct_block_portable(uint8_t *out, size_t stride_bytes,
			 const int16_t coefficients[IDCT_COEFFICIENTS],
			 const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n);

/*
 * The same for `count` blocks side by side.  Coefficient (0, 0) of block i is
 * dc[i]; its others are at values[i * apart], as for idct_block() if n is 3 or
 * 4, and (u, v) at [v * 2 + u] if n is 2.  The first of them is not read.
 */
void idct_row(uint8_t *out, size_t stride_bytes, const int16_t *dc,
	      const int16_t *values, size_t apart,
	      const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n,
	      uint32_t count);

void idct_row_portable(uint8_t *out, size_t stride_bytes, const int16_t *dc,
		       const int16_t *values, size_t apart,
		       const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n,
		       uint32_t count);

#endif
