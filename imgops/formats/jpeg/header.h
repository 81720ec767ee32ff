/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/jpeg: the header of a JPEG, its own part of struct img_header,
 * and what follows from it: ICC profile and DCT blocks.
 */
#ifndef IMGOPS_FORMATS_JPEG_HEADER_H
#define IMGOPS_FORMATS_JPEG_HEADER_H

#include "imgops/formats/format.h"
#include "imgops/formats/jpeg/scans.h"

#include <assert.h>

enum { JPEG_MAP_COMPONENTS = 3 }; /* of a gain map, at most */

/* Of a gain map, what must be known to estimate its decode: gain_find.c. */
struct jpeg_map {
	size_t offset, bytes; /* where it is in the file */
	struct img_size stored;
	size_t icc_bytes, scan_offset;
	uint32_t scan_count;
	uint32_t component_scans[JPEG_MAP_COMPONENTS];
	uint8_t h_factors[JPEG_MAP_COMPONENTS], v_factors[JPEG_MAP_COMPONENTS];
	uint8_t dc_tables, ac_tables;
	bool is_grey, is_progressive, is_arithmetic, has_one_scan,
		has_huffman_tables;
};

/* The pictures behind the first. */
struct jpeg_pictures {
	size_t index_offset; /* of the MPF index's TIFF header; 0: no index */
	size_t index_bytes;
	size_t seen_middle; /* of the picture that was looked at last */
	bool is_cut;        /* the next one has not arrived completely */
	bool has_map;
	bool has_bad_map; /* one is a gain map, but none that is read */
	struct jpeg_map map;
};

/* What only a JPEG's header has. */
struct FORMAT_OWN jpeg_own {
	bool is_arithmetic;
	bool has_one_scan; /* the first scan contains all components */
	/* Before the first scan; MJPEG files have none. */
	bool has_huffman_tables;
	/* The Huffman tables that the first scan uses: bit i for table i. */
	uint8_t dc_tables;
	uint8_t ac_tables;
	/* In the bytes given; 1 if the first scan has all components. */
	uint32_t scan_count;
	size_t scan_offset; /* offset of the first scan */
	/* How many of the scans contain each component. */
	uint32_t component_scans[IMG_PLANES_MAX];
	bool needs_all_scans; /* a finding, see img_header.has_findings */
	struct jpeg_pictures pictures;
	struct scans scans;

	/* The position in the marker segments. */
	struct {
		size_t offset; /* 0: not begun */
		bool in_scan, has_ended, has_header, has_jfif;
		bool is_adobe_rgb; /* by its EXIF data */
		uint32_t marker_count;
		uint32_t precision; /* bits of a sample */
		uint8_t ids[IMG_PLANES_MAX];
		/* Transform in the Adobe marker; -1: no such marker. */
		int adobe;
		size_t icc_offset; /* offset of the largest chunk */
		size_t icc_largest_bytes;
	} walk;
};

FORMAT_OWN_FUNCTIONS(JPEG, jpeg)

enum {
	JPEG_MAGIC_BYTES = 2, /* SOI */
	/* A photo has some tens of markers; eight million would take 0.1 s. */
	JPEG_MARKERS_MAX = 32768,
};

/* The names of segments, which end with the zero that a string has. */
#define JPEG_EXIF_NAME "Exif\0"
#define JPEG_XMP_NAME "http://ns.adobe.com/xap/1.0/"
#define JPEG_IPTC_NAME "Photoshop 3.0"

/* As formats/format.h says; the rest of the format is in decode.c. */
bool jpeg_recognise(const uint8_t *bytes, size_t count);
enum img_err jpeg_probe_more(struct img_header *h, const uint8_t *jpeg,
			     const struct img_limits *limits);
/* As jpeg_probe_more(), without what follows the first picture. */
enum img_err jpeg_probe_picture(struct img_header *h, const uint8_t *jpeg,
				const struct img_limits *limits);
void jpeg_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h);
enum img_err jpeg_encode(uint8_t **jpeg, size_t *jpeg_bytes, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory);
extern const struct step_estimate jpeg_decode_estimate;
extern const struct step_estimate jpeg_encode_estimate;

enum profile_state {
	PROFILE_NONE,
	PROFILE_READ,
	/* Chunks are missing, doubled or contradictory; or too large. */
	PROFILE_BROKEN,
	PROFILE_NO_MEMORY,
};

/*
 * The ICC profile of a JPEG, put together from the chunks in its header (ICC.1,
 * annex B.4), in any order.  The profile itself is not checked.  After
 * PROFILE_READ, *profile is a block from `memory`; otherwise *profile and
 * *bytes are unchanged.  Takes linear time for any bytes.
 */
MUST_CHECK enum profile_state profile_read(uint8_t **profile, size_t *bytes,
					   const uint8_t *jpeg,
					   size_t jpeg_bytes,
					   const struct memory *memory);

/* As profile_read(), but a profile of Adobe RGB. */
MUST_CHECK enum profile_state profile_adobe_rgb(uint8_t **profile,
						size_t *bytes,
						const struct memory *memory);

/* In whole MCUs, of `step` blocks each. */
static inline uint64_t round_up_blocks(uint64_t n, int step)
{
	return (n + (uint64_t)step - 1) / (uint64_t)step * (uint64_t)step;
}

/* The DCT blocks of component `i`. */
struct img_size header_blocks(const struct img_header *h, uint32_t i);

#endif
