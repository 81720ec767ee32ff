/* SPDX-License-Identifier: MIT */
#include "datasets/plan.h"

#include "datasets/random.h"

#include <math.h>

enum { DRAWS_MAX = 200 };

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
	double sampling = random_share(random);

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
	p->progressive = random_share(random) < profile->progressive;
	p->optimised = random_share(random) < profile->optimised;
	p->grey = random_share(random) < profile->grey;
	if (p->target_bytes < profile->grey_below_bytes) {
		p->grey = true;
		p->progressive = false; /* ten scans have ten headers */
		p->optimised = true;    /* standard tables are 210 bytes */
	}
}

static void draw_metadata(struct plan *p, const struct profile *profile,
			  uint64_t *random)
{
	double turned = random_share(random);
	double exif = random_share(random);
	double thumbnail = random_share(random);
	double icc = random_share(random);

	p->orientation = 1;
	if (p->target_bytes < profile->metadata_from_bytes)
		return;
	if ((turned -= profile->turned_90) < 0)
		p->orientation = 6;
	else if ((turned -= profile->turned_270) < 0)
		p->orientation = 8;
	else if ((turned -= profile->turned_180) < 0)
		p->orientation = 3;
	/* `exif` is a share of all, and the turned ones are among them. */
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

/* A camera's frame, seen upright: its aspect decides the crop. */
static void draw_frame(struct plan *p, const struct profile *profile,
		       uint64_t *random)
{
	bool sideways = p->orientation == 6 || p->orientation == 8;
	double draw = random_share(random);

	p->aspect = 0; /* the crop's */
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

/* The part of `s` that is shown; its share of the photo's area. */
static double draw_part(struct plan *p, const struct profile *profile,
			const struct source *s, uint64_t *random)
{
	double whole = (double)s->width / s->height;
	double side = 1;
	double shape = random_share(random);

	if (random_share(random) < profile->crop)
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
	p->part.left = random_share(random) * (1 - p->part.width);
	p->part.top = random_share(random) * (1 - p->part.height);
	return p->part.width * p->part.height;
}

void plan_draw(struct plan *plan, const struct profile *profile, uint64_t seed,
	       uint32_t number, uint64_t target_bytes,
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
	/* None has it: the best, at the best quality; it may be enlarged. */
	*plan = best;
	plan->quality = CAPACITY_QUALITY;
}
