/* SPDX-License-Identifier: MIT */
/*
 * Reference: slow scaling and blurring in double precision, to measure against;
 * and how similar two pictures are.
 *
 * It shares no code with imgops and is written in the plainest way: turn the
 * samples upright, then sum rows, then columns, and round nothing in between.
 * Outside the plane, samples are those of its edge.
 *
 * Ownership  What is returned is malloc()'s, the caller's, and never NULL.
 */
#ifndef IMGOPS_BENCH_REFERENCE_H
#define IMGOPS_BENCH_REFERENCE_H

#include "imgops/imgops.h"

/* The samples of a plane, row by row without gaps. */
double *plane_values(const struct img_plane *plane);

/* How near a plane is to values of its sides. */
struct likeness {
	double psnr_db; /* at most 99, of equal ones */
	double worst_levels;
};

struct likeness plane_likeness(const struct img_plane *plane,
			       const double *values);

/*
 * The part of `plane` that `view` shows, turned as it says, as a plane of the
 * sides and spans of `shape` (whose samples are not used): by `filter`, widened
 * to shrink, cut to 0..255 and not rounded.  A plane that keeps its size is
 * only cut.
 */
double *reference_scale(const struct img_plane *plane,
			const struct img_view *view,
			const struct img_plane *shape, enum img_filter filter);

/* Gaussian, its tails to 7 sigma, of a plane; `sigma` in its own samples. */
double *reference_blur(const struct img_plane *plane, double sigma);

/*
 * Structural similarity of two pictures, 1 for equal ones.
 *
 * Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality
 * assessment: from error visibility to structural similarity", IEEE
 * Transactions on Image Processing 13(4), 2004: a Gaussian window of 11 x 11
 * samples and sigma 1.5, K1 0.01, K2 0.03, L 255; the mean over all places
 * where the window lies inside.  Pictures are not reduced before.
 *
 * Sides are at least SSIM_WINDOW; rows follow each other without a gap.
 */
enum { SSIM_WINDOW = 11 };

double ssim(const double *a, const double *b, uint32_t width, uint32_t height);

#endif
