/* SPDX-License-Identifier: MIT */
/*
 * Promises, at every sampling, space, size and scale: at 1/8 and 8/8 each plane
 * is, bit for bit, libjpeg's decode of that component alone; at scales between
 * them it is the inverse DCT of the lowest coefficients; in blocks that the
 * frame cuts, the last visible samples are repeated before; spans say how the
 * samples of one plane are placed on those of another.  The scale is the
 * smallest that covers the target.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/scans.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct sampling {
	int h[3], v[3];
} samplings[] = {
	{ { 1, 1, 1 }, { 1, 1, 1 } },
	{ { 2, 1, 1 }, { 1, 1, 1 } },
	{ { 2, 1, 1 }, { 2, 1, 1 } },
	{ { 1, 1, 1 }, { 2, 1, 1 } },
	{ { 4, 1, 1 }, { 1, 1, 1 } },
	{ { 1, 1, 1 }, { 4, 1, 1 } },
	{ { 4, 1, 1 }, { 2, 1, 1 } },
	{ { 2, 1, 1 }, { 4, 1, 1 } },
	{ { 3, 1, 1 }, { 1, 1, 1 } },
	{ { 3, 1, 1 }, { 2, 1, 1 } },
	/* Too many blocks for an interleaved scan. */
	{ { 4, 1, 1 }, { 4, 1, 1 } },
	{ { 4, 1, 4 }, { 4, 4, 1 } },
	{ { 2, 2, 2 }, { 2, 2, 2 } },
	{ { 2, 2, 1 }, { 2, 1, 2 } },
	{ { 1, 2, 2 }, { 1, 2, 2 } }, /* luma has fewer samples than chroma */
	{ { 2, 1, 4 }, { 1, 1, 1 } },
	{ { 3, 2, 2 }, { 1, 1, 1 } },
	{ { 3, 2, 1 }, { 2, 3, 1 } },
};

static const struct img_size sizes[] = { { 1, 1 },   { 2, 1 },   { 7, 5 },
					 { 16, 16 }, { 17, 33 }, { 65, 31 },
					 { 97, 50 } };

/* The smallest scale that covers 1.1 times the target. */
static uint32_t dct_scale_for(struct img_size size, struct img_size target)
{
	static const uint32_t all[] = { 1, 2, 3, 4 };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (size.width_px * all[i] / 8.0 >= 1.1 * target.width_px &&
		    size.height_px * all[i] / 8.0 >= 1.1 * target.height_px)
			return all[i];
	return 8;
}

static void check_spans(const struct image *img, struct img_size size,
			uint32_t dct_scale)
{
	double full = 0;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		CHECK_NUMBER(p->span_x, >, p->width - 1);
		CHECK_NUMBER(p->span_x, <=, p->width);
		CHECK_NUMBER(p->span_y, >, p->height - 1);
		CHECK_NUMBER(p->span_y, <=, p->height);
		full = fmax(full, p->span_x);
	}
	CHECK_NUMBER(fabs(full - size.width_px * dct_scale / 8.0), <, 1e-9);
}

/*
 * At 1/8 without the blocks that the frame cuts, of which libjpeg has the mean
 * with the hidden samples.
 */
static void check_against(const struct img_plane *p, struct bytes alone,
			  uint32_t dct_scale)
{
	struct jpeg_view view = jpeg_read(alone, JCS_GRAYSCALE, (int)dct_scale);
	uint32_t width = reduced_visible(p->span_x, 1) / 8;
	uint32_t height = reduced_visible(p->span_y, 1) / 8;

	CHECK_NUMBER(p->width, <=, view.width);
	CHECK_NUMBER(p->height, <=, view.height);
	if (dct_scale > 1) {
		width = p->width;
		height = p->height;
	}
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			CHECK_NUMBER(sample(p, x, y), ==,
				     view.pixels[y * view.width + x]);
	free(view.pixels);
}

/*
 * Write n x n samples of block (x, y), of which the frame may cut off a part.
 * Returns whether it does.
 */
static bool reduce_block(uint8_t *out, size_t stride, const int32_t *values,
			 uint32_t n, const struct img_plane *p, uint32_t x,
			 uint32_t y)
{
	uint32_t right = reduced_visible(p->span_x, n) - x * 8;
	uint32_t lower = reduced_visible(p->span_y, n) - y * 8;
	int32_t c[IDCT_COEFFICIENTS];

	for (uint32_t k = 0; k < IDCT_COEFFICIENTS; k++)
		c[k] = values[k / 4 * 8 + k % 4];
	if (right < 8 || lower < 8)
		reduced_repeat(c, values, right, lower);
	reduced_block(out, stride, c, n);
	return right < 8 || lower < 8;
}

