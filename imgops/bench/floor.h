/* SPDX-License-Identifier: MIT */
/*
 * Floor: libjpeg-turbo alone, planes in and planes out, without the steps
 * between.
 *
 * The pipeline cannot be faster than this with this library, unless it decodes
 * less of the file.  Uses no code of imgops.
 *
 * Errors     The files have been through the pipeline already.  If libjpeg
 *            cannot read one, the program ends with libjpeg's message.
 *            Warnings are ignored.
 */
#ifndef IMGOPS_BENCH_FLOOR_H
#define IMGOPS_BENCH_FLOOR_H

#include "imgops/imgops.h"

/*
 * A struct of zeros is empty.  Its memory is used again for the next file, and
 * never shrinks.
 */
struct floor {
	/* The result of floor_decode(). */
	struct img_plane planes[IMG_PLANES_MAX];
	uint32_t plane_count;
	struct img_size size;
	bool has_luma; /* the first plane is Y' or grey */

	/* Private. */
	int h_factors[IMG_PLANES_MAX], v_factors[IMG_PLANES_MAX];
	/* Rows of samples in a row of MCUs. */
	uint32_t group_rows[IMG_PLANES_MAX];
	/* Pointers to the rows of each plane, and to padding. */
	uint8_t **rows[IMG_PLANES_MAX];
	uint8_t *samples; /* of all planes */
	size_t samples_room;
	uint8_t *jpeg;
	size_t jpeg_room;
};

/* Decode at `dct_scale` / 8. */
void floor_decode(struct floor *f, const uint8_t *jpeg, size_t jpeg_bytes,
		  uint32_t dct_scale);

/*
 * Encode what floor_decode() has read at full size (8 / 8), with the file's own
 * subsampling.  Returns the number of bytes in f->jpeg.
 */
size_t floor_encode(struct floor *f, int quality);

/* Free what `f` holds and make it empty. */
void floor_release(struct floor *f);

#endif
