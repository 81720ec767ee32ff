/* SPDX-License-Identifier: MIT */
/*
 * For tests of partial.c and progressive.c: a file at 1/8, strictly, by libjpeg
 * alone; at n/8 from libjpeg's coefficients; or at n/8 by one of the two alone,
 * called as decode.c does.  Every component is n x n samples for each of its
 * blocks.
 */
#ifndef IMGOPS_TEST_REDUCED_H
#define IMGOPS_TEST_REDUCED_H

#include "imgops/imgops.h"

/* On an error `img` is empty. */
enum img_err reduced_by_libjpeg(struct image *img, const uint8_t *data,
				size_t count, const struct img_limits *limits,
				const struct memory *memory);

enum img_err reduced_by_arrays(struct image *img, uint32_t n,
			       const uint8_t *data, size_t count,
			       const struct img_limits *limits,
			       const struct memory *memory);

/* False: not even libjpeg was asked, or neither would read it; empty. */
bool reduced_by_partial(struct image *img, uint32_t n, const uint8_t *data,
			size_t count, const struct img_limits *limits,
			const struct memory *memory);

#endif
