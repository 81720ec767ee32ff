/* SPDX-License-Identifier: MIT */
/*
 * Promises: at a size that needs only some scans of a progressive file, these
 * give the same samples as the whole file, and the other scans are dropped.  A
 * file with anything unusual is read as a whole.
 */
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/scans.h"

#include "base/test/check.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

/* Join the pieces into one file. */
static struct bytes join(const struct piece *pieces, uint32_t count)
{
	struct bytes all = { NULL, 0 };

	for (uint32_t i = 0; i < count; i++) {
		all.data = realloc(all.data, all.count + pieces[i].bytes);
		CHECK(all.data != NULL);
		memcpy(all.data + all.count, pieces[i].data, pieces[i].bytes);
		all.count += pieces[i].bytes;
	}
	return all;
}

static uint32_t count_pieces(struct bytes jpeg, uint32_t dct_scale)
{
	struct piece pieces[SCANS_PIECES_MAX];
	/* sanitizers notice overruns */
	uint8_t *copy = malloc(jpeg.count);

	CHECK(copy != NULL);
	memcpy(copy, jpeg.data, jpeg.count);
	uint32_t count = scans_keep(pieces, copy, jpeg.count, dct_scale);

	free(copy);
	return count;
}

/* The components that have AC scans in a kept file: bit i for component i. */
static uint32_t ac_scans(struct bytes jpeg)
{
	struct markers w;
	struct marker m;
	uint32_t found = 0;
	bool ok = markers_start(&w, jpeg.data, jpeg.count);

	CHECK(ok);
	while (markers_next(&w, &m))
		if (m.code == MARKER_SOS && m.data[m.bytes - 3] > 0)
			found |= 1u << (m.data[1] - 1);
	CHECK_NUMBER(m.code, ==, MARKER_EOI);
	return found;
}

/* The greatest difference, in levels, of a sample at 2/8. */
static double quarter_error(const int32_t a[64], const int32_t b[64])
{
	/*
	 * In rows of 8, these are the coefficients (1, 0), (0, 1) and (1, 1).
	 */
	return (abs(a[1] - b[1]) + abs(a[8] - b[8]) + abs(a[9] - b[9])) / 8.0;
}

/*
 * Check that each component keeps its important coefficients, exactly or
 * nearly.
 */
static void check_kept(struct bytes jpeg, struct bytes kept, int components,
		       uint32_t dct_scale)
{
	for (int i = 0; i < components; i++) {
		struct bytes before = jpeg_component(jpeg, i);
		struct bytes after = jpeg_component(kept, i);
		struct jpeg_blocks a = jpeg_read_blocks(before);
		struct jpeg_blocks b = jpeg_read_blocks(after);

		for (uint32_t k = 0; k < a.across * a.down; k++) {
			CHECK_NUMBER(a.values[k][0], ==, b.values[k][0]);
			if (dct_scale == 2)
				CHECK_NUMBER(
					quarter_error(a.values[k], b.values[k]),
					<=, SCANS_ERROR_MAX);
		}
		free(a.values);
		free(b.values);
		free(before.data);
		free(after.data);
	}
}

/* Returns how many bytes are kept. */
static size_t check(struct bytes jpeg, int components, uint32_t dct_scale)
{
	struct piece pieces[SCANS_PIECES_MAX];
	uint32_t count = scans_keep(pieces, jpeg.data, jpeg.count, dct_scale);

	CHECK_NUMBER(count, >, 0);
	struct bytes kept = join(pieces, count);

	check_kept(jpeg, kept, components, dct_scale);
	if (dct_scale == 1)
		CHECK_NUMBER(ac_scans(kept), ==, 0);
	free(kept.data);
	return kept.count;
}

/* A picture of edges, in which every coefficient matters. */
static double stripes(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)(x / 3) * 41 + (uint32_t)(y / 5) + component;

	return scramble(n) & 255;
}

