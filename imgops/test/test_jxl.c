/* SPDX-License-Identifier: MIT */
/*
 * Promises: lossless JPEG XLs are read exactly, lossy ones as libjxl reads
 * them, with their alpha, orientation, depth and colours; a header is the same
 * however the file arrives, and tells of all frames what they take; one that is
 * wrong or over a limit is named; a file without its end is TRUNCATED; results
 * that are lossless are exact, and others near.
 */
#include "imgops/formats/jxl/encode.c"

#include "base/test/check.h"
#include "imgops/colour/icc.h"
#include "imgops/test/jxls.h"
#include "imgops/test/profiles.h"
#include "imgops/test/support.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { WIDTH = JXL_TEST_WIDTH, HEIGHT = JXL_TEST_HEIGHT };

static const struct jxl_spec kinds[] = {
	{ .depth = 8 },
	{ .depth = 16 },
	{ .depth = 32 },
	{ .is_grey = true },
	{ .is_grey = true, .depth = 16, .has_alpha = true },
	{ .has_alpha = true },
	{ .has_alpha = true, .depth = 16 },
	{ .in_boxes = true },
	{ .in_boxes = true, .parts = 1 },
	{ .in_boxes = true, .parts = 5, .has_alpha = true },
	{ .layers = 3 },
	{ .frames = 3 },
	{ .frames = 3, .layers = 2, .in_boxes = true, .parts = 7 },
	{ .width = 300, .height = 600 },
	{ .width = 1, .height = 1 },
	{ .is_noise = true, .has_alpha = true },
	{ .is_lossy = true },
	{ .is_lossy = true, .is_grey = true },
	{ .is_lossy = true, .has_alpha = true },
	{ .is_lossy = true, .is_modular = true },
	{ .is_lossy = true, .width = 600, .height = 300 },
	{ .is_lossy = true, .has_photon_noise = true, .orientation = 8 },
	{ .is_lossy = true, .curve = JXL_TRANSFER_FUNCTION_PQ },
	{ .is_lossy = true, .primary = JXL_PRIMARIES_P3 },
	{ .curve = JXL_TRANSFER_FUNCTION_HLG, .primary = JXL_PRIMARIES_2100 },
};

static uint32_t width_of(const struct jxl_spec *spec)
{
	return spec->width > 0 ? spec->width : WIDTH;
}

static uint32_t height_of(const struct jxl_spec *spec)
{
	return spec->height > 0 ? spec->height : HEIGHT;
}

static void test_headers(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct jxl_spec *spec = &kinds[i];
		struct bytes file = jxl_make(spec);
		struct img_header h;

		check_case("kinds[%zu]", i);
		CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
		CHECK_NUMBER(h.stored.width_px, ==, width_of(spec));
		CHECK_NUMBER(h.stored.height_px, ==, height_of(spec));
		CHECK_NUMBER(h.orientation, ==,
			     spec->orientation > 0 ? spec->orientation : 1);
		CHECK_NUMBER(h.space, ==,
			     (spec->has_alpha ? IMG_RGBA :
			      spec->is_grey   ? IMG_GREY :
						IMG_RGB));
		CHECK_NUMBER(h.frames, ==, spec->frames);
		CHECK_NUMBER(jxl_own(&h)->image.is_xyb, ==, spec->is_lossy);
		CHECK(!jxl_own(&h)->image.is_premultiplied);
		CHECK_NUMBER(jxl_own(&h)->image.depth, ==,
			     spec->depth > 0 ? spec->depth : 8);
		CHECK(jxl_own(&h)->work.is_known);
		CHECK_NUMBER(jxl_own(&h)->work.frames, ==,
			     spec->layers > 0 ? spec->layers : 1);
		check_arrival(file, false);
		free(file.data);
	}
}

/* libjxl 0.7 does not read such a file to its end. */
static void test_large_box(void)
{
	static const uint8_t file[] = "\0\0\0\x0cJXL \r\n\x87\n"
				      "\0\0\0\1free\0\0\0\0\0\0\0\x11!"
				      "\0\0\0\1jxlc\0\0\0\0\0\0\0\x1a"
				      "\xff\x0a\x50\0\x0c\x58\0\0\0\0";
	struct img_header h = { 0 };

	CHECK_NUMBER(img_probe_more(&h, file, sizeof(file) - 1, &no_limits), !=,
		     IMG_ERR_CORRUPT);
	CHECK_NUMBER(h.stored.width_px, ==, 7);
	CHECK_NUMBER(h.stored.height_px, ==, 11);
}

/* --- Samples --- */

