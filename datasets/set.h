/* SPDX-License-Identifier: MIT */
/*
 * Set: photos in, a folder of uploads out.
 *
 *	survey photos -> plan all -> group by photo -> make -> write
 *
 * A thread takes one photo at a time and makes all uploads that are planned
 * from it.  So a photo is decoded twice: for the survey, and for its uploads.
 *
 * The output folder has the uploads, manifest.tsv and LICENSES.  A hidden file
 * marks it as made by mkset.  No folder without the mark is ever written to or
 * emptied, and none with the mark is searched for photos.
 *
 * Threads  Starts `jobs` of its own; each function here is for one thread.
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

struct group;

struct set {
	/* Set by the caller, and lent. */
	const struct profile *profile;
	const char *photos;
	const char *out;
	uint64_t seed;
	uint32_t jobs;
	uint32_t count; /* uploads, >= 1 */

	struct folder_list folder;
	struct source *sources; /* those that can be used */
	uint32_t source_count;
	struct upload *uploads; /* by number; while they are made, by photo */
	struct group *groups;
	uint32_t group_count;
	struct icc_profiles icc_profiles;
	atomic_uint done;
	atomic_int failure; /* errno of a file that could not be written */
	bool show_progress;
};

/*
 * Find out what can be made from each photo, and make all uploads and the
 * manifest in the folder `out`.  Photos that cannot be used are left out, with
 * a line on standard error.  False: `error` says why there is no whole set;
 * `out` is untouched if it is not empty and mkset did not make it.
 */
MUST_CHECK bool set_make(struct set *set, struct error *error);

void set_release(struct set *set);

#endif
