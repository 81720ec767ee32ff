/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: Y'CbCr and grey JPEGs, read as raw planes.
 *
 * The common path: what libjpeg's inverse DCT writes is what the next stage
 * reads, without up-sampling, colour conversion or a copy.
 *
 * Errors leave by libjpeg's own error handler.
 */
#ifndef IMGOPS_PLANAR_H
#define IMGOPS_PLANAR_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/* Ask for raw planes.  False: the file is in another colour space. */
bool planar_prepare(struct jpeg_decompress_struct *jpeg);

/* Set up `img` after jpeg_calc_output_dimensions(), without samples. */
void planar_shape(struct image *img, const struct jpeg_decompress_struct *jpeg);

/* Read all rows, after jpeg_start_decompress(). */
void planar_read(struct image *img, struct jpeg_decompress_struct *jpeg);

#endif
