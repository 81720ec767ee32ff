/* SPDX-License-Identifier: MIT */
/*
 * Promises: AVIFs of every depth, subsampling, range and matrix, with alpha, a
 * profile, an orientation, in a grid and of several frames are read as their
 * samples mean; a header is the same however the file arrives; one that is
 * wrong or over a limit is named, and no damage does more than that; results
 * have the samples, profile and alpha of the picture, if lossless exactly, and
 * say what they mean.  A gain map is read, and written where libavif can.
 */
#include "imgops/test/avif_gainmap.h"
#include "imgops/test/avifs.h"
#include "imgops/test/gainmaps.h"
#include "imgops/test/profiles.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <avif/avif.h>

enum { WIDTH = AVIF_TEST_WIDTH, HEIGHT = AVIF_TEST_HEIGHT };

static const uint32_t depths[] = { 8, 10, 12 };

static void decode(struct image *img, struct bytes file, struct heap *h)
{
	heap_init(h);
	CHECK_NUMBER(decode_bytes(img, file.data, file.count, &no_limits, h),
		     ==, IMG_OK);
	CHECK_NUMBER(img->notes, ==, 0);
}

static void finish(struct image *img, struct bytes file, const struct heap *h)
{
	img_release(img);
	free(file.data);
	CHECK_NUMBER(h->live_count, ==, 0);
}

static void test_headers(void)
{
	static const struct {
		struct avif_spec spec;
		enum img_space space;
		uint32_t h, v;
	} cases[] = {
		{ { .format = 444 }, IMG_YCBCR, 1, 1 },
		{ { .format = 422, .depth = 10 }, IMG_YCBCR, 2, 1 },
		{ { .format = 420, .matrix = 2 }, IMG_YCBCR, 2, 2 },
		{ { .format = 420, .matrix = 5, .frames = 3 },
		  IMG_YCBCR,
		  2,
		  2 },
		{ { .format = 400, .depth = 12 }, IMG_GREY, 1, 1 },
		{ { .format = 420, .matrix = 1 }, IMG_RGB, 1, 1 },
		{ { .format = 420, .matrix = 9 }, IMG_RGB, 1, 1 },
		{ { .is_identity = true }, IMG_RGB, 1, 1 },
		{ { .has_alpha = true, .frames = 2 }, IMG_RGBA, 1, 1 },
		{ { .format = 400, .has_alpha = true }, IMG_RGBA, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = avif_make(&cases[i].spec);
		struct img_header h;

		check_case("cases[%zu]", i);
		CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
		CHECK_NUMBER(h.format, ==, img_formats[IMG_FORMAT_AVIF]);
		CHECK_NUMBER(h.stored.width_px, ==, WIDTH);
		CHECK_NUMBER(h.stored.height_px, ==, HEIGHT);
		CHECK_NUMBER(h.space, ==, cases[i].space);
		CHECK_NUMBER(h.h_factors[0], ==, cases[i].h);
		CHECK_NUMBER(h.v_factors[0], ==, cases[i].v);
		CHECK_NUMBER(h.orientation, ==, 1);
		CHECK_NUMBER(h.frames, ==, cases[i].spec.frames);
		check_arrival(file, true);
		free(file.data);
	}
}

/* Turned anticlockwise first; then mirror 0 swaps top and bottom. */
static void test_orientation(void)
{
	static const uint32_t wanted[4][3] = {
		{ 1, 4, 2 }, { 8, 5, 7 }, { 3, 2, 4 }, { 6, 7, 5 }
	};

	for (uint8_t angle = 0; angle < 4; angle++)
		for (uint8_t kind = 0; kind < 3; kind++) {
			struct avif_spec spec = {
				.is_turned = angle > 0,
				.angle = angle,
				.is_mirrored = kind > 0,
				.mirror = (uint8_t)(kind == 2),
			};
			struct bytes file = avif_make(&spec);
			struct img_header h;

			CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
			CHECK_NUMBER(h.orientation, ==, wanted[angle][kind]);
			CHECK_NUMBER(h.upright.width_px, ==,
				     (angle % 2 ? HEIGHT : WIDTH));
			free(file.data);
		}
}

/* --- Samples --- */

/* -0.5..0.5 for chroma, else 0..1. */
static double level(const struct avif_spec *s, uint32_t plane, uint32_t x,
		    uint32_t y)
{
	uint32_t depth = s->depth == 0 ? 8 : s->depth;
	double step = 1u << (depth - 8), v = avif_sample(s, plane, x, y);
	bool is_chroma = (plane == 1 || plane == 2) && !s->is_identity;

	if (is_chroma)
		return (v - 128 * step) /
		       (s->is_limited ? 224 * step : 256 * step - 1);
	if (plane == 3 || !s->is_limited)
		return v / (256 * step - 1);
	return (v - 16 * step) / (219 * step);
}

static double byte_of(double v)
{
	return fmin(fmax(v * 255, 0), 255);
}

static void check_planes(const struct avif_spec *spec)
{
	struct bytes file = avif_make(spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.plane_count, ==, (spec->format == 400 ? 1 : 3));
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				double v = byte_of(level(spec, i, x, y) +
						   (i > 0 ? 128 / 255.0 : 0));

				CHECK_NUMBER(fabs(sample(p, x, y) - v), <=,
					     0.5 + 1e-6);
			}
	}
	finish(&img, file, &h);
}

