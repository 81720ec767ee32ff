/* SPDX-License-Identifier: MIT */
/*
 * Scans: the parts of a progressive file that a reduced decode needs.
 *
 * At 1/8 a sample depends only on its block's DC coefficient, except in blocks
 * that the frame cuts (edge.h).  The scans of AC coefficients, which are most
 * of the file, are left out; the samples of all other blocks are the same, bit
 * for bit.
 *
 * At 2/8 (idct.h) a sample also depends on AC coefficients 1, 2 and 4.  A scan
 * of other coefficients is left out.  A scan that only adds low bits to these
 * three is left out too, if no sample changes by more than SCANS_ERROR_MAX.
 * This halved the decoding time of eight photos in a 640 box.  The SSIM of the
 * results, against a full decode and Lanczos-3, went from a median of 0.9979 to
 * 0.9972; the lowest stayed 0.9935.
 *
 * Where a block has texture, it has large AC coefficients.  A scan that begins
 * some of them is dense if it has SCANS_DENSE_BITS for each block, about what
 * one large coefficient takes.  To notice fine texture (texture.h) at 2/8,
 * dense scans are read too.  At 1/8 none is read, so 1/8 is avoided if a scan
 * of the lowest coefficients is dense.
 *
 * Damage in the data of a scan that is left out is not noticed.  But the
 * headers of all scans are checked: together the scans must contain all bits of
 * all coefficients.
 */
#ifndef IMGOPS_FORMATS_JPEG_SCANS_H
#define IMGOPS_FORMATS_JPEG_SCANS_H

#include "imgops/imgops.h"
#include "imgops/formats/jpeg/markers.h"

enum {
	SCANS_DCT_SCALE_MAX = 2,
	SCANS_ERROR_MAX = 4, /* levels of a sample */
	SCANS_DENSE_BITS = 12,
};

/* Which scans are read. */
enum scans_set {
	SCANS_AT_1,         /* to decode at 1/8 */
	SCANS_AT_2,         /* at 2/8 */
	SCANS_AT_2_TEXTURE, /* at 2/8, and to notice fine texture */
	SCANS_SETS,
};

struct piece {
	const uint8_t *data;
	size_t bytes;
};

enum { SCANS_PIECES_MAX = 64 };

/* Parts of the file, in order: part i ends before offset to[i]. */
struct scans_kept {
	uint32_t count; /* 0: all of the file must be read */
	uint32_t scan_count;
	/* There are more pieces than fit here: do not use these. */
	bool is_full;
	uint32_t from[SCANS_PIECES_MAX], to[SCANS_PIECES_MAX];
};

struct scans {
	bool is_odd, is_complete, has_scans, keep[SCANS_SETS];
	/* A scan of coefficients 1, 2 or 4 is dense. */
	bool is_dense;
	size_t pending; /* offset of the first byte that is in no piece yet */
	/* The first coefficient of the last scan; 0: of DC, or it refines. */
	uint32_t pending_ac;
	uint64_t pending_blocks; /* of the last scan's first component */
	uint32_t component_count;
	uint8_t ids[IMG_PLANES_MAX], tables[IMG_PLANES_MAX];
	uint64_t blocks[IMG_PLANES_MAX];
	uint32_t quant_sums[4];
	/*
	 * For each coefficient, the lowest bit that the scans so far contain;
	 * -1: none.
	 */
	int8_t low_bit[IMG_PLANES_MAX][64];
	struct scans_kept kept[SCANS_SETS];
};

enum { BLOCK_PX = 8 }; /* the side of a DCT block */

/*
 * How many DCT blocks a component of sampling factor `factor` has along a side
 * of the picture, if the largest factor is `factor_max`.  With a factor of 1:
 * the MCUs of the picture.
 */
static inline uint32_t blocks_along(uint32_t side_px, uint32_t factor,
				    uint32_t factor_max)
{
	uint64_t mcu_px = (uint64_t)BLOCK_PX * factor_max;

	return (uint32_t)(((uint64_t)side_px * factor + mcu_px - 1) / mcu_px);
}

/*
 * Add the next marker of the file.  The first call is for the marker after SOI,
 * with `s` all zeros.  `is_adjacent`: there are no stray bytes between the
 * previous segment and this marker.
 */
void scans_add(struct scans *s, const struct marker *m, const uint8_t *jpeg,
	       bool is_adjacent);

/*
 * The pieces of a file that have these scans, in order.  Returns their number.
 * 0: read the whole file, because it is not progressive, is damaged or
 * incomplete, or needs more than SCANS_PIECES_MAX pieces.
 */
uint32_t scans_pieces(struct piece pieces[SCANS_PIECES_MAX],
		      const struct scans *s, const uint8_t *jpeg,
		      enum scans_set set);

/* Bytes of these pieces; 0: read the whole file. */
uint64_t scans_pieces_bytes(const struct scans *s, enum scans_set set);

/* Scans in these pieces; 0: read the whole file. */
uint32_t scans_pieces_scans(const struct scans *s, enum scans_set set);

#endif
