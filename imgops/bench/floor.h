/* SPDX-License-Identifier: MIT */
/*
 * Floor: libjpeg-turbo alone, planes in and planes out, without the steps
 * between.
 *
 * The pipeline cannot be faster than this with this library, unless it decodes
 * less of the file.  Uses nothing of imgops.
 *
 * Errors     The files have been through the pipeline already.  If libjpeg
 *            cannot read one, the program ends with libjpeg's message.
 *            Warnings are ignored.
 */
#ifndef IMGOPS_BENCH_FLOOR_H
#define IMGOPS_BENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FLOOR_PLANES_MAX = 4 };

struct floor_plane {
	uint8_t *samples; /* in the block of the planes */
	uint32_t width, height;
	uint32_t stride, rows; /* whole groups of blocks */
	int h_factor, v_factor;
};

struct floor_planes {
	struct floor_plane planes[FLOOR_PLANES_MAX];
	int count;
	uint32_t width, height; /* of the picture */
	bool has_luma;          /* the first plane is Y' or grey */
	uint8_t *block;
	size_t block_bytes; /* never shrinks */
};

/* Free what `p` holds and make it empty. */
void floor_release(struct floor_planes *p);

/* Decode at `dct_scale` / 8 into `p`, whose block is used again. */
void floor_decode(struct floor_planes *p, const uint8_t *jpeg,
		  size_t jpeg_bytes, uint32_t dct_scale);

/*
 * Encode planes that floor_decode() decoded at full size (8 / 8), with the
 * file's own subsampling.  *jpeg is a buffer of *room bytes from malloc(); it
 * is reused, and enlarged if it is too small.  Returns the number of bytes
 * written.
 */
size_t floor_encode(uint8_t **jpeg, size_t *room, const struct floor_planes *p,
		    int quality);

#endif
