/* SPDX-License-Identifier: MIT */
/*
 * Promises: a PNG of every type, depth, filter and size, interlaced or not, in
 * IDAT chunks of any size, has the pixels that it was made of, and that libspng
 * reads; headers that are wrong or over a limit are named; a damaged file is an
 * error or, if `lenient`, what can be read of it; colours are those of the
 * chunk that counts; libspng reads our results, which have the pixels of the
 * planes; memory stays within the estimate, and there are pauses.
 */
#include "imgops/test/png_make.h"

#include "base/test/check.h"
#include "imgops/formats/png/png.h"
#include "imgops/image.h"
#include "imgops/test/meter.h"
#include "imgops/test/profiles.h"

#include <stdlib.h>
#include <string.h>

#include <spng.h>
#include <zlib.h>

static const struct img_transform usual = { .quality = 80 };
static const struct img_transform lenient = { .quality = 80, .lenient = true };

/* Every pixel as R, G, B and alpha, as libspng reads it. */
static uint8_t *spng_pixels(struct bytes png, size_t *bytes)
{
	spng_ctx *s = spng_ctx_new(0);
	uint8_t *pixels;

	CHECK(s != NULL);
	CHECK_NUMBER(spng_set_png_buffer(s, png.data, png.count), ==, 0);
	CHECK_NUMBER(spng_decoded_image_size(s, SPNG_FMT_RGBA8, bytes), ==, 0);
	pixels = malloc(*bytes);
	CHECK(pixels != NULL);
	CHECK_NUMBER(spng_decode_image(s, pixels, *bytes, SPNG_FMT_RGBA8,
				       SPNG_DECODE_TRNS),
		     ==, 0);
	spng_ctx_free(s);
	return pixels;
}

static void check_pixel(const struct image *img, const uint8_t rgba[4],
			uint32_t x, uint32_t y)
{
	uint8_t alpha = img->space == IMG_RGBA ? rgba[3] : 255;

	CHECK_NUMBER(rgba[3], ==, alpha);
	for (uint32_t i = 0; i < 3 && i < img->plane_count; i++)
		CHECK_NUMBER(sample(&img->planes[i], x, y), ==,
			     (rgba[i] * alpha + 127) / 255);
	if (img->space == IMG_RGBA)
		CHECK_NUMBER(sample(&img->planes[3], x, y), ==, alpha);
}

static void check_file(const struct png_spec *spec)
{
	struct bytes png = png_make(spec);
	struct img_header header;
	struct image img = { 0 };
	struct heap h;
	size_t bytes;
	uint8_t *theirs = spng_pixels(png, &bytes);

	check_case("%ux%u type %u depth %u filter %u%s%s%s", spec->width,
		   spec->height, spec->type, spec->depth, spec->filter,
		   spec->is_interlaced ? " interlaced" : "",
		   spec->has_alpha ? " alpha" : "",
		   spec->is_opaque ? " opaque" : "");
	CHECK_NUMBER(img_probe(&header, png.data, png.count, &no_limits), ==,
		     IMG_OK);
	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, png.data, png.count, &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, 0);
	if (spec->has_alpha || spec->type == 4 || spec->type == 6)
		CHECK(header.space == IMG_RGBA &&
		      (img.space == IMG_RGBA || img.space == IMG_RGB));
	else
		CHECK(header.space == (spec->type == 0 ? IMG_GREY : IMG_RGB) &&
		      img.space == header.space);
	if (spec->is_opaque)
		CHECK(img.space != IMG_RGBA);
	for (uint32_t y = 0; y < spec->height; y++)
		for (uint32_t x = 0; x < spec->width; x++) {
			const uint8_t *p =
				theirs + 4 * ((size_t)y * spec->width + x);
			uint8_t rgba[4];

			png_pixel(rgba, spec, x, y);
			check_pixel(&img, rgba, x, y);
			/* libspng rounds 16 bits down. */
			for (int i = 0; i < 4; i++)
				CHECK_NUMBER(abs(rgba[i] - p[i]), <=,
					     spec->depth == 16);
		}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(theirs);
	free(png.data);
}

