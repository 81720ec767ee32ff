/* SPDX-License-Identifier: MIT */
/*
 * Promises: intact files, sequential or progressive, are read by
 * sequential_read() or progressive_read() alone, and their samples are
 * libjpeg's, bit for bit; at 2/8 to 4/8 they are the inverse DCT of libjpeg's
 * coefficients.  If one of them reads a file, libjpeg's strict decoding accepts
 * it too, with the same samples.  So they never change whether a file is
 * accepted.  Blocks that the frame cuts are tested in test_edge, too.  Reading
 * pauses often.
 */
#include "base/test/check.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

static const struct img_limits small = { 2000, 200000, 20, 2000000, 0 };

/* Noise with the largest differences between neighbours. */
static double noise(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)x / 8 * 7919 + (uint32_t)y / 8 * 104729;

	return (scramble(n + component) & 1) * 255.0;
}

/* Long codes for large values, one after the other. */
static double loud(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)x * 7919 + (uint32_t)y * 104729 + component;

	return scramble(n) & 1 ? 255 : scramble(n) >> 24;
}

static bool decode_ours(struct image *img, struct bytes jpeg, struct heap *h)
{
	bool ok = reduced_by_ours(img, 1, jpeg.data, jpeg.count, &small,
				  &h->memory);

	CHECK(ok || is_empty(img));
	return ok;
}

static bool is_ours(struct bytes jpeg)
{
	struct image img;
	struct heap h;

	heap_init(&h);
	bool ok = decode_ours(&img, jpeg, &h);

	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	return ok;
}

static enum img_err libjpeg_says(struct bytes jpeg)
{
	struct image img;
	struct heap h;

	heap_init(&h);
	enum img_err err = reduced_by_libjpeg(&img, 1, jpeg.data, jpeg.count,
					      &small, &h.memory);

	img_release(&img);
	return err;
}

static bool is_progressive(struct bytes jpeg)
{
	struct img_header h;

	return img_probe(&h, jpeg.data, jpeg.count, &small) == IMG_OK &&
	       h.is_progressive;
}

/*
 * Check the promise at n/8, n > 1.  True: read by sequential_read() or
 * progressive_read().  Sequential files are not compared: to get their
 * coefficients, libjpeg reads on after the last row, and so may refuse more
 * files.
 */
static bool check_agrees_at(uint32_t n, struct bytes jpeg, struct heap *h)
{
	struct image img, same;
	bool ok = reduced_by_ours(&img, n, jpeg.data, jpeg.count, &small,
				  &h->memory);

	if (ok && is_progressive(jpeg)) {
		enum img_err err = reduced_by_arrays(
			&same, n, jpeg.data, jpeg.count, &small, &h->memory);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK(is_same(&img, &same));
		img_release(&same);
	}
	img_release(&img);
	return ok;
}

/*
 * Check the promise at 8/8.  True: read by sequential_read() or
 * progressive_read().
 */
static bool check_agrees_in_full(struct bytes jpeg, struct heap *h)
{
	struct image img, same;
	bool ok = reduced_by_ours(&img, 8, jpeg.data, jpeg.count, &small,
				  &h->memory);

	if (ok) {
		enum img_err err = reduced_by_libjpeg(
			&same, 8, jpeg.data, jpeg.count, &small, &h->memory);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK(is_same(&img, &same));
		img_release(&same);
		img_release(&img);
	}
	return ok;
}

/*
 * Check the promise, which holds for any bytes.  True: the file was read
 * without libjpeg at 1/8.
 */
