/* SPDX-License-Identifier: MIT */
#include "imgops/bench/quality.h"

#include "imgops/bench/bare.h"
#include "imgops/bench/floor.h"
#include "imgops/bench/reference.h"
#include "imgops/bench/ssim.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DB_MAX = 99 }; /* what equal planes get */

/* One file on its way. */
struct trial {
	struct quality *quality;
	const struct options *options;
	struct img_recipe recipe; /* colours as they are: so is the reference */
	const struct img_memory *memory;
	const struct file *file;
	struct img_header header;
	struct img_view view;
	struct floor_planes full; /* its block is used again */
	struct floor_planes back;
};

static void skip(struct quality *q, const char *path, const char *why)
{
	struct unlike *u = &q->skipped[q->skipped_count++];

	u->path = path;
	snprintf(u->why, sizeof(u->why), "%s", why);
}

static void add(struct trial *t, enum metric metric, double value)
{
	struct quality *q = t->quality;

	q->values[metric][q->counts[metric]++] =
		(struct value){ value, t->file->path };
}

static double decibels(double squares, double count)
{
	return squares > 0 ?
		       fmin(DB_MAX, 10 * log10(255 * 255 * count / squares)) :
		       DB_MAX;
}

static double sample(const struct img_plane *p, size_t i)
{
	return p->samples[i / p->width * p->stride_bytes + i % p->width];
}

static size_t sample_count(const struct img_plane *p)
{
	return (size_t)p->width * p->height;
}

static double plane_psnr(const struct img_plane *p, const double *reference)
{
	double squares = 0;

	for (size_t i = 0; i < sample_count(p); i++) {
		double error = sample(p, i) - reference[i];

		squares += error * error;
	}
	return decibels(squares, (double)sample_count(p));
}

static double plane_levels(const struct img_plane *p, const double *reference)
{
	double worst = 0;

	for (size_t i = 0; i < sample_count(p); i++)
		worst = fmax(worst, fabs(sample(p, i) - reference[i]));
	return worst;
}

static double plane_ssim(const struct img_plane *p, const double *reference)
{
	double *values = calloc(sample_count(p), sizeof(*values));
	double result;

	assert(values != NULL);
	for (size_t i = 0; i < sample_count(p); i++)
		values[i] = sample(p, i);
	result = ssim(values, reference, p->width, p->height);
	free(values);
	return result;
}

/* The luma of `f` as imgops would have it; lends its samples. */
static struct img_plane floor_luma(const struct floor_planes *f)
{
	const struct floor_plane *p = &f->planes[0];

	return (struct img_plane){
		.samples = p->samples,
		.width = p->width,
		.height = p->height,
		.stride_bytes = p->stride,
		.span_x = p->width,
		.span_y = p->height,
	};
}

/* `luma`, of a result, against a full decode and the reference resize. */
static void compare_resize(struct trial *t, const struct img_plane *luma)
{
	struct img_plane full;
	struct upright u;
	double *reference;

	floor_decode(&t->full, t->file->bytes, t->file->size_bytes, 8);
	if (!t->full.has_luma) {
		skip(t->quality, t->file->path, "not Y'CbCr: no reference");
		return;
	}
	full = floor_luma(&t->full);
	u = reference_turn(&full, t->view.orientation);
	reference = reference_scale(&u, &t->view, luma);
	if (luma->width < SSIM_WINDOW || luma->height < SSIM_WINDOW)
		skip(t->quality, t->file->path, "too small for SSIM");
	else
		add(t, METRIC_SSIM, plane_ssim(luma, reference));
	add(t, METRIC_PSNR, plane_psnr(luma, reference));
	free(reference);
	reference_release(&u);
}

static void compare_scale(struct trial *t, const struct image *dst,
			  const struct image *src)
{
	double worst = 0;

	/* Samples of other colours are converted on the way. */
	if (src->space != dst->space)
		return;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		struct upright u =
			reference_turn(&src->planes[i], t->view.orientation);
		double *reference =
			reference_scale(&u, &t->view, &dst->planes[i]);

		worst = fmax(worst, plane_levels(&dst->planes[i], reference));
		free(reference);
		reference_release(&u);
	}
	add(t, METRIC_LEVELS, worst);
}

static void compare_blur(struct trial *t, const struct image *dst,
			 const struct image *src, double sigma)
{
	double worst = DB_MAX;

	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		double *reference = reference_blur(
			p, sigma * p->span_x / src->planes[0].span_x);

		worst = fmin(worst, plane_psnr(&dst->planes[i], reference));
		free(reference);
	}
	add(t, METRIC_BLUR, worst);
}

static void compare_encoded(struct trial *t, const uint8_t *jpeg,
			    size_t jpeg_bytes, const struct image *src)
{
	double worst = DB_MAX;

	floor_decode(&t->back, jpeg, jpeg_bytes, 8);
	assert(t->back.count == (int)src->plane_count);
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		const struct floor_plane *b = &t->back.planes[i];
		double squares = 0;

		assert(b->width == p->width && b->height == p->height);
		for (size_t k = 0; k < sample_count(p); k++) {
			double error = sample(p, k) -
				       b->samples[k / p->width * b->stride +
						  k % p->width];

			squares += error * error;
		}
		worst = fmin(worst, decibels(squares, (double)sample_count(p)));
	}
	add(t, METRIC_ENCODED, worst);
}

