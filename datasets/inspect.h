/* SPDX-License-Identifier: MIT */
/* Inspect: what the headers of a JPEG say, without decoding it. */
#ifndef DATASETS_INSPECT_H
#define DATASETS_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct facts {
	uint32_t width; /* as stored */
	uint32_t height;
	const char *sampling; /* "grey", "4:2:0", ..., "other" */
	bool progressive;
	bool exif;
	int orientation; /* 1 .. 8; 0: not said */
	bool thumbnail;  /* EXIF has a second directory */
	size_t icc_bytes;
};

/* False: no JPEG, or it ends before its frame header; `f` is untouched. */
bool inspect(struct facts *f, const uint8_t *bytes, size_t size_bytes);

#endif
