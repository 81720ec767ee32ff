/* SPDX-License-Identifier: MIT */
/*
 * Reference: slow scaling and blurring in double precision, with which results
 * are compared; and measures of how similar two pictures are.
 *
 * It shares no code with imgops and is as simple as possible: turn the samples
 * upright, then sum along rows, then along columns, without rounding.  Samples
 * outside the plane are equal to the nearest sample of its edge.
 *
 * Ownership  Results come from malloc(), belong to the caller, and are never
 *            NULL.
 */
#ifndef IMGOPS_BENCH_REFERENCE_H
#define IMGOPS_BENCH_REFERENCE_H

#include "imgops/imgops.h"

/* The samples of a plane, row by row without gaps. */
double *plane_values(const struct img_plane *plane);

/* How similar a plane is to an array of values of the same size. */
struct likeness {
	double psnr_db; /* 99 if both are equal, otherwise less */
	double worst_levels;
};

struct likeness plane_likeness(const struct img_plane *plane,
			       const double *values);

/*
 * The part of `plane` that `view` shows, turned as `view` says, and scaled to
 * the sides and spans of `shape` (whose samples are not used).  `filter` is
 * widened where the size shrinks.  Results are limited to 0..255 and not
 * rounded.  A side that keeps its size is not filtered: only the part is cut
 * out.  `levels` has the value of each of the 256 samples, such as its light;
 * NULL: the sample itself.
 */
double *reference_scale(const struct img_plane *plane,
			const struct img_view *view,
			const struct img_plane *shape, enum img_filter filter,
			const double *levels);

/*
 * Gaussian blur of a plane, with tails up to 7 sigma.  The unit of `sigma` is
 * samples of this plane.
 */
double *reference_blur(const struct img_plane *plane, double sigma);

/*
 * Structural similarity of two pictures, 1 for equal ones.
 *
 * Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality
 * assessment: from error visibility to structural similarity", IEEE
 * Transactions on Image Processing 13(4), 2004: a Gaussian window of 11 x 11
 * samples and sigma 1.5, K1 0.01, K2 0.03, L 255; the mean over all positions
 * at which the window lies inside the picture.  Pictures are not scaled down
 * before.
 *
 * Sides are at least SSIM_WINDOW; rows follow each other without a gap.
 */
enum { SSIM_WINDOW = 11 };

double ssim(const double *a, const double *b, uint32_t width, uint32_t height);

#endif