static void test_planes(void)
{
	static const uint32_t formats[] = { 444, 422, 420, 400 };

	for (size_t f = 0; f < ARRAY_SIZE(formats); f++)
		for (size_t d = 0; d < ARRAY_SIZE(depths); d++)
			for (int is_limited = 0; is_limited < 2; is_limited++) {
				struct avif_spec spec = {
					.format = formats[f],
					.depth = depths[d],
					.is_limited = is_limited,
				};

				check_case("%u, %u bits, %d", formats[f],
					   depths[d], is_limited);
				check_planes(&spec);
			}
}

/* R, G and B of a pixel in 4:4:4. */
static void reference(double rgb[3], const struct avif_spec *s, uint32_t x,
		      uint32_t y)
{
	double kr = s->matrix == 1 ? 0.2126 : s->matrix == 9 ? 0.2627 : 0.299;
	double kb = s->matrix == 1 ? 0.0722 : s->matrix == 9 ? 0.0593 : 0.114;
	double luma = level(s, 0, x, y), cb = level(s, 1, x, y);
	double cr = level(s, 2, x, y);

	rgb[0] = byte_of(luma + 2 * (1 - kr) * cr);
	rgb[2] = byte_of(luma + 2 * (1 - kb) * cb);
	rgb[1] = byte_of(luma -
			 (2 * (1 - kr) * kr * cr + 2 * (1 - kb) * kb * cb) /
				 (1 - kr - kb));
	if (!s->is_identity)
		return;
	rgb[0] = byte_of(cr);
	rgb[1] = byte_of(luma);
	rgb[2] = byte_of(cb);
}

static void check_pixels(const struct avif_spec *spec)
{
	struct bytes file = avif_make(spec);
	struct image img = { 0 };
	struct heap h;
	bool has_alpha = spec->has_alpha && !spec->is_opaque;

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, (has_alpha ? IMG_RGBA : IMG_RGB));
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			double share = has_alpha ? level(spec, 3, x, y) : 1;
			double rgb[3];

			reference(rgb, spec, x, y);
			for (uint32_t i = 0; i < 3; i++)
				CHECK_NUMBER(fabs(sample(&img.planes[i], x, y) -
						  rgb[i] * share),
					     <=, 3);
			if (has_alpha)
				CHECK_NUMBER(fabs(sample(&img.planes[3], x, y) -
						  share * 255),
					     <=, 0.5 + 1e-6);
		}
	finish(&img, file, &h);
}

static void test_pixels(void)
{
	static const uint32_t matrices[] = { 1, 9 };

	for (size_t d = 0; d < ARRAY_SIZE(depths); d++)
		for (int kind = 0; kind < 6; kind++) {
			struct avif_spec spec = { .depth = depths[d],
						  .has_alpha = kind >= 2,
						  .is_opaque = kind >= 4,
						  .is_limited = kind & 1 };

			check_case("%u bits, %d", depths[d], kind);
			for (size_t m = 0; m < ARRAY_SIZE(matrices); m++) {
				spec.matrix = matrices[m];
				check_pixels(&spec);
			}
			spec = (struct avif_spec){ .depth = depths[d],
						   .is_identity = true,
						   .has_alpha = kind >= 2,
						   .is_opaque = kind >= 4 };
			check_pixels(&spec);
		}
}

