/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: partial decode of files of one scan.  A block at n/8 (idct.h)
 * needs few of its 64 coefficients; only these are decoded, and the codes after
 * them are skipped, which is faster than libjpeg.
 *
 * Only common and intact files are read in this way: 8-bit, Huffman-coded, not
 * progressive, with all components in one scan.  When partial_read() finds
 * anything else, it has not changed the state of libjpeg, which can then read
 * the file and say what is wrong with it.
 */
#ifndef IMGOPS_FORMATS_JPEG_PARTIAL_H
#define IMGOPS_FORMATS_JPEG_PARTIAL_H

#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

/* The Huffman tables that a scan uses: bit i for table i. */
struct table_set {
	uint32_t dc, ac;
};

/*
 * Call it after jpeg_read_header(), when jpeg->src has all of the scan.  `img`
 * has n x n samples for each block, with n from 1 to 4.  IRREGULAR: the file
 * was not read this way, or there was no memory.  TEXTURE, only with
 * `watches_texture`: the file has fine texture (texture.h), and `img` is not
 * complete.
 */
MUST_CHECK enum img_err partial_read(struct image *img, uint32_t n,
				     bool watches_texture,
				     const struct jpeg_decompress_struct *jpeg,
				     const struct memory *memory);

/* The memory that partial_read() needs. */
size_t partial_bytes(struct table_set used);

#endif
