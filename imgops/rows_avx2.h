/* SPDX-License-Identifier: MIT */
#ifndef IMGOPS_ROWS_AVX2_H
#define IMGOPS_ROWS_AVX2_H

#include "imgops/rows.h"

/* Only for x86-64 CPUs that have AVX2. */
extern const struct rows rows_avx2;

#endif
