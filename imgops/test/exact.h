/* SPDX-License-Identifier: MIT */
/*
 * For tests of scaling: what a filter is, and where a place of the upright
 * picture is in the file.  Shares no code with imgops.
 */
#ifndef IMGOPS_TEST_EXACT_H
#define IMGOPS_TEST_EXACT_H

#include "imgops/imgops.h"

/*
 * The weight, before all are divided by their sum, of an input that is `x`
 * inputs from the middle of an output; outputs are `step` inputs apart.
 */
double exact_weight(enum img_filter filter, double x, double step);

/*
 * (u, v), from 0 to 1, of the upright picture becomes that of the file (EXIF
 * 2.32, 4.6.4).
 */
void exact_stored_place(double *u, double *v, uint32_t orientation);

#endif
