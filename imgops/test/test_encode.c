/* SPDX-License-Identifier: MIT */
/*
 * Promises: img_encode() writes a JPEG of any size in 4:2:0, 4:4:4 or grey, as
 * the transform says.  It is similar to the picture, and has no metadata except
 * the profile.  Higher quality gives more bytes, and `effort` fewer for about
 * the same picture; the output buffer grows if it is too small.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/image.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/test/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bytes encode_as(struct image *img,
			      const struct img_transform *transform,
			      struct heap *h)
{
	struct bytes out = { 0 };
	enum img_err err =
		img_encode(&out.data, &out.count, img, transform, &h->memory);

	CHECK_NUMBER(err, ==, IMG_OK);
	CHECK_NUMBER(out.count, >, 100);
	CHECK_NUMBER(out.data[out.count - 2], ==, 0xff);
	CHECK_NUMBER(out.data[out.count - 1], ==, 0xd9);
	return out;
}

static struct bytes must_encode(struct image *img, int quality, struct heap *h)
{
	return encode_as(img, &(struct img_transform){ .quality = quality }, h);
}

static void heap_return(struct heap *h, struct bytes out)
{
	h->memory.free(h->memory.arg, out.data);
}

static double plane_psnr(const struct img_plane *p, const struct img_plane *q)
{
	double squares = 0;

	CHECK_NUMBER(p->width, ==, q->width);
	CHECK_NUMBER(p->height, ==, q->height);
	for (uint32_t y = 0; y < p->height; y++) {
		for (uint32_t x = 0; x < p->width; x++) {
			double error = sample(p, x, y) - sample(q, x, y);

			squares += error * error;
		}
	}
	return psnr(squares, (double)p->width * p->height);
}

/* As image_make(), with chroma of its full size. */
static struct image image_full(struct img_size size, picture_fn *picture,
			       struct heap *h)
{
	struct image img;

	image_shape(&img, size, IMG_YCBCR, true);
	bool ok = image_alloc(&img, &h->memory);

	CHECK(ok);
	for (uint32_t i = 0; i < 3; i++) {
		const struct img_plane *p = &img.planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			for (uint32_t x = 0; x < p->width; x++)
				p->samples[y * p->stride_bytes + x] =
					picture_sample(picture, i, x, y);
	}
	return img;
}

/* Which frame the file has: MARKER_SOF0 or MARKER_SOF2. */
static uint8_t frame_of(struct bytes jpeg)
{
	struct markers w;
	struct marker m;

	for (bool ok = markers_start(&w, jpeg.data, jpeg.count);
	     ok && markers_next(&w, &m);)
		if (m.code == MARKER_SOF0 || m.code == MARKER_SOF2)
			return m.code;
	return 0;
}

static void check_header(struct bytes jpeg, const struct image *img,
			 bool progressive)
{
	struct jpeg_view view = jpeg_read(
		jpeg, img->space == IMG_GREY ? JCS_GRAYSCALE : JCS_YCbCr, 8);

	bool halves = view.components == 3 && !image_has_full_chroma(img);

	CHECK_NUMBER(view.width, ==, img->planes[0].width);
	CHECK_NUMBER(view.height, ==, img->planes[0].height);
	CHECK_NUMBER(view.components, ==, (int)img->plane_count);
	CHECK_NUMBER(view.marker_count, ==, 0);
	CHECK(memcmp(jpeg.data + 6, "JFIF", 5) == 0);
	CHECK_NUMBER(frame_of(jpeg), ==,
		     (progressive ? MARKER_SOF2 : MARKER_SOF0));
	for (int i = 0; i < view.components; i++) {
		int factor = i == 0 && halves ? 2 : 1;

		CHECK_NUMBER(view.h[i], ==, factor);
		CHECK_NUMBER(view.v[i], ==, factor);
	}
	free(view.pixels);
}

