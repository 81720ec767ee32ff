/* SPDX-License-Identifier: MIT */
/*
 * Reference: slow scaling and blurring in double precision, to measure against.
 *
 * Written apart from imgops, in the plainest way: turn the samples upright,
 * then sum rows, then columns, with nothing rounded on the way.  Samples past
 * an edge are the edge sample again.
 *
 * Ownership  What is returned is malloc()'s, the caller's, and never NULL.
 */
#ifndef IMGOPS_BENCH_REFERENCE_H
#define IMGOPS_BENCH_REFERENCE_H

#include "imgops/imgops.h"

/* Samples as displayed, of which the picture covers a part (image.h). */
struct upright {
	uint8_t *samples; /* rows without gaps */
	uint32_t width, height;
	double left, top; /* where the picture begins */
	double span_x, span_y;
};

/* Turn `plane`, of a file of that EXIF orientation. */
struct upright reference_turn(const struct img_plane *plane,
			      uint32_t orientation);

/* Free what reference_turn() gave. */
void reference_release(struct upright *u);

/*
 * The part of `u` that `view` shows, as a plane of the sides and spans of
 * `shape` (whose samples are not used): Lanczos-3, widened to shrink, cut to
 * 0..255 and not rounded.
 */
double *reference_scale(const struct upright *u, const struct img_view *view,
			const struct img_plane *shape);

/* Gaussian, its tails to 7 sigma, of a plane; `sigma` in its own samples. */
double *reference_blur(const struct img_plane *plane, double sigma);

#endif
