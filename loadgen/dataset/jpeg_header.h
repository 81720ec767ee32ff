/* SPDX-License-Identifier: MIT */
/*
 * JPEG header: the size of the image of an upload, and its orientation.
 *
 * Reads the marker segments before the first scan, and EXIF in APP1 (ITU T.81
 * annex B, EXIF 2.32 section 4.6.4).  It shares no code with the server,
 * because it checks the server's replies.
 *
 * Pure.  Any byte may be wrong; nothing outside the given bytes is read.
 */
#ifndef LOADGEN_DATASET_JPEG_HEADER_H
#define LOADGEN_DATASET_JPEG_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jpeg_header {
	uint32_t width_px; /* as stored, before orientation is applied */
	uint32_t height_px;
	uint32_t orientation; /* from EXIF, 1 .. 8; 1 if EXIF has none */
};

/* False: not a JPEG with a size, and `out` is untouched. */
bool jpeg_header_read(struct jpeg_header *out, const void *bytes, size_t size);

#endif
