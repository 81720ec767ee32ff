/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the inner loops of blur and sharpen, over rows of 16-bit
 * values.
 *
 * A value is a sample with BLUR_EXTRA_BITS more bits, 0 .. 255 << 6.  All
 * functions round.  If all values of a row are equal, all functions except
 * `fold` keep them equal.  `fold` may change them by half a unit for each of
 * its weights; after two folds of less than BLUR_WEIGHTS_MAX weights each, this
 * is still too little to change a sample.
 */
#ifndef IMGOPS_BLUR_ROWS_H
#define IMGOPS_BLUR_ROWS_H

#include <stdint.h>

enum {
	BLUR_EXTRA_BITS = 6,
	BLUR_WEIGHT_BITS = 15,
	BLUR_WEIGHTS_MAX = 1 << (BLUR_EXTRA_BITS - 1),
	BLUR_ALIGN = 16, /* `fold` computes a multiple of this many values */
};

struct blur_rows {
	const char *name;

	/* Samples to values and back. */
	void (*widen)(int16_t *out, const uint8_t *in, uint32_t width);
	void (*narrow)(uint8_t *out, const int16_t *in, uint32_t width);

	/*
	 * A symmetric filter over 2 * radius + 1 rows; weights[0] is that of
	 * the middle row: out = sum over i of weights[i] * (in[radius - i] +
	 * in[radius + i]).  Rows are read, and `out` written, up to the next
	 * multiple of BLUR_ALIGN.  With in[i] = row + i it filters along a row.
	 */
	void (*fold)(int16_t *out, const int16_t *const *in,
		     const int16_t *weights, uint32_t radius, uint32_t width);

	/* out = (a + 2 * b + c) / 4 */
	void (*smooth)(int16_t *out, const int16_t *a, const int16_t *b,
		       const int16_t *c, uint32_t width);

	/* out[i] = (in[2 * i - 1] + 2 * in[2 * i] + in[2 * i + 1]) / 4 */
	void (*reduce)(int16_t *out, const int16_t *in, uint32_t width);

	/* out[2 * i] = in[i], out[2 * i + 1] = (in[i] + in[i + 1]) / 2 */
	void (*expand)(int16_t *out, const int16_t *in, uint32_t in_width);

	/* out = (a + b) / 2 */
	void (*average)(int16_t *out, const int16_t *a, const int16_t *b,
			uint32_t width);

	/*
	 * How much a sample is changed by sharpening, in whole levels.  The
	 * difference of the sample and its blurred value, less 5.1 levels, is
	 * multiplied by 3; what is then above 25.5, or below -51, is cut.
	 */
	void (*contrast)(int16_t *out, const uint8_t *samples,
			 const int16_t *blurred, uint32_t width);

	/* Add whole levels to samples, which stay within 0 .. 255. */
	void (*add)(uint8_t *samples, const int16_t *levels, uint32_t width);
	/* As add(), but within 0 .. most. */
	void (*add_within)(uint8_t *samples, const int16_t *levels,
			   const uint8_t *most, uint32_t width);

	/* JPEG's luma of R, G and B. */
	void (*luma)(uint8_t *out, const uint8_t *red, const uint8_t *green,
		     const uint8_t *blue, uint32_t width);
};

/* Both tables give the same results, bit for bit. */
extern const struct blur_rows blur_rows_portable;
#ifdef __x86_64__
extern const struct blur_rows blur_rows_avx2; /* only for CPUs with AVX2 */
#endif

/* The fastest for this CPU. */
const struct blur_rows *blur_rows_best(void);

#endif
