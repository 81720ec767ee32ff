/* SPDX-License-Identifier: MIT */
/*
 * Promises: the hash is that of PDQ's definition, computed here slowly: filter
 * by filter, over the whole picture.  It is about the same of a picture that is
 * decoded at a part of its size, and that of the upright picture is what the
 * turned picture has.  Flat pictures have no quality.
 *
 * Of Meta's own pictures and hashes only the latter are known here; how photos
 * compare is in docs/operations/limits.md.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "base/util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Blobs of several sizes, so that all frequencies have something. */
static double blobs(uint32_t component, double x, double y)
{
	double sum = 128;

	(void)component;
	for (uint32_t i = 0; i < 24; i++) {
		double at_x = scramble(3 * i) % 1000 * 0.5;
		double at_y = scramble(3 * i + 1) % 1000 * 0.4;
		double r = 15 + scramble(3 * i + 2) % 90;
		double d = ((x - at_x) * (x - at_x) + (y - at_y) * (y - at_y));

		sum += (i % 2 == 0 ? 70 : -70) * exp(-d / (r * r));
	}
	return fmin(fmax(sum, 0), 255);
}

/* --- The definition --- */

static void box(double *line, uint32_t count, uint32_t stride, uint32_t width)
{
	int after = (int)(width + 2) / 2 - 1, before = (int)width - 1 - after;
	double *out = malloc(count * sizeof(*out));

	CHECK(out != NULL);
	for (int i = 0; i < (int)count; i++) {
		double sum = 0;
		int n = 0;

		for (int k = i - before; k <= i + after; k++) {
			if (k < 0 || k >= (int)count)
				continue;
			sum += line[k * (int)stride];
			n++;
		}
		out[i] = sum / n;
	}
	for (uint32_t i = 0; i < count; i++)
		line[i * stride] = out[i];
	free(out);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void define(uint8_t bits[IMG_PDQ_BYTES], double *luma, uint32_t width,
		   uint32_t height)
{
	double small[64][64], terms[256], sorted[256];

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t y = 0; y < height; y++)
			box(luma + (size_t)y * width, width, 1,
			    (width + 127) / 128);
		for (uint32_t x = 0; x < width; x++)
			box(luma + x, height, width, (height + 127) / 128);
	}
	for (uint32_t i = 0; i < 64; i++)
		for (uint32_t k = 0; k < 64; k++)
			small[i][k] =
				luma[(size_t)((i + 0.5) * height / 64) * width +
				     (size_t)((k + 0.5) * width / 64)];
	for (uint32_t i = 0; i < 256; i++) {
		terms[i] = 0;
		for (uint32_t y = 0; y < 64; y++)
			for (uint32_t x = 0; x < 64; x++)
				terms[i] += small[y][x] *
					    cos(M_PI / 128 * (i / 16 + 1) *
						(2 * y + 1)) *
					    cos(M_PI / 128 * (i % 16 + 1) *
						(2 * x + 1));
	}
	memcpy(sorted, terms, sizeof(sorted));
	qsort(sorted, 256, sizeof(*sorted), compare);
	memset(bits, 0, IMG_PDQ_BYTES);
	for (uint32_t i = 0; i < 256; i++)
		if (terms[i] > sorted[127])
			bits[31 - i / 8] |= (uint8_t)(1 << i % 8);
}

static uint32_t distance(const uint8_t *a, const uint8_t *b)
{
	uint32_t count = 0;

	for (int i = 0; i < IMG_PDQ_BYTES; i++)
		count += (uint32_t)__builtin_popcount(a[i] ^ b[i]);
	return count;
}

/* --- */

static struct img_pdq hash(const struct image *img, struct img_size full,
			   uint32_t orientation, struct heap *h)
{
	const struct img_header header = { .stored = full,
					   .orientation = orientation };
	struct img_pdq pdq;

	CHECK_NUMBER(img_pdq(&pdq, img, &header, &h->memory), ==, IMG_OK);
	return pdq;
}

