/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: a picture at 1/8, faster than libjpeg.
 *
 * At 1/8 a block is one sample, made of its DC coefficient alone.
 *
 *  - Baseline: the AC codes between two DC codes are stepped over, several at a
 *    time, by a table over the next bits.
 *  - Progressive: DC has scans of its own.  libjpeg would make, clear and walk
 *    arrays for all coefficients.
 *
 * Only what is common and intact is read so: 8-bit, Huffman-coded, all
 * components in each scan read.  At the first thing that is not as it should
 * be skim_read() gives up, having consumed nothing, and libjpeg decides what it
 * means.  Samples are the same, bit for bit.
 */
#ifndef IMGOPS_SKIM_H
#define IMGOPS_SKIM_H

#include "imgops/planes.h"
#include "imgops/scans.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * To be called between jpeg_read_header() and jpeg_start_decompress(), for an
 * `img` of one sample for each block.  `later`: what follows the bytes that
 * `jpeg` reads now, as from scans_keep(); of a sequential file nothing.
 * False: not read, or no memory.
 */
IMG_CHECK bool skim_read(struct image *img,
			 const struct jpeg_decompress_struct *jpeg,
			 const struct piece *later, uint32_t later_count,
			 const struct img_memory *memory);

#endif