static bool check_agrees(struct bytes jpeg)
{
	struct image img, same;
	struct heap h;

	heap_init(&h);
	bool at_4 = check_agrees_at(4, jpeg, &h);

	(void)check_agrees_at(2, jpeg, &h);
	(void)check_agrees_at(3, jpeg, &h);
	(void)check_agrees_in_full(jpeg, &h);
	bool ok = decode_ours(&img, jpeg, &h);

	/*
	 * A larger size decodes more coefficients, so it may be refused for a
	 * run past the end of a block, or for damage in a scan that is not read
	 * at 1/8.
	 */
	CHECK(ok || !at_4);

	if (ok) {
		enum img_err err = reduced_by_libjpeg(
			&same, 1, jpeg.data, jpeg.count, &small, &h.memory);

		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK(reduced_is_same(&img, &same));
		img_release(&same);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	return ok;
}

/* Compare with libjpeg's decode of each component alone. */
static void check_components(struct bytes jpeg)
{
	struct image img;
	struct heap h;

	heap_init(&h);
	bool ok = decode_ours(&img, jpeg, &h);

	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];
		struct bytes alone = jpeg_component(jpeg, (int)i);
		struct jpeg_view view = jpeg_read(alone, JCS_GRAYSCALE, 1);

		CHECK_NUMBER(p->width, <=, view.width);
		CHECK_NUMBER(p->height, <=, view.height);
		for (uint32_t y = 0; y < reduced_visible(p->span_y, 1) / 8; y++)
			CHECK(memcmp(p->samples + y * p->stride_bytes,
				     view.pixels + y * view.width,
				     reduced_visible(p->span_x, 1) / 8) == 0);
		free(view.pixels);
		free(alone.data);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void check_intact(struct jpeg_spec spec)
{
	for (int coding = 0; coding < 12; coding++) {
		spec.progressive = coding & 1;
		spec.optimize = coding & 2;
		spec.restart_interval = coding / 4 * coding / 4;

		struct bytes jpeg = jpeg_make(&spec);
		bool agrees = check_agrees(jpeg);
		struct heap h;

		CHECK(agrees);
		heap_init(&h);
		for (uint32_t n = 2; n <= 4; n++) {
			agrees = check_agrees_at(n, jpeg, &h);
			CHECK(agrees);
		}
		agrees = check_agrees_in_full(jpeg, &h);
		CHECK(agrees);
		CHECK_NUMBER(h.live_count, ==, 0);
		check_components(jpeg);
		free(jpeg.data);
	}
}

static const struct {
	int h[3], v[3];
} samplings[] = {
	{ { 1, 1, 1 }, { 1, 1, 1 } }, { { 2, 1, 1 }, { 1, 1, 1 } },
	{ { 2, 1, 1 }, { 2, 1, 1 } }, { { 1, 1, 1 }, { 2, 1, 1 } },
	{ { 4, 1, 1 }, { 1, 1, 1 } }, { { 1, 1, 1 }, { 4, 1, 1 } },
	{ { 4, 1, 1 }, { 2, 1, 1 } }, { { 3, 1, 1 }, { 2, 1, 1 } },
	{ { 1, 2, 2 }, { 1, 2, 2 } }, { { 2, 1, 4 }, { 1, 1, 1 } },
	{ { 3, 2, 2 }, { 1, 1, 1 } }, { { 2, 2, 1 }, { 2, 1, 2 } },
};

static void test_intact_files_of_every_sampling_are_read(void)
{
	static const struct img_size sizes[] = {
		{ 1, 1 }, { 17, 33 }, { 97, 50 }, { 300, 9 }
	};

	for (size_t s = 0; s < ARRAY_SIZE(samplings); s++)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct jpeg_spec spec = {
				.width = sizes[i].width_px,
				.height = sizes[i].height_px,
			};

			memcpy(spec.h, samplings[s].h, sizeof(int[3]));
			memcpy(spec.v, samplings[s].v, sizeof(int[3]));
			check_intact(spec);
		}
}

static void test_intact_files_of_every_space_are_read(void)
{
	static const J_COLOR_SPACE spaces[] = { JCS_GRAYSCALE, JCS_RGB,
						JCS_CMYK, JCS_YCCK };

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		check_intact((struct jpeg_spec){ .width = 45,
						 .height = 37,
						 .space = spaces[i],
						 .h = { 2, 1, 1, 2 },
						 .v = { 2, 1, 1, 2 } });
}

