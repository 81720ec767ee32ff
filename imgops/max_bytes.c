/* SPDX-License-Identifier: MIT */
/*
 * A limit of bytes.
 *
 * The first result has the quality that was asked for.  If it is too large, the
 * quality that fits is looked for, in quarters, in a sample: bands of rows of
 * the picture, of which the sizes at other qualities take a part of the time.
 * The picture is taken to shrink as its sample does.  Three more results follow
 * at most: one of that quality, and, while they are too large or much smaller
 * than allowed, others of a quality that is corrected by what was wrong with
 * the guess.
 */
#include "imgops/quality.h"

#include "imgops/estimate.h"
#include "imgops/image.h"

#include <math.h>
#include <string.h>

enum {
	NONE = QUALITY_LOWEST - 1,
	LEVELS = QUALITY_HIGHEST + 1,
	BAND_ROWS = 32,
	SAMPLE_PIXELS_MIN = 1 << 16,
	SAMPLE_PART = 8, /* of the picture, at least */
	RESULTS_MAX = 4,
	TRIALS_MAX = 12, /* as estimated; of the sample */
};

/* Parts of the limit: aimed at first, and enough. */
#define AIM 0.985
#define AIM_AFTER_TOO_MUCH 0.97
#define ENOUGH 0.95
/* Part of what is wanted of the sample. */
#define CLOSE 0.99
/* From one quality to another, sizes fall about as this root of it. */
#define FALL 1.6

struct search {
	const struct img_transform *transform;
	const struct memory *memory;
	struct image sample;
	size_t sample_bytes[LEVELS]; /* 0: not known */
	size_t least_bytes;          /* of all results */
};

static uint32_t band_count(uint32_t width, uint32_t height)
{
	uint64_t pixels = (uint64_t)width * height / SAMPLE_PART;
	uint64_t rows;

	if (pixels < SAMPLE_PIXELS_MIN)
		pixels = SAMPLE_PIXELS_MIN;
	rows = (pixels + width - 1) / width;
	return (uint32_t)((rows + BAND_ROWS - 1) / BAND_ROWS);
}

/* Copy a band of each plane; `from` and `to` are rows of luma, and even. */
static void copy_band(struct image *dst, uint32_t to, const struct image *src,
		      uint32_t from)
{
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *in = &src->planes[i];
		const struct img_plane *out = &dst->planes[i];
		uint32_t step = in->height < src->planes[0].height ? 2 : 1;

		for (uint32_t y = 0; y < BAND_ROWS / step; y++)
			memcpy(out->samples +
				       (to / step + y) * out->stride_bytes,
			       in->samples +
				       (from / step + y) * in->stride_bytes,
			       in->width);
	}
}

/* A small picture is its own sample: `sample` then shares its block. */
static bool take_sample(struct search *s, const struct image *src)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;
	uint32_t bands = band_count(width, height);
	uint32_t rows = bands * BAND_ROWS;

	if (2 * rows > height) {
		s->sample = *src;
		s->sample.profile = NULL;
		s->sample.profile_bytes = 0;
		s->sample.gainmap = NULL;
		s->sample.metadata = NULL;
		return true;
	}
	image_shape(&s->sample, (struct img_size){ width, rows }, src->space,
		    image_has_full_chroma(src));
	if (!image_alloc(&s->sample, s->memory))
		return false;
	for (uint32_t i = 0; i < bands; i++) {
		uint64_t free_rows = height - BAND_ROWS;
		uint32_t from =
			(uint32_t)((2 * i + 1) * free_rows / (2 * bands)) & ~1u;

		copy_band(&s->sample, i * BAND_ROWS, src, from);
	}
	return true;
}

/* The size of the sample; 0: no memory. */
static size_t sample_size(struct search *s, int level)
{
	size_t *known = &s->sample_bytes[level];
	struct made made;

	if (*known == 0 && quality_make(&made, &s->sample, s->transform, level,
					s->memory) == IMG_OK) {
		*known = made.count;
		memory_free(s->memory, made.bytes);
	}
	return *known;
}

/*
 * Between two levels, of which `low` may be NONE: where the sample may have
 * `wanted` bytes, if the logarithm of its size is about linear.
 */
