/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_encode() writes a JPEG of 4:2:0 or grey, near the picture, of
 * any size, without metadata; quality matters; the output grows as it must.
 */
#include "imgops/planes.h"
#include "imgops/test/support.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bytes must_encode(struct image *img, int quality, struct heap *h)
{
	struct bytes out = { 0 };
	struct img_recipe recipe = { .quality = quality };
	enum img_err err =
		img_encode(&out.data, &out.count, img, &recipe, &h->memory);

	assert(err == IMG_OK);
	assert(out.count > 100);
	assert(out.data[out.count - 2] == 0xff);
	assert(out.data[out.count - 1] == 0xd9);
	return out;
}

static void heap_return(struct heap *h, struct bytes out)
{
	h->memory.free(h->memory.arg, out.data);
}

static double plane_psnr(const struct img_plane *p, const struct img_plane *q)
{
	double squares = 0;

	assert(p->width == q->width && p->height == q->height);
	for (uint32_t y = 0; y < p->height; y++) {
		for (uint32_t x = 0; x < p->width; x++) {
			double error = sample(p, x, y) - sample(q, x, y);

			squares += error * error;
		}
	}
	return psnr(squares, (double)p->width * p->height);
}

static void check_header(struct bytes jpeg, struct img_size size,
			 enum img_space space)
{
	struct jpeg_view view = jpeg_read(
		jpeg, space == IMG_GREY ? JCS_GRAYSCALE : JCS_YCbCr, 8);

	assert(view.width == size.width_px && view.height == size.height_px);
	assert(view.components == (int)image_planes(space));
	assert(view.marker_count == 0);
	for (int i = 0; i < view.components; i++) {
		int factor = i == 0 && space == IMG_YCBCR ? 2 : 1;

		assert(view.h[i] == factor && view.v[i] == factor);
	}
	free(view.pixels);
}

static void check(struct img_size size, enum img_space space)
{
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, space, waves, &h);
	struct bytes jpeg = must_encode(&img, 90, &h);
	struct image back = must_decode(jpeg, size, &h);

	check_header(jpeg, size, space);
	assert(back.space == space);
	for (uint32_t i = 0; i < back.plane_count; i++)
		assert(plane_psnr(&img.planes[i], &back.planes[i]) > 36);
	img_release(&back);
	img_release(&img);
	heap_return(&h, jpeg);
	assert(h.live_count == 0);
}

static void test_every_size_decodes_to_about_the_same(void)
{
	for (uint32_t width = 1; width <= 34; width++)
		for (uint32_t height = 1; height <= 34; height += 3)
			check((struct img_size){ width, height }, IMG_YCBCR);
	for (uint32_t width = 1; width <= 18; width++)
		check((struct img_size){ width, 19 - width }, IMG_GREY);
	check((struct img_size){ 1, 2000 }, IMG_YCBCR);
	check((struct img_size){ 2000, 1 }, IMG_YCBCR);
	check((struct img_size){ 321, 243 }, IMG_YCBCR);
	check((struct img_size){ 321, 243 }, IMG_GREY);
}

static void test_padding_does_not_show(void)
{
	struct img_size size = { 19, 21 };
	struct heap h;

	heap_init(&h);
	struct image a = image_make(size, IMG_YCBCR, waves, &h);
	struct image b = image_make(size, IMG_YCBCR, waves, &h);

	for (uint32_t i = 0; i < 3; i++) {
		const struct img_plane *p = &b.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			memset(p->samples + y * p->stride_bytes + p->width, 255,
			       p->stride_bytes - p->width);
		memset(p->samples + p->height * p->stride_bytes, 255,
		       8 * p->stride_bytes);
	}
	struct bytes jpeg_a = must_encode(&a, 80, &h);
	struct bytes jpeg_b = must_encode(&b, 80, &h);

	assert(jpeg_a.count == jpeg_b.count);
	assert(memcmp(jpeg_a.data, jpeg_b.data, jpeg_a.count) == 0);
	heap_return(&h, jpeg_a);
	heap_return(&h, jpeg_b);
	img_release(&a);
	img_release(&b);
	assert(h.live_count == 0);
}

static double noise(uint32_t component, double x, double y)
{
	return scramble((uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2) +
			component) %
	       256;
}

static void test_better_quality_is_larger_and_nearer(void)
{
	static const int qualities[] = { 1, 25, 50, 75, 90, 100 };
	struct img_size size = { 64, 48 };
	size_t count_before = 0;
	double psnr_before = 0;
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, noise, &h);

	for (size_t i = 0; i < LENGTH(qualities); i++) {
		struct bytes jpeg = must_encode(&img, qualities[i], &h);
		struct image back = must_decode(jpeg, size, &h);
		double now = plane_psnr(&img.planes[0], &back.planes[0]);

		assert(jpeg.count > count_before);
		assert(now > psnr_before);
		count_before = jpeg.count;
		psnr_before = now;
		img_release(&back);
		heap_return(&h, jpeg);
	}
	assert(psnr_before > 45);
	img_release(&img);
	assert(h.live_count == 0);
}

static void test_the_output_grows_with_noise(void)
{
	struct img_size size = { 400, 300 };
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, noise, &h);
	uint32_t before = h.alloc_count;
	struct bytes jpeg = must_encode(&img, 100, &h);
	struct image back = must_decode(jpeg, size, &h);

	assert(jpeg.count > 400 * 300);
	assert(h.alloc_count - before > 2 + 1);
	assert(plane_psnr(&img.planes[0], &back.planes[0]) > 45);
	img_release(&back);
	img_release(&img);
	heap_return(&h, jpeg);
	assert(h.live_count == 0);
}

static void test_no_memory_is_an_error(void)
{
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct img_recipe recipe = { .quality = 100 };
	struct heap h, failing;
	struct image img;
	uint32_t at = 0;

	heap_init(&h);
	img = image_make((struct img_size){ 200, 200 }, IMG_YCBCR, noise, &h);
	while (err == IMG_ERR_NO_MEMORY) {
		uint8_t *data = NULL;
		size_t count = 77;

		heap_init(&failing);
		failing.fail_at = ++at;
		err = img_encode(&data, &count, &img, &recipe, &failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			assert(data == NULL && count == 77);
		else
			failing.memory.free(failing.memory.arg, data);
		assert(failing.live_count == 0);
	}
	assert(err == IMG_OK);
	assert(at > 2); /* growing failed too */
	img_release(&img);
	assert(h.live_count == 0);
}

int main(void)
{
	test_every_size_decodes_to_about_the_same();
	test_padding_does_not_show();
	test_better_quality_is_larger_and_nearer();
	test_the_output_grows_with_noise();
	test_no_memory_is_an_error();
	return 0;
}