static void test_what_is_rare_is_left_to_libjpeg(void)
{
	struct jpeg_spec rare[] = {
		{ .width = 35, .height = 19, .arithmetic = true },
		{ .width = 35, .height = 19, .separate_scans = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rare); i++) {
		struct bytes jpeg = jpeg_make(&rare[i]);

		CHECK(!is_ours(jpeg));
		CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_OK);
		free(jpeg.data);
	}
}

/*
 * A copy whose quantisation tables all have 16-bit steps, the first of them
 * `dc`.
 */
static struct bytes with_steps(struct bytes jpeg, uint32_t dc)
{
	enum { SEGMENT_BYTES = 2 + 2 + 1 + 2 * DCTSIZE2, TABLES = 2 };
	struct bytes b = { calloc(jpeg.count + TABLES * SEGMENT_BYTES, 1), 2 };
	uint8_t *tail = jpeg_marker(jpeg, 0xdb) - 4;

	CHECK(b.data != NULL);
	memcpy(b.data, jpeg.data, 2);
	for (uint8_t i = 0; i < TABLES; i++) {
		uint8_t *d = b.data + b.count;

		memcpy(d, "\xff\xdb\0\x83\x10", 5);
		d[4] |= i;
		for (uint32_t k = 0; k < DCTSIZE2; k++)
			d[6 + 2 * k] = 1;
		d[5] = (uint8_t)(dc >> 8);
		d[6] = (uint8_t)dc;
		b.count += SEGMENT_BYTES;
	}
	while (tail[1] == 0xdb)
		tail += 2 + (tail[2] << 8 | tail[3]);

	size_t count = jpeg.count - (size_t)(tail - jpeg.data);

	memcpy(b.data + b.count, tail, count);
	b.count += count;
	return b;
}

/*
 * Outside of the range of samples, libjpeg's values wrap around; so must ours.
 */
static void test_extreme_values_are_as_libjpeg_has_them(void)
{
	static const uint32_t steps[] = { 1,     2,     7,    16,   100,
					  255,   256,   1000, 4095, 32767,
					  32768, 40000, 65535 };

	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			struct jpeg_spec spec = {
				.width = 120,
				.height = 88,
				.picture = noise,
				.quality = 100,
				.h = { 2 },
				.progressive = kind & 1,
				.space = kind & 2 ? JCS_GRAYSCALE : JCS_YCbCr,
			};
			struct bytes jpeg = jpeg_make(&spec);
			struct bytes steep = with_steps(jpeg, steps[i]);

			CHECK_NUMBER(check_agrees(steep), ==,
				     (steps[i] <= INT16_MAX));
			free(steep.data);
			free(jpeg.data);
		}
}

/* A file of several scans has the same coefficients, and libjpeg reads them. */
static void test_reduced_blocks_have_libjpegs_coefficients(void)
{
	static const int qualities[] = { 100, 95, 50 };

	for (int kind = 0; kind < 48; kind++) {
		struct jpeg_spec spec = {
			.width = 128,
			.height = 120,
			.picture = loud,
			.quality = qualities[kind % 3],
			.shuffle = (uint32_t)kind / 3,
			.restart_interval = kind & 2,
		};
		struct bytes one = jpeg_make(&spec);

		spec.separate_scans = true;

		struct bytes three = jpeg_make(&spec);

		for (uint32_t n = 1; n <= 4; n++) {
			struct img_size size =
				target_at((struct img_size){ 128, 120 }, n);
			struct heap h;

			heap_init(&h);
			struct image img = must_decode(one, size, &h);
			struct image same = must_decode(three, size, &h);

			CHECK_NUMBER(img.planes[0].width, ==, 16 * n);
			CHECK(is_same(&img, &same));
			img_release(&img);
			img_release(&same);
		}
		free(one.data);
		free(three.data);
	}
}

