/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: at which scale a picture is decoded.
 */
#ifndef IMGOPS_DECODE_H
#define IMGOPS_DECODE_H

#include "imgops/imgops.h"

/*
 * The smallest of 1, 2, 3, 4 and 8 eighths that is enough for every plane of
 * what is to be made.
 */
uint32_t decode_eighths(const struct img_header *header,
			const struct img_view *view,
			const struct img_recipe *recipe);

#endif
