/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/jpeg: the gain map of a file, which is a JPEG of its own
 * behind the first picture, and what it means.
 *
 *	SOI, APP2 "MPF": index, ... EOI  SOI, metadata, ... EOI  anything
 *	first picture                    gain map                trailer
 *
 * Read are an index by CIPA DC-007 (MPF), and metadata of the map by, in this
 * order, ISO 21496-1, Adobe (XMP with the prefix hdrgm; Android's Ultra HDR)
 * and Apple (XMP, and the maker's note of the first picture).  Written are the
 * index and the first two, with the directory that Ultra HDR needs.
 *
 * A file may say anything here, and none of it is an error: what cannot be read
 * is a map that is not there, or a broken one.  Time and memory do not depend
 * on the counts in the file.
 */
#ifndef IMGOPS_FORMATS_JPEG_GAIN_H
#define IMGOPS_FORMATS_JPEG_GAIN_H

#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/markers.h"

/* --- gain_find.c: where the map is --- */

/* Note where the index is, if `m`, a marker of the first picture, has it. */
void gain_read_index(struct jpeg_pictures *p, const struct marker *m,
		     const uint8_t *jpeg);

/*
 * Look at the pictures of the index that have arrived completely, until one is
 * a gain map that can be read: first at those that end first, and at most
 * at twice as many bytes as the file has, however many calls there are, and
 * whatever the index says.
 */
void gain_find(struct img_header *h, const uint8_t *jpeg,
	       const struct img_limits *limits);

/* As format.h says. */
bool gain_header(struct img_header *map, const struct img_header *h);

/* --- gain_read.c: what it means --- */

/* The metadata of a picture, as marker segments have them.  NULL: none. */
struct gain_metadata {
	const uint8_t *iso, *xmp, *apple;
	size_t iso_bytes, xmp_bytes, apple_bytes;
};

/* True: the metadata before the first scan say that this is a gain map. */
bool gain_find_metadata(struct gain_metadata *found, const uint8_t *jpeg,
			size_t bytes);

enum { GAIN_LEVELS = 256 };

/* What they say. */
struct gain_found {
	struct img_gain gain;
	/* Grey samples are to be replaced by those of this table. */
	bool has_levels;
	uint8_t levels[GAIN_LEVELS];
	bool is_empty; /* the map changes nothing, and `gain` is not valid */
};

/* `jpeg` is the first picture.  False: they are broken. */
MUST_CHECK bool gain_read(struct gain_found *found,
			  const struct gain_metadata *from, const uint8_t *jpeg,
			  size_t bytes);

/* A number in XMP.  False: it does not occur, or is none. */
bool gain_xmp_number(double *number, const uint8_t *xmp, size_t bytes,
		     const char *name);

/* gain_apple.c: gain_read() for Apple's XMP. */
MUST_CHECK bool gain_read_apple(struct gain_found *found, const uint8_t *xmp,
				size_t xmp_bytes, const uint8_t *jpeg,
				size_t bytes);

/* True: the first picture says that the file has a gain map. */
bool gain_is_promised(const uint8_t *jpeg, size_t bytes);

/* --- gain_write.c --- */

/* The data of a marker segment, without its length. */
enum { GAIN_SEGMENT_BYTES_MAX = 2048 };

struct gain_segment {
	uint8_t code; /* of the marker */
	size_t bytes;
	uint8_t data[GAIN_SEGMENT_BYTES_MAX];
};

/* ISO 21496-1, of the map; `gain` NULL: of the first picture. */
void gain_write_iso(struct gain_segment *s, const struct img_gain *gain);

/* The map's XMP. */
void gain_write_xmp(struct gain_segment *s, const struct img_gain *gain);

/* The first picture's XMP, which names the map and its size. */
void gain_write_directory(struct gain_segment *s, size_t map_bytes);

/*
 * The index.  `first_bytes` is the size of the first picture, `index_offset`
 * where this segment's data are in it; the size of the segment does not depend
 * on them.
 */
void gain_write_index(struct gain_segment *s, size_t first_bytes,
		      size_t map_bytes, size_t index_offset);

#endif