/* Compare with libjpeg's coefficients, at n/8, also of blocks that are cut. */
static void check_coefficients(struct jpeg_spec spec)
{
	struct bytes one = jpeg_make(&spec), three;
	struct heap h;

	spec.separate_scans = true;
	three = jpeg_make(&spec);
	heap_init(&h);
	for (uint32_t n = 1; n <= 4; n++) {
		struct img_size size = target_at(
			(struct img_size){ spec.width, spec.height }, n);
		struct image img = must_decode(one, size, &h);
		struct image same = must_decode(three, size, &h);

		CHECK(is_same(&img, &same));
		img_release(&img);
		img_release(&same);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
	free(one.data);
	free(three.data);
}

/* Of an MCU at the edge, some blocks are cut and some are outside. */
static void test_mcus_at_the_edge_have_libjpegs_coefficients(void)
{
	for (size_t s = 0; s < ARRAY_SIZE(samplings); s++)
		for (uint32_t more = 0; more < 32; more++) {
			struct jpeg_spec spec = {
				.width = 61 + more,
				.height = 62 + more * 5 % 32,
				.picture = loud,
				.quality = more & 1 ? 100 : 60,
				.shuffle = more / 2 % 4,
				.restart_interval = (int)more % 3,
			};

			memcpy(spec.h, samplings[s].h, sizeof(int[3]));
			memcpy(spec.v, samplings[s].v, sizeof(int[3]));
			check_coefficients(spec);
		}
}

/* Ten blocks in an MCU, of which some are cut or outside of a strip. */
static const uint8_t wide[3] = { 0x14, 0x14, 0x12 };
static const uint8_t tall[3] = { 0x41, 0x41, 0x21 };

static void check_dense(uint32_t width, uint32_t height,
			const uint8_t factors[3])
{
	struct bytes jpeg = jpeg_dense(width, height, factors);
	bool agrees = check_agrees(jpeg);
	struct heap h;

	CHECK(agrees);
	heap_init(&h);
	for (uint32_t n = 2; n <= 4; n++) {
		agrees = check_agrees_at(n, jpeg, &h);
		CHECK(agrees);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
	free(jpeg.data);
}

static void test_dense_strips_are_read(void)
{
	for (uint32_t side = 1; side <= 40; side++) {
		check_dense(1999, side, wide);
		check_dense(side, 1999, tall);
		check_dense(301, side, tall);
		check_dense(side, 301, wide);
	}
}

/* How often reading a file at 1/8 pauses. */
static uint32_t count_pauses(struct bytes jpeg)
{
	struct image img;
	struct heap h;
	bool ok;

	heap_init(&h);
	ok = reduced_by_ours(&img, 1, jpeg.data, jpeg.count, &no_limits,
			     &h.memory);
	CHECK(ok);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	return h.pause_count;
}

static void test_pauses_come_often_in_any_strip(void)
{
	struct bytes row = jpeg_dense(65500, 8, wide);
	struct bytes column = jpeg_dense(8, 65500, tall);

	CHECK_NUMBER(count_pauses(row), >=, 65500 / 8 / 256);
	CHECK_NUMBER(count_pauses(column), >=, 65500 / 8 / 256);
	free(row.data);
	free(column.data);
}

static const struct jpeg_spec kinds[] = {
	{ .width = 35, .height = 19, .h = { 2 }, .v = { 2 } },
	{ .width = 35, .height = 19, .space = JCS_GRAYSCALE },
	{ .width = 35, .height = 19, .restart_interval = 2 },
	{ .width = 35, .height = 19, .optimize = true, .picture = noise },
	{ .width = 35, .height = 19, .progressive = true },
	{ .width = 40,
	  .height = 30,
	  .h = { 2 },
	  .progressive = true,
	  .restart_interval = 2 },
	{ .width = 21, .height = 19, .space = JCS_YCCK, .orientation = 6 },
};

static void test_a_cut_file_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);

		for (size_t n = 2; n < jpeg.count - 2; n++) {
			uint8_t *copy = malloc(n);

			CHECK(copy != NULL);
			memcpy(copy, jpeg.data, n);
			CHECK(!is_ours((struct bytes){ copy, n }));
			free(copy);
		}
		free(jpeg.data);
	}
}

