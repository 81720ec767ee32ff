/* SPDX-License-Identifier: MIT */
#ifndef IMGOPS_BLUR_ROWS_AVX2_H
#define IMGOPS_BLUR_ROWS_AVX2_H

#include "imgops/blur_rows.h"

/* Only for x86-64 CPUs that have AVX2. */
extern const struct blur_rows blur_rows_avx2;

#endif