enum { CUT_WIDTH = 40, CUT_HEIGHT = 30, CUT_TOP = 6 };

/* The part of CUT_WIDTH x CUT_HEIGHT at `left` and CUT_TOP. */
static void set_aperture(struct avif_spec *spec, int left)
{
	const int64_t values[] = {
		CUT_WIDTH,
		1,
		CUT_HEIGHT,
		1,
		2 * left - (WIDTH - CUT_WIDTH),
		2,
		2 * CUT_TOP - (HEIGHT - CUT_HEIGHT),
		2,
	};

	spec->is_cut = true;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		spec->aperture[i] = (uint32_t)values[i];
}

/* The part has the same samples as the whole. */
static void check_aperture(struct avif_spec spec, uint32_t left)
{
	struct bytes all = avif_make(&spec), file;
	struct image whole = { 0 }, part = { 0 };
	struct heap h, of_whole;

	set_aperture(&spec, (int)left);
	file = avif_make(&spec);
	decode(&whole, all, &of_whole);
	decode(&part, file, &h);
	CHECK_NUMBER(part.planes[0].width, ==, CUT_WIDTH);
	CHECK_NUMBER(part.planes[0].height, ==, CUT_HEIGHT);
	CHECK_NUMBER(part.plane_count, ==, whole.plane_count);
	CHECK_NUMBER(part.space, ==, whole.space);
	for (uint32_t i = 0; i < part.plane_count; i++) {
		const struct img_plane *p = &part.planes[i];
		uint32_t by = p->width < CUT_WIDTH ? 2 : 1;
		uint32_t down = p->height < CUT_HEIGHT ? 2 : 1;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				CHECK_NUMBER(sample(p, x, y), ==,
					     sample(&whole.planes[i],
						    x + left / by,
						    y + CUT_TOP / down));
	}
	finish(&part, file, &h);
	finish(&whole, all, &of_whole);
}

static void test_aperture(void)
{
	static const struct avif_spec specs[] = {
		{ .format = 444 },
		{ .format = 420 },
		{ .format = 422, .depth = 10 },
		{ .format = 400 },
		{ .format = 444, .matrix = 1 },
		{ .format = 444, .has_alpha = true },
	};
	struct avif_spec odd = { .format = 420 };
	struct img_header header;
	struct bytes file;

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		check_case("specs[%zu]", i);
		check_aperture(specs[i], 10);
	}
	check_aperture(specs[0], 11);
	/* Within a sample of chroma: pixels are cut. */
	set_aperture(&odd, 11);
	file = avif_make(&odd);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK_NUMBER(header.space, ==, IMG_RGB);
	CHECK_NUMBER(header.stored.width_px, ==, CUT_WIDTH);
	free(file.data);
}

