/* SPDX-License-Identifier: MIT */
/*
 * Promises: the error says what is wrong with a header; all fields are as
 * libjpeg reads them; any bytes are walked in linear time; a walk that
 * continues while a file arrives finds the same as one walk over the whole
 * file.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static void test_other_files_are_not_jpeg(void)
{
	static const char *const others[] = { "",
					      "\xff",
					      "\xd8",
					      "\xd8\xff",
					      "BM\x10\x20",
					      "GIF88a",
					      "\xff\xd9\xff\xd8" };
	struct image img;
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK_NUMBER(decode_bytes(&img, (const uint8_t *)others[i],
					  strlen(others[i]), &no_limits, &h),
			     ==, IMG_ERR_UNKNOWN_FORMAT);
	CHECK_NUMBER(h.alloc_count, ==, 0);
}

static void test_orientation_turns_the_upright_size(void)
{
	for (uint32_t i = 0; i <= 17; i++) {
		struct jpeg_spec spec = { .width = 30,
					  .height = 20,
					  .orientation = i / 2,
					  .little_endian = i % 2 };
		struct bytes jpeg = jpeg_make(&spec);
		uint32_t expected = i / 2 ? i / 2 : 1;
		struct img_header header;
		enum img_err err =
			img_probe(&header, jpeg.data, jpeg.count, &no_limits);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(header.orientation, ==, expected);
		CHECK_NUMBER(header.stored.width_px, ==, 30);
		CHECK_NUMBER(header.stored.height_px, ==, 20);
		CHECK_NUMBER(header.upright.width_px, ==,
			     (expected >= 5 ? 20 : 30));
		CHECK_NUMBER(header.upright.height_px, ==,
			     (expected >= 5 ? 30 : 20));
		free(jpeg.data);
	}
}

static void test_the_target_is_upright(void)
{
	struct jpeg_spec spec = { .width = 64, .height = 16, .orientation = 6 };
	struct bytes jpeg = jpeg_make(&spec);
	struct heap h;

	heap_init(&h);
	struct image img = must_decode(jpeg, (struct img_size){ 3, 14 }, &h);

	CHECK_NUMBER(img.planes[0].width, ==, 16);
	CHECK_NUMBER(img.planes[0].height, ==, 4);
	img_release(&img);
	free(jpeg.data);
}

static void test_a_cut_app1_is_an_error(void)
{
	struct jpeg_spec spec = { .width = 8, .height = 8, .orientation = 6 };
	struct bytes jpeg = jpeg_make(&spec);
	uint8_t *length = jpeg_marker(jpeg, 0xe1) - 2;
	struct heap h;

	heap_init(&h);
	memcpy(length, "\xff\xff", 2);
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==,
		     IMG_ERR_TRUNCATED);
	CHECK_NUMBER(h.alloc_count, ==, 0);
	/* An impossible length counts as no data, as in libjpeg. */
	memcpy(length, "\0\1", 2);
	CHECK_NUMBER(decode_limits(jpeg, &no_limits, &h), ==, IMG_OK);
	free(jpeg.data);
}

