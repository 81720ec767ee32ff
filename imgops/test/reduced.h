/* SPDX-License-Identifier: MIT */
/*
 * For tests of partial.c: decode a file at 1/8 strictly by libjpeg alone, or at
 * n/8 by partial_read() alone, which is called as decode.c does.  Every
 * component gets n x n samples for each of its blocks.
 */
#ifndef IMGOPS_TEST_REDUCED_H
#define IMGOPS_TEST_REDUCED_H

#include "imgops/imgops.h"

/* On an error `img` is empty. */
enum img_err reduced_by_libjpeg(struct image *img, const uint8_t *data,
				size_t count, const struct img_limits *limits,
				const struct memory *memory);

/*
 * False: libjpeg could not open the file, or partial_read() returned false;
 * `img` is empty.
 */
bool reduced_by_partial(struct image *img, uint32_t n, const uint8_t *data,
			size_t count, const struct img_limits *limits,
			const struct memory *memory);

#endif
