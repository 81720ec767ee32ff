/* SPDX-License-Identifier: MIT */
#include "imgops/bench/quality.h"

#include "base/json.h"
#include "imgops/bench/floor.h"
#include "imgops/bench/reference.h"
#include "imgops/bench/rgb.h"
#include "imgops/ssimulacra2.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The references of a file for results of this size, kept for the next file: a
 * folder may have a photo under several names, one for each result.
 */
struct known {
	const struct file *file; /* NULL: none */
	uint32_t width, height;
	double *luma;      /* NULL: not made */
	struct rgb rgb[2]; /* by enum rgb_light; samples NULL: not made */
};

/* One file that is being compared. */
struct trial {
	struct quality *quality;
	const struct bench_options *options;
	/* Without colour conversion, because the reference has none. */
	struct img_transform transform;
	const struct file *file;
	struct quality_row *row;
	struct floor full; /* the file, at full size */
	struct floor back; /* a result, decoded again */
	struct known known;
};

static void known_release(struct known *k)
{
	free(k->luma);
	for (int i = RGB_GAMMA; i <= RGB_LINEAR; i++)
		rgb_release(&k->rgb[i]);
	*k = (struct known){ 0 };
}

/* What is known of t->file at this size. */
static struct known *known_of(struct trial *t, uint32_t width, uint32_t height)
{
	struct known *k = &t->known;

	if (k->file == NULL || k->width != width || k->height != height ||
	    k->file->size_bytes != t->file->size_bytes ||
	    memcmp(k->file->bytes, t->file->bytes, k->file->size_bytes) != 0)
		known_release(k);
	k->file = t->file;
	k->width = width;
	k->height = height;
	return k;
}

static void skip_file(struct trial *t, const char *why)
{
	struct quality *q = t->quality;

	q->skipped[q->skipped_count++] = (struct unlike){ t->file->path, why };
}

static void add_value(struct trial *t, enum metric metric, double value)
{
	spread_add(&t->quality->spreads[metric], value, t->file->path);
	t->row->values[metric] = value;
}

/* NULL: the file has no luma plane. */
static const double *luma_reference(struct trial *t,
				    const struct img_plane *luma,
				    const struct img_view *view)
{
	struct known *k = known_of(t, luma->width, luma->height);

	if (k->luma != NULL)
		return k->luma;
	floor_decode(&t->full, t->file->bytes, t->file->size_bytes, 8);
	if (t->full.has_luma)
		k->luma = reference_scale(&t->full.planes[0], view, luma,
					  t->transform.filter, NULL);
	return k->luma;
}

/*
 * Compare `luma`, the luma plane of a result, with the reference: a full decode
 * and a slow, exact resize.
 */
static void compare_resize(struct trial *t, const struct img_plane *luma,
			   const struct img_view *view)
{
	uint32_t width = luma->width, height = luma->height;
	const double *reference = luma_reference(t, luma, view);
	double *values;

	if (reference == NULL) {
		skip_file(t, "not Y'CbCr: no reference");
		return;
	}
	values = plane_values(luma);
	if (width < SSIM_WINDOW || height < SSIM_WINDOW)
		skip_file(t, "too small for SSIM");
	else
		add_value(t, METRIC_SSIM,
			  ssim(values, reference, width, height));
	add_value(t, METRIC_PSNR, plane_likeness(luma, reference).psnr_db);
	free(values);
}

static void compare_scale(struct trial *t, const struct run *r,
			  const struct image *dst, const struct image *src)
{
	double worst = 0;

	/*
	 * If the colour space differs, samples were converted, and cannot be
	 * compared.
	 */
	if (src->space != dst->space)
		return;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &dst->planes[i];
		double *reference =
			reference_scale(&src->planes[i], &r->view, p,
					t->transform.filter, NULL);

		worst = fmax(worst, plane_likeness(p, reference).worst_levels);
		free(reference);
	}
	add_value(t, METRIC_LEVELS, worst);
}