static void check_image(struct image *img,
			const struct img_transform *transform, struct heap *h)
{
	struct img_size size = { img->planes[0].width, img->planes[0].height };
	struct bytes jpeg = encode_as(img, transform, h);
	struct image back = must_decode(jpeg, size, h);

	check_header(jpeg, img, transform->progressive);
	CHECK_NUMBER(back.space, ==, img->space);
	for (uint32_t i = 0; i < back.plane_count; i++)
		CHECK_NUMBER(plane_psnr(&img->planes[i], &back.planes[i]), >,
			     36);
	img_release(&back);
	heap_return(h, jpeg);
}

static void check(struct img_size size, enum img_space space)
{
	static const struct img_transform transforms[] = {
		{ .quality = 90 },
		{ .quality = 90, .optimize = true },
		{ .quality = 90, .progressive = true },
		{ .quality = 90, .effort = 5 },
		{ .quality = 90, .effort = 5, .progressive = true },
	};
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, space, waves, &h);
	struct image full = image_full(size, waves, &h);

	for (size_t i = 0; i < ARRAY_SIZE(transforms); i++) {
		check_image(&img, &transforms[i], &h);
		if (space == IMG_YCBCR)
			check_image(&full, &transforms[i], &h);
	}
	img_release(&img);
	img_release(&full);
	CHECK_NUMBER(h.live_count, ==, 0);
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

