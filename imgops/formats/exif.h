/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: what the EXIF data of a file say about its pixels.
 *
 * EXIF is a TIFF file (tiff.h).  A JPEG has it in an APP1 marker, after the
 * name "Exif"; other formats have a part of the file for it, without the name.
 *
 * The time is bounded by the number of bytes.
 */
#ifndef IMGOPS_FORMATS_EXIF_H
#define IMGOPS_FORMATS_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The orientation, 1..8, in a TIFF file.  0: not a TIFF file, no orientation
 * there, or nonsense.  EXIF 2.32, section 4.6.4.
 */
uint32_t exif_orientation(const uint8_t *tiff, size_t bytes);

/* As exif_orientation(), for the data of an APP1 marker, after its length. */
uint32_t exif_app1_orientation(const uint8_t *app1, size_t bytes);

/*
 * True: the colours are Adobe RGB by DCF 2.0: interoperability index "R03", and
 * no ColorSpace that says sRGB.  As a marker says it.
 */
bool exif_app1_is_adobe_rgb(const uint8_t *app1, size_t bytes);

/*
 * The maker's note in a TIFF file; *count is its size.  NULL: there is none.
 */
const uint8_t *exif_maker_note(const uint8_t *tiff, size_t bytes,
			       size_t *count);

/* As a marker has it. */
const uint8_t *exif_app1_maker_note(const uint8_t *app1, size_t bytes,
				    size_t *count);

#endif