static void compare_blur(struct trial *t, const struct image *dst,
			 const struct image *src)
{
	double sigma = t->transform.blur_sigma_px, worst = INFINITY;

	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		double *reference = reference_blur(
			p, sigma * p->span_x / src->planes[0].span_x);

		worst = fmin(
			worst,
			plane_likeness(&dst->planes[i], reference).psnr_db);
		free(reference);
	}
	add_value(t, METRIC_BLUR, worst);
}

static void compare_encoded(struct trial *t, const struct run *r,
			    const struct image *src)
{
	double worst = INFINITY;

	floor_decode(&t->back, r->jpeg, r->jpeg_bytes, 8);
	assert(t->back.plane_count == src->plane_count);
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p = &src->planes[i];
		const struct img_plane *back = &t->back.planes[i];
		double *values = plane_values(p);

		assert(back->width == p->width && back->height == p->height);
		worst = fmin(worst, plane_likeness(back, values).psnr_db);
		free(values);
	}
	add_value(t, METRIC_ENCODED, worst);
	if (src->planes[0].width >= SSIMULACRA2_SIDE_MIN &&
	    src->planes[0].height >= SSIMULACRA2_SIDE_MIN) {
		struct image back = { .plane_count = src->plane_count,
				      .space = src->space,
				      .block = t->back.samples };

		memcpy(back.planes, t->back.planes, sizeof(back.planes));
		add_value(t, METRIC_LOSS, image_score(src, &back));
	}
}

/* A run_watch_fn. */
static void compare_step(void *arg, const struct run *r,
			 const struct image *dst, const struct image *src)
{
	struct trial *t = arg;

	if (r->step == STEP_SCALE) {
		compare_scale(t, r, dst, src);
		compare_resize(t, &dst->planes[0], &r->view);
	} else if (r->step == STEP_BLUR) {
		compare_blur(t, dst, src);
	} else if (r->step == STEP_ENCODE) {
		compare_encoded(t, r, src);
	}
}

/* By enum rgb_light.  NULL: the file has no RGB. */
static const struct rgb *rgb_references(struct trial *t, uint32_t width,
					uint32_t height,
					const struct img_view *view)
{
	struct known *k = known_of(t, width, height);
	struct rgb full;

	if (k->rgb[RGB_GAMMA].samples != NULL)
		return k->rgb;
	if (!rgb_decode(&full, t->file->bytes, t->file->size_bytes))
		return NULL;
	for (int i = RGB_GAMMA; i <= RGB_LINEAR; i++)
		k->rgb[i] = rgb_scale(&full, view, width, height,
				      t->transform.filter, i);
	rgb_release(&full);
	return k->rgb;
}

/* Compare colours, too: SSIMULACRA2. */
static void score_colours(struct trial *t, const struct file *result,
			  const struct img_view *view)
{
	const struct rgb *references;
	struct rgb got;
	uint32_t width, height;

	if (!rgb_decode(&got, result->bytes, result->size_bytes)) {
		skip_file(t, "its result has no RGB");
		return;
	}
	width = got.planes[0].width;
	height = got.planes[0].height;
	if (width < SSIMULACRA2_SIDE_MIN || height < SSIMULACRA2_SIDE_MIN) {
		skip_file(t, "too small for SSIMULACRA2");
		rgb_release(&got);
		return;
	}
	references = rgb_references(t, width, height, view);
	if (references == NULL)
		skip_file(t, "no RGB: no reference");
	for (int i = RGB_GAMMA; references != NULL && i <= RGB_LINEAR; i++)
		add_value(t, METRIC_GAMMA + (enum metric)i,
			  rgb_score(&references[i], &got));
	rgb_release(&got);
}

static bool is_near(uint32_t a, uint32_t b)
{
	return a <= b + 1 && b <= a + 1;
}

/* The sides may differ by rounding if another program made the result. */
static void score_file(struct trial *t, const struct img_view *view)
{
	const struct img_plane *luma = &t->back.planes[0];
	struct img_header header;
	struct file result;
	struct error error;
	enum img_err err;

	if (!file_read(&result, t->options->score, t->file->path, &error)) {
		skip_file(t, "no result that can be read");
		return;
	}
	err = img_probe(&header, result.bytes, result.size_bytes, &run_limits);
	if (err == IMG_OK)
		floor_decode(&t->back, result.bytes, result.size_bytes, 8);
	t->row->result_bytes = result.size_bytes;
	if (err != IMG_OK || !t->back.has_luma) {
		skip_file(t, "its result is no Y'CbCr JPEG");
	} else if (!is_near(luma->width, view->size.width_px) ||
		   !is_near(luma->height, view->size.height_px)) {
		skip_file(t, "its result has another size");
	} else {
		compare_resize(t, luma, view);
		score_colours(t, &result, view);
	}
	file_release(&result);
}

