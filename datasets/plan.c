/* SPDX-License-Identifier: MIT */
#include "datasets/plan.h"

#include "base/random.h"
#include "base/util.h"
#include "datasets/xalloc.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS_MAX = 200 };

static const struct profile profiles[] = {
	{
		.name = "thesis",
		.files = 4697, /* thesis, 4.2.1 */
		/*
		 * Table 4.1 of the thesis, except for the knot at 0.99, which
		 * is moved so that the mean is `mean_bytes`.  The thesis gives
		 * two different means: 204.4 KB in table 4.1, and 201.6 KB from
		 * 947 MB in 4,697 files.  `mean_bytes` is the middle of both.
		 */
		.bytes = { .knots = { { 0, 398 },
				      { 0.5, 37200 },
				      { 0.9, 623200 },
				      { 0.99, 1500000 },
				      { 1, 4200000 } },
			   .count = 5 },
		.mean_bytes = 203000,
		.side_min_px = 1,
		.side_max_px = 8000,
		/*
		 * Our choice: some uploads are whole photos, others are cropped
		 * by people.
		 */
		.crop = 0.4,
		.square = 0.10,
		.portrait = 0.13,
		/* Our choice: editors save at 60-95, cameras at 85-98. */
		.bands = { { 0, 60, 95 },
			   { 600000, 85, 97 },
			   { 1500000, 92, 98 } },
		.band_count = 3,
		/* Our choice: 4:2:0 is the default of most encoders. */
		.sampling_420 = 0.60,
		.sampling_422 = 0.15,
		/*
		 * Our choice.  In 2013, 7 % of the web's JPEGs were progressive
		 * (P. Meenan, HTTP Archive crawl); since then progressive has
		 * become the default of some tools.
		 */
		.progressive = 0.22,
		.optimised = 0.35, /* our choice */
		.grey = 0.015,     /* our choice */
		/* Colour needs some 600 bytes of tables. */
		.grey_below_bytes = 800,
		/*
		 * The following numbers are our choice: web tools strip
		 * metadata.
		 */
		.metadata_from_bytes = 4000,
		.exif = 0.40,
		.turned_90 = 0.08,
		.turned_270 = 0.03,
		.turned_180 = 0.02,
		.thumbnail_from_bytes = 60000,
		.thumbnail = 0.8,
		.icc_srgb = 0.10,
		.icc_adobe_rgb = 0.02,
		.icc_display_p3 = 0.01,
	},
	{
		.name = "phone",
		.files = 100,
		/*
		 * Our choice: a quarter to three quarters of a byte per pixel.
		 */
		.bytes = { .knots = { { 0, 3.0e6 },
				      { 0.5, 4.6e6 },
				      { 0.9, 8.5e6 },
				      { 1, 12e6 } },
			   .count = 4 },
		/* By default, 48 MP sensors write 12 MP. */
		.frames = { { 4000, 3000, 0, 0.45 },
			    { 4032, 3024, 0, 0.40 },
			    { 8000, 6000, 6000000, 0.15 } },
		.frame_count = 3,
		.side_max_px = 8000,
		.bands = { { 0, 88, 96 } },
		.band_count = 1,
		.sampling_420 = 0.75,
		.sampling_422 = 0.25,
		.progressive = 0.03, /* cameras write baseline */
		.optimised = 0.5,
		.exif = 1,
		/* Sensors are landscape, but phones are often held upright. */
		.turned_90 = 0.40,
		.turned_270 = 0.03,
		.turned_180 = 0.04,
		.thumbnail = 1,
		.icc_srgb = 0.30,
		.icc_display_p3 = 0.40,
	},
	{
		.name = "camera",
		.files = 40,
		/*
		 * Our choice: a quarter to a half of a byte per pixel, all in
		 * one size, so that the uploads differ little in what they
		 * need.
		 */
		.bytes = { .knots = { { 0, 6e6 }, { 0.5, 8e6 }, { 1, 12e6 } },
			   .count = 3 },
		.frames = { { 6000, 4000, 0, 1 } },
		.frame_count = 1,
		.side_max_px = 8000,
		.bands = { { 0, 88, 96 } },
		.band_count = 1,
		.sampling_420 = 0.5,
		.sampling_422 = 0.5,
		.optimised = 0.5,
		.exif = 1,
		.turned_90 = 0.15,
		.turned_270 = 0.10,
		.thumbnail = 1,
		.icc_srgb = 0.30,
		.icc_adobe_rgb = 0.20,
	},
	{
		.name = "web",
		.files = 1000,
		/*
		 * Our choice: about what ImageNet's photos have, so that
		 * nothing is scaled for a usual box, and decoding at full size
		 * is most of the work.
		 */
		.bytes = { .knots = { { 0, 50e3 },
				      { 0.5, 100e3 },
				      { 0.9, 160e3 },
				      { 1, 250e3 } },
			   .count = 4 },
		.frames = { { 500, 375, 0, 0.75 }, { 375, 500, 0, 0.25 } },
		.frame_count = 2,
		.side_max_px = 500,
		.crop = 1,
		.bands = { { 0, 88, 97 } },
		.band_count = 1,
		.sampling_420 = 0.75,
		.optimised = 0.5,
	},
	{
		.name = "avatar",
		.files = 1000,
		.bytes = { .knots = { { 0, 5e3 },
				      { 0.5, 25e3 },
				      { 0.9, 100e3 },
				      { 1, 200e3 } },
			   .count = 4 },
		.side_min_px = 64,
		.side_max_px = 1024,
		.crop = 1,
		.square = 0.85,
		.portrait = 0.05,
		.bands = { { 0, 70, 92 }, { 90000, 88, 97 } },
		.band_count = 2,
		.sampling_420 = 0.7,
		.sampling_422 = 0.1,
		.progressive = 0.25,
		.optimised = 0.5,
		.grey = 0.015,
		.metadata_from_bytes = 8000,
		.exif = 0.10,
		.turned_90 = 0.02,
		.thumbnail_from_bytes = 60000,
		.thumbnail = 0.3,
		.icc_srgb = 0.10,
		.icc_display_p3 = 0.02,
	},
};

