/* SPDX-License-Identifier: MIT */
/*
 * Promise: img_encode() writes a baseline JPEG with the same bytes as
 * libjpeg-turbo with its accurate DCT, of any size, shape, content and quality,
 * with libjpeg's Huffman tables or with those made for the picture.  A result
 * with `effort` is the same on any CPU.
 */
/* encode.c as it is where there is no AVX2. */
#include "imgops/formats/jpeg/fdct.h"
#include "imgops/formats/jpeg/header.h"
#define jpeg_encode encode_without_avx2
#define jpeg_encode_estimate estimate_without_avx2
#define fdct_is_supported() false
enum img_err jpeg_encode(uint8_t **jpeg, size_t *jpeg_bytes, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory);
extern const struct step_estimate jpeg_encode_estimate;
#include "imgops/formats/jpeg/encode.c"

#include "base/test/check.h"
#include "imgops/image.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t random_at(uint32_t component, double x, double y)
{
	return scramble(((uint32_t)(2 * x) * 7919 + (uint32_t)(2 * y)) * 3 +
			component);
}

/* Many large coefficients. */
static double dots(uint32_t component, double x, double y)
{
	return random_at(component, x, y) % 2 * 255;
}

static double noise(uint32_t component, double x, double y)
{
	return random_at(component, x, y) % 256;
}

/* Blocks of one coefficient, some of them after long runs of zeros. */
static double gratings(uint32_t component, double x, double y)
{
	static const double steps[] = { 0, 1, 5, 7 };
	uint32_t n = random_at(component, (uint32_t)x / 16, (uint32_t)y / 16);
	double u = steps[n % 4], v = steps[n / 4 % 4];

	return 128 + (double)(n / 16 % 100) *
			     cos((2 * x + 1) * u * 0.19634954) *
			     cos((2 * y + 1) * v * 0.19634954);
}

/* The smallest and the largest DC value, one after the other. */
static double squares(uint32_t component, double x, double y)
{
	(void)component;
	return ((uint32_t)x / 8 + (uint32_t)y / 8) % 2 * 255;
}

/* No coefficient, and the rarest FF bytes. */
static double flat(uint32_t component, double x, double y)
{
	(void)x;
	(void)y;
	return 128 + component;
}

static picture_fn *const pictures[] = {
	waves, dots, noise, gratings, squares, flat,
};

enum shape { GREY, HALF_CHROMA, FULL_CHROMA, SHAPE_COUNT };

static struct image make_image(struct img_size size, enum shape shape,
			       picture_fn *picture, struct heap *h)
{
	struct image img;

	image_shape(&img, size, shape == GREY ? IMG_GREY : IMG_YCBCR,
		    shape == FULL_CHROMA);
	bool ok = image_alloc(&img, &h->memory);

	CHECK(ok);
	for (uint32_t i = 0; i < img.plane_count; i++) {
		const struct img_plane *p = &img.planes[i];
		double step = p->span_x < size.width_px ? 2 : 1;

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				image_row(&img, i, y)[x] =
					(uint8_t)picture(i, x * step, y * step);
	}
	return img;
}

static void set_up(struct jpeg_compress_struct *jpeg, const struct image *img,
		   const struct img_transform *t, bool is_full)
{
	jpeg->image_width = img->planes[0].width;
	jpeg->image_height = img->planes[0].height;
	jpeg->input_components = (int)img->plane_count;
	jpeg->in_color_space =
		img->plane_count == 1 ? JCS_GRAYSCALE : JCS_YCbCr;
	jpeg_set_defaults(jpeg);
	if (is_full)
		jpeg->comp_info[0].h_samp_factor =
			jpeg->comp_info[0].v_samp_factor = 1;
	jpeg_set_quality(jpeg, t->quality, TRUE);
	jpeg->dct_method = JDCT_ISLOW;
	jpeg->optimize_coding = t->optimize;
	jpeg->raw_data_in = TRUE;
}

enum { SPOILT = 77 };

/* Set the samples after each row, to the end of a block. */
static void set_padding(struct image *img, bool is_spoilt)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		for (uint32_t y = 0; y < p->height; y++) {
			uint8_t *row = image_row(img, i, y);

			memset(row + p->width,
			       is_spoilt ? SPOILT : row[p->width - 1],
			       p->stride_bytes - p->width);
		}
	}
}

