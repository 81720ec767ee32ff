/* SPDX-License-Identifier: MIT */
#include "imgops/test/exact.h"

#include <math.h>

static double lanczos3(double x)
{
	if (fabs(x) < 1e-9)
		return 1;
	if (fabs(x) >= 3)
		return 0;
	return 3 * sin(M_PI * x) * sin(M_PI * x / 3) / (M_PI * M_PI * x * x);
}

/* Mitchell and Netravali, Reconstruction filters in computer graphics, 1988. */
static double cubic(double x, double b, double c)
{
	x = fabs(x);
	if (x < 1)
		return 1 - b / 3 + x * x * (-3 + 2 * b + c) +
		       x * x * x * (2 - 1.5 * b - c);
	if (x < 2)
		return 4 * b / 3 + 4 * c - x * (2 * b + 8 * c) +
		       x * x * (b + 5 * c) - x * x * x * (b / 6 + c);
	return 0;
}

/* How much of the input the output covers. */
static double box(double x, double step)
{
	return fmax(0, fmin(x + 0.5, step / 2) - fmax(x - 0.5, -step / 2));
}

double exact_weight(enum img_filter filter, double x, double step)
{
	if (filter == IMG_BOX)
		return box(x, step);
	x /= fmax(1, step);
	switch (filter) {
	case IMG_TRIANGLE:
		return fmax(0, 1 - fabs(x));
	case IMG_BSPLINE:
		return cubic(x, 1, 0);
	case IMG_CATMULL_ROM:
		return cubic(x, 0, 0.5);
	case IMG_MITCHELL:
		return cubic(x, 1 / 3.0, 1 / 3.0);
	default:
		return lanczos3(x);
	}
}

void exact_stored_place(double *u, double *v, uint32_t orientation)
{
	double x = *u, y = *v;
	double places[][2] = { { x, y },         { 1 - x, y }, { 1 - x, 1 - y },
			       { x, 1 - y },     { y, x },     { y, 1 - x },
			       { 1 - y, 1 - x }, { 1 - y, x } };

	*u = places[orientation - 1][0];
	*v = places[orientation - 1][1];
}
