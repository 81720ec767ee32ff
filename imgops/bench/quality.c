/* SPDX-License-Identifier: MIT */
#include "imgops/bench/quality.h"

#include "base/quantiles.h"
#include "imgops/bench/run.h"
#include "imgops/bench/floor.h"
#include "imgops/bench/reference.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DB_MAX = 99 }; /* the value for equal planes */

/* One file on its way. */
struct trial {
	struct quality *quality;
	const struct bench_options *options;
	struct img_transform
		/* does not convert colours; nor does the reference */
		transform;
	const struct memory *memory;
	const struct file *file;
	struct img_header header;
	struct img_view view;
	struct floor_planes full; /* its block is reused */
	struct floor_planes back;
};

static void skip_file(struct quality *q, const char *path, const char *why)
{
	struct unlike *u = &q->skipped[q->skipped_count++];

	u->path = path;
	snprintf(u->why, sizeof(u->why), "%s", why);
}

static void add_value(struct trial *t, enum metric metric, double value)
{
	spread_add(&t->quality->spreads[metric], value, t->file->path);
}

static double decibels(double squares, double count)
{
	return squares > 0 ?
		       fmin(DB_MAX, 10 * log10(255 * 255 * count / squares)) :
		       DB_MAX;
}

static double sample_at(const struct img_plane *p, size_t i)
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
		double error = sample_at(p, i) - reference[i];

		squares += error * error;
	}
	return decibels(squares, (double)sample_count(p));
}

static double plane_levels(const struct img_plane *p, const double *reference)
{
	double worst = 0;

	for (size_t i = 0; i < sample_count(p); i++)
		worst = fmax(worst, fabs(sample_at(p, i) - reference[i]));
	return worst;
}

static double plane_ssim(const struct img_plane *p, const double *reference)
{
	double *values = calloc(sample_count(p), sizeof(*values));
	double result;

	assert(values != NULL);
	for (size_t i = 0; i < sample_count(p); i++)
		values[i] = sample_at(p, i);
	result = ssim(values, reference, p->width, p->height);
	free(values);
	return result;
}

/*
 * The luma plane of `f` in the form of imgops; it borrows the samples of `f`.
 */
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

/*
 * Compare `luma`, the luma plane of a result, with the reference: a full decode
 * and a slow, exact resize.
 */
static void compare_resize(struct trial *t, const struct img_plane *luma)
{
	struct img_plane full;
	struct upright u;
	double *reference;

	floor_decode(&t->full, t->file->bytes, t->file->size_bytes, 8);
	if (!t->full.has_luma) {
		skip_file(t->quality, t->file->path,
			  "not Y'CbCr: no reference");
		return;
	}
	full = floor_luma(&t->full);
	u = reference_turn(&full, t->view.orientation);
	reference = reference_scale(&u, &t->view, luma, t->transform.filter);
	if (luma->width < SSIM_WINDOW || luma->height < SSIM_WINDOW)
		skip_file(t->quality, t->file->path, "too small for SSIM");
	else
		add_value(t, METRIC_SSIM, plane_ssim(luma, reference));
	add_value(t, METRIC_PSNR, plane_psnr(luma, reference));
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
		double *reference = reference_scale(
			&u, &t->view, &dst->planes[i], t->transform.filter);

		worst = fmax(worst, plane_levels(&dst->planes[i], reference));
		free(reference);
		reference_release(&u);
	}
	add_value(t, METRIC_LEVELS, worst);
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
	add_value(t, METRIC_BLUR, worst);
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
			double error = sample_at(p, k) -
				       b->samples[k / p->width * b->stride +
						  k % p->width];

			squares += error * error;
		}
		worst = fmin(worst, decibels(squares, (double)sample_count(p)));
	}
	add_value(t, METRIC_ENCODED, worst);
}

