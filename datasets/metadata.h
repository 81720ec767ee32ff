/* SPDX-License-Identifier: MIT */
/*
 * Metadata: EXIF as a camera writes it, and colour profiles, made here so
 * that no file of someone else's is needed.
 *
 * Limits  An EXIF block with its thumbnail must fit one segment.
 */
#ifndef DATASETS_METADATA_H
#define DATASETS_METADATA_H

#include <stddef.h>
#include <stdint.h>

#include "datasets/encode.h"
#include "datasets/picture.h"

struct exif {
	int orientation;
	uint32_t width_px; /* as stored */
	uint32_t height_px;
	uint64_t seed;            /* of camera, time, exposure, byte order */
	struct segment thumbnail; /* a JPEG; no bytes: none */
};

enum icc { ICC_NONE, ICC_SRGB, ICC_ADOBE_RGB, ICC_DISPLAY_P3, ICC_COUNT };

/* A profile and the transform of sRGB pixels into it; read-only once made. */
struct icc_profiles {
	struct {
		uint8_t *bytes; /* an APP2 segment, "ICC_PROFILE" and all */
		size_t size_bytes;
		void *transform; /* NULL: pixels stay as they are */
	} of[ICC_COUNT];
};

/* Write an APP1 segment to `out`, SEGMENT_BYTES_MAX large; its size. */
size_t exif_write(uint8_t *out, const struct exif *exif);

/* "none", "sRGB", "AdobeRGB-like", "P3-like" */
const char *icc_name(enum icc icc);

/* Ends the program when lcms2 cannot make one. */
void icc_profiles_init(struct icc_profiles *p);

void icc_profiles_release(struct icc_profiles *p);

/* The APP2 segment of `icc`, lent. */
struct segment icc_profiles_segment(const struct icc_profiles *p, enum icc icc);

/* Give the sRGB pixels of `picture` the numbers they have in `icc`. */
void icc_profiles_convert(const struct icc_profiles *p, enum icc icc,
			  struct picture *picture);

#endif
