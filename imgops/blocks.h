/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: a reduced picture from libjpeg's arrays of coefficients, for
 * files whose coefficients come in several scans.
 *
 * Errors leave by libjpeg's own error handler.
 */
#ifndef IMGOPS_BLOCKS_H
#define IMGOPS_BLOCKS_H

#include "imgops/planes.h"

#include <stdio.h>

#include <jpeglib.h>

/* `arrays` as jpeg_read_coefficients() gives them; `img`, `n`: see skim.h. */
void blocks_reduce(struct image *img, uint32_t n,
		   struct jpeg_decompress_struct *jpeg,
		   jvirt_barray_ptr *arrays);

#endif
