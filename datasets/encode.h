/* SPDX-License-Identifier: MIT */
/*
 * Encode: a picture becomes a JPEG, with what else belongs into the file.
 */
#ifndef DATASETS_ENCODE_H
#define DATASETS_ENCODE_H

#include "datasets/picture.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sampling { SAMPLING_420, SAMPLING_422, SAMPLING_444 };

/* "4:2:0" */
const char *sampling_name(enum sampling sampling);

/* A marker segment: EXIF, a profile, a comment. */
struct segment {
	int marker; /* JPEG_APP0 + n or JPEG_COM */
	const uint8_t *bytes;
	size_t size_bytes; /* 65533 at most */
};

enum { SEGMENTS_MAX = 3, SEGMENT_BYTES_MAX = 65533 };

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

/* `out` is its caller's; a picture of our own cannot be refused. */
void encode_picture(struct jpeg *out, const struct picture *p,
		    const struct encoding *e);

void jpeg_release(struct jpeg *j);

#endif
