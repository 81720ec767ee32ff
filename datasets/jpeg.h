/* SPDX-License-Identifier: MIT */
/*
 * JPEG: the files that mkset writes and reads, with their metadata.
 *
 * A picture is encoded together with EXIF as a camera writes it, and with a
 * colour profile.  Both are generated, because those in real photos have owners
 * and licences.  jpeg_inspect() reads the headers of any JPEG without decoding
 * it.
 *
 * Ownership  The caller frees `out` by jpeg_release().
 * Limits     An EXIF block must fit into one segment, with its thumbnail.
 */
#ifndef DATASETS_JPEG_H
#define DATASETS_JPEG_H

#include "datasets/picture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_MAX = 3, SEGMENT_BYTES_MAX = 65533 };

enum sampling { SAMPLING_420, SAMPLING_422, SAMPLING_444 };

enum icc { ICC_NONE, ICC_SRGB, ICC_ADOBE_RGB, ICC_DISPLAY_P3, ICC_COUNT };

/* A marker segment: EXIF, a profile, a comment. */
struct segment {
	int marker; /* JPEG_APP0 + n or JPEG_COM */
	const uint8_t *bytes;
	size_t size_bytes; /* SEGMENT_BYTES_MAX at most */
};

struct encoding {
	int quality;
	enum sampling sampling;
	bool progressive;
	bool optimised; /* Huffman tables made for the picture */
	bool grey;
	struct segment segments[SEGMENTS_MAX];
	uint32_t segment_count;
};

struct jpeg {
	uint8_t *bytes; /* from malloc() */
	size_t size_bytes;
};

/* Encode `p`.  An error of libjpeg ends the program. */
void jpeg_encode(struct jpeg *out, const struct picture *p,
		 const struct encoding *e);

void jpeg_release(struct jpeg *j);

/* "4:2:0" */
const char *sampling_name(enum sampling sampling);

struct exif {
	int orientation;
	uint32_t width_px; /* as stored */
	uint32_t height_px;
	/* Decides camera, time, exposure and byte order. */
	uint64_t seed;
	struct segment thumbnail; /* a JPEG; if empty, there is none */
};

/*
 * Write the content of an APP1 segment to `out`, which has room for
 * SEGMENT_BYTES_MAX.  Returns its size.
 */
size_t exif_write(uint8_t *out, const struct exif *exif);

/*
 * The profiles, and for each the conversion of sRGB pixels into it.  They do
 * not change after icc_profiles_init().
 */
struct icc_profiles {
	struct {
		uint8_t *bytes; /* an APP2 segment, from "ICC_PROFILE" on */
		size_t size_bytes;
		void *transform; /* NULL: pixels stay as they are */
	} of[ICC_COUNT];
};

/* "none", "sRGB", "AdobeRGB-like", "P3-like" */
const char *icc_name(enum icc icc);

/* Ends the program if lcms2 cannot make a profile. */
void icc_profiles_init(struct icc_profiles *p);

void icc_profiles_release(struct icc_profiles *p);

/* The APP2 segment of `icc`; its bytes belong to `p`. */
struct segment icc_profiles_segment(const struct icc_profiles *p, enum icc icc);

/* Convert the sRGB pixels of `picture` to the colour space `icc`. */
void icc_profiles_convert(const struct icc_profiles *p, enum icc icc,
			  struct picture *picture);

/* What the headers of a JPEG say. */
struct jpeg_facts {
	uint32_t width; /* as stored */
	uint32_t height;
	const char *sampling; /* "grey", "4:2:0", ..., "other" */
	bool progressive;
	bool exif;
	int orientation; /* 1 .. 8; 0: not given */
	bool thumbnail;  /* EXIF has a second directory */
	size_t icc_bytes;
};

/* False: not a JPEG, or it ends before its frame header; `f` is untouched. */
bool jpeg_inspect(struct jpeg_facts *f, const uint8_t *bytes,
		  size_t size_bytes);

#endif
