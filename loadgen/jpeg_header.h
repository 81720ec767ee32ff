/* SPDX-License-Identifier: MIT */
/*
 * JPEG header: how large the image of an upload is, and which way is up.
 *
 * Reads the marker segments before the first scan, and EXIF in APP1 (ITU T.81
 * annex B, EXIF 2.32 section 4.6.4).  Not the server's code, on purpose: what
 * a server promises is checked by it.
 *
 * Pure.  Every byte may be wrong: nothing beyond the given bytes is read.
 */
#ifndef LOADGEN_JPEG_HEADER_H
#define LOADGEN_JPEG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_header {
	uint32_t width_px; /* as stored, before any turning */
	uint32_t height_px;
	uint32_t orientation; /* of EXIF, 1..8; 1 if it says none */
};

/* False: not a JPEG with a size, and `out` is untouched. */
bool jpeg_header_read(struct jpeg_header *out, const void *bytes, size_t size);

#endif
