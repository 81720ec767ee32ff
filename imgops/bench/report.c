/* SPDX-License-Identifier: MIT */
#include "imgops/bench/report.h"

#include "imgops/bench/forecast.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

static double over(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

/* Images that went through in all measured passes. */
static double runs(const struct measure *m, const struct total *t)
{
	return (double)(t->images * m->passes);
}

static void print_costs(FILE *out, const struct measure *m, const char *title,
			const struct total *t, const double *cpu_s, double all)
{
	double n = runs(m, t);

	fprintf(out, "%-12s %6" PRIu64 " %9.1f %8.1f", title, t->images,
		over(n, all),
		over((double)(t->bytes_in * m->passes), all) / 1e6);
	for (int s = 0; s < STEP_COUNT; s++)
		fprintf(out, " %8.3f", over(cpu_s[s], n) * 1e3);
	fprintf(out, " %8.3f\n", over(all, n) * 1e3);
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
				over(t.cpu_s_all, t.floor_s_all));
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

static void print_memory(FILE *out, const struct measure *m)
{
	struct total t = measure_total(m, KIND_ALL);
	const struct row *peak = peak_row(m);
	uint64_t allocs = 0;

	for (size_t i = 0; i < m->row_count; i++)
		if (m->rows[i].first.err == IMG_OK)
			allocs += m->rows[i].alloc_count;
	fprintf(out, "minor page faults     %.2f per image\n",
		over((double)m->minor_faults, runs(m, &t)));
	fprintf(out, "blocks of memory      %.1f per image\n",
		over((double)allocs, (double)t.images));
	fprintf(out, "peak working memory   %.1f MiB (%s)\n",
		mib(peak->peak_bytes), peak->file->path);
	fprintf(out, "max RSS               %.1f MiB, with all files\n",
		mib(m->rss_max_bytes));
	fprintf(out, "bytes out             %" PRIu64 " in one pass\n",
		t.bytes_out);
}

static void print_passes(FILE *out, const struct measure *m)
{
	struct total t = measure_total(m, KIND_ALL);

	fprintf(out, "each pass             ");
	for (uint64_t i = 0; i < m->passes; i++)
		fprintf(out, "%s%.1f", i == 0 ? "" : ", ",
			over((double)t.images, m->pass_cpu_s[i]));
	fprintf(out, " images per CPU-second\n");
}

static void print_forecast(FILE *out, const struct measure *m)
{
	struct forecast f;

	if (!forecast_judge(&f, m) || f.count == 0)
		return;
	fprintf(out,
		"foretold CPU time     off by %.1f %% in median, p90 %.1f %%, "
		"at most %.1f %% (%s)\n",
		100 * f.cpu_median, 100 * f.cpu_p90, 100 * f.cpu_worst,
		f.cpu_worst_path);
	fprintf(out,
		"foretold memory       %.3f of the peak in median, least %.3f "
		"(%s), most %.3f (%s); too low for %zu files\n",
		f.memory_median, f.memory_least, f.memory_least_path,
		f.memory_most, f.memory_most_path, f.memory_low_count);
}

static void print_refused(FILE *out, const struct measure *m)
{
	struct total t = measure_total(m, KIND_ALL);

	fprintf(out, "refused               %" PRIu64 " of %zu\n",
		(uint64_t)m->row_count - t.images, m->row_count);
	for (size_t i = 0; i < m->row_count; i++) {
		const struct bare *b = &m->rows[i].first;

		if (b->err != IMG_OK)
			fprintf(out, "  %s: %s: %s\n", m->rows[i].file->path,
				step_names[b->step], img_strerror(b->err));
	}
}

void report_print(FILE *out, const struct measure *m, const struct options *o)
{
	const struct img_recipe *r = &o->recipe;

	fprintf(out,
		"%s: %zu files, box %" PRIu32 " x %" PRIu32
		", blur %g, quality %d; %" PRIu64 " passes on CPU %d\n\n",
		o->dataset, m->row_count, r->box.width_px, r->box.height_px,
		r->blur_sigma_px, r->quality, m->passes, m->cpu);
	print_table(out, m);
	print_memory(out, m);
	if (o->margin == 1)
		print_forecast(out, m);
	print_passes(out, m);
	print_refused(out, m);
}

static void add_steps(cJSON *object, const char *name, const double *cpu_s,
		      double count)
{
	cJSON *steps = cJSON_AddObjectToObject(object, name);
	double all = 0;

	for (int s = 0; s < STEP_COUNT; s++) {
		all += cpu_s[s];
		cJSON_AddNumberToObject(steps, step_names[s],
					over(cpu_s[s], count) * 1e3);
	}
	cJSON_AddNumberToObject(steps, "all", over(all, count) * 1e3);
}

static void add_total(cJSON *object, const struct measure *m, enum kind kind)
{
	struct total t = measure_total(m, kind);
	cJSON *o = cJSON_AddObjectToObject(object, kind_names[kind]);
	double n = runs(m, &t);

	cJSON_AddNumberToObject(o, "images", (double)t.images);
	cJSON_AddNumberToObject(o, "images_per_cpu_s", over(n, t.cpu_s_all));
	cJSON_AddNumberToObject(
		o, "mb_in_per_cpu_s",
		over((double)(t.bytes_in * m->passes), t.cpu_s_all) / 1e6);
	cJSON_AddNumberToObject(o, "bytes_in", (double)t.bytes_in);
	cJSON_AddNumberToObject(o, "bytes_out", (double)t.bytes_out);
	add_steps(o, "ms_per_image", t.cpu_s, n);
	if (m->has_floor) {
		add_steps(o, "floor_ms_per_image", t.floor_s, n);
		cJSON_AddNumberToObject(o, "pipeline_over_floor",
					over(t.cpu_s_all, t.floor_s_all));
	}
}

static void add_forecast(cJSON *object, const struct measure *m)
{
	struct forecast f;
	cJSON *o;

	if (!forecast_judge(&f, m) || f.count == 0)
		return;
	o = cJSON_AddObjectToObject(object, "forecast");
	cJSON_AddNumberToObject(o, "cpu_error_median", f.cpu_median);
	cJSON_AddNumberToObject(o, "cpu_error_p90", f.cpu_p90);
	cJSON_AddNumberToObject(o, "cpu_error_worst", f.cpu_worst);
	cJSON_AddStringToObject(o, "cpu_error_worst_path", f.cpu_worst_path);
	cJSON_AddNumberToObject(o, "memory_least", f.memory_least);
	cJSON_AddNumberToObject(o, "memory_median", f.memory_median);
	cJSON_AddNumberToObject(o, "memory_most", f.memory_most);
	cJSON_AddStringToObject(o, "memory_most_path", f.memory_most_path);
	cJSON_AddNumberToObject(o, "memory_low_count",
				(double)f.memory_low_count);
}

static void add_file(cJSON *array, const struct measure *m,
		     const struct row *row)
{
	const struct bare *b = &row->first;
	cJSON *o = cJSON_CreateObject();

	cJSON_AddItemToArray(array, o);
	cJSON_AddStringToObject(o, "path", row->file->path);
	cJSON_AddNumberToObject(o, "bytes_in", (double)row->file->size_bytes);
	if (b->err != IMG_OK) {
		cJSON_AddStringToObject(o, "refused_by", step_names[b->step]);
		cJSON_AddStringToObject(o, "error", img_strerror(b->err));
		return;
	}
	cJSON_AddNumberToObject(o, "width_px", b->header.stored.width_px);
	cJSON_AddNumberToObject(o, "height_px", b->header.stored.height_px);
	cJSON_AddBoolToObject(o, "progressive", b->header.is_progressive);
	cJSON_AddNumberToObject(o, "eighths", b->eighths);
	cJSON_AddNumberToObject(o, "result_width_px", b->size.width_px);
	cJSON_AddNumberToObject(o, "result_height_px", b->size.height_px);
	cJSON_AddNumberToObject(o, "bytes_out", (double)b->jpeg_bytes);
	cJSON_AddNumberToObject(o, "peak_bytes", (double)row->peak_bytes);
	cJSON_AddNumberToObject(o, "foretold_cpu_ms",
				(double)row->cost.cpu_ns / 1e6);
	cJSON_AddNumberToObject(o, "foretold_bytes", (double)row->cost.bytes);
	cJSON_AddNumberToObject(o, "blocks", (double)row->alloc_count);
	add_steps(o, "ms", row->cpu_s, (double)m->passes);
	if (m->has_floor)
		add_steps(o, "floor_ms", row->floor_s, (double)m->passes);
}

static void add_settings(cJSON *object, const struct options *o,
			 const struct measure *m)
{
	const struct img_recipe *r = &o->recipe;

	cJSON_AddStringToObject(object, "dataset", o->dataset);
	cJSON_AddNumberToObject(object, "width_px", r->box.width_px);
	cJSON_AddNumberToObject(object, "height_px", r->box.height_px);
	cJSON_AddNumberToObject(object, "blur_sigma_px", r->blur_sigma_px);
	cJSON_AddNumberToObject(object, "quality", r->quality);
	cJSON_AddNumberToObject(object, "margin", o->margin);
	cJSON_AddNumberToObject(object, "passes", (double)m->passes);
	cJSON_AddNumberToObject(object, "files", (double)m->row_count);
}

bool report_print_json(FILE *out, cJSON *object)
{
	char *text = cJSON_Print(object);

	cJSON_Delete(object);
	if (text == NULL)
		return false;
	fprintf(out, "%s\n", text);
	cJSON_free(text);
	return fflush(out) == 0 && !ferror(out);
}

bool report_write_json(FILE *out, const struct measure *m,
		       const struct options *o)
{
	cJSON *object = cJSON_CreateObject();
	struct total t = measure_total(m, KIND_ALL);

	add_settings(object, o, m);
	for (enum kind k = 0; k < KIND_COUNT; k++)
		add_total(object, m, k);
	cJSON_AddNumberToObject(object, "minor_faults_per_image",
				over((double)m->minor_faults, runs(m, &t)));
	cJSON_AddNumberToObject(object, "peak_bytes",
				(double)peak_row(m)->peak_bytes);
	if (o->margin == 1)
		add_forecast(object, m);
	cJSON_AddNumberToObject(object, "rss_max_bytes",
				(double)m->rss_max_bytes);
	cJSON_AddNumberToObject(object, "refused",
				(double)(m->row_count - t.images));
	if (o->per_file) {
		cJSON *array = cJSON_AddArrayToObject(object, "per_file");

		for (size_t i = 0; i < m->row_count; i++)
			add_file(array, m, &m->rows[i]);
	}
	return report_print_json(out, object);
}