static const struct {
	uint32_t type, depth;
} kinds[] = {
	{ 0, 1 }, { 0, 2 },  { 0, 4 },  { 0, 8 }, { 0, 16 },
	{ 2, 8 }, { 2, 16 }, { 3, 1 },  { 3, 2 }, { 3, 4 },
	{ 3, 8 }, { 4, 8 },  { 4, 16 }, { 6, 8 }, { 6, 16 },
};

static void test_all_kinds(void)
{
	static const struct img_size sizes[] = {
		{ 1, 1 }, { 2, 1 },  { 1, 9 },   { 3, 2 },  { 5, 5 },
		{ 8, 8 }, { 17, 9 }, { 33, 31 }, { 64, 3 }, { 70, 40 }
	};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
			for (int i = 0; i < 8; i++) {
				struct png_spec spec = {
					.width = sizes[s].width_px,
					.height = sizes[s].height_px,
					.type = kinds[k].type,
					.depth = kinds[k].depth,
					.filter = PNG_ALL_FILTERS,
					.is_interlaced = i & 1,
					.has_alpha =
						(i & 2) && kinds[k].type < 4,
					.is_opaque =
						(i & 4) && kinds[k].type >= 3,
					.idat_bytes = i == 3 ? 7 : 0,
				};

				check_file(&spec);
			}
}

static void test_large_files(void)
{
	for (uint32_t filter = 0; filter <= PNG_ALL_FILTERS; filter++)
		for (uint32_t type = 0; type <= 6; type += 2) {
			struct png_spec spec = {
				.width = 500,
				.height = 300,
				.type = type,
				.filter = filter,
				.is_noise = filter == 1,
				.is_flat = filter == 2,
				.level = filter == 3 ? -1 : 1,
				.is_interlaced = filter == 4,
				.idat_bytes = 8192,
			};

			check_file(&spec);
		}
}

/* --- Headers --- */

/* A file whose IHDR has `value` at `at`, as bytes in hexadecimal. */
static enum img_err probe_changed(size_t at, uint8_t value)
{
	struct png_spec spec = { .width = 3, .height = 2, .type = 2 };
	struct bytes png = png_make(&spec);
	struct img_header h;
	size_t bytes;
	enum img_err err;

	png_chunk(png, "IHDR", &bytes)[at] = value;
	png_set_crc(png, "IHDR");
	err = probe_bytes(&h, png);
	free(png.data);
	return err;
}

static void test_wrong_headers(void)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum img_err err;
	} cases[] = {
		{ 3, 3, IMG_OK },
		{ 3, 0, IMG_ERR_CORRUPT }, /* no width, no height */
		{ 7, 0, IMG_ERR_CORRUPT },
		{ 0, 128, IMG_ERR_CORRUPT },
		{ 0, 127, IMG_ERR_TOO_LARGE },
		{ 1, 1, IMG_ERR_TOO_LARGE },
		{ 8, 16, IMG_OK }, /* depth */
		{ 8, 4, IMG_ERR_CORRUPT },
		{ 8, 0, IMG_ERR_CORRUPT },
		{ 8, 9, IMG_ERR_CORRUPT },
		{ 8, 32, IMG_ERR_CORRUPT },
		{ 9, 6, IMG_OK }, /* type */
		{ 9, 1, IMG_ERR_CORRUPT },
		{ 9, 5, IMG_ERR_CORRUPT },
		{ 9, 7, IMG_ERR_CORRUPT },
		{ 9, 3, IMG_ERR_CORRUPT }, /* without a palette */
		{ 10, 1, IMG_ERR_CORRUPT },
		{ 11, 1, IMG_ERR_CORRUPT },
		{ 12, 1, IMG_OK },
		{ 12, 2, IMG_ERR_CORRUPT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]", i);
		CHECK_NUMBER(probe_changed(cases[i].at, cases[i].value), ==,
			     cases[i].err);
	}
}

