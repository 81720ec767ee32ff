/* SPDX-License-Identifier: MIT */
#include "imgops/bench/report.h"

#include "base/json.h"
#include "base/quantiles.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void spread_init(struct spread *s, size_t count_max)
{
	*s = (struct spread){
		.values = must_alloc(count_max + 1, sizeof(*s->values)),
	};
}

void spread_release(struct spread *s)
{
	free(s->values);
	*s = (struct spread){ 0 };
}

void spread_add(struct spread *s, double value, const char *path)
{
	if (s->count == 0 || value < s->least) {
		s->least = value;
		s->least_path = path;
	}
	if (s->count == 0 || value >= s->most) {
		s->most = value;
		s->most_path = path;
	}
	s->values[s->count++] = value;
}

void spread_finish(struct spread *s)
{
	quantiles_sort(s->values, s->count);
}

double spread_quantile(const struct spread *s, double share)
{
	return quantile_between(s->values, s->count, share);
}

/*
 * How the estimates of img_cost() differ from the measurements, over accepted
 * files.
 */
struct estimate_errors {
	/*
	 * CPU time, estimate / measured, in median: how much faster the machine
	 * of the estimates is.
	 */
	double cpu_factor;
	/*
	 * How far x = estimate / measured / factor is from 1, in either
	 * direction: the greater of x and 1/x, minus 1.
	 */
	struct spread cpu;
	struct spread memory;    /* estimate / measured peak */
	size_t memory_low_count; /* files that took more than the estimate */
};

/* CPU time of an accepted file, estimate / measured. */
static double cpu_ratio(const struct measure *m, const struct row *row)
{
	double cpu_s = 0;

	for (int s = 0; s < STEP_COUNT; s++)
		cpu_s += row->cpu_s[s];
	return (double)row->first.cost.cpu_ns / 1e9 * (double)m->passes / cpu_s;
}

static double median_cpu_ratio(const struct measure *m)
{
	struct spread of_files;
	double median = 1;

	spread_init(&of_files, m->row_count);
	for (size_t i = 0; i < m->row_count; i++) {
		const struct row *row = &m->rows[i];

		if (row->first.err == IMG_OK)
			spread_add(&of_files, cpu_ratio(m, row),
				   row->file->path);
	}
	spread_finish(&of_files);
	if (of_files.count > 0)
		median = spread_quantile(&of_files, 0.5);
	spread_release(&of_files);
	return median;
}

static void estimate_errors_init(struct estimate_errors *e,
				 const struct measure *m)
{
	*e = (struct estimate_errors){ .cpu_factor = median_cpu_ratio(m) };
	spread_init(&e->cpu, m->row_count);
	spread_init(&e->memory, m->row_count);
	for (size_t i = 0; i < m->row_count; i++) {
		const struct row *row = &m->rows[i];
		const struct img_cost *cost = &row->first.cost;

		if (row->first.err != IMG_OK)
			continue;
		double cpu = cpu_ratio(m, row) / e->cpu_factor;

		spread_add(&e->cpu, fmax(cpu, 1 / cpu) - 1, row->file->path);
		spread_add(&e->memory,
			   (double)cost->bytes / (double)row->peak_bytes,
			   row->file->path);
		e->memory_low_count += cost->bytes < row->peak_bytes;
	}
	spread_finish(&e->cpu);
	spread_finish(&e->memory);
}