/* `pictures`: decoded, scaled, blurred. */
static enum img_err verify_steps(struct trial *t, struct image pictures[3])
{
	struct image *decoded = &pictures[0], *scaled = &pictures[1];
	const struct img_recipe *recipe = &t->recipe;
	struct bare_job job = { recipe, t->memory, t->options->margin };
	struct img_view larger = bare_decode_view(&t->view, &job);
	struct image *last = scaled;
	uint8_t *jpeg = NULL;
	size_t jpeg_bytes = 0;
	enum img_err err = img_decode(decoded, t->file->bytes,
				      t->file->size_bytes, &t->header, &larger,
				      recipe, &bare_limits, t->memory);

	if (err == IMG_OK)
		err = img_scale(scaled, decoded, &t->view, recipe, t->memory);
	if (err == IMG_OK) {
		compare_scale(t, scaled, decoded);
		compare_resize(t, &scaled->planes[0]);
	}
	if (err == IMG_OK && recipe->blur_sigma_px > 0) {
		last = &pictures[2];
		err = img_blur(last, scaled, recipe->blur_sigma_px, t->memory);
		if (err == IMG_OK)
			compare_blur(t, last, scaled, recipe->blur_sigma_px);
	}
	if (err == IMG_OK)
		err = img_encode(&jpeg, &jpeg_bytes, last, recipe, t->memory);
	if (err == IMG_OK) {
		compare_encoded(t, jpeg, jpeg_bytes, last);
		t->memory->free(t->memory->arg, jpeg);
	}
	return err;
}

static void verify(struct trial *t)
{
	struct image pictures[3] = { 0 };
	enum img_err err = verify_steps(t, pictures);

	if (err != IMG_OK)
		skip(t->quality, t->file->path, img_strerror(err));
	for (int i = 0; i < 3; i++)
		img_release(&pictures[i]);
}

static bool is_near(uint32_t a, uint32_t b)
{
	return a <= b + 1 && b <= a + 1;
}

/* Another program may round the sides otherwise. */
static void score(struct trial *t)
{
	struct file result;
	struct error error;
	struct img_plane luma;
	struct img_header header;
	enum img_err err;

	if (!file_read(&result, t->options->score, t->file->path, &error)) {
		skip(t->quality, t->file->path, "no result that can be read");
		return;
	}
	err = img_probe(&header, result.bytes, result.size_bytes, &bare_limits);
	if (err == IMG_OK)
		floor_decode(&t->back, result.bytes, result.size_bytes, 8);
	file_release(&result);
	luma = floor_luma(&t->back);
	if (err != IMG_OK || !t->back.has_luma)
		skip(t->quality, t->file->path, "its result is no Y'CbCr JPEG");
	else if (!is_near(luma.width, t->view.size.width_px) ||
		 !is_near(luma.height, t->view.size.height_px))
		skip(t->quality, t->file->path, "its result has another size");
	else
		compare_resize(t, &luma);
}

static void quality_alloc(struct quality *q, size_t count)
{
	for (int i = 0; i < METRIC_COUNT; i++) {
		q->values[i] = calloc(count, sizeof(*q->values[i]));
		assert(q->values[i] != NULL);
	}
	/* A step may fail after the resize could not be compared. */
	q->skipped = calloc(count, 2 * sizeof(*q->skipped));
	assert(q->skipped != NULL);
}

struct quality quality_run(const struct folder *folder, const struct options *o,
			   const struct img_memory *memory)
{
	bool is_watched = isatty(STDERR_FILENO);
	struct quality q = { 0 };
	struct trial t = { .quality = &q,
			   .options = o,
			   .recipe = o->recipe,
			   .memory = memory };

	t.recipe.keep_profile = true;
	quality_alloc(&q, folder->count);
	for (size_t i = 0; i < folder->count; i++) {
		struct bare_job job = { &o->recipe, memory, o->margin };
		struct bare b = bare_run(&folder->files[i], &job);

		bare_release(&b, &job);
		if (is_watched)
			fprintf(stderr, "\r%zu of %zu\r", i + 1, folder->count);
		t.file = &folder->files[i];
		if (b.err != IMG_OK) {
			skip(&q, t.file->path, img_strerror(b.err));
			continue;
		}
		t.header = b.header;
		t.view = img_fit(&b.header, &o->recipe);
		if (o->score != NULL)
			score(&t);
		else
			verify(&t);
	}
	for (int i = 0; i < METRIC_COUNT; i++)
		values_sort(q.values[i], q.counts[i]);
	floor_release(&t.full);
	floor_release(&t.back);
	return q;
}

void quality_release(struct quality *q)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		free(q->values[i]);
	free(q->skipped);
	*q = (struct quality){ 0 };
}
