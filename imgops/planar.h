/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: how planes lie in a JPEG, and those of full size, as libjpeg's
 * inverse DCT leaves them: no up-sampling, colour conversion or copy.
 *
 * Errors leave by libjpeg's own error handler.
 */
#ifndef IMGOPS_PLANAR_H
#define IMGOPS_PLANAR_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/* False: the file is in a colour space without a name. */
bool planar_can_read(const struct jpeg_decompress_struct *jpeg);

/* Set up `img` for planes at `eighths` of their size, without samples. */
void planar_shape(struct image *img, const struct jpeg_decompress_struct *jpeg,
		  uint32_t eighths);

/* Read all rows at 8/8, after jpeg_start_decompress() for raw data. */
void planar_read(struct image *img, struct jpeg_decompress_struct *jpeg);

#endif