const struct profile *profile_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	return NULL;
}

/* The size such that a share (0 to 1) of all files is smaller. */
static double quantiles_at(const struct quantiles *q, double share)
{
	uint32_t k = 1;

	assert(q->count >= 2 && q->count <= QUANTILE_KNOTS_MAX);
	while (k + 1 < q->count && share > q->knots[k].share)
		k++;

	const struct quantile_knot *low = &q->knots[k - 1];
	const struct quantile_knot *high = &q->knots[k];
	double part = (share - low->share) / (high->share - low->share);

	return low->bytes * pow(high->bytes / low->bytes, part);
}

/*
 * The size of file `rank` (0 .. count-1) of `count` files that follow the
 * distribution.  The first and the last have exactly its smallest and largest
 * size; a single file has its median.
 */
static uint64_t quantiles_target(const struct quantiles *q, uint32_t rank,
				 uint32_t count)
{
	double share = (rank + 0.5) / count;

	assert(rank < count);
	if (count > 1 && rank == 0)
		share = 0;
	if (count > 1 && rank == count - 1)
		share = 1;
	return (uint64_t)llround(quantiles_at(q, share));
}

static double mean_of_targets(const struct quantiles *q, uint32_t count)
{
	double total = 0;

	for (uint32_t rank = 0; rank < count; rank++)
		total += (double)quantiles_target(q, rank, count);
	return total / count;
}

/*
 * Move the size of the second-last knot so that `count` files have the mean
 * `mean_bytes`, or as near to that as the neighbouring knots allow.
 */
static void quantiles_fit_mean(struct quantiles *q, uint32_t count,
			       double mean_bytes)
{
	struct quantile_knot *knot = &q->knots[q->count - 2];
	double low = knot[-1].bytes;
	double high = knot[1].bytes;

	assert(q->count >= 3);
	/* The mean grows with the knot. */
	for (int step = 0; step < 40; step++) {
		knot->bytes = (low + high) / 2;
		if (mean_of_targets(q, count) < mean_bytes)
			low = knot->bytes;
		else
			high = knot->bytes;
	}
}

