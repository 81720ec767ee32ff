/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: a reduced picture, faster than libjpeg.
 *
 * A block at n/8 (reduce.h) needs few of its 64 coefficients.
 *
 *  - Baseline: these are decoded, the codes behind them are stepped over.
 *  - Progressive at 1/8: DC has scans of its own.  libjpeg would make, clear
 *    and walk arrays for all coefficients.
 *
 * Only what is common and intact is read so: 8-bit, Huffman-coded, all
 * components in each scan read.  At the first thing that is not as it should
 * be skim_read() gives up, having consumed nothing, and libjpeg decides what it
 * means.
 */
#ifndef IMGOPS_SKIM_H
#define IMGOPS_SKIM_H

#include "imgops/planes.h"
#include "imgops/scans.h"
#include "imgops/skim_tables.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * To be called after jpeg_read_header(), for an `img` whose samples are n x n
 * for each block, n = 1 .. 4; 1 if the file is progressive.  `later`: what
 * follows the bytes that `jpeg` reads now, as from scans_keep(); of a
 * sequential file nothing.  False: not read, or no memory.
 */
IMG_CHECK bool skim_read(struct image *img, uint32_t n,
			 const struct jpeg_decompress_struct *jpeg,
			 const struct piece *later, uint32_t later_count,
			 const struct img_memory *memory);

/* What skim_read() asks of its memory. */
size_t skim_bytes(const struct image *img, bool is_progressive,
		  struct skim_used used);

#endif
