/* SPDX-License-Identifier: MIT */
/* Metadata and headers are read back as written; broken files do no harm. */
#include "base/test/check.h"
#include "datasets/jpeg.h"
#include "datasets/xalloc.h"
#include "base/util.h"
#include "datasets/test/support.h"

#include <lcms2.h>
#include <stdio.h>
#include <jpeglib.h>
#include <string.h>

static void encode(struct jpeg *out, const struct encoding *e)
{
	struct picture picture;

	draw(&picture, 50, 30);
	jpeg_encode(out, &picture, e);
	picture_release(&picture);
}

static void test_kinds_are_recognised(void)
{
	static const struct encoding kinds[] = {
		{ .quality = 80, .sampling = SAMPLING_420 },
		{ .quality = 80, .sampling = SAMPLING_422 },
		{ .quality = 80, .sampling = SAMPLING_444 },
		{ .quality = 80, .progressive = true },
		{ .quality = 80, .grey = true },
	};
	static const char *const names[] = { "4:2:0", "4:2:2", "4:4:4", "4:2:0",
					     "grey" };

	for (int i = 0; i < 5; i++) {
		struct jpeg jpeg;
		struct jpeg_facts f;

		encode(&jpeg, &kinds[i]);
		CHECK(jpeg_inspect(&f, jpeg.bytes, jpeg.size_bytes));
		CHECK_NUMBER(f.width, ==, 50);
		CHECK_NUMBER(f.height, ==, 30);
		CHECK_TEXT(f.sampling, names[i]);
		CHECK_NUMBER(f.progressive, ==, kinds[i].progressive);
		CHECK(!f.exif);
		CHECK_NUMBER(f.orientation, ==, 0);
		CHECK_NUMBER(f.icc_bytes, ==, 0);
		jpeg_release(&jpeg);
	}
}

/*
 * A file cut at any byte is refused.  It lies in memory of exactly its size, so
 * that AddressSanitizer sees a read past the end.
 */
static void test_cut_files_are_refused(void)
{
	const struct encoding e = { .quality = 80 };
	struct jpeg jpeg;
	struct jpeg_facts f;
	size_t whole = 0;

	encode(&jpeg, &e);
	for (size_t size = 0; size < jpeg.size_bytes; size++) {
		uint8_t *cut = xcalloc(size + 1, 1);

		memcpy(cut, jpeg.bytes, size);
		cut = xreallocarray(cut, size > 0 ? size : 1, 1);
		whole += jpeg_inspect(&f, cut, size);
		CHECK(size > 150 || whole == 0);
		free(cut);
	}
	CHECK_NUMBER(whole, >,
		     0); /* files cut after the frame header are accepted */
	jpeg_release(&jpeg);
}

static void test_others_are_refused(void)
{
	struct jpeg_facts f;

	CHECK(!jpeg_inspect(&f, (const uint8_t *)"GIF89a...", 9));
	CHECK(!jpeg_inspect(&f, (const uint8_t *)"\xff\xd8\xff\xd9", 4));
	CHECK(!jpeg_inspect(&f, (const uint8_t *)"\xff\xd8\xff\xe1\0\0", 6));
}

static uint8_t segment[SEGMENT_BYTES_MAX];

/* A small JPEG with the EXIF block of `exif`. */
static void encode_with(struct jpeg *out, const struct exif *exif)
{
	struct encoding e = { .quality = 80, .segment_count = 1 };
	struct picture picture;

	e.segments[0] = (struct segment){ JPEG_APP0 + 1, segment,
					  exif_write(segment, exif) };
	draw(&picture, 32, 24);
	jpeg_encode(out, &picture, &e);
	picture_release(&picture);
}

static void test_orientation_is_read_back(void)
{
	static const int orientations[] = { 1, 3, 6, 8 };

	/* Enough seeds for both byte orders. */
	for (uint64_t seed = 0; seed < 16; seed++) {
		struct exif exif = { .orientation = orientations[seed % 4],
				     .seed = seed };
		struct jpeg jpeg;
		struct jpeg_facts facts;

		encode_with(&jpeg, &exif);
		CHECK(jpeg_inspect(&facts, jpeg.bytes, jpeg.size_bytes));
		CHECK(facts.exif);
		CHECK(!facts.thumbnail);
		CHECK_NUMBER(facts.orientation, ==, exif.orientation);
		jpeg_release(&jpeg);
	}
}

