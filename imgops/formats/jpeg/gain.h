/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/jpeg: where the gain map of a file is, which is a JPEG of its
 * own behind the first picture, and its metadata.
 *
 *	SOI, APP2 "MPF": index, ... EOI  SOI, metadata, ... EOI  anything
 *	first picture                    gain map                trailer
 *
 * Read are an index by CIPA DC-007 (MPF), and the map's metadata: see
 * formats/gain.h.  Written are the index, ISO 21496-1, and Adobe's XMP with the
 * directory that Ultra HDR needs.
 *
 * A file may say anything here, and none of it is an error: what cannot be read
 * is a map that is not there, or a broken one.  Time and memory do not depend
 * on the counts in the file.
 */
#ifndef IMGOPS_FORMATS_JPEG_GAIN_H
#define IMGOPS_FORMATS_JPEG_GAIN_H

#include "imgops/formats/gain.h"
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

/*
 * The metadata before the first scan of the map.  `jpeg` is the first picture,
 * which may have a maker's note.  False: there are none.
 */
bool gain_find_metadata(struct gain_metadata *found, const uint8_t *map,
			size_t map_bytes, const uint8_t *jpeg, size_t bytes);

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
void gain_write_metadata(struct gain_segment *s, const struct img_gain *gain);

/* The map's XMP. */
void gain_write_xmp(struct gain_segment *s, const struct img_gain *gain);

/* The first picture's XMP, which names the map and its size. */
void gain_write_directory(struct gain_segment *s, size_t map_bytes);

/* The description in that XMP, which is one in another XMP, too. */
const uint8_t *gain_description(const struct gain_segment *s, size_t *bytes);

/*
 * The index.  `first_bytes` is the size of the first picture, `index_offset`
 * where this segment's data are in it; the size of the segment does not depend
 * on them.
 */
void gain_write_index(struct gain_segment *s, size_t first_bytes,
		      size_t map_bytes, size_t index_offset);

#endif
