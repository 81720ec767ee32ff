/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: weighted sums of rows, the inner loops of scale and blur.
 *
 * A separable filter sums rows first (8-bit samples to 16-bit values with
 * ROWS_EXTRA_BITS more precision), then along the row (back to 8 bits).
 * Weights are fixed point, ROWS_WEIGHT_ONE = 1.0.  If they sum to exactly one,
 * a flat picture stays flat, bit for bit.
 */
#ifndef IMGOPS_ROWS_H
#define IMGOPS_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum {
	ROWS_WEIGHT_BITS = 14,
	ROWS_WEIGHT_ONE = 1 << ROWS_WEIGHT_BITS,
	ROWS_EXTRA_BITS = 6, /* Lanczos overshoots 255 by up to a third */
	ROWS_TAPS_ALIGN = 16,
};

/*
 * Build for AVX2 too, chosen when the program starts.  Not with sanitizers:
 * the choice runs before they are ready.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&                   \
	!defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define ROWS_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define ROWS_CLONES
#endif

/* Columns: out[x] = sum over k of weights[k] * in[k * stride + x], x < width. */
void rows_sum(int16_t *out, const uint8_t *in, size_t stride_bytes,
	      const int16_t *weights, uint32_t count, uint32_t width);

/*
 * Along a row, one filter for all of it: out[x] = sum over k of
 * weights[k] * in[x + k].  `in` holds width + count - 1 values.
 */
void rows_convolve(uint8_t *out, const int16_t *in, const int16_t *weights,
		   uint32_t count, uint32_t width);

/*
 * Along a row, a filter for each sample: out[x] = sum over k of
 * weights[x * count + k] * in[first[x] + k].  `count` is a multiple of
 * ROWS_TAPS_ALIGN.
 */
void rows_resample(uint8_t *out, const int16_t *in, const uint32_t *first,
		   const int16_t *weights, uint32_t count, uint32_t width);

/*
 * Turn `count` values into weights that sum to exactly one, their rounding
 * errors spread evenly.  The sum of `values` must not be 0.
 */
void rows_weights(int16_t *weights, const double *values, uint32_t count);

#endif
