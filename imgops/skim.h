/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: a baseline file at 1/8, faster than libjpeg.
 *
 * At 1/8 a block is one sample, made of its DC coefficient alone.  The AC codes
 * between two DC codes need only be stepped over: several of them at a time, by
 * a table over the next bits.
 *
 * Only the common, intact file is read so: 8-bit, sequential, Huffman-coded, all
 * components in one scan.  At the first thing that is not as it should be,
 * skim_read() gives up, having consumed nothing, and libjpeg decides what it
 * means.  Samples are the same, bit for bit.
 */
#ifndef IMGOPS_SKIM_H
#define IMGOPS_SKIM_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/*
 * To be called between jpeg_read_header() and jpeg_start_decompress(), for an
 * `img` of one sample for each block.  False: not read.
 */
IMG_CHECK bool skim_read(struct image *img,
			 const struct jpeg_decompress_struct *jpeg);

#endif
