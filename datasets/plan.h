/* SPDX-License-Identifier: MIT */
/*
 * Plan: all that is decided about an upload before a pixel is touched.
 *
 * Drawn from the seed, the upload's number and target, the profile and the
 * sources alone, so it does not matter which worker makes it, or when.
 */
#ifndef DATASETS_PLAN_H
#define DATASETS_PLAN_H

#include "datasets/encode.h"
#include "datasets/metadata.h"
#include "datasets/profile.h"
#include "datasets/source.h"

struct plan {
	uint32_t number;
	uint64_t seed; /* of what is drawn while it is made */
	uint64_t target_bytes;
	bool exact;      /* the target must be met to the byte */
	uint32_t source; /* index */
	struct box part; /* of the source, each from 0 to 1 */
	double aspect;   /* width / height, upright */

	const struct frame *frame; /* NULL: any size within the sides */
	uint32_t side_min_px;
	uint32_t side_max_px;

	int quality;
	enum sampling sampling;
	bool progressive;
	bool optimised;
	bool grey;
	bool exif;
	int orientation; /* 1, 3, 6 or 8; not 1 only with `exif` */
	bool thumbnail;
	enum icc icc;
};

/*
 * Draw upload number `number`, of `target_bytes`.  Among the sources those
 * are taken that have enough detail for so many bytes, if there are any.
 */
void plan_draw(struct plan *plan, const struct profile *profile, uint64_t seed,
	       uint32_t number, uint64_t target_bytes,
	       const struct source *sources, uint32_t source_count);

/*
 * Bytes of an encoding by those of the same pixels at CAPACITY_QUALITY without
 * subsampling, roughly; 0 to 1.
 */
double plan_density(const struct plan *plan);

#endif
