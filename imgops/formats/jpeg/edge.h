/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the blocks that the frame's edge cuts, in a reduced decode.
 *
 * A picture need not consist of whole blocks.  The samples of its last blocks
 * that lie outside of the frame are hidden: they are no part of the picture,
 * and a file may have anything there (ITU-T T.81, A.2.4), such as the rest of
 * the picture from which this one was cut without decoding.  In a reduced
 * decode (idct.h), each sample of a block would be a mixture of all its
 * samples.
 *
 * So the hidden samples of a cut block are replaced: the last visible sample is
 * repeated, as the filters do past an edge.  Inverse DCT, replacement and DCT
 * are linear and done for rows and columns separately, so together they are one
 * matrix for each direction, from 8 coefficients to the n that are needed.
 *
 * Only cut blocks need more than the usual coefficients and time.
 */
#ifndef IMGOPS_FORMATS_JPEG_EDGE_H
#define IMGOPS_FORMATS_JPEG_EDGE_H

#include "imgops/formats/jpeg/idct.h"

#include "base/util.h"

/* No column or row of blocks is cut. */
#define EDGE_NONE UINT32_MAX

/* The right and the lower edge of a component. */
struct edge {
	uint32_t column, row; /* those that are cut, or EDGE_NONE */
	uint32_t n;           /* a block becomes n x n samples */
	/* From the coefficients of a row, and of a column, of a cut block. */
	float across[IDCT_MAX][DCTSIZE], down[IDCT_MAX][DCTSIZE];
};

/*
 * How many of the samples of the last block along a side of the picture, of
 * `side_px`, are in the frame, for a component of sampling factor `factor`; the
 * largest factor is `factor_max`.
 */
static inline uint32_t edge_visible(uint32_t side_px, uint32_t factor,
				    uint32_t factor_max)
{
	uint64_t samples =
		((uint64_t)side_px * factor + factor_max - 1) / factor_max;

	return (uint32_t)((samples - 1) % DCTSIZE + 1);
}

/*
 * The edge of component `c` of `jpeg`, whose header has been read, so that the
 * largest sampling factors are set.  `n` is from 1 to 4.
 */
void edge_make(struct edge *e, const struct jpeg_decompress_struct *jpeg,
	       const jpeg_component_info *c, uint32_t n);

/* True: the edge cuts block (`column`, `row`). */
static inline bool edge_cuts(const struct edge *e, uint32_t column,
			     uint32_t row)
{
	return column == e->column || row == e->row;
}

/* Blocks of row `row` that are not cut; `columns` are in the picture. */
static inline uint32_t edge_whole(const struct edge *e, uint32_t columns,
				  uint32_t row)
{
	return row == e->row ? 0 : min_u32(columns, e->column);
}

/*
 * As idct_block(), for block (`column`, `row`), which may be cut.  Coefficient
 * (u, v) is at [v * DCTSIZE + u]; all are dequantised and limited.
 */
void edge_block(uint8_t *out, size_t stride_bytes,
		const int32_t coefficients[DCTSIZE2], const struct edge *e,
		uint32_t column, uint32_t row);

/*
 * Fill `img`, whose samples are n x n for each block, from `arrays`, which
 * jpeg_read_coefficients() has returned.  This is for files whose coefficients
 * come in several scans.  Errors go to libjpeg's error handler, which does not
 * return.
 */
void edge_arrays(struct image *img, uint32_t n,
		 struct jpeg_decompress_struct *jpeg, jvirt_barray_ptr *arrays);

/*
 * How many blocks of all components the frame of `h` cuts.  A block at a corner
 * that is cut at both sides counts twice.
 */
double edge_cut_blocks(const struct img_header *h);

/*
 * True: beside each block that the frame cuts, there are enough others for
 * edge_is_plain().
 */
bool edge_has_neighbours(const struct img_header *h);

/*
 * For a file of which not all coefficients were read, so that hidden samples
 * may still have a part in those of cut blocks.  True: on average over each
 * line of blocks at the edge they hardly show, because the step from the cut
 * blocks to their neighbours is not much larger than the steps between those
 * neighbours.  `img` has n x n samples for each block.
 *
 * Encoders repeat the last visible sample, as T.81 recommends, and then hidden
 * samples do no harm.
 */
bool edge_is_plain(const struct image *img, uint32_t n,
		   const struct jpeg_decompress_struct *jpeg);

#endif