static void test_the_first_orientation_counts(void)
{
	struct jpeg_spec spec = { .width = 8, .height = 8, .orientation = 6 };
	struct bytes a = jpeg_make(&spec);
	size_t length = 36, head = 2 + 18; /* EXIF; SOI and JFIF */
	struct bytes b = { malloc(a.count + length), a.count + length };
	struct img_header header;

	CHECK(b.data != NULL);
	memcpy(b.data, a.data, head + length);
	memcpy(b.data + head + length, a.data + head, a.count - head);
	CHECK_NUMBER(b.data[head + 1], ==, 0xe1);
	CHECK_NUMBER(b.data[head + length + 1], ==, 0xe1);
	*(uint8_t *)memchr(b.data + head + length + 28, 6, 8) = 3;
	enum img_err err = img_probe(&header, b.data, b.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(header.orientation, ==, 6);
	free(a.data);
	free(b.data);
}

static void on_output(j_common_ptr jpeg)
{
	(void)jpeg;
}

/* Compare every field that libjpeg also has. */
static void check_as_libjpeg(struct bytes jpeg, uint32_t scan_count)
{
	static const J_COLOR_SPACE spaces[] = {
		[IMG_GREY] = JCS_GRAYSCALE, [IMG_YCBCR] = JCS_YCbCr,
		[IMG_RGB] = JCS_RGB,        [IMG_CMYK] = JCS_CMYK,
		[IMG_YCCK] = JCS_YCCK,
	};
	struct jpeg_decompress_struct d;
	struct jpeg_error_mgr errors;
	struct img_header h;
	enum img_err err = img_probe(&h, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	d.err = jpeg_std_error(&errors);
	errors.output_message = on_output;
	jpeg_create_decompress(&d);
	jpeg_mem_src(&d, jpeg.data, jpeg.count);
	(void)jpeg_read_header(&d, TRUE);
	CHECK_NUMBER(h.stored.width_px, ==, d.image_width);
	CHECK_NUMBER(h.stored.height_px, ==, d.image_height);
	CHECK_NUMBER(h.component_count, ==, (uint32_t)d.num_components);
	CHECK_NUMBER(spaces[h.space], ==, d.jpeg_color_space);
	for (uint32_t i = 0; i < h.component_count; i++) {
		CHECK_NUMBER(h.h_factors[i], ==, d.comp_info[i].h_samp_factor);
		CHECK_NUMBER(h.v_factors[i], ==, d.comp_info[i].v_samp_factor);
	}
	CHECK_NUMBER(h.is_progressive, ==, d.progressive_mode);
	CHECK_NUMBER(jpeg_own(&h)->is_arithmetic, ==, d.arith_code);
	CHECK_NUMBER(jpeg_own(&h)->scan_count, ==, scan_count);
	CHECK_NUMBER(h.icc_bytes, ==, 0);
	jpeg_destroy_decompress(&d);
}

static void test_all_kinds_are_told(void)
{
	static const struct {
		struct jpeg_spec spec;
		uint32_t scan_count;
	} kinds[] = {
		{ { .space = JCS_GRAYSCALE }, 1 },
		{ { .h = { 2 }, .v = { 2 } }, 1 },
		{ { .h = { 4, 2, 1 }, .v = { 1, 2, 1 } }, 1 },
		{ { .space = JCS_RGB }, 1 },
		{ { .space = JCS_CMYK }, 1 },
		{ { .space = JCS_YCCK }, 1 },
		{ { .space = JCS_CMYK, .no_adobe = true }, 1 },
		{ { .arithmetic = true, .restart_interval = 2 }, 1 },
		{ { .separate_scans = true }, 3 },
		{ { .separate_scans = true, .arithmetic = true }, 3 },
		{ { .progressive = true }, 10 },
		{ { .progressive = true, .arithmetic = true }, 10 },
		{ { .progressive = true, .space = JCS_GRAYSCALE }, 6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct jpeg_spec spec = kinds[i].spec;

		check_case("kinds[%zu]", i);
		spec.width = 35;
		spec.height = 19;
		struct bytes jpeg = jpeg_make(&spec);

		check_as_libjpeg(jpeg, kinds[i].scan_count);
		free(jpeg.data);
	}
}

/*
 * A header with this data of the two markers, and components with these `ids`.
 */
static struct bytes header_make(const char *app0, size_t app0_bytes,
				const char *app14, size_t app14_bytes,
				const char *ids)
{
	static uint8_t file[200];
	uint8_t n = (uint8_t)strlen(ids), *to = file;

	to = mempcpy(to, "\xff\xd8\xff\xe0\0", 5);
	*to++ = (uint8_t)(2 + app0_bytes);
	to = mempcpy(to, app0, app0_bytes);
	to = mempcpy(to, "\xff\xee\0", 3);
	*to++ = (uint8_t)(2 + app14_bytes);
	to = mempcpy(to, app14, app14_bytes);
	to = mempcpy(to, "\xff\xc0\0.\x08\0\1\0\1.", 10);
	to[-7] = (uint8_t)(8 + 3 * n);
	to[-1] = n;
	for (uint8_t i = 0; i < n; i++, to += 3)
		memcpy(to, (uint8_t[]){ (uint8_t)ids[i], 0x11, 0 }, 3);
	to = mempcpy(to, "\xff\xda\0..", 5);
	to[-2] = (uint8_t)(6 + 2 * n);
	to[-1] = n;
	for (uint8_t i = 0; i < n; i++, to += 2)
		memcpy(to, (uint8_t[]){ (uint8_t)ids[i], 0 }, 2);
	to = mempcpy(to, "\0\x3f\0", 3);
	return (struct bytes){ file, (size_t)(to - file) };
}

static void test_the_space_is_guessed_as_libjpeg_does(void)
{
	static const char *const app0s[] = { "JFIF\0\1\2\0\0\1\0\1\0\0",
					     "jfif\0\1\2\0\0\1\0\1\0\0" };
	static const char app14s[][13] = {
		"Adobe\0\x64\0\0\0\0\0", "Adobe\0\x64\0\0\0\0\1",
		"Adobe\0\x64\0\0\0\0\2", "Adobe\0\x64\0\0\0\0\3",
		"adobe\0\x64\0\0\0\0\0",
	};
	static const char *const ids[] = { "1",   "\1\2\3",   "RGB", "rgb",
					   "123", "\1\2\3\4", "CMYK" };

	/* The whole segment, and one that is a byte too short. */
	for (size_t i = 0; i < ARRAY_SIZE(ids) * ARRAY_SIZE(app14s) * 8; i++)
		check_as_libjpeg(header_make(app0s[i & 1], 13 + (i >> 1 & 1),
					     app14s[i / 8 % ARRAY_SIZE(app14s)],
					     11 + (i >> 2 & 1),
					     ids[i / 8 / ARRAY_SIZE(app14s)]),
				 1);
}

#define SOI "\xff\xd8"
#define SOF "\xff\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0"
#define SOS "\xff\xda\0\x08\1\1\0\0\x3f\0"
#define EOI "\xff\xd9"
#define PROBE(text) probe(text, sizeof(text) - 1)

static enum img_err probe(const char *data, size_t count)
{
	static const struct img_limits limits = { .side_px_max = UINT32_MAX,
						  .pixels_max = UINT64_MAX,
						  .scans_max = 1 };
	struct img_header header;
	uint8_t *copy = malloc(count); /* sanitizers notice overruns */

	CHECK(copy != NULL);
	memcpy(copy, data, count);
	enum img_err err = img_probe(&header, copy, count, &limits);

	free(copy);
	return err;
}

static void test_broken_headers_are_corrupt(void)
{
	static const char file[] = SOI SOF SOS;

	CHECK_NUMBER(PROBE(SOI SOF SOS), ==, IMG_OK);
	for (size_t n = 2; n < sizeof(file) - 1; n++)
		CHECK_NUMBER(probe(file, n), ==, IMG_ERR_TRUNCATED);
	CHECK_NUMBER(PROBE(SOI SOF EOI SOS), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOS SOF), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOF SOF SOS), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOI SOF SOS), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI "\xff\xf0\0\2" SOF SOS), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI "\xff\xc0\0\2"), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOF "\xff\xda\0\2"), ==, IMG_ERR_CORRUPT);
	/* A scan of no component, of five, and of a wrong length. */
	CHECK_NUMBER(PROBE(SOI SOF "\xff\xda\0\6\0\0\x3f\0"), ==,
		     IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOF "\xff\xda\0\x10\5..........\0\x3f\0"), ==,
		     IMG_ERR_CORRUPT);
	CHECK_NUMBER(PROBE(SOI SOF "\xff\xda\0\x09\1\1\0\0\x3f\0."), ==,
		     IMG_ERR_CORRUPT);
}

