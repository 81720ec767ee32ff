/* SPDX-License-Identifier: MIT */
#include "imgops/colour/hdr.h"

#include <math.h>

/* In cd/m2. */
#define PQ_FULL 10000.0
#define WHITE 203.0
/* What HLG is made for, and most pictures in PQ. */
#define PEAK 1000.0

/* Light of the peak, if reference white is 1. */
#define PEAK_LIGHT (PEAK / WHITE)

/* The gamma of a screen of 1,000 cd/m2 for HLG (BT.2100, table 5), less 1. */
#define HLG_GAMMA_MORE 0.2f

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

/*
 * Entry i is for the light whose square root is i / (entries - 1) of that of
 * the peak: the dark have more entries.
 */
void hdr_init(struct hdr *h, enum hdr_curve curve)
{
	double full = pq_encode(PEAK), white = pq_encode(WHITE) / full;
	double knee = 1.5 * white - 0.5;

	h->curve = curve;
	h->knee = (float)(pq_decode(knee * full) / WHITE);
	for (int level = 0; level < 256; level++)
		h->light[level] =
			(float)(curve == HDR_PQ ?
					pq_decode(level / 255.0) / WHITE :
					hlg_decode(level / 255.0));
	for (int i = 0; i < HDR_MAPPED_ENTRIES; i++) {
		double root = (double)i / (HDR_MAPPED_ENTRIES - 1);
		double level = pq_encode(root * root * PEAK) / full;

		if (level > knee)
			level = eetf(level, knee, white);
		h->mapped[i] = (float)(pq_decode(level * full) / WHITE);
	}
}

static float gain_of(const struct hdr *h, float light)
{
	const float top = HDR_MAPPED_ENTRIES - 1;
	float root = sqrtf(light * (float)(1 / PEAK_LIGHT)) * top;
	size_t i = (size_t)(root < top ? root + 0.5f : top);

	return light <= h->knee ? 1 : h->mapped[i] / light;
}

void hdr_gains(const struct hdr *h, float *gains, const uint8_t *const rgb[3],
	       size_t width)
{
	for (size_t x = 0; x < width; x++) {
		float r = h->light[rgb[0][x]], g = h->light[rgb[1][x]];
		float b = h->light[rgb[2][x]], screen = 1;

		/* The scene's light, as the screen shows it. */
		if (h->curve == HDR_HLG)
			screen = (float)PEAK_LIGHT *
				 powf(0.2627f * r + 0.6780f * g + 0.0593f * b,
				      HLG_GAMMA_MORE);
		gains[x] = screen * gain_of(h, screen * fmaxf(r, fmaxf(g, b)));
	}
}
