/* SPDX-License-Identifier: MIT */
/*
 * Promises: a result is never larger than max_bytes; it has the quality that
 * was asked for if that fits, and otherwise about the best that does; if none
 * fits, that is said.  Whatever allocation fails, nothing is left.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smooth on the left, noise on the right; as different as parts of photos. */
static double picture(uint32_t component, double x, double y)
{
	uint32_t n = scramble((uint32_t)x * 4099 + (uint32_t)y + component);

	return 0.8 * waves(component, x, y) +
	       fmod(n / 1000.0, 1 + x / 8) * (component == 0 ? 0.6 : 0.2);
}

static const enum img_format_number formats[] = {
	IMG_FORMAT_JPEG,
#ifdef IMG_WEBP
	IMG_FORMAT_WEBP,
#endif
#ifdef IMG_AVIF
	IMG_FORMAT_AVIF,
#endif
#ifdef IMG_JXL
	IMG_FORMAT_JXL,
#endif
};

static struct image make(const struct img_transform *t, struct img_size size,
			 struct heap *h)
{
	struct image img = image_make(size, IMG_YCBCR, picture, h), out = { 0 };
	struct img_view view = whole_view(size);

	CHECK_NUMBER(img_scale(&out, &img, &view, t, &h->memory), ==, IMG_OK);
	img_release(&img);
	return out;
}

/* The size of the result; 0: none is small enough. */
static size_t encode(struct image *img, const struct img_transform *t,
		     struct heap *h)
{
	uint8_t *bytes = NULL;
	size_t count = 0;
	enum img_err err = img_encode(&bytes, &count, img, t, &h->memory);

	if (err == IMG_ERR_TOO_MANY_BYTES) {
		CHECK(bytes == NULL);
		CHECK_NUMBER(count, >, t->bytes_max);
		return 0;
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	memory_free(&h->memory, bytes);
	return count;
}

/* The most bytes of a quality up to `quality` that are at most `most`. */
static size_t best_of(struct image *img, struct img_transform t, size_t most,
		      struct heap *h)
{
	for (t.bytes_max = 0; t.quality > 0; t.quality--) {
		size_t count = encode(img, &t, h);

		if (count <= most)
			return count;
	}
	return 0;
}

static void test_is_about_the_best_that_fits(void)
{
	const struct img_size size = { 320, 400 };

	/* The first is a JPEG, once more without effort. */
	for (size_t i = 0; i <= ARRAY_SIZE(formats); i++) {
		struct img_transform t = {
			.quality = 80,
			.effort = i < ARRAY_SIZE(formats),
			.format = formats[i % ARRAY_SIZE(formats)],
		};
		struct heap h;

		heap_init(&h);

		struct image img = make(&t, size, &h);
		size_t whole = encode(&img, &t, &h);

		for (uint32_t percent = 35; percent <= 125; percent += 30) {
			struct img_transform limited = t;
			size_t got, best;

			limited.bytes_max = (uint32_t)(whole * percent / 100);
			check_case("%s, %u %%", img_formats[t.format]->word,
				   percent);
			got = encode(&img, &limited, &h);
			best = best_of(&img, t, limited.bytes_max, &h);
			CHECK_NUMBER(got, <=, limited.bytes_max);
			CHECK_NUMBER(got, >=, best - best / 8);
			if (percent > 100)
				CHECK_NUMBER(got, ==, whole);
		}
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

static void test_what_cannot_be_is_said(void)
{
	static const struct img_transform cannot[] = {
		{ .quality = 80, .bytes_max = 100 },
		{ .quality = 1, .bytes_max = 100 },
		{ .quality = 80, .bytes_max = 1000, .format = IMG_FORMAT_PPM },
#ifdef IMG_PNG
		{ .quality = 80, .bytes_max = 1000, .format = IMG_FORMAT_PNG },
#endif
#ifdef IMG_WEBP
		{ .quality = 80,
		  .bytes_max = 1000,
		  .format = IMG_FORMAT_WEBP,
		  .lossless = true },
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(cannot); i++) {
		struct heap h;

		check_case("cannot[%zu]", i);
		heap_init(&h);

		struct image img =
			make(&cannot[i], (struct img_size){ 64, 48 }, &h);

		CHECK_NUMBER(encode(&img, &cannot[i], &h), ==, 0);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

/* The picture itself is the sample if it is small, and some rows if not. */
static void test_failing_memory(void)
{
	static const struct img_size sizes[] = { { 64, 48 }, { 400, 500 } };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct img_transform t = { .quality = 80 };
		struct heap h;

		heap_init(&h);

		struct image img = make(&t, sizes[i], &h);
		uint32_t before, all;

		t.bytes_max = (uint32_t)encode(&img, &t, &h) / 4 * 3;
		before = h.alloc_count;
		CHECK_NUMBER(encode(&img, &t, &h), >, 0);
		all = h.alloc_count - before;
		CHECK_NUMBER(all, >, 4);
		for (uint32_t n = 1; n <= all; n++) {
			uint8_t *bytes = NULL;
			size_t count;

			h.fail_at = h.alloc_count + n;
			CHECK_NUMBER(
				img_encode(&bytes, &count, &img, &t, &h.memory),
				==, IMG_ERR_NO_MEMORY);
			CHECK(bytes == NULL);
		}
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

int main(void)
{
	test_is_about_the_best_that_fits();
	test_what_cannot_be_is_said();
	test_failing_memory();
	return 0;
}