/* One that makes no sense is ignored. */
static void test_wrong_apertures(void)
{
	static const struct {
		size_t index;
		uint32_t value;
	} wrong[] = {
		{ 0, 0 },          { 0, WIDTH + 1 },  { 0, 0xffffffff },
		{ 1, 0 },          { 1, 3 },          { 3, 0x80000000 },
		{ 4, 0x7fffffff }, { 4, 0x80000000 }, { 4, 2 },
		{ 5, 0 },          { 7, 0xffffffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct avif_spec spec = { .format = 420 };
		struct img_header header;
		struct bytes file;

		check_case("wrong[%zu]", i);
		set_aperture(&spec, 10);
		spec.aperture[wrong[i].index] = wrong[i].value;
		file = avif_make(&spec);
		CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
		CHECK_NUMBER(header.stored.width_px, ==, WIDTH);
		free(file.data);
	}
}

static void test_grid(void)
{
	struct avif_spec spec = {
		.width = 64, .height = 66, .format = 420, .columns = 3
	};
	struct bytes file = avif_make(&spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.planes[0].width, ==, 192);
	CHECK_NUMBER(img.planes[0].height, ==, 132);
	for (uint32_t y = 0; y < 132; y++)
		for (uint32_t x = 0; x < 192; x++)
			CHECK_NUMBER(sample(&img.planes[0], x, y), ==,
				     avif_sample(&spec, 0, x % 64, y % 66));
	finish(&img, file, &h);
}

static void test_profile(void)
{
	struct bytes icc = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct avif_spec spec = { .icc = icc };
	struct bytes file = avif_make(&spec);
	struct img_header header;
	struct image img = { 0 };
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK_NUMBER(header.icc_bytes, ==, icc.count);
	CHECK_NUMBER(header.profile, ==, IMG_PROFILE_MATRIX);
	decode(&img, file, &h);
	CHECK_NUMBER(img.profile_bytes, ==, icc.count);
	CHECK(memcmp(img.profile, icc.data, icc.count) == 0);
	finish(&img, file, &h);
	free(icc.data);
}

/* Display P3 and PQ get a profile; colours of video do not. */
static void test_codes(void)
{
	static const struct {
		struct avif_spec spec;
		enum img_profile profile;
	} cases[] = {
		{ { .primaries = 12 }, IMG_PROFILE_MATRIX },
		{ { .primaries = 9, .curve = 14 }, IMG_PROFILE_MATRIX },
		{ { .primaries = 1, .curve = 1 }, IMG_PROFILE_UNKNOWN },
		{ { .primaries = 2, .curve = 2 }, IMG_PROFILE_UNKNOWN },
		{ { .primaries = 9, .curve = 16 }, IMG_PROFILE_MATRIX },
		{ { .primaries = 9, .curve = 18 }, IMG_PROFILE_MATRIX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = avif_make(&cases[i].spec);
		struct img_header header;
		struct image img = { 0 };
		struct heap h;

		check_case("cases[%zu]", i);
		CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
		CHECK_NUMBER(header.profile, ==, cases[i].profile);
		decode(&img, file, &h);
		CHECK_NUMBER(img.profile_bytes, ==, header.icc_bytes);
		CHECK((img.profile_bytes > 0) ==
		      (cases[i].profile == IMG_PROFILE_MATRIX));
		finish(&img, file, &h);
	}
}

/* --- What is wrong --- */

static void check_wrong(const char *type, int at, uint8_t byte,
			enum img_err wanted)
{
	struct avif_spec spec = { 0 };
	struct bytes file = avif_make(&spec);
	struct img_header h;

	check_case("%s, %d", type, at);
	avif_box(file, type)[at] = byte;
	CHECK_NUMBER(probe_bytes(&h, file), ==, wanted);
	free(file.data);
}

static void test_wrong_headers(void)
{
	check_wrong("ispe", 7, 0, IMG_ERR_CORRUPT);
	check_wrong("ispe", 4, 1, IMG_ERR_TOO_LARGE);
	check_wrong("hdlr", 8, 'v', IMG_ERR_CORRUPT);
	check_wrong("pitm", 5, 9, IMG_ERR_CORRUPT);
	check_wrong("infe", 8, 'h', IMG_ERR_UNSUPPORTED);
	check_wrong("meta", 0, 0, IMG_OK);
	/* Sizes of boxes. */
	check_wrong("ftyp", -4, 'x', IMG_ERR_UNKNOWN_FORMAT);
	check_wrong("meta", -8, 1, IMG_ERR_CORRUPT);
	check_wrong("meta", -7, 1, IMG_ERR_TRUNCATED);
	check_wrong("iprp", -8, 1, IMG_ERR_CORRUPT);
	check_wrong("ipco", -8, 1, IMG_ERR_CORRUPT);
	check_wrong("ipma", -8, 1, IMG_ERR_CORRUPT);
	check_wrong("av1C", -1, 'x', IMG_ERR_CORRUPT);
}

/* Each cell has four times the pixels that the file says. */
static void test_larger_cells(void)
{
	static const uint8_t grid[] = { 0, 0, 1, 1, 1, 0, 1, 0 };
	struct avif_spec spec = { .width = 128, .height = 128, .columns = 2 };
	struct bytes file = avif_make(&spec);
	uint8_t *rest = file.data, *end = file.data + file.count;
	struct image img = { 0 };
	uint32_t sizes = 0;
	struct heap h;

	while ((rest = memmem(rest, (size_t)(end - rest), "ispe", 4)) != NULL) {
		rest += 4 + 4; /* then two sides, of 128 or 256 */
		for (uint32_t i = 0; i < 2; i++, rest += 4) {
			uint32_t side = (uint32_t)rest[2] << 8 | rest[3];

			rest[2] = 0;
			rest[3] = (uint8_t)(side / 2);
		}
		sizes++;
	}
	CHECK_NUMBER(sizes, ==, 2);
	rest = memmem(file.data, file.count, grid, sizeof(grid));
	CHECK(rest != NULL);
	rest[4] = rest[6] = 0;
	rest[5] = rest[7] = 128;
	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, file.data, file.count, &no_limits, &h),
		     ==, IMG_ERR_CORRUPT);
	free(file.data);
}

