/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: weighted sums of rows, the inner loops of scale.
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

/* Columns: out[x] = sum over k of weights[k] * in[k * stride + x], x < width. */
typedef void rows_sum_fn(int16_t *out, const uint8_t *in, size_t stride_bytes,
			 const int16_t *weights, uint32_t count,
			 uint32_t width);

/*
 * Along a row, a filter for each sample: out[x] = sum over k of
 * weights[x * count + k] * in[first[x] + k].  `count` is a multiple of
 * ROWS_TAPS_ALIGN.
 */
typedef void rows_resample_fn(uint8_t *out, const int16_t *in,
			      const uint32_t *first, const int16_t *weights,
			      uint32_t count, uint32_t width);

/* Both for one kind of CPU; results are the same, bit for bit. */
struct rows {
	const char *name;
	rows_sum_fn *sum;
	rows_resample_fn *resample;
};

extern const struct rows rows_portable;

/* The fastest for this CPU. */
const struct rows *rows_best(void);

/*
 * Turn `count` values into weights that sum to exactly one, their rounding
 * errors spread evenly.  The sum of `values` must not be 0.
 */
void rows_weights(int16_t *weights, const double *values, uint32_t count);

#endif
