/* SPDX-License-Identifier: MIT */
/*
 * Promises: HEICs of every depth, subsampling, range and matrix, with alpha, a
 * profile, an orientation, in a grid as phones write it, with their auxiliary
 * pictures, wherever their parts are in the file, are read as their samples
 * mean; a gain map, of Apple's kind or of ISO 21496-1, is kept if that is asked
 * for, and one that is broken only noted; a header is the same however the file
 * arrives; one that is wrong or
 * over a limit is named, and no damage does more than that; without the
 * program there is no decoder.
 */
#include "imgops/test/heics.h"

#include "base/test/check.h"
#include "imgops/formats/heic/heic.h"
#include "imgops/test/gainmaps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = HEIC_TEST_WIDTH, HEIGHT = HEIC_TEST_HEIGHT };

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

/* The error of decoding it. */
static enum img_err error_of(struct bytes file)
{
	struct heap h;
	enum img_err err;

	heap_init(&h);
	err = decode_limits(file, &no_limits, &h);
	CHECK_NUMBER(h.live_count, ==, 0);
	return err;
}

static void test_headers(void)
{
	static const struct {
		struct heic_spec spec;
		enum img_space space;
		uint32_t h, v;
	} cases[] = {
		{ { .format = 444 }, IMG_YCBCR, 1, 1 },
		{ { .format = 422, .depth = 10 }, IMG_YCBCR, 2, 1 },
		{ { .format = 420, .matrix = 2 }, IMG_YCBCR, 2, 2 },
		{ { .matrix = 5, .cell = 32 }, IMG_YCBCR, 2, 2 },
		{ { .cell = 32, .has_coloured_cells = true }, IMG_YCBCR, 2, 2 },
		{ { .format = 400, .depth = 12 }, IMG_GREY, 1, 1 },
		{ { .matrix = 1, .has_thumbnail = true }, IMG_RGB, 1, 1 },
		{ { .matrix = 9, .has_depth = true }, IMG_RGB, 1, 1 },
		/* It may turn out to be Y'CbCr. */
		{ { .has_no_box = true }, IMG_RGB, 1, 1 },
		{ { .has_alpha = true, .has_gainmap = true }, IMG_RGBA, 1, 1 },
		{ { .format = 400, .has_alpha = true }, IMG_RGBA, 1, 1 },
		/* The orientation is not that of EXIF. */
		{ { .has_exif = true, .is_at_end = true }, IMG_YCBCR, 2, 2 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes file = heic_make(&cases[i].spec);
		struct img_header h;

		check_case("cases[%zu]", i);
		CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
		CHECK_NUMBER(h.format, ==, img_formats[IMG_FORMAT_HEIC]);
		CHECK_NUMBER(h.stored.width_px, ==, WIDTH);
		CHECK_NUMBER(h.stored.height_px, ==, HEIGHT);
		CHECK_NUMBER(h.space, ==, cases[i].space);
		CHECK_NUMBER(h.h_factors[0], ==, cases[i].h);
		CHECK_NUMBER(h.v_factors[0], ==, cases[i].v);
		CHECK_NUMBER(h.orientation, ==, 1);
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
			struct heic_spec spec = {
				.is_turned = angle > 0,
				.angle = angle,
				.is_mirrored = kind > 0,
				.mirror = (uint8_t)(kind == 2),
				.has_exif = true,
			};
			struct bytes file = heic_make(&spec);
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
static double level(const struct heic_spec *s, uint32_t plane, uint32_t x,
		    uint32_t y)
{
	uint32_t depth = s->depth == 0 ? 8 : s->depth;
	double step = 1u << (depth - 8), v = heic_sample(s, plane, x, y);
	bool is_chroma =
		(plane == 1 || plane == 2) && s->matrix != HEIC_IDENTITY;

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

/* `left`, `top`: the first sample of luma that is shown. */
static void check_planes(const struct heic_spec *spec, uint32_t left,
			 uint32_t top)
{
	struct bytes file = heic_make(spec);
	struct image img = { 0 };
	struct heap h;
	uint32_t factor_h = spec->format == 444 ? 1 : 2;
	uint32_t factor_v = spec->format == 444 || spec->format == 422 ? 1 : 2;

	decode(&img, file, &h);
	CHECK_NUMBER(img.plane_count, ==, (spec->format == 400 ? 1 : 3));
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];
		uint32_t from_x = i == 0 ? left : left / factor_h;
		uint32_t from_y = i == 0 ? top : top / factor_v;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++) {
				double v = byte_of(
					level(spec, i, from_x + x, from_y + y) +
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
			for (int kind = 0; kind < 8; kind++) {
				struct heic_spec spec = {
					.format = formats[f],
					.depth = depths[d],
					.is_limited = kind & 1,
					.has_no_box = kind & 2,
					.cell = kind & 4 ? 32 : 0,
				};

				check_case("%u, %u bits, %d", formats[f],
					   depths[d], kind);
				check_planes(&spec, 0, 0);
			}
}

/* Where the parts are in the file, and what else is there. */
static void test_files(void)
{
	static const struct heic_spec specs[] = {
		{ .is_at_end = true },
		{ .is_in_pieces = true },
		{ .is_in_pieces = true, .cell = 32, .is_at_end = true },
		{ .has_depth = true, .has_gainmap = true, .has_exif = true },
		{ .has_thumbnail = true, .cell = 32, .has_depth = true },
		/* As of an iPhone, 8 x 6 cells; of some, 16 x 16 and more. */
		{ .width = 252, .height = 190, .cell = 32 },
		{ .width = 2 * 512, .height = 2 * 511, .cell = 32 },
		{ .cell = 32, .has_coloured_cells = true, .is_limited = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		check_case("specs[%zu]", i);
		check_planes(&specs[i], 0, 0);
	}
}

/* R, G and B of a pixel in 4:4:4. */
static void reference(double rgb[3], const struct heic_spec *s, uint32_t x,
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
	if (s->matrix != HEIC_IDENTITY)
		return;
	rgb[0] = byte_of(cr);
	rgb[1] = byte_of(luma);
	rgb[2] = byte_of(cb);
}

static void check_pixels(const struct heic_spec *spec)
{
	struct bytes file = heic_make(spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, (spec->has_alpha ? IMG_RGBA : IMG_RGB));
	for (uint32_t y = 0; y < HEIGHT; y++)
		for (uint32_t x = 0; x < WIDTH; x++) {
			double share =
				spec->has_alpha ? level(spec, 3, x, y) : 1;
			double rgb[3];

			reference(rgb, spec, x, y);
			for (uint32_t i = 0; i < 3; i++)
				CHECK_NUMBER(fabs(sample(&img.planes[i], x, y) -
						  (spec->is_multiplied ?
							   fmin(rgb[i],
								255 * share) :
							   rgb[i] * share)),
					     <=, 3);
			if (spec->has_alpha)
				CHECK_NUMBER(fabs(sample(&img.planes[3], x, y) -
						  share * 255),
					     <=, 0.5 + 1e-6);
		}
	finish(&img, file, &h);
}

static void test_pixels(void)
{
	static const uint32_t matrices[] = { 1, 9, HEIC_IDENTITY };

	for (size_t d = 0; d < ARRAY_SIZE(depths); d++)
		for (size_t m = 0; m < ARRAY_SIZE(matrices); m++)
			for (int kind = 0; kind < 16; kind++) {
				struct heic_spec spec = {
					.format = 444,
					.depth = depths[d],
					.matrix = matrices[m],
					.is_limited = kind & 1,
					.has_alpha = kind & 2,
					.is_multiplied = (kind & 6) == 6,
					.has_no_box = kind & 4,
					.cell = kind & 8 ? 32 : 0,
				};

				check_case("%u bits, matrix %u, %d", depths[d],
					   matrices[m], kind);
				check_pixels(&spec);
			}
}

/* Chroma is interpolated: no pixel is beyond its neighbours'. */
static void test_chroma_between_pixels(void)
{
	const struct heic_spec spec = { .matrix = 1,
					.is_cut = true,
					.aperture = { 41, 1, 31, 1, 1, 2, 1,
						      2 } };
	struct bytes file = heic_make(&spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.space, ==, IMG_RGB);
	CHECK_NUMBER(img.planes[0].width, ==, 41);
	CHECK_NUMBER(img.planes[0].height, ==, 31);
	for (uint32_t y = 0; y < 31; y++)
		for (uint32_t x = 0; x < 41; x++) {
			uint32_t at_x = 15 + x, at_y = 8 + y;
			double luma = level(&spec, 0, at_x, at_y) * 255;
			double least = 1, most = -1;

			for (uint32_t i = 0; i < 4; i++) {
				uint32_t cx = (at_x - 1) / 2 + i % 2;
				uint32_t cy = (at_y - 1) / 2 + i / 2;
				double cr = level(&spec, 2, cx, cy);

				least = fmin(least, cr);
				most = fmax(most, cr);
			}
			luma -= sample(&img.planes[0], x, y);
			if (sample(&img.planes[0], x, y) % 255 == 0)
				continue; /* cut off */
			CHECK_NUMBER(-luma, <=, most * 1.5748 * 255 + 3);
			CHECK_NUMBER(-luma, >=, least * 1.5748 * 255 - 3);
		}
	finish(&img, file, &h);
}

static void test_aperture(void)
{
	struct heic_spec spec = { .is_cut = true };
	const uint32_t aperture[] = { 40, 1, 30, 1, 0, 2, 0, 2 };

	memcpy(spec.aperture, aperture, sizeof(aperture));
	spec.format = 444;
	check_planes(&spec, 15, 8);
	spec.cell = 32;
	check_planes(&spec, 15, 8);
	spec.format = 420;
	spec.aperture[4] = (uint32_t)-2; /* from 14 */
	check_planes(&spec, 14, 8);
}

static void test_profile(void)
{
	uint8_t data[500] = "not a profile";
	struct heic_spec spec = { .icc = { data, sizeof(data) } };
	struct bytes file = heic_make(&spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.profile_bytes, ==, sizeof(data));
	CHECK(memcmp(img.profile, data, sizeof(data)) == 0);
	finish(&img, file, &h);
	spec.cell = 32;
	spec.has_coloured_cells = true;
	file = heic_make(&spec);
	decode(&img, file, &h);
	CHECK_NUMBER(img.profile_bytes, ==, sizeof(data));
	finish(&img, file, &h);
	spec = (struct heic_spec){ .primaries = 12 }; /* Display P3 */
	file = heic_make(&spec);
	decode(&img, file, &h);
	CHECK_NUMBER(img.profile_bytes, >, 0);
	CHECK(!img.is_srgb);
	finish(&img, file, &h);
}

/*
 * MIAF forbids cells whose sides are no multiples of those of a sample of
 * chroma.  They are shown: luma is exact, and chroma is off by a pixel at most.
 */
static void test_odd_cells(void)
{
	const struct heic_spec spec = {
		.width = 63, .height = 42, .cell = 21, .matrix = 6
	};
	struct bytes file = heic_make(&spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.planes[0].width, ==, 63);
	CHECK_NUMBER(img.planes[1].width, ==, 32);
	for (uint32_t y = 0; y < 42; y++)
		for (uint32_t x = 0; x < 63; x++)
			CHECK_NUMBER(sample(&img.planes[0], x, y), ==,
				     heic_sample(&spec, 0, x, y));
	finish(&img, file, &h);
}

/* --- Wrong files --- */

static void test_limits(void)
{
	const struct heic_spec spec = { .cell = 32 };
	struct bytes file = heic_make(&spec);
	struct img_limits l = no_limits;
	struct img_header h;

	l.side_px_max = WIDTH - 1;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.stored.width_px, ==, WIDTH);
	l = no_limits;
	l.decode_bytes_max = 1 << 20; /* libde265's memory counts */
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &l), ==, IMG_OK);
	CHECK_NUMBER(decode_limits(file, &l, &(struct heap){ 0 }), ==,
		     IMG_ERR_TOO_LARGE);
	free(file.data);
}

/* The HEVC data are larger than the properties say. */
static void test_lies(void)
{
	struct heic_spec spec = { .lie_px = 64 };
	struct bytes file = heic_make(&spec);

	CHECK_NUMBER(error_of(file), !=, IMG_OK);
	free(file.data);
}

/* An aperture of another size than the last one is not that of the picture. */
static void test_second_size(void)
{
	enum { SIDE = 40 };
	const struct heic_spec spec = {
		.is_cut = true,
		.aperture = { 20, 1, 20, 1, 20, 1, 10, 1 },
		.second_px = SIDE,
	};
	struct bytes file = heic_make(&spec);
	struct image img = { 0 };
	struct heap h;

	decode(&img, file, &h);
	CHECK_NUMBER(img.planes[0].width, ==, SIDE);
	CHECK_NUMBER(img.planes[0].height, ==, SIDE);
	for (uint32_t y = 0; y < SIDE; y++)
		for (uint32_t x = 0; x < SIDE; x++)
			CHECK_NUMBER(sample(&img.planes[0], x, y), ==,
				     heic_sample(&spec, 0, x, y));
	img_release(&img);
	free(file.data);
}

static uint8_t *find(struct bytes file, const char *name)
{
	for (size_t i = 0; i + 4 <= file.count; i++)
		if (memcmp(file.data + i, name, 4) == 0)
			return file.data + i;
	CHECK(!"the box is there");
	return NULL;
}

static void check_changed(const struct heic_spec *spec, const char *name,
			  size_t offset, uint8_t value, enum img_err wanted)
{
	struct bytes file = heic_make(spec);

	find(file, name)[offset] = value;
	check_case("%s, %zu", name, offset);
	CHECK_NUMBER(error_of(file), ==, wanted);
	free(file.data);
}

static void test_errors(void)
{
	const struct heic_spec one = { 0 }, grid = { .cell = 32 };

	check_changed(&one, "hvcC", 4 + 17, 0xf8 | 5, IMG_ERR_UNSUPPORTED);
	check_changed(&one, "hvcC", 0, 'x', IMG_ERR_CORRUPT);
	check_changed(&one, "hvcC", 4 + 16, 0xfc | 3, IMG_ERR_CORRUPT);
	check_changed(&one, "ispe", 4 + 7, 200, IMG_ERR_CORRUPT);
	check_changed(&one, "pitm", 4 + 5, 9, IMG_ERR_CORRUPT);
	check_changed(&one, "iloc", 4 + 16, 0x7f, IMG_ERR_CORRUPT);
	check_changed(&one, "hvc1", 0, 'x', IMG_ERR_UNSUPPORTED);
	check_changed(&grid, "idat", 4 + 2, 7, IMG_ERR_CORRUPT);
	check_changed(&grid, "idat", 4 + 5, 99, IMG_ERR_CORRUPT);
	check_changed(&grid, "dimg", 4 + 5, 99, IMG_ERR_CORRUPT);
}

/* Damage is found, or does nothing worse than wrong pixels. */
static void test_damage(void)
{
	static const struct heic_spec specs[] = {
		{ .has_alpha = true, .has_exif = true },
		{ .cell = 32, .depth = 10, .matrix = 9 },
	};

	for (size_t s = 0; s < ARRAY_SIZE(specs); s++) {
		struct bytes file = heic_make(&specs[s]);

		for (uint32_t i = 0; i < 1000; i++) {
			size_t at = scramble(i) % min_u64(file.count, 1500);
			uint8_t kept = file.data[at];

			file.data[at] ^= (uint8_t)(1 << i % 8);
			(void)error_of(file);
			file.data[at] = kept;
		}
		for (size_t n = 0; n < file.count; n += 1 + n / 16)
			CHECK_NUMBER(error_of((struct bytes){ file.data, n }),
				     !=, IMG_OK);
		free(file.data);
	}
}

static void test_memory_fails(void)
{
	const struct heic_spec spec = {
		.cell = 32, .matrix = 1, .has_alpha = true, .is_in_pieces = true
	};
	struct bytes file = heic_make(&spec);
	enum img_err err;
	struct heap h;
	uint32_t i = 0;

	do {
		heap_init(&h);
		h.fail_at = ++i;
		err = decode_limits(file, &no_limits, &h);
		CHECK(err == IMG_ERR_NO_MEMORY || err == IMG_OK);
		CHECK_NUMBER(h.live_count, ==, 0);
	} while (err != IMG_OK);
	CHECK_NUMBER(i, >, 3);
	free(file.data);
}

/* --- Gain maps --- */

static const struct img_transform keep = { .quality = 80,
					   .keep_gainmap = true };

static void decode_kept(struct image *img, struct bytes file, struct heap *h)
{
	heap_init(h);
	CHECK_NUMBER(decode_transform(img, file.data, file.count, &keep,
				      &no_limits, h),
		     ==, IMG_OK);
}

/* Byte `v` of Apple's map as ISO 21496-1 has it; 0: it is of that kind. */
static double meant(double v, double headroom)
{
	double light = v < 0.081 * 255 ?
			       v / 255 / 4.5 :
			       pow((v / 255 + 0.099) / 1.099, 1 / 0.45);

	return headroom == 0 ?
		       v :
		       255 * log2(1 + (headroom - 1) * light) / log2(headroom);
}

static void check_map(const struct img_gainmap *map,
		      const struct heic_spec *spec, double headroom)
{
	uint32_t side = spec->map_px == 0 ? HEIC_TEST_MAP : spec->map_px;
	const struct image *img = &map->image;

	CHECK_NUMBER(map->stored.width_px, ==, side);
	CHECK_NUMBER(map->base_stored.width_px, ==, WIDTH);
	CHECK_NUMBER(img->space, ==,
		     (spec->is_map_coloured ? IMG_YCBCR : IMG_GREY));
	for (uint32_t i = 0; i < img->plane_count; i++)
		for (uint32_t y = 0; y < side; y++)
			for (uint32_t x = 0; x < side; x++) {
				struct heic_spec bytes = { 0 };
				double v = heic_sample(&bytes, i, x, y);

				CHECK_NUMBER(
					fabs(sample(&img->planes[i], x, y) -
					     meant(v, headroom)),
					<=, 0.5 + 1e-6);
			}
	if (headroom == 0) {
		CHECK_NUMBER(map->gain.channels[0].max, ==,
			     spec->iso->channels[0].max);
		CHECK_NUMBER(map->gain.other_headroom, ==,
			     spec->iso->other_headroom);
	} else {
		CHECK_NUMBER(fabs(exp2(map->gain.other_headroom) - headroom), <,
			     1e-9);
		CHECK_NUMBER(map->gain.channels[0].max, ==,
			     map->gain.other_headroom);
	}
	CHECK((img->profile != NULL) == (spec->iso_primaries != 0));
}

static void test_gainmaps(void)
{
	static const struct {
		struct heic_spec spec;
		double headroom;
	} cases[] = {
		{ { .gain = HEIC_GAIN_XMP }, HEIC_HEADROOM },
		{ { .gain = HEIC_GAIN_XMP,
		    .cell = 32,
		    .map_px = 40,
		    .has_no_box = true,
		    .has_exif = true },
		  HEIC_HEADROOM },
		{ { .gain = HEIC_GAIN_NOTE,
		    .is_at_end = true,
		    .has_depth = true },
		  4 },
		{ { .gain = HEIC_GAIN_ISO, .iso = &gainmap_usual }, 0 },
		{ { .gain = HEIC_GAIN_ISO,
		    .iso = &gainmap_coloured,
		    .is_map_coloured = true },
		  0 },
		{ { .gain = HEIC_GAIN_ISO,
		    .iso = &gainmap_coloured,
		    .iso_primaries = 9,
		    .is_map_coloured = true },
		  0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heic_spec spec = cases[i].spec;
		struct image img = { 0 };
		struct bytes file;
		struct heap h;

		check_case("cases[%zu]", i);
		spec.has_gainmap = true;
		file = heic_make(&spec);
		decode_kept(&img, file, &h);
		CHECK_NUMBER(img.notes, ==, 0);
		CHECK(img.gainmap != NULL);
		check_map(img.gainmap, &spec, cases[i].headroom);
		img_release(&img);
		/* It is not there if it is not wanted. */
		decode(&img, file, &h);
		CHECK(img.gainmap == NULL);
		finish(&img, file, &h);
	}
}

static void test_bad_gainmaps(void)
{
	static const struct img_gain bad = { .channel_count = 1 };
	static const struct {
		struct heic_spec spec;
		uint32_t notes;
	} cases[] = {
		{ { .has_gainmap = false, .has_depth = true }, 0 },
		{ { .gain = HEIC_GAIN_NOTHING }, IMG_NOTE_NO_GAINMAP },
		{ { .gain = HEIC_GAIN_XMP, .map_px = HEIGHT + 1 },
		  IMG_NOTE_NO_GAINMAP },
		{ { .gain = HEIC_GAIN_XMP, .is_map_coloured = true },
		  IMG_NOTE_NO_GAINMAP },
		{ { .gain = HEIC_GAIN_ISO, .iso = &bad }, IMG_NOTE_NO_GAINMAP },
		{ { .gain = HEIC_GAIN_XMP, .has_map_alpha = true },
		  IMG_NOTE_NO_GAINMAP },
		{ { .gain = HEIC_GAIN_XMP, .is_map_turned = true },
		  IMG_NOTE_NO_GAINMAP },
		/* It would cover more than what is shown. */
		{ { .gain = HEIC_GAIN_XMP,
		    .is_cut = true,
		    .aperture = { 40, 1, 30, 1, 0, 2, 0, 2 } },
		  IMG_NOTE_NO_GAINMAP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heic_spec spec = cases[i].spec;
		struct image img = { 0 };
		struct bytes file;
		struct heap h;

		check_case("cases[%zu]", i);
		spec.has_gainmap = cases[i].notes != 0;
		file = heic_make(&spec);
		decode_kept(&img, file, &h);
		CHECK_NUMBER(img.notes, ==, cases[i].notes);
		CHECK(img.gainmap == NULL);
		finish(&img, file, &h);
	}
}

/* Turned as its base is; and what it says of an HDR base is not true of SDR. */
static void test_gainmap_results(void)
{
	static const struct {
		struct heic_spec spec;
		uint32_t notes;
	} cases[] = {
		{ { .gain = HEIC_GAIN_XMP,
		    .is_turned = true,
		    .angle = 1,
		    .is_map_turned = true },
		  0 },
		{ { .gain = HEIC_GAIN_ISO,
		    .iso = &gainmap_usual,
		    .primaries = 9 },
		  0 },
		{ { .gain = HEIC_GAIN_ISO,
		    .iso = &gainmap_usual,
		    .primaries = 9,
		    .curve = 16 },
		  IMG_NOTE_NO_GAINMAP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct heic_spec spec = cases[i].spec;
		struct image img = { 0 }, scaled = { 0 };
		struct img_header header;
		struct img_view view;
		struct bytes file;
		struct heap h;

		check_case("cases[%zu]", i);
		spec.has_gainmap = true;
		file = heic_make(&spec);
		CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
		view = img_fit(&header, &keep);
		decode_kept(&img, file, &h);
		CHECK(img.gainmap != NULL);
		CHECK_NUMBER(img_scale(&scaled, &img, &view, &keep, &h.memory),
			     ==, IMG_OK);
		CHECK_NUMBER(scaled.notes, ==, cases[i].notes);
		CHECK((scaled.gainmap == NULL) == (cases[i].notes != 0));
		img_release(&scaled);
		finish(&img, file, &h);
	}
}

/* What the picture leaves of the memory must be enough for the map. */
static void test_gainmap_of_too_much_memory(void)
{
	const struct heic_spec spec = { .has_gainmap = true,
					.gain = HEIC_GAIN_XMP };
	struct bytes file = heic_make(&spec);
	struct img_limits limits = no_limits;
	struct img_header base, map;
	struct heap h;

	CHECK_NUMBER(probe_bytes(&base, file), ==, IMG_OK);
	CHECK(img_gainmap_header(&map, &base));
	for (int lacks = 0; lacks < 2; lacks++) {
		struct image img = { 0 };

		heap_init(&h);
		limits.decode_bytes_max = heic_working_bytes(&base) +
					  heic_working_bytes(&map) -
					  (uint64_t)lacks;
		CHECK_NUMBER(decode_transform(&img, file.data, file.count,
					      &keep, &limits, &h),
			     ==, IMG_OK);
		CHECK_NUMBER(img.notes, ==, (lacks ? IMG_NOTE_NO_GAINMAP : 0));
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
	free(file.data);
}

static void test_no_program(void)
{
	const struct heic_spec spec = { 0 };
	struct bytes file = heic_make(&spec);
	const struct img_transform t = { .quality = 80 };
	struct image img = { 0 };
	struct img_header header;
	struct img_view view;
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK_TEXT(header.format->program, "darkroom-heif");
	view = img_fit(&header, &t);
	CHECK_NUMBER(img_decode(&img, file.data, file.count, &header, &view, &t,
				&no_limits, &h.memory),
		     ==, IMG_ERR_NO_DECODER);
	free(file.data);
}

int main(void)
{
	CHECK(heic_start());
	test_headers();
	test_orientation();
	test_planes();
	test_files();
	test_pixels();
	test_chroma_between_pixels();
	test_aperture();
	test_profile();
	test_odd_cells();
	test_limits();
	test_lies();
	test_second_size();
	test_errors();
	test_damage();
	test_memory_fails();
	test_gainmaps();
	test_bad_gainmaps();
	test_gainmap_results();
	test_gainmap_of_too_much_memory();
	test_no_program();
	return 0;
}