/* Chunks after IHDR, before IDAT. */
static enum img_err probe_with(struct img_header *h, const char *name,
			       const void *data, size_t bytes, uint32_t type)
{
	struct png_spec spec = { .width = 3, .height = 2, .type = type };
	struct bytes png;
	enum img_err err;

	png_add(&spec.extra, name, data, bytes);
	png = png_make(&spec);
	err = probe_bytes(h, png);
	free(png.data);
	free(spec.extra.data);
	return err;
}

static void test_chunks(void)
{
	static const uint8_t exif[] = { 'M', 'M', 0,  42, 0, 0, 0, 8, 0,
					1,   1,   18, 0,  3, 0, 0, 0, 1,
					0,   6,   0,  0,  0, 0, 0, 0 };
	static const uint8_t frames[] = { 0, 0, 0, 5, 0, 0, 0, 0 };
	uint8_t zeros[1000] = { 0 };
	struct img_header h;

	CHECK_NUMBER(probe_with(&h, "tEXt", zeros, 1000, 2), ==, IMG_OK);
	CHECK_NUMBER(h.frames, ==, 0);
	CHECK_NUMBER(h.orientation, ==, 1);
	CHECK_NUMBER(probe_with(&h, "acTL", frames, 8, 2), ==, IMG_OK);
	CHECK_NUMBER(h.frames, ==, 5);
	CHECK_NUMBER(probe_with(&h, "eXIf", exif, sizeof(exif), 2), ==, IMG_OK);
	CHECK_NUMBER(h.orientation, ==, 6);
	CHECK_NUMBER(h.upright.width_px, ==, 2);
	/* Chunks that all readers must know, and what is none. */
	CHECK_NUMBER(probe_with(&h, "CgBI", zeros, 4, 2), ==,
		     IMG_ERR_UNSUPPORTED);
	CHECK_NUMBER(probe_with(&h, "IHDR", zeros, 13, 2), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(probe_with(&h, "IEND", zeros, 0, 2), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(probe_with(&h, "te t", zeros, 0, 2), ==, IMG_ERR_CORRUPT);
	/* A palette is only a proposal for RGB; a wrong tRNS has no effect. */
	CHECK_NUMBER(probe_with(&h, "PLTE", zeros, 7, 2), ==, IMG_OK);
	CHECK_NUMBER(probe_with(&h, "tRNS", zeros, 2, 2), ==, IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGB);
	CHECK_NUMBER(probe_with(&h, "tRNS", zeros, 6, 2), ==, IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGBA);
	CHECK_NUMBER(probe_with(&h, "PLTE", zeros, 9, 3), ==, IMG_ERR_CORRUPT,
		     "two palettes");
	CHECK_NUMBER(probe_with(&h, "PLTE", zeros, 7, 3), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(probe_with(&h, "PLTE", zeros, 771, 3), ==,
		     IMG_ERR_CORRUPT);
}

/* A header does not go on for ever. */
static void test_many_chunks(void)
{
	struct png_spec spec = { .width = 1, .height = 1 };
	struct img_header h;
	struct bytes png;

	for (int i = 0; i < 33000; i++)
		png_add(&spec.extra, "tEXt", "", 0);
	png = png_make(&spec);
	CHECK_NUMBER(probe_bytes(&h, png), ==, IMG_ERR_CORRUPT);
	free(png.data);
	free(spec.extra.data);
}

static void test_limits(void)
{
	struct png_spec spec = { .width = 10, .height = 30, .type = 6 };
	struct bytes png = png_make(&spec);
	struct img_limits l = no_limits;
	struct img_header h;
	struct heap heap;

	l.side_px_max = 29;
	/* Before the whole header has come. */
	CHECK_NUMBER(img_probe(&h, png.data, 33, &l), ==, IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.stored.height_px, ==, 30);
	l.side_px_max = 30;
	l.pixels_max = 299;
	CHECK_NUMBER(img_probe(&h, png.data, png.count, &l), ==,
		     IMG_ERR_TOO_LARGE);
	l.pixels_max = 300;
	CHECK_NUMBER(img_probe(&h, png.data, png.count, &l), ==, IMG_OK);
	for (uint64_t n = 10; n < 20000; n += n / 2) {
		heap_init(&heap);
		l.decode_bytes_max = n;
		CHECK_NUMBER(decode_limits(png, &l, &heap), ==,
			     IMG_ERR_TOO_LARGE);
		CHECK_NUMBER(heap.alloc_count, ==, 0);
	}
	free(png.data);
}

/* --- Colours --- */

static void put32(uint8_t *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> (24 - 8 * i));
}

enum { GAMA = 1, CHRM = 2, SRGB_CHUNK = 4, CICP = 8, ICCP = 16 };

/* A file with chunks of colours; `p3` is what iCCP has. */
static struct bytes with_colours(int chunks, uint32_t gamma,
				 const double red[2], const uint8_t cicp[4],
				 struct bytes p3)
{
	struct png_spec spec = { .width = 40, .height = 30, .type = 2 };
	uint8_t data[32];
	uint8_t icc[20000] = "a name\0";
	uLongf bytes = sizeof(icc) - 8;
	const double xy[] = { 0.3127, 0.3290, red[0], red[1],
			      0.30,   0.60,   0.15,   0.06 };
	struct bytes png;

	put32(data, gamma);
	if (chunks & GAMA)
		png_add(&spec.extra, "gAMA", data, 4);
	for (int i = 0; i < 8; i++)
		put32(data + 4 * i, (uint32_t)(xy[i] * 100000 + 0.5));
	if (chunks & CHRM)
		png_add(&spec.extra, "cHRM", data, 32);
	if (chunks & SRGB_CHUNK)
		png_add(&spec.extra, "sRGB", "", 1);
	if (chunks & CICP)
		png_add(&spec.extra, "cICP", cicp, 4);
	if (chunks & ICCP) {
		CHECK_NUMBER(compress(icc + 8, &bytes, p3.data, p3.count), ==,
			     Z_OK);
		png_add(&spec.extra, "iCCP", icc, 8 + bytes);
	}
	png = png_make(&spec);
	free(spec.extra.data);
	return png;
}

struct colour_case {
	int chunks;
	uint32_t gamma;
	const double *red;
	const uint8_t *cicp;
	enum img_profile profile;
};

static void check_colours(const struct colour_case *c, struct bytes profile)
{
	struct bytes png =
		with_colours(c->chunks, c->gamma, c->red, c->cicp, profile);
	bool has_profile = c->profile != IMG_PROFILE_UNKNOWN;
	bool is_theirs = has_profile && (c->chunks & ICCP) != 0 &&
			 (c->chunks & CICP) == 0;
	struct image img = { 0 };
	struct img_header h;
	struct heap heap;

	CHECK_NUMBER(probe_bytes(&h, png), ==, IMG_OK);
	CHECK_NUMBER(h.profile, ==, c->profile);
	CHECK_NUMBER(h.icc_bytes > 0, ==, has_profile);
	heap_init(&heap);
	CHECK_NUMBER(decode_bytes(&img, png.data, png.count, &no_limits, &heap),
		     ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, 0);
	CHECK_NUMBER(img.profile_bytes, ==, h.icc_bytes);
	if (is_theirs)
		CHECK(h.icc_bytes == profile.count &&
		      memcmp(img.profile, profile.data, profile.count) == 0);
	img_release(&img);
	CHECK_NUMBER(heap.live_count, ==, 0);
	free(png.data);
}

static void test_colours(void)
{
	static const double srgb[] = { 0.64, 0.33 }, wide[] = { 0.68, 0.32 };
	static const uint8_t p3[] = { 12, 13, 0, 1 }, bt709[] = { 1, 13, 0, 1 },
			     pq[] = { 9, 16, 0, 1 },
			     narrow[] = { 12, 13, 0, 0 };
	static const struct colour_case cases[] = {
		{ 0, 0, srgb, p3, IMG_PROFILE_UNKNOWN },
		{ GAMA, 45455, srgb, p3, IMG_PROFILE_UNKNOWN },
		{ GAMA | CHRM, 45455, srgb, p3, IMG_PROFILE_UNKNOWN },
		{ GAMA, 100000, srgb, p3, IMG_PROFILE_MATRIX },
		{ GAMA, 55556, srgb, p3, IMG_PROFILE_MATRIX },
		{ GAMA, 0, srgb, p3, IMG_PROFILE_UNKNOWN },
		{ GAMA, 1, srgb, p3, IMG_PROFILE_UNKNOWN },
		{ CHRM, 0, wide, p3, IMG_PROFILE_MATRIX },
		{ GAMA | CHRM, 45455, wide, p3, IMG_PROFILE_MATRIX },
		{ GAMA | CHRM | SRGB_CHUNK, 100000, wide, p3,
		  IMG_PROFILE_UNKNOWN },
		{ ICCP, 0, srgb, p3, IMG_PROFILE_MATRIX },
		{ ICCP | GAMA, 100000, srgb, p3, IMG_PROFILE_MATRIX },
		{ CICP, 0, srgb, p3, IMG_PROFILE_MATRIX },
		{ CICP | ICCP, 0, srgb, bt709, IMG_PROFILE_UNKNOWN },
		{ CICP | GAMA | CHRM, 100000, wide, bt709,
		  IMG_PROFILE_UNKNOWN },
		{ CICP, 0, srgb, pq, IMG_PROFILE_MATRIX },
		{ CICP | ICCP, 0, srgb, pq, IMG_PROFILE_MATRIX },
		{ CICP, 0, srgb, narrow, IMG_PROFILE_UNKNOWN },
	};
	struct bytes profile = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 0);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]", i);
		check_colours(&cases[i], profile);
	}
	free(profile.data);
}

