/* SPDX-License-Identifier: MIT */
/*
 * Plan: everything that is decided about an upload before its pixels are made.
 *
 * A profile describes one kind of upload set that mkset can make: the file
 * sizes, and the share of files that get each random property, such as EXIF.  A
 * share is from 0 to 1, of the files that can have the property.  plan.c gives
 * the source of each number.
 *
 * File sizes are given by a few points (knots) of their distribution.  Between
 * two knots, sizes grow log-linearly with the rank: equal steps of rank
 * multiply the size by equal factors.
 *
 * A plan depends only on the seed, the number and target size of the upload,
 * the profile and the sources.  So it does not matter which thread makes it, or
 * when.
 *
 * Pure.
 */
#ifndef DATASETS_PLAN_H
#define DATASETS_PLAN_H

#include "datasets/jpeg.h"
#include "datasets/source.h"

#include <stdbool.h>
#include <stdint.h>

enum { QUANTILE_KNOTS_MAX = 6 };

struct quantile_knot {
	double share; /* share of files that are smaller */
	double bytes;
};

struct quantiles {
	struct quantile_knot knots[QUANTILE_KNOTS_MAX]; /* shares 0 .. 1 */
	uint32_t count;                                 /* >= 2 */
};

enum { PROFILE_BANDS_MAX = 3, PROFILE_FRAMES_MAX = 3 };

/* The qualities of files from one size up to that of the next band. */
struct quality_band {
	uint64_t from_bytes;
	int min;
	int max;
};

/* A size in pixels that a camera writes. */
struct frame {
	uint32_t width_px;
	uint32_t height_px;
	uint64_t from_bytes; /* used for files at least this large */
	double share;
};

struct profile {
	const char *name;
	uint32_t files; /* number of files at --scale 1 */
	struct quantiles bytes;
	double mean_bytes; /* 0: the mean that follows from the quantiles */

	/*
	 * With frames, a picture has the size of one of them, and noise is
	 * added until the file has its bytes.  Without frames, the picture is
	 * made as large as the bytes need; its sides stay within these limits.
	 */
	struct frame frames[PROFILE_FRAMES_MAX];
	uint32_t frame_count;
	uint32_t side_min_px;
	uint32_t side_max_px;

	double crop;     /* shows a random part of the photo */
	double square;   /* is cut to a square */
	double portrait; /* is cut to 3:4 */

	struct quality_band bands[PROFILE_BANDS_MAX];
	uint32_t band_count;
	double sampling_420;
	double sampling_422; /* the rest is 4:4:4 */
	double progressive;
	/* Share of the other files with optimised Huffman tables. */
	double optimised;
	double grey;
	uint64_t grey_below_bytes; /* smaller files are all grey */

	uint64_t metadata_from_bytes; /* smaller files have no EXIF or ICC */
	double exif;
	double turned_90;  /* EXIF orientation 6; share of all files */
	double turned_270; /* EXIF orientation 8; share of all files */
	double turned_180; /* EXIF orientation 3; share of all files */
	uint64_t thumbnail_from_bytes;
	double thumbnail; /* share of the files with EXIF */
	double icc_srgb;
	double icc_adobe_rgb;
	double icc_display_p3;
};

struct plan {
	uint32_t number;
	uint64_t seed; /* for random choices while the file is made */
	uint64_t target_bytes;
	bool exact;      /* the file must have exactly the target size */
	uint32_t source; /* index of the photo */
	struct box part; /* part of the source, in shares from 0 to 1 */
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
	int orientation; /* 1, 3, 6 or 8; without `exif` always 1 */
	bool thumbnail;
	enum icc icc;
};

/* What was made from a plan (make.h). */
struct made {
	uint64_t size_bytes;
	uint32_t width; /* as stored */
	uint32_t height;
	int quality;
	double enlarged; /* upright width / width of the photo's part */
	uint32_t encodings;
};

struct upload {
	struct plan plan;
	struct made made;
};

/* The profile called `name`.  NULL: there is none. */
const struct profile *profile_find(const char *name);

/*
 * Draw the plans of all `count` uploads of a set.  An upload gets a source with
 * enough detail for its bytes, if there is one.
 */
void plan_uploads(struct upload *uploads, uint32_t count,
		  const struct profile *profile, uint64_t seed,
		  const struct source *sources, uint32_t source_count);

/*
 * Estimates the bytes of the planned encoding, as a share of the bytes of the
 * same pixels at CAPACITY_QUALITY without subsampling.
 */
double plan_density(const struct plan *plan);

#endif
