/* SPDX-License-Identifier: MIT */
/*
 * Set: photos in, a folder of uploads out.
 *
 *	survey photos -> plan all -> group by photo -> make -> write
 *
 * Every worker takes a photo at a time and makes all that is planned of it, so
 * a photo is decoded twice: to survey it, and to make uploads of it.
 *
 * Threads  Its own, as many as `jobs`; the functions here are for one.
 */
#ifndef DATASETS_SET_H
#define DATASETS_SET_H

#include "datasets/folder.h"
#include "datasets/make.h"
#include "datasets/metadata.h"
#include "datasets/profile.h"
#include "datasets/source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct group;

struct set {
	/* The caller's to fill in, lent. */
	const struct profile *profile;
	const char *photos;
	const char *out;
	uint64_t seed;
	uint32_t jobs;
	uint32_t count; /* uploads, >= 1 */

	struct folder folder;
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
 * Find out what can be made of each photo.  Photos that cannot be used are
 * left out, with a line on standard error.  False: the folder cannot be read
 * (errno).  No photo at all is fine here, and seen by `source_count`.
 */
bool set_survey(struct set *set);

/* Make all uploads, and write them with the manifest; >= 1 source. */
bool set_make(struct set *set);

void set_release(struct set *set);

#endif