/* The profile that is made of cHRM means to lcms2 what lcms2's own does. */
static void test_made_profile(void)
{
	static const uint8_t rgb[] = { 255, 0,   0,   0,  255, 0,  0, 0, 255,
				       255, 255, 255, 90, 120, 40, 9, 9, 9 };
	static const double wide[] = { 0.68, 0.32 };
	struct gamut gamut = {
		"",
		{ 0.3127, 0.3290 },
		{ { 0.68, 0.32 }, { 0.30, 0.60 }, { 0.15, 0.06 } }
	};
	struct bytes png = with_colours(GAMA | CHRM, 55556, wide, NULL,
					(struct bytes){ 0 });
	struct bytes theirs = profile_rgb(&gamut, 1.8, 0), ours;
	struct image img = { 0 };
	cmsCIELab a[6], b[6];
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, png.data, png.count, &no_limits, &h),
		     ==, IMG_OK);
	ours = (struct bytes){ img.profile, img.profile_bytes };
	profile_to_lab(a, ours, TYPE_RGB_8, rgb, 6);
	profile_to_lab(b, theirs, TYPE_RGB_8, rgb, 6);
	for (int i = 0; i < 6; i++)
		CHECK(cmsDeltaE(&a[i], &b[i]) < 0.1);
	img_release(&img);
	free(theirs.data);
	free(png.data);
}

