/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: weighted sums for scaling, the inner loops of scale.c.
 *
 * A band is BAND_ROWS rows of 16-bit values, with BAND_EXTRA_BITS more
 * precision than samples.  CPUs multiply two 16-bit values in each 32 bits, so
 * two columns stand side by side: first the values of columns 0 and 1 of row 0,
 * then those of row 1, ... of row 7, then columns 2 and 3.  With this layout
 * both sums read and write whole vectors.
 *
 * Weights are in fixed point; BAND_WEIGHT_ONE is 1.0.  Each sum has `count`
 * weights, and `count` is even.  If they sum to exactly one, a flat picture
 * stays flat, bit for bit.
 *
 * For linear light there are other functions, from levels to light and from
 * light to light.  Light is BAND_BLACK .. BAND_WHITE, and a filter may
 * overshoot both by half of what lies between them.
 */
#ifndef IMGOPS_BANDS_H
#define IMGOPS_BANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BAND_ROWS = 8,
	BAND_COLUMNS = 16, /* columns summed at a time */
	BAND_WEIGHT_BITS = 14,
	BAND_WEIGHT_ONE = 1 << BAND_WEIGHT_BITS,
	BAND_EXTRA_BITS = 6, /* Lanczos overshoots 255 by up to a third */
	BAND_DOWN_SHIFT = BAND_WEIGHT_BITS - BAND_EXTRA_BITS,
	BAND_ACROSS_SHIFT = BAND_WEIGHT_BITS + BAND_EXTRA_BITS,
};

/*
 * Down: column x of row r of the band is the sum over k of
 * weights[r * count + k] * in[(first[r] + k) * stride_bytes + x].
 * `width` is a multiple of BAND_COLUMNS.
 */
typedef void band_down_fn(int16_t *band, const uint8_t *in, size_t stride_bytes,
			  const uint32_t *first, const int16_t *weights,
			  uint32_t count, uint32_t width);

/*
 * Across: out[r * stride_bytes + x] is the sum over k of weights[x * count + k]
 * times column first[x] + k of row r. first[x] is even, and `width` a multiple
 * of BAND_ROWS.  If `aside` is true, the sum goes to out[x * stride_bytes + r]
 * instead.
 */
typedef void band_across_fn(uint8_t *out, size_t stride_bytes, bool aside,
			    const int16_t *band, const uint32_t *first,
			    const int16_t *weights, uint32_t count,
			    uint32_t width);

enum {
	BAND_BLACK = -(1 << 14),
	BAND_LIGHTS = 1 << 15,
	BAND_WHITE = BAND_BLACK + BAND_LIGHTS - 1,
};

/*
 * The light of a level in 256ths, 0 .. 255 << 8: 0.3053 x^3 + 0.6822 x^2 +
 * 0.0125 x of x from 0 to 1, which is that of sRGB within 0.002.
 */
int16_t band_light(uint32_t level_256);

/* The light of `count` levels; a multiple of BAND_COLUMNS. */
typedef void band_light_fn(int16_t *light, const uint8_t *levels,
			   uint32_t count);

/* As band_down_fn, of light; `in` has rows `stride` values apart. */
typedef void band_light_down_fn(int16_t *band, const int16_t *in, size_t stride,
				const uint32_t *first, const int16_t *weights,
				uint32_t count, uint32_t width);

/*
 * As band_across_fn, of light, to rows `stride` values apart.  Results are
 * limited, and count from BAND_BLACK.
 */
typedef void band_light_across_fn(uint16_t *out, size_t stride,
				  const int16_t *band, const uint32_t *first,
				  const int16_t *weights, uint32_t count,
				  uint32_t width);

/*
 * The functions for one kind of CPU.  All kinds give the same results, bit for
 * bit.
 */
struct bands {
	const char *name;
	band_down_fn *down;
	band_across_fn *across;
	band_light_fn *light;
	band_light_down_fn *light_down;
	band_light_across_fn *light_across;
};

extern const struct bands bands_portable;
#ifdef __x86_64__
extern const struct bands bands_avx2; /* only for CPUs that have AVX2 */
#endif

/* The fastest for this CPU. */
const struct bands *bands_best(void);

#endif
