/* SPDX-License-Identifier: MIT */
/*
 * Promises: the steps never ask for more memory at one time than estimated, and
 * the estimate is not much too high; the estimated CPU time grows with the
 * amount of work.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/imgops.h"
#include "imgops/test/meter.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

/*
 * Run all steps; release each input when its output is complete.  Returns the
 * peak of memory.  0: the header has changed, for another way to decode.
 */
static size_t measure(struct bytes jpeg, struct img_header *header,
		      const struct img_view *view,
		      const struct img_transform *transform)
{
	struct meter m;
	struct image a = { 0 }, b = { 0 };
	uint8_t *out;
	size_t out_bytes;
	enum img_err err;

	meter_init(&m);
	err = img_decode(&a, jpeg.data, jpeg.count, header, view, transform,
			 &no_limits, &m.memory);
	if (err == IMG_OK)
		err = img_find_border(header, &a, transform, &m.memory);
	if (img_decode_again(header, err)) {
		img_release(&a);
		CHECK_NUMBER(m.live_bytes, ==, 0);
		return 0;
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_scale(&b, &a, view, transform, &m.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&a);
	err = img_retouch(&b, view, transform, NULL, &m.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_encode(&out, &out_bytes, &b, transform, &m.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	img_release(&b);
	m.memory.free(&m, out);
	CHECK_NUMBER(m.live_bytes, ==, 0);
	return m.peak_bytes;
}

static struct img_cost
cost_of(struct bytes jpeg, const struct img_transform *transform, size_t *peak)
{
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);

	struct img_view view = img_fit(&header, transform);

	if (peak != NULL)
		do {
			view = img_fit(&header, transform);
			*peak = measure(jpeg, &header, &view, transform);
		} while (*peak == 0);
	return img_cost(&header, &view, transform);
}

static const struct jpeg_spec specs[] = {
	{ .h = { 2 }, .v = { 2 } },
	{ .h = { 2 }, .v = { 2 }, .progressive = true },
	{ .h = { 2 }, .v = { 1 }, .separate_scans = true },
	{ .h = { 1 }, .v = { 2 }, .orientation = 6 },
	{ .h = { 4 }, .v = { 1 }, .progressive = true, .arithmetic = true },
	{ .arithmetic = true, .orientation = 3 },
	{ .progressive = true },
	{ .space = JCS_GRAYSCALE },
	{ .space = JCS_GRAYSCALE, .progressive = true, .orientation = 5 },
	{ .space = JCS_RGB },
	{ .space = JCS_CMYK },
	{ .space = JCS_YCCK, .h = { 2, 1, 1, 2 }, .v = { 2, 1, 1, 2 } },
};

static const struct img_transform transforms[] = {
	{ .quality = 80 },
	{ .quality = 80, .box = { 100, 100 }, .blur_sigma_px = 2 },
	{ .quality = 95, .box = { 64, 300 }, .fit = IMG_FIT_COVER },
	{ .quality = 80, .box = { 20, 20 } },
	{ .quality = 80, .box = { 500, 0 }, .enlarge = true },
	{ .quality = 80, .blur_sigma_px = 0.3, .chroma = IMG_CHROMA_444 },
	{ .quality = 80, .box = { 40, 40 }, .chroma = IMG_CHROMA_444 },
	{ .quality = 80, .chroma = IMG_CHROMA_AUTO },
	{ .quality = 80, .box = { 40, 40 }, .chroma = IMG_CHROMA_AUTO },
	{ .quality = 80, .box = { 200, 200 }, .blur_sigma_px = 40 },
	{ .quality = 80, .box = { 200, 200 }, .sharpen_sigma_px = 1 },
	{ .quality = 80, .sharpen_sigma_px = 10 },
	{ .format = IMG_FORMAT_PPM, .sharpen_sigma_px = 2 },
	{ .quality = 80, .box = { 90, 90 }, .pad = { 10, 7, 30, 9 } },
	{ .quality = 80,
	  .box = { 64, 300 },
	  .fit = IMG_FIT_COVER,
	  .gravity = IMG_SMART },
	{ .quality = 80, .box = { 90, 90 }, .trim = 1 },
	{ .quality = 80, .box = { 10, 10 }, .trim = 60 },
	{ .quality = 80, .trim = 255 },
	{ .quality = 80,
	  .box = { 100, 300 },
	  .fit = IMG_FIT_PAD,
	  .background = 0xff0000,
	  .blur_sigma_px = 2 },
	{ .quality = 80, .progressive = true },
	{ .quality = 80, .box = { 90, 90 }, .optimize = true },
	{ .quality = 80, .effort = 1 },
	{ .quality = 80, .box = { 90, 90 }, .progressive = true, .effort = 9 },
	{ .quality = 100, .box = { 90, 90 }, .fit = IMG_FIT_FILL },
	{ .quality = 80, .box = { 60, 60 }, .filter = IMG_BOX },
	{ .quality = 80,
	  .box = { 900, 700 },
	  .enlarge = true,
	  .filter = IMG_MITCHELL },
	{ .quality = 80,
	  .box = { 64, 300 },
	  .fit = IMG_FIT_COVER,
	  .filter = IMG_BSPLINE },
	{ .quality = 80, .box = { 60, 60 }, .light = IMG_LIGHT_LINEAR },
	{ .quality = 80,
	  .box = { 310, 170 },
	  .fit = IMG_FIT_FILL,
	  .enlarge = true,
	  .chroma = IMG_CHROMA_444,
	  .light = IMG_LIGHT_LINEAR },
};

static const struct img_size sizes[] = {
	{ 1, 1 },     { 16, 16 },   { 37, 301 },
	{ 203, 150 }, { 640, 480 }, { 1000, 9 },
};

/* False: the estimate is more than `most` times the peak. */
static bool is_tight(const struct img_cost *cost, size_t peak, double most)
{
	return (double)cost->bytes <= most * (double)peak;
}

static void test_memory_is_enough_and_not_much_more(void)
{
	uint32_t count = 0, tight_count = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(specs) * ARRAY_SIZE(sizes); i++) {
		struct jpeg_spec spec = specs[i % ARRAY_SIZE(specs)];
		struct img_size size = sizes[i / ARRAY_SIZE(specs)];
		struct bytes jpeg;

		spec.width = size.width_px;
		spec.height = size.height_px;
		jpeg = jpeg_make(&spec);
		for (uint32_t k = 0; k < ARRAY_SIZE(transforms); k++) {
			size_t peak;
			struct img_cost cost =
				cost_of(jpeg, &transforms[k], &peak);

			CHECK_NUMBER(cost.bytes, >=, peak);
			CHECK(is_tight(&cost, peak, 2));
			count++;
			tight_count += is_tight(&cost, peak, 1.1);
		}
		free(jpeg.data);
	}
	CHECK_NUMBER(tight_count, >=, count * 7 / 10);
}

/* Typical photos and transforms, also optimised and without blur. */
static void test_memory_of_photos_is_within_a_tenth(void)
{
	for (int coding = 0; coding < 2; coding++) {
		struct jpeg_spec spec = { .width = 1536,
					  .height = 1024,
					  .h = { 2 },
					  .v = { 2 },
					  .quality = 85,
					  .progressive = coding };
		struct bytes jpeg = jpeg_make(&spec);

		for (uint32_t box = 100; box <= 1600; box *= 2)
			for (int kind = 0; kind < 4; kind++) {
				struct img_transform t = {
					.box = { box, box },
					.blur_sigma_px = kind & 1 ? 2 : 0,
					.optimize = kind & 2,
					.quality = 80
				};
				size_t peak;
				struct img_cost cost = cost_of(jpeg, &t, &peak);

				CHECK_NUMBER(cost.bytes, >=, peak);
				CHECK(is_tight(&cost, peak, 1.1));
			}
		free(jpeg.data);
	}
}

/* A picture of noise. */
static double noise(uint32_t component, double x, double y)
{
	uint32_t at = (uint32_t)(x * 8) * 7919 + (uint32_t)(y * 8);

	return scramble(at * 4 + component) & 255;
}

static void test_memory_is_enough_for_noise(void)
{
	struct jpeg_spec spec = { .width = 320,
				  .height = 320,
				  .h = { 2 },
				  .v = { 2 },
				  .quality = 95,
				  .picture = noise };
	struct bytes jpeg = jpeg_make(&spec);

	for (int quality = 50; quality <= 100; quality += 5) {
		for (int effort = 0; effort <= 1; effort++) {
			struct img_transform transform = { .quality = quality,
							   .effort = effort };
			size_t peak;
			struct img_cost cost = cost_of(jpeg, &transform, &peak);

			CHECK_NUMBER(cost.bytes, >=, peak);
		}
	}
	free(jpeg.data);
}

/* What is compared, and what decodes the results, is in the estimate. */
static void test_memory_to_meet_a_score_is_enough(void)
{
	static const struct img_transform ways[] = {
		{ .quality = 80, .score = 75 },
		{ .quality = 80, .score = 99 },
		{ .quality = 80, .score = 90, .optimize = true },
		{ .quality = 80, .score = 90, .progressive = true },
		{ .quality = 80, .score = 90, .chroma = IMG_CHROMA_444 },
		{ .quality = 80,
		  .score = 90,
		  .chroma = IMG_CHROMA_444,
		  .progressive = true },
#ifdef IMG_WEBP
		{ .quality = 80,
		  .score = 90,
		  .format = IMG_FORMAT_WEBP,
		  .effort = 1 },
#endif
	};
	static const struct img_size several[] = {
		{ 1, 1 }, { 8, 8 }, { 16, 300 }, { 900, 11 }, { 320, 320 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(several); i++) {
		struct jpeg_spec spec = { .width = several[i].width_px,
					  .height = several[i].height_px,
					  .quality = 95,
					  .picture = noise };
		struct bytes jpeg = jpeg_make(&spec);

		for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
			size_t peak;
			struct img_cost cost = cost_of(jpeg, &ways[k], &peak);

			check_case("%u x %u, %zu", spec.width, spec.height, k);
			CHECK_NUMBER(cost.bytes, >=, peak);
			if (spec.width == spec.height && spec.width > 8)
				CHECK(is_tight(&cost, peak, 3));
		}
		free(jpeg.data);
	}
}

static struct img_cost cost_of_spec(struct jpeg_spec spec,
				    const struct img_transform *transform)
{
	struct bytes jpeg = jpeg_make(&spec);
	struct img_cost cost = cost_of(jpeg, transform, NULL);

	free(jpeg.data);
	return cost;
}

static uint64_t cpu_ns(struct jpeg_spec spec,
		       const struct img_transform *transform)
{
	return cost_of_spec(spec, transform).cpu_ns;
}

static void test_time_grows_with_the_work(void)
{
	struct jpeg_spec small = { .width = 640, .height = 480 };
	struct jpeg_spec large = { .width = 1280, .height = 960 };
	struct jpeg_spec scans = { .width = 640,
				   .height = 480,
				   .progressive = true };
	struct img_transform plain = { .quality = 80 }, thumb = plain;
	struct img_transform blurred = plain, progressive = plain;

	thumb.box = (struct img_size){ 60, 60 };
	blurred.blur_sigma_px = 5;
	progressive.progressive = true;

	uint64_t ns = cpu_ns(small, &plain);

	CHECK_NUMBER(ns, >, 500000);
	CHECK_NUMBER(ns, <, 50000000);
	CHECK_NUMBER(cpu_ns(large, &plain), >, 3 * ns);
	CHECK_NUMBER(cpu_ns(large, &plain), <, 5 * ns);
	CHECK_NUMBER(cpu_ns(scans, &plain), >, ns);
	CHECK_NUMBER(cpu_ns(small, &thumb), <, ns / 2);
	CHECK_NUMBER(cpu_ns(scans, &thumb), <, ns / 2);
	CHECK_NUMBER(cpu_ns(small, &blurred), >, ns);
	CHECK_NUMBER(cpu_ns(small, &progressive), >, ns);
	/* A filter that is named sees a larger picture. */
	plain.box = (struct img_size){ 200, 200 };
	ns = cpu_ns(large, &plain);
	plain.filter = IMG_MITCHELL;
	CHECK_NUMBER(cpu_ns(large, &plain), >, ns);
}

/* A parameter of one step changes the estimated time of that step only. */
static void test_time_is_told_by_step(void)
{
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	struct img_transform plain = { .quality = 80, .box = { 300, 300 } };
	struct img_transform blurred = plain, progressive = plain;

	blurred.blur_sigma_px = 5;
	progressive.progressive = true;

	struct img_cost a = cost_of_spec(spec, &plain);
	struct img_cost b = cost_of_spec(spec, &blurred);
	struct img_cost c = cost_of_spec(spec, &progressive);

	CHECK_NUMBER(a.decode_ns, >, 0);
	CHECK_NUMBER(a.scale_ns, >, 0);
	CHECK_NUMBER(a.encode_ns, >, 0);
	CHECK_NUMBER(a.blur_ns, ==, 0);
	CHECK_NUMBER(b.blur_ns, >, 0);
	CHECK_NUMBER(b.decode_ns, ==, a.decode_ns);
	CHECK_NUMBER(b.scale_ns, ==, a.scale_ns);
	CHECK_NUMBER(c.decode_ns, ==, a.decode_ns);
	CHECK_NUMBER(c.scale_ns, ==, a.scale_ns);
	CHECK_NUMBER(c.encode_ns, >, 2 * a.encode_ns);
	CHECK_NUMBER(c.blur_ns, ==, 0);
	CHECK_NUMBER(b.cpu_ns, ==,
		     b.decode_ns + b.scale_ns + b.blur_ns + b.encode_ns);
}

/* libjpeg visits every block in each scan, even if the scan has few bytes. */
static void test_time_grows_with_empty_scans(void)
{
	struct jpeg_spec spec = { .width = 640,
				  .height = 480,
				  .progressive = true };
	struct img_transform transform = { .quality = 80 };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	header.is_irregular = true;
	struct img_view view = img_fit(&header, &transform);
	struct img_cost few = img_cost(&header, &view, &transform);

	jpeg_own_change(&header)->scan_count = 3000;
	for (uint32_t i = 0; i < header.component_count; i++)
		jpeg_own_change(&header)->component_scans[i] = 3000;
	struct img_cost many = img_cost(&header, &view, &transform);

	CHECK_NUMBER(many.decode_ns, >, 2 * few.decode_ns);
	CHECK_NUMBER(many.bytes, ==, few.bytes);
	free(jpeg.data);
}

/* The same at 1/8, where only DC scans are read. */
static void test_time_grows_with_dc_scans(void)
{
	enum { BITS = 10, COMPONENTS = 3 };
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	jpeg_scan_info scans[BITS + 1 + COMPONENTS];
	struct img_transform small = { .quality = 80, .box = { 16, 16 } };
	struct bytes jpeg;
	uint64_t plain_ns;

	for (int i = 0; i <= BITS; i++)
		scans[i] = (jpeg_scan_info){
			COMPONENTS, { 0, 1, 2 }, 0, 0, i > 0 ? BITS - i + 1 : 0,
			BITS - i
		};
	for (int c = 0; c < COMPONENTS; c++)
		scans[BITS + 1 + c] = (jpeg_scan_info){ 1, { c }, 1, 63, 0, 0 };
	spec.progressive = true;
	plain_ns = cost_of_spec(spec, &small).decode_ns;
	jpeg = jpeg_with_scans(jpeg_make(&spec), scans, ARRAY_SIZE(scans));
	CHECK_NUMBER(cost_of(jpeg, &small, NULL).decode_ns, >, 2 * plain_ns);
	free(jpeg.data);
}

/* Tables that are never used are read, too. */
static void test_time_grows_with_the_head(void)
{
	struct jpeg_spec spec = { .width = 16, .height = 16 };
	struct img_transform transform = { .quality = 80 };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	struct img_view view = img_fit(&header, &transform);
	struct img_cost few = img_cost(&header, &view, &transform);

	jpeg_own_change(&header)->scan_offset += 10 << 20;
	header.bytes += 10 << 20;
	struct img_cost many = img_cost(&header, &view, &transform);

	CHECK_NUMBER(many.decode_ns, >, 10 * few.decode_ns);
	free(jpeg.data);
}

/* A fine quality keeps more coefficients; a coarse one saves little time. */
static void test_time_grows_with_quality(void)
{
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	struct img_transform plain = { .quality = 80 };
	struct img_transform fine = { .quality = 100 };
	struct img_transform coarse = { .quality = 1 };
	uint64_t plain_ns = cost_of_spec(spec, &plain).encode_ns;

	CHECK_NUMBER(cost_of_spec(spec, &fine).encode_ns, >, 2 * plain_ns);
	CHECK_NUMBER(cost_of_spec(spec, &coarse).encode_ns, ==, plain_ns);
}

static void test_time_grows_with_a_search(void)
{
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	struct img_transform plain = { .quality = 80 };
	struct img_transform sought = { .quality = 80, .score = 75 };
	struct img_transform lossless = sought;

	CHECK_NUMBER(cost_of_spec(spec, &sought).encode_ns, >,
		     5 * cost_of_spec(spec, &plain).encode_ns);
	/* A format without qualities searches for none. */
	lossless.format = IMG_FORMAT_PPM;
	plain.format = IMG_FORMAT_PPM;
	CHECK_NUMBER(cost_of_spec(spec, &lossless).encode_ns, ==,
		     cost_of_spec(spec, &plain).encode_ns);
}

/* The ways of a spec's decode, scale and encode. */
struct ways {
	uint32_t decode, scale, encode;
};

static struct ways ways_of(struct jpeg_spec spec,
			   const struct img_transform *transform)
{
	struct bytes jpeg = jpeg_make(&spec);
	struct img_header header;
	struct img_view view;
	struct img_cost_part part = { .view = &view, .transform = transform };
	struct img_cost cost;

	CHECK_NUMBER(img_probe(&header, jpeg.data, jpeg.count, &no_limits), ==,
		     IMG_OK);
	view = img_fit(&header, transform);
	cost = img_cost_parts(
		&header, img_decode_scale(&header, &view, transform), &part, 1);
	free(jpeg.data);
	return (struct ways){ cost.decode_way, part.scale_way,
			      part.encode_way };
}

static bool is_named(uint32_t way, const char *part)
{
	char name[128];

	img_way_name(way, name, sizeof(name));
	return strstr(name, part) != NULL;
}

/* Each kind of work has its own number, whatever the size of the picture. */
static void test_ways_tell_kinds_of_work_apart(void)
{
	struct jpeg_spec spec = { .width = 640, .height = 480 };
	struct jpeg_spec large = { .width = 1280, .height = 960 };
	struct img_transform full = { .quality = 80 };
	struct img_transform small = full, progressive = full, sought = full;
	struct ways a, b, c, d;

	small.box = (struct img_size){ 100, 100 };
	progressive.progressive = true;
	sought.score = 75;
	a = ways_of(spec, &full);
	b = ways_of(spec, &small);
	c = ways_of(spec, &progressive);
	d = ways_of(spec, &sought);
	CHECK(is_named(a.decode, "decode jpeg: "));
	CHECK(is_named(a.scale, "scale: "));
	CHECK(is_named(a.encode, "encode jpeg: "));
	CHECK(is_named(c.encode, "progressive"));
	CHECK(is_named(d.encode, "search"));
	CHECK_NUMBER(b.decode, !=, a.decode);
	CHECK_NUMBER(c.decode, ==, a.decode);
	CHECK_NUMBER(c.encode, !=, a.encode);
	CHECK_NUMBER(ways_of(large, &full).decode, ==, a.decode);
	CHECK_NUMBER(ways_of(large, &full).encode, ==, a.encode);
	spec.progressive = true;
	CHECK(is_named(ways_of(spec, &full).decode, "progressive"));
	for (uint32_t way = 0; way < IMG_WAYS; way++)
		if (is_named(way, "decode "))
			CHECK(!is_named(way, "encode "));
}

int main(void)
{
	test_memory_is_enough_and_not_much_more();
	test_memory_of_photos_is_within_a_tenth();
	test_memory_is_enough_for_noise();
	test_memory_to_meet_a_score_is_enough();
	test_time_grows_with_the_work();
	test_time_is_told_by_step();
	test_time_grows_with_empty_scans();
	test_time_grows_with_dc_scans();
	test_time_grows_with_the_head();
	test_time_grows_with_quality();
	test_time_grows_with_a_search();
	test_ways_tell_kinds_of_work_apart();
	return 0;
}
