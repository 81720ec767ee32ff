/* SPDX-License-Identifier: MIT */
/*
 * Promises: the result has the score that was asked for, in all formats that
 * have qualities; the others, and pictures that are too small for a score, have
 * some quality; a limit of bytes is kept.  Whatever allocation fails, nothing
 * is left.
 */
#include "imgops/image.h"
#include "imgops/ssimulacra2.h"
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Grain over waves, which takes more quality the stronger it is. */
static double grain_of(double strength, uint32_t component, double x, double y)
{
	uint32_t n = scramble((uint32_t)x * 4099 + (uint32_t)y + component);

	return 30 + 0.7 * waves(component, x, y) +
	       fmod(n / 1000.0, 1) * (component == 0 ? strength : 4);
}

static double smooth(uint32_t component, double x, double y)
{
	return grain_of(2, component, x, y);
}

static double grainy(uint32_t component, double x, double y)
{
	return grain_of(30, component, x, y);
}

/* Colours that have been multiplied by their alpha. */
static double veil(uint32_t component, double x, double y)
{
	double alpha = 0.6 + 0.4 * waves(1, y, x) / 255;

	return alpha * (component == 3 ? 255 : grainy(component, x, y));
}

static const struct {
	enum img_format_number format;
	int effort;
} formats[] = {
	{ IMG_FORMAT_JPEG, 0 },
#ifdef IMG_WEBP
	{ IMG_FORMAT_WEBP, 1 },
#endif
#ifdef IMG_AVIF
	{ IMG_FORMAT_AVIF, 1 },
#endif
#ifdef IMG_JXL
	{ IMG_FORMAT_JXL, 1 },
#endif
};

static struct image make(const struct img_transform *t, struct img_size size,
			 enum img_space space, picture_fn *picture,
			 struct heap *h)
{
	struct image img = image_make(size, space, picture, h), out = { 0 };
	struct img_view view = whole_view(size);

	CHECK_NUMBER(img_scale(&out, &img, &view, t, &h->memory), ==, IMG_OK);
	img_release(&img);
	return out;
}

static struct bytes encode(struct image *img, const struct img_transform *t,
			   struct heap *h)
{
	uint8_t *bytes = NULL;
	struct bytes out = { 0 };

	CHECK_NUMBER(img_encode(&bytes, &out.count, img, t, &h->memory), ==,
		     IMG_OK);
	out.data = bytes;
	return out;
}

static double score_of(const struct image *img, struct bytes result,
		       struct heap *h)
{
	const struct img_transform t = { .quality = 80 };
	struct ssimulacra2 *s = ssimulacra2_new(img, UINT64_MAX, &h->memory);
	struct img_header header = { 0 };
	struct image back = { 0 };
	struct img_view view;
	double score;

	CHECK_NUMBER(img_probe(&header, result.data, result.count, &no_limits),
		     ==, IMG_OK);
	view = img_fit(&header, &t);
	CHECK_NUMBER(img_decode(&back, result.data, result.count, &header,
				&view, &t, &no_limits, &h->memory),
		     ==, IMG_OK);
	score = ssimulacra2_score(s, &back);
	ssimulacra2_free(s);
	img_release(&back);
	return score;
}

/* Checks the score of a result; returns its size. */
static size_t check_score_within(double most, struct image *img,
				 const struct img_transform *t, struct heap *h)
{
	struct bytes result = encode(img, t, h);

	CHECK_NUMBER(fabs(score_of(img, result, h) - t->score), <, most);
	memory_free(&h->memory, result.data);
	return result.count;
}

static size_t check_score(struct image *img, const struct img_transform *t,
			  struct heap *h)
{
	return check_score_within(2, img, t, h);
}

