/* SPDX-License-Identifier: MIT */
#include "imgops/colour/hdr.h"

#include <math.h>

/* In cd/m2. */
#define PQ_FULL 10000.0
#define WHITE 203.0
/* What HLG is made for, and most pictures in PQ. */
#define PEAK 1000.0

/* Of a screen with this peak (BT.2100, table 5). */
#define HLG_GAMMA 1.2

/* --- Curves: BT.2100, tables 4 and 5 --- */

static const double m1 = 2610 / 16384.0, m2 = 2523 / 32.0, c1 = 3424 / 4096.0,
		    c2 = 2413 / 128.0, c3 = 2392 / 128.0;

/* A level, 0 to 1, of `light` in cd/m2. */
static double pq_encode(double light)
{
	double power = pow(light / PQ_FULL, m1);

	return pow((c1 + c2 * power) / (1 + c3 * power), m2);
}

static double pq_decode(double level)
{
	double power = pow(level, 1 / m2);

	return PQ_FULL * pow(fmax(power - c1, 0) / (c2 - c3 * power), 1 / m1);
}

static double hlg_decode(double level)
{
	const double a = 0.17883277, b = 1 - 4 * a, c = 0.5 - a * log(4 * a);

	if (level <= 0.5)
		return level * level / 3;
	return (exp((level - c) / a) + b) / 12;
}

/* --- The EETF: BT.2408, annex 5 --- */

/* For levels from the knee to the peak, which are 0 to 1. */
static double eetf(double level, double knee, double white)
{
	double t = (level - knee) / (1 - knee), t2, t3;

	t2 = t * t;
	t3 = t2 * t;
	return (2 * t3 - 3 * t2 + 1) * knee + (t3 - 2 * t2 + t) * (1 - knee) +
	       (3 * t2 - 2 * t3) * white;
}

/* What the EETF multiplies light by, in cd/m2. */
static double gain_of(double light)
{
	double full = pq_encode(PEAK), white = pq_encode(WHITE) / full;
	double knee = 1.5 * white - 0.5, level = pq_encode(light) / full;

	if (level <= knee)
		return 1;
	return pq_decode(eetf(fmin(level, 1), knee, white) * full) / light;
}

static void init_pq(struct hdr *h)
{
	for (int level = 0; level < 256; level++) {
		double light = pq_decode(level / 255.0);

		h->light[level] = (float)(light / WHITE);
		h->gains[level] = (float)gain_of(light);
	}
}

/*
 * Entry i of `screen` is for the scene's light whose square root is i /
 * (entries - 1), and that of `mapped` for the screen's light whose square root
 * is that part of the peak's: the dark have more entries.
 */
static void init_hlg(struct hdr *h)
{
	for (int level = 0; level < 256; level++)
		h->light[level] = (float)hlg_decode(level / 255.0);
	for (int i = 0; i < HDR_ENTRIES; i++) {
		double root = (double)i / (HDR_ENTRIES - 1);

		h->screen[i] = (float)pow(root * root, HLG_GAMMA - 1);
		h->mapped[i] =
			(float)(gain_of(root * root * PEAK) * PEAK / WHITE);
	}
}

void hdr_init(struct hdr *h, enum hdr_curve curve)
{
	h->curve = curve;
	if (curve == HDR_PQ)
		init_pq(h);
	else
		init_hlg(h);
}

static uint8_t brightest(const uint8_t *const rgb[3], size_t x)
{
	uint8_t most = rgb[0][x] > rgb[1][x] ? rgb[0][x] : rgb[1][x];

	return most > rgb[2][x] ? most : rgb[2][x];
}

/* Light is 0 to 1. */
static size_t entry_of(float light)
{
	return (size_t)(sqrtf(light) * (HDR_ENTRIES - 1) + 0.5f);
}

void hdr_gains(const struct hdr *h, float *gains, const uint8_t *const rgb[3],
	       size_t width)
{
	for (size_t x = 0; h->curve == HDR_PQ && x < width; x++)
		gains[x] = h->gains[brightest(rgb, x)];
	for (size_t x = 0; h->curve == HDR_HLG && x < width; x++) {
		float luminance = 0.2627f * h->light[rgb[0][x]] +
				  0.6780f * h->light[rgb[1][x]] +
				  0.0593f * h->light[rgb[2][x]];
		float screen = h->screen[entry_of(luminance)];
		float most = screen * h->light[brightest(rgb, x)];

		gains[x] = screen * h->mapped[entry_of(most)];
	}
}
