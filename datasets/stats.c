/* SPDX-License-Identifier: MIT */
/*
 * stats: prints the sizes and kinds of the files in any folder, in the form of
 * table 4.1 of Gordon's thesis (UCAM-CL-TR-781).
 */
#include "base/file.h"
#include "base/folder.h"
#include "base/options.h"
#include "base/quantiles.h"
#include "datasets/jpeg.h"
#include "datasets/xalloc.h"

#include "version.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_SAMPLINGS = 6 };

struct table {
	double *sizes;  /* in bytes, of all files */
	double *pixels; /* of the JPEGs among them */
	uint64_t file_count;
	uint64_t jpeg_count;
	uint64_t progressive;
	uint64_t samplings[TABLE_SAMPLINGS];
	uint64_t turned; /* orientation 2 to 8 */
	uint64_t exif;
	uint64_t thumbnail;
	uint64_t icc;
};

struct size_summary {
	uint64_t count;
	uint64_t total;
	uint64_t min;
	uint64_t max;
	double mean;
	uint64_t median; /* percentiles are by nearest rank */
	uint64_t p90;
	uint64_t p99;
};

/* The names that jpeg_inspect() gives. */
static const char *const samplings[TABLE_SAMPLINGS] = { "grey",  "4:2:0",
							"4:2:2", "4:4:4",
							"4:4:0", "4:1:1" };

/* Count a file; `facts` is NULL if it is not a JPEG. */
static void table_add(struct table *t, uint64_t size_bytes,
		      const struct jpeg_facts *facts)
{
	t->sizes =
		xreallocarray(t->sizes, t->file_count + 1, sizeof(*t->sizes));
	t->sizes[t->file_count++] = (double)size_bytes;
	if (facts == NULL)
		return;
	t->pixels =
		xreallocarray(t->pixels, t->jpeg_count + 1, sizeof(*t->pixels));
	t->pixels[t->jpeg_count++] = (double)facts->width * facts->height;
	t->progressive += facts->progressive;
	for (int i = 0; i < TABLE_SAMPLINGS; i++)
		t->samplings[i] += strcmp(facts->sampling, samplings[i]) == 0;
	t->turned += facts->orientation > 1;
	t->exif += facts->exif;
	t->thumbnail += facts->thumbnail;
	t->icc += facts->icc_bytes > 0;
}

/* Summarise `count` >= 1 sizes, which are sorted in place. */
static struct size_summary sizes_summarise(double *sizes, uint64_t count)
{
	double total = 0;

	assert(count >= 1);
	quantiles_sort(sizes, count);
	for (uint64_t i = 0; i < count; i++)
		total += sizes[i];
	return (struct size_summary){
		.count = count,
		.total = (uint64_t)total,
		.min = (uint64_t)sizes[0],
		.max = (uint64_t)sizes[count - 1],
		.mean = total / (double)count,
		.median = (uint64_t)quantile_nearest(sizes, count, 0.5),
		.p90 = (uint64_t)quantile_nearest(sizes, count, 0.9),
		.p99 = (uint64_t)quantile_nearest(sizes, count, 0.99),
	};
}

/* In the thesis's units: bytes, kilobytes, megabytes, of 1000. */
static const char *name_size(char *text, size_t room, double bytes)
{
	if (bytes < 1000)
		snprintf(text, room, "%.0f bytes", bytes);
	else if (bytes < 1e6)
		snprintf(text, room, "%.1f kilobytes", bytes / 1e3);
	else
		snprintf(text, room, "%.2f megabytes", bytes / 1e6);
	return text;
}

static void print_size(FILE *out, const char *name, double bytes,
		       const char *thesis)
{
	char text[32];

	fprintf(out, "%-16s %18s %18s\n", name,
		name_size(text, sizeof(text), bytes), thesis);
}

static void print_pixels(FILE *out, const char *name, double pixels)
{
	fprintf(out, "%-16s %18.3f\n", name, pixels / 1e6);
}

static void print_share(FILE *out, const struct table *t, const char *name,
			uint64_t count)
{
	fprintf(out, "%-16s %10" PRIu64 " %5.1f %%\n", name, count,
		100.0 * (double)count / (double)t->jpeg_count);
}

static void print_jpegs(const struct table *t, FILE *out)
{
	struct size_summary s = sizes_summarise(t->pixels, t->jpeg_count);

	fprintf(out, "\nMegapixels\n");
	print_pixels(out, "Minimum", (double)s.min);
	print_pixels(out, "Maximum", (double)s.max);
	print_pixels(out, "Mean", s.mean);
	print_pixels(out, "Median", (double)s.median);
	print_pixels(out, "90th percentile", (double)s.p90);
	fprintf(out, "\nOf %" PRIu64 " JPEGs\n", t->jpeg_count);
	print_share(out, t, "Progressive", t->progressive);
	for (int i = 0; i < TABLE_SAMPLINGS; i++)
		if (t->samplings[i] > 0)
			print_share(out, t, samplings[i], t->samplings[i]);
	print_share(out, t, "EXIF", t->exif);
	print_share(out, t, "  turned", t->turned);
	print_share(out, t, "  thumbnail", t->thumbnail);
	print_share(out, t, "ICC profile", t->icc);
}

