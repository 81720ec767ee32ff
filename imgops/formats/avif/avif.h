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

#include "imgops/formats/heif.h"

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
			 const struct img_transform *transform, double quality,
			 const struct memory *memory);

/* Can libavif write a gain map?  It reads one as any picture. */
#define AVIF_HOLDS_GAINMAP (AVIF_VERSION >= 1020000)

/* dav1d and libaom need more stack than callers have. */
enum { AVIF_STACK_BYTES = 1 << 20 };

extern const struct step_estimate avif_decode_estimate;
extern const struct step_estimate avif_encode_estimate;
extern const double avif_qualities[FORMAT_QUALITIES];

#endif
