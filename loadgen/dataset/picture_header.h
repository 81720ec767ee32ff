/* SPDX-License-Identifier: MIT */
/*
 * Picture header: the format of an upload or a reply, its size and orientation.
 *
 * Of a JPEG, reads the marker segments before the first scan, and EXIF in APP1
 * (ITU T.81 annex B, EXIF 2.32 section 4.6.4); also netpbm's P5 and P6,
 * the chunks of a WebP, the boxes of an AVIF or a HEIC, and the first bits of a
 * JPEG XL.
 * It shares no code with the server, because it checks the server's replies.
 *
 * Pure.  Any byte may be wrong; nothing outside the given bytes is read.
 */
#ifndef LOADGEN_DATASET_PICTURE_HEADER_H
#define LOADGEN_DATASET_PICTURE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture_header {
	uint32_t width_px; /* as stored, before orientation is applied */
	uint32_t height_px;
	uint32_t orientation;   /* from EXIF, 1 .. 8; 1 if EXIF has none */
	const char *media_type; /* "image/jpeg" */
	/*
	 * Of a PPM, a WebP, an AVIF or a JPEG XL in boxes that would be whole,
	 * or of a PNG that is; 0: unknown.
	 */
	uint64_t whole_bytes;
};

/* False: no picture with a size, and `out` is untouched. */
bool picture_header_read(struct picture_header *out, const void *bytes,
			 size_t size);

#endif
