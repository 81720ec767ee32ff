/* SPDX-License-Identifier: MIT */
/*
 * For tests of skim.c: a file at 1/8, strictly, by libjpeg alone, or at n/8 by
 * skim_read() alone, called as decode.c does.  Every component is n x n samples
 * for each of its blocks.
 */
#ifndef IMGOPS_TEST_EIGHTH_H
#define IMGOPS_TEST_EIGHTH_H

#include "imgops/imgops.h"

/* On an error `img` is empty. */
enum img_err eighth_by_libjpeg(struct image *img, const uint8_t *data,
			       size_t count, const struct img_limits *limits,
			       const struct img_memory *memory);

/* False: not even libjpeg was asked, or skim_read() would not; empty. */
bool eighth_by_skim(struct image *img, uint32_t n, const uint8_t *data,
		    size_t count, const struct img_limits *limits,
		    const struct img_memory *memory);

#endif