double plan_density(const struct plan *plan)
{
	/* Means over the photos of datasets/samples. */
	static const struct {
		int quality;
		double share;
	} known[] = { { 50, 0.15 }, { 75, 0.24 }, { 85, 0.34 }, { 90, 0.44 },
		      { 95, 0.70 }, { 97, 1.0 },  { 100, 1.8 } };
	static const double of_sampling[] = { 0.75, 0.83, 1 };
	int k = 1;

	while (plan->quality > known[k].quality)
		k++;

	double part = (double)(plan->quality - known[k - 1].quality) /
		      (known[k].quality - known[k - 1].quality);
	double share = known[k - 1].share +
		       part * (known[k].share - known[k - 1].share);

	return share * (plan->grey ? 0.7 : of_sampling[plan->sampling]) *
	       (plan->progressive || plan->optimised ? 0.96 : 1);
}

static void draw_encoding(struct plan *p, const struct profile *profile,
			  uint64_t *random)
{
	const struct quality_band *band = &profile->bands[0];
	double sampling = random_fraction(random);

	for (uint32_t i = 1; i < profile->band_count; i++)
		if (p->target_bytes >= profile->bands[i].from_bytes)
			band = &profile->bands[i];
	p->quality = band->min +
		     (int)random_below(random,
				       (uint32_t)(band->max - band->min + 1));
	p->sampling = SAMPLING_444;
	if (sampling < profile->sampling_420)
		p->sampling = SAMPLING_420;
	else if (sampling < profile->sampling_420 + profile->sampling_422)
		p->sampling = SAMPLING_422;
	p->progressive = random_fraction(random) < profile->progressive;
	p->optimised = random_fraction(random) < profile->optimised;
	p->grey = random_fraction(random) < profile->grey;
	if (p->target_bytes < profile->grey_below_bytes) {
		p->grey = true;
		/* Its ten scans would need ten headers. */
		p->progressive = false;
		p->optimised = true; /* standard tables are 210 bytes */
	}
}

static void draw_metadata(struct plan *p, const struct profile *profile,
			  uint64_t *random)
{
	double turned = random_fraction(random);
	double exif = random_fraction(random);
	double thumbnail = random_fraction(random);
	double icc = random_fraction(random);

	p->orientation = 1;
	if (p->target_bytes < profile->metadata_from_bytes)
		return;
	if ((turned -= profile->turned_90) < 0)
		p->orientation = 6;
	else if ((turned -= profile->turned_270) < 0)
		p->orientation = 8;
	else if ((turned -= profile->turned_180) < 0)
		p->orientation = 3;
	/* `exif` is a share of all files, including the turned ones. */
	double all_turned =
		profile->turned_90 + profile->turned_270 + profile->turned_180;

	p->exif = p->orientation != 1 ||
		  exif * (1 - all_turned) < profile->exif - all_turned;
	p->thumbnail = p->exif && thumbnail < profile->thumbnail &&
		       p->target_bytes >= profile->thumbnail_from_bytes;
	if (p->grey) /* an RGB profile would be wrong */
		return;
	if ((icc -= profile->icc_srgb) < 0)
		p->icc = ICC_SRGB;
	else if ((icc -= profile->icc_adobe_rgb) < 0)
		p->icc = ICC_ADOBE_RGB;
	else if ((icc -= profile->icc_display_p3) < 0)
		p->icc = ICC_DISPLAY_P3;
}

/*
 * Choose a camera's picture size.  Its aspect when shown upright decides how
 * the photo is cropped.
 */
static void draw_frame(struct plan *p, const struct profile *profile,
		       uint64_t *random)
{
	bool sideways = p->orientation == 6 || p->orientation == 8;
	double draw = random_fraction(random);

	p->aspect = 0; /* draw_part() sets it */
	if (sideways)
		p->aspect = 0.75;
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct frame *f = &profile->frames[i];

		if (p->target_bytes < f->from_bytes)
			continue;
		p->frame = f;
		p->aspect = (double)f->width_px / f->height_px;
		if (sideways)
			p->aspect = 1 / p->aspect;
		if ((draw -= f->share) < 0)
			break;
	}
}