static void test_the_score_is_met(void)
{
	static picture_fn *const pictures[] = { smooth, grainy };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		for (size_t p = 0; p < ARRAY_SIZE(pictures); p++) {
			struct img_transform t = {
				.quality = 80,
				.format = formats[i].format,
				.effort = formats[i].effort,
			};
			struct heap h;
			size_t last = 0;

			heap_init(&h);

			struct image img =
				make(&t, (struct img_size){ 272, 200 },
				     IMG_YCBCR, pictures[p], &h);

			for (t.score = 60; t.score <= 80; t.score += 10) {
				size_t size;

				check_case("%s, picture %zu, %g",
					   img_formats[t.format]->word, p,
					   t.score);
				size = check_score(&img, &t, &h);
				CHECK_NUMBER(size, >, last);
				last = size;
			}
			img_release(&img);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
}

/* More than one band is compared, and not all rows. */
static void test_the_score_of_a_large_picture_is_met(void)
{
	struct img_transform t = { .quality = 80, .score = 75 };
	uint32_t pauses;
	struct heap h;

	heap_init(&h);

	struct image img =
		make(&t, (struct img_size){ 701, 503 }, IMG_YCBCR, grainy, &h);

	pauses = h.pause_count;
	check_score(&img, &t, &h);
	/* No row is compared without a pause. */
	CHECK_NUMBER(h.pause_count - pauses, >=, 2 * 503);
	t.progressive = true;
	check_score(&img, &t, &h);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/*
 * Results of any shape are decoded, with what takes the most memory for it: all
 * colours, several scans, alpha.  The score of a narrow picture jumps.
 */
static void test_the_score_is_met_whatever_the_shape(void)
{
	static const struct img_size sizes[] = { { 333, 277 },
						 { 24, 3000 },
						 { 3000, 24 } };

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
			struct img_transform t = {
				.quality = 80,
				.score = 75,
				.format = formats[i].format,
				.effort = formats[i].effort,
				.chroma = IMG_CHROMA_444,
				.progressive = true,
			};
			bool has_alpha = t.format != IMG_FORMAT_JPEG;
			struct heap h;

			heap_init(&h);

			struct image img = make(
				&t, sizes[k], has_alpha ? IMG_RGBA : IMG_YCBCR,
				has_alpha ? veil : grainy, &h);

			check_case("%s, %u x %u", img_formats[t.format]->word,
				   sizes[k].width_px, sizes[k].height_px);
			check_score_within(4, &img, &t, &h);
			img_release(&img);
			CHECK_NUMBER(h.live_count, ==, 0);
		}
}

static void test_spaces(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_RGB };
	struct img_transform t = { .quality = 80, .score = 70 };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct image img = make(&t, (struct img_size){ 201, 131 },
					spaces[i], grainy, &h);

		check_case("space %zu", i);
		check_score(&img, &t, &h);
		img_release(&img);
	}
#ifdef IMG_WEBP
	t.format = IMG_FORMAT_WEBP;

	check_case("alpha");

	struct image img =
		make(&t, (struct img_size){ 201, 131 }, IMG_RGBA, veil, &h);

	check_score(&img, &t, &h);
	img_release(&img);
#endif
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* The result is one of some quality, the same each time. */
static void check_some_result(struct image *img, const struct img_transform *t,
			      struct heap *h)
{
	struct bytes a = encode(img, t, h), b = encode(img, t, h);

	CHECK(a.count == b.count && memcmp(a.data, b.data, a.count) == 0);
	memory_free(&h->memory, a.data);
	memory_free(&h->memory, b.data);
}

/* Of no score, no qualities, or a score that cannot be met. */
static void test_what_cannot_be_met_is_still_a_result(void)
{
	static const struct img_size sizes[] = {
		{ 1, 1 }, { 7, 300 }, { 300, 7 }, { 8, 8 }, { 9, 2000 }
	};
	struct img_transform t = { .quality = 80, .score = 95 };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct image img = make(&t, sizes[i], IMG_YCBCR, grainy, &h);

		check_case("%u x %u", sizes[i].width_px, sizes[i].height_px);
		check_some_result(&img, &t, &h);
		t.score = 1;
		check_some_result(&img, &t, &h);
		t.score = 100;
		check_some_result(&img, &t, &h);
		img_release(&img);
	}
	t.format = IMG_FORMAT_PPM;

	struct image img = make(&t, sizes[3], IMG_RGB, grainy, &h);

	check_some_result(&img, &t, &h);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_a_limit_of_bytes_is_kept(void)
{
	struct img_transform t = { .quality = 80, .score = 85 };
	struct heap h;

	heap_init(&h);

	struct image img =
		make(&t, (struct img_size){ 272, 200 }, IMG_YCBCR, grainy, &h);
	struct bytes free_size = encode(&img, &t, &h), limited;

	t.bytes_max = (uint32_t)(free_size.count * 2 / 3);
	limited = encode(&img, &t, &h);
	CHECK_NUMBER(limited.count, <=, t.bytes_max);
	CHECK_NUMBER(limited.count, >, t.bytes_max * 3 / 4);
	memory_free(&h.memory, free_size.data);
	memory_free(&h.memory, limited.data);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_without_memory_nothing_is_left(void)
{
	struct img_transform t = { .quality = 80, .score = 60 };
	bool done = false;

	for (uint32_t n = 1; !done; n++) {
		uint8_t *bytes = NULL;
		size_t count;
		enum img_err err;
		struct heap h;

		heap_init(&h);

		struct image img = make(&t, (struct img_size){ 90, 70 },
					IMG_YCBCR, grainy, &h);

		h.fail_at = h.alloc_count + n;
		err = img_encode(&bytes, &count, &img, &t, &h.memory);
		check_case("allocation %u", n);
		done = err == IMG_OK;
		if (done)
			memory_free(&h.memory, bytes);
		else
			CHECK_NUMBER(err, ==, IMG_ERR_NO_MEMORY);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

int main(void)
{
	test_the_score_is_met();
	test_the_score_of_a_large_picture_is_met();
	test_the_score_is_met_whatever_the_shape();
	test_spaces();
	test_what_cannot_be_met_is_still_a_result();
	test_a_limit_of_bytes_is_kept();
	test_without_memory_nothing_is_left();
	return 0;
}
