/* SPDX-License-Identifier: MIT */
/*
 * Floor: libjpeg-turbo alone, planes in and planes out, no step between.
 *
 * What the pipeline cannot go below with this library, unless it decodes less
 * of the file.  Uses nothing of imgops.
 *
 * Errors     The files have been through the pipeline: what libjpeg cannot
 *            read ends the program, by its own message.  Its warnings are
 *            ignored.
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
	size_t block_bytes; /* it only grows */
};

/* Free what `p` holds and make it empty. */
void floor_release(struct floor_planes *p);

/* Decode at `eighths` / 8 into `p`, whose block is used again. */
void floor_decode(struct floor_planes *p, const uint8_t *jpeg,
		  size_t jpeg_bytes, uint32_t eighths);

/*
 * Encode what floor_decode() read at 8 / 8 with its own subsampling.  *jpeg, of
 * *room bytes, is malloc()'s, used again, and grown where it must be.  Returns
 * the bytes written.
 */
size_t floor_encode(uint8_t **jpeg, size_t *room, const struct floor_planes *p,
		    int quality);

#endif