static const struct jpeg_spec progressive = {
	.width = 133, .height = 78, .picture = stripes, .progressive = true
};

static void test_every_kind_of_file(void)
{
	static const struct jpeg_spec kinds[] = {
		{ .space = JCS_GRAYSCALE },
		{ .h = { 1 } },
		{ .h = { 2 }, .v = { 2 } },
		{ .h = { 2, 1, 2 }, .v = { 2, 1, 2 } },
		{ .h = { 2 }, .v = { 2 }, .arithmetic = true },
		{ .h = { 2 }, .v = { 2 }, .restart_interval = 3 },
		{ .arithmetic = true, .restart_interval = 3 },
		{ .quality = 30 },
		{ .space = JCS_CMYK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct jpeg_spec spec = kinds[i];
		int components = spec.space == JCS_GRAYSCALE ? 1 :
				 spec.space == JCS_CMYK      ? 4 :
							       3;

		spec.width = progressive.width;
		spec.height = progressive.height;
		spec.progressive = true;
		spec.picture = stripes;
		struct bytes jpeg = jpeg_make(&spec);

		(void)check(jpeg, components, 1);
		(void)check(jpeg, components, 2);
		free(jpeg.data);
	}
}

/* The finer the quantisation steps, the more low bits may be dropped. */
static void test_fewer_bits_where_steps_are_fine(void)
{
	static const int qualities[] = { 10, 50, 80, 97 };
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(qualities); i++) {
		struct jpeg_spec spec = progressive;

		spec.quality = qualities[i];
		struct bytes jpeg = jpeg_make(&spec);
		size_t kept = check(jpeg, 3, 2);
		size_t part = kept * 1000 / jpeg.count;

		CHECK_NUMBER(part, <=, least);
		CHECK(qualities[i] > 10 || kept == jpeg.count);
		CHECK(qualities[i] < 97 || part < 700);
		least = part;
		free(jpeg.data);
	}
}

/*
 * Scans by spectral selection only, and scans of single bits in an unusual
 * order.
 */
static const jpeg_scan_info spectral[] = {
	{ 3, { 0, 1, 2 }, 0, 0, 0, 0 }, { 1, { 2 }, 1, 63, 0, 0 },
	{ 1, { 0 }, 1, 5, 0, 0 },       { 1, { 1 }, 1, 63, 0, 0 },
	{ 1, { 0 }, 6, 63, 0, 0 },
};
static const jpeg_scan_info bits[] = {
	{ 1, { 0 }, 0, 0, 0, 2 },    { 1, { 0 }, 1, 63, 0, 1 },
	{ 1, { 0 }, 0, 0, 2, 1 },    { 2, { 1, 2 }, 0, 0, 0, 1 },
	{ 1, { 1 }, 1, 63, 0, 0 },   { 1, { 0 }, 1, 63, 1, 0 },
	{ 2, { 0, 1 }, 0, 0, 1, 0 }, { 1, { 2 }, 1, 9, 0, 0 },
	{ 1, { 2 }, 0, 0, 1, 0 },    { 1, { 2 }, 10, 63, 0, 0 },
};

static void test_any_legal_order_of_scans(void)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct jpeg_spec spec = progressive;

		spec.h[0] = spec.v[0] = 1 + i % 2;
		spec.arithmetic = i / 2 % 2;
		struct bytes jpeg =
			i / 4 ? jpeg_with_scans(jpeg_make(&spec), bits,
						ARRAY_SIZE(bits)) :
				jpeg_with_scans(jpeg_make(&spec), spectral,
						ARRAY_SIZE(spectral));

		(void)check(jpeg, 3, 1);
		(void)check(jpeg, 3, 2);
		free(jpeg.data);
	}
}

static void test_sequential_files_are_read_whole(void)
{
	struct jpeg_spec spec = progressive;

	spec.progressive = false;
	for (int i = 0; i < 4; i++) {
		spec.separate_scans = i % 2;
		spec.arithmetic = i / 2;
		struct bytes jpeg = jpeg_make(&spec);

		CHECK_NUMBER(count_pieces(jpeg, 1), ==, 0);
		free(jpeg.data);
	}
}