struct quality quality_run(const struct folder *folder,
			   const struct bench_options *o,
			   const struct memory *memory)
{
	bool is_watched = isatty(STDERR_FILENO);
	struct quality q = { 0 };
	struct trial t = { .quality = &q,
			   .options = o,
			   .transform = o->transform };
	struct run_job job = { .transform = &t.transform,
			       .memory = memory,
			       .margin = o->margin,
			       .watch = o->score == NULL ? compare_step : NULL,
			       .arg = &t };

	t.transform.keep_profile = true;
	for (int i = 0; i < METRIC_COUNT; i++)
		spread_init(&q.spreads[i], folder->count);
	/*
	 * Each file may be skipped twice: its resize cannot be compared, and
	 * then a later step fails.
	 */
	q.skipped = must_alloc(folder->count, 2 * sizeof(*q.skipped));
	q.rows = must_alloc(folder->count, sizeof(*q.rows));
	q.row_count = folder->count;
	for (size_t i = 0; i < folder->count; i++) {
		struct run r;

		t.file = &folder->files[i];
		t.row = &q.rows[i];
		t.row->path = t.file->path;
		for (int m = 0; m < METRIC_COUNT; m++)
			t.row->values[m] = NAN;
		r = run_file(t.file, &job);
		run_release(&r, &job);
		if (is_watched)
			fprintf(stderr, "\r%zu of %zu\r", i + 1, folder->count);
		if (r.err != IMG_OK)
			skip_file(&t, img_strerror(r.err));
		else if (o->score != NULL)
			score_file(&t, &r.view);
	}
	for (int i = 0; i < METRIC_COUNT; i++)
		spread_finish(&q.spreads[i]);
	floor_release(&t.full);
	floor_release(&t.back);
	known_release(&t.known);
	return q;
}

void quality_release(struct quality *q)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		spread_release(&q->spreads[i]);
	free(q->skipped);
	free(q->rows);
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
	[METRIC_LOSS] = { "encode_ssimulacra2", "encode, SSIMULACRA2",
			  -INFINITY, false },
	[METRIC_GAMMA] = { "ssimulacra2_gamma", "SSIMULACRA2, gamma", -INFINITY,
			   false },
	[METRIC_LINEAR] = { "ssimulacra2_linear", "SSIMULACRA2, linear",
			    -INFINITY, false },
};

/*
 * The median, the 10th percentile counted from the worst, and the worst file.
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
		.median = spread_quantile(v, 0.5),
		.p10 = spread_quantile(v, is_error ? 0.9 : 0.1),
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

static void add_row(struct json *j, const struct quality_row *r)
{
	json_open_object(j, NULL);
	json_add_text(j, "path", r->path);
	if (r->result_bytes > 0)
		json_add_whole(j, "result_bytes", r->result_bytes);
	for (enum metric m = 0; m < METRIC_COUNT; m++)
		if (!isnan(r->values[m]))
			json_add_number(j, metrics[m].name, r->values[m]);
	json_close(j);
}

void quality_write_json(FILE *out, const struct quality *q, bool per_file)
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
		json_add_whole(&j, "files", q->spreads[m].count);
		json_add_number(&j, "median", s.median);
		json_add_number(&j, "p10", s.p10);
		json_add_number(&j, "worst", s.worst);
		json_add_text(&j, "worst_path", s.worst_path);
		json_close(&j);
	}
	json_add_whole(&j, "not_compared", q->skipped_count);
	if (per_file) {
		json_open_array(&j, "per_file");
		for (size_t i = 0; i < q->row_count; i++)
			add_row(&j, &q->rows[i]);
		json_close(&j);
	}
	json_close(&j);
	fputc('\n', out);
}
