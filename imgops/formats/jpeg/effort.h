/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: how a JPEG with `effort` is quantised, which gives fewer bytes
 * at the same score of SSIMULACRA2, and takes no longer than `optimize`.
 *
 * Its tables have finer steps for colours, for means and for high frequencies
 * than those of T.81, annex K, which libjpeg uses.  And quotients are rounded
 * to a number that is, on average, nearer to zero (a dead zone), because small
 * coefficients cost more bits than they are worth.  Both are known from
 * mozjpeg and jpegli; the numbers were fitted to photos
 * (docs/results/imgops/README.md).
 *
 * The Huffman tables are made for the picture.  The result is the same on any
 * CPU.
 */
#ifndef IMGOPS_FORMATS_JPEG_EFFORT_H
#define IMGOPS_FORMATS_JPEG_EFFORT_H

#include "imgops/formats/jpeg/fdct.h"
#include "imgops/imgops.h"

/*
 * The tables of quantisation.  Photos have about the score that they have at
 * this quality by libjpeg's tables.
 */
void effort_set_tables(struct jpeg_compress_struct *jpeg, double quality);

/* `quant` is one of these tables. */
void effort_steps_make(struct fdct_steps *steps,
		       const uint16_t quant[DCTSIZE2]);

/* The coefficients of each plane, as libjpeg keeps them. */
struct effort_blocks {
	jvirt_barray_ptr planes[IMG_PLANES_MAX];
};

/*
 * To have libjpeg write the coefficients of `src`, of which each plane has all
 * samples of its last blocks: effort_begin() instead of jpeg_start_compress(),
 * then effort_transform() instead of writing samples.
 */
void effort_begin(struct effort_blocks *blocks, const struct image *src,
		  struct jpeg_compress_struct *jpeg);
void effort_transform(struct effort_blocks *blocks, const struct image *src,
		      struct jpeg_compress_struct *jpeg,
		      const struct memory *memory);

#endif
