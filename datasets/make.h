/* SPDX-License-Identifier: MIT */
/*
 * Make: a plan becomes a file of the planned number of bytes, metadata and
 * all, by encoding, comparing and correcting.
 */
#ifndef DATASETS_MAKE_H
#define DATASETS_MAKE_H

#include "datasets/encode.h"
#include "datasets/metadata.h"
#include "datasets/plan.h"
#include "datasets/source.h"

struct made {
	uint64_t size_bytes;
	uint32_t width; /* as stored */
	uint32_t height;
	int quality;
	double enlarged; /* upright width / that of the photo's part; > 1 is */
	uint32_t encodings;
};

struct upload {
	struct plan plan;
	struct made made;
};

/*
 * Make `upload` as planned, of `source`, its photo, and tell what became of
 * it; `out` is the caller's to release.  It misses the target by 2.5 %
 * at most, unless pixels are too coarse a measure for so small a file or the
 * plan's sides forbid it.
 */
void make_upload(struct upload *upload, struct jpeg *out,
		 const struct source *source, const struct pyramid *pyramid,
		 const struct icc_profiles *icc_profiles);

#endif
