/* SPDX-License-Identifier: MIT */
/*
 * SSIM: structural similarity of two pictures, 1 for equal ones.
 *
 * Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality
 * assessment: from error visibility to structural similarity", IEEE
 * Transactions on Image Processing 13(4), 2004: a Gaussian window of 11 x 11
 * samples and sigma 1.5, K1 0.01, K2 0.03, L 255; the mean over all places
 * where the window lies inside.  Pictures are not reduced before.
 */
#ifndef IMGOPS_BENCH_SSIM_H
#define IMGOPS_BENCH_SSIM_H

#include <stdint.h>

enum { SSIM_WINDOW = 11 };

/* Sides are at least SSIM_WINDOW; rows follow each other without a gap. */
double ssim(const double *a, const double *b, uint32_t width, uint32_t height);

#endif
