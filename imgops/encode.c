/* SPDX-License-Identifier: MIT */
/*
 * img_encode(): the first result, and what it takes to have the score, or the
 * size, that is asked for.
 */
#include "imgops/quality.h"

#include "imgops/image.h"

#include <assert.h>

enum img_err quality_make(struct made *made, struct image *src,
			  const struct img_transform *transform, int level,
			  const struct memory *memory)
{
	struct img_transform t = *transform;
	enum img_err err;

	/* For what has whole qualities, such as a gain map. */
	t.quality = (level + QUALITY_STEPS - 1) / QUALITY_STEPS;
	*made = (struct made){ .level = level };
	err = format_of_result(&t)->encode(&made->bytes, &made->count, src, &t,
					   (double)level / QUALITY_STEPS,
					   memory);
	if (err != IMG_OK)
		made->bytes = NULL;
	return err;
}

bool quality_matters(const struct img_transform *transform)
{
	return !transform->lossless &&
	       (transform->format == IMG_FORMAT_JPEG ||
		format_of_result(transform)->qualities != NULL);
}

enum img_err img_encode(uint8_t **bytes, size_t *count, struct image *src,
			const struct img_transform *transform,
			const struct memory *memory)
{
	struct made best;
	enum img_err err;

	assert(image_is_shaped(src));
	assert((src->profile != NULL) == (src->profile_bytes > 0));
	err = quality_make(&best, src, transform,
			   quality_first_level(transform), memory);
	if (err == IMG_OK && quality_is_sought(transform))
		err = auto_quality_find(&best, src, transform, memory);
	if (err == IMG_OK && transform->bytes_max > 0 &&
	    best.count > transform->bytes_max)
		err = max_bytes_fit(&best, src, transform, count, memory);
	if (err != IMG_OK) {
		memory_free(memory, best.bytes);
		return err;
	}
	*bytes = best.bytes;
	*count = best.count;
	return IMG_OK;
}
