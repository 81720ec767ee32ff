/* SPDX-License-Identifier: MIT */
/*
 * A quality for a score.
 *
 * Each result is decoded and compared with the picture.  What a score lacks of
 * 100 grows about as a power of the step of quantisation.  So the next quality
 * follows from the last one, or, once one result is better and one is worse
 * than wanted, from both.  Most photos need two or three results.  Those that
 * were JPEGs of the same size have a score that jumps where the steps of that
 * JPEG are met again, and so have very small ones; they need more.
 *
 * In a large picture some rows are compared: with a quarter of the rows, the
 * scores of photos of more than 0.1 megapixels differ by 0.06 in the median,
 * and by 0.8 at most, from those of all rows (docs/results/imgops).
 */
#include "imgops/quality.h"

#include "imgops/estimate.h"
#include "imgops/image.h"
#include "imgops/ssimulacra2.h"

#include <math.h>

enum {
	RESULTS_MAX = 6,
	COMPARED_PIXELS = 1 << 16,
};

/* Most photos need no more results. */
#define USUAL_RESULTS 2.5
/* To decode a result and compare it, for each pixel. */
#define SCORE_NS 30
/* A score that differs by less is good enough. */
#define ENOUGH 1.0
/* 100 less the score of most photos: FACTOR times this power of the step. */
#define POWER 0.55
#define FACTOR 2.66
/* A quality is not looked for nearer to the end of an interval than this. */
#define MARGIN 0.1
/* The next guess that is not between two results goes this much further. */
#define FURTHER 1.3

/*
 * A result on both axes of the search: logarithms of the step, and of what the
 * score lacks of 100.
 */
struct point {
	int level; /* 0: none yet */
	double step, loss;
};

struct search {
	struct image *src;
	const struct img_transform *transform;
	const struct memory *memory;
	struct ssimulacra2 *scores;
	double loss;                /* that is wanted */
	struct point worse, better; /* the nearest ones on each side */
	double best_error;
};

/* The scaled steps of a JPEG, in percent of those of quality 50. */
static double step_of(int level)
{
	double quality = (double)level / QUALITY_STEPS;

	return log(quality < 50 ? 5000 / quality : fmax(200 - 2 * quality, 1));
}

static double loss_of(double score)
{
	return log(fmax(100 - score, 0.5));
}

static int level_of(double step, const struct img_transform *transform)
{
	double percent = exp(step);
	double quality = percent > 100 ? 5000 / percent : 100 - percent / 2;
	int unit = format_of_result(transform)->has_whole_qualities ?
			   QUALITY_STEPS :
			   1;
	int level = (int)lround(quality * QUALITY_STEPS / unit) * unit;

	if (level < QUALITY_LOWEST)
		return QUALITY_LOWEST;
	return level < QUALITY_HIGHEST ? level : QUALITY_HIGHEST;
}

int quality_first_level(const struct img_transform *transform)
{
	if (!quality_is_sought(transform))
		return transform->quality * QUALITY_STEPS;
	return level_of((loss_of(transform->score) - log(FACTOR)) / POWER,
			transform);
}

/* The most memory to decode a result. */
static uint64_t decode_bytes(const struct image *src,
			     const struct img_transform *transform)
{
	const struct img_codec *c = format_of_result(transform);
	struct img_size size = { src->planes[0].width + c->own_edge_px,
				 src->planes[0].height + c->own_edge_px };

	return img_pixels(size) * c->own_pixel_bytes + c->own_bytes;
}

/* Decode a result of ours. */
static enum img_err decode(struct image *out, const struct search *s,
			   const struct made *made)
{
	const struct img_transform plain = { .quality = 100,
					     .as_stored = true };
	const struct img_limits limits = {
		.side_px_max = IMG_SIDE_PX_MAX,
		.pixels_max = UINT64_MAX,
		.scans_max = UINT32_MAX,
		.decode_bytes_max = decode_bytes(s->src, s->transform),
	};
	struct img_header header = { 0 };
	struct img_view view;
	enum img_err err =
		img_probe(&header, made->bytes, made->count, &limits);

	if (err != IMG_OK)
		return err;
	view = img_fit(&header, &plain);
	return img_decode(out, made->bytes, made->count, &header, &view, &plain,
			  &limits, s->memory);
}