static void check_bad_profile(const uint8_t *data, size_t bytes)
{
	struct png_spec spec = { .width = 4, .height = 4, .type = 2 };
	struct image img = { 0 };
	struct bytes png;
	struct heap h;

	png_add(&spec.extra, "iCCP", data, bytes);
	png = png_make(&spec);
	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, png.data, png.count, &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_BAD_PROFILE);
	CHECK(img.profile == NULL);
	img_release(&img);
	free(png.data);
	free(spec.extra.data);
}

static void test_bad_profiles(void)
{
	static uint8_t large[5 << 20], data[100000] = "name\0";
	uLongf bytes;

	check_bad_profile((const uint8_t *)"name", 4);
	check_bad_profile((const uint8_t *)"name\0\1xxxx", 10);
	check_bad_profile((const uint8_t *)"name\0\0xxxx", 10);
	/* It is larger than a profile may be; it ends too early. */
	for (int i = 0; i < 2; i++) {
		put32(large, i == 0 ? sizeof(large) : 300000);
		bytes = sizeof(data) - 6;
		CHECK_NUMBER(compress(data + 6, &bytes, large,
				      i == 0 ? sizeof(large) : 299999),
			     ==, Z_OK);
		check_bad_profile(data, 6 + bytes);
	}
	/* Wrong checksum. */
	put32(large, 300000);
	bytes = sizeof(data) - 6;
	CHECK_NUMBER(compress(data + 6, &bytes, large, 300000), ==, Z_OK);
	data[6 + bytes - 1] ^= 1;
	check_bad_profile(data, 6 + bytes);
}