static void test_the_longest_pictures(void)
{
	static const struct img_size sizes[] = { { 65500, 1 }, { 1, 65500 } };
	struct img_transform transform = { .progressive = true };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct image img = image_full(sizes[i], waves, &h);

		for (transform.quality = 1; transform.quality <= 100;
		     transform.quality += 33) {
			struct bytes jpeg = encode_as(&img, &transform, &h);

			check_header(jpeg, &img, true);
			heap_return(&h, jpeg);
		}
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_optimised_files_are_smaller_and_decode_the_same(void)
{
	struct img_size size = { 160, 120 };
	struct img_transform transform = { .quality = 80 };
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, waves, &h);
	struct bytes plain = encode_as(&img, &transform, &h);
	struct image plain_back = must_decode(plain, size, &h);

	for (int progressive = 0; progressive <= 1; progressive++) {
		transform.optimize = !progressive;
		transform.progressive = progressive;
		struct bytes jpeg = encode_as(&img, &transform, &h);
		struct image back = must_decode(jpeg, size, &h);

		CHECK_NUMBER(jpeg.count, <, plain.count);
		CHECK(is_same(&back, &plain_back));
		img_release(&back);
		heap_return(&h, jpeg);
	}
	img_release(&plain_back);
	heap_return(&h, plain);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

/* Like a photo: the finer, the weaker, with edges and some noise. */
static double scenery(uint32_t component, double x, double y)
{
	double v = fmod(x + y / 3, 90) < 45 ? 100 : 140;

	for (int i = 0; i < 7; i++) {
		double angle = 2.4 * i + component, period = 150 / pow(1.7, i);

		v += period / 8 *
		     sin((x * cos(angle) + y * sin(angle)) / period);
	}
	v += scramble((uint32_t)x * 7919 + (uint32_t)y) % 9;
	return component == 0 ? v : 128 + (v - 128) / 4;
}

enum { EFFORTS = 10 };

static void check_efforts(struct image *img, int quality, struct heap *h)
{
	struct img_size size = { img->planes[0].width, img->planes[0].height };
	size_t counts[EFFORTS];
	double psnrs[EFFORTS];

	for (int effort = 0; effort < EFFORTS; effort++) {
		struct img_transform t = { .quality = quality,
					   .optimize = true,
					   .effort = effort };
		struct bytes jpeg = encode_as(img, &t, h);
		struct image back = must_decode(jpeg, size, h);

		counts[effort] = jpeg.count;
		psnrs[effort] = plane_psnr(&img->planes[0], &back.planes[0]);
		img_release(&back);
		heap_return(h, jpeg);
	}
	for (int effort = 1; effort < EFFORTS; effort++) {
		check_case("quality %d, effort %d", quality, effort);
		CHECK_NUMBER(counts[effort], <, counts[0] * 0.96);
		CHECK_NUMBER(psnrs[effort], >, psnrs[0] - 1);
	}
}

typedef void image_fn(struct image *img, int value, struct heap *h);

/* Check a picture in 4:2:0, in 4:4:4 and in grey. */
static void check_shapes(struct img_size size, picture_fn *picture,
			 image_fn *each, int value)
{
	struct heap h;

	heap_init(&h);

	struct image shapes[] = {
		image_make(size, IMG_YCBCR, picture, &h),
		image_full(size, picture, &h),
		image_make(size, IMG_GREY, picture, &h),
	};

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		each(&shapes[i], value, &h);
		img_release(&shapes[i]);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_effort_gives_fewer_bytes_and_about_the_same(void)
{
	for (int quality = 60; quality <= 90; quality += 10)
		check_shapes((struct img_size){ 321, 243 }, scenery,
			     check_efforts, quality);
}

/* As a sky: in each block it changes by less than two levels. */
static double sky(uint32_t component, double x, double y)
{
	(void)y;
	return component == 0 ? 100 + 0.22 * x : 128;
}

static int largest_step(const struct img_plane *p)
{
	int largest = 0;

	for (uint32_t y = 0; y < p->height; y++) {
		const uint8_t *row = p->samples + y * p->stride_bytes;

		for (uint32_t x = 1; x < p->width; x++)
			if (abs(row[x] - row[x - 1]) > largest)
				largest = abs(row[x] - row[x - 1]);
	}
	return largest;
}

static void test_effort_gives_a_sky_no_edges(void)
{
	struct img_size size = { 400, 16 };
	struct img_transform transforms[] = {
		{ .quality = 80 },
		{ .quality = 80, .effort = 1 },
	};
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, sky, &h);

	for (size_t i = 0; i < ARRAY_SIZE(transforms); i++) {
		struct bytes jpeg = encode_as(&img, &transforms[i], &h);
		struct image back = must_decode(jpeg, size, &h);

		check_case("effort %d", transforms[i].effort);
		CHECK_NUMBER(largest_step(&back.planes[0]), <=, 1);
		img_release(&back);
		heap_return(&h, jpeg);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_the_profile_is_written(void)
{
	/* One chunk, sizes near its limit, and several chunks. */
	static const size_t counts[] = { 1, 65519, 65520, 400000 };
	struct img_size size = { 20, 10 };
	struct heap h;

	heap_init(&h);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		struct image img = image_make(size, IMG_YCBCR, waves, &h);
		uint8_t *back = NULL;
		size_t back_count = 0;

		img.profile = h.memory.alloc(h.memory.arg, counts[i]);
		img.profile_bytes = counts[i];
		CHECK(img.profile != NULL);
		for (size_t k = 0; k < counts[i]; k++)
			img.profile[k] = (uint8_t)scramble((uint32_t)k);
		struct bytes jpeg = must_encode(&img, 80, &h);
		struct jpeg_view view = jpeg_read(jpeg, JCS_YCbCr, 8);
		enum profile_state state = profile_read(
			&back, &back_count, jpeg.data, jpeg.count, &h.memory);

		CHECK_NUMBER(state, ==, PROFILE_READ);
		CHECK_NUMBER(back_count, ==, counts[i]);
		CHECK(memcmp(back, img.profile, counts[i]) == 0);
		CHECK_NUMBER(view.marker_count, ==,
			     (counts[i] + 65518) / 65519);
		h.memory.free(h.memory.arg, back);
		free(view.pixels);
		heap_return(&h, jpeg);
		img_release(&img);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void soil_padding(const struct image *img)
{
	for (uint32_t i = 0; i < img->plane_count; i++) {
		const struct img_plane *p = &img->planes[i];

		for (uint32_t y = 0; y < p->height; y++)
			memset(p->samples + y * p->stride_bytes + p->width, 255,
			       p->stride_bytes - p->width);
		memset(p->samples + p->height * p->stride_bytes, 255,
		       8 * p->stride_bytes);
	}
}

static void test_padding_does_not_show(void)
{
	struct img_size size = { 19, 21 };
	struct heap h;

	heap_init(&h);
	for (uint32_t i = 0; i < 8; i++) {
		bool full = i & 1, grey = i & 4;
		struct img_transform transform = { .quality = 80,
						   .progressive = i & 2 };
		enum img_space space = grey ? IMG_GREY : IMG_YCBCR;
		struct image a = full ? image_full(size, waves, &h) :
					image_make(size, space, waves, &h);
		struct image b = full ? image_full(size, waves, &h) :
					image_make(size, space, waves, &h);

		soil_padding(&b);
		struct bytes jpeg_a = encode_as(&a, &transform, &h);
		struct bytes jpeg_b = encode_as(&b, &transform, &h);

		CHECK_NUMBER(jpeg_a.count, ==, jpeg_b.count);
		CHECK(memcmp(jpeg_a.data, jpeg_b.data, jpeg_a.count) == 0);
		heap_return(&h, jpeg_a);
		heap_return(&h, jpeg_b);
		img_release(&a);
		img_release(&b);
	}
	CHECK_NUMBER(h.live_count, ==, 0);
}

static double noise(uint32_t component, double x, double y)
{
	return scramble((uint32_t)(x * 2) * 7919 + (uint32_t)(y * 2) +
			component) %
	       256;
}

static void check_qualities(struct image *img, int effort, struct heap *h)
{
	static const int qualities[] = { 1,  10, 25, 40, 50, 60, 75,
					 85, 90, 94, 96, 98, 99, 100 };
	struct img_size size = { img->planes[0].width, img->planes[0].height };
	size_t count_before = 0;
	double psnr_before = 0;

	for (size_t i = 0; i < ARRAY_SIZE(qualities); i++) {
		struct img_transform t = { .quality = qualities[i],
					   .effort = effort };
		struct bytes jpeg = encode_as(img, &t, h);
		struct image back = must_decode(jpeg, size, h);
		double now = plane_psnr(&img->planes[0], &back.planes[0]);

		check_case("quality %d, effort %d", qualities[i], effort);
		CHECK_NUMBER(jpeg.count, >, count_before);
		CHECK_NUMBER(now, >, psnr_before);
		count_before = jpeg.count;
		psnr_before = now;
		img_release(&back);
		heap_return(h, jpeg);
	}
	CHECK_NUMBER(psnr_before, >, 45);
}

static void test_better_quality_is_larger_and_nearer(void)
{
	for (int effort = 0; effort <= 1; effort++)
		check_shapes((struct img_size){ 64, 48 }, noise,
			     check_qualities, effort);
}

/* Black and white dots, which no photo contains. */
static double dots(uint32_t component, double x, double y)
{
	return noise(component, x, y) < 128 ? 0 : 255;
}

/* The number of blocks that encoding asks for.  Also decodes the result. */
static uint32_t blocks_of(picture_fn *picture, size_t *bytes)
{
	struct img_size size = { 400, 300 };
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, picture, &h);
	uint32_t before = h.alloc_count;
	struct bytes jpeg = must_encode(&img, 84, &h);
	uint32_t count = h.alloc_count - before;
	struct image back = must_decode(jpeg, size, &h);

	CHECK_NUMBER(plane_psnr(&img.planes[0], &back.planes[0]), >, 25);
	*bytes = jpeg.count;
	img_release(&back);
	img_release(&img);
	heap_return(&h, jpeg);
	CHECK_NUMBER(h.live_count, ==, 0);
	return count;
}

static void test_output_is_copied_if_much_smaller_and_grows_if_it_must(void)
{
	const size_t room = 4096 + 400 * 300;
	size_t calm, wild, wildest;
	uint32_t calm_count = blocks_of(waves, &calm);
	uint32_t wild_count = blocks_of(noise, &wild);
	uint32_t wildest_count = blocks_of(dots, &wildest);

	CHECK_NUMBER(calm, <, room / 2);
	CHECK_NUMBER(wild, >, room / 2);
	CHECK_NUMBER(wild, <, room);
	CHECK_NUMBER(wildest, >, room);
	CHECK_NUMBER(calm_count, ==, wild_count + 1);
	CHECK_NUMBER(wildest_count, ==, wild_count + 1);
}

static void test_rows_pause(void)
{
	static const struct img_transform transforms[] = {
		{ .quality = 90 },
		{ .quality = 90, .optimize = true },
		{ .quality = 90, .progressive = true },
		{ .quality = 90, .effort = 5 },
		{ .quality = 90, .effort = 5, .progressive = true },
	};
	struct img_size size = { 40, 1600 };
	struct heap h;

	heap_init(&h);
	struct image img = image_make(size, IMG_YCBCR, waves, &h);

	for (size_t i = 0; i < ARRAY_SIZE(transforms); i++) {
		uint32_t before = h.pause_count;
		struct bytes jpeg = encode_as(&img, &transforms[i], &h);

		CHECK_NUMBER(h.pause_count - before, >=, 1600 / 16);
		heap_return(&h, jpeg);
	}
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void fail_each_allocation(const struct img_transform *transform)
{
	enum img_err err = IMG_ERR_NO_MEMORY;
	struct heap h, failing;
	uint32_t at = 0;

	heap_init(&h);
	struct image img =
		image_make((struct img_size){ 200, 200 }, IMG_YCBCR, dots, &h);

	while (err == IMG_ERR_NO_MEMORY) {
		uint8_t *data = NULL;
		size_t count = 77;

		heap_init(&failing);
		failing.fail_at = ++at;
		err = img_encode(&data, &count, &img, transform,
				 &failing.memory);
		if (err == IMG_ERR_NO_MEMORY)
			CHECK(data == NULL && count == 77);
		else
			failing.memory.free(failing.memory.arg, data);
		CHECK_NUMBER(failing.live_count, ==, 0);
	}
	CHECK_NUMBER(err, ==, IMG_OK);
	/* Allocations of libjpeg, of the output and of its copy have failed. */
	CHECK_NUMBER(at, >, 3);
	img_release(&img);
	CHECK_NUMBER(h.live_count, ==, 0);
}

static void test_no_memory_is_an_error(void)
{
	fail_each_allocation(&(struct img_transform){ .quality = 10 });
	fail_each_allocation(&(struct img_transform){ .quality = 84 });
	fail_each_allocation(
		&(struct img_transform){ .quality = 100, .progressive = true });
	fail_each_allocation(
		&(struct img_transform){ .quality = 100, .optimize = true });
	fail_each_allocation(
		&(struct img_transform){ .quality = 100, .effort = 9 });
	fail_each_allocation(&(struct img_transform){
		.quality = 100, .effort = 9, .progressive = true });
}

int main(void)
{
	test_every_size_decodes_to_about_the_same();
	test_the_longest_pictures();
	test_optimised_files_are_smaller_and_decode_the_same();
	test_effort_gives_fewer_bytes_and_about_the_same();
	test_effort_gives_a_sky_no_edges();
	test_the_profile_is_written();
	test_padding_does_not_show();
	test_better_quality_is_larger_and_nearer();
	test_output_is_copied_if_much_smaller_and_grows_if_it_must();
	test_rows_pause();
	test_no_memory_is_an_error();
	return 0;
}
