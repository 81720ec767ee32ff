/* SPDX-License-Identifier: MIT */
/*
 * Set: makes a folder of uploads from a folder of photos.
 *
 *	survey photos -> plan all -> group by photo -> make -> write
 *
 * A thread takes one photo at a time and makes all uploads that are planned
 * from it.  So a photo is decoded twice: for the survey, and for its uploads.
 *
 * The output folder has the uploads, manifest.tsv and LICENSES.  A hidden file
 * marks it as made by mkset. mkset never writes to a non-empty folder without
 * this mark, and never searches a folder with it for photos.
 *
 * Threads    set_make() starts `jobs` threads; one thread may call it.
 */
#ifndef DATASETS_SET_H
#define DATASETS_SET_H

#include "base/error.h"
#include "base/folder.h"
#include "datasets/jpeg.h"
#include "datasets/make.h"
#include "datasets/plan.h"
#include "datasets/source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct stage_group;

struct set {
	/* Set by the caller, who owns the profile and the texts. */
	const struct profile *profile;
	const char *photos;
	const char *out;
	uint64_t seed;
	uint32_t jobs;
	uint32_t count; /* uploads, >= 1 */

	struct folder_list folder;
	struct source *sources; /* the photos that can be used */
	uint32_t source_count;
	/* Sorted by number; while being made, by photo. */
	struct upload *uploads;
	struct stage_group *groups;
	uint32_t group_count;
	struct icc_profiles icc_profiles;
	atomic_uint done;
	atomic_int failure; /* errno of a file that could not be written */
	bool show_progress;
};

/*
 * Find out what can be made from each photo, and make all uploads and the
 * manifest in the folder `out`.  Photos that cannot be used are left out, with
 * a line on standard error.  False: `error` says why the set is not complete.
 * A folder `out` that is not empty and was not made by mkset is not changed.
 */
MUST_CHECK bool set_make(struct set *set, struct error *error);

void set_release(struct set *set);

#endif
