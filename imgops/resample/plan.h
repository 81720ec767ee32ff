/* SPDX-License-Identifier: MIT */
/* Inside imgops: how one plane becomes another; scale.c makes it. */
#ifndef IMGOPS_RESAMPLE_PLAN_H
#define IMGOPS_RESAMPLE_PLAN_H

#include "imgops/resample/bands.h"
#include "imgops/resample/weights.h"

#include <math.h>

struct plan {
	struct axis x, y;   /* axes of the source, or of its part */
	uint32_t left, top; /* where that part begins */
	bool aside;         /* the axes are exchanged in the result */
	/* Samples are only copied, without weights and band. */
	bool is_copy;
	struct filter_weights along, down;
	int16_t *band; /* not used in linear light */
};

/* At most `reach` of the weights along an axis, before they are made. */
static inline uint32_t plan_reach_max(const struct axis *a)
{
	return (uint32_t)fmin(ceil(a->in_span) + weights_window(a) + 4,
			      a->in + 2.0);
}

/* The columns of a band for sums along `reach` inputs. */
static inline uint32_t plan_band_columns(uint32_t reach)
{
	return (reach + BAND_COLUMNS - 1) / BAND_COLUMNS * BAND_COLUMNS;
}

#endif
