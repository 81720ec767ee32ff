/* SPDX-License-Identifier: MIT */
/*
 * Source: a photo that uploads are made from.
 *
 * A photo is decoded into a pyramid: the photo, its half, its quarter and so
 * on.  An upload is scaled from a small level that is still large enough, so
 * that its cost depends on its own size and not on that of the photo.
 */
#ifndef DATASETS_SOURCE_H
#define DATASETS_SOURCE_H

#include "datasets/picture.h"

#include <stdbool.h>
#include <stdint.h>

enum { PYRAMID_LEVELS_MAX = 8, REASON_BYTES = 256 };

struct source {
	const char *path; /* owned by the caller */
	uint32_t width;   /* upright */
	uint32_t height;
	uint64_t capacity_bytes; /* of the whole photo at CAPACITY_QUALITY */
};

/*
 * Quality of the encoding, without chroma subsampling, that measures a photo's
 * capacity.
 */
enum { CAPACITY_QUALITY = 97 };

struct pyramid {
	struct picture levels[PYRAMID_LEVELS_MAX];
	uint32_t count;
};

/*
 * Decode the photo at `path`, upright.  False: it cannot be used; `reason`,
 * REASON_BYTES long, says why.
 */
bool pyramid_load(struct pyramid *p, const char *path, char *reason);

void pyramid_release(struct pyramid *p);

/* Fill in all of `s` except its path.  False: as pyramid_load(). */
bool source_survey(struct source *s, char *reason);

#endif
