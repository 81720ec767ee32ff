/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: scaling in linear light.  Levels become light (bands.h), light
 * is summed by a filter, and the sums become levels again.
 *
 * Planes of RGB, inks or grey are scaled so, each by itself; of RGBA, light is
 * multiplied by alpha.  In Y'CbCr, luma alone is scaled in light, and chroma by
 * its numbers, as always.  That is nearly right where chroma does not vary:
 * against exact scaling of RGB, photos are as near as by RGB (SSIMULACRA2).
 * Where it varies, as in coloured text, all three are made from R', G' and B';
 * the planes decide, for each TILE columns and ROWS rows of the result.
 *
 * A filter with negative lobes draws a dark line along the darker side of an
 * edge.  In light this line is much darker than by the numbers: beside white,
 * Lanczos-3 makes level 64 black.  So no result is darker by more than
 * LIGHT_UNDERSHOOT levels than the darkest sample under its pixel.  Softer
 * filters have less of these lines, and are worse: Mitchell's costs photos two
 * points of SSIMULACRA2, this limit at most 0.1.
 */
#ifndef IMGOPS_RESAMPLE_LIGHT_H
#define IMGOPS_RESAMPLE_LIGHT_H

#include "imgops/resample/plan.h"

enum { LIGHT_UNDERSHOOT = 10 };

/*
 * Fill plane `i` of `dst` from plane `i` of `src`, which has light, by `p`,
 * whose weights are made.  Of YCBCR also the chroma of `dst` is changed, where
 * it varies.  The other planes of `dst` are complete.  False: no memory.
 */
MUST_CHECK bool light_scale(struct image *dst, const struct image *src,
			    uint32_t i, const struct plan *p,
			    const struct memory *memory);

/* The most memory that this needs; samples of `src` are not read. */
uint64_t light_bytes(const struct image *src, const struct plan *p);

#endif
