/* SPDX-License-Identifier: MIT */
/*
 * Promises: a file with fine texture is decoded at a larger DCT scale, however
 * it is coded, also if only a part of the picture or one component has texture;
 * its estimate is that of the larger scale.  An ordinary picture is decoded
 * once, at the usual scale, also if samples outside of its frame have texture.
 * If the larger scale is not allowed, the file is decoded at the usual one.
 */
#include "imgops/formats/jpeg/header.h"
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 480 };

static double stripes(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : 128 + 60 * sin(1.9 * x + 0.3 * y);
}

/* The last third of the picture has stripes. */
static double a_part(uint32_t component, double x, double y)
{
	bool is_inside = y > SIDE * 0.66;

	return is_inside ? stripes(component, x, y) : waves(component, x, y);
}

static double chroma(uint32_t component, double x, double y)
{
	return component != 1 ? 128 : stripes(0, x, y);
}

/* A few lines are not texture. */
static double lines(uint32_t component, double x, double y)
{
	bool is_line = fmod(x, 160) < 2 || fmod(y, 240) < 2;

	return is_line && component == 0 ? 20 : waves(component, x, y);
}

static struct img_header probe(struct bytes jpeg)
{
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	return header;
}

static struct heap heap;

static enum img_err decode(struct image *img, struct bytes jpeg,
			   const struct img_header *header, uint32_t side_px,
			   const struct img_limits *limits)
{
	struct img_view view =
		whole_view((struct img_size){ side_px, side_px });
	enum img_err err;

	*img = (struct image){ 0 };
	err = img_decode(img, jpeg.data, jpeg.count, header, &view,
			 &(struct img_transform){ 0 }, limits, &heap.memory);
	CHECK(err == IMG_OK || is_empty(img));
	return err;
}

/* The file is decoded at a larger scale, if it is decoded again. */
static void check_fine(struct bytes jpeg, uint32_t px)
{
	struct img_header header = probe(jpeg);
	struct image img;
	double before, after;

	CHECK_NUMBER(decode(&img, jpeg, &header, px, &no_limits), ==,
		     IMG_ERR_TEXTURE);
	CHECK_NUMBER(heap.live_count, ==, 0);

	header.texture = IMG_TEXTURE_IGNORED;
	CHECK_NUMBER(decode(&img, jpeg, &header, px, &no_limits), ==, IMG_OK);
	before = img.planes[0].span_x;
	img_release(&img);

	header.texture = IMG_TEXTURE_UNKNOWN;
	CHECK(img_decode_again(&header, IMG_ERR_TEXTURE));
	CHECK_NUMBER(header.texture, ==, IMG_TEXTURE_FINE);
	CHECK_NUMBER(decode(&img, jpeg, &header, px, &no_limits), ==, IMG_OK);
	after = img.planes[0].span_x;
	img_release(&img);
	CHECK_NUMBER(after, >, before);
}

/* The same samples as if nobody had looked for texture. */
static void check_ordinary(struct bytes jpeg, uint32_t px)
{
	struct img_header header = probe(jpeg);
	struct image img, same;

	CHECK_NUMBER(decode(&img, jpeg, &header, px, &no_limits), ==, IMG_OK);
	header.texture = IMG_TEXTURE_IGNORED;
	CHECK_NUMBER(decode(&same, jpeg, &header, px, &no_limits), ==, IMG_OK);
	CHECK(is_same(&img, &same));
	img_release(&img);
	img_release(&same);
}

/* At each of the usual scales, from `least` to 4. */
static void check_from(uint32_t least, const struct jpeg_spec *spec,
		       bool is_fine)
{
	struct bytes jpeg = jpeg_make(spec);

	for (uint32_t n = least; n <= 4; n++) {
		uint32_t px =
			target_at((struct img_size){ SIDE, SIDE }, n).width_px;

		if (is_fine)
			check_fine(jpeg, px);
		else
			check_ordinary(jpeg, px);
		CHECK_NUMBER(heap.live_count, ==, 0);
	}
	free(jpeg.data);
}

static void check_scales(const struct jpeg_spec *spec, bool is_fine)
{
	check_from(1, spec, is_fine);
}

static struct jpeg_spec spec_of(picture_fn *picture)
{
	return (struct jpeg_spec){ .width = SIDE,
				   .height = SIDE,
				   .picture = picture };
}