/* One of several layers, and alpha of other cells, are not read. */
static void test_what_is_not_read(void)
{
	static const struct {
		struct avif_spec spec;
		const char *from, *to;
	} cases[] = {
		{ { .is_turned = true, .angle = 1 }, "irot", "lsel" },
		{ { .has_alpha = true }, "ispe", "free" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = avif_make(&cases[i].spec);
		struct img_header header;
		uint8_t *name = avif_box(file, cases[i].from) - 4;

		check_case("cases[%zu]", i);
		memcpy(name, cases[i].to, 4);
		CHECK_NUMBER(probe_bytes(&header, file), !=, IMG_OK);
		memcpy(name, cases[i].from, 4);
		CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
		free(file.data);
	}
}

/* Whatever byte is wrong, there is a picture or an error, and no leak. */
static void test_damage(void)
{
	static const struct avif_spec specs[] = {
		{ .format = 420, .matrix = 1, .has_alpha = true },
		{ .width = 64, .height = 64, .columns = 2 },
		{ .frames = 2 }, /* libavif 1.2.1 cannot turn it */
		{ .is_turned = true, .angle = 1 },
	};
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	for (size_t s = 0; s < ARRAY_SIZE(specs); s++) {
		struct bytes file = avif_make(&specs[s]);
		size_t most = file.count < 900 ? file.count : 900;

		for (size_t i = 0; i < most; i++) {
			uint8_t good = file.data[i];

			check_case("specs[%zu], byte %zu", s, i);
			file.data[i] = (uint8_t)(good ^ (1u << i % 8));
			if (decode_bytes(&img, file.data, file.count,
					 &no_limits, &h) == IMG_OK)
				img_release(&img);
			file.data[i] = good;
		}
		free(file.data);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* There is nothing to show, also if `lenient`. */
static void test_cut(void)
{
	struct img_transform t = { .quality = 80 };
	struct avif_spec spec = { 0 };
	struct bytes file = avif_make(&spec);
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	for (int i = 0; i < 8; i++) {
		t.lenient = i & 1;
		CHECK_NUMBER(
			decode_transform(&img, file.data,
					 file.count - 1 -
						 file.count * (size_t)i / 12,
					 &t, &no_limits, &h),
			==, IMG_ERR_TRUNCATED);
	}
	free(file.data);
}

static void test_limits(void)
{
	struct avif_spec spec = { 0 };
	struct bytes file = avif_make(&spec);
	struct img_limits l = no_limits;
	struct img_header header;
	struct heap h;

	heap_init(&h);
	l.pixels_max = WIDTH * HEIGHT - 1;
	CHECK_NUMBER(img_probe(&header, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(header.stored.width_px, ==, WIDTH);
	l.pixels_max++;
	l.decode_bytes_max = 1 << 20; /* libavif's memory counts */
	CHECK_NUMBER(decode_limits(file, &l, &h), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.alloc_count, ==, 0);
	free(file.data);
}

/* --- Results --- */

static uint8_t picked(uint32_t plane, uint32_t x, uint32_t y)
{
	return (uint8_t)(60 + (x * 2 + y * 3 + plane * 50) % 120);
}

/* In RGBA, colours are multiplied by alpha, which is 255 or 0. */
static void result_make(struct bytes *file, enum img_space space,
			const struct img_transform *t, struct bytes icc,
			struct heap *h)
{
	struct image img = { 0 };
	uint8_t *out = NULL;

	heap_init(h);
	image_shape(&img, (struct img_size){ WIDTH, HEIGHT }, space,
		    t->chroma == IMG_CHROMA_444);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++)
				img.planes[i].samples
					[y * img.planes[i].stride_bytes + x] =
					space != IMG_RGBA ? picked(i, x, y) :
					x < WIDTH / 2     ? 0 :
					i == 3            ? 255 :
							    picked(i, x, y);
	if (icc.count > 0) {
		img.profile = memory_alloc(&h->memory, icc.count);
		memcpy(img.profile, icc.data, icc.count);
		img.profile_bytes = icc.count;
	}
	CHECK_NUMBER(img_encode(&out, &file->count, &img, t, &h->memory), ==,
		     IMG_OK);
	img_release(&img);
	file->data = malloc(file->count);
	CHECK(file->data != NULL);
	memcpy(file->data, out, file->count);
	memory_free(&h->memory, out);
	CHECK_NUMBER(h->live_count, ==, 0);
}

static void check_result(enum img_space space, const struct img_transform *t,
			 int most_off)
{
	struct bytes file;
	struct image img = { 0 };
	struct heap h;

	result_make(&file, space, t, (struct bytes){ 0 }, &h);
	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, space);
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++) {
				int v = sample(&img.planes[i], x, y);
				int wanted = space != IMG_RGBA ?
						     picked(i, x, y) :
					     x < WIDTH / 2 ? 0 :
					     i == 3        ? 255 :
							     picked(i, x, y);

				CHECK_NUMBER(abs(v - wanted), <=, most_off);
			}
	finish(&img, file, &h);
}

static void test_results(void)
{
	struct img_transform t = { .quality = 100, .format = IMG_FORMAT_AVIF };

	check_result(IMG_GREY, &t, 0);
	check_result(IMG_YCBCR, &t, 0);
	t.chroma = IMG_CHROMA_444;
	check_result(IMG_YCBCR, &t, 0);
	check_result(IMG_RGBA, &t, 3);
	t.chroma = IMG_CHROMA_420;
	t.lossless = true;
	t.quality = 1;
	check_result(IMG_GREY, &t, 0);
	check_result(IMG_RGB, &t, 0);
	check_result(IMG_RGBA, &t, 0);
	t.lossless = false;
	t.quality = 80;
	for (t.effort = 0; t.effort <= 9; t.effort++)
		check_result(IMG_YCBCR, &t, 60);
}

static void check_meaning(enum img_space space, bool is_lossless,
			  avifPixelFormat format, struct bytes icc)
{
	struct img_transform t = { .quality = 80,
				   .lossless = is_lossless,
				   .format = IMG_FORMAT_AVIF };
	avifDecoder *d = avifDecoderCreate();
	struct bytes file;
	struct heap h;

	result_make(&file, space, &t, icc, &h);
	CHECK_NUMBER(avifDecoderSetIOMemory(d, file.data, file.count), ==,
		     AVIF_RESULT_OK);
	CHECK_NUMBER(avifDecoderParse(d), ==, AVIF_RESULT_OK);
	CHECK_NUMBER(d->image->depth, ==, 8);
	CHECK_NUMBER(d->image->yuvFormat, ==, format);
	CHECK_NUMBER(d->image->yuvRange, ==, AVIF_RANGE_FULL);
	CHECK_NUMBER(d->image->colorPrimaries, ==, 1);
	CHECK_NUMBER(d->image->transferCharacteristics, ==, 13);
	CHECK_NUMBER(d->image->matrixCoefficients, ==,
		     (is_lossless && space != IMG_GREY ? 0 : 6));
	CHECK_NUMBER(d->image->icc.size, ==, icc.count);
	CHECK(icc.count == 0 ||
	      memcmp(d->image->icc.data, icc.data, icc.count) == 0);
	CHECK_NUMBER(d->alphaPresent, ==, space == IMG_RGBA);
	avifDecoderDestroy(d);
	free(file.data);
}

static void test_meaning(void)
{
	struct bytes none = { 0 };
	struct bytes icc = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);

	check_meaning(IMG_GREY, false, AVIF_PIXEL_FORMAT_YUV400, none);
	check_meaning(IMG_YCBCR, false, AVIF_PIXEL_FORMAT_YUV420, icc);
	check_meaning(IMG_RGBA, false, AVIF_PIXEL_FORMAT_YUV420, icc);
	check_meaning(IMG_RGB, true, AVIF_PIXEL_FORMAT_YUV444, icc);
	check_meaning(IMG_RGBA, true, AVIF_PIXEL_FORMAT_YUV444, none);
	free(icc.data);
}

/* With IMG_CHROMA_AUTO, in stripes of red and blue that are `wide_px` wide. */
static avifPixelFormat stripes_become(uint32_t wide_px)
{
	struct img_transform t = { .quality = 80,
				   .chroma = IMG_CHROMA_AUTO,
				   .format = IMG_FORMAT_AVIF };
	avifDecoder *d = avifDecoderCreate();
	avifPixelFormat format;
	struct image img = { 0 };
	uint8_t *bytes;
	size_t count;
	struct heap h;

	heap_init(&h);
	image_shape(&img, (struct img_size){ 320, 40 }, IMG_RGBA, true);
	CHECK(image_alloc(&img, &h.memory));
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t y = 0; y < 40; y++)
			for (uint32_t x = 0; x < 320; x++)
				image_row(&img, i, y)[x] =
					i == 3 || i == x / wide_px % 2 * 2 ?
						255 :
						0;
	CHECK_NUMBER(img_encode(&bytes, &count, &img, &t, &h.memory), ==,
		     IMG_OK);
	CHECK_NUMBER(avifDecoderSetIOMemory(d, bytes, count), ==,
		     AVIF_RESULT_OK);
	CHECK_NUMBER(avifDecoderParse(d), ==, AVIF_RESULT_OK);
	format = d->image->yuvFormat;
	avifDecoderDestroy(d);
	img_release(&img);
	memory_free(&h.memory, bytes);
	CHECK_NUMBER(h.live_count, ==, 0);
	return format;
}

