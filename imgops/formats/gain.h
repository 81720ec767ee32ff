/* SPDX-License-Identifier: MIT */
/*
 * Inside formats: what the metadata of a gain map mean.
 *
 * Read are, in this order, those of ISO 21496-1, Adobe (XMP with the prefix
 * hdrgm; Android's Ultra HDR) and Apple (XMP, and the maker's note of the
 * base).  Where a file has them, and where its map is, is a matter of its
 * format.
 *
 * A file may say anything here, and none of it is an error: what cannot be read
 * is a broken map.  Time and memory do not depend on the counts in the file.
 */
#ifndef IMGOPS_FORMATS_GAIN_H
#define IMGOPS_FORMATS_GAIN_H

#include "imgops/gainmap.h"

/* What a file says of its map.  NULL: nothing of this kind. */
struct gain_metadata {
	const uint8_t *iso, *xmp, *apple, *note;
	size_t iso_bytes, xmp_bytes, apple_bytes;
	size_t note_bytes; /* the maker's note, if the map may be Apple's */
};

enum { GAIN_LEVELS = 256 };

/* What that means. */
struct gain_found {
	struct img_gain gain;
	/* Grey samples are to be replaced by those of this table. */
	bool has_levels;
	uint8_t levels[GAIN_LEVELS];
	bool is_empty; /* the map changes nothing, and `gain` is not valid */
};

/* False: they are broken. */
MUST_CHECK bool gain_read(struct gain_found *found,
			  const struct gain_metadata *from);

/* A number in XMP.  False: it does not occur, or is none. */
bool gain_xmp_number(double *number, const uint8_t *xmp, size_t bytes,
		     const char *name);

/* gain_apple.c: gain_read() for Apple's XMP. */
MUST_CHECK bool gain_read_apple(struct gain_found *found,
				const struct gain_metadata *from);

/*
 * Attach to `dst` a map, without its picture, which is to be decoded then;
 * `map` and `base` are the headers of both.  CORRUPT: it cannot mean that.
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err gain_attach(struct image *dst,
				    const struct gain_found *found,
				    const struct img_header *map,
				    const struct img_header *base,
				    const struct memory *memory);

/*
 * Give the map's picture a copy of the profile of the alternate's primaries.
 * Errors: NO_MEMORY; CORRUPT: it is larger than that of a map.
 */
MUST_CHECK enum img_err gain_set_profile(struct image *map,
					 const uint8_t *profile, size_t bytes,
					 const struct memory *memory);

/*
 * The map has its picture.  Make its samples what `found` says.  CORRUPT: there
 * are notes about it.
 */
MUST_CHECK enum img_err gain_finish(struct img_gainmap *map,
				    const struct gain_found *found);

/*
 * `err` is what has become of the map of `dst`.  An error, but for NO_MEMORY,
 * is only noted, and the map left out.  NO_MEMORY: `dst` is empty.
 */
MUST_CHECK enum img_err gain_or_note(struct image *dst, enum img_err err);

/*
 * Of the fractions that are written.  It holds every valid number, and those of
 * usual maps exactly.
 */
enum { GAIN_DENOMINATOR = 1 << 24 };

/* The numbers of ISO 21496-1, annex C.  Returns their size. */
enum { GAIN_ISO_BYTES_MAX = 5 + 8 * (2 + 3 * 5) };
size_t gain_write_iso(uint8_t out[GAIN_ISO_BYTES_MAX],
		      const struct img_gain *gain);

#endif
