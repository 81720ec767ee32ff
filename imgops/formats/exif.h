/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the orientation in the EXIF data of a file.
 *
 * EXIF is a TIFF file: a header that gives the byte order, then directories of
 * 12-byte entries.  Orientation is an entry of the first directory.  A JPEG has
 * it in an APP1 marker, after the name "Exif"; other formats have a part of the
 * file for it, without the name.
 *
 * The time is bounded by the number of bytes.
 */
#ifndef IMGOPS_FORMATS_EXIF_H
#define IMGOPS_FORMATS_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A TIFF file in memory; `data` may also be that of Apple's MakerNote. */
struct tiff {
	const uint8_t *data;
	size_t bytes;
	bool little_endian;
};

/* False: the bytes do not begin as a TIFF file does. */
bool tiff_open(struct tiff *t, const uint8_t *data, size_t bytes);

/*
 * These functions return 0 past the end; 0 is not valid for any value that is
 * read.
 */
uint32_t tiff_read16(const struct tiff *t, size_t at);
uint32_t tiff_read32(const struct tiff *t, size_t at);

/*
 * Where the entry of `tag` is in the directory at `directory`; 0: there is
 * none.
 */
size_t tiff_find(const struct tiff *t, size_t directory, uint32_t tag);

/*
 * The value of the entry at `at`, or the first of its values.  A negative one
 * is returned as a number over INT8_MAX.  0: it is not an integer.
 */
uint32_t tiff_integer(const struct tiff *t, size_t at);

/*
 * The orientation, 1..8, in a TIFF file.  0: not a TIFF file, no orientation
 * there, or nonsense.  EXIF 2.32, section 4.6.4.
 */
uint32_t exif_orientation(const uint8_t *tiff, size_t bytes);

/* As exif_orientation(), for the data of an APP1 marker, after its length. */
uint32_t exif_app1_orientation(const uint8_t *app1, size_t bytes);

#endif
