/* SPDX-License-Identifier: MIT */
/*
 * cost_fit DIR: fit the constants of cost_cpu.c to this machine and print them.
 *
 * Each photo in each of some recipes gives one equation for each step: the sum
 * of the step's terms is its CPU time.  Errors count in parts of all of the
 * photo's time, and by their size, not its square, so that a few odd photos do
 * not decide: least squares, weighted anew by what is left.
 */
#include "imgops/bench/measure.h"
#include "imgops/cost_plan.h"
#include "imgops/pool.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 30, SWEEPS = 2000, STEPS = 4, PASSES = 2 };

#define TINY_ERROR 0.01

/* The first term of each step; probing counts as decoding. */
static const int first_terms[STEPS + 1] = {
	COST_PICTURES,        COST_TERMS_OF_SCALE, COST_TERMS_OF_BLUR,
	COST_TERMS_OF_ENCODE, COST_TERMS,
};

static const struct img_recipe recipes[] = {
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
};

struct equation {
	double terms[COST_TERMS];
	double ns, all_ns; /* of the step, of the picture */
	int step;
};

static struct equation *equations;
static size_t equation_count;

static void add_row(const struct row *row, const struct img_recipe *recipe)
{
	const struct img_header *h = &row->first.header;
	struct img_view view = img_fit(h, recipe);
	struct plan p = plan_make(h, row->file->bytes, row->file->size_bytes,
				  img_eighths(h, &view, recipe));
	double ns[STEPS] = { row->cpu_s[STEP_PROBE] + row->cpu_s[STEP_DECODE],
			     row->cpu_s[STEP_SCALE], row->cpu_s[STEP_BLUR],
			     row->cpu_s[STEP_ENCODE] };
	double all = (ns[0] + ns[1] + ns[2] + ns[3]) * 1e9 / PASSES;

	plan_picture(&p, &view, recipe);
	for (int step = 0; step < STEPS; step++) {
		struct equation *e = &equations[equation_count++];

		cost_terms(e->terms, &p);
		e->ns = ns[step] * 1e9 / PASSES;
		e->all_ns = all;
		e->step = step;
	}
}

static double left_over(const struct equation *e, const double *x)
{
	double left = e->ns;

	for (int t = first_terms[e->step]; t < first_terms[e->step + 1]; t++)
		left -= x[t] * e->terms[t];
	return left;
}

/* Coordinate descent on the normal equations; nothing costs less than 0. */
static void solve(double *x)
{
	static double a[COST_TERMS][COST_TERMS], b[COST_TERMS];

	for (int i = 0; i < COST_TERMS; i++) {
		b[i] = 0;
		for (int k = 0; k < COST_TERMS; k++)
			a[i][k] = 0;
	}
	for (size_t n = 0; n < equation_count; n++) {
		const struct equation *e = &equations[n];
		int from = first_terms[e->step], to = first_terms[e->step + 1];
		double off = fabs(left_over(e, x)) / e->all_ns;
		double w = 1 / (e->all_ns * e->all_ns * (off + TINY_ERROR));

		for (int i = from; i < to; i++) {
			b[i] += w * e->terms[i] * e->ns;
			for (int k = from; k < to; k++)
				a[i][k] += w * e->terms[i] * e->terms[k];
		}
	}
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		for (int i = 0; i < COST_TERMS; i++) {
			double left = b[i];

			for (int k = 0; k < COST_TERMS; k++)
				left -= k == i ? 0 : a[i][k] * x[k];
			x[i] = a[i][i] > 0 ? fmax(0, left / a[i][i]) : 0;
		}
}

static bool collect(const struct folder *folder,
		    const struct img_memory *memory, struct error *error)
{
	for (size_t r = 0; r < sizeof(recipes) / sizeof(*recipes); r++) {
		struct options o = { .recipe = recipes[r],
				     .passes = PASSES,
				     .margin = 1 };
		struct measure m;

		if (!measure_run(&m, folder, &o, memory, error))
			return false;
		for (size_t i = 0; i < m.row_count; i++)
			if (m.rows[i].first.err == IMG_OK)
				add_row(&m.rows[i], &recipes[r]);
		measure_release(&m);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct img_pool *pool = img_pool_new((size_t)512 << 20);
	struct folder folder = { 0 };
	double x[COST_TERMS] = { 0 };
	struct error error;

	if (argc != 2 || pool == NULL ||
	    !folder_load(&folder, argv[1], UINT64_MAX, &error)) {
		fprintf(stderr, "usage: cost_fit DIR\n");
		return 2;
	}
	equations = calloc(folder.count * sizeof(recipes) / sizeof(*recipes),
			   STEPS * sizeof(*equations));
	if (equations == NULL ||
	    !collect(&folder, img_pool_memory(pool), &error))
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		solve(x);
	for (int t = 0; t < COST_TERMS; t++) /* as in enum cost_term */
		printf("%2d %.3g\n", t, x[t]);
	free(equations);
	folder_release(&folder);
	img_pool_free(pool);
	return 0;
}