static int between(const struct search *s, int low, int high, double wanted)
{
	double at_low = (double)s->sample_bytes[low];
	double at_high = (double)s->sample_bytes[high];
	int middle = (low + high) / 2;

	if (low > NONE && at_low < wanted && wanted < at_high)
		middle = low + (int)(log(wanted / at_low) /
				     log(at_high / at_low) * (high - low));
	if (low == NONE && wanted < at_high)
		middle = (int)(high * pow(wanted / at_high, FALL));
	if (middle <= low)
		return low + 1;
	return middle < high ? middle : high - 1;
}

/* The same, of the levels that the format has.  Returns `low`: none is left. */
static int next_level(const struct search *s, int low, int high, double wanted)
{
	int level = between(s, low, high, wanted);

	if (!format_of_result(s->transform)->has_whole_qualities)
		return level;
	level = (level + QUALITY_STEPS - 1) / QUALITY_STEPS * QUALITY_STEPS;
	if (level >= high)
		level -= QUALITY_STEPS;
	return level > low ? level : low;
}

/*
 * *level becomes about the highest, below `below`, at which the picture should
 * have at most `most` bytes, since it has made->count at made->level; or NONE.
 */
static enum img_err guess(struct search *s, const struct made *made,
			  double most, int below, int *level)
{
	size_t same = sample_size(s, made->level);
	double wanted = most / (double)made->count * (double)same;
	int low = NONE, high = below;

	if (same == 0 || sample_size(s, below) == 0)
		return IMG_ERR_NO_MEMORY;
	while (high - low > 1) {
		int middle = next_level(s, low, high, wanted);
		size_t size;

		if (middle == low)
			break;
		size = sample_size(s, middle);
		if (size == 0)
			return IMG_ERR_NO_MEMORY;
		if ((double)size <= wanted)
			low = middle;
		else
			high = middle;
		if (low == middle && (double)size >= CLOSE * wanted)
			break;
	}
	*level = low;
	return IMG_OK;
}

/* `next` becomes *best if it is better; the other one is freed. */
static void keep_better(struct made *best, struct made *next,
			const struct search *s)
{
	size_t most = s->transform->bytes_max;
	struct made *worse =
		next->count <= most || best->count > most ? best : next;

	memory_free(s->memory, worse->bytes);
	if (worse == best)
		*best = *next;
}

/* `best` is too large; if none fits, it stays so. */
static enum img_err make_smaller(struct made *best, struct image *src,
				 struct search *s)
{
	double limit = (double)s->transform->bytes_max, aim = AIM;
	int below = best->level, level;
	struct made last = *best, next;

	for (int i = 1; i < RESULTS_MAX; i++) {
		enum img_err err = guess(s, &last, aim * limit, below, &level);

		if (err != IMG_OK)
			return err;
		/* Perhaps it does fit; and if not, its size is known. */
		if (level == NONE && (double)best->count > limit)
			level = QUALITY_LOWEST;
		if (level == NONE || level == last.level)
			break;
		err = quality_make(&next, src, s->transform, level, s->memory);
		if (err != IMG_OK)
			return err;
		last = (struct made){ .count = next.count, .level = level };
		if (next.count < s->least_bytes)
			s->least_bytes = next.count;
		keep_better(best, &next, s);
		if ((double)last.count > limit) {
			below = level;
			aim = AIM_AFTER_TOO_MUCH;
		} else if ((double)last.count >= ENOUGH * limit) {
			break;
		}
	}
	return IMG_OK;
}

enum img_err max_bytes_fit(struct made *best, struct image *src,
			   const struct img_transform *transform, size_t *least,
			   const struct memory *memory)
{
	struct search s = { .transform = transform,
			    .memory = memory,
			    .least_bytes = best->count };
	enum img_err err = IMG_OK;

	if (quality_matters(transform)) {
		err = take_sample(&s, src) ? make_smaller(best, src, &s) :
					     IMG_ERR_NO_MEMORY;
		if (s.sample.block != src->block)
			img_release(&s.sample);
	}
	*least = s.least_bytes;
	if (err == IMG_OK && best->count > transform->bytes_max)
		err = IMG_ERR_TOO_MANY_BYTES;
	return err;
}

double max_bytes_work(const struct image *scaled,
		      const struct img_transform *transform)
{
	double height = scaled->planes[0].height;
	double rows = (double)band_count(scaled->planes[0].width,
					 scaled->planes[0].height) *
		      BAND_ROWS;

	if (transform->bytes_max == 0 || !quality_matters(transform))
		return 1;
	/* A sample of more than half is the whole picture. */
	return RESULTS_MAX +
	       TRIALS_MAX * (2 * rows > height ? 1 : rows / height);
}
