/* SPDX-License-Identifier: MIT */
/*
 * CPU time as a sum of terms, each a count that the header tells, times what
 * one of them takes.
 */
#include "imgops/cost_plan.h"

#include <math.h>

enum { LOBES = 3, SIGMA_MAX = 6, BLUR_RADIUS_SIGMAS = 3 };

#define SHARP_SIGMA_MAX 0.7

/*
 * Nanoseconds of one AMD EPYC core with AVX2, by bench/cost_fit.c from 159
 * photos in eight recipes.  In boxes of 200 to 640 and without one, plain or
 * blurred, imgops_bench finds a median error of 4 to 5 % and a p90 of 16 to
 * 21 %; optimised, of 10 and 24 %.  None of them is arithmetic-coded: that is a
 * guess.  What is 0 goes along with another term, as kept blocks with bytes.
 */
static const double term_ns[COST_TERMS] = {
	[COST_PICTURES] = 6310,
	[COST_PROFILES] = 1910,
	[COST_TABLES] = 24500,
	[COST_FULL_BYTES] = 6.11,
	[COST_SKIMMED_1_BYTES] = 3.73,
	[COST_SKIMMED_2_BYTES] = 3.85,
	[COST_SKIMMED_3_BYTES] = 4.21,
	[COST_SKIMMED_4_BYTES] = 4.97,
	[COST_SCANNED_BYTES] = 0.52,
	[COST_DC_BYTES] = 0,
	[COST_PROGRESSIVE_BYTES] = 37.7,
	[COST_ARITHMETIC_BYTES] = 60,
	[COST_KEPT_BLOCKS] = 0,
	[COST_BLOCKS_1] = 10,
	[COST_BLOCKS_2] = 20.4,
	[COST_BLOCKS_3] = 32,
	[COST_BLOCKS_4] = 44.4,
	[COST_BLOCKS_8] = 40,
	[COST_COPIED_SAMPLES] = 0.0613,
	[COST_TAPS_MADE] = 1.49,
	[COST_SUMS_DOWN] = 0.0181,
	[COST_SUMS_ALONG] = 0.0531,
	[COST_CONVERSIONS] = 243000,
	[COST_CONVERTED_PIXELS] = 5.3,
	[COST_BLUR_SUMS] = 0.0336,
	[COST_BLUR_PYRAMID] = 0.505,
	[COST_RESULTS] = 6400,
	[COST_OPTIMIZED_RESULTS] = 39900,
	[COST_PROGRESSIVE_RESULTS] = 89700,
	[COST_ENCODED_SAMPLES] = 0.902,
	[COST_OPTIMIZED_SAMPLES] = 2.33,
	[COST_PROGRESSIVE_SAMPLES] = 5.09,
	[COST_SHARP_SAMPLES] = 0.197,
	[COST_SHARP_PROGRESSIVE_SAMPLES] = 3.44,
};

static void entropy_terms(double *terms, const struct plan *p)
{
	const struct img_header *h = p->header;
	double bytes = (double)p->scan_bytes, kept = (double)p->kept_bytes;
	uint32_t tables = (uint32_t)__builtin_popcount(p->tables.ac);

	if (h->is_arithmetic)
		terms[COST_ARITHMETIC_BYTES] = bytes;
	else if (h->is_progressive) {
		terms[COST_SCANNED_BYTES] = bytes;
		terms[p->skims ? COST_DC_BYTES : COST_PROGRESSIVE_BYTES] = kept;
	} else if (p->skims) {
		terms[COST_SKIMMED_1_BYTES + p->eighths - 1] = bytes;
		terms[COST_TABLES] = tables;
	} else
		terms[COST_FULL_BYTES] = bytes;
}

static void block_terms(double *terms, const struct plan *p)
{
	for (uint32_t i = 0; i < p->decoded.plane_count; i++) {
		struct img_size blocks = plan_blocks(p->header, i);
		double count = (double)blocks.width_px * blocks.height_px;

		terms[p->eighths == 8 ? COST_BLOCKS_8 :
					COST_BLOCKS_1 + p->eighths - 1] +=
			count;
		if (p->keeps_coefficients)
			terms[COST_KEPT_BLOCKS] += count;
	}
}

