/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: scales a plane by stb_image_resize, with a filter that the
 * request named.  This takes several times as long as the Lanczos-3 of scale.c.
 *
 * As in weights.h, a filter is widened where the size shrinks, and past an edge
 * the edge sample is repeated.  The filters have the shapes of
 * stb_image_resize.  Its "box" is a trapezoid whose ramps are one input sample
 * wide: a true box only if the size shrinks by a whole number.
 *
 * Memory     One block of resample_bytes(): less than 400 KB for photos, at
 *            most 25 MB (when both sides shrink from 65,500 samples to one).
 */
#ifndef IMGOPS_STB_H
#define IMGOPS_STB_H

#include "imgops/imgops.h"
#include "imgops/resample/weights.h"

/*
 * Fill `dst` from `src`, whose axes are `x` (along its rows) and `y`.  If
 * `aside` is true, the axes are exchanged in `dst`.  `filter` is not
 * IMG_LANCZOS3.  False: no memory; `dst` is not complete.
 */
MUST_CHECK bool resample_plane(struct img_plane *dst,
			       const struct img_plane *src,
			       const struct axis *x, const struct axis *y,
			       bool aside, enum img_filter filter,
			       const struct memory *memory);

/*
 * The memory that resample_plane() asks for.  It does not depend on `start` and
 * `mirrored` of the axes.
 */
size_t resample_bytes(const struct axis *x, const struct axis *y,
		      enum img_filter filter);

/*
 * What resample_plane() reads and prepares.  A sample that several tiles need
 * counts once for each of them.
 */
struct resample_work {
	double columns; /* columns read for one row of tiles */
	double rows;    /* rows read for one column of tiles */
	/* Columns of tiles; each row costs something, however narrow it is. */
	double tiles_x;
	/* Steps to stb's tables: they take quadratic time when shrinking. */
	double table_steps;
};

struct resample_work resample_work(const struct axis *x, const struct axis *y);

#endif
