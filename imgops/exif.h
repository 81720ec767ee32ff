/* SPDX-License-Identifier: MIT */
#ifndef IMGOPS_EXIF_H
#define IMGOPS_EXIF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The orientation, 1..8, in the data of a JPEG APP1 marker (after its length).
 * 0: not EXIF, no orientation there, or nonsense.  EXIF 2.32, section 4.6.4.
 */
uint32_t exif_orientation(const uint8_t *app1, size_t bytes);

#endif
