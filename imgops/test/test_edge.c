/* SPDX-License-Identifier: MIT */
/*
 * Promises: samples outside of the frame, in the last blocks of a file, have no
 * part in a result, whatever they are, at every DCT scale, sampling, coding,
 * filter, orientation and fit, also in files that libjpeg reads, and before the
 * damage in a damaged file.  The samples at the edge are as if the last visible
 * ones were repeated.  Of a progressive file, scans that are not needed
 * otherwise are read only if hidden samples might show.
 */
#include "imgops/formats/jpeg/edge.h"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/scans.h"
#include "imgops/test/reduced.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Blocks --- */

/* The edge of a grey picture of this size, at n/8. */
static struct edge edge_of(uint32_t width, uint32_t height, uint32_t n)
{
	struct jpeg_decompress_struct jpeg = {
		.image_width = width,
		.image_height = height,
		.max_h_samp_factor = 1,
		.max_v_samp_factor = 1,
	};
	jpeg_component_info c = {
		.h_samp_factor = 1,
		.v_samp_factor = 1,
		.width_in_blocks = (width + 7) / 8,
		.height_in_blocks = (height + 7) / 8,
	};
	struct edge e;

	edge_make(&e, &jpeg, &c, n);
	return e;
}

static void check_block(const int32_t *block, uint32_t right, uint32_t lower,
			uint32_t n)
{
	struct edge e = edge_of(8 + right, 16 + lower, n);
	uint8_t out[IDCT_MAX * 10], wanted[IDCT_MAX * 10];
	int32_t low[IDCT_COEFFICIENTS];

	CHECK_NUMBER(edge_cuts(&e, 1, 2), ==, (right < 8 || lower < 8));
	CHECK_NUMBER(edge_cuts(&e, 0, 2), ==, (lower < 8));
	CHECK_NUMBER(edge_cuts(&e, 1, 1), ==, (right < 8));
	CHECK(!edge_cuts(&e, 0, 1));
	if (!edge_cuts(&e, 1, 2))
		return;
	memset(out, 77, sizeof(out));
	memset(wanted, 77, sizeof(wanted));
	edge_block(out, 10, block, &e, 1, 2);
	reduced_repeat(low, block, right, lower);
	reduced_block(wanted, 10, low, n);
	for (size_t i = 0; i < sizeof(out); i++)
		CHECK_NUMBER(abs(out[i] - wanted[i]), <=, 1);
}

static void test_the_last_visible_samples_are_repeated(void)
{
	for (uint32_t i = 0; i < 40 * 64; i++) {
		int32_t block[DCTSIZE2] = { 0 };

		for (uint32_t k = 0; k < DCTSIZE2; k++)
			block[k] = (int32_t)(scramble(i * 64 + k) % 201) - 100;
		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			check_block(block, 1 + i % 8, 1 + i / 8 % 8, n);
	}
}

/* UBSan sees an overflow. */
static void test_the_largest_coefficients_do_not_overflow(void)
{
	for (uint32_t i = 0; i < 1000; i++) {
		int32_t block[DCTSIZE2];
		uint8_t out[IDCT_COEFFICIENTS];

		for (uint32_t k = 0; k < DCTSIZE2; k++)
			block[k] = scramble(i * 64 + k) & 1 ? -IDCT_LIMIT :
							      IDCT_LIMIT;
		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			for (uint32_t k = 0; k < 63; k++) {
				struct edge e =
					edge_of(1 + k % 8, 1 + k / 8, n);

				edge_block(out, IDCT_MAX, block, &e, 0, 0);
			}
		memset(block, 0, sizeof(block));
		block[0] = i & 1 ? IDCT_LIMIT : -IDCT_LIMIT;
		for (uint32_t n = 1; n <= IDCT_MAX; n++) {
			struct edge e = edge_of(1 + i % 7, 8, n);

			edge_block(out, IDCT_MAX, block, &e, 0, 0);
			CHECK_NUMBER(out[0], ==, (i & 1 ? 255 : 0));
		}
	}
}

/* --- Files --- */

enum { UNSEEN_MAX = 8 };

static double black(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 0;
}

static double white(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 255;
}

static double noise(uint32_t component, double x, double y)
{
	uint32_t n = (uint32_t)x * 7919 + (uint32_t)y * 104729 + component;

	return scramble(n) & 255;
}

static picture_fn *const hidden[] = { black, white, noise };

/* A light picture, in which black, white and noise would show. */
static double page(uint32_t component, double x, double y)
{
	return component > 0 ? 128 : 190 + 10 * sin(x / 40) * cos(y / 50);
}

