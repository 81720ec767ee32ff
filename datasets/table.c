/* SPDX-License-Identifier: MIT */
#include "datasets/table.h"

#include "datasets/memory.h"
#include "datasets/quantiles.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* As inspect() calls them. */
static const char *const samplings[TABLE_SAMPLINGS] = { "grey",  "4:2:0",
							"4:2:2", "4:4:4",
							"4:4:0", "4:1:1" };

void table_add(struct table *t, uint64_t size_bytes, const struct facts *facts)
{
	t->sizes =
		memory_resize(t->sizes, t->file_count + 1, sizeof(*t->sizes));
	t->sizes[t->file_count++] = size_bytes;
	if (facts == NULL)
		return;
	t->pixels =
		memory_resize(t->pixels, t->jpeg_count + 1, sizeof(*t->pixels));
	t->pixels[t->jpeg_count++] = (uint64_t)facts->width * facts->height;
	t->progressive += facts->progressive;
	for (int i = 0; i < TABLE_SAMPLINGS; i++)
		t->samplings[i] += strcmp(facts->sampling, samplings[i]) == 0;
	t->turned += facts->orientation > 1;
	t->exif += facts->exif;
	t->thumbnail += facts->thumbnail;
	t->icc += facts->icc_bytes > 0;
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

void table_print(struct table *t, FILE *out)
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

void table_release(struct table *t)
{
	free(t->sizes);
	free(t->pixels);
	*t = (struct table){ 0 };
}
