/* SPDX-License-Identifier: MIT */
/*
 * Promises: the first picture of a GIF is read as giflib writes it, with its
 * own colours or those of all, interlaced or not, transparent or not, at its
 * place on the screen; later pictures are counted; a file that is cut or wrong
 * is named, or read as far as it goes if `lenient`.
 */
#include "imgops/test/gifs.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <stdlib.h>
#include <string.h>

static const struct gif_spec plain = { .screen = { 23, 17 },
				       .width = 23,
				       .height = 17,
				       .clear_index = -1,
				       .frames = 1 };

static enum img_err decode(struct image *img, struct img_header *h,
			   struct bytes file, bool lenient, struct heap *heap)
{
	const struct img_transform t = { .quality = 80, .lenient = lenient };
	enum img_err err = img_probe(h, file.data, file.count, &no_limits);
	struct img_view view;

	if (err != IMG_OK)
		return err;
	view = img_fit(h, &t);
	return img_decode(img, file.data, file.count, h, &view, &t, &no_limits,
			  &heap->memory);
}

/* The sample of plane `i` of the picture that `s` describes. */
static uint8_t sample_of(const struct gif_spec *s, uint32_t i, uint32_t x,
			 uint32_t y)
{
	bool is_inside = x >= s->left && x < s->left + s->width &&
			 y >= s->top && y < s->top + s->height;
	uint8_t index = gif_index(x - s->left, y - s->top);

	if (!is_inside || index == s->clear_index)
		return 0;
	return i == 3 ? 255 : gif_level(i, index, s->has_own_colours);
}

static void check_pixels(const struct gif_spec *s)
{
	struct bytes file = gif_make(s);
	struct img_header h;
	struct image img = { 0 };
	struct heap heap;

	heap_init(&heap);
	CHECK_NUMBER(decode(&img, &h, file, false, &heap), ==, IMG_OK);
	CHECK(h.format == img_formats[IMG_FORMAT_GIF]);
	CHECK_NUMBER(h.frames, ==, (uint32_t)s->frames);
	CHECK_NUMBER(img.space, ==, h.space);
	for (uint32_t i = 0; i < img.plane_count; i++)
		for (uint32_t y = 0; y < img.planes[i].height; y++)
			for (uint32_t x = 0; x < img.planes[i].width; x++) {
				const struct img_plane *p = &img.planes[i];

				check_case("plane %u at %u, %u", i, x, y);
				CHECK_NUMBER(
					p->samples[y * p->stride_bytes + x], ==,
					sample_of(s, i, x, y));
			}
	img_release(&img);
	CHECK_NUMBER(heap.live_count, ==, 0);
	free(file.data);
}

static void test_pixels(void)
{
	struct gif_spec s = plain;

	check_pixels(&s);
	s.is_interlaced = true;
	check_pixels(&s);
	s.has_own_colours = true;
	check_pixels(&s);
	s.clear_index = 5;
	check_pixels(&s);
	s.frames = 3;
	check_pixels(&s);
	s = plain;
	s.screen = (struct img_size){ 40, 30 };
	s.left = 7;
	s.top = 9;
	check_pixels(&s);
	s = plain; /* the screen grows */
	s.screen = (struct img_size){ 10, 30 };
	s.left = 2;
	check_pixels(&s);
	s = plain;
	s.width = s.height = s.screen.width_px = s.screen.height_px = 200;
	check_pixels(&s);
	s.width = s.height = s.screen.width_px = s.screen.height_px = 1;
	check_pixels(&s);
}

static void test_space(void)
{
	struct gif_spec s = plain;
	struct bytes file = gif_make(&s);
	struct img_header h;

	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGB);
	free(file.data);
	s.clear_index = 0;
	file = gif_make(&s);
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGBA);
	CHECK_NUMBER(h.component_count, ==, 4);
	free(file.data);
}

