/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: partial decode.  A block at n/8 (idct.h) needs few of its 64
 * coefficients; only these are decoded, which is faster than libjpeg.
 *
 * Baseline: the needed coefficients of a block are decoded, and the codes after
 * them are skipped.
 *
 * Progressive at 1/8: only the DC scans are read.  libjpeg would allocate,
 * clear and walk arrays for all coefficients.
 *
 * Only common and intact files are read in this way: 8-bit, Huffman-coded, with
 * all components in each scan that is read.  When partial_read() finds anything
 * else, it returns false without having changed the state of libjpeg.  Then
 * libjpeg can read the file, or report what is wrong with it.
 */
#ifndef IMGOPS_JPEG_PARTIAL_H
#define IMGOPS_JPEG_PARTIAL_H

#include "imgops/imgops.h"
#include "imgops/jpeg/scans.h"

#include <stdio.h>

#include <jpeglib.h>

/* The Huffman tables that a scan uses: bit i for table i. */
struct table_set {
	uint32_t dc, ac;
};

/*
 * Call it after jpeg_read_header().  `img` has n x n samples for each block,
 * with n from 1 to 4, or 1 if the file is progressive.  `later` lists the
 * pieces of a progressive file, from scans_pieces(), that follow the bytes that
 * `jpeg` reads now; a sequential file has none.  False: the file cannot be read
 * in this way, or there was no memory.
 */
MUST_CHECK bool partial_read(struct image *img, uint32_t n,
			     const struct jpeg_decompress_struct *jpeg,
			     const struct piece *later, uint32_t later_count,
			     const struct memory *memory);

/* The memory that partial_read() needs. */
size_t partial_bytes(const struct image *img, bool is_progressive,
		     struct table_set used);

#endif
