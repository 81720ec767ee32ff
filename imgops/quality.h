/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: results of a picture at several qualities, of which
 * img_encode() keeps one.
 */
#ifndef IMGOPS_QUALITY_H
#define IMGOPS_QUALITY_H

#include "imgops/formats/format.h"

/* A level is a quality in steps. */
enum {
	QUALITY_STEPS = 4,
	QUALITY_LOWEST = QUALITY_STEPS,
	QUALITY_HIGHEST = 100 * QUALITY_STEPS,
};

/* A result.  Its bytes are from the memory that it was made with. */
struct made {
	uint8_t *bytes;
	size_t count;
	int level;
};

/* Encode at a level, whatever transform->quality is.  On an error, no bytes. */
MUST_CHECK enum img_err quality_make(struct made *made, struct image *src,
				     const struct img_transform *transform,
				     int level, const struct memory *memory);

/* Does the result depend on the quality? */
bool quality_matters(const struct img_transform *transform);

/* Is a quality looked for that gives a score? */
static inline bool quality_is_sought(const struct img_transform *transform)
{
	return transform->score > 0 && quality_matters(transform);
}

/* The level of the first result. */
int quality_first_level(const struct img_transform *transform);

/*
 * max_bytes.c: *best, which has more than transform->bytes_max, becomes the
 * best result that fits.  *least becomes the size of the smallest result.
 * Errors: NO_MEMORY, TOO_MANY_BYTES; *best is then some result, or empty.
 */
MUST_CHECK enum img_err max_bytes_fit(struct made *best, struct image *src,
				      const struct img_transform *transform,
				      size_t *least,
				      const struct memory *memory);

/*
 * auto_quality.c: *best, at the first level, becomes the result whose score is
 * nearest to transform->score.  Errors: NO_MEMORY; *best is then some result.
 */
MUST_CHECK enum img_err auto_quality_find(struct made *best, struct image *src,
					  const struct img_transform *transform,
					  const struct memory *memory);

#endif