/* However the bytes arrive, the header is the same, and then stays. */
static void test_arriving(void)
{
	struct gif_spec s = plain;
	struct img_header whole, h = { 0 };
	struct bytes file;
	bool is_read = false;

	s.frames = 3;
	file = gif_make(&s);
	CHECK_NUMBER(img_probe(&whole, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	for (size_t n = IMG_BEGIN_BYTES; n <= file.count; n++) {
		enum img_err err = img_probe_more(&h, file.data, n, &no_limits);

		CHECK(err == IMG_OK || (err == IMG_ERR_TRUNCATED && !is_read));
		is_read = err == IMG_OK;
		if (is_read)
			CHECK_NUMBER(h.stored.width_px, ==, 23);
	}
	CHECK(is_read);
	CHECK_NUMBER(h.frames, ==, 3);
	CHECK(memcmp(h.own, whole.own, sizeof(h.own)) == 0);
	free(file.data);
}

static void test_cut(void)
{
	struct bytes file = gif_make(&plain), cut = file;

	for (cut.count = 0; cut.count < file.count; cut.count++) {
		struct image img = { 0 };
		struct img_header h;
		struct heap heap;
		enum img_err err;

		check_case("%zu bytes", cut.count);
		heap_init(&heap);
		err = decode(&img, &h, cut, false, &heap);
		/* The last bytes are an end that need not be there. */
		if (err == IMG_OK)
			CHECK_NUMBER(cut.count, >=, file.count - 3);
		else
			CHECK_NUMBER(err, ==,
				     (cut.count < 2 ? IMG_ERR_UNKNOWN_FORMAT :
						      IMG_ERR_TRUNCATED));
		img_release(&img);
		err = decode(&img, &h, cut, true, &heap);
		if (err == IMG_OK && cut.count < file.count - 3)
			CHECK_NUMBER(img.notes, ==, IMG_NOTE_DAMAGED);
		img_release(&img);
		CHECK_NUMBER(heap.live_count, ==, 0);
	}
	free(file.data);
}

/* Any byte may be wrong: an error or a picture, and nothing is left. */
static void test_wrong_bytes(void)
{
	struct bytes file = gif_make(&plain);

	for (size_t i = 0; i < file.count; i++)
		for (int k = 1; k < 256; k += 14) {
			struct image img = { 0 };
			struct img_header h;
			struct heap heap;

			file.data[i] ^= (uint8_t)k;
			heap_init(&heap);
			if (decode(&img, &h, file, k % 3 == 0, &heap) == IMG_OK)
				CHECK(img.plane_count >= 3);
			img_release(&img);
			CHECK_NUMBER(heap.live_count, ==, 0);
			file.data[i] ^= (uint8_t)k;
		}
	free(file.data);
}

static void test_no_memory(void)
{
	struct bytes file = gif_make(&plain);
	enum img_err err = IMG_ERR_NO_MEMORY;

	for (uint32_t n = 1; err != IMG_OK; n++) {
		struct image img = { 0 };
		struct img_header h;
		struct heap heap;

		heap_init(&heap);
		heap.fail_at = n;
		err = decode(&img, &h, file, false, &heap);
		CHECK(err == IMG_OK || err == IMG_ERR_NO_MEMORY);
		img_release(&img);
		CHECK_NUMBER(heap.live_count, ==, 0);
	}
	free(file.data);
}

static void test_wrong_headers(void)
{
	struct bytes file = gif_make(&plain);
	struct img_limits small = no_limits;
	struct img_header h;

	small.side_px_max = 22;
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &small), ==,
		     IMG_ERR_TOO_LARGE);
	CHECK_NUMBER(h.stored.width_px, ==, 23);
	file.data[4] = '8'; /* GIF88a */
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_ERR_UNKNOWN_FORMAT);
	free(file.data);
	file = (struct bytes){ (uint8_t *)"GIF89a\1\0\1\0\0\0\0;", 14 };
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_ERR_CORRUPT); /* no picture */
}

/*
 * A code that clears the table makes no pixel.  A file of nothing else is read
 * to its end, with pauses.
 */
static void test_clear_codes(void)
{
	static const uint8_t begin[] = "GIF89a\1\0\1\0\x80\0\0abcdef"
				       ",\0\0\0\0\1\0\1\0\0\7";
	enum { BLOCKS = 2000, BLOCK_BYTES = 256 };
	size_t count = sizeof(begin) - 1 + (size_t)BLOCKS * BLOCK_BYTES;
	struct bytes file = { malloc(count), count };
	struct image img = { 0 };
	struct img_header h;
	struct heap heap;

	CHECK(file.data != NULL);
	memset(file.data, 0x80, count); /* a code of 8 bits */
	memcpy(file.data, begin, sizeof(begin) - 1);
	for (size_t i = 0; i < BLOCKS; i++)
		file.data[sizeof(begin) - 1 + i * BLOCK_BYTES] = 255;
	heap_init(&heap);
	CHECK_NUMBER(decode(&img, &h, file, false, &heap), ==,
		     IMG_ERR_TRUNCATED);
	CHECK_NUMBER(heap.live_count, ==, 0);
	CHECK_NUMBER(heap.pause_count, >, BLOCKS / 300);
	free(file.data);
}

int main(void)
{
	test_pixels();
	test_space();
	test_arriving();
	test_cut();
	test_wrong_bytes();
	test_no_memory();
	test_clear_codes();
	test_wrong_headers();
	return 0;
}