/* Draw the part of `s` to show.  Returns its share of the photo's area. */
static double draw_part(struct plan *p, const struct profile *profile,
			const struct source *s, uint64_t *random)
{
	double whole = (double)s->width / s->height;
	double side = 1;
	double shape = random_fraction(random);

	if (random_fraction(random) < profile->crop)
		side = sqrt(random_between(random, 0.45, 1));
	if (p->frame == NULL && p->orientation != 6 && p->orientation != 8) {
		p->aspect = whole;
		if (shape < profile->square)
			p->aspect = 1;
		else if (shape < profile->square + profile->portrait)
			p->aspect = 0.75;
	}
	p->part.width = side * fmin(1, p->aspect / whole);
	p->part.height = side * fmin(1, whole / p->aspect);
	p->part.left = random_fraction(random) * (1 - p->part.width);
	p->part.top = random_fraction(random) * (1 - p->part.height);
	return p->part.width * p->part.height;
}

static void plan_draw(struct plan *plan, const struct profile *profile,
		      uint64_t seed, uint32_t number, uint64_t target_bytes,
		      const struct source *sources, uint32_t source_count)
{
	uint64_t random = seed ^ (UINT64_C(0xd1342543de82ef95) * (number + 1));
	struct plan best = { 0 };
	double best_bytes = 0;

	*plan = (struct plan){ .number = number,
			       .seed = random_next(&random),
			       .target_bytes = target_bytes,
			       .side_min_px = profile->side_min_px,
			       .side_max_px = profile->side_max_px };
	draw_encoding(plan, profile, &random);
	draw_metadata(plan, profile, &random);
	draw_frame(plan, profile, &random);
	for (int draw = 0; draw < DRAWS_MAX; draw++) {
		plan->source = random_below(&random, source_count);

		const struct source *s = &sources[plan->source];
		double area = draw_part(plan, profile, s, &random);
		double bytes =
			area * (double)s->capacity_bytes * plan_density(plan);

		if (plan->frame != NULL || bytes >= 1.1 * (double)target_bytes)
			return;
		if (bytes > best_bytes) {
			best = *plan;
			best_bytes = bytes;
		}
	}
	/*
	 * No source has enough detail: take the best one, at the best quality.
	 */
	*plan = best;
	plan->quality = CAPACITY_QUALITY;
}

/*
 * Put ranks into a random order, so that the name of a file says nothing about
 * its size.
 */
static uint32_t *shuffle_ranks(uint32_t count, uint64_t seed)
{
	uint32_t *ranks = xcalloc(count, sizeof(*ranks));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t other = random_below(&seed, i + 1);

		ranks[i] = ranks[other];
		ranks[other] = i;
	}
	return ranks;
}

void plan_uploads(struct upload *uploads, uint32_t count,
		  const struct profile *profile, uint64_t seed,
		  const struct source *sources, uint32_t source_count)
{
	struct quantiles bytes = profile->bytes;
	uint32_t *ranks = shuffle_ranks(count, seed);
	double least = quantiles_at(&bytes, 0);
	double most = quantiles_at(&bytes, 1);

	if (profile->mean_bytes > 0)
		quantiles_fit_mean(&bytes, count, profile->mean_bytes);
	for (uint32_t i = 0; i < count; i++) {
		struct plan *plan = &uploads[i].plan;
		uint64_t target = quantiles_target(&bytes, ranks[i], count);

		plan_draw(plan, profile, seed, i, target, sources,
			  source_count);
		/*
		 * The smallest and the largest file must have exactly their
		 * size.  The same holds for files of nearly these sizes,
		 * because a deviation of 2.5 % could make one of them the
		 * smallest or the largest.
		 */
		plan->exact = (double)target < 1.05 * least ||
			      (double)target > most / 1.05;
	}
	free(ranks);
}