/* Integers of other types than SHORT, in both byte orders. */
static void test_orientation_of_any_integer_type_is_read(void)
{
	static const struct {
		const char *exif;
		int orientation;
	} known[] = {
		{ "Exif\0\0MM\0*\0\0\0\10\0\1"
		  "\1\22\0\4\0\0\0\1\0\0\0\6\0\0\0",
		  6 },
		{ "Exif\0\0MM\0*\0\0\0\10\0\1"
		  "\1\22\0\1\0\0\0\1\3\0\0\0\0\0\0",
		  3 },
		{ "Exif\0\0MM\0*\0\0\0\10\0\1"
		  "\1\22\0\10\0\0\0\1\0\6\0\0\0\0\0",
		  6 },
		{ "Exif\0\0II*\0\10\0\0\0\1\0"
		  "\22\1\6\0\1\0\0\0\10\1\1\1\0\0\0",
		  8 },
		{ "Exif\0\0II*\0\10\0\0\0\1\0"
		  "\22\1\3\0\1\0\0\0\11\0\0\0\0\0\0",
		  0 },
		{ "Exif\0\0II*\0\10\0\0\0\1\0"
		  "\22\1\5\0\1\0\0\0\6\0\0\0\0\0\0",
		  0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		struct encoding e = { .quality = 80, .segment_count = 1 };
		struct picture picture;
		struct jpeg_facts facts;
		struct jpeg jpeg;

		check_case("known[%zu]: %s", i, known[i].exif);
		memcpy(segment, known[i].exif, 32);
		e.segments[0] = (struct segment){ JPEG_APP0 + 1, segment, 32 };
		draw(&picture, 32, 24);
		jpeg_encode(&jpeg, &picture, &e);
		picture_release(&picture);
		CHECK(jpeg_inspect(&facts, jpeg.bytes, jpeg.size_bytes));
		CHECK(facts.exif);
		CHECK(!facts.thumbnail);
		CHECK_NUMBER(facts.orientation, ==, known[i].orientation);
		jpeg_release(&jpeg);
	}
}

static void test_thumbnail_can_be_found_and_decoded(void)
{
	const struct encoding e = { .quality = 80 };
	struct picture small, seen;
	struct jpeg thumbnail;

	draw(&small, 160, 120);
	jpeg_encode(&thumbnail, &small, &e);
	for (uint64_t seed = 0; seed < 16; seed++) {
		struct exif exif = { .orientation = 6,
				     .seed = seed,
				     .thumbnail = { 0, thumbnail.bytes,
						    thumbnail.size_bytes } };
		struct jpeg jpeg;
		struct jpeg_facts facts;
		size_t size_bytes;

		encode_with(&jpeg, &exif);
		CHECK(jpeg_inspect(&facts, jpeg.bytes, jpeg.size_bytes));
		CHECK(facts.thumbnail);
		CHECK_NUMBER(facts.orientation, ==, 6);
		jpeg_release(&jpeg);
		/* The thumbnail is the last part of the segment. */
		size_bytes = exif_write(segment, &exif);
		decode_strictly(&seen,
				segment + size_bytes - thumbnail.size_bytes,
				thumbnail.size_bytes);
		CHECK_NUMBER(mean_difference(&small, &seen), <, 8);
		picture_release(&seen);
	}
	jpeg_release(&thumbnail);
	picture_release(&small);
}

static void test_profiles_are_profiles(void)
{
	struct icc_profiles profiles, again;

	icc_profiles_init(&profiles);
	icc_profiles_init(&again);
	for (enum icc icc = ICC_SRGB; icc < ICC_COUNT; icc++) {
		struct segment s = icc_profiles_segment(&profiles, icc);
		struct segment other = icc_profiles_segment(&again, icc);
		cmsHPROFILE profile;

		CHECK_NUMBER(s.marker, ==, JPEG_APP0 + 2);
		CHECK_NUMBER(s.size_bytes, ==, other.size_bytes);
		CHECK(memcmp(s.bytes, other.bytes, s.size_bytes) == 0);
		/* The date is the only field that could depend on the day. */
		CHECK(memcmp(s.bytes + 14 + 24, "\x07\xe8\0\1\0\1\0\0\0\0\0\0",
			     12) == 0);
		profile = cmsOpenProfileFromMem(
			s.bytes + 14, (cmsUInt32Number)s.size_bytes - 14);
		CHECK(profile != NULL);
		CHECK_NUMBER(cmsGetColorSpace(profile), ==, cmsSigRgbData);
		CHECK(cmsIsMatrixShaper(profile));
		cmsCloseProfile(profile);
	}
	icc_profiles_release(&profiles);
	icc_profiles_release(&again);
}

/* Colours are converted to the wider space; greys stay the same. */
static void test_pixels_are_converted(void)
{
	struct icc_profiles profiles;
	struct picture p;

	icc_profiles_init(&profiles);
	picture_init(&p, 2, 1);
	memcpy(p.rgb, "\xff\0\0\x80\x80\x80", 6);
	icc_profiles_convert(&profiles, ICC_SRGB, &p);
	CHECK(memcmp(p.rgb, "\xff\0\0\x80\x80\x80", 6) == 0);
	icc_profiles_convert(&profiles, ICC_ADOBE_RGB, &p);
	/* sRGB's red is (219, 0, 0) in Adobe RGB (1998). */
	CHECK_NUMBER(p.rgb[0], >=, 217);
	CHECK_NUMBER(p.rgb[0], <=, 221);
	CHECK_NUMBER(p.rgb[1], <=, 2);
	CHECK_NUMBER(p.rgb[2], <=, 2);
	CHECK_NUMBER(p.rgb[3], ==, p.rgb[4]);
	CHECK_NUMBER(p.rgb[4], ==, p.rgb[5]);
	picture_release(&p);
	icc_profiles_release(&profiles);
}

int main(void)
{
	test_kinds_are_recognised();
	test_cut_files_are_refused();
	test_others_are_refused();
	test_orientation_is_read_back();
	test_orientation_of_any_integer_type_is_read();
	test_thumbnail_can_be_found_and_decoded();
	test_profiles_are_profiles();
	test_pixels_are_converted();
	return 0;
}