static void test_colours_decide_with_alpha_too(void)
{
	CHECK_NUMBER(stripes_become(1), ==, AVIF_PIXEL_FORMAT_YUV444);
	CHECK_NUMBER(stripes_become(3), ==, AVIF_PIXEL_FORMAT_YUV444);
	CHECK_NUMBER(stripes_become(160), ==, AVIF_PIXEL_FORMAT_YUV420);
}

/* A better quality takes more bytes, and comes closer. */
static void test_quality(void)
{
	struct img_transform t = { .format = IMG_FORMAT_AVIF };
	struct bytes none = { 0 };
	size_t last = 0;

	for (t.quality = 10; t.quality <= 90; t.quality += 20) {
		struct bytes file;
		struct heap h;

		result_make(&file, IMG_YCBCR, &t, none, &h);
		CHECK_NUMBER(file.count, >, last);
		last = file.count;
		free(file.data);
	}
}

/* --- Gain maps --- */

static const struct img_transform keep = { .format = IMG_FORMAT_AVIF,
					   .quality = 90,
					   .keep_gainmap = true };

static void decode_kept(struct image *img, struct bytes file, struct heap *h)
{
	CHECK_NUMBER(decode_transform(img, file.data, file.count, &keep,
				      &no_limits, h),
		     ==, IMG_OK);
}

