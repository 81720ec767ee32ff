/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the scan of a baseline JPEG, from planes, byte for byte as
 * libjpeg-turbo writes it, in less time.  With `effort`, its coefficients are
 * those of effort.h.  It needs fdct_is_supported().
 *
 *	planes -> coefficients (fdct.c) -> symbols -> codes
 *
 * If the Huffman tables are made for the picture, its coefficients are kept
 * until their symbols have been counted; otherwise those of a row of MCUs.
 */
#ifndef IMGOPS_FORMATS_JPEG_BASELINE_H
#define IMGOPS_FORMATS_JPEG_BASELINE_H

#include "imgops/formats/jpeg/output.h"
#include "imgops/imgops.h"

#include <stdio.h>

#include <jpeglib.h>

struct baseline;

/*
 * `src` and `jpeg` must outlive the result.  `jpeg` has all parameters and the
 * tables, as jpeg_set_defaults() makes them: 4:4:4, 4:2:0 or grey.  Each plane
 * of `src` has all samples of its last blocks.  NULL: no memory.
 */
struct baseline *baseline_new(const struct image *src,
			      struct jpeg_compress_struct *jpeg, int effort,
			      const struct memory *memory);

/*
 * Bytes that baseline_new() asks for in one block, for a picture of the shape
 * `src`.
 */
uint64_t baseline_bytes(const struct image *src, bool optimize);

/* Make the Huffman tables of `jpeg`, if it says so: before they are written. */
void baseline_optimise(struct baseline *b);

/* Write the scan's data.  False: no memory. */
MUST_CHECK bool baseline_write(struct baseline *b, struct output *out);

void baseline_free(struct baseline *b);

#endif
