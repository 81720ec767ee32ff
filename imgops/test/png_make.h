/* SPDX-License-Identifier: MIT */
/*
 * For tests: PNGs of any kind, made with zlib, and the colours of their pixels.
 */
#ifndef IMGOPS_TEST_PNG_MAKE_H
#define IMGOPS_TEST_PNG_MAKE_H

#include "imgops/test/support.h"

enum { PNG_ALL_FILTERS = 5 }; /* in turn */

/* The PNG to make.  0 and NULL mean what is most usual, except for `type`. */
struct png_spec {
	uint32_t width, height;
	uint32_t depth;   /* 0: 8 */
	uint32_t type;    /* 0, 2, 3, 4 or 6 */
	uint32_t colours; /* of a palette; 0: all */
	bool is_interlaced;
	uint32_t filter;
	bool is_noise, is_flat;
	bool has_alpha;     /* a tRNS chunk */
	bool is_opaque;     /* samples of alpha are all opaque */
	size_t idat_bytes;  /* 0: all in one chunk */
	int level;          /* of zlib; 0: 6; -1: 0 */
	struct bytes extra; /* chunks after IHDR */
};

/* The colour at (x, y): R, G, B and alpha. */
void png_pixel(uint8_t rgba[4], const struct png_spec *spec, uint32_t x,
	       uint32_t y);

struct bytes png_make(const struct png_spec *spec);

/* The same, with deflated data of the caller. */
struct bytes png_make_of(const struct png_spec *spec, struct bytes deflated);

/*
 * `count` zeros, deflated by as many tables as possible: a block with tables of
 * its own for each.
 */
struct bytes png_deflate_tables(size_t count);

/* Append a chunk to `to`, which grows. */
void png_add(struct bytes *to, const char *name, const void *data,
	     size_t bytes);

/* The data of the first chunk of this name, and the size. */
uint8_t *png_chunk(struct bytes png, const char *name, size_t *bytes);

/* Set the CRC of the first chunk of this name, whose data have changed. */
void png_set_crc(struct bytes png, const char *name);

#endif
