/* SPDX-License-Identifier: MIT */
/*
 * Matrix profiles: ICC profiles of RGB that consist of three tone curves and
 * three colours (ICC.1:2010, 8.3.3 and 8.4.3).  Most profiles of cameras,
 * phones and screens are of this kind.
 *
 * They are read from the profile's bytes, without memory and in bounded time,
 * so the thread that reads requests may do it.  Everything unusual is left to
 * lcms2 (icc.h): a matrix profile with a table as well, or with a curve of
 * another type.
 *
 * A profile that says PQ or HLG by its tag "cicp" (ICC.1:2022, 9.2.17) counts
 * as a matrix profile of these curves, whatever else it contains.
 */
#ifndef IMGOPS_COLOUR_MATRIX_H
#define IMGOPS_COLOUR_MATRIX_H

#include "base/util.h"
#include "imgops/colour/hdr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MATRIX_CHANNELS = 3 };

/* The parts of a profile; `curve` points into its bytes. */
struct matrix_tags {
	double xyz[MATRIX_CHANNELS][3]; /* of each channel's colour */
	struct matrix_curve {
		const uint8_t *data;
		size_t bytes;
	} curves[MATRIX_CHANNELS];
	enum hdr_curve hdr; /* other than HDR_NONE: instead of `curves` */
};

/* False: `profile` is of another kind, or unusual, or damaged. */
MUST_CHECK bool matrix_read(struct matrix_tags *tags, const uint8_t *profile,
			    size_t bytes);

/* True: it differs from sRGB only by rounding. */
bool matrix_is_srgb(const struct matrix_tags *tags);

enum { LEVEL_ENTRIES = 8192 };

/*
 * One value for each of the three channels of the result; the fourth is not
 * used.
 */
typedef float light_vector __attribute__((vector_size(16)));

/* A conversion to sRGB.  It does not need the profile's bytes any more. */
struct matrix_profile {
	/*
	 * For each level of each input channel, its contribution to each output
	 * channel.  The sums are indices into `levels`.
	 */
	light_vector parts[MATRIX_CHANNELS][256];
	/* sRGB levels, from no light to full light */
	uint8_t levels[LEVEL_ENTRIES];
	struct hdr hdr;
};

void matrix_init(struct matrix_profile *s, const struct matrix_tags *tags);

/* Convert a row of RGB planes to sRGB. */
void matrix_convert(const struct matrix_profile *s, uint8_t *const srgb[3],
		    const uint8_t *const rgb[3], size_t width);

/* The curve of sRGB: from light to level and back, both 0 to 1. */
double srgb_encode(double light); /* light below 0 is 0, above 1 is 1 */
double srgb_decode(double level);

#endif