/*
 * Print figures of the counted files, of which there is at least one, beside
 * those of the thesis.
 */
static void table_print(struct table *t, FILE *out)
{
	struct size_summary s;

	assert(t->file_count > 0);
	s = sizes_summarise(t->sizes, t->file_count);
	fprintf(out, "%-16s %18s %18s\n", "", "this set", "thesis, 4.1");
	fprintf(out, "%-16s %18" PRIu64 " %18s\n", "Files", s.count, "4697");
	print_size(out, "Total", (double)s.total, "947 megabytes");
	print_size(out, "Minimum", (double)s.min, "398 bytes");
	print_size(out, "Maximum", (double)s.max, "4.2 megabytes");
	print_size(out, "Mean", s.mean, "204.4 kilobytes");
	print_size(out, "Median", (double)s.median, "37.2 kilobytes");
	print_size(out, "90th percentile", (double)s.p90, "623.2 kilobytes");
	print_size(out, "99th percentile", (double)s.p99, "-");
	if (t->jpeg_count > 0)
		print_jpegs(t, out);
	if (t->jpeg_count < t->file_count)
		fprintf(out, "\n%" PRIu64 " files are no JPEGs\n",
			t->file_count - t->jpeg_count);
}

static void table_release(struct table *t)
{
	free(t->sizes);
	free(t->pixels);
	*t = (struct table){ 0 };
}

static bool count_file(struct table *table, const char *path)
{
	const char *why;
	size_t size_bytes;
	char *bytes = file_read_bytes(path, SIZE_MAX / 4, &size_bytes, &why);
	struct jpeg_facts facts;
	bool is_jpeg;

	if (bytes == NULL) {
		fprintf(stderr, "stats: %s: %s\n", path, why);
		return false;
	}
	is_jpeg = jpeg_inspect(&facts, (const uint8_t *)bytes, size_bytes);
	table_add(table, size_bytes, is_jpeg ? &facts : NULL);
	free(bytes);
	return true;
}

struct stats_options {
	const char *dir;
	struct flags_asked asked;
};

static const struct flag flags[] = {
	FLAGS_ASKED(struct stats_options, asked),
	{ 0 },
};

static const struct flag_group groups[] = { { .flags = flags }, { 0 } };

static const struct program stats_program = {
	.name = "stats",
	.summary = "sizes and kinds of the JPEGs in a folder",
	.usage = "DIR",
	.about = "Print the sizes of the *.jpg and *.jpeg files below DIR, as "
		 "in table 4.1 of UCAM-CL-TR-781, and what their headers say.",
	.groups = groups,
	.exit_status = "0 good, 1 a file cannot be read or there is none, 2 "
		       "wrong usage.",
	.see_also = "mkset(1)",
	.operand = "DIR",
};

/* A flag_take_fn: stats has one operand and no flags of its own. */
static bool take_operand(void *options, const struct flag *f, const char *value,
			 struct error *why)
{
	struct stats_options *o = options;

	if (f != NULL)
		return flag_set(f, value, o, why);
	if (o->dir != NULL)
		return error_fail(why, "'%s': one folder is enough", value);
	o->dir = value;
	return true;
}

static int fail(int status, const struct error *error)
{
	fprintf(stderr, "stats: %s\n", error->text);
	return status;
}

int main(int argc, char **argv)
{
	struct stats_options options = { 0 };
	struct folder_list folder = { 0 };
	struct table table = { 0 };
	struct error error;
	bool all_read = true;

	file_fill_standard();
	flags_init(flags, &options);
	if (!flags_read(&stats_program, argv + 1, (uint32_t)argc - 1,
			take_operand, &options, &error))
		return fail(2, &error);
	if (program_answer(&stats_program, &options.asked, DARKROOM_COMMIT,
			   stdout))
		return program_finish(&stats_program, 0);
	if (options.dir == NULL) {
		error_set(&error, "DIR is missing; see --help");
		return fail(2, &error);
	}
	if (!folder_list_read(&folder, options.dir, FOLDER_JPEGS, NULL, &error))
		return fail(1, &error);
	for (size_t i = 0; i < folder.count; i++)
		all_read = count_file(&table, folder.files[i].path) && all_read;
	if (table.file_count == 0) {
		error_set(&error, "no JPEGs in %s", options.dir);
		return fail(1, &error);
	}
	table_print(&table, stdout);
	table_release(&table);
	folder_list_release(&folder);
	return program_finish(&stats_program, all_read ? 0 : 1);
}