static void test_gainmap_of_another_writer(void)
{
	/* As avifgainmaputil itself reads row 2 of the map. */
	static const uint8_t row[] = { 27,  26,  21, 42, 217, 245,
				       243, 162, 21, 17, 11,  7 };
	const struct bytes file = { malloc(sizeof(gainmap_file)),
				    sizeof(gainmap_file) };
	const struct img_gainmap *map;
	struct image img = { 0 };
	struct heap h;

	CHECK(file.data != NULL);
	memcpy(file.data, gainmap_file, sizeof(gainmap_file));
	heap_init(&h);
	decode_kept(&img, file, &h);
	CHECK_NUMBER(img.notes, ==, 0);
	map = img.gainmap;
	CHECK(map != NULL);
	CHECK_NUMBER(map->stored.width_px, ==, 12);
	CHECK_NUMBER(map->base_stored.height_px, ==, 16);
	CHECK_NUMBER(map->gain.channel_count, ==, 1);
	CHECK_NUMBER(map->gain.base_headroom, ==, 0);
	CHECK_NUMBER(map->gain.other_headroom, ==, 14900981 / 4194304.0);
	CHECK_NUMBER(map->gain.channels[0].min, ==, -3826091 / 4194304.0);
	CHECK_NUMBER(map->gain.channels[0].max, ==, 2316815 / 524288.0);
	CHECK_NUMBER(map->image.space, ==, IMG_GREY);
	for (uint32_t x = 0; x < ARRAY_SIZE(row); x++)
		CHECK_NUMBER(sample(&map->image.planes[0], x, 2), ==, row[x]);
	finish(&img, file, &h);
}

