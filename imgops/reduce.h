/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: a block at n/8 of its size, n = 1 .. 4, by an inverse DCT of n
 * by n points over its n by n lowest coefficients.
 *
 * That is the ideal low-pass filter within a block.  libjpeg's own reduced
 * sizes 2 and 4 average samples of the full inverse DCT instead; on 149 photos
 * in a 400 box that gave a median PSNR of 45.6 dB, this gives 47.8, and
 * coefficients behind the last needed one need not be decoded.  At n = 1 both
 * are the same.
 */
#ifndef IMGOPS_REDUCE_H
#define IMGOPS_REDUCE_H

#include <stddef.h>
#include <stdint.h>

enum {
	REDUCE_MAX = 4,
	REDUCE_COEFFICIENTS = REDUCE_MAX * REDUCE_MAX,
	REDUCE_LIMIT = 16383, /* of a dequantised coefficient; legal: 8192 */
};

static inline int32_t reduce_limited(int32_t v)
{
	return v < -REDUCE_LIMIT ? -REDUCE_LIMIT :
	       v > REDUCE_LIMIT  ? REDUCE_LIMIT :
				   v;
}

/* DC of a block, whatever the file says; at 1/8 libjpeg knows no limit. */
static inline int32_t reduce_dc(int32_t coefficient, int32_t step, uint32_t n)
{
	return n == 1 ? coefficient * step : reduce_limited(coefficient * step);
}

/*
 * Write n x n samples to rows `stride_bytes` apart.  Coefficient (u, v), u
 * along a row, is at [v * REDUCE_MAX + u], dequantised, limited if n > 1.
 */
void reduce_block(uint8_t *out, size_t stride_bytes,
		  const int32_t coefficients[REDUCE_COEFFICIENTS], uint32_t n);

#endif
