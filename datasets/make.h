/* SPDX-License-Identifier: MIT */
/*
 * Make: makes a file with the planned number of bytes, metadata included, by
 * encoding, comparing and correcting.
 */
#ifndef DATASETS_MAKE_H
#define DATASETS_MAKE_H

#include "datasets/jpeg.h"
#include "datasets/plan.h"
#include "datasets/source.h"

/*
 * Make `upload` as planned from its photo `source`, and fill in upload->made.
 * `out` belongs to the caller.  Its size is within 2.5 % of the target, unless
 * the file is so small that single pixels matter, or the sides in the plan do
 * not allow it.
 */
void make_upload(struct upload *upload, struct jpeg *out,
		 const struct source *source, const struct pyramid *pyramid,
		 const struct icc_profiles *icc_profiles);

#endif