/* By libjpeg alone.  The rows of `img` are complete up to a whole block. */
static struct bytes encode_by_libjpeg(const struct image *img,
				      const struct img_transform *t,
				      bool is_full)
{
	struct jpeg_compress_struct jpeg;
	struct jpeg_error_mgr errors;
	JSAMPROW rows[3][2 * DCTSIZE];
	JSAMPARRAY planes[3] = { rows[0], rows[1], rows[2] };
	unsigned char *data = NULL;
	unsigned long count = 0;

	jpeg.err = jpeg_std_error(&errors);
	jpeg_create_compress(&jpeg);
	jpeg_mem_dest(&jpeg, &data, &count);
	set_up(&jpeg, img, t, is_full);
	jpeg_start_compress(&jpeg, TRUE);
	while (jpeg.next_scanline < jpeg.image_height) {
		uint32_t height = (uint32_t)jpeg.max_v_samp_factor * DCTSIZE;
		uint32_t group = jpeg.next_scanline / height;

		for (uint32_t i = 0; i < img->plane_count; i++) {
			uint32_t v = (uint32_t)jpeg.comp_info[i].v_samp_factor;

			for (uint32_t k = 0; k < v * DCTSIZE; k++)
				rows[i][k] = image_row(
					img, i,
					min_u32(group * v * DCTSIZE + k,
						img->planes[i].height - 1));
		}
		(void)jpeg_write_raw_data(&jpeg, planes, height);
	}
	jpeg_finish_compress(&jpeg);
	jpeg_destroy_compress(&jpeg);
	return (struct bytes){ data, count };
}

/* With AVX2 and without it. */
static void check_effort(struct image *img, int quality, struct heap *h)
{
	for (int progressive = 0; progressive <= 1; progressive++) {
		struct img_transform t = { .quality = quality,
					   .progressive = progressive,
					   .effort = 9 };
		struct bytes own = { 0 }, slow = { 0 };
		enum img_err err;

		set_padding(img, true);
		err = img_encode(&own.data, &own.count, img, &t, &h->memory);
		CHECK_NUMBER(err, ==, IMG_OK);
		set_padding(img, true);
		err = encode_without_avx2(&slow.data, &slow.count, img, &t,
					  quality, &h->memory);
		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(own.count, ==, slow.count);
		CHECK(memcmp(own.data, slow.data, own.count) == 0);
		memory_free(&h->memory, own.data);
		memory_free(&h->memory, slow.data);
	}
}

static void check_bytes(struct img_size size, enum shape shape,
			picture_fn *picture, int quality)
{
	static uint32_t check_count;
	struct heap h;

	heap_init(&h);
	struct image img = make_image(size, shape, picture, &h);

	for (int optimize = 0; optimize <= 1; optimize++) {
		struct img_transform t = { .quality = quality,
					   .optimize = optimize };
		struct bytes own = { 0 }, slow = { 0 }, other;
		enum img_err err;

		set_padding(&img, false);
		other = encode_by_libjpeg(&img, &t, shape == FULL_CHROMA);
		set_padding(&img, true);
		err = img_encode(&own.data, &own.count, &img, &t, &h.memory);
		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(own.count, ==, other.count);
		CHECK(memcmp(own.data, other.data, own.count) == 0);
		set_padding(&img, true);
		err = encode_without_avx2(&slow.data, &slow.count, &img, &t,
					  quality, &h.memory);
		CHECK_NUMBER(err, ==, IMG_OK);
		CHECK_NUMBER(slow.count, ==, other.count);
		CHECK(memcmp(slow.data, other.data, slow.count) == 0);
		free(other.data);
		memory_free(&h.memory, own.data);
		memory_free(&h.memory, slow.data);
	}
	/* It takes long: of every third, or with TEST_ALL, of each. */
	if (check_count++ % 3 == 0 || getenv("TEST_ALL") != NULL)
		check_effort(&img, quality, &h);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Each with two of the shapes and pictures; with TEST_ALL, with six. */
static void test_every_size(void)
{
	const uint32_t step = getenv("TEST_ALL") != NULL ? 3 : 9;

	for (uint32_t i = 0; i < SHAPE_COUNT * ARRAY_SIZE(pictures); i++)
		for (uint32_t width = 1; width <= 35; width++)
			for (uint32_t height = 1 + (width + i) % step;
			     height <= 35; height += step)
				check_bytes((struct img_size){ width, height },
					    i % SHAPE_COUNT,
					    pictures[i / SHAPE_COUNT],
					    1 + (int)(width * height) % 100);
}

/* With two of the pictures; with TEST_ALL, with each. */
static void test_every_quality(void)
{
	const int step = getenv("TEST_ALL") != NULL ? 1 : 3;

	for (uint32_t i = 0; i < ARRAY_SIZE(pictures); i++)
		for (int quality = 1 + (int)i % step; quality <= 100;
		     quality += step)
			check_bytes((struct img_size){ 91, 77 },
				    (i + (uint32_t)quality) % SHAPE_COUNT,
				    pictures[i], quality);
}

/* Several buffers of bits, and a result larger than its first block. */
static void test_large_pictures(void)
{
	static const struct img_size sizes[] = {
		{ 1300, 40 }, { 40, 1300 }, { 65500, 1 },
		{ 1, 65500 }, { 601, 443 },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(sizes) * SHAPE_COUNT; i++)
		for (uint32_t k = 0; k < ARRAY_SIZE(pictures); k++)
			check_bytes(sizes[i / SHAPE_COUNT], i % SHAPE_COUNT,
				    pictures[k], k % 2 == 0 ? 82 : 100);
}

int main(void)
{
	test_every_size();
	test_every_quality();
	test_large_pictures();
	return 0;
}
