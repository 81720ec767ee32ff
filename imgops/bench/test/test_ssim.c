/* SPDX-License-Identifier: MIT */
/*
 * SSIM agrees with the paper: with its formula written out for single windows,
 * and with cases computed by hand.
 */
#include "imgops/bench/reference.h"

#include "base/test/check.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 17, HEIGHT = 13, COUNT = WIDTH * HEIGHT };

static void fill(double *values, uint32_t seed)
{
	for (uint32_t i = 0; i < COUNT; i++) {
		seed = seed * 1664525 + 1013904223;
		values[i] = seed >> 24;
	}
}

/* Equations 13 to 16 of the paper, for the window at (left, top). */
static double one_window(const double *a, const double *b, uint32_t left,
			 uint32_t top)
{
	double weights[SSIM_WINDOW][SSIM_WINDOW], sum = 0;
	double mean_a = 0, mean_b = 0, var_a = 0, var_b = 0, covar = 0;
	double c1 = 2.55 * 2.55, c2 = 7.65 * 7.65;

	for (int y = 0; y < SSIM_WINDOW; y++)
		for (int x = 0; x < SSIM_WINDOW; x++) {
			double r = (x - 5) * (x - 5) + (y - 5) * (y - 5);

			weights[y][x] = exp(-r / (2 * 1.5 * 1.5));
			sum += weights[y][x];
		}
	for (uint32_t y = 0; y < SSIM_WINDOW; y++)
		for (uint32_t x = 0; x < SSIM_WINDOW; x++) {
			uint32_t i = (top + y) * WIDTH + left + x;

			mean_a += weights[y][x] / sum * a[i];
			mean_b += weights[y][x] / sum * b[i];
		}
	for (uint32_t y = 0; y < SSIM_WINDOW; y++)
		for (uint32_t x = 0; x < SSIM_WINDOW; x++) {
			uint32_t i = (top + y) * WIDTH + left + x;
			double da = a[i] - mean_a, db = b[i] - mean_b;

			var_a += weights[y][x] / sum * da * da;
			var_b += weights[y][x] / sum * db * db;
			covar += weights[y][x] / sum * da * db;
		}
	return (2 * mean_a * mean_b + c1) * (2 * covar + c2) /
	       ((mean_a * mean_a + mean_b * mean_b + c1) *
		(var_a + var_b + c2));
}

static void test_is_the_mean_of_all_windows(void)
{
	double a[COUNT], b[COUNT], sum = 0;

	fill(a, 1);
	fill(b, 2);
	for (uint32_t i = 0; i < COUNT; i++)
		b[i] = 0.7 * a[i] + 0.3 * b[i];
	for (uint32_t y = 0; y + SSIM_WINDOW <= HEIGHT; y++)
		for (uint32_t x = 0; x + SSIM_WINDOW <= WIDTH; x++)
			sum += one_window(a, b, x, y);
	sum /= (WIDTH - SSIM_WINDOW + 1) * (HEIGHT - SSIM_WINDOW + 1);
	CHECK_NUMBER(sum, >, 0.5);
	CHECK_NUMBER(sum, <, 0.99);
	CHECK_NUMBER(fabs(ssim(a, b, WIDTH, HEIGHT) - sum), <, 1e-9);
	CHECK_NUMBER(fabs(ssim(b, a, WIDTH, HEIGHT) - sum), <, 1e-9);
}

static void test_equal_is_one(void)
{
	double a[COUNT];

	fill(a, 3);
	CHECK_NUMBER(fabs(ssim(a, a, WIDTH, HEIGHT) - 1), <, 1e-12);
}

/* Without variance only the first term is left. */
static void test_flat_pictures(void)
{
	double a[COUNT], b[COUNT], c1 = 2.55 * 2.55;

	for (uint32_t i = 0; i < COUNT; i++) {
		a[i] = 100;
		b[i] = 140;
	}
	CHECK_NUMBER(fabs(ssim(a, b, WIDTH, HEIGHT) -
			  (2 * 100 * 140 + c1) / (100 * 100 + 140 * 140 + c1)),
		     <, 1e-12);
}

static void test_negative_is_unlike(void)
{
	double a[COUNT], b[COUNT];

	fill(a, 4);
	for (uint32_t i = 0; i < COUNT; i++)
		b[i] = 255 - a[i];
	CHECK_NUMBER(ssim(a, b, WIDTH, HEIGHT), <, -0.8);
}

int main(void)
{
	test_is_the_mean_of_all_windows();
	test_equal_is_one();
	test_flat_pictures();
	test_negative_is_unlike();
	return 0;
}
