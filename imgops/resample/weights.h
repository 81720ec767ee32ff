/* SPDX-License-Identifier: MIT */
/*
 * Filter weights: for each output sample along one axis, the input samples that
 * are summed, and their weights.  The filter is Lanczos-3, widened where the
 * size shrinks.
 *
 * Limits  Memory grows with inputs + outputs, not with their product: 20 KB
 *         for 1000 -> 640, at most 5 MB (65,500 -> 1).
 */
#ifndef IMGOPS_RESAMPLE_WEIGHTS_H
#define IMGOPS_RESAMPLE_WEIGHTS_H

#include "imgops/imgops.h"

/* One axis of a plane, from input to output samples. */
struct axis {
	uint32_t in, out;         /* samples of the planes */
	double in_span, out_span; /* samples of the part that is shown */
	double start;             /* where that part begins in the input */
	bool mirrored;
};

/* True: each output is one input, possibly in reverse order. */
bool axis_keeps_samples(const struct axis *a);

/* True: output i is input `start` + i. */
bool axis_is_copy(const struct axis *a);

/*
 * The inputs of output i are `count` in a row, from `from` + first[i] on.  Some
 * may lie one or two past the end, with weight 0.  There are WEIGHTS_GROUP - 1
 * more outputs than asked for, equal to the last, so that loops may run over
 * whole groups.
 */
struct filter_weights {
	uint32_t from;
	uint32_t reach; /* all inputs lie within from .. from + reach - 1 */
	uint32_t count; /* even */
	uint32_t *first;
	int16_t *weights; /* `count` for each output, which sum to one */
	void *block;      /* holds both, and room to work */
};

enum { WEIGHTS_GROUP = 8 };

/* first[i] are multiples of `align` (1, 2).  False: no memory; `t` is empty. */
MUST_CHECK bool weights_make(struct filter_weights *t, const struct axis *a,
			     uint32_t align, const struct memory *memory);

/* The memory that weights_make() asks for. */
size_t weights_bytes(const struct axis *a, uint32_t align);

/* The inputs that the filter covers for one output. */
uint32_t weights_window(const struct axis *a);

/* Free the weights.  Empty ones are fine. */
void weights_release(struct filter_weights *t, const struct memory *memory);

#endif
