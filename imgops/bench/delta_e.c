/* SPDX-License-Identifier: MIT */
/*
 * delta_e A B: how different the colours of two pictures look: the mean of
 * CIEDE2000 over all pixels, and its 95th percentile.
 *
 * Both are PPM or PGM files (P6 or P5) of 8 bits without comments, in sRGB, of
 * one size.  CIEDE2000 is as in Sharma, Wu and Dalal, "The CIEDE2000
 * color-difference formula", 2005; 1 is about what an eye just sees.
 */
#include "base/util.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct picture {
	uint32_t width, height, channels;
	uint8_t *samples;
};

struct lab {
	double l, a, b;
};

/* Of percentiles: steps of 0.01 up to 100. */
enum { BUCKETS = 10000, SIDE_MAX = 65535 };

static double degrees(double radians)
{
	return radians * 180 / M_PI;
}

static double radians(double degrees)
{
	return degrees * M_PI / 180;
}

static bool read_picture(struct picture *p, const char *path)
{
	FILE *f = fopen(path, "rb");
	char kind, space;
	uint32_t most;
	bool ok = f != NULL &&
		  fscanf(f, "P%c %" SCNu32 " %" SCNu32 " %" SCNu32 "%c", &kind,
			 &p->width, &p->height, &most, &space) == 5 &&
		  (kind == '5' || kind == '6') && most == 255 &&
		  p->width <= SIDE_MAX && p->height <= SIDE_MAX;

	if (ok) {
		size_t bytes;

		p->channels = kind == '5' ? 1 : 3;
		bytes = (size_t)p->width * p->height * p->channels;
		p->samples = malloc(bytes + 1);
		ok = p->samples != NULL &&
		     fread(p->samples, 1, bytes, f) == bytes;
	}
	if (!ok)
		(void)fprintf(stderr, "%s: no P5 or P6 of 8 bits\n", path);
	if (f != NULL)
		(void)fclose(f);
	return ok;
}

static double light_of(uint8_t sample)
{
	double s = sample / 255.0;

	return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

static double lab_curve(double t)
{
	const double d = 6.0 / 29;

	return t > d * d * d ? cbrt(t) : t / (3 * d * d) + 4.0 / 29;
}

/* From sRGB; the white is D65. */
static struct lab lab_of(const uint8_t *rgb, const double light[256])
{
	double r = light[rgb[0]], g = light[rgb[1]], b = light[rgb[2]];
	double x = 0.4124564 * r + 0.3575761 * g + 0.1804375 * b;
	double y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b;
	double z = 0.0193339 * r + 0.1191920 * g + 0.9503041 * b;
	double fx = lab_curve(x / 0.95047), fy = lab_curve(y),
	       fz = lab_curve(z / 1.08883);

	return (struct lab){ 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz) };
}

static double hue_of(double a, double b)
{
	double hue = a == 0 && b == 0 ? 0 : degrees(atan2(b, a));

	return hue < 0 ? hue + 360 : hue;
}

/* Sharma's equations 8 to 14. */
static void compare_hues(double *difference, double *mean, double h1, double h2,
			 bool is_grey)
{
	*difference = h2 - h1;
	*mean = (h1 + h2) / 2;
	if (is_grey) {
		*difference = 0;
		*mean = h1 + h2;
	} else if (fabs(h1 - h2) > 180) {
		*difference += h2 > h1 ? -360 : 360;
		*mean += h1 + h2 < 360 ? 180 : -180;
	}
}

static double seventh(double chroma)
{
	double c7 = pow(chroma, 7);

	return sqrt(c7 / (c7 + 6103515625)); /* 25^7 */
}

static double ciede2000(const struct lab *p, const struct lab *q)
{
	double mean_chroma = (hypot(p->a, p->b) + hypot(q->a, q->b)) / 2;
	double stretch = 1 + 0.5 * (1 - seventh(mean_chroma));
	double c1 = hypot(stretch * p->a, p->b);
	double c2 = hypot(stretch * q->a, q->b);
	double hue, mean_hue, l = (p->l + q->l) / 2 - 50, c = (c1 + c2) / 2;

	compare_hues(&hue, &mean_hue, hue_of(stretch * p->a, p->b),
		     hue_of(stretch * q->a, q->b), c1 * c2 == 0);
	double t = 1 - 0.17 * cos(radians(mean_hue - 30)) +
		   0.24 * cos(radians(2 * mean_hue)) +
		   0.32 * cos(radians(3 * mean_hue + 6)) -
		   0.20 * cos(radians(4 * mean_hue - 63));
	double dl = (q->l - p->l) / (1 + 0.015 * l * l / sqrt(20 + l * l));
	double dc = (c2 - c1) / (1 + 0.045 * c);
	double dh =
		2 * sqrt(c1 * c2) * sin(radians(hue / 2)) / (1 + 0.015 * c * t);
	double turn = (mean_hue - 275) / 25;
	double rotation =
		-2 * seventh(c) * sin(radians(60 * exp(-turn * turn)));

	return sqrt(dl * dl + dc * dc + dh * dh + rotation * dc * dh);
}

static struct lab lab_at(const struct picture *p, size_t i,
			 const double light[256])
{
	const uint8_t *at = p->samples + i * p->channels;
	const uint8_t grey[3] = { at[0], at[0], at[0] };

	return lab_of(p->channels == 1 ? grey : at, light);
}

static void print_differences(const struct picture *a, const struct picture *b)
{
	static uint64_t buckets[BUCKETS + 1];
	size_t count = (size_t)a->width * a->height;
	double light[256], sum = 0;
	uint64_t below = 0;
	int bucket = 0;

	for (int i = 0; i < 256; i++)
		light[i] = light_of((uint8_t)i);
	for (size_t i = 0; i < count; i++) {
		struct lab p = lab_at(a, i, light), q = lab_at(b, i, light);
		double d = ciede2000(&p, &q);

		sum += d;
		buckets[(int)fmin(d * 100, BUCKETS)]++;
	}
	for (; bucket < BUCKETS; bucket++) {
		below += buckets[bucket];
		if (below * 20 >= count * 19)
			break;
	}
	(void)printf("%.3f %.2f\n", sum / (double)count, bucket / 100.0);
}

int main(int argc, char **argv)
{
	struct picture a = { 0 }, b = { 0 };
	bool ok = argc == 3 && read_picture(&a, argv[1]) &&
		  read_picture(&b, argv[2]);

	if (argc != 3)
		(void)fputs("usage: delta_e A.ppm B.ppm\n", stderr);
	if (ok && (a.width != b.width || a.height != b.height)) {
		(void)fprintf(stderr,
			      "%" PRIu32 " x %" PRIu32 " and %" PRIu32
			      " x %" PRIu32 "\n",
			      a.width, a.height, b.width, b.height);
		ok = false;
	}
	if (ok)
		print_differences(&a, &b);
	free(a.samples);
	free(b.samples);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
