/* SPDX-License-Identifier: MIT */
/*
 * The reference is right in cases with a known answer: orientations written
 * out, ramps, flat and equal planes, impulses, and sums by hand.
 */
#include "imgops/bench/reference.c"

#include "base/test/check.h"

#include <math.h>
#include <stdlib.h>

static const struct img_view whole = { .width = 1,
				       .height = 1,
				       .orientation = 1 };

static struct img_plane plane_of(uint8_t *samples, uint32_t width,
				 uint32_t height)
{
	return (struct img_plane){
		samples, width, height, width, width, height
	};
}

static void test_turns_as_exif_says(void)
{
	/* Stored:  abc  and what each orientation shows, row by row.
	 *          def                                                */
	static const char *const shown[] = { "abcdef", "cbafed", "fedcba",
					     "defabc", "adbecf", "daebfc",
					     "fcebda", "cfbead" };
	static const double lefts[] = { 0, 0.5, 0.5, 0, 0, 0.75, 0.75, 0 };
	static const double tops[] = { 0, 0, 0.75, 0.75, 0, 0, 0.5, 0.5 };
	uint8_t stored[] = "abcdef";
	struct img_plane p = plane_of(stored, 3, 2);

	p.span_x = 2.5;
	p.span_y = 1.25;
	for (uint32_t o = 1; o <= 8; o++) {
		struct upright u = turn_upright(&p, o);
		bool aside = o >= 5;

		for (int i = 0; i < 6; i++)
			CHECK_NUMBER(u.values[i], ==, shown[o - 1][i]);
		CHECK_NUMBER(u.width, ==, (aside ? 2 : 3));
		CHECK_NUMBER(u.height, ==, (aside ? 3 : 2));
		CHECK_NUMBER(u.span_x, ==, (aside ? 1.25 : 2.5));
		CHECK_NUMBER(u.span_y, ==, (aside ? 2.5 : 1.25));
		/*
		 * If an axis is mirrored, the samples outside of the span come
		 * first.
		 */
		CHECK_NUMBER(u.left, ==, lefts[o - 1]);
		CHECK_NUMBER(u.top, ==, tops[o - 1]);
		free(u.values);
	}
}

static void test_same_size_is_the_same(void)
{
	uint8_t in[] = { 0, 255, 7, 90, 200, 13 };
	struct img_plane p = plane_of(in, 3, 2);
	double *out = reference_scale(&p, &whole, &p, IMG_LANCZOS3, NULL);

	for (int i = 0; i < 6; i++)
		CHECK_NUMBER(fabs(out[i] - in[i]), <, 1e-9);
	free(out);
}

enum { LINE = 60 };

/*
 * Along a ramp, far from its ends, an output sample is the value of the ramp at
 * that position, whatever the scale, part and span: a filter that is symmetric
 * about its centre keeps straight lines.
 */
static void check_ramp(double span, uint32_t out_count, double out_span,
		       double left, double share)
{
	uint8_t in[LINE];
	struct img_plane p = plane_of(in, LINE, 1), shape;
	struct img_view view = {
		.left = left, .width = share, .height = 1, .orientation = 1
	};
	double *out;

	for (int i = 0; i < LINE; i++)
		in[i] = (uint8_t)(4 * i + 5);
	p.span_x = span;
	shape = plane_of(NULL, out_count, 1);
	shape.span_x = out_span;
	out = reference_scale(&p, &view, &shape, IMG_LANCZOS3, NULL);
	for (uint32_t i = 0; i < out_count; i++) {
		double place =
			span * left + (i + 0.5) * span * share / out_span - 0.5;

		if (place > 12 && place < LINE - 13)
			CHECK_NUMBER(fabs(out[i] - (4 * place + 5)), <, 0.25);
	}
	free(out);
}