/* `pictures`: decoded, scaled, blurred. */
static enum img_err verify_steps(struct trial *t, struct image pictures[3])
{
	struct image *decoded = &pictures[0], *scaled = &pictures[1];
	const struct img_transform *transform = &t->transform;
	struct run_job job = { transform, t->memory, t->options->margin };
	struct img_view larger = run_decode_view(&t->view, &job);
	struct image *last = scaled;
	uint8_t *jpeg = NULL;
	size_t jpeg_bytes = 0;
	enum img_err err = img_decode(decoded, t->file->bytes,
				      t->file->size_bytes, &t->header, &larger,
				      transform, &run_limits, t->memory);

	if (err == IMG_OK)
		err = img_scale(scaled, decoded, &t->view, transform,
				t->memory);
	if (err == IMG_OK) {
		compare_scale(t, scaled, decoded);
		compare_resize(t, &scaled->planes[0]);
	}
	if (err == IMG_OK && transform->blur_sigma_px > 0) {
		last = &pictures[2];
		err = img_blur(last, scaled, transform->blur_sigma_px,
			       t->memory);
		if (err == IMG_OK)
			compare_blur(t, last, scaled, transform->blur_sigma_px);
	}
	if (err == IMG_OK)
		err = img_encode(&jpeg, &jpeg_bytes, last, transform,
				 t->memory);
	if (err == IMG_OK) {
		compare_encoded(t, jpeg, jpeg_bytes, last);
		t->memory->free(t->memory->arg, jpeg);
	}
	return err;
}

static void verify_file(struct trial *t)
{
	struct image pictures[3] = { 0 };
	enum img_err err = verify_steps(t, pictures);

	if (err != IMG_OK)
		skip_file(t->quality, t->file->path, img_strerror(err));
	for (int i = 0; i < 3; i++)
		img_release(&pictures[i]);
}

static bool is_near(uint32_t a, uint32_t b)
{
	return a <= b + 1 && b <= a + 1;
}

/* The sides may differ by rounding if another program made the result. */
static void score_file(struct trial *t)
{
	struct file result;
	struct error error;
	struct img_plane luma;
	struct img_header header;
	enum img_err err;

	if (!file_read(&result, t->options->score, t->file->path, &error)) {
		skip_file(t->quality, t->file->path,
			  "no result that can be read");
		return;
	}
	err = img_probe(&header, result.bytes, result.size_bytes, &run_limits);
	if (err == IMG_OK)
		floor_decode(&t->back, result.bytes, result.size_bytes, 8);
	file_release(&result);
	luma = floor_luma(&t->back);
	if (err != IMG_OK || !t->back.has_luma)
		skip_file(t->quality, t->file->path,
			  "its result is no Y'CbCr JPEG");
	else if (!is_near(luma.width, t->view.size.width_px) ||
		 !is_near(luma.height, t->view.size.height_px))
		skip_file(t->quality, t->file->path,
			  "its result has another size");
	else
		compare_resize(t, &luma);
}

static void quality_alloc(struct quality *q, size_t count)
{
	for (int i = 0; i < METRIC_COUNT; i++) {
		bool ok = spread_init(&q->spreads[i], count);

		assert(ok);
	}
	/*
	 * Each file may be skipped twice: its resize cannot be compared, and
	 * then a later step fails.
	 */
	q->skipped = calloc(count, 2 * sizeof(*q->skipped));
	assert(q->skipped != NULL);
}

