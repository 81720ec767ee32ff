/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: a walk over a TIFF file in memory, which EXIF, MPF and others
 * use for their data: a header that gives the byte order, then directories of
 * 12-byte entries, which may point to further directories.
 *
 * Any bytes may be given.  The time of each call is bounded by their number.
 */
#ifndef IMGOPS_FORMATS_TIFF_H
#define IMGOPS_FORMATS_TIFF_H

#include <stddef.h>
#include <stdint.h>

enum { TIFF_ENTRY_BYTES = 12 };

struct tiff {
	const uint8_t *data;
	size_t bytes;
	int little_endian;
};

/* The offset of the first directory.  0: it is not a TIFF file. */
size_t tiff_open(struct tiff *t, const uint8_t *tiff, size_t bytes);

/*
 * These functions return 0 past the end; 0 is not valid for any value that is
 * read.
 */
uint32_t tiff_read16(const struct tiff *t, size_t at);
uint32_t tiff_read32(const struct tiff *t, size_t at);

/* The offset of a directory's first entry with this tag.  0: it has none. */
size_t tiff_find(const struct tiff *t, size_t directory, uint32_t tag);

/*
 * The integer of a directory's tag, or the first of several.  A negative one is
 * returned as a number over INT8_MAX.  0: it has none; or `directory` is 0.
 */
uint32_t tiff_value(const struct tiff *t, size_t directory, uint32_t tag);

#endif