/* --- Damage --- */

static enum img_err decode_as(struct image *img, struct bytes png,
			      const struct img_transform *t)
{
	static struct heap h; /* images refer to it */

	if (h.memory.alloc == NULL)
		heap_init(&h);
	return decode_transform(img, png.data, png.count, t, &no_limits, &h);
}

/* Strict: an error; lenient: the picture, with a note. */
static void check_damaged(struct bytes png, enum img_err err, bool is_whole,
			  const struct image *whole)
{
	struct image img = { 0 };

	CHECK_NUMBER(decode_as(&img, png, &usual), ==, err);
	CHECK_NUMBER(decode_as(&img, png, &lenient), ==, IMG_OK);
	CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
	CHECK_NUMBER(is_same(&img, whole), ==, is_whole);
	img_release(&img);
}

static void test_damage(void)
{
	struct png_spec spec = {
		.width = 50, .height = 40, .type = 2, .idat_bytes = 1000
	};
	struct bytes png = png_make(&spec), cut = png;
	struct image whole = { 0 }, img = { 0 };
	size_t bytes;
	uint8_t *idat = png_chunk(png, "IDAT", &bytes);

	CHECK_NUMBER(decode_as(&whole, png, &usual), ==, IMG_OK);
	/* Wrong CRCs, of data that are right. */
	idat[bytes] ^= 1;
	check_damaged(png, IMG_ERR_CORRUPT, true, &whole);
	idat[bytes] ^= 1;
	png_chunk(png, "IHDR", &bytes)[13] ^= 1;
	check_damaged(png, IMG_ERR_CORRUPT, true, &whole);
	png_chunk(png, "IHDR", &bytes)[13] ^= 1;
	/* The checksum of zlib, with the right CRC. */
	cut.count -= 12 + 4 + 1;
	cut.data[cut.count] ^= 1;
	CHECK_NUMBER(decode_as(&img, png, &usual), ==, IMG_ERR_CORRUPT);
	cut.data[cut.count] ^= 1;
	/* Without IEND, and the CRC before it, everything is there. */
	cut.count = png.count - 16;
	CHECK_NUMBER(decode_as(&img, cut, &usual), ==, IMG_OK);
	CHECK(is_same(&img, &whole) && img.notes == 0);
	img_release(&img);
	cut.count--;
	check_damaged(cut, IMG_ERR_TRUNCATED, true, &whole);
	/* Of a cut file, the rows that were read are there. */
	cut.count = png.count / 2;
	check_damaged(cut, IMG_ERR_TRUNCATED, false, &whole);
	CHECK_NUMBER(decode_as(&img, cut, &lenient), ==, IMG_OK);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_NUMBER(sample(&img.planes[i], 49, 0), ==,
			     sample(&whole.planes[i], 49, 0));
		CHECK_NUMBER(sample(&img.planes[i], 0, 39), ==, 128);
	}
	img_release(&img);
	/* Not one row. */
	cut.count = (size_t)(idat - png.data) + 20;
	CHECK_NUMBER(decode_as(&img, cut, &lenient), ==, IMG_ERR_TRUNCATED);
	img_release(&whole);
	free(png.data);
}

/* What is missing of a file with alpha is transparent, in every pass. */
static void test_missing_passes(void)
{
	struct png_spec spec = { .width = 40,
				 .height = 40,
				 .type = 6,
				 .is_noise = true,
				 .is_opaque = true,
				 .is_interlaced = true };
	struct bytes png = png_make(&spec);
	struct image img = { 0 };

	png.count /= 2;
	CHECK_NUMBER(decode_as(&img, png, &lenient), ==, IMG_OK);
	CHECK_NUMBER(img.space, ==, IMG_RGBA);
	CHECK_NUMBER(sample(&img.planes[3], 0, 0), ==, 255);
	CHECK_NUMBER(sample(&img.planes[3], 1, 39), ==, 0);
	CHECK_NUMBER(sample(&img.planes[0], 1, 39), ==, 0);
	img_release(&img);
	free(png.data);
}