struct quality quality_run(const struct folder *folder,
			   const struct bench_options *o,
			   const struct memory *memory)
{
	bool is_watched = isatty(STDERR_FILENO);
	struct quality q = { 0 };
	struct trial t = { .quality = &q,
			   .options = o,
			   .transform = o->transform,
			   .memory = memory };

	t.transform.keep_profile = true;
	quality_alloc(&q, folder->count);
	for (size_t i = 0; i < folder->count; i++) {
		struct run_job job = { &o->transform, memory, o->margin };
		struct run b = run_file(&folder->files[i], &job);

		run_release(&b, &job);
		if (is_watched)
			fprintf(stderr, "\r%zu of %zu\r", i + 1, folder->count);
		t.file = &folder->files[i];
		if (b.err != IMG_OK) {
			skip_file(&q, t.file->path, img_strerror(b.err));
			continue;
		}
		t.header = b.header;
		t.view = img_fit(&b.header, &o->transform);
		if (o->score != NULL)
			score_file(&t);
		else
			verify_file(&t);
	}
	for (int i = 0; i < METRIC_COUNT; i++)
		spread_finish(&q.spreads[i]);
	floor_release(&t.full);
	floor_release(&t.back);
	return q;
}

void quality_release(struct quality *q)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		spread_release(&q->spreads[i]);
	free(q->skipped);
	*q = (struct quality){ 0 };
}

static const struct {
	const char *name, *title;
	double bound;
	bool is_error; /* a smaller value is better */
} metrics[METRIC_COUNT] = {
	[METRIC_SSIM] = { "ssim", "resize, luma SSIM", -1, false },
	[METRIC_PSNR] = { "psnr_db", "resize, luma PSNR, dB", 0, false },
	[METRIC_LEVELS] = { "scale_levels", "scale, worst error", 2, true },
	[METRIC_BLUR] = { "blur_db", "blur, PSNR, dB", 45, false },
	[METRIC_ENCODED] = { "encode_db", "encode, PSNR, dB", 20, false },
};

/*
 * The median, the value that the worst tenth of the files does not reach, and
 * the worst file.
 */
struct summary {
	double median, p10;
	double worst;
	const char *worst_path;
	bool is_fine;
};

static struct summary summarise(const struct quality *q, enum metric m)
{
	const struct spread *v = &q->spreads[m];
	bool is_error = metrics[m].is_error;
	struct summary s = {
		.median = quantile_between(v->values, v->count, 0.5),
		.p10 = quantile_between(v->values, v->count,
					is_error ? 0.9 : 0.1),
		.worst = is_error ? v->most : v->least,
		.worst_path = is_error ? v->most_path : v->least_path,
	};

	s.is_fine = is_error ? s.worst <= metrics[m].bound :
			       s.worst >= metrics[m].bound;
	return s;
}

bool quality_print(FILE *out, const struct quality *q)
{
	bool is_fine = true;

	fprintf(out, "%-22s %6s %9s %9s %9s\n", "", "files", "median", "p10",
		"worst");
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		struct summary s;

		if (q->spreads[m].count == 0)
			continue;
		s = summarise(q, m);
		is_fine = is_fine && s.is_fine;
		fprintf(out, "%-22s %6zu %9.4f %9.4f %9.4f  %s%s\n",
			metrics[m].title, q->spreads[m].count, s.median, s.p10,
			s.worst, s.worst_path,
			s.is_fine ? "" : "  BOUND BROKEN");
	}
	fprintf(out, "not compared           %6zu\n", q->skipped_count);
	for (size_t i = 0; i < q->skipped_count; i++)
		fprintf(out, "  %s: %s\n", q->skipped[i].path,
			q->skipped[i].why);
	return is_fine;
}

bool quality_write_json(FILE *out, const struct quality *q)
{
	struct json j;

	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	for (enum metric m = 0; m < METRIC_COUNT; m++) {
		struct summary s;

		if (q->spreads[m].count == 0)
			continue;
		s = summarise(q, m);
		json_open_object(&j, metrics[m].name);
		json_add_number(&j, "files", (double)q->spreads[m].count);
		json_add_number(&j, "median", s.median);
		json_add_number(&j, "p10", s.p10);
		json_add_number(&j, "worst", s.worst);
		json_add_text(&j, "worst_path", s.worst_path);
		json_close(&j);
	}
	json_add_number(&j, "not_compared", (double)q->skipped_count);
	json_close(&j);
	fprintf(out, "\n");
	return fflush(out) == 0 && !ferror(out);
}