/* reduced_block() of each block's coefficients, as libjpeg reads them. */
static void check_reduced(const struct img_plane *p, struct bytes alone,
			  uint32_t n, int error_max)
{
	struct jpeg_blocks blocks = jpeg_read_blocks(alone);
	uint8_t out[IDCT_COEFFICIENTS];

	for (uint32_t i = 0; i < blocks.across * blocks.down; i++) {
		uint32_t left = i % blocks.across * n;
		uint32_t top = i / blocks.across * n;
		bool is_cut = reduce_block(out, IDCT_MAX, blocks.values[i], n,
					   p, left / n, top / n);

		for (uint32_t y = 0; y < n && top + y < p->height; y++)
			for (uint32_t x = 0; x < n && left + x < p->width; x++)
				CHECK_NUMBER(abs(sample(p, left + x, top + y) -
						 out[y * IDCT_MAX + x]),
					     <=, error_max + is_cut);
	}
	CHECK_NUMBER(p->width, <=, blocks.across * n);
	CHECK_NUMBER(p->height, <=, blocks.down * n);
	free(blocks.values);
}

/* Each component alone: nothing to up-sample, nothing to convert. */
static void check_equal(const struct image *img, struct bytes jpeg,
			uint32_t dct_scale, bool is_progressive)
{
	/* The error that scans.h allows, and one level for rounding. */
	int error_max =
		is_progressive && dct_scale == 2 ? SCANS_ERROR_MAX + 1 : 0;

	for (uint32_t i = 0; i < img->plane_count; i++) {
		struct bytes alone = jpeg_component(jpeg, (int)i);

		if (dct_scale == 1 || dct_scale == 8)
			check_against(&img->planes[i], alone, dct_scale);
		if (dct_scale <= IDCT_MAX)
			check_reduced(&img->planes[i], alone, dct_scale,
				      error_max);
		free(alone.data);
	}
}

static void check_picture(const struct image *img, struct img_size size)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];
		double step_x = size.width_px / p->span_x;
		double step_y = size.height_px / p->span_y;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				double at_x = fmin((x + 0.5) * step_x,
						   size.width_px - 0.5);
				double at_y = fmin((y + 0.5) * step_y,
						   size.height_px - 0.5);

				CHECK_NUMBER(fabs(sample(p, x, y) -
						  waves(i, at_x, at_y)),
					     <, 12);
			}
	}
}

static void check(struct jpeg_spec spec)
{
	struct img_size size = { spec.width, spec.height };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	for (uint32_t n = 1; n <= 8; n++) {
		struct img_size target = { (size.width_px * n + 7) / 8,
					   size.height_px * n / 8 };
		uint32_t dct_scale = dct_scale_for(size, target);
		struct image img = must_decode(jpeg, target, &h);

		/* libjpeg reads these files, at full size. */
		if (spec.arithmetic && !spec.progressive)
			dct_scale = 8;
		check_spans(&img, size, dct_scale);
		check_equal(&img, jpeg, dct_scale, spec.progressive);
		if (dct_scale == 8)
			check_picture(&img, size);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
	free(jpeg.data);
}

static void test_planes_equal_libjpeg_at_every_sampling(void)
{
	for (size_t s = 0; s < ARRAY_SIZE(samplings); s++) {
		const struct sampling *f = &samplings[s];
		int blocks = f->h[0] * f->v[0] + f->h[1] * f->v[1] +
			     f->h[2] * f->v[2];

		check_case("samplings[%zu]", s);
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct jpeg_spec spec = {
				.width = sizes[i].width_px,
				.height = sizes[i].height_px,
				.h = { f->h[0], f->h[1], f->h[2] },
				.v = { f->v[0], f->v[1], f->v[2] },
				.separate_scans = true,
			};

			check(spec);
			spec.separate_scans = false;
			if (blocks <= 10) /* the standard's limit */
				check(spec);
		}
	}
}

static void test_planes_equal_libjpeg_in_every_coding(void)
{
	for (int coding = 0; coding < 16; coding++) {
		struct jpeg_spec spec = {
			.width = 83,
			.height = 61,
			.h = { 2 },
			.v = { 2 },
			.progressive = coding & 1,
			.arithmetic = coding & 2,
			.restart_interval = coding & 4 ? 3 : 0,
			.space = coding & 8 ? JCS_GRAYSCALE : JCS_YCbCr,
		};

		check(spec);
	}
}

/* Add the `count` last bits of `bits`, FF as FF 00. */
static void put_bits(struct bytes *to, uint64_t *held, uint32_t bits, int count)
{
	/*
	 * The lowest byte of `held` counts the bits above it that wait to be
	 * written.
	 */
	int waiting = (int)(*held & 63);
	uint64_t all = *held >> 8 << count | (bits & ((1u << count) - 1));

	for (waiting += count; waiting >= 8; waiting -= 8) {
		uint8_t byte = (uint8_t)(all >> (waiting - 8));

		to->data[to->count++] = byte;
		if (byte == 0xff)
			to->data[to->count++] = 0;
	}
	*held = (all & 255) << 8 | (uint64_t)waiting;
}

