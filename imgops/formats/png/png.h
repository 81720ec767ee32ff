/* SPDX-License-Identifier: MIT */
/*
 * Inside formats/png: the header of a PNG, its own part of struct img_header.
 *
 * "PNG" with a number of a clause is the third edition of the standard (W3C,
 * 2025).
 */
#ifndef IMGOPS_FORMATS_PNG_PNG_H
#define IMGOPS_FORMATS_PNG_PNG_H

#include "imgops/colour/icc_write.h"
#include "imgops/formats/format.h"

enum {
	PNG_SIGNATURE_BYTES = 8,
	PNG_CHUNK_HEAD = 8,   /* length and name, before the data */
	PNG_CHUNK_EXTRA = 12, /* these, and the CRC after the data */
	PNG_CHUNK_BYTES_MAX = INT32_MAX,
};

#define PNG_NAME(a, b, c, d)                                                   \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 |      \
	 (uint32_t)(d))

/* The keyword of the iTXt that has XMP, which ends with a zero. */
#define PNG_XMP_NAME "XML:com.adobe.xmp"

extern const uint8_t png_signature[PNG_SIGNATURE_BYTES];

enum png_type {
	PNG_GREY = 0,
	PNG_RGB = 2,
	PNG_PALETTE = 3,
	PNG_GREY_ALPHA = 4,
	PNG_RGBA = 6,
};

/* A part of the file; 0 bytes: there is none. */
struct png_part {
	size_t offset, bytes;
};

struct FORMAT_OWN png_own {
	size_t offset; /* of the next chunk; 0: not begun */
	uint32_t chunk_count;
	bool has_header;
	size_t idat_offset; /* of the first IDAT */

	uint8_t depth; /* bits of a sample: 1, 2, 4, 8, 16 */
	uint8_t type;  /* enum png_type */
	bool is_interlaced;
	/* A chunk that pixels depend on, other than IDAT, has a wrong CRC. */
	bool is_damaged;
	struct png_part palette; /* only of PNG_PALETTE */
	struct png_part alpha;   /* tRNS, if it has a meaning */

	/* The profile: deflated in the file, or made of `colours`. */
	struct png_part icc;
	bool has_bad_profile, has_srgb, has_gamma, has_primaries, has_cicp;
	bool makes_profile;
	struct icc_colours colours;
};

FORMAT_OWN_FUNCTIONS(PNG, png)

/* Samples of a pixel in the file. */
uint32_t png_samples(const struct png_own *own);

/* Bytes of a pixel, at least 1, by which filters look to the left. */
uint32_t png_step(const struct png_own *own);

/* Bytes of a row of `width` pixels, without the byte for its filter. */
size_t png_row_bytes(const struct png_own *own, uint32_t width);

/* True: the chunk of `data`, which is whole, has the right CRC. */
bool png_crc_is_right(const uint8_t *data, size_t bytes);

static inline uint32_t png_read32(const uint8_t *p)
{
	return PNG_NAME(p[0], p[1], p[2], p[3]);
}

/* As formats/format.h says; the rest of the format is in decode.c. */
bool png_recognise(const uint8_t *bytes, size_t count);
enum img_err png_probe_more(struct img_header *h, const uint8_t *bytes,
			    const struct img_limits *limits);
void png_metadata(struct metadata_found *found, const uint8_t *bytes,
		  size_t count, const struct img_header *h);
enum img_err png_encode(uint8_t **bytes, size_t *count, struct image *src,
			const struct img_transform *transform, double quality,
			const struct memory *memory);
extern const struct step_estimate png_encode_estimate;

#endif