static void test_wrong_filter(void)
{
	struct png_spec spec = { .width = 2, .height = 2, .type = 0 };
	uint8_t raw[] = { 0, 1, 2, 5, 3, 4 };
	struct bytes deflated = { malloc(100), 0 }, png;
	uLongf bytes = 100;
	struct image img = { 0 };

	CHECK(deflated.data != NULL);
	CHECK_NUMBER(compress(deflated.data, &bytes, raw, sizeof(raw)), ==,
		     Z_OK);
	deflated.count = bytes;
	png = png_make_of(&spec, deflated);
	CHECK_NUMBER(decode_as(&img, png, &usual), ==, IMG_ERR_CORRUPT);
	CHECK_NUMBER(decode_as(&img, png, &lenient), ==, IMG_OK);
	CHECK_NUMBER(sample(&img.planes[0], 1, 0), ==, 2);
	CHECK_NUMBER(sample(&img.planes[0], 1, 1), ==, 128);
	img_release(&img);
	free(png.data);
}

/*
 * Random changes: an error, or a picture; never with other memory.  A sanitizer
 * takes 15 times as long, and gets fewer of them; script/fuzz makes many more.
 */
static void test_random_damage(void)
{
	for (uint32_t i = 0; i < (HAS_SANITIZERS ? 600 : 3000); i++) {
		struct png_spec spec = {
			.width = 30,
			.height = 20,
			.type = kinds[i % ARRAY_SIZE(kinds)].type,
			.depth = kinds[i % ARRAY_SIZE(kinds)].depth,
			.filter = PNG_ALL_FILTERS,
			.is_interlaced = i % 2,
			.idat_bytes = 100,
		};
		struct bytes png = png_make(&spec);
		struct image img = { 0 };

		check_case("round %u", i);
		for (uint32_t k = 0; k <= i % 3; k++)
			png.data[8 + scramble(i * 4 + k) % (png.count - 8)] ^=
				(uint8_t)(1u << scramble(i + k) % 8);
		(void)!decode_as(&img, png, i % 4 < 2 ? &lenient : &usual);
		img_release(&img);
		free(png.data);
	}
}

/* --- Work --- */

/* Tables for every byte: the file is decoded again, at a higher price. */
static void test_irregular(void)
{
	struct png_spec spec = { .width = 99, .height = 200 };
	struct bytes png = png_make_of(&spec, png_deflate_tables(100 * 200));
	struct img_header header;
	struct img_view view;
	struct image img = { 0 };
	struct heap h;
	uint64_t before_ns;

	CHECK_NUMBER(probe_bytes(&header, png), ==, IMG_OK);
	view = img_fit(&header, &usual);
	heap_init(&h);
	before_ns = img_cost(&header, &view, &usual).decode_ns;
	CHECK_NUMBER(img_decode(&img, png.data, png.count, &header, &view,
				&usual, &no_limits, &h.memory),
		     ==, IMG_ERR_IRREGULAR);
	CHECK(img_decode_again(&header, IMG_ERR_IRREGULAR));
	CHECK_NUMBER(img_cost(&header, &view, &usual).decode_ns, >, before_ns);
	CHECK_NUMBER(img_decode(&img, png.data, png.count, &header, &view,
				&usual, &no_limits, &h.memory),
		     ==, IMG_OK);
	CHECK_NUMBER(sample(&img.planes[0], 98, 199), ==, 0);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	free(png.data);
}

/* A row of a megabyte, empty chunks, empty blocks: there are pauses. */
static void test_pauses(void)
{
	struct png_spec spec = { .width = 60000, .height = 3, .type = 6 };
	struct bytes png = png_make(&spec);
	struct image img = { 0 };
	struct heap h;

	heap_init(&h);
	CHECK_NUMBER(decode_bytes(&img, png.data, png.count, &no_limits, &h),
		     ==, IMG_OK);
	CHECK_NUMBER(h.pause_count, >=, 60000 * 4 * 3 / (96 << 10));
	img_release(&img);
	free(png.data);
}