/* Samples differ by `most` on average, in each plane. */
static void check_alike(const struct image *before, const struct image *after,
			uint32_t most)
{
	CHECK_NUMBER(before->space, ==, after->space);
	for (uint32_t i = 0; i < before->plane_count; i++) {
		const struct img_plane *a = &before->planes[i];
		const struct img_plane *b = &after->planes[i];
		uint64_t sum = 0;

		CHECK_NUMBER(a->width, ==, b->width);
		CHECK_NUMBER(a->height, ==, b->height);
		for (uint32_t y = 0; y < a->height; y++)
			for (uint32_t x = 0; x < a->width; x++)
				sum += (uint64_t)abs(sample(a, x, y) -
						     sample(b, x, y));
		CHECK_NUMBER(sum, <=, (uint64_t)most * a->width * a->height);
	}
}

/*
 * The JPEG's map goes on in an AVIF, and that can be read again.  The largest
 * block of the encoder: the bytes that libavif may need are held by it.
 */
static size_t check_gainmap_result(const struct gainmap_spec *spec,
				   bool lossless)
{
	struct img_transform t = keep;
	struct bytes file = gainmap_make(spec), out;
	struct image decoded, scaled = { 0 }, again;
	struct img_header header;
	struct img_view view;
	struct heap h;
	size_t held_bytes;

	heap_init(&h);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	t.lossless = lossless;
	view = img_fit(&header, &t);
	decode_kept(&decoded, file, &h);
	CHECK_NUMBER(img_scale(&scaled, &decoded, &view, &t, &h.memory), ==,
		     IMG_OK);
	CHECK_NUMBER(scaled.notes, ==, 0);
	h.largest_bytes = 0;
	CHECK_NUMBER(img_encode(&out.data, &out.count, &scaled, &t, &h.memory),
		     ==, IMG_OK);
	held_bytes = h.largest_bytes;
	decode_kept(&again, out, &h);
	CHECK_NUMBER(again.notes, ==, 0);
	CHECK(again.gainmap != NULL);
	CHECK_NUMBER(memcmp(&again.gainmap->gain.channels,
			    &spec->gain->channels,
			    spec->gain->channel_count *
				    sizeof(spec->gain->channels[0])),
		     ==, 0);
	CHECK_NUMBER(again.gainmap->gain.other_headroom, ==,
		     spec->gain->other_headroom);
	check_alike(&scaled.gainmap->image, &again.gainmap->image,
		    lossless ? 0 : 3);
	CHECK((scaled.gainmap->image.profile == NULL) ==
	      (again.gainmap->image.profile == NULL));
	memory_free(&h.memory, out.data);
	img_release(&again);
	img_release(&scaled);
	img_release(&decoded);
	free(file.data);
	CHECK_NUMBER(h.live_count, ==, 0);
	return held_bytes;
}

static void test_gainmap_results(void)
{
	struct bytes p3 = profile_rgb(&gamuts[DISPLAY_P3], CURVE_SRGB, 0);
	struct gainmap_spec spec = {
		.base = { .width = 96, .height = 64, .picture = waves },
		.map = { .width = 48,
			 .height = 32,
			 .picture = waves,
			 .space = JCS_GRAYSCALE },
		.gain = &gainmap_usual,
	};
	struct gainmap_spec less_chroma;

	if (!img_keeps_gainmap(&keep)) {
		(void)printf("skipped: a result with a gain map: libavif is "
			     "older than 1.2\n");
		free(p3.data);
		return;
	}
	for (int lossless = 0; lossless < 2; lossless++)
		(void)check_gainmap_result(&spec, lossless);
	spec.gain = &gainmap_coloured;
	spec.map.space = JCS_YCbCr;
	for (int lossless = 0; lossless < 2; lossless++)
		(void)check_gainmap_result(&spec, lossless);
	less_chroma = spec;
	less_chroma.map.h[0] = less_chroma.map.v[0] = 2;
	CHECK_NUMBER(check_gainmap_result(&spec, false), >,
		     check_gainmap_result(&less_chroma, false));
	spec.profile = p3;
	for (int lossless = 0; lossless < 2; lossless++)
		(void)check_gainmap_result(&spec, lossless);
	free(p3.data);
}

int main(void)
{
	test_headers();
	test_orientation();
	test_planes();
	test_pixels();
	test_aperture();
	test_wrong_apertures();
	test_grid();
	test_profile();
	test_codes();
	test_wrong_headers();
	test_larger_cells();
	test_what_is_not_read();
	test_damage();
	test_cut();
	test_limits();
	test_results();
	test_meaning();
	test_colours_decide_with_alpha_too();
	test_quality();
	test_gainmap_of_another_writer();
	test_gainmap_results();
	return 0;
}
