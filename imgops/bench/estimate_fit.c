/* SPDX-License-Identifier: MIT */
/*
 * estimate_fit DIR: fit the nanoseconds of each step's terms (estimate.h) to
 * this machine and print them.
 *
 * Each photo with each of several settings gives one equation for each step:
 * the sum of the step's terms is its CPU time.  Errors are relative to the
 * photo's whole time.  The fit minimises the sum of their sizes, not of their
 * squares, so that a few unusual photos do not dominate.  For that, it repeats
 * least squares with weights from the remaining errors.
 */
#include "imgops/bench/measure.h"
#include "imgops/estimate.h"
#include "imgops/formats/format.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 30, SWEEPS = 2000, STEPS = 4, PASSES = 2 };

#define TINY_ERROR 0.01

static const struct step_estimate *step_of(int step)
{
	const struct img_codec *jpeg = img_formats[IMG_FORMAT_JPEG]->codec;
	const struct step_estimate *const steps[STEPS] = {
		jpeg->decode_estimate, /* probing counts as decoding */
		&scale_estimate,
		&blur_estimate,
		jpeg->encode_estimate,
	};

	return steps[step];
}

static const struct img_transform transforms[] = {
	{ .quality = 80, .box = { 640, 640 }, .blur_sigma_px = 2 },
	{ .quality = 80, .box = { 200, 200 } },
	{ .quality = 80, .box = { 320, 320 }, .blur_sigma_px = 20 },
	{ .quality = 80, .box = { 1280, 1280 }, .blur_sigma_px = 2 },
	{ .quality = 80,
	  .box = { 640, 640 },
	  .blur_sigma_px = 2,
	  .progressive = true },
	{ .quality = 80, .box = { 320, 320 }, .progressive = true },
	{ .quality = 80, .box = { 450, 450 }, .optimize = true },
	{ .quality = 80 },
	{ .quality = 80, .box = { 320, 320 }, .filter = IMG_MITCHELL },
	{ .quality = 80, .box = { 640, 640 }, .filter = IMG_BOX },
	{ .quality = 80, .box = { 900, 900 }, .filter = IMG_TRIANGLE },
	{ .quality = 80,
	  .box = { 3000, 3000 },
	  .enlarge = true,
	  .filter = IMG_CATMULL_ROM },
};

struct equation {
	double counts[ESTIMATE_TERMS_MAX];
	double ns, all_ns; /* time of the step, and of the whole picture */
};

/* The equations of one step. */
struct system {
	struct equation *equations;
	size_t count;
	double ns[ESTIMATE_TERMS_MAX]; /* the solution */
};

static struct system systems[STEPS];

static void add_equations(const struct row *row,
			  const struct img_transform *transform)
{
	const struct img_header *h = &row->first.header;
	const struct img_view *view = &row->first.view;
	struct workload w = { .header = h };
	double ns[STEPS] = { row->cpu_s[STEP_PROBE] + row->cpu_s[STEP_DECODE],
			     row->cpu_s[STEP_SCALE], row->cpu_s[STEP_BLUR],
			     row->cpu_s[STEP_ENCODE] };
	double all = (ns[0] + ns[1] + ns[2] + ns[3]) * 1e9 / PASSES;

	workload_set_decoded(&w, img_decode_scale(h, view, transform));
	workload_set_result(&w, view, transform);
	for (int i = 0; i < STEPS; i++) {
		struct equation *e = &systems[i].equations[systems[i].count++];

		step_of(i)->count(e->counts, &w);
		e->ns = ns[i] * 1e9 / PASSES;
		e->all_ns = all;
	}
}

static double left_over(const struct equation *e, const double *ns,
			uint32_t term_count)
{
	double left = e->ns;

	for (uint32_t t = 0; t < term_count; t++)
		left -= ns[t] * e->counts[t];
	return left;
}

/* Coordinate descent on the normal equations; no term costs less than 0. */
static void solve(struct system *s, uint32_t n)
{
	double a[ESTIMATE_TERMS_MAX][ESTIMATE_TERMS_MAX] = { 0 };
	double b[ESTIMATE_TERMS_MAX] = { 0 };

	for (size_t k = 0; k < s->count; k++) {
		const struct equation *e = &s->equations[k];
		double off = fabs(left_over(e, s->ns, n)) / e->all_ns;
		double w = 1 / (e->all_ns * e->all_ns * (off + TINY_ERROR));

		for (uint32_t i = 0; i < n; i++) {
			b[i] += w * e->counts[i] * e->ns;
			for (uint32_t j = 0; j < n; j++)
				a[i][j] += w * e->counts[i] * e->counts[j];
		}
	}
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (uint32_t i = 0; i < n; i++) {
			double left = b[i];

			for (uint32_t j = 0; j < n; j++)
				left -= j == i ? 0 : a[i][j] * s->ns[j];
			s->ns[i] = a[i][i] > 0 ? fmax(0, left / a[i][i]) : 0;
		}
}

static bool collect(const struct folder *folder, const struct memory *memory,
		    struct error *error)
{
	for (size_t r = 0; r < ARRAY_SIZE(transforms); r++) {
		struct bench_options o = { .transform = transforms[r],
					   .passes = PASSES,
					   .margin = 1 };
		struct measure m;

		if (!measure_run(&m, folder, &o, memory, error))
			return false;
		for (size_t i = 0; i < m.row_count; i++)
			if (m.rows[i].first.err == IMG_OK)
				add_equations(&m.rows[i], &transforms[r]);
		measure_release(&m);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct memory_pool *pool = memory_pool_new((size_t)512 << 20, SIZE_MAX);
	struct folder folder = { 0 };
	struct error error;

	if (argc != 2 || pool == NULL ||
	    !folder_load(&folder, argv[1], UINT64_MAX, &error)) {
		fprintf(stderr, "usage: estimate_fit DIR\n");
		return 2;
	}
	for (int i = 0; i < STEPS; i++)
		systems[i].equations =
			must_alloc(folder.count * ARRAY_SIZE(transforms),
				   sizeof(*systems[i].equations));
	if (!collect(&folder, memory_pool_memory(pool), &error))
		return 1;
	for (int i = 0; i < STEPS; i++) {
		const struct step_estimate *step = step_of(i);

		for (int round = 0; round < ROUNDS; round++)
			solve(&systems[i], step->term_count);
		for (uint32_t t = 0; t < step->term_count; t++)
			printf("%-7s %-34s %.3g\n", step->name,
			       step->terms[t].name, systems[i].ns[t]);
		free(systems[i].equations);
	}
	folder_release(&folder);
	memory_pool_free(pool);
	return 0;
}