static void estimate_errors_release(struct estimate_errors *e)
{
	spread_release(&e->cpu);
	spread_release(&e->memory);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* The number of images in all measured passes. */
static double run_count(const struct measure *m, const struct total *t)
{
	return (double)(t->images * m->passes);
}

/* Megabytes of files read per second of CPU time. */
static double mb_in_rate(const struct measure *m, const struct total *t,
			 double cpu_s)
{
	return ratio((double)(t->bytes_in * m->passes), cpu_s) / 1e6;
}

static void print_costs(FILE *out, const struct measure *m, const char *title,
			const struct total *t, const double *cpu_s, double all)
{
	double n = run_count(m, t);

	fprintf(out, "%-12s %6" PRIu64 " %9.1f %8.1f", title, t->images,
		ratio(n, all), mb_in_rate(m, t, all));
	for (int s = 0; s < STEP_COUNT; s++)
		fprintf(out, " %8.3f", ratio(cpu_s[s], n) * 1e3);
	fprintf(out, " %8.3f\n", ratio(all, n) * 1e3);
}

static void print_table(FILE *out, const struct measure *m)
{
	fprintf(out,
		"%-12s %6s %9s %8s   ms of CPU per image\n%-12s %6s %9s "
		"%8s",
		"", "", "images/", "MB/s", "", "images", "CPU-s", "in");
	for (int s = 0; s < STEP_COUNT; s++)
		fprintf(out, " %8s", step_names[s]);
	fprintf(out, " %8s\n", "all");
	for (enum kind k = 0; k < KIND_COUNT; k++) {
		struct total t = measure_total(m, k);

		if (t.images == 0 && k != KIND_ALL)
			continue;
		print_costs(out, m, kind_names[k], &t, t.cpu_s, t.cpu_s_all);
		if (m->has_floor)
			print_costs(out, m, "  floor", &t, t.floor_s,
				    t.floor_s_all);
	}
	fprintf(out, "\n");
	for (enum kind k = 0; m->has_floor && k < KIND_COUNT; k++) {
		struct total t = measure_total(m, k);

		if (t.images > 0)
			fprintf(out,
				"pipeline / floor, %-11s %.3f of its CPU "
				"time\n",
				kind_names[k],
				ratio(t.cpu_s_all, t.floor_s_all));
	}
}

static const struct row *peak_row(const struct measure *m)
{
	const struct row *peak = &m->rows[0];

	for (size_t i = 1; i < m->row_count; i++)
		if (m->rows[i].peak_bytes > peak->peak_bytes)
			peak = &m->rows[i];
	return peak;
}

static double faults_per_image(const struct measure *m, const struct total *all)
{
	return ratio((double)m->minor_faults, run_count(m, all));
}

static void print_memory(FILE *out, const struct measure *m,
			 const struct total *all)
{
	const struct row *peak = peak_row(m);
	uint64_t allocs = 0;

	for (size_t i = 0; i < m->row_count; i++)
		if (m->rows[i].first.err == IMG_OK)
			allocs += m->rows[i].alloc_count;
	fprintf(out, "minor page faults     %.2f per image\n",
		faults_per_image(m, all));
	fprintf(out, "blocks of memory      %.1f per image\n",
		ratio((double)allocs, (double)all->images));
	fprintf(out, "peak working memory   %.1f MiB (%s)\n",
		mib(peak->peak_bytes), peak->file->path);
	fprintf(out, "max RSS               %.1f MiB, with all files\n",
		mib(m->rss_max_bytes));
	fprintf(out, "bytes out             %" PRIu64 " in one pass\n",
		all->bytes_out);
}

static void print_estimates(FILE *out, const struct measure *m)
{
	struct estimate_errors e;

	estimate_errors_init(&e, m);
	if (e.cpu.count > 0) {
		fprintf(out,
			"estimated CPU time    %.3f times the measured time "
			"(median); after dividing by this, the error is %.1f "
			"%% in median, p90 %.1f %%, at most %.1f %% (%s)\n",
			e.cpu_factor, 100 * spread_quantile(&e.cpu, 0.5),
			100 * spread_quantile(&e.cpu, 0.9), 100 * e.cpu.most,
			e.cpu.most_path);
		fprintf(out,
			"estimated memory      %.3f of the peak in median, "
			"least %.3f (%s), most %.3f (%s); too low for %zu "
			"files\n",
			spread_quantile(&e.memory, 0.5), e.memory.least,
			e.memory.least_path, e.memory.most, e.memory.most_path,
			e.memory_low_count);
	}
	estimate_errors_release(&e);
}

static void print_passes(FILE *out, const struct measure *m,
			 const struct total *all)
{
	fprintf(out, "each pass             ");
	for (uint64_t i = 0; i < m->passes; i++)
		fprintf(out, "%s%.1f", i == 0 ? "" : ", ",
			ratio((double)all->images, m->pass_cpu_s[i]));
	fprintf(out, " images per CPU-second\n");
}

static void print_refused(FILE *out, const struct measure *m,
			  const struct total *all)
{
	fprintf(out, "refused               %" PRIu64 " of %zu\n",
		(uint64_t)m->row_count - all->images, m->row_count);
	for (size_t i = 0; i < m->row_count; i++) {
		const struct run *r = &m->rows[i].first;

		if (r->err != IMG_OK)
			fprintf(out, "  %s: %s: %s\n", m->rows[i].file->path,
				step_names[r->step], img_strerror(r->err));
	}
}

void report_print(FILE *out, const struct measure *m,
		  const struct bench_options *o)
{
	const struct img_transform *t = &o->transform;
	struct total all = measure_total(m, KIND_ALL);

	if (m->passes == 0) {
		print_refused(out, m, &all);
		return;
	}
	fprintf(out,
		"%s: %zu files, box %" PRIu32 " x %" PRIu32
		", blur %g, quality %d; %" PRIu64 " passes on CPU %d\n\n",
		o->dataset, m->row_count, t->box.width_px, t->box.height_px,
		t->blur_sigma_px, t->quality, m->passes, m->cpu);
	print_table(out, m);
	print_memory(out, m, &all);
	if (o->margin == 1)
		print_estimates(out, m);
	print_passes(out, m, &all);
	print_refused(out, m, &all);
}

static void add_steps(struct json *j, const char *name, const double *cpu_s,
		      double count)
{
	double all = 0;

	json_open_object(j, name);
	for (int s = 0; s < STEP_COUNT; s++) {
		all += cpu_s[s];
		json_add_number(j, step_names[s], ratio(cpu_s[s], count) * 1e3);
	}
	json_add_number(j, "all", ratio(all, count) * 1e3);
	json_close(j);
}

static void add_total(struct json *j, const struct measure *m, enum kind kind)
{
	struct total t = measure_total(m, kind);
	double n = run_count(m, &t);

	json_open_object(j, kind_names[kind]);
	json_add_whole(j, "images", t.images);
	json_add_number(j, "images_per_cpu_s", ratio(n, t.cpu_s_all));
	json_add_number(j, "mb_in_per_cpu_s", mb_in_rate(m, &t, t.cpu_s_all));
	json_add_whole(j, "bytes_in", t.bytes_in);
	json_add_whole(j, "bytes_out", t.bytes_out);
	add_steps(j, "ms_per_image", t.cpu_s, n);
	if (m->has_floor) {
		add_steps(j, "floor_ms_per_image", t.floor_s, n);
		json_add_number(j, "pipeline_over_floor",
				ratio(t.cpu_s_all, t.floor_s_all));
	}
	json_close(j);
}

static void add_estimates(struct json *j, const struct measure *m)
{
	struct estimate_errors e;

	estimate_errors_init(&e, m);
	if (e.cpu.count > 0) {
		json_open_object(j, "forecast");
		json_add_number(j, "cpu_factor", e.cpu_factor);
		json_add_number(j, "cpu_error_median",
				spread_quantile(&e.cpu, 0.5));
		json_add_number(j, "cpu_error_p90",
				spread_quantile(&e.cpu, 0.9));
		json_add_number(j, "cpu_error_worst", e.cpu.most);
		json_add_text(j, "cpu_error_worst_path", e.cpu.most_path);
		json_add_number(j, "memory_least", e.memory.least);
		json_add_number(j, "memory_median",
				spread_quantile(&e.memory, 0.5));
		json_add_number(j, "memory_most", e.memory.most);
		json_add_text(j, "memory_most_path", e.memory.most_path);
		json_add_whole(j, "memory_low_count", e.memory_low_count);
		json_close(j);
	}
	estimate_errors_release(&e);
}

static void add_file(struct json *j, const struct measure *m,
		     const struct row *row)
{
	const struct run *r = &row->first;
	const struct img_cost *cost = &r->cost;
	const double foretold_s[STEP_COUNT] = {
		[STEP_DECODE] = (double)cost->decode_ns / 1e9,
		[STEP_SCALE] = (double)cost->scale_ns / 1e9,
		[STEP_BLUR] = (double)cost->blur_ns / 1e9,
		[STEP_ENCODE] = (double)cost->encode_ns / 1e9,
	};

	json_open_object(j, NULL);
	json_add_text(j, "path", row->file->path);
	json_add_whole(j, "bytes_in", row->file->size_bytes);
	if (r->err != IMG_OK) {
		json_add_text(j, "refused_by", step_names[r->step]);
		json_add_text(j, "error", img_strerror(r->err));
		json_close(j);
		return;
	}
	json_add_whole(j, "width_px", r->header.stored.width_px);
	json_add_whole(j, "height_px", r->header.stored.height_px);
	json_add_bool(j, "progressive", r->header.is_progressive);
	json_add_whole(j, "eighths", r->dct_scale);
	json_add_whole(j, "result_width_px", r->view.size.width_px);
	json_add_whole(j, "result_height_px", r->view.size.height_px);
	json_add_whole(j, "bytes_out", r->jpeg_bytes);
	json_add_whole(j, "peak_bytes", row->peak_bytes);
	add_steps(j, "foretold_ms", foretold_s, 1);
	json_add_whole(j, "foretold_bytes", r->cost.bytes);
	json_add_whole(j, "blocks", row->alloc_count);
	add_steps(j, "ms", row->cpu_s, (double)m->passes);
	if (m->has_floor)
		add_steps(j, "floor_ms", row->floor_s, (double)m->passes);
	json_close(j);
}

void report_write_json(FILE *out, const struct measure *m,
		       const struct bench_options *o)
{
	const struct img_transform *t = &o->transform;
	struct total all = measure_total(m, KIND_ALL);
	struct json j;

	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	json_add_text(&j, "dataset", o->dataset);
	json_add_whole(&j, "width_px", t->box.width_px);
	json_add_whole(&j, "height_px", t->box.height_px);
	json_add_number(&j, "blur_sigma_px", t->blur_sigma_px);
	json_add_number(&j, "quality", t->quality);
	json_add_number(&j, "margin", o->margin);
	json_add_whole(&j, "passes", m->passes);
	json_add_whole(&j, "files", m->row_count);
	for (enum kind k = 0; k < KIND_COUNT; k++)
		add_total(&j, m, k);
	json_add_number(&j, "minor_faults_per_image",
			faults_per_image(m, &all));
	json_add_whole(&j, "peak_bytes", peak_row(m)->peak_bytes);
	if (o->margin == 1)
		add_estimates(&j, m);
	json_add_whole(&j, "rss_max_bytes", m->rss_max_bytes);
	json_add_whole(&j, "refused", m->row_count - all.images);
	if (o->per_file) {
		json_open_array(&j, "per_file");
		for (size_t i = 0; i < m->row_count; i++)
			add_file(&j, m, &m->rows[i]);
		json_close(&j);
	}
	json_close(&j);
	fputc('\n', out);
}