static void decode(struct image *img, struct bytes file, struct heap *h)
{
	heap_init(h);
	CHECK_NUMBER(decode_bytes(img, file.data, file.count, &no_limits, h),
		     ==, IMG_OK);
	CHECK_NUMBER(img->notes, ==, 0);
}

static uint8_t sample_of(const struct image *img, uint32_t plane, uint32_t x,
			 uint32_t y)
{
	const struct img_plane *p = &img->planes[plane];

	return p->samples[y * p->stride_bytes + x];
}

/* What a plane has at (x, y). */
static uint8_t wanted(const struct jxl_spec *spec, uint32_t plane, uint32_t x,
		      uint32_t y)
{
	uint32_t colours = spec->is_grey ? 1 : 3;
	uint32_t channel = plane == 3 ? colours : plane % colours;
	uint8_t sample = (uint8_t)((jxl_sample(spec, channel, x, y) + 128) /
				   257),
		alpha = 255;

	if (!spec->has_alpha || plane == 3)
		return sample;
	alpha = (uint8_t)((jxl_sample(spec, colours, x, y) + 128) / 257);
	return colour_share(sample, alpha);
}

/* libjxl 0.11 dithers what has more than 8 bits. */
static void check_exact(const struct image *img, const struct jxl_spec *spec)
{
	int most = spec->depth > 8 ? 1 + spec->has_alpha : 0;

	for (uint32_t p = 0; p < img->plane_count; p++)
		for (uint32_t y = 0; y < img->planes[p].height; y++)
			for (uint32_t x = 0; x < img->planes[p].width; x++)
				CHECK_NUMBER(abs(sample_of(img, p, x, y) -
						 wanted(spec, p, x, y)),
					     <=, most);
}

static void test_lossless_is_exact(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes file;
		struct image img = { 0 };
		struct heap h;

		if (kinds[i].is_lossy)
			continue;
		check_case("kinds[%zu]", i);
		file = jxl_make(&kinds[i]);
		decode(&img, file, &h);
		check_exact(&img, &kinds[i]);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
		free(file.data);
	}
}

/* Colours are not more than alpha then. */
static void test_premultiplied(void)
{
	struct jxl_spec spec = { .has_alpha = true };
	struct bytes file = jxl_premultiplied();
	struct img_header header;
	struct image img = { 0 };
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	CHECK(jxl_own(&header)->image.is_premultiplied);
	decode(&img, file, &h);
	for (uint32_t p = 0; p < 3; p++)
		for (uint32_t y = 0; y < HEIGHT; y++)
			for (uint32_t x = 0; x < WIDTH; x++) {
				uint32_t colour = jxl_sample(&spec, p, x, y),
					 alpha = jxl_sample(&spec, 3, x, y);

				CHECK_NUMBER(sample_of(&img, p, x, y), ==,
					     (colour < alpha ? colour : alpha) /
						     257);
			}
	img_release(&img);
	free(file.data);
}