static void test_ramp_keeps_its_place(void)
{
	check_ramp(LINE, 20, 20, 0, 1);
	check_ramp(LINE, 47, 46.5, 0, 1);
	check_ramp(LINE - 0.5, 30, 29.5, 0, 1);
	check_ramp(LINE, 25, 25, 0.2, 0.6);
	check_ramp(LINE, 90, 90, 0, 1);
}

/* One output sample in the middle of an edge, its sum written out. */
static void test_reduces_by_widened_lanczos(void)
{
	uint8_t in[24];
	struct img_plane p = plane_of(in, 24, 1), shape = plane_of(0, 12, 1);
	double *out, sum = 0, total = 0;

	for (int i = 0; i < 24; i++)
		in[i] = i < 12 ? 50 : 150;
	out = reference_scale(&p, &whole, &shape, IMG_LANCZOS3, NULL);
	for (int k = -5; k <= 6; k++) {
		double x = (k - 0.5) / 2 * M_PI;
		double w = sin(x) / x * sin(x / 3) / (x / 3);

		total += w;
		sum += w * in[10 + k]; /* output 5 lies between 10 and 11 */
	}
	CHECK_NUMBER(fabs(out[5] - sum / total), <, 1e-9);
	CHECK_NUMBER(out[5], <, 60);
	CHECK_NUMBER(out[5], !=, 50);
	/*
	 * Far from the edge the result is flat, and it does not fade at the
	 * ends.
	 */
	CHECK_NUMBER(fabs(out[0] - 50), <, 1);
	CHECK_NUMBER(fabs(out[11] - 150), <, 1);
	free(out);
}

static void test_overshoot_is_cut(void)
{
	uint8_t in[24];
	struct img_plane p = plane_of(in, 24, 1), shape = plane_of(0, 48, 1);
	double *out, least = 1, most = 0;

	for (int i = 0; i < 24; i++)
		in[i] = i < 12 ? 0 : 255;
	out = reference_scale(&p, &whole, &shape, IMG_LANCZOS3, NULL);
	for (int i = 0; i < 48; i++) {
		least = fmin(least, out[i]);
		most = fmax(most, out[i]);
	}
	CHECK_NUMBER(least, ==, 0);
	CHECK_NUMBER(most, ==, 255);
	free(out);
}

static void test_blurred_impulse_is_gaussian(void)
{
	uint8_t in[LINE * LINE] = { 0 };
	struct img_plane p = plane_of(in, LINE, LINE);
	double *out, sum = 0;

	in[30 * LINE + 30] = 255;
	out = reference_blur(&p, 2);
	for (int i = 0; i < LINE * LINE; i++)
		sum += out[i];
	CHECK_NUMBER(fabs(sum - 255), <, 1e-6);
	CHECK_NUMBER(fabs(out[30 * LINE + 30] - 255 / (2 * M_PI * 4)), <, 1e-3);
	for (int k = 1; k < 6; k++) {
		double expected = exp(-k * k / 8.0);

		CHECK_NUMBER(
			fabs(out[30 * LINE + 30 + k] / out[30 * LINE + 30] -
			     expected),
			<, 1e-9);
		CHECK_NUMBER(
			fabs(out[(30 - k) * LINE + 30] / out[30 * LINE + 30] -
			     expected),
			<, 1e-9);
	}
	free(out);
}

static void test_blur_extends_edges(void)
{
	uint8_t in[6] = { 77, 77, 77, 77, 77, 77 };
	struct img_plane p = plane_of(in, 3, 2);
	double *out = reference_blur(&p, 20);

	for (int i = 0; i < 6; i++)
		CHECK_NUMBER(fabs(out[i] - 77), <, 1e-9);
	free(out);
}

int main(void)
{
	test_turns_as_exif_says();
	test_same_size_is_the_same();
	test_ramp_keeps_its_place();
	test_reduces_by_widened_lanczos();
	test_overshoot_is_cut();
	test_blurred_impulse_is_gaussian();
	test_blur_extends_edges();
	return 0;
}
