/* SPDX-License-Identifier: MIT */
/*
 * usage: check_texture [STEP]
 *
 * Promises: at 60 ratios from 1 to 20, whatever DCT scale is chosen, a zone
 * plate has at least PSNR_MIN dB, and stripes that a full decode and Lanczos-3
 * remove are removed; for sequential and progressive files, and for every
 * subsampling.  With STEP, every STEPth ratio is tried.
 *
 * The zone plate has every frequency up to one half in each direction.  Stripes
 * have several periods; those count whose contrast (the standard deviation of
 * luma) is at most VANISHED in the exact result.  The exact result is made by
 * img_scale() from a full decode.  The table is in docs/results/imgops.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATIOS = 60, KINDS = 8, SIDE = 1024, CLOTH_SIDE = 768 };

#define RATIO_MAX 20.0
#define PSNR_MIN 40.0
#define VANISHED 0.5
#define CONTRAST_MAX 1.5

static const double periods[] = { 2.6, 3.3, 4.3, 5.9, 8.1, 11.3 };

/* Sampling factors of luma. */
static const int samplings[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 }, { 1, 2 } };

static double zone_plate(uint32_t component, double x, double y)
{
	double from_x = x - SIDE / 2.0, from_y = y - SIDE / 2.0;

	if (component > 0)
		return 128;
	return 127.5 +
	       127.5 * cos(M_PI * (from_x * from_x + from_y * from_y) / SIDE);
}

static double period; /* of cloth() */

static double cloth(uint32_t component, double x, double y)
{
	if (component > 0)
		return 128;
	return 128 + 50 * sin(2 * M_PI * (x + 0.15 * y) / period);
}

static struct bytes make(picture_fn *picture, uint32_t side, uint32_t kind)
{
	const int *sampling = samplings[kind / 2];
	struct jpeg_spec spec = {
		.width = side,
		.height = side,
		.picture = picture,
		.progressive = kind % 2 == 1,
		.h = { sampling[0], 1, 1 },
		.v = { sampling[1], 1, 1 },
	};

	return jpeg_make(&spec);
}

/* Decode for a result of `decoded_px`, and scale to `scaled_px`. */
static struct image scaled(struct bytes jpeg, uint32_t decoded_px,
			   uint32_t scaled_px, struct heap *h)
{
	struct img_view view = whole_view(full_size);
	struct img_transform transform = { 0 };
	struct image decoded = { 0 }, dst = { 0 };
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	view.size = (struct img_size){ decoded_px, decoded_px };
	err = img_decode_any(&decoded, jpeg.data, jpeg.count, &header, &view,
			     &transform, &no_limits, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	view.size = (struct img_size){ scaled_px, scaled_px };
	err = img_scale(&dst, &decoded, &view, &transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&decoded);
	return dst;
}

static double luma_psnr(const struct image *a, const struct image *b)
{
	const struct img_plane *p = &a->planes[0], *q = &b->planes[0];
	double squares = 0;

	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++) {
			double d = sample(p, x, y) - (double)sample(q, x, y);

			squares += d * d;
		}
	return fmin(psnr(squares, (double)p->width * p->height), 99);
}

/* The standard deviation of luma, without a frame of 4 samples. */
static double contrast(const struct image *img)
{
	const struct img_plane *p = &img->planes[0];
	double sum = 0, squares = 0, count = 0;

	for (uint32_t y = 4; y + 4 < p->height; y++)
		for (uint32_t x = 4; x + 4 < p->width; x++) {
			double value = sample(p, x, y);

			sum += value;
			squares += value * value;
			count++;
		}
	return sqrt(fmax(squares / count - sum / count * (sum / count), 0));
}

static double zone_psnr(struct bytes jpeg, uint32_t px)
{
	struct heap h;

	heap_init(&h);

	struct image exact = scaled(jpeg, SIDE, px, &h);
	struct image result = scaled(jpeg, px, px, &h);
	double db = luma_psnr(&exact, &result);

	img_release(&exact);
	img_release(&result);
	CHECK_NUMBER(h.live_count, ==, 0);
	return db;
}

/* The contrast that is left of stripes; -1: they are there in the exact one. */
static double stripes_left(struct bytes jpeg, uint32_t px)
{
	struct heap h;

	heap_init(&h);

	struct image exact = scaled(jpeg, CLOTH_SIDE, px, &h);
	struct image result = scaled(jpeg, px, px, &h);
	double left = contrast(&exact) <= VANISHED ? contrast(&result) : -1;

	img_release(&exact);
	img_release(&result);
	CHECK_NUMBER(h.live_count, ==, 0);
	return left;
}

struct inputs {
	struct bytes zones[KINDS];
	struct bytes cloths[ARRAY_SIZE(periods)][2];
};

static void make_inputs(struct inputs *in)
{
	for (uint32_t i = 0; i < KINDS; i++)
		in->zones[i] = make(zone_plate, SIDE, i);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++) {
		period = periods[i];
		/* 4:2:0 */
		in->cloths[i][0] = make(cloth, CLOTH_SIDE, 4);
		in->cloths[i][1] = make(cloth, CLOTH_SIDE, 5);
	}
}

static void free_inputs(struct inputs *in)
{
	for (uint32_t i = 0; i < KINDS; i++)
		free(in->zones[i].data);
	for (size_t i = 0; i < ARRAY_SIZE(periods); i++)
		for (uint32_t k = 0; k < 2; k++)
			free(in->cloths[i][k].data);
}

/* False: something is worse than promised. */
static bool check_ratio(const struct inputs *in, double ratio)
{
	bool ok = true;

	printf("%5.2f", ratio);
	for (uint32_t i = 0; i < KINDS; i++) {
		double db =
			zone_psnr(in->zones[i], (uint32_t)lround(SIDE / ratio));

		printf(" %5.1f", db);
		ok = ok && db >= PSNR_MIN;
	}
	for (uint32_t k = 0; k < 2; k++) {
		double worst = -1;

		for (size_t i = 0; i < ARRAY_SIZE(periods); i++)
			worst = fmax(worst,
				     stripes_left(in->cloths[i][k],
						  (uint32_t)lround(CLOTH_SIDE /
								   ratio)));
		if (worst < 0)
			printf("     -");
		else
			printf(" %5.2f", worst);
		ok = ok && worst <= CONTRAST_MAX;
	}
	printf("%s\n", ok ? "" : "  worse than promised");
	return ok;
}

int main(int argc, char **argv)
{
	static struct inputs in;
	int step = argc > 1 ? atoi(argv[1]) : 1;
	int wrong_count = 0, count = 0;

	CHECK_NUMBER(step, >, 0);

	make_inputs(&in);
	printf("luma of zone plates, PSNR in dB;              "
	       "stripes: contrast left\n"
	       "ratio 4:4:4 prog. 4:2:2 prog. 4:2:0 prog. 4:4:0 prog. 4:2:0 "
	       "prog.\n");
	for (int i = 0; i < RATIOS; i += step) {
		wrong_count += !check_ratio(
			&in, pow(RATIO_MAX, (double)i / (RATIOS - 1)));
		count++;
	}
	free_inputs(&in);
	printf("%d of %d ratios are worse than promised\n", wrong_count, count);
	return wrong_count == 0 ? 0 : 1;
}