static void test_cut_files_are_read_whole(void)
{
	struct bytes jpeg = jpeg_make(&progressive), part = jpeg;

	for (part.count = 1; part.count < jpeg.count; part.count++)
		CHECK_NUMBER(count_pieces(part, 1), ==, 0);
	CHECK_NUMBER(count_pieces(jpeg, 1), >, 0);
	free(jpeg.data);
}

static void test_bytes_after_eoi_are_left_out(void)
{
	struct bytes jpeg = jpeg_make(&progressive);
	struct piece pieces[SCANS_PIECES_MAX];
	uint8_t *longer = calloc(jpeg.count + 100, 1);

	CHECK(longer != NULL);
	memcpy(longer, jpeg.data, jpeg.count);
	uint32_t count = scans_keep(pieces, longer, jpeg.count + 100, 1);

	CHECK_NUMBER(count, >, 0);
	CHECK_NUMBER(pieces[count - 1].data + pieces[count - 1].bytes, ==,
		     longer + jpeg.count);
	free(longer);
	free(jpeg.data);
}

/* A frame of two components, without tables and data. */
#define SOI "\xff\xd8"
#define SOF "\xff\xc2\0\x0e\x08\0\1\0\1\2\1\x11\0\2\x11\0"
#define DC "\xff\xda\0\x0a\2\1\0\2\0\0\0\0"
#define AC_1 "\xff\xda\0\x08\1\1\0\1\x3f\0"
#define AC_2 "\xff\xda\0\x08\1\2\0\1\x3f\0"
#define AC_2_HIGH "\xff\xda\0\x08\1\2\0\1\x3f\1"
#define AC_2_LOW "\xff\xda\0\x08\1\2\0\1\x3f\x10"
#define EOI "\xff\xd9"

#define TAKEN(text)                                                            \
	(count_pieces((struct bytes){ (uint8_t *)(text), sizeof(text) - 1 },   \
		      1) > 0)

static void test_odd_markers_are_read_whole(void)
{
	CHECK(TAKEN(SOI SOF DC "\xff\xfe\0\4.." AC_1 AC_2 EOI));
	CHECK(TAKEN(SOI "\xff\xe5\0\2" SOF DC AC_1 AC_2 "\xff\xd0" EOI));
	/* Garbage, fill bytes, TEM, RSTn, SOI, DNL, JPG7. */
	CHECK(!TAKEN(SOI "." SOF DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF "\xff" DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF "\xff\x01" DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF "\xff\xd0" DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC SOI AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC "\xff\xdc\0\4\0\1" AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC "\xff\xf7\0\2" AC_1 AC_2 EOI));
}

