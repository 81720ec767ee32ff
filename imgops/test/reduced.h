/* SPDX-License-Identifier: MIT */
/*
 * For tests of sequential.c and progressive.c: decode a file at a reduced size,
 * so that each block of every component becomes n x n samples.
 * reduced_by_libjpeg() decodes at 1/8 or 8/8 by libjpeg alone;
 * reduced_by_arrays() at n/8 from libjpeg's coefficients; reduced_by_ours() at
 * n/8 by sequential.c or progressive.c alone, called as decode.c does.  None is
 * lenient.
 */
#ifndef IMGOPS_TEST_REDUCED_H
#define IMGOPS_TEST_REDUCED_H

#include "imgops/formats/jpeg/idct.h"

/* On an error `img` is empty. */
enum img_err reduced_by_libjpeg(struct image *img, uint32_t n,
				const uint8_t *data, size_t count,
				const struct img_limits *limits,
				const struct memory *memory);

enum img_err reduced_by_arrays(struct image *img, uint32_t n,
			       const uint8_t *data, size_t count,
			       const struct img_limits *limits,
			       const struct memory *memory);

/*
 * False: libjpeg refuses the header, or the file cannot be read in this way;
 * `img` is empty.
 */
bool reduced_by_ours(struct image *img, uint32_t n, const uint8_t *data,
		     size_t count, const struct img_limits *limits,
		     const struct memory *memory);

/*
 * The same, by sequential.c while the file arrives in pieces of `piece` bytes,
 * each time at another address.
 */
bool reduced_in_pieces(struct image *img, uint32_t n, const uint8_t *data,
		       size_t count, size_t piece,
		       const struct img_limits *limits,
		       const struct memory *memory);

/*
 * True: both pictures, decoded at 1/8, have the same sizes and spans, and the
 * same samples of all blocks that the frame does not cut.  (Those that it cuts,
 * libjpeg reduces with their hidden samples.)
 */
bool reduced_is_same(const struct image *a, const struct image *b);

/*
 * How many samples in the frame a side of a component has that spans `span`
 * samples at n/8.
 */
uint32_t reduced_visible(double span, uint32_t n);

/* idct_block() of coefficients that are dequantised, and limited. */
void reduced_block(uint8_t *out, size_t stride_bytes,
		   const int32_t low[IDCT_COEFFICIENTS], uint32_t n);

/*
 * Reference for edge.c: the lowest coefficients of a block of which `right` x
 * `lower` samples are visible, and the last of these are repeated.
 */
void reduced_repeat(int32_t low[IDCT_COEFFICIENTS],
		    const int32_t block[DCTSIZE2], uint32_t right,
		    uint32_t lower);

#endif