static void test_lossy_is_near(void)
{
	static const struct jxl_spec specs[] = {
		{ .is_lossy = true },
		{ .is_lossy = true, .is_grey = true },
		{ .is_lossy = true, .is_modular = true },
		{ .is_lossy = true, .has_alpha = true },
		{ .is_lossy = true, .width = 600, .height = 300 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes file = jxl_make(&specs[i]);
		struct image img = { 0 };
		struct heap h;
		double sum = 0;

		check_case("specs[%zu]", i);
		decode(&img, file, &h);
		CHECK(img.profile == NULL);
		for (uint32_t y = 0; y < img.planes[0].height; y++)
			for (uint32_t x = 0; x < img.planes[0].width; x++)
				sum += fabs(sample_of(&img, 0, x, y) -
					    (double)wanted(&specs[i], 0, x, y));
		CHECK_NUMBER(sum / img.planes[0].width / img.planes[0].height,
			     <, 4);
		img_release(&img);
		free(file.data);
	}
}

/* The rows stay as in the file, and the header names what turns them. */
static void test_orientations(void)
{
	for (uint32_t o = 1; o <= 8; o++) {
		struct jxl_spec spec = { .orientation = o };
		struct bytes file = jxl_make(&spec);
		struct image img = { 0 };
		struct img_header header;
		struct heap h;

		check_case("orientation %u", o);
		CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
		CHECK_NUMBER(header.orientation, ==, o);
		CHECK_NUMBER(header.upright.width_px, ==,
			     (o < 5 ? WIDTH : HEIGHT));
		decode(&img, file, &h);
		CHECK_NUMBER(img.planes[0].width, ==, WIDTH);
		for (uint32_t x = 0; x < WIDTH; x++)
			CHECK_NUMBER(sample_of(&img, 1, x, 7), ==,
				     wanted(&spec, 1, x, 7));
		img_release(&img);
		free(file.data);
	}
}

/* --- Colours --- */

/* Our own code knows that the range is high. */
static bool has_hdr(const struct image *img)
{
	struct icc icc;
	bool is_hdr;

	icc_init(&icc);
	CHECK_NUMBER(icc_open(&icc, img->profile, img->profile_bytes,
			      img->space, 1, img->memory),
		     ==, ICC_OTHER);
	is_hdr = icc_is_hdr(&icc);
	icc_close(&icc);
	return is_hdr;
}

struct colour_case {
	struct jxl_spec spec;
	bool has_profile;
	uint32_t hdr_curve;
};

static void check_colours(const struct colour_case *c)
{
	struct bytes file = jxl_make(&c->spec);
	const struct jxl_own *own;
	struct image img = { 0 };
	struct img_header header;
	bool has_profile = c->has_profile;
	struct heap h;

	CHECK_NUMBER(probe_bytes(&header, file), ==, IMG_OK);
	own = jxl_own(&header);
	/* libjxl 0.11 may write a profile as codes of colours. */
	if (c->spec.icc != NULL && c->spec.is_lossy && !own->image.has_icc)
		has_profile = true;
	CHECK_NUMBER(header.icc_bytes > 0, ==, has_profile);
	CHECK_NUMBER(own->image.hdr_curve, ==, c->hdr_curve);
	decode(&img, file, &h);
	CHECK_NUMBER(img.profile != NULL, ==, has_profile);
	CHECK_NUMBER(img.profile_bytes, <=, header.icc_bytes);
	if (c->hdr_curve != 0 && img.profile != NULL)
		CHECK(has_hdr(&img));
	if (c->spec.icc != NULL && img.profile != NULL && own->image.has_icc) {
		CHECK_NUMBER(img.profile_bytes, ==, c->spec.icc_bytes);
		CHECK(memcmp(img.profile, c->spec.icc, img.profile_bytes) == 0);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(file.data);
}

static void test_colours(void)
{
	struct bytes icc = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	const struct colour_case cases[] = {
		{ { .is_lossy = true }, false, 0 },
		{ { .is_lossy = true, .primary = JXL_PRIMARIES_P3 }, true, 0 },
		{ { .primary = JXL_PRIMARIES_P3 }, true, 0 },
		{ { .curve = JXL_TRANSFER_FUNCTION_LINEAR }, true, 0 },
		/* XYB has no curve of its own. */
		{ { .is_lossy = true, .curve = JXL_TRANSFER_FUNCTION_LINEAR },
		  false,
		  0 },
		{ { .icc = icc.data, .icc_bytes = icc.count }, true, 0 },
		{ { .is_lossy = true, .icc = icc.data, .icc_bytes = icc.count },
		  false,
		  0 },
		{ { .is_lossy = true,
		    .curve = JXL_TRANSFER_FUNCTION_PQ,
		    .primary = JXL_PRIMARIES_2100 },
		  false,
		  JXL_TRANSFER_FUNCTION_PQ },
		{ { .curve = JXL_TRANSFER_FUNCTION_HLG,
		    .primary = JXL_PRIMARIES_2100 },
		  true,
		  JXL_TRANSFER_FUNCTION_HLG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]", i);
		check_colours(&cases[i]);
	}
	free(icc.data);
}

/* --- Damage --- */

/* Debian 12's libjxl explains errors on stderr: to /dev/null until loud(). */
static int quiet(void)
{
	int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY);

	CHECK(kept >= 0 && nowhere >= 0);
	CHECK_NUMBER(dup2(nowhere, STDERR_FILENO), ==, STDERR_FILENO);
	(void)close(nowhere);
	return kept;
}

static void loud(int kept)
{
	CHECK_NUMBER(dup2(kept, STDERR_FILENO), ==, STDERR_FILENO);
	(void)close(kept);
}

static enum img_err decode_quietly(struct image *img, struct bytes file,
				   const struct img_transform *t,
				   const struct img_limits *limits,
				   struct heap *h)
{
	int kept = quiet();
	enum img_err err;

	heap_init(h);
	err = decode_transform(img, file.data, file.count, t, limits, h);
	loud(kept);
	return err;
}

static void check_cut(const struct jxl_spec *spec, struct bytes file,
		      bool is_lenient)
{
	struct img_transform t = { .quality = 80, .lenient = is_lenient };
	/* An animation's first picture may be whole. */
	bool can_be_whole = spec->frames > 1;
	struct image img = { 0 };
	struct heap h;
	enum img_err err = decode_quietly(&img, file, &t, &no_limits, &h);

	CHECK(err == IMG_ERR_TRUNCATED ||
	      (err == IMG_OK && (is_lenient || can_be_whole)));
	CHECK(err != IMG_OK || can_be_whole || img.notes == IMG_NOTE_DAMAGED);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_cut_files(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes file = jxl_make(&kinds[i]);

		check_case("kinds[%zu]", i);
		for (size_t n = IMG_BEGIN_BYTES; n < file.count;
		     n += n < 60 ? 7 : 1 + file.count / 11) {
			struct bytes cut = { file.data, n };

			check_cut(&kinds[i], cut, false);
			check_cut(&kinds[i], cut, true);
		}
		free(file.data);
	}
}

/* Groups that are whole are shown. */
static void test_lenient_shows_groups(void)
{
	static const struct jxl_spec specs[] = {
		{ .width = 900, .height = 600, .is_lossy = true },
		{ .width = 900, .height = 600, .is_grey = true },
	};
	struct img_transform t = { .quality = 80, .lenient = true };

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
		struct bytes file = jxl_make(&specs[i]);
		struct bytes cut = { file.data, file.count - file.count / 6 };
		struct image img = { 0 };
		struct heap h;

		check_case("specs[%zu]", i);
		CHECK_NUMBER(decode_quietly(&img, cut, &t, &no_limits, &h), ==,
			     IMG_OK);
		CHECK_NUMBER(img.notes & IMG_NOTE_DAMAGED, !=, 0);
		CHECK_NUMBER(abs(sample_of(&img, 0, 70, 60) -
				 wanted(&specs[i], 0, 70, 60)),
			     <, 12);
		img_release(&img);
		free(file.data);
	}
}