static enum img_err find_score(double *score, const struct search *s,
			       const struct made *made)
{
	struct image back = { 0 };
	enum img_err err = decode(&back, s, made);

	if (err != IMG_OK)
		return err;
	*score = ssimulacra2_score(s->scores, &back);
	img_release(&back);
	return IMG_OK;
}

/* Note a result on its side of what is wanted. */
static struct point note(struct search *s, int level, double score)
{
	struct point p = { level, step_of(level), loss_of(score) };

	if (p.loss > s->loss) {
		if (s->worse.level == 0 || level > s->worse.level)
			s->worse = p;
	} else if (s->better.level == 0 || level < s->better.level) {
		s->better = p;
	}
	return p;
}

/* The level to try after `last`; 0: there is none. */
static int next_level(const struct search *s, const struct point *last,
		      int count)
{
	const struct point *worse = &s->worse, *better = &s->better;
	int level;

	if (worse->level > 0 && better->level > 0) {
		double part =
			(s->loss - worse->loss) / (better->loss - worse->loss);

		part = fmin(fmax(part, MARGIN), 1 - MARGIN);
		level = level_of(worse->step +
					 part * (better->step - worse->step),
				 s->transform);
		return level > worse->level && level < better->level ? level :
								       0;
	}
	level = level_of(last->step + (s->loss - last->loss) / POWER *
					      (count > 1 ? FURTHER : 1),
			 s->transform);
	return level != last->level ? level : 0;
}

/* `next` becomes *best if its score is nearer; the other one is freed. */
static void keep_nearer(struct search *s, struct made *best, struct made *next,
			double error)
{
	struct made *worse = error < s->best_error ? best : next;

	memory_free(s->memory, worse->bytes);
	if (worse == best)
		*best = *next;
	s->best_error = fmin(error, s->best_error);
}

static enum img_err run(struct search *s, struct made *best)
{
	double wanted = s->transform->score, score;
	struct point last;
	enum img_err err = find_score(&score, s, best);

	if (err != IMG_OK)
		return err;
	s->best_error = fabs(score - wanted);
	last = note(s, best->level, score);
	for (int count = 1; count < RESULTS_MAX && s->best_error > ENOUGH;
	     count++) {
		int level = next_level(s, &last, count);
		struct made next;

		if (level == 0)
			break;
		err = quality_make(&next, s->src, s->transform, level,
				   s->memory);
		if (err == IMG_OK)
			err = find_score(&score, s, &next);
		if (err != IMG_OK) {
			memory_free(s->memory, next.bytes);
			return err;
		}
		last = note(s, level, score);
		keep_nearer(s, best, &next, fabs(score - wanted));
	}
	return IMG_OK;
}

static bool is_large_enough(const struct image *src)
{
	return src->planes[0].width >= SSIMULACRA2_SIDE_MIN &&
	       src->planes[0].height >= SSIMULACRA2_SIDE_MIN;
}

enum img_err auto_quality_find(struct made *best, struct image *src,
			       const struct img_transform *transform,
			       const struct memory *memory)
{
	struct search s = {
		.src = src,
		.transform = transform,
		.memory = memory,
		.loss = loss_of(transform->score),
	};
	enum img_err err;

	if (!is_large_enough(src))
		return IMG_OK;
	s.scores = ssimulacra2_new(src, COMPARED_PIXELS, memory);
	if (s.scores == NULL)
		return IMG_ERR_NO_MEMORY;
	err = run(&s, best);
	ssimulacra2_free(s.scores);
	/* A result that needs more to be decoded than is planned is kept. */
	return err == IMG_ERR_NO_MEMORY ? err : IMG_OK;
}

/* --- Estimates --- */

uint64_t auto_quality_bytes(const struct image *result,
			    const struct img_transform *transform)
{
	if (!quality_is_sought(transform) || !is_large_enough(result))
		return 0;
	return ssimulacra2_bytes(result->planes[0].width,
				 result->planes[0].height, COMPARED_PIXELS) +
	       decode_bytes(result, transform);
}

double auto_quality_ns(const struct image *result,
		       const struct img_transform *transform, double encode_ns)
{
	struct img_size size = { result->planes[0].width,
				 result->planes[0].height };

	if (!quality_is_sought(transform) || !is_large_enough(result))
		return encode_ns;
	return USUAL_RESULTS * (encode_ns + SCORE_NS * img_pixels(size));
}
