/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the room that img_encode() begins with for a result.
 */
#ifndef IMGOPS_ENCODE_H
#define IMGOPS_ENCODE_H

#include "imgops/image.h"

/*
 * Enough for noise at this quality, several times what a photo takes; only what
 * is written of it is ever touched.
 */
size_t encode_room_bytes(const struct image *img, size_t profile_bytes,
			 int quality);

#endif
