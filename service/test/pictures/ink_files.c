/* SPDX-License-Identifier: MIT */
/*
 * For test_inks.sh: makes JPEGs in the colours of printing inks, and measures
 * how different two pictures are.
 *
 * usage: ink_files write DIR     CMYK and YCCK, with and without an Adobe
 *                                marker (-none) and a profile (-icc); srgb.icc
 *        ink_files compare A B   the mean difference of two P6 files, 0 .. 255
 */
#include "imgops/test/profiles.h"

#include "base/test/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 96, HEIGHT = 64 };

static void write_file(const char *dir, const char *name, const uint8_t *data,
		       size_t bytes)
{
	char path[4096];
	FILE *to;
	bool ok;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	to = fopen(path, "wb");
	CHECK(to != NULL);
	ok = fwrite(data, 1, bytes, to) == bytes;
	ok = fclose(to) == 0 && ok;
	CHECK(ok);
}

/* A mostly light picture, which is very different from its negative. */
static double bright(uint32_t component, double x, double y)
{
	return fmin(255, 60 + 0.55 * waves(component, x, y) +
				 (component == 3 ? 100 : 40));
}

static void write_files(const char *dir)
{
	struct bytes cmyk = profile_cmyk();
	struct bytes srgb = profile_rgb(&gamuts[SRGB], CURVE_SRGB, 0);

	for (int i = 0; i < 4; i++) {
		const char *space = i < 2 ? "cmyk" : "ycck";
		const char *marker = i % 2 == 0 ? "adobe" : "none";
		struct bytes profiled,
			jpeg = jpeg_make(&(struct jpeg_spec){
				.width = WIDTH,
				.height = HEIGHT,
				.picture = bright,
				.space = i < 2 ? JCS_CMYK : JCS_YCCK,
				.no_adobe = i % 2 != 0,
			});
		char name[32];

		(void)snprintf(name, sizeof(name), "%s-%s.jpg", space, marker);
		write_file(dir, name, jpeg.data, jpeg.count);
		(void)snprintf(name, sizeof(name), "%s-%s-icc.jpg", space,
			       marker);
		profiled = jpeg_with_profile(jpeg, cmyk);
		write_file(dir, name, profiled.data, profiled.count);
		free(profiled.data);
		free(jpeg.data);
	}
	write_file(dir, "srgb.icc", srgb.data, srgb.count);
	free(cmyk.data);
	free(srgb.data);
}

/* Read the 8-bit samples of a P6 file; *count is their number. */
static uint8_t *read_ppm(const char *path, size_t *count)
{
	FILE *from = fopen(path, "rb");
	unsigned width, height;
	uint8_t *samples;

	CHECK(from != NULL);
	(void)fscanf(from, "P6%*[ \n]");
	(void)fscanf(from, "#%*[^\n]"); /* libvips leaves a comment */
	if (fscanf(from, "%u %u 255%*1[ \n]", &width, &height) != 2 ||
	    width > 65535 || height > 65535) {
		(void)fprintf(stderr, "%s: not a PPM\n", path);
		exit(2);
	}
	*count = (size_t)width * height * 3;
	samples = malloc(*count);
	CHECK(samples != NULL);
	if (fread(samples, 1, *count, from) != *count)
		exit(2);
	(void)fclose(from);
	return samples;
}

static void compare(const char *a_path, const char *b_path)
{
	size_t a_count, b_count;
	uint8_t *a = read_ppm(a_path, &a_count);
	uint8_t *b = read_ppm(b_path, &b_count);
	double total = 0;

	if (a_count != b_count)
		exit(2);
	for (size_t i = 0; i < a_count; i++)
		total += abs(a[i] - b[i]);
	(void)printf("%.2f\n", total / (double)a_count);
	free(a);
	free(b);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		write_files(argv[2]);
	else if (argc == 4 && strcmp(argv[1], "compare") == 0)
		compare(argv[2], argv[3]);
	else
		return 2;
	return 0;
}
