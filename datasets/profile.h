/* SPDX-License-Identifier: MIT */
/*
 * Profiles: the kinds of upload sets mkset can make, in one table.
 *
 * Shares are of all files they can apply to, from 0 to 1.  Where each number
 * comes from stands beside it in profile.c.
 */
#ifndef DATASETS_PROFILE_H
#define DATASETS_PROFILE_H

#include "datasets/quantiles.h"

#include <stdint.h>

enum { PROFILE_BANDS_MAX = 3, PROFILE_FRAMES_MAX = 3 };

/* Qualities of files from a size on, until the next band. */
struct quality_band {
	uint64_t from_bytes;
	int min;
	int max;
};

/* A size in pixels that a camera writes. */
struct frame {
	uint32_t width_px;
	uint32_t height_px;
	uint64_t from_bytes; /* of files at least this large */
	double share;
};

struct profile {
	const char *name;
	uint32_t files; /* at scale 1 */
	struct quantiles bytes;
	double mean_bytes; /* 0: whatever the quantiles give */

	/*
	 * With frames, a file has one of them, and noise makes its bytes.
	 * Without, its number of pixels does, between these sides.
	 */
	struct frame frames[PROFILE_FRAMES_MAX];
	uint32_t frame_count;
	uint32_t side_min_px;
	uint32_t side_max_px;

	double crop;     /* a random part, not the whole photo */
	double square;   /* ... cut to a square, */
	double portrait; /* ... or to 3:4 */

	struct quality_band bands[PROFILE_BANDS_MAX];
	uint32_t band_count;
	double sampling_420;
	double sampling_422; /* the rest is 4:4:4 */
	double progressive;
	double optimised; /* Huffman tables, of the others */
	double grey;
	uint64_t grey_below_bytes; /* and all that are smaller */

	uint64_t metadata_from_bytes; /* no EXIF or ICC below */
	double exif;
	double turned_90;  /* EXIF orientation 6, */
	double turned_270; /* 8 */
	double turned_180; /* and 3: shares of all files */
	uint64_t thumbnail_from_bytes;
	double thumbnail; /* of those with EXIF */
	double icc_srgb;
	double icc_adobe_rgb;
	double icc_display_p3;
};

/* The profile called `name`, or NULL. */
const struct profile *profile_find(const char *name);

#endif
