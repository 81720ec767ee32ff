/* SPDX-License-Identifier: MIT */
/*
 * Filter weights: for each output sample along one axis, the input samples that
 * are summed, and their weights.  A filter is widened where the size shrinks,
 * and past an edge the edge sample is repeated.  The cubic ones are those of
 * Mitchell and Netravali, "Reconstruction filters in computer graphics", 1988.
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
	enum img_filter filter; /* if samples are not only moved */
};

/* True: each output is one input, possibly in reverse order. */
bool axis_keeps_samples(const struct axis *a);

/* True: output i is input `start` + i. */
bool axis_is_copy(const struct axis *a);

/*
 * The inputs of output i are `count` in a row, from `from` + first[i] on.  Some
 * may lie one or two past the end, with weight 0.  After the last output, its
 * weights are repeated WEIGHTS_GROUP - 1 times, so that loops may run over
 * whole groups.
 */
struct filter_weights {
	uint32_t from;
	/* The inputs of all outputs are from .. from + reach - 1. */
	uint32_t reach;
	uint32_t count; /* even */
	uint32_t *first;
	int16_t *weights; /* `count` for each output; these sum to one */
	void *block;      /* holds both arrays, and room to compute them */
};

enum { WEIGHTS_GROUP = 8 };

/*
 * Every first[i] will be a multiple of `align` (1 or 2).  False: no memory; `t`
 * is empty.
 */
MUST_CHECK bool weights_make(struct filter_weights *t, const struct axis *a,
			     uint32_t align, const struct memory *memory);

/* The memory that weights_make() asks for. */
size_t weights_bytes(const struct axis *a, uint32_t align);

/* How many inputs the filter covers for one output. */
uint32_t weights_window(const struct axis *a);

/* Free the weights.  Empty ones are fine. */
void weights_release(struct filter_weights *t, const struct memory *memory);

#endif