/* Any byte may be wrong, above all those of the headers. */
static void test_wrong_bits(void)
{
	struct img_transform t = { .quality = 80 };
	struct img_limits small = no_limits;

	const size_t step = getenv("TEST_ALL") != NULL ? 7 : 19;

	small.pixels_max = 1 << 20;
	small.decode_bytes_max = 64 << 20;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes file = jxl_make(&kinds[i]);

		check_case("kinds[%zu]", i);
		for (size_t bit = i % step; bit < 8 * file.count;
		     bit += bit < 300 ? step : 1 + 8 * file.count / 7) {
			struct image img = { 0 };
			struct heap h;

			file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			if (decode_quietly(&img, file, &t, &small, &h) ==
			    IMG_OK)
				img_release(&img);
			file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
		free(file.data);
	}
}

/* --- Limits --- */

static void test_limits(void)
{
	/* 2^30 x 2^30 pixels, in 16 bytes. */
	static const uint8_t huge[] = { 0xff, 0x0a, 0xfe, 0xff, 0xff, 0xff,
					0xc1, 0xff, 0xff, 0xff, 0x7f, 1,
					0xff, 0xff, 0xff, 0xff };
	struct jxl_spec spec = { .width = 600, .height = 500 };
	struct bytes file = jxl_make(&spec);
	struct img_limits limits = no_limits;
	struct img_header header = { 0 };
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(img_probe(&header, huge, sizeof(huge), &no_limits), ==,
		     IMG_ERR_TOO_LARGE);
	limits.pixels_max = 299999;
	CHECK_NUMBER(decode_limits(file, &limits, &h), ==, IMG_ERR_TOO_LARGE);
	limits.pixels_max = 300000;
	CHECK_NUMBER(decode_limits(file, &limits, &h), ==, IMG_OK);
	limits.decode_bytes_max = 600 * 500 * 20;
	CHECK_NUMBER(decode_limits(file, &limits, &h), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(decode_bytes(&img, file.data, file.count, &limits, &h), ==,
		     IMG_ERR_TOO_LARGE);
	free(file.data);
}

/* A file of layers takes more, and its header says so. */
static void test_layers_cost_more(void)
{
	uint64_t last_ns = 0, last_bytes = 0;

	for (uint32_t layers = 1; layers <= 4; layers++) {
		struct jxl_spec spec = { .layers = layers };
		struct img_transform t = { .quality = 80 };
		struct bytes file = jxl_make(&spec);
		struct img_header h;
		struct img_view view;
		struct img_cost cost;

		CHECK_NUMBER(probe_bytes(&h, file), ==, IMG_OK);
		view = img_fit(&h, &t);
		cost = img_cost(&h, &view, &t);
		CHECK_NUMBER(cost.decode_ns, >, last_ns);
		CHECK_NUMBER(cost.bytes, >, last_bytes);
		last_ns = cost.decode_ns;
		last_bytes = cost.bytes;
		free(file.data);
	}
}

/* --- Results --- */

static struct bytes encode_image(struct image *src,
				 const struct img_transform *t, struct heap *h)
{
	uint8_t *out = NULL;
	struct bytes copy;

	CHECK_NUMBER(img_encode(&out, &copy.count, src, t, &h->memory), ==,
		     IMG_OK);
	copy.data = malloc(copy.count);
	CHECK(copy.data != NULL);
	memcpy(copy.data, out, copy.count);
	h->memory.free(h->memory.arg, out);
	return copy;
}

static double difference(const struct image *a, const struct image *b)
{
	double most = 0;

	CHECK_NUMBER(a->plane_count, ==, b->plane_count);
	for (uint32_t p = 0; p < a->plane_count; p++)
		for (uint32_t y = 0; y < a->planes[p].height; y++)
			for (uint32_t x = 0; x < a->planes[p].width; x++)
				most = fmax(most, abs(sample_of(a, p, x, y) -
						      sample_of(b, p, x, y)));
	return most;
}

static void test_results(void)
{
	static const struct jxl_spec specs[] = {
		{ .depth = 8 },
		{ .is_grey = true },
		{ .has_alpha = true },
	};
	static const struct img_transform results[] = {
		{ .quality = 80, .lossless = true },
		{ .quality = 80, .lossless = true, .effort = 1 },
		{ .quality = 80, .lossless = true, .effort = 9 },
		{ .quality = 100 },
		{ .quality = 95, .effort = 1 },
		{ .quality = 95, .effort = 9 },
		{ .quality = 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(results); k++) {
			struct bytes file = jxl_make(&specs[i]), result;
			struct image img = { 0 }, again = { 0 };
			struct img_transform t = results[k];
			struct heap h, other;

			check_case("specs[%zu], results[%zu]", i, k);
			t.format = IMG_FORMAT_JXL;
			decode(&img, file, &h);
			result = encode_image(&img, &t, &h);
			decode(&again, result, &other);
			CHECK_NUMBER(difference(&img, &again), <=,
				     (t.lossless      ? 0 :
				      t.quality >= 95 ? 25 :
							255));
			img_release(&img);
			img_release(&again);
			CHECK_NUMBER(h.live_count, ==, 0);
			CHECK_NUMBER(other.live_count, ==, 0);
			free(file.data);
			free(result.data);
		}
}

/* A profile that is kept is in the result. */
static void test_results_with_profile(void)
{
	struct bytes icc = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct jxl_spec spec = { .icc = icc.data, .icc_bytes = icc.count };
	struct img_transform t = { .quality = 90,
				   .format = IMG_FORMAT_JXL,
				   .lossless = true };
	struct bytes file = jxl_make(&spec), result;
	struct image img = { 0 }, again = { 0 };
	struct img_header header;
	struct heap h, other;

	decode(&img, file, &h);
	result = encode_image(&img, &t, &h);
	decode(&again, result, &other);
	CHECK_NUMBER(difference(&img, &again), ==, 0);
	CHECK_NUMBER(again.profile_bytes, ==, icc.count);
	CHECK(memcmp(again.profile, icc.data, icc.count) == 0);
	img_release(&again);
	free(result.data);
	t.lossless = false;
	result = encode_image(&img, &t, &h);
	decode(&again, result, &other);
	/* XYB becomes sRGB, unless libjxl has written codes of colours. */
	CHECK(probe_bytes(&header, result) == IMG_OK &&
	      (again.profile == NULL) == jxl_own(&header)->image.has_icc);
	img_release(&again);
	free(result.data);
	img_release(&img);
	free(file.data);
	free(icc.data);
}

/* No more than version 0.7 takes, and 100 is not without loss. */
static void test_distances(void)
{
	for (int q = 1; q < 100; q++)
		CHECK_NUMBER(distance_of(q), >, distance_of(q + 1));
	CHECK_NUMBER(distance_of(1), <=, 15);
	CHECK_NUMBER(distance_of(100), >, 0);
}

int main(void)
{
	test_headers();
	test_large_box();
	test_lossless_is_exact();
	test_premultiplied();
	test_lossy_is_near();
	test_orientations();
	test_colours();
	test_cut_files();
	test_lenient_shows_groups();
	test_wrong_bits();
	test_limits();
	test_layers_cost_more();
	test_results();
	test_results_with_profile();
	test_distances();
	return 0;
}