static void test_every_coding(void)
{
	struct jpeg_spec spec = spec_of(stripes);

	check_scales(&spec, true);
	spec.optimize = true;
	spec.restart_interval = 5;
	check_scales(&spec, true);
	spec.space = JCS_GRAYSCALE;
	check_scales(&spec, true);
	spec = spec_of(stripes);
	spec.separate_scans = true;
	check_scales(&spec, true);
	spec.shuffle = 3;
	check_scales(&spec, true);
}

/* Coefficients 1, 2 and 4 have enough bits for one large one in each block. */
static double coarse_stripes(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : 128 + 60 * sin(0.6 * x + 0.4 * y);
}

static double slope(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : 40 + x / 4 + y / 10;
}

static void test_progressive(void)
{
	static const int samplings[][2] = { { 1, 1 }, { 2, 1 }, { 2, 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(samplings); i++) {
		struct jpeg_spec spec = spec_of(stripes);

		spec.progressive = true;
		spec.h[0] = samplings[i][0];
		spec.v[0] = samplings[i][1];
		check_from(2, &spec, true);
		spec.picture = waves;
		check_from(2, &spec, false);
	}
}

/* At 1/8, no scan of AC coefficients is read, so 1/8 is avoided. */
static void test_progressive_at_one_eighth(void)
{
	struct jpeg_spec spec = spec_of(coarse_stripes);
	struct img_view view = whole_view((struct img_size){ 50, 50 });
	struct img_transform transform = { 0 };
	struct bytes jpeg;
	struct img_header header;

	spec.progressive = true;
	jpeg = jpeg_make(&spec);
	header = probe(jpeg);
	CHECK(jpeg_own(&header)->scans.is_dense);
	CHECK_NUMBER(img_decode_scale(&header, &view, &transform), ==, 2);
	header.texture = IMG_TEXTURE_IGNORED;
	CHECK_NUMBER(img_decode_scale(&header, &view, &transform), ==, 1);
	free(jpeg.data);

	spec.picture = slope;
	jpeg = jpeg_make(&spec);
	header = probe(jpeg);
	CHECK(!jpeg_own(&header)->scans.is_dense);
	CHECK_NUMBER(img_decode_scale(&header, &view, &transform), ==, 1);
	free(jpeg.data);
}

static void test_every_quality(void)
{
	static const int qualities[] = { 20, 50, 75, 85, 100 };

	for (size_t i = 0; i < ARRAY_SIZE(qualities); i++) {
		struct jpeg_spec fine = spec_of(stripes);
		struct jpeg_spec plain = spec_of(waves);

		fine.quality = plain.quality = qualities[i];
		check_scales(&fine, true);
		check_scales(&plain, false);
	}
}

static void test_parts(void)
{
	struct jpeg_spec spec = spec_of(a_part);

	check_scales(&spec, true);
	spec = spec_of(chroma);
	spec.h[0] = spec.v[0] = 1;
	check_scales(&spec, true);
}

static void test_ordinary_pictures(void)
{
	struct jpeg_spec spec = spec_of(lines);

	check_scales(&spec, false);
	spec.progressive = true;
	check_from(2, &spec, false);
	spec.progressive = false;
	spec.separate_scans = true;
	check_scales(&spec, false);
}

static void test_estimate(void)
{
	struct jpeg_spec spec = spec_of(stripes);
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header = probe(jpeg);
	struct img_view view = whole_view((struct img_size){ 50, 50 });
	struct img_transform transform = { .quality = 80 };
	struct img_cost usual = img_cost(&header, &view, &transform), fine;
	uint32_t n = img_decode_scale(&header, &view, &transform);

	header.texture = IMG_TEXTURE_FINE;
	fine = img_cost(&header, &view, &transform);
	CHECK_NUMBER(img_decode_scale(&header, &view, &transform), >, n);
	CHECK_NUMBER(fine.decode_ns, >, usual.decode_ns);
	CHECK_NUMBER(fine.bytes, >, usual.bytes);
	header.texture = IMG_TEXTURE_IGNORED;
	CHECK_NUMBER(img_decode_scale(&header, &view, &transform), ==, n);
	free(jpeg.data);
}

static void test_a_limit_of_memory(void)
{
	struct jpeg_spec spec = spec_of(stripes);
	struct bytes jpeg = jpeg_make(&spec);
	struct img_limits small = no_limits;
	struct img_header header = probe(jpeg);
	struct image img;
	uint32_t px = target_at((struct img_size){ SIDE, SIDE }, 4).width_px;
	enum img_err err;

	small.decode_bytes_max = SIDE * SIDE;
	err = decode(&img, jpeg, &header, px, &small);
	CHECK_NUMBER(err, ==, IMG_ERR_TEXTURE);
	CHECK(img_decode_again(&header, err));
	err = decode(&img, jpeg, &header, px, &small);
	CHECK_NUMBER(err, ==, IMG_ERR_TOO_LARGE);
	CHECK(img_decode_again(&header, err));
	CHECK_NUMBER(header.texture, ==, IMG_TEXTURE_IGNORED);
	err = decode(&img, jpeg, &header, px, &small);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK(!img_decode_again(&header, err));
	img_release(&img);
	free(jpeg.data);
}

static struct jpeg_spec spec_of_side(picture_fn *picture, uint32_t side_px)
{
	struct jpeg_spec spec = spec_of(picture);

	spec.width = spec.height = side_px;
	return spec;
}

/* At n/8. */
static enum img_err decode_at(struct bytes jpeg,
			      const struct img_header *header, uint32_t n)
{
	struct image img;
	enum img_err err =
		decode(&img, jpeg, header,
		       target_at(header->stored, n).width_px, &no_limits);

	img_release(&img);
	CHECK_NUMBER(heap.live_count, ==, 0);
	return err;
}

/* The frame cuts 9 of 25 blocks, nearly all of which is hidden. */
static void check_hidden(struct jpeg_spec spec)
{
	struct bytes plain, hidden, fine;

	spec.h[0] = spec.v[0] = 1;
	plain = jpeg_make(&spec);
	spec.hidden = stripes;
	hidden = jpeg_make(&spec);
	spec.picture = stripes;
	fine = jpeg_make(&spec);
	for (uint32_t n = spec.progressive ? 2 : 1; n <= 4; n++) {
		struct img_header header = probe(plain);

		CHECK_NUMBER(decode_at(plain, &header, n), ==, IMG_OK);
		header = probe(hidden);
		CHECK_NUMBER(decode_at(hidden, &header, n), !=,
			     IMG_ERR_TEXTURE);
		jpeg_own_change(&header)->needs_all_scans = true;
		CHECK_NUMBER(decode_at(hidden, &header, n), ==, IMG_OK);
		header = probe(fine);
		CHECK_NUMBER(decode_at(fine, &header, n), ==, IMG_ERR_TEXTURE);
	}
	free(plain.data);
	free(hidden.data);
	free(fine.data);
}

static void test_hidden_samples_are_not_texture(void)
{
	struct jpeg_spec spec = spec_of_side(slope, 33);

	check_hidden(spec);
	spec.separate_scans = true;
	check_hidden(spec);
	spec.separate_scans = false;
	spec.progressive = true;
	check_hidden(spec);
}

static double black(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 0;
}

/* Stripes that have only the last coefficient of each row. */
static double finest(uint32_t component, double x, double y)
{
	(void)y;
	return component > 0 ? 128 : 128 + 60 * cos(M_PI * 7 / 8 * x);
}

/* At 1/8 the texture is not known before all scans are read, for the edge. */
static void test_all_scans_and_fine(void)
{
	struct jpeg_spec spec = spec_of_side(finest, SIDE - 5);
	struct bytes jpeg;
	struct img_header header;
	enum img_err err;

	spec.progressive = true;
	spec.hidden = black;
	jpeg = jpeg_make(&spec);
	header = probe(jpeg);
	CHECK(!jpeg_own(&header)->scans.is_dense);
	err = decode_at(jpeg, &header, 1);
	CHECK_NUMBER(err, ==, IMG_ERR_NEEDS_ALL_SCANS);
	CHECK(img_decode_again(&header, err));
	err = decode_at(jpeg, &header, 1);
	CHECK_NUMBER(err, ==, IMG_ERR_TEXTURE);
	CHECK(img_decode_again(&header, err));
	CHECK(jpeg_own(&header)->needs_all_scans);
	CHECK_NUMBER(header.texture, ==, IMG_TEXTURE_FINE);
	CHECK_NUMBER(decode_at(jpeg, &header, 1), ==, IMG_OK);
	free(jpeg.data);
}

int main(void)
{
	heap_init(&heap);
	test_every_coding();
	test_progressive();
	test_progressive_at_one_eighth();
	test_every_quality();
	test_parts();
	test_ordinary_pictures();
	test_estimate();
	test_a_limit_of_memory();
	test_hidden_samples_are_not_texture();
	test_all_scans_and_fine();
	return 0;
}
