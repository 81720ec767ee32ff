/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/png: the inner loops, over rows of bytes.
 *
 * Each row has PNG_BEFORE bytes before it, which are zero, because filters look
 * at the pixel to the left, and PNG_AFTER bytes after it, which may be read and
 * written.
 */
#ifndef IMGOPS_FORMATS_PNG_ROWS_H
#define IMGOPS_FORMATS_PNG_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PNG_BEFORE = 32,
	PNG_AFTER = 64,
};

enum png_filter {
	PNG_NONE,
	PNG_SUB,
	PNG_UP,
	PNG_AVERAGE,
	PNG_PAETH,
	PNG_FILTERS,
};

struct png_rows {
	const char *name;

	/*
	 * Undo a filter (PNG, third edition, 9.2).  `above` is the row above,
	 * without filter, or zeros; a pixel has `step` bytes: 1, 2, 3, 4, 6 or
	 * 8.  After `in`, 8 bytes more may be read, and none before it.
	 */
	void (*undo)(uint8_t *out, const uint8_t *in, const uint8_t *above,
		     enum png_filter filter, uint32_t step, size_t bytes);

	/*
	 * Apply a filter; returns the sum of the absolute differences, as
	 * signed bytes.
	 */
	uint64_t (*filter)(uint8_t *out, const uint8_t *in,
			   const uint8_t *above, enum png_filter filter,
			   uint32_t step, size_t bytes);

	/*
	 * Pixels of three bytes to planes; up to 15 samples more are written.
	 */
	void (*split3)(uint8_t *const planes[3], const uint8_t *in,
		       size_t width);

	/*
	 * Pixels of R, G, B and alpha to planes, multiplied by alpha.  As
	 * split3(); and the pixels that follow should be opaque.  True: all
	 * pixels are opaque.
	 */
	bool (*split4)(uint8_t *const planes[4], const uint8_t *in,
		       size_t width);
};

/* Both tables give the same results. */
extern const struct png_rows png_rows_portable;
#ifdef __x86_64__
extern const struct png_rows png_rows_avx2; /* only for CPUs with AVX2 */
#endif

/* The fastest for this CPU. */
const struct png_rows *png_rows_best(void);

#endif