static void test_it_is_what_is_defined(void)
{
	static const struct img_size sizes[] = {
		{ 5, 5 },     { 64, 64 },   { 65, 127 }, { 128, 128 },
		{ 129, 200 }, { 500, 400 }, { 511, 90 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct img_size size = sizes[i];
		uint8_t wanted[IMG_PDQ_BYTES];
		struct img_pdq got;
		struct image img;
		double *luma;
		struct heap h;

		check_case("%u x %u", size.width_px, size.height_px);
		heap_init(&h);
		img = image_make(size, IMG_GREY, blobs, &h);
		luma = malloc(img_pixels(size) * sizeof(*luma));
		CHECK(luma != NULL);
		for (uint32_t y = 0; y < size.height_px; y++)
			for (uint32_t x = 0; x < size.width_px; x++)
				luma[(size_t)y * size.width_px + x] =
					sample(&img.planes[0], x, y);
		got = hash(&img, size, 1, &h);
		define(wanted, luma, size.width_px, size.height_px);
		/* Of 5 x 5 samples, many terms are alike. */
		if (size.width_px >= 64)
			CHECK_NUMBER(distance(got.stored, wanted), <=, 2);
		CHECK(memcmp(got.stored, got.upright, IMG_PDQ_BYTES) == 0);
		free(luma);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

static void test_a_part_of_the_size_is_enough(void)
{
	struct bytes jpeg = jpeg_make(&(struct jpeg_spec){
		.width = 1024, .height = 800, .picture = blobs });
	struct img_pdq whole = { .quality = 0 };

	for (uint32_t scale = 8; scale > 0; scale /= 2) {
		struct img_size size = { 1024, 800 };
		struct image img;
		struct img_pdq pdq;
		struct heap h;

		heap_init(&h);
		img = must_decode(jpeg, target_at(size, scale), &h);
		pdq = hash(&img, size, 1, &h);
		if (scale == 8)
			whole = pdq;
		check_case("%u/8", scale);
		CHECK_NUMBER(distance(pdq.stored, whole.stored), <=, 8);
		img_release(&img);
	}
	free(jpeg.data);
}

static double turned(double x, double y, uint32_t orientation, double w,
		     double height)
{
	switch (orientation) {
	case 2:
		return blobs(0, w - 1 - x, y);
	case 3:
		return blobs(0, w - 1 - x, height - 1 - y);
	case 4:
		return blobs(0, x, height - 1 - y);
	case 5:
		return blobs(0, y, x);
	case 6:
		return blobs(0, y, w - 1 - x);
	case 7:
		return blobs(0, height - 1 - y, w - 1 - x);
	case 8:
		return blobs(0, height - 1 - y, x);
	default:
		return blobs(0, x, y);
	}
}

static void test_the_upright_picture_is_hashed(void)
{
	const struct img_size size = { 480, 384 };
	struct heap h;

	heap_init(&h);

	struct image img = image_make(size, IMG_GREY, blobs, &h);

	for (uint32_t o = 1; o <= 8; o++) {
		struct img_size upright = size;
		struct image other;

		if (o >= 5)
			upright = (struct img_size){ 384, 480 };
		other = image_make(upright, IMG_GREY, blobs, &h);
		for (uint32_t y = 0; y < upright.height_px; y++)
			for (uint32_t x = 0; x < upright.width_px; x++)
				other.planes[0].samples
					[y * other.planes[0].stride_bytes + x] =
					(uint8_t)lround(turned(
						x, y, o, upright.width_px,
						upright.height_px));
		check_case("orientation %u", o);
		/* Filters of an even width are a little to one side. */
		CHECK_NUMBER(distance(hash(&img, size, o, &h).upright,
				      hash(&other, upright, 1, &h).stored),
			     <=, 24);
		img_release(&other);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static double flat(uint32_t component, double x, double y)
{
	(void)component;
	(void)x;
	(void)y;
	return 90;
}

static void test_quality_and_memory(void)
{
	static const enum img_space spaces[] = { IMG_GREY, IMG_YCBCR };
	const struct img_size size = { 200, 150 }, tiny = { 4, 100 };
	struct heap h;

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		heap_init(&h);

		struct image img = image_make(size, spaces[i], flat, &h);
		struct img_pdq pdq;
		const struct img_header header = { .stored = size };

		CHECK_NUMBER(hash(&img, size, 1, &h).quality, ==, 0);
		h.fail_at = h.alloc_count + 1;
		CHECK_NUMBER(img_pdq(&pdq, &img, &header, &h.memory), ==,
			     IMG_ERR_NO_MEMORY);
		img_release(&img);
		img = image_make(size, spaces[i], blobs, &h);
		CHECK_NUMBER(hash(&img, size, 1, &h).quality, >=, 15);
		CHECK_NUMBER(hash(&img, tiny, 1, &h).quality, ==, 0);
		img_release(&img);
		CHECK_NUMBER(h.live_count, ==, 0);
	}
}

int main(void)
{
	test_it_is_what_is_defined();
	test_a_part_of_the_size_is_enough();
	test_the_upright_picture_is_hashed();
	test_quality_and_memory();
	return 0;
}
