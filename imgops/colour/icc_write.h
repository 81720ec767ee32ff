/* SPDX-License-Identifier: MIT */
/*
 * Makes a matrix profile (matrix.h) for a file that says in numbers, instead of
 * by a profile, which colours its samples mean.
 */
#ifndef IMGOPS_COLOUR_ICC_WRITE_H
#define IMGOPS_COLOUR_ICC_WRITE_H

#include "base/util.h"

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
};

extern const struct icc_colours icc_srgb;

/*
 * The colours that ITU-T H.273 gives these codes.  False: others, or those of
 * high dynamic range, and `to` is unchanged.
 */
MUST_CHECK bool icc_colours_of(struct icc_colours *to, uint32_t primaries,
			       uint32_t curve);

enum { ICC_WRITTEN_BYTES = 424 };

/*
 * Write the profile, ICC version 4.  False: no such colours exist, and `out` is
 * undefined.
 */
MUST_CHECK bool icc_write(uint8_t out[ICC_WRITTEN_BYTES],
			  const struct icc_colours *colours);

#endif