/*
 * Each of eight blocks has a code of 16 bits with a value of 11, then three
 * codes that with their values have 12 bits each: more bits than one refill of
 * sequential.c holds.
 */
static void test_long_codes_in_a_row(void)
{
	static const uint8_t head[] = {
		0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 8, 0, 64, 1, 1, 0x11, 0,
		/* DC: one code, 0, which means no difference. */
		0xff, 0xc4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0,
		/*
		 * AC: code 00 has a value of 10 bits; 010 is EOB; 0110 0000
		 * 0000 0000 has a value of 11 bits.
		 */
		0xff, 0xc4, 0, 22, 0x10, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 1, 0x0a, 0x00, 0x0b, 0xff, 0xda, 0, 8, 1, 1, 0x00, 0, 63,
		0
	};
	uint8_t data[1000] = { 0 };
	struct bytes jpeg = { data, 0 };
	uint64_t held = 0;
	struct heap h;

	/* Quantisation first: all steps 1. */
	memcpy(data, "\xff\xd8\xff\xdb\0\x43\0", 7);
	memset(data + 7, 1, 64);
	memcpy(data + 71, head + 2, sizeof(head) - 2);
	jpeg.count = 71 + sizeof(head) - 2;
	for (uint32_t block = 0; block < 8; block++) {
		put_bits(&jpeg, &held, 0, 1);
		put_bits(&jpeg, &held, 0x6000, 16);
		put_bits(&jpeg, &held, 1024 + 100 * block, 11);
		for (uint32_t k = 0; k < 3; k++) {
			put_bits(&jpeg, &held, 0, 2);
			put_bits(&jpeg, &held, 700 + 37 * k + block, 10);
		}
		put_bits(&jpeg, &held, 2, 3);
	}
	put_bits(&jpeg, &held, 127, 7);
	memcpy(data + jpeg.count, "\xff\xd9", 2);
	jpeg.count += 2;
	heap_init(&h);
	for (uint32_t n = 2; n <= IDCT_MAX; n++) {
		struct image img = must_decode(
			jpeg, target_at((struct img_size){ 64, 8 }, n), &h);

		CHECK_NUMBER(img.planes[0].width, ==, 8 * n);
		check_reduced(&img.planes[0], jpeg, n, 0);
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_planes_equal_libjpeg_in_every_space(void)
{
	static const J_COLOR_SPACE spaces[] = { JCS_RGB, JCS_CMYK, JCS_YCCK };
	static const enum img_space names[] = { IMG_RGB, IMG_CMYK, IMG_YCCK };

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct jpeg_spec spec = { .width = 45,
					  .height = 37,
					  .space = spaces[i],
					  .h = { 2, 1, 1, 2 },
					  .no_adobe = spaces[i] == JCS_CMYK };
		struct bytes jpeg = jpeg_make(&spec);
		struct heap h;

		heap_init(&h);
		struct image img = must_decode(jpeg, full_size, &h);

		CHECK_NUMBER(img.space, ==, names[i]);
		check_picture(&img, (struct img_size){ 45, 37 });
		img_release(&img);
		check(spec);
		free(jpeg.data);
	}
}

static void test_full_chroma_is_as_large_as_the_target(void)
{
	struct jpeg_spec spec = {
		.width = 96, .height = 64, .h = { 2 }, .v = { 2 }
	};
	struct img_transform transform = { .box = { 10, 10 },
					   .chroma = IMG_CHROMA_444 };
	struct bytes jpeg = jpeg_make(&spec);
	struct image img;
	struct heap h;

	heap_init(&h);
	enum img_err err = decode_transform(&img, jpeg.data, jpeg.count,
					    &transform, &no_limits, &h);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(img.planes[0].width, ==, 24);
	CHECK_NUMBER(img.planes[0].height, ==, 16);
	CHECK_NUMBER(img.planes[1].width, ==, 12);
	CHECK_NUMBER(img.planes[1].height, ==, 8);
	img_release(&img);
	free(jpeg.data);
}

static void test_grey_stays_one_plane(void)
{
	struct jpeg_spec spec = { .width = 9,
				  .height = 11,
				  .space = JCS_GRAYSCALE };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, (struct img_size){ 9, 11 }, &h);

	CHECK_NUMBER(img.plane_count, ==, 1);
	CHECK_NUMBER(img.planes[0].width, ==, 9);
	CHECK_NUMBER(img.planes[0].height, ==, 11);
	img_release(&img);
	free(jpeg.data);
}

int main(void)
{
	test_planes_equal_libjpeg_at_every_sampling();
	test_planes_equal_libjpeg_in_every_coding();
	test_long_codes_in_a_row();
	test_planes_equal_libjpeg_in_every_space();
	test_full_chroma_is_as_large_as_the_target();
	test_grey_stays_one_plane();
	return 0;
}
