/* SPDX-License-Identifier: MIT */
/*
 * Promises: the first picture of a GIF is read as giflib writes it, with its
 * own colours or those of all, interlaced or not, transparent or not, at its
 * place on the screen; later pictures are counted; a file that is cut or wrong
 * is named, or read as far as it goes if `lenient`.
 */
#include "imgops/test/support.h"

#include "base/test/check.h"
#include "imgops/image.h"

#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

enum { FILE_BYTES_MAX = 1 << 16, COLOURS = 16 };

struct spec {
	struct img_size screen;
	uint32_t left, top, width, height;
	bool is_interlaced, has_own_colours;
	int clear_index; /* -1: none */
	int frames;
};

static const struct spec plain = { .screen = { 23, 17 },
				   .width = 23,
				   .height = 17,
				   .clear_index = -1,
				   .frames = 1 };

static int append(GifFileType *gif, const GifByteType *from, int count)
{
	struct bytes *file = gif->UserData;

	CHECK(file->count + (size_t)count <= FILE_BYTES_MAX);
	memcpy(file->data + file->count, from, (size_t)count);
	file->count += (size_t)count;
	return count;
}

/* Stripes; far down noise, which fills the table of codes. */
static uint8_t index_at(uint32_t x, uint32_t y)
{
	if (y >= 32)
		return (uint8_t)((x * 40503 ^ y * 30011) * 2654435761u >> 28);
	return (uint8_t)((x + 3 * y) % COLOURS);
}

static uint8_t level_of(uint32_t channel, uint32_t index, bool is_own)
{
	return (uint8_t)(index * (channel + 3) + (is_own ? 100 : 7));
}

static ColorMapObject *make_map(bool is_own)
{
	ColorMapObject *map = GifMakeMapObject(COLOURS, NULL);

	CHECK(map != NULL);
	for (uint32_t i = 0; i < COLOURS; i++)
		map->Colors[i] = (GifColorType){ level_of(0, i, is_own),
						 level_of(1, i, is_own),
						 level_of(2, i, is_own) };
	return map;
}

static void write_picture(GifFileType *gif, const struct spec *s)
{
	static const uint32_t firsts[] = { 0, 4, 2, 1 };
	static const uint32_t steps[] = { 8, 8, 4, 2 };
	ColorMapObject *own = s->has_own_colours ? make_map(true) : NULL;
	uint32_t passes = s->is_interlaced ? 4 : 1;
	GifPixelType row[256];

	CHECK_NUMBER(EGifPutImageDesc(gif, (int)s->left, (int)s->top,
				      (int)s->width, (int)s->height,
				      s->is_interlaced, own),
		     ==, GIF_OK);
	for (uint32_t pass = 0; pass < passes; pass++)
		for (uint32_t y = passes > 1 ? firsts[pass] : 0;
		     y<s->height; y += passes> 1 ? steps[pass] : 1) {
			for (uint32_t x = 0; x < s->width; x++)
				row[x] = index_at(x, y);
			CHECK_NUMBER(EGifPutLine(gif, row, (int)s->width), ==,
				     GIF_OK);
		}
	GifFreeMapObject(own);
}

static struct bytes make(const struct spec *s)
{
	struct bytes file = { malloc(FILE_BYTES_MAX), 0 };
	GraphicsControlBlock control = { .TransparentColor = s->clear_index };
	ColorMapObject *map = make_map(false);
	GifFileType *gif;
	uint8_t block[4];
	int why;

	CHECK(file.data != NULL);
	gif = EGifOpen(&file, append, &why);
	CHECK(gif != NULL);
	EGifSetGifVersion(gif, true);
	CHECK_NUMBER(EGifPutScreenDesc(gif, (int)s->screen.width_px,
				       (int)s->screen.height_px, 8, 0, map),
		     ==, GIF_OK);
	for (int i = 0; i < s->frames; i++) {
		(void)EGifGCBToExtension(&control, block);
		CHECK_NUMBER(
			EGifPutExtension(gif, GRAPHICS_EXT_FUNC_CODE, 4, block),
			==, GIF_OK);
		write_picture(gif, s);
	}
	CHECK_NUMBER(EGifCloseFile(gif, &why), ==, GIF_OK);
	GifFreeMapObject(map);
	return file;
}

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
static uint8_t sample_of(const struct spec *s, uint32_t i, uint32_t x,
			 uint32_t y)
{
	bool is_inside = x >= s->left && x < s->left + s->width &&
			 y >= s->top && y < s->top + s->height;
	uint8_t index = index_at(x - s->left, y - s->top);

	if (!is_inside || index == s->clear_index)
		return 0;
	return i == 3 ? 255 : level_of(i, index, s->has_own_colours);
}

static void check_pixels(const struct spec *s)
{
	struct bytes file = make(s);
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
	struct spec s = plain;

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
	struct spec s = plain;
	struct bytes file = make(&s);
	struct img_header h;

	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGB);
	free(file.data);
	s.clear_index = 0;
	file = make(&s);
	CHECK_NUMBER(img_probe(&h, file.data, file.count, &no_limits), ==,
		     IMG_OK);
	CHECK_NUMBER(h.space, ==, IMG_RGBA);
	CHECK_NUMBER(h.component_count, ==, 4);
	free(file.data);
}

/* However the bytes arrive, the header is the same, and then stays. */
static void test_arriving(void)
{
	struct spec s = plain;
	struct img_header whole, h = { 0 };
	struct bytes file;
	bool is_read = false;

	s.frames = 3;
	file = make(&s);
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
	struct bytes file = make(&plain), cut = file;

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
	struct bytes file = make(&plain);

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
	struct bytes file = make(&plain);
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
	struct bytes file = make(&plain);
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
