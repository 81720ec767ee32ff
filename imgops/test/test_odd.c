/* SPDX-License-Identifier: MIT */
/*
 * Promises about files that are rare but legal, or common but illegal: grey
 * with sampling factors, pictures of one pixel and of one row, no Huffman
 * tables, a second picture after the first, profiles in chunks of any order,
 * and very many fill bytes and markers.  Each goes through the whole pipeline.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Run all steps from probe to encode.  `size` is that of the result, as libjpeg
 * reads it.
 */
static enum img_err run(struct bytes jpeg,
			const struct img_transform *transform,
			struct img_size *size)
{
	struct image decoded, scaled = { 0 }, blurred = { 0 };
	struct bytes out = { 0 };
	struct img_header header;
	struct heap h;

	heap_init(&h);
	enum img_err err = decode_transform(&decoded, jpeg.data, jpeg.count,
					    transform, &no_limits, &h);

	if (err != IMG_OK)
		return err;
	err = img_probe(&header, jpeg.data, jpeg.count, &no_limits);
	CHECK_NUMBER(err, ==, IMG_OK);
	struct img_view view = img_fit(&header, transform);

	err = img_scale(&scaled, &decoded, &view, transform, &h.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_blur(&blurred, &scaled, 2, &h.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	err = img_encode(&out.data, &out.count, &blurred, transform, &h.memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	struct jpeg_view seen = jpeg_read(out, JCS_GRAYSCALE, 8);

	*size = (struct img_size){ seen.width, seen.height };
	free(seen.pixels);
	h.memory.free(h.memory.arg, out.data);
	img_release(&blurred);
	img_release(&scaled);
	img_release(&decoded);
	CHECK_NUMBER(h.live_count, ==, 0);
	return IMG_OK;
}

static const struct img_transform full = { .quality = 80 };
static const struct img_transform thumb = { .quality = 80, .box = { 4, 4 } };

static void must_run(struct bytes jpeg, const struct img_transform *transform,
		     uint32_t width, uint32_t height)
{
	struct img_size size;
	enum img_err err = run(jpeg, transform, &size);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(size.width_px, ==, width);
	CHECK_NUMBER(size.height_px, ==, height);
}

static void check_same_at(struct bytes a, struct bytes b, struct img_size size)
{
	struct heap h;

	heap_init(&h);
	struct image x = must_decode(a, size, &h);
	struct image y = must_decode(b, size, &h);

	CHECK(is_same(&x, &y));
	img_release(&x);
	img_release(&y);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Both files hold the same picture, at full size and at 1/8. */
static void check_same(struct bytes a, struct bytes b)
{
	check_same_at(a, b, full_size);
	check_same_at(a, b, (struct img_size){ 1, 1 });
}

/*
 * T.81, A.2.2: a single component is never interleaved, so its sampling factors
 * have no effect.
 */
static void test_factors_of_grey_mean_nothing(void)
{
	for (int progressive = 0; progressive < 2; progressive++)
		for (int factors = 0; factors < 16; factors++) {
			struct jpeg_spec spec = { .width = 50,
						  .height = 37,
						  .space = JCS_GRAYSCALE,
						  .progressive = progressive };
			struct bytes plain = jpeg_make(&spec);
			struct bytes odd = jpeg_make(&spec);
			uint8_t *sof =
				jpeg_marker(odd, progressive ? 0xc2 : 0xc0);

			sof[7] = (uint8_t)((factors / 4 + 1) << 4 |
					   (factors % 4 + 1));
			check_same(plain, odd);
			must_run(odd, &full, 50, 37);
			must_run(odd, &thumb, 4, 3);
			free(odd.data);
			free(plain.data);
		}
}

static void test_one_pixel_of_every_kind(void)
{
	static const J_COLOR_SPACE spaces[] = { JCS_YCbCr, JCS_GRAYSCALE,
						JCS_RGB, JCS_CMYK, JCS_YCCK };

	for (size_t s = 0; s < ARRAY_SIZE(spaces); s++)
		for (int coding = 0; coding < 16; coding++) {
			struct jpeg_spec spec = {
				.width = 1,
				.height = 1,
				.space = spaces[s],
				.h = { 1 + (coding & 1) },
				.v = { 1 + (coding & 1) },
				.progressive = coding & 2,
				.arithmetic = coding & 4,
				.restart_interval = coding & 8 ? 1 : 0,
			};
			struct bytes jpeg = jpeg_make(&spec);

			must_run(jpeg, &full, 1, 1);
			must_run(jpeg, &thumb, 1, 1);
			free(jpeg.data);
		}
}

static void test_one_row_and_one_column(void)
{
	for (int kind = 0; kind < 8; kind++) {
		bool lies = kind & 1;
		uint32_t width = lies ? 65500 : 1, height = lies ? 1 : 65500;
		struct jpeg_spec spec = {
			.width = width,
			.height = height,
			.h = { 2 },
			.v = { 2 },
			.progressive = kind & 2,
			.arithmetic = kind & 4,
		};
		struct bytes jpeg = jpeg_make(&spec);

		must_run(jpeg, &full, width, height);
		must_run(jpeg, &thumb, lies ? 4 : 1, lies ? 1 : 4);
		free(jpeg.data);
	}
}

static void test_factors_that_do_not_divide(void)
{
	static const int factors[][3] = { { 3, 2, 1 },
					  { 4, 3, 2 },
					  { 2, 3, 1 } };

	for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
		for (int down = 0; down < 2; down++) {
			struct jpeg_spec spec = { .width = 53, .height = 47 };

			memcpy(down ? spec.v : spec.h, factors[i],
			       sizeof(factors[i]));
			struct bytes jpeg = jpeg_make(&spec);

			must_run(jpeg, &full, 53, 47);
			must_run(jpeg, &thumb, 4, 4);
			free(jpeg.data);
		}
}

/* A copy without the segments of one kind. */
static struct bytes without(struct bytes jpeg, uint8_t code)
{
	struct bytes out = { malloc(jpeg.count), 2 };
	size_t at = 2;

	CHECK(out.data != NULL);
	memcpy(out.data, jpeg.data, 2);
	while (jpeg.data[at + 1] != 0xda) {
		size_t n = 2 +
			   (size_t)(jpeg.data[at + 2] << 8 | jpeg.data[at + 3]);

		if (jpeg.data[at + 1] != code) {
			memcpy(out.data + out.count, jpeg.data + at, n);
			out.count += n;
		}
		at += n;
	}
	memcpy(out.data + out.count, jpeg.data + at, jpeg.count - at);
	out.count += jpeg.count - at;
	return out;
}

/*
 * Cameras write Motion JPEG without tables of Huffman codes.  It is decoded
 * with the tables of T.81, annex K.
 */
static void test_no_huffman_tables_are_the_usual_ones(void)
{
	struct jpeg_spec spec = {
		.width = 50, .height = 37, .h = { 2 }, .restart_interval = 3
	};
	struct bytes whole = jpeg_make(&spec);
	struct bytes bare = without(whole, 0xc4);
	struct img_size size;

	CHECK_NUMBER(bare.count + 400, <, whole.count);
	check_same_at(whole, bare, full_size);
	must_run(bare, &full, 50, 37);
	must_run(bare, &thumb, 4, 3);
	free(whole.data);
	free(bare.data);
	/* A progressive file needs its own tables. */
	spec.progressive = true;
	whole = jpeg_make(&spec);
	bare = without(whole, 0xc4);
	CHECK_NUMBER(run(bare, &full, &size), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(run(bare, &thumb, &size), ==, IMG_ERR_CORRUPT);
	free(whole.data);
	free(bare.data);
	spec.progressive = false;
	whole = jpeg_make(&spec);
	/* without quantisation tables it is an error: they have no default */
	bare = without(whole, 0xdb);
	CHECK_NUMBER(run(bare, &full, &size), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(run(bare, &thumb, &size), ==, IMG_ERR_CORRUPT);
	free(whole.data);
	free(bare.data);
}

/* Insert `count` bytes after the first two of `jpeg`, which is freed. */
static struct bytes with(struct bytes jpeg, const uint8_t *more, size_t count)
{
	struct bytes out = { malloc(jpeg.count + count), jpeg.count + count };

	CHECK(out.data != NULL);
	memcpy(out.data, jpeg.data, 2);
	memcpy(out.data + 2, more, count);
	memcpy(out.data + 2 + count, jpeg.data + 2, jpeg.count - 2);
	free(jpeg.data);
	return out;
}

static const uint8_t chunks[] = "\xff\xe2\0\x12ICC_PROFILE\0\3\3ef"
				"\xff\xe2\0\x12ICC_PROFILE\0\1\3ab"
				"\xff\xe2\0\x12ICC_PROFILE\0\2\3cd";

/* Another JPEG after the EOI, as in MPO files and gain maps. */
static void test_a_second_picture_is_not_looked_at(void)
{
	for (int progressive = 0; progressive < 2; progressive++) {
		struct jpeg_spec spec = { .width = 50,
					  .height = 37,
					  .h = { 2 },
					  .progressive = progressive };
		struct bytes first = jpeg_make(&spec);
		struct img_header alone, both;

		spec = (struct jpeg_spec){ .width = 600,
					   .height = 300,
					   .progressive = true,
					   .orientation = 6 };
		struct bytes second =
			with(jpeg_make(&spec), chunks, sizeof(chunks) - 1);
		struct bytes mpo = { malloc(first.count + second.count),
				     first.count + second.count };

		CHECK(mpo.data != NULL);
		memcpy(mpo.data, first.data, first.count);
		memcpy(mpo.data + first.count, second.data, second.count);
		enum img_err a =
			img_probe(&alone, first.data, first.count, &no_limits);
		enum img_err b =
			img_probe(&both, mpo.data, mpo.count, &no_limits);

		CHECK_NUMBER(a, ==, IMG_OK);
		CHECK_NUMBER(b, ==, IMG_OK);
		CHECK_NUMBER(jpeg_own(&both)->scan_count, ==,
			     jpeg_own(&alone)->scan_count);
		CHECK_NUMBER(both.orientation, ==, 1);
		CHECK_NUMBER(both.icc_bytes, ==, 0);
		CHECK_NUMBER(both.stored.width_px, ==, 50);
		check_same(first, mpo);
		must_run(mpo, &thumb, 4, 3);
		free(mpo.data);
		free(second.data);
		free(first.data);
	}
}

static void test_chunks_of_a_profile_come_in_any_order(void)
{
	struct jpeg_spec spec = { .width = 20, .height = 20 };
	struct bytes jpeg = with(jpeg_make(&spec), chunks, sizeof(chunks) - 1);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, full_size, &h);

	CHECK_NUMBER(img.profile_bytes, ==, 6);
	CHECK_NUMBER(img.notes, ==, 0);
	CHECK(memcmp(img.profile, "abcdef", 6) == 0);
	img_release(&img);
	/* it is not a profile, so it is ignored */
	must_run(jpeg, &full, 20, 20);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

/* Insert `text` `count` times, as segments or fill bytes. */
static struct bytes many(struct bytes jpeg, const char *text, size_t bytes,
			 size_t count)
{
	uint8_t *more = malloc(bytes * count);

	CHECK(more != NULL);
	for (size_t i = 0; i < count; i++)
		memcpy(more + i * bytes, text, bytes);
	jpeg = with(jpeg, more, bytes * count);
	free(more);
	return jpeg;
}

/*
 * As many markers as are allowed (test_limits.c).  In quadratic time, this
 * would take seconds.
 */
static void test_long_headers_take_linear_time(void)
{
	static const struct {
		const char *text;
		size_t bytes, count;
	} cases[] = {
		{ "\xff", 1, 60000 },
		{ "\xff\xfe\0\2", 4, 32000 },
		{ "\xff\xe1\0\x08"
		  "Exif\0\0",
		  10, 32000 },
		{ "\xff\xe2\0\x12ICC_PROFILE\0\1\1ab", 20, 32000 },
		{ "\xff\xdd\0\4\0\0", 6, 32000 },
		{ "\xff\xd0", 2, 32000 },
		{ "junk", 4, 16000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int progressive = 0; progressive < 2; progressive++) {
			struct jpeg_spec spec = { .width = 50,
						  .height = 37,
						  .progressive = progressive };
			double start = cpu_seconds();
			struct bytes jpeg =
				many(jpeg_make(&spec), cases[i].text,
				     cases[i].bytes, cases[i].count);

			must_run(jpeg, &full, 50, 37);
			must_run(jpeg, &thumb, 4, 3);
			free(jpeg.data);
			CHECK_NUMBER(cpu_seconds() - start, <, 2);
		}
}

/* The same inside and after the data of the first scan. */
static void test_long_data_take_linear_time(void)
{
	static const struct img_transform lenient = { .quality = 80,
						      .lenient = true };
	static const char *texts[] = { "\xff\xff\xff\xff", "\xff\xd0\xff\xd0",
				       "\xff\xfe\0\2", "\xff\xda\0\2", "abcd" };
	enum { COUNT = 250000 };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (int kind = 0; kind < 4; kind++) {
			struct jpeg_spec spec = {
				.width = 50,
				.height = 37,
				.progressive = kind & 1,
				.restart_interval = kind & 2 ? 1 : 0,
			};
			struct bytes jpeg = jpeg_make(&spec);
			size_t at = (size_t)(jpeg_marker(jpeg, 0xda) + 30 -
					     jpeg.data);
			struct bytes tail = { jpeg.data + at - 2,
					      jpeg.count - at + 2 };
			struct bytes copy = { malloc(tail.count), tail.count };
			struct img_size size;
			double start = cpu_seconds();

			CHECK(copy.data != NULL);
			memcpy(copy.data, tail.data, tail.count);
			copy = many(copy, texts[i], 4, COUNT);
			jpeg.data = realloc(jpeg.data, at - 2 + copy.count);
			CHECK(jpeg.data != NULL);
			memcpy(jpeg.data + at - 2, copy.data, copy.count);
			jpeg.count = at - 2 + copy.count;
			(void)run(jpeg, &full, &size);
			(void)run(jpeg, &lenient, &size);
			CHECK_NUMBER(cpu_seconds() - start, <, 2);
			free(copy.data);
			free(jpeg.data);
		}
}

int main(void)
{
	test_factors_of_grey_mean_nothing();
	test_one_pixel_of_every_kind();
	test_one_row_and_one_column();
	test_factors_that_do_not_divide();
	test_no_huffman_tables_are_the_usual_ones();
	test_a_second_picture_is_not_looked_at();
	test_chunks_of_a_profile_come_in_any_order();
	test_long_headers_take_linear_time();
	test_long_data_take_linear_time();
	return 0;
}
