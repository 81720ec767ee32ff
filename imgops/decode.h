/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: at which scale a picture is decoded.
 */
#ifndef IMGOPS_DECODE_H
#define IMGOPS_DECODE_H

#include "imgops/imgops.h"

/* Of libjpeg's DCT scales, 1/8 .. 8/8, the smallest that is enough. */
uint32_t decode_eighths(struct img_size stored, const struct img_view *view);

#endif