static void scale_plane_terms(double *terms, const struct img_plane *to,
			      const struct img_plane *from,
			      const struct img_view *view)
{
	bool aside = view->orientation >= 5;
	double shown_x = from->span_x * (aside ? view->height : view->width);
	double shown_y = from->span_y * (aside ? view->width : view->height);
	double out_x = aside ? to->height : to->width;
	double out_y = aside ? to->width : to->height;
	double taps_x = ceil(2 * LOBES * fmax(1, shown_x / out_x));
	double taps_y = ceil(2 * LOBES * fmax(1, shown_y / out_y));

	if (!aside && fabs(shown_x - to->span_x) < 1e-6 &&
	    fabs(shown_y - to->span_y) < 1e-6) {
		terms[COST_COPIED_SAMPLES] += out_x * out_y;
		return;
	}
	terms[COST_TAPS_MADE] += out_x * taps_x + out_y * taps_y;
	terms[COST_SUMS_DOWN] += shown_x * out_y * taps_y;
	terms[COST_SUMS_ALONG] += out_x * out_y * taps_x;
}

static void scale_terms(double *terms, const struct plan *p)
{
	const struct image *to = p->needs_pixels ? &p->pixels : &p->scaled;

	for (uint32_t i = 0; i < to->plane_count; i++)
		scale_plane_terms(terms, &to->planes[i], &p->decoded.planes[i],
				  p->view);
	if (!p->needs_pixels)
		return;
	terms[COST_CONVERSIONS] = 1;
	terms[COST_CONVERTED_PIXELS] =
		(double)p->view->size.width_px * p->view->size.height_px;
}

/* Blurring, and encoding. */
static void result_terms(double *terms, const struct plan *p)
{
	const struct img_recipe *r = p->recipe;

	for (uint32_t i = 0; i < p->scaled.plane_count; i++) {
		const struct img_plane *plane = &p->scaled.planes[i];
		double samples = (double)plane->width * plane->height;
		double sigma = r->blur_sigma_px * plane->span_x /
			       p->scaled.planes[0].span_x;
		double step = 1;

		while (sigma / step > SIGMA_MAX)
			step *= 2;
		terms[COST_ENCODED_SAMPLES] += samples;
		if (r->progressive)
			terms[COST_PROGRESSIVE_SAMPLES] += samples;
		else if (r->optimize)
			terms[COST_OPTIMIZED_SAMPLES] += samples;
		if (r->blur_sigma_px < SHARP_SIGMA_MAX) {
			terms[COST_SHARP_SAMPLES] += samples;
			if (r->progressive)
				terms[COST_SHARP_PROGRESSIVE_SAMPLES] +=
					samples;
		}
		if (r->blur_sigma_px <= 0)
			continue;
		terms[COST_BLUR_SUMS] +=
			samples / (step * step) *
			(2 * ceil(BLUR_RADIUS_SIGMAS * sigma / step) + 1);
		if (step > 1)
			terms[COST_BLUR_PYRAMID] += samples;
	}
}

void cost_terms(double terms[COST_TERMS], const struct plan *p)
{
	for (uint32_t i = 0; i < COST_TERMS; i++)
		terms[i] = 0;
	terms[COST_PICTURES] = 1;
	terms[COST_PROFILES] = p->header->icc_bytes > 0;
	terms[COST_RESULTS] = 1;
	terms[COST_OPTIMIZED_RESULTS] = p->recipe->optimize;
	terms[COST_PROGRESSIVE_RESULTS] = p->recipe->progressive;
	entropy_terms(terms, p);
	block_terms(terms, p);
	scale_terms(terms, p);
	result_terms(terms, p);
}

/* What terms `first` to `end` - 1 take together. */
static uint64_t step_ns(const double terms[COST_TERMS], uint32_t first,
			uint32_t end)
{
	double sum = 0;

	for (uint32_t i = first; i < end; i++)
		sum += terms[i] * term_ns[i];
	return (uint64_t)sum;
}

struct img_cost cost_cpu(const struct plan *p)
{
	double terms[COST_TERMS];
	struct img_cost cost;

	cost_terms(terms, p);
	cost = (struct img_cost){
		.decode_ns = step_ns(terms, 0, COST_TERMS_OF_SCALE),
		.scale_ns =
			step_ns(terms, COST_TERMS_OF_SCALE, COST_TERMS_OF_BLUR),
		.blur_ns = step_ns(terms, COST_TERMS_OF_BLUR,
				   COST_TERMS_OF_ENCODE),
		.encode_ns = step_ns(terms, COST_TERMS_OF_ENCODE, COST_TERMS),
	};
	cost.cpu_ns =
		cost.decode_ns + cost.scale_ns + cost.blur_ns + cost.encode_ns;
	return cost;
}