/* The scale does not depend on the texture of hidden samples. */
static struct img_header probe(struct bytes jpeg)
{
	struct img_header header;
	enum img_err err =
		img_probe(&header, jpeg.data, jpeg.count, &no_limits);

	CHECK_NUMBER(err, ==, IMG_OK);
	header.texture = IMG_TEXTURE_IGNORED;
	return header;
}

static struct image
decode(struct bytes jpeg, const struct img_transform *transform, struct heap *h)
{
	struct img_header header = probe(jpeg);
	struct img_view view = img_fit(&header, transform);
	struct image img = { 0 };
	enum img_err err =
		img_decode_any(&img, jpeg.data, jpeg.count, &header, &view,
			       transform, &no_limits, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	return img;
}

/* A box for which a picture of this size is decoded at n/8. */
static struct img_transform transform_at(const struct jpeg_spec *spec,
					 uint32_t n)
{
	struct img_size size = { spec->width, spec->height };

	return (struct img_transform){
		.box = target_at(size, n),
		.as_stored = true,
		.quality = 80,
		.fit = IMG_FIT_FILL,
	};
}

/*
 * The same picture with other hidden samples has the same planes.  Noise may
 * remain at the edge of a progressive file, as long as it does not show.
 */
static void check_planes(struct jpeg_spec spec)
{
	struct bytes plain, others[ARRAY_SIZE(hidden)];
	struct heap h;

	spec.quality = 100;
	plain = jpeg_make(&spec);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		spec.hidden = hidden[i];
		others[i] = jpeg_make(&spec);
	}
	heap_init(&h);
	for (uint32_t n = 1; n <= IDCT_MAX; n++) {
		struct img_transform t = transform_at(&spec, n);
		struct image a = decode(plain, &t, &h);

		for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
			struct image b = decode(others[i], &t, &h);

			CHECK_NUMBER(
				largest_difference(&a, &b), <=,
				(spec.progressive && n <= SCANS_DCT_SCALE_MAX ?
					 UNSEEN_MAX :
					 2));
			img_release(&b);
		}
		img_release(&a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		free(others[i].data);
	free(plain.data);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_hidden_samples_have_no_part_in_any_coding(void)
{
	static const struct jpeg_spec codings[] = {
		{ .progressive = false },
		{ .progressive = true },
		{ .separate_scans = true },
		{ .restart_interval = 3 },
		{ .progressive = true, .restart_interval = 2 },
		{ .arithmetic = true },
		{ .arithmetic = true, .progressive = true },
		{ .arithmetic = true, .separate_scans = true },
		{ .space = JCS_GRAYSCALE },
		{ .space = JCS_GRAYSCALE, .progressive = true },
		{ .space = JCS_CMYK, .progressive = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(codings); i++)
		for (uint32_t more = 0; more < 16; more++) {
			struct jpeg_spec spec = codings[i];

			spec.picture = page;
			spec.h[0] = spec.v[0] = 2;
			spec.width = 96 + more;
			spec.height = 88 + more * 5 % 16;
			check_planes(spec);
		}
}

static void test_hidden_samples_have_no_part_at_any_sampling(void)
{
	static const struct {
		int h[3], v[3];
	} samplings[] = {
		{ { 1, 1, 1 }, { 1, 1, 1 } }, { { 2, 1, 1 }, { 1, 1, 1 } },
		{ { 1, 1, 1 }, { 2, 1, 1 } }, { { 4, 1, 1 }, { 1, 1, 1 } },
		{ { 1, 1, 1 }, { 4, 1, 1 } }, { { 3, 1, 1 }, { 2, 1, 1 } },
		{ { 1, 2, 2 }, { 1, 2, 2 } }, { { 2, 1, 2 }, { 2, 2, 1 } },
	};

	for (size_t s = 0; s < ARRAY_SIZE(samplings); s++)
		for (uint32_t more = 0; more < 32; more++) {
			struct jpeg_spec spec = {
				.picture = more & 1 ? page : waves,
				.width = 60 + more,
				.height = 77 + more * 5 % 32,
			};

			memcpy(spec.h, samplings[s].h, sizeof(int[3]));
			memcpy(spec.v, samplings[s].v, sizeof(int[3]));
			check_planes(spec);
			spec.progressive = true;
			spec.picture = page;
			check_planes(spec);
		}
}

/* --- Results --- */

static struct image scale(const struct image *decoded, struct bytes jpeg,
			  const struct img_transform *transform, struct heap *h)
{
	struct img_header header = probe(jpeg);
	struct img_view view = img_fit(&header, transform);
	struct image out = { 0 };
	enum img_err err;

	err = img_scale(&out, decoded, &view, transform, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	return out;
}

static uint32_t reduced_count, result_count;

/*
 * The result of each file is near that of the same file in full size, for any
 * hidden samples.
 */
static void check_result(struct jpeg_spec spec,
			 const struct img_transform *transform, int error_max)
{
	struct heap h;

	spec.quality = 100;
	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		spec.hidden = hidden[i];

		struct bytes jpeg = jpeg_make(&spec);
		struct image reduced = decode(jpeg, transform, &h);
		struct image full = decode(
			jpeg, &(struct img_transform){ .quality = 80 }, &h);
		struct image a = scale(&reduced, jpeg, transform, &h);
		struct image b = scale(&full, jpeg, transform, &h);

		reduced_count += reduced.planes[0].width < full.planes[0].width;
		result_count++;
		CHECK_NUMBER(largest_difference(&a, &b), <=, error_max);
		img_release(&reduced);
		img_release(&full);
		img_release(&a);
		img_release(&b);
		free(jpeg.data);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Of all combinations a third, of which each value is a part. */
static void test_results_are_near_the_exact_ones(void)
{
	static const enum img_filter filters[] = {
		IMG_LANCZOS3, IMG_BOX,         IMG_TRIANGLE,
		IMG_BSPLINE,  IMG_CATMULL_ROM, IMG_MITCHELL
	};
	static const enum img_fit fits[] = { IMG_FIT_INSIDE, IMG_FIT_COVER,
					     IMG_FIT_FILL };
	uint32_t kind = 0;

	for (size_t f = 0; f < ARRAY_SIZE(filters); f++)
		for (uint32_t orientation = 1; orientation <= 8; orientation++)
			for (uint32_t box = 16; box <= 80; box += 16, kind++) {
				struct jpeg_spec spec = {
					.picture = page,
					.width = 260 + kind % 16,
					.height = 230 + kind * 7 % 16,
					.h = { 1 + (int)kind % 2 },
					.v = { 1 + (int)kind / 2 % 2 },
					.orientation = orientation,
					.progressive = kind / 3 % 2,
				};
				struct img_transform t = {
					.quality = 80,
					.filter = filters[f],
					.fit = fits[kind % 3],
					.gravity = kind % 9,
					.chroma = kind / 5 % 2,
					.box = { box, box * 3 / 4 },
				};

				if (t.filter != IMG_LANCZOS3)
					t.box.width_px /= 3;
				if (scramble(kind) % 3 == 0)
					check_result(spec, &t, 3);
			}
	CHECK_NUMBER(reduced_count, >, result_count * 3 / 4);
}

/* --- Files that are not decoded in the usual way --- */

/* By libjpeg: a sequential file in full. */
static struct image decode_irregular(struct bytes jpeg,
				     const struct img_transform *transform,
				     struct heap *h)
{
	struct img_header header = probe(jpeg);
	struct img_view view = img_fit(&header, transform);
	struct image img = { 0 };
	enum img_err err;

	header.is_irregular = true;
	err = img_decode(&img, jpeg.data, jpeg.count, &header, &view, transform,
			 &no_limits, &h->memory);
	CHECK_NUMBER(err, ==, IMG_OK);
	return img;
}

static const struct jpeg_spec by_libjpeg[] = {
	{ .progressive = false },
	{ .progressive = true },
	{ .separate_scans = true },
};

static struct jpeg_spec spec_by_libjpeg(size_t i)
{
	struct jpeg_spec spec = by_libjpeg[i];

	spec.picture = waves;
	spec.width = 203;
	spec.height = 149;
	spec.h[0] = spec.v[0] = 2;
	spec.quality = 100;
	return spec;
}

static void test_hidden_samples_have_no_part_in_irregular_files(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_libjpeg); i++) {
		struct jpeg_spec spec = spec_by_libjpeg(i);
		struct bytes plain = jpeg_make(&spec), other;
		struct heap h;

		heap_init(&h);
		spec.hidden = black;
		other = jpeg_make(&spec);
		for (uint32_t n = 1; n <= IDCT_MAX; n++) {
			struct img_transform t = transform_at(&spec, n);
			struct image a = decode_irregular(plain, &t, &h);
			struct image b = decode_irregular(other, &t, &h);

			CHECK_NUMBER(largest_difference(&a, &b), <=, 2);
			img_release(&a);
			img_release(&b);
		}
		free(plain.data);
		free(other.data);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

/* The upper quarter; it owns nothing. */
static struct image upper_part(struct image img)
{
	for (uint32_t i = 0; i < img.plane_count; i++)
		img.planes[i].height /= 4;
	return img;
}

/* The last scan ends early, below the upper quarter of the picture. */
static void test_hidden_samples_have_no_part_before_damage(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_libjpeg); i++) {
		struct jpeg_spec spec = spec_by_libjpeg(i);
		struct bytes plain = jpeg_make(&spec), other;
		struct heap h;

		heap_init(&h);
		spec.hidden = black;
		other = jpeg_make(&spec);
		plain.count -= plain.count / 16;
		other.count -= other.count / 16;
		for (uint32_t n = 1; n <= IDCT_MAX; n++) {
			struct img_transform t = transform_at(&spec, n);

			t.lenient = true;

			struct image a = decode(plain, &t, &h);
			struct image b = decode(other, &t, &h);
			struct image upper_a = upper_part(a);
			struct image upper_b = upper_part(b);

			CHECK_NUMBER((a.notes & b.notes & IMG_NOTE_DAMAGED), !=,
				     0);
			CHECK_NUMBER(largest_difference(&upper_a, &upper_b), <=,
				     2);
			img_release(&a);
			img_release(&b);
		}
		free(plain.data);
		free(other.data);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

/* Decode at n/8, once. */
static enum img_err decode_once(struct bytes jpeg,
				const struct img_header *header,
				const struct img_transform *transform)
{
	struct img_view view = img_fit(header, transform);
	struct image img = { 0 };
	enum img_err err;
	struct heap h;

	heap_init(&h);
	err = img_decode(&img, jpeg.data, jpeg.count, header, &view, transform,
			 &no_limits, &h.memory);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
	return err;
}

/* At 1/8 and 2/8, only a progressive file whose hidden samples may show. */
static void test_only_suspicious_files_need_all_scans(void)
{
	static const uint32_t widths[] = { 200, 203, 207, 208 };
	struct jpeg_spec spec = { .height = 150, .h = { 2 }, .v = { 2 } };

	for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
		for (uint32_t n = 1; n <= IDCT_MAX; n++)
			for (int kind = 0; kind < 8; kind++) {
				bool is_odd = kind == 7 && n <= 2;
				struct img_transform t;
				struct img_header header;
				struct bytes jpeg;

				spec.width = widths[i];
				spec.progressive = kind & 1;
				spec.picture = kind & 2 ? page : waves;
				spec.hidden = kind & 4 ? black : NULL;
				if (spec.hidden != NULL && !(kind & 2))
					continue;
				t = transform_at(&spec, n);
				jpeg = jpeg_make(&spec);
				header = probe(jpeg);
				CHECK_NUMBER(decode_once(jpeg, &header, &t), ==,
					     (is_odd ? IMG_ERR_NEEDS_ALL_SCANS :
						       IMG_OK));
				free(jpeg.data);
			}
}

/*
 * A file that needs all scans is decoded without libjpeg's coefficients, which
 * take more memory and time.
 */
static void test_all_scans_are_read_in_rows(void)
{
	struct jpeg_spec spec = { .width = 1203,
				  .height = 1149,
				  .picture = page,
				  .hidden = black,
				  .progressive = true };
	struct bytes jpeg = jpeg_make(&spec);

	for (uint32_t n = 1; n <= SCANS_DCT_SCALE_MAX; n++) {
		struct img_transform t = transform_at(&spec, n);
		struct img_header header = probe(jpeg), other;
		struct img_view view = img_fit(&header, &t);
		struct img_cost first, again, irregular;
		enum img_err err;

		first = img_cost(&header, &view, &t);
		err = decode_once(jpeg, &header, &t);
		CHECK_NUMBER(err, ==, IMG_ERR_NEEDS_ALL_SCANS);
		CHECK(img_decode_again(&header, err));
		CHECK(!header.is_irregular);
		again = img_cost(&header, &view, &t);
		other = header;
		other.is_irregular = true;
		irregular = img_cost(&other, &view, &t);
		CHECK_NUMBER(first.decode_ns, <, again.decode_ns);
		CHECK_NUMBER(again.decode_ns, <, irregular.decode_ns);
		CHECK_NUMBER(again.bytes * 2, <, irregular.bytes);
		err = decode_once(jpeg, &header, &t);
		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK(!img_decode_again(&header, err));
	}
	free(jpeg.data);
}

int main(void)
{
	test_the_last_visible_samples_are_repeated();
	test_the_largest_coefficients_do_not_overflow();
	test_hidden_samples_have_no_part_in_any_coding();
	test_hidden_samples_have_no_part_at_any_sampling();
	test_results_are_near_the_exact_ones();
	test_hidden_samples_have_no_part_in_irregular_files();
	test_hidden_samples_have_no_part_before_damage();
	test_only_suspicious_files_need_all_scans();
	test_all_scans_are_read_in_rows();
	return 0;
}
