/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: samples read as raw planes, as libjpeg's inverse DCT leaves
 * them: no up-sampling, colour conversion or copy.
 *
 * Errors leave by libjpeg's own error handler.
 */
#ifndef IMGOPS_PLANAR_H
#define IMGOPS_PLANAR_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/* Ask for raw planes.  False: the file is in a colour space without a name. */
bool planar_prepare(struct jpeg_decompress_struct *jpeg);

/*
 * Set up `img` for the components' DCT_scaled_size, without samples.
 */
void planar_shape(struct image *img, const struct jpeg_decompress_struct *jpeg);

/* Read all rows, after jpeg_start_decompress(). */
void planar_read(struct image *img, struct jpeg_decompress_struct *jpeg);

#endif
