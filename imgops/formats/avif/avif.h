/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: AVIF, a picture of AV1 in boxes (isobmff.h).
 *
 *	AV1 Image File Format 1.1; MIAF, ISO/IEC 23000-22
 *
 * The header is read here; libavif reads and writes pictures, by dav1d and
 * libaom.
 */
#ifndef IMGOPS_FORMATS_AVIF_H
#define IMGOPS_FORMATS_AVIF_H

#include "imgops/formats/format.h"

/* ITU-T H.273: codes of matrix coefficients, primaries and curves. */
enum {
	AVIF_BT709 = 1,
	AVIF_UNSPECIFIED = 2,
	AVIF_CURVE_BT601 = 6,
	AVIF_CURVE_SRGB = 13,
	AVIF_CURVE_BT2020 = 14, /* and 15 */
	AVIF_MATRIX_IDENTITY = 0,
	AVIF_MATRIX_BT470BG = 5,
	AVIF_MATRIX_BT601 = 6,
};

struct FORMAT_OWN avif_own {
	uint64_t offset;     /* of the box of the file that is read next */
	uint64_t icc_offset; /* of the profile */
	/* Of the picture before its clean aperture, if any, is cut out. */
	struct img_size coded;
	uint32_t left, top; /* of the aperture */
	struct img_size cell;
	uint32_t cells; /* pictures that make up a grid; else 1 */
	uint32_t depth; /* bits of a sample */
	/* The profile is made of these codes; 0: it is in the file. */
	uint32_t primaries, curve;
	bool has_full_chroma;
	bool is_sequence;
	bool has_picture; /* its header is read */
	bool has_ended;   /* all of the header is read */
};

FORMAT_OWN_FUNCTIONS(AVIF, avif)

enum { AVIF_MAGIC_BYTES = 64 };

bool avif_recognise(const uint8_t *bytes, size_t count);

enum img_err avif_probe_more(struct img_header *header, const uint8_t *bytes,
			     const struct img_limits *limits);

enum img_err avif_decode(struct image *dst, const uint8_t *bytes, size_t count,
			 const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory);

enum img_err avif_encode(uint8_t **bytes, size_t *count, struct image *src,
			 const struct img_transform *transform,
			 const struct memory *memory);

/* dav1d and libaom need more stack than callers have. */
enum { AVIF_STACK_BYTES = 1 << 20 };

extern const struct step_estimate avif_decode_estimate;
extern const struct step_estimate avif_encode_estimate;
extern const double avif_qualities[FORMAT_QUALITIES];

#endif
