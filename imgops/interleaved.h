/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: JPEGs in colour spaces other than Y'CbCr and grey.
 *
 * RGB, CMYK and YCCK come from libjpeg as interleaved rows and are converted
 * to full-size Y'CbCr planes, so that no other file knows of them.  CMYK is
 * turned to RGB by plain multiplication, in Adobe's inverted sense where an
 * Adobe marker is present.
 *
 * Errors leave by libjpeg's own error handler.
 */
#ifndef IMGOPS_INTERLEAVED_H
#define IMGOPS_INTERLEAVED_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/* Choose the output colour space.  False: none of ours. */
bool interleaved_prepare(struct jpeg_decompress_struct *jpeg);

/* Set up `img` after jpeg_calc_output_dimensions(), without samples. */
void interleaved_shape(struct image *img,
		       const struct jpeg_decompress_struct *jpeg);

/* Read all rows, after jpeg_start_decompress(). */
void interleaved_read(struct image *img, struct jpeg_decompress_struct *jpeg);

#endif