static void test_odd_frames_are_read_whole(void)
{
	CHECK(!TAKEN(SOI EOI));
	CHECK(!TAKEN(SOI DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI DC AC_1 AC_2 SOF EOI));
	CHECK(!TAKEN(SOI SOF SOF DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI "\xff\xc2\0\2"));
	/*
	 * A frame without a component, and one with the same component twice.
	 */
	CHECK(!TAKEN(SOI "\xff\xc2\0\x08\x08\0\1\0\1\0" DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI "\xff\xc2\0\x0e\x08\0\1\0\1\2\1\x11\0\1\x11\0" DC AC_1
			     AC_2 EOI));
	/* A frame of five components, and one whose length fits three. */
	CHECK(!TAKEN(SOI "\xff\xc2\0\x17\x08\0\1\0\1\5\1\x11\0\2\x11\0\3\x11\0"
			 "\4\x11\0\5\x11\0" DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(
		SOI
		"\xff\xc2\0\x11\x08\0\1\0\1\2\1\x11\0\2\x11\0\3\x11\0" DC AC_1
			AC_2 EOI));
}

/* Component 2, coefficients 1 to 63, from bit 13 to bit 0. */
#define AC_2_FROM_13                                                           \
	"\xff\xda\0\x08\1\2\0\1\x3f\xdc"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\xcb"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\xba"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\xa9"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x98"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x87"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x76"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x65"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x54"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x43"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x32"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x21"                                       \
	"\xff\xda\0\x08\1\2\0\1\x3f\x10"

static void test_illegal_scans_are_read_whole(void)
{
	CHECK(TAKEN(SOI SOF DC AC_1 AC_2_HIGH AC_2_LOW EOI));
	/* AC before DC of the component. */
	CHECK(!TAKEN(SOI SOF AC_1 DC AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2_HIGH EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2_HIGH AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2_LOW EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2_LOW AC_2_HIGH EOI));
	/* From bit 2 to bit 0. */
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x08\1\2\0\1\x3f\2"
				     "\xff\xda\0\x08\1\2\0\1\x3f\x20" EOI));
	/* From bit 13 on, and from one above, which libjpeg refuses. */
	CHECK(TAKEN(SOI SOF DC AC_1
		    "\xff\xda\0\x08\1\2\0\1\x3f\x0d" AC_2_FROM_13 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1
		     "\xff\xda\0\x08\1\2\0\1\x3f\x0e"
		     "\xff\xda\0\x08\1\2\0\1\x3f\xed" AC_2_FROM_13 EOI));
	/*
	 * AC together with DC; AC of two components; first after last;
	 * coefficient 64.
	 */
	CHECK(!TAKEN(SOI SOF "\xff\xda\0\x0a\2\1\0\2\0\0\x3f\0" EOI));
	CHECK(!TAKEN(SOI SOF DC "\xff\xda\0\x0a\2\1\0\2\0\1\x3f\0" EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x08\1\2\0\2\1\0" AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x08\1\2\0\1\x40\0" EOI));
	/*
	 * A scan of no component, of a third one, of the same one twice; and a
	 * scan of a wrong length.
	 */
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2 "\xff\xda\0\6\0\0\0\0" EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2 "\xff\xda\0\x08\1\3\0\0\0\0" EOI));
	CHECK(!TAKEN(SOI SOF "\xff\xda\0\x08\1\1\0\0\0\0"
			     "\xff\xda\0\x0a\2\2\0\2\0\0\0\0" AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x09\1\2\0\1\x3f\0." EOI));
	/* Components in another order than in the frame. */
	CHECK(!TAKEN(SOI SOF "\xff\xda\0\x0a\2\2\0\1\0\0\0\0" AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 AC_2 "\xff\xda\0\2"));
}

#define STEPS_8 "\0\1\0\1\0\1\0\1\0\1\0\1\0\1\0\1"
#define STEPS_63                                                               \
	STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8 STEPS_8                \
		"\0\1\0\1\0\1\0\1\0\1\0\1\0\1"
/* A table of 64 steps of 16 bits; the first one is given. */
#define DQT(step) "\xff\xdb\0\x83\x10" step STEPS_63

/* Steps that our inverse transform cannot use. */
static void test_files_with_huge_steps_are_read_whole(void)
{
	CHECK(TAKEN(SOI DQT("\x7f\xff") SOF DC AC_1 AC_2 EOI));
	CHECK(!TAKEN(SOI DQT("\x80\0") SOF DC AC_1 AC_2 EOI));
}

/* A file that lacks one of its scans is incomplete or out of order. */
static void test_each_scan_is_needed(void)
{
	CHECK(!TAKEN(SOI SOF AC_1 AC_2_HIGH AC_2_LOW EOI));
	CHECK(!TAKEN(SOI SOF DC AC_2_HIGH AC_2_LOW EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x08\1\2\0\1\x3e\0" EOI));
	CHECK(!TAKEN(SOI SOF DC AC_1 "\xff\xda\0\x08\1\2\0\2\x3f\0" EOI));
}

/* `jpeg` is a grey file with a scan for each coefficient. */
static void check_scan_counts(struct bytes jpeg)
{
	struct img_header header = { 0 };
	const struct img_limits limits = {
		.side_px_max = 1000,
		.pixels_max = 1000000,
		.scans_max = 64,
		.decode_bytes_max = 1 << 20,
	};

	CHECK_NUMBER(img_probe(&header, jpeg.data, jpeg.count, &limits), ==,
		     IMG_OK);
	CHECK_NUMBER(jpeg_own(&header)->scan_count, ==, 64);
	CHECK_NUMBER(scans_pieces_scans(&jpeg_own(&header)->scans, SCANS_AT_1),
		     ==, 1);
	CHECK_NUMBER(scans_pieces_scans(&jpeg_own(&header)->scans, SCANS_AT_2),
		     ==, 5); /* 0 to 4 */
}

static void test_there_is_a_largest_number_of_pieces(void)
{
	jpeg_scan_info script[1 + 2 * 63] = { { 1, { 0 }, 0, 0, 0, 0 } };
	struct jpeg_spec spec = progressive;

	spec.space = JCS_GRAYSCALE;
	for (int k = 1; k < 64; k++) {
		script[k] = (jpeg_scan_info){ 1, { 0 }, k, k, 0, 0 };
		script[63 + k] = (jpeg_scan_info){ 1, { 0 }, k, k, 1, 0 };
	}
	/* The pieces: the table before each dropped scan, and EOI. */
	struct bytes jpeg = jpeg_with_scans(jpeg_make(&spec), script, 64);

	CHECK_NUMBER(count_pieces(jpeg, 1), ==, SCANS_PIECES_MAX);
	check_scan_counts(jpeg);
	free(jpeg.data);
	for (int k = 1; k < 64; k++)
		script[k].Al = 1;
	jpeg = jpeg_with_scans(jpeg_make(&spec), script, ARRAY_SIZE(script));
	CHECK_NUMBER(count_pieces(jpeg, 1), ==, 0);
	free(jpeg.data);
}

/*
 * With any byte changed, the pieces still lie within the file, one after the
 * other.
 */
static void test_any_byte_may_be_wrong(void)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x3f, 0xd9, 0xff };
	struct bytes jpeg = jpeg_make(&progressive);
	struct piece pieces[SCANS_PIECES_MAX];

	for (size_t i = 0; i < jpeg.count * ARRAY_SIZE(values); i++) {
		uint8_t *byte = jpeg.data + i / ARRAY_SIZE(values), was = *byte;

		*byte = values[i % ARRAY_SIZE(values)];
		const uint8_t *end = jpeg.data;
		uint32_t count =
			scans_keep(pieces, jpeg.data, jpeg.count, 1 + (i & 1));

		CHECK_NUMBER(count, <=, SCANS_PIECES_MAX);
		for (uint32_t k = 0; k < count; k++) {
			CHECK_NUMBER(pieces[k].data, >=, end);
			CHECK_NUMBER(pieces[k].bytes, >, 0);
			end = pieces[k].data + pieces[k].bytes;
		}
		CHECK_NUMBER(end, <=, jpeg.data + jpeg.count);
		*byte = was;
	}
	free(jpeg.data);
}

int main(void)
{
	test_every_kind_of_file();
	test_fewer_bits_where_steps_are_fine();
	test_any_legal_order_of_scans();
	test_sequential_files_are_read_whole();
	test_cut_files_are_read_whole();
	test_bytes_after_eoi_are_left_out();
	test_odd_markers_are_read_whole();
	test_odd_frames_are_read_whole();
	test_illegal_scans_are_read_whole();
	test_files_with_huge_steps_are_read_whole();
	test_each_scan_is_needed();
	test_there_is_a_largest_number_of_pieces();
	test_any_byte_may_be_wrong();
	return 0;
}