static void test_wrong_restart_markers_are_refused(void)
{
	struct jpeg_spec spec = { .width = 90,
				  .height = 40,
				  .restart_interval = 3 };
	struct bytes jpeg = jpeg_make(&spec);
	uint32_t markers_count = 0;

	for (size_t i = 0; i + 1 < jpeg.count; i++) {
		uint8_t *m = jpeg.data + i;

		if (m[0] != 0xff || m[1] < 0xd0 || m[1] > 0xd7)
			continue;
		markers_count++;
		m[1] ^= 1;
		CHECK(!is_ours(jpeg));
		m[1] ^= 1;
		m[0] = 0;
		CHECK(!is_ours(jpeg));
		m[0] = 0xff;
		/* A copy of the file without the marker's two bytes. */
		struct bytes less = { malloc(jpeg.count), jpeg.count - 2 };

		CHECK(less.data != NULL);
		memcpy(less.data, jpeg.data, i);
		memcpy(less.data + i, m + 2, jpeg.count - i - 2);
		CHECK(!is_ours(less));
		free(less.data);
	}
	CHECK_NUMBER(markers_count, >, 10);
	CHECK(is_ours(jpeg));
	free(jpeg.data);
}

/*
 * Tables with codes that no picture here uses: the data can be read to the end,
 * but the file is refused.
 */
static void test_tables_that_libjpeg_refuses_are_refused(void)
{
	struct bytes jpeg = jpeg_make(&kinds[0]);
	uint8_t *dht = jpeg_marker(jpeg, 0xc4);

	CHECK_NUMBER(dht[0], ==, 0x00);
	CHECK_NUMBER(dht[9], ==, 1);
	CHECK_NUMBER(dht[28], ==, 11);
	dht[28] = 16; /* the last, longest DC code */
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_ERR_CORRUPT);
	CHECK(!is_ours(jpeg));
	dht[28] = 11;
	/* Give the last two codes 8 bits: the second is then all ones. */
	dht[9]--;
	dht[8]++;
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_ERR_CORRUPT);
	CHECK(!is_ours(jpeg));
	free(jpeg.data);
}

static void test_an_mcu_of_more_than_ten_blocks_is_refused(void)
{
	struct bytes jpeg = jpeg_make(&kinds[0]);
	uint8_t *sof = jpeg_marker(jpeg, 0xc0);

	/* A picture of one MCU with 16 + 1 + 1 blocks: no block is missing. */
	memcpy(sof + 1, "\0\1\0\1", 4);
	sof[7] = 0x44;
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_ERR_CORRUPT);
	CHECK(!is_ours(jpeg));
	free(jpeg.data);
}

/* libjpeg reads these, though the scans that use them are dropped. */
static void test_broken_tables_of_dropped_scans_are_refused(void)
{
	struct bytes jpeg = jpeg_make(&kinds[4]);
	size_t last = jpeg.count - 2;

	while (jpeg.data[last] != 0xff || jpeg.data[last + 1] != 0xc4)
		last--;
	jpeg.data[last + 4] = 0x14; /* table 4 */
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_ERR_CORRUPT);
	CHECK(!is_ours(jpeg));
	jpeg.data[last + 4] = 0x10;
	CHECK(is_ours(jpeg));
	jpeg.data[last + 20]++;
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_ERR_CORRUPT);
	CHECK(!is_ours(jpeg));
	free(jpeg.data);
}

