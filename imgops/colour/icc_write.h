/* SPDX-License-Identifier: MIT */
/*
 * Makes a matrix profile (matrix.h) for a file that says in numbers, instead of
 * by a profile, which colours its samples mean.
 */
#ifndef IMGOPS_COLOUR_ICC_WRITE_H
#define IMGOPS_COLOUR_ICC_WRITE_H

#include "base/util.h"
#include "imgops/colour/hdr.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The colours of white and of the full channels, as x and y of CIE 1931; and
 * the light of a level:
 *
 *	(scale * level + offset) ^ exponent    from `knee` on
 *	slope * level                          below
 */
struct icc_colours {
	double white[2], red[2], green[2], blue[2];
	double exponent, scale, offset, slope, knee;
	/*
	 * H.273's number of the primaries, if the true curve is `hdr`.  A
	 * profile says both in numbers; its curve is the one above, by which
	 * programs that do not know the numbers show more than black.
	 */
	uint8_t hdr_primaries;
	enum hdr_curve hdr;
};

extern const struct icc_colours icc_srgb, icc_adobe_rgb;

/*
 * The colours that ITU-T H.273 gives these codes.  False: it has none, and `to`
 * is unchanged.
 */
MUST_CHECK bool icc_colours_of(struct icc_colours *to, uint32_t primaries,
			       uint32_t curve);

/*
 * The light of each channel under D50, in XYZ; together they are white.  False:
 * H.273 has no such primaries, and `xyz` is unchanged.
 */
MUST_CHECK bool icc_code_light(double xyz[3][3], uint32_t primaries);

enum {
	ICC_WRITTEN_BYTES = 424, /* of colours without `hdr` */
	ICC_WRITTEN_BYTES_MAX = 448,
};

/*
 * Write the profile, ICC version 4.4, and return its size.  0: no such colours
 * exist, and `out` is undefined.
 */
MUST_CHECK size_t icc_write(uint8_t out[ICC_WRITTEN_BYTES_MAX],
			    const struct icc_colours *colours);

#endif
