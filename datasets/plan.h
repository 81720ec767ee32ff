/* SPDX-License-Identifier: MIT */
/*
 * Plan: everything that is decided about an upload before a pixel is touched.
 *
 * A profile is one kind of upload set that mkset can make: its file sizes, and
 * for each property that is drawn at random, such as EXIF, the share of the
 * files that have it.  A share is from 0 to 1, of the files that can have the
 * property.  plan.c gives the source of each number.
 *
 * File sizes are given by a few points of their distribution.  Between two such
 * knots sizes grow log-linearly with the rank: equal steps of rank multiply the
 * size by equal factors.
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
	double share; /* of the files that are smaller */
	double bytes;
};

struct quantiles {
	struct quantile_knot knots[QUANTILE_KNOTS_MAX]; /* shares 0 .. 1 */
	uint32_t count;                                 /* >= 2 */
};

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
	double mean_bytes; /* 0: that of the quantiles */

	/*
	 * With frames, a picture has the size of one of them, and noise is
	 * added until the file has its bytes.  Without frames, the picture is
	 * made as large as the bytes need; its sides stay within these limits.
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
	uint64_t grey_below_bytes; /* smaller files are all grey */

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

/* The result of a plan (make.h). */
struct made {
	uint64_t size_bytes;
	uint32_t width; /* as stored */
	uint32_t height;
	int quality;
	double enlarged; /* upright width / that of the part of the photo */
	uint32_t encodings;
};

struct upload {
	struct plan plan;
	struct made made;
};

/* The profile called `name`.  NULL: there is none. */
const struct profile *profile_find(const char *name);

/*
 * Draw the plans of all `count` uploads of a set.  The source of an upload is
 * one that has enough detail for its bytes, if there is one.
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
