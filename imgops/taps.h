/* SPDX-License-Identifier: MIT */
/*
 * Taps: for each output sample along one axis, which input samples are summed,
 * and with which weights.  Lanczos-3, widened to shrink.
 *
 * Limits  Memory grows with inputs + outputs, not with their product: 20 KB
 *         for 1000 -> 640, at most 5 MB (65,500 -> 1).
 */
#ifndef IMGOPS_TAPS_H
#define IMGOPS_TAPS_H

#include "imgops/image.h"

struct axis {
	uint32_t in, out;         /* samples */
	double in_span, out_span; /* of what is shown */
	double start;             /* where that begins, in input samples */
	bool mirrored;
};

/* True: output i is input `start` + i. */
bool axis_is_copy(const struct axis *a);

/*
 * The inputs of output i are `count` in a row, from `from` + first[i] on.  Some
 * may lie one or two past the end, with weight 0.  There are TAPS_GROUP - 1
 * more outputs than asked for, equal to the last, so that loops may run over
 * whole groups.
 */
struct taps {
	uint32_t from;
	uint32_t reach; /* all inputs lie within from .. from + reach - 1 */
	uint32_t count; /* even */
	uint32_t *first;
	int16_t *weights; /* `count` for each output, which sum to one */
	void *block;      /* holds both, and room to work */
};

enum { TAPS_GROUP = 8 };

/* first[i] are multiples of `align` (1, 2).  False: no memory; `t` is empty. */
IMG_CHECK bool taps_make(struct taps *t, const struct axis *a, uint32_t align,
			 const struct img_memory *memory);

/* Empty ones are fine. */
void taps_release(struct taps *t, const struct img_memory *memory);

#endif