static void test_broken_frames_are_told_apart(void)
{
	static const struct {
		size_t at; /* in the frame's data */
		uint8_t value;
		enum img_err err;
	} cases[] = {
		{ 0, 7, IMG_ERR_UNSUPPORTED },
		{ 0, 12, IMG_ERR_UNSUPPORTED },
		{ 2, 0, IMG_ERR_CORRUPT },
		{ 4, 0, IMG_ERR_CORRUPT },
		{ 1, 255, IMG_OK },
		{ 3, 255, IMG_OK },
		{ 5, 0, IMG_ERR_CORRUPT },
		{ 5, 2, IMG_ERR_CORRUPT },
		{ 7, 0x01, IMG_ERR_CORRUPT },
		{ 7, 0x10, IMG_ERR_CORRUPT },
		{ 7, 0x51, IMG_ERR_CORRUPT },
		{ 7, 0x15, IMG_ERR_CORRUPT },
		{ 7, 0x44, IMG_OK },
	};
	static const uint8_t sofs[] = { 0xc3, 0xc5, 0xc6, 0xc7, 0xc8,
					0xcb, 0xcd, 0xce, 0xcf, 0xf7 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char file[] = SOI SOF SOS;

		check_case("cases[%zu]", i);
		file[6 + cases[i].at] = (char)cases[i].value;
		CHECK_NUMBER(probe(file, sizeof(file) - 1), ==, cases[i].err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sofs); i++) {
		char file[] = SOI SOF SOS;

		file[3] = (char)sofs[i];
		CHECK_NUMBER(probe(file, sizeof(file) - 1), ==,
			     IMG_ERR_UNSUPPORTED);
	}
	/* 65,501 pixels are more than libjpeg's 65,500. */
	CHECK_NUMBER(
		PROBE(SOI "\xff\xc0\0\x0b\x08\xff\xdc\xff\xdc\1\1\x11\0" SOS),
		==, IMG_OK);
	CHECK_NUMBER(PROBE(SOI "\xff\xc0\0\x0b\x08\xff\xdd\0\1\1\1\x11\0" SOS),
		     ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(PROBE(SOI "\xff\xc0\0\x0b\x08\0\1\xff\xdd\1\1\x11\0" SOS),
		     ==, IMG_ERR_TOO_LARGE);
	/* No component, two, and five. */
	CHECK_NUMBER(PROBE(SOI "\xff\xc0\0\x08\x08\0\1\0\1\0" SOF SOS), ==,
		     IMG_ERR_CORRUPT);
	CHECK_NUMBER(
		PROBE(SOI "\xff\xc0\0\x0e\x08\0\1\0\1\2\1\x11\0\2\x11\0" SOS),
		==, IMG_ERR_UNSUPPORTED);
	CHECK_NUMBER(
		PROBE(SOI "\xff\xc0\0\x17\x08\0\1\0\1\5\1\x11\0\2\x11\0\3\x11\0"
			  "\4\x11\0\5\x11\0" SOS),
		==, IMG_ERR_UNSUPPORTED);
}

static void test_the_profile_is_measured(void)
{
	static const char file[] =
		SOI "\xff\xe2\0\x13ICC_PROFILE\0\1\2abc"
		    "\xff\xe2\0\x12ICC_PROFILE\0\2\2de"
		    "\xff\xe2\0\x0fICC_PROFILE\0\1"
		    "\xff\xe2\0\x13icc_profile\0\1\2abc" SOF SOS;
	struct img_header h;
	enum img_err err = img_probe(&h, (const uint8_t *)file,
				     sizeof(file) - 1, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(h.icc_bytes, ==, 5);
}

/*
 * One scan contains all components, so the bytes after its header are not read
 * and have no limit.
 */
static void test_baseline_data_are_not_walked(void)
{
	static const char file[] = SOI SOF SOS SOS SOS EOI;
	struct img_limits limits = no_limits;
	struct img_header h;

	limits.scans_max = 1;
	enum img_err err =
		img_probe(&h, (const uint8_t *)file, sizeof(file) - 1, &limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(jpeg_own(&h)->scan_count, ==, 1);
}

/*
 * After any part of a file, continuing gives the same result as starting again.
 * Each part has a buffer of its own, because a file may move while it arrives.
 */
static void check_arriving(struct bytes jpeg, size_t step)
{
	struct img_header more;

	memset(&more, 0, sizeof(more));
	for (size_t n = 2; n <= jpeg.count;
	     n = n < jpeg.count && n + step > jpeg.count ? jpeg.count :
							   n + step) {
		uint8_t *part = malloc(n); /* sanitizers notice overruns */
		struct img_header whole;

		CHECK(part != NULL);
		memcpy(part, jpeg.data, n);

		enum img_err expected = img_probe(&whole, part, n, &no_limits);
		enum img_err err = img_probe_more(&more, part, n, &no_limits);

		CHECK_NUMBER(err, ==, expected);
		if (err == IMG_OK)
			CHECK(memcmp(&more, &whole, sizeof(more)) == 0);
		free(part);
	}
	free(jpeg.data);
}

static void test_a_header_is_continued_as_bytes_come(void)
{
	static const size_t steps[] = { 1, 7, 64, 1000 };

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		for (int kind = 0; kind < 16; kind++) {
			struct jpeg_spec spec = {
				.width = 60,
				.height = 44,
				.space = kind & 8 ? JCS_GRAYSCALE : JCS_YCbCr,
				.progressive = kind & 1,
				.separate_scans = kind & 2,
				.arithmetic = kind & 4,
				.orientation = 3,
				.quality = 70,
			};

			check_arriving(jpeg_make(&spec), steps[i]);
		}
}

static void test_scans_that_come_later_are_too_many(void)
{
	struct jpeg_spec spec = { .width = 40,
				  .height = 40,
				  .progressive = true };
	struct bytes jpeg = jpeg_make(&spec);
	struct img_limits limits = no_limits;
	struct img_header h = { 0 };
	enum img_err err = IMG_ERR_TRUNCATED;
	size_t n = 2;

	limits.scans_max = 2;
	for (; err == IMG_ERR_TRUNCATED && n < jpeg.count; n++)
		err = img_probe_more(&h, jpeg.data, n, &limits);
	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(jpeg_own(&h)->scan_count, ==, 1);
	err = img_probe_more(&h, jpeg.data, jpeg.count, &limits);
	CHECK_NUMBER(err, ==, IMG_ERR_TOO_MANY_SCANS);
	free(jpeg.data);
}

int main(void)
{
	test_other_files_are_not_jpeg();
	test_orientation_turns_the_upright_size();
	test_the_target_is_upright();
	test_a_cut_app1_is_an_error();
	test_the_first_orientation_counts();
	test_all_kinds_are_told();
	test_the_space_is_guessed_as_libjpeg_does();
	test_broken_headers_are_corrupt();
	test_broken_frames_are_told_apart();
	test_the_profile_is_measured();
	test_baseline_data_are_not_walked();
	test_a_header_is_continued_as_bytes_come();
	test_scans_that_come_later_are_too_many();
	return 0;
}