/* --- Results --- */

static struct image planes_make(struct img_size size, enum img_space space,
				struct heap *h)
{
	struct image img;

	image_shape(&img, size, space, true);
	CHECK(image_alloc(&img, &h->memory));
	for (uint32_t i = img.plane_count; i-- > 0;)
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++) {
				struct img_plane *p = &img.planes[i];
				uint8_t v = (uint8_t)(7 * x + 3 * y + 50 * i +
						      scramble(x + y) % 9);
				uint8_t a =
					space == IMG_RGBA && i < 3 ?
						sample(&img.planes[3], x, y) :
						255;

				p->samples[y * p->stride_bytes + x] =
					(uint8_t)(v * a / 255);
			}
	return img;
}

static void check_result(struct img_size size, enum img_space space, int effort,
			 struct bytes profile)
{
	struct img_transform t = { .format = IMG_FORMAT_PNG, .effort = effort };
	struct img_header header;
	struct image img, again = { 0 };
	struct heap h;
	struct bytes png;
	uint8_t *theirs, *out = NULL;
	size_t bytes;

	check_case("%ux%u, space %d", size.width_px, size.height_px,
		   (int)space);
	heap_init(&h);
	img = planes_make(size, space, &h);
	if (profile.count > 0) {
		img.profile = memory_alloc(&h.memory, profile.count);
		CHECK(img.profile != NULL);
		memcpy(img.profile, profile.data, profile.count);
		img.profile_bytes = profile.count;
	}
	CHECK_NUMBER(img_encode(&out, &bytes, &img, &t, &h.memory), ==, IMG_OK);
	png = (struct bytes){ out, bytes };
	CHECK_NUMBER(probe_bytes(&header, png), ==, IMG_OK);
	CHECK_NUMBER(header.space, ==, space);
	CHECK_NUMBER(header.icc_bytes, ==, profile.count);
	CHECK_NUMBER(decode_bytes(&again, out, bytes, &no_limits, &h), ==,
		     IMG_OK);
	theirs = spng_pixels(png, &bytes);
	for (uint32_t y = 0; y < size.height_px; y++)
		for (uint32_t x = 0; x < size.width_px; x++) {
			const uint8_t *p =
				theirs + 4 * ((size_t)y * size.width_px + x);

			for (uint32_t i = 0; i < img.plane_count; i++) {
				uint8_t v = sample(&img.planes[i], x, y);
				int same = space != IMG_RGBA || i == 3 ?
						   p[i] :
						   (p[i] * p[3] + 127) / 255;

				CHECK_NUMBER(v, ==, same);
				CHECK_NUMBER(v, ==,
					     sample(&again.planes[i], x, y));
			}
		}
	free(theirs);
	memory_free(&h.memory, out);
	img_release(&img);
	img_release(&again);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_results(void)
{
	static const struct img_size sizes[] = {
		{ 1, 1 }, { 3, 2 }, { 255, 3 }, { 2, 700 }, { 700, 900 },
	};
	static const enum img_space spaces[] = { IMG_GREY, IMG_RGB, IMG_RGBA };
	struct bytes none = { 0 },
		     profile = profile_rgb(&gamuts[DISPLAY_P3], 2.2, 16);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t s = 0; s < ARRAY_SIZE(spaces); s++)
			check_result(sizes[i], spaces[s], (int)(i + s), none);
	check_result(sizes[1], IMG_RGB, 9, profile);
	check_result(sizes[4], IMG_RGB, 9, none);
	free(profile.data);
}

int main(void)
{
	test_all_kinds();
	test_large_files();
	test_wrong_headers();
	test_chunks();
	test_many_chunks();
	test_limits();
	test_colours();
	test_made_profile();
	test_bad_profiles();
	test_damage();
	test_missing_passes();
	test_wrong_filter();
	test_random_damage();
	test_irregular();
	test_pauses();
	test_results();
	return 0;
}