/* libjpeg treats a run past the block's end as the end of the block. */
static void test_a_run_past_the_block_is_refused(void)
{
	struct jpeg_spec spec = { .width = 8,
				  .height = 8,
				  .space = JCS_GRAYSCALE,
				  .optimize = true,
				  .quality = 1 };
	struct bytes jpeg = jpeg_make(&spec);
	uint8_t *dc = jpeg_marker(jpeg, 0xc4);
	uint8_t *ac = dc + 18 + 4; /* the next segment */

	CHECK_NUMBER(dc[0], ==, 0x00);
	CHECK_NUMBER(dc[1], ==, 1);
	CHECK_NUMBER(ac[0], ==, 0x10);
	CHECK_NUMBER(ac[1], >=, 1);
	dc[17] = 0;    /* code 0 means: no difference */
	ac[17] = 0x00; /* code 0 means: EOB */
	jpeg_marker(jpeg, 0xda)[6] = 0;
	CHECK(is_ours(jpeg));
	ac[17] = 0xf0; /* code 0 means: ZRL; a block has no room for four */
	CHECK(!is_ours(jpeg));
	CHECK_NUMBER(libjpeg_says(jpeg), ==, IMG_OK);
	free(jpeg.data);
}

/*
 * Every eleventh bit, so that each position is flipped in some bytes; with
 * TEST_ALL in the environment, all bits.
 */
static void test_no_flipped_bit_changes_the_verdict(void)
{
	size_t step = getenv("TEST_ALL") != NULL ? 1 : 11;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct jpeg_spec spec = kinds[i];
		uint32_t read_count = 0;

		spec.quality = 30;
		/* The usual tables are long, and the same in each file. */
		spec.optimize = i > 0;
		struct bytes jpeg = jpeg_make(&spec);

		for (size_t bit = 0; bit < jpeg.count * 8; bit += step) {
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			read_count += check_agrees(jpeg);
			jpeg.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		CHECK_NUMBER(read_count, >, 500 / step);
		CHECK_NUMBER(read_count, <, jpeg.count * 8 / step);
		free(jpeg.data);
	}
}

static void test_no_damage_changes_the_verdict(void)
{
	uint32_t count = getenv("TEST_ALL") != NULL ? 1000 : 250;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct bytes copy = { malloc(jpeg.count), jpeg.count };
		uint32_t read_count = 0;

		CHECK(copy.data != NULL);
		for (uint32_t n = 0; n < count; n++) {
			uint32_t r = scramble(n + 1000 * (uint32_t)i);

			memcpy(copy.data, jpeg.data, jpeg.count);
			for (uint32_t k = 0; k < 1 + r % 4; k++)
				copy.data[scramble(r + k) % jpeg.count] =
					k & 1 ? 0xff : (uint8_t)(r >> 8 * k);
			read_count += check_agrees(copy);
		}
		CHECK_NUMBER(read_count, >, count / 50);
		CHECK_NUMBER(read_count, <, count / 10 * 9);
		free(copy.data);
		free(jpeg.data);
	}
}

static void test_no_memory_is_no_error(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct bytes jpeg = jpeg_make(&kinds[i]);
		struct image img;
		struct heap h;
		uint32_t at = 0;
		bool ok;

		do {
			heap_init(&h);
			h.fail_at = ++at;
			ok = decode_ours(&img, jpeg, &h);
			img_release(&img);
			CHECK_NUMBER(h.live_count, ==, 0);
		} while (!ok);
		CHECK_NUMBER(at, >, 1);
		free(jpeg.data);
	}
}

int main(void)
{
	test_intact_files_of_every_sampling_are_read();
	test_intact_files_of_every_space_are_read();
	test_what_is_rare_is_left_to_libjpeg();
	test_extreme_values_are_as_libjpeg_has_them();
	test_reduced_blocks_have_libjpegs_coefficients();
	test_mcus_at_the_edge_have_libjpegs_coefficients();
	test_dense_strips_are_read();
	test_pauses_come_often_in_any_strip();
	test_a_cut_file_is_refused();
	test_wrong_restart_markers_are_refused();
	test_tables_that_libjpeg_refuses_are_refused();
	test_an_mcu_of_more_than_ten_blocks_is_refused();
	test_broken_tables_of_dropped_scans_are_refused();
	test_a_run_past_the_block_is_refused();
	test_no_flipped_bit_changes_the_verdict();
	test_no_damage_changes_the_verdict();
	test_no_memory_is_no_error();
	return 0;
}
