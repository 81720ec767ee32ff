/* SPDX-License-Identifier: MIT */
#include "imgops/test/webps.h"

#include "base/test/check.h"
#include "imgops/test/profiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <webp/encode.h>

/* A file that grows; the container's size is set by finish(). */
struct file {
	struct bytes b;
};

static void put(struct file *f, const void *data, size_t count)
{
	size_t room = f->b.count + count;

	f->b.data = realloc(f->b.data, room + 1);
	CHECK(f->b.data != NULL);
	if (count > 0)
		memcpy(f->b.data + f->b.count, data, count);
	f->b.count += count;
}

static void put_number(struct file *f, uint32_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		put(f, &(uint8_t){ (uint8_t)(number >> 8 * i) }, 1);
}

static void put_chunk(struct file *f, const char *name, const void *data,
		      size_t count)
{
	put(f, name, 4);
	put_number(f, (uint32_t)count, 4);
	put(f, data, count);
	put(f, "", count % 2);
}

static struct file file_open(void)
{
	struct file f = { 0 };

	put(&f, "RIFF\0\0\0\0WEBP", 12);
	return f;
}

static void finish(struct file *f)
{
	uint32_t count = (uint32_t)f->b.count - 8;

	for (int i = 0; i < 4; i++)
		f->b.data[4 + i] = (uint8_t)(count >> 8 * i);
}

static void put_extended(struct file *f, uint8_t flags, uint32_t width,
			 uint32_t height)
{
	uint8_t data[10] = { flags };

	for (int i = 0; i < 3; i++) {
		data[4 + i] = (uint8_t)((width - 1) >> 8 * i);
		data[7 + i] = (uint8_t)((height - 1) >> 8 * i);
	}
	put_chunk(f, "VP8X", data, sizeof(data));
}

/* The pixels of a picture: waves, and alpha that ends in both extremes. */
void webp_pixel(uint8_t rgba[4], uint32_t x, uint32_t y, bool has_alpha)
{
	int alpha = (int)(4 * x) + (int)y - 40;

	rgba[0] = (uint8_t)(128 + 100 * sin(x * 0.1));
	rgba[1] = (uint8_t)(128 + 90 * sin(y * 0.13 + x * 0.02));
	rgba[2] = (uint8_t)(3 * x);
	rgba[3] = has_alpha ?
			  (uint8_t)(alpha < 0 ? 0 :
						min_u32((uint32_t)alpha, 255)) :
			  255;
}

static uint8_t *pixels_make(uint32_t width, uint32_t height, bool has_alpha)
{
	uint8_t *rgba = malloc((size_t)width * height * 4);

	CHECK(rgba != NULL);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			webp_pixel(rgba + ((size_t)y * width + x) * 4, x, y,
				   has_alpha);
	return rgba;
}

struct bytes webp_from_pixels(const uint8_t *rgba, uint32_t width,
			      uint32_t height, bool is_lossless)
{
	struct bytes b = { NULL, 0 };
	WebPMemoryWriter w;
	WebPConfig config;
	WebPPicture p;

	CHECK(WebPConfigInit(&config) && WebPPictureInit(&p));
	config.lossless = config.exact = is_lossless;
	config.quality = is_lossless ? 50 : 80;
	p.use_argb = 1;
	p.width = (int)width;
	p.height = (int)height;
	WebPMemoryWriterInit(&w);
	p.writer = WebPMemoryWrite;
	p.custom_ptr = &w;
	CHECK(WebPPictureImportRGBA(&p, rgba, p.width * 4));
	CHECK(WebPEncode(&config, &p));
	WebPPictureFree(&p);
	b.count = w.size;
	b.data = malloc(b.count);
	CHECK(b.data != NULL);
	memcpy(b.data, w.mem, b.count);
	WebPMemoryWriterClear(&w);
	return b;
}

struct bytes webp_make(uint32_t width, uint32_t height, bool is_lossless,
		       bool has_alpha)
{
	uint8_t *rgba = pixels_make(width, height, has_alpha);
	struct bytes b = webp_from_pixels(rgba, width, height, is_lossless);

	free(rgba);
	return b;
}

/* The chunks of `webp` after VP8X, if it has one. */
static struct bytes chunks_of(struct bytes webp)
{
	size_t at = memcmp(webp.data + 12, "VP8X", 4) == 0 ? 30 : 12;

	return (struct bytes){ webp.data + at, webp.count - at };
}

static const char exif[] = "II*\0\10\0\0\0\1\0"
			   "\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0";

/* With a profile, an unknown chunk, and EXIF at the end. */
struct bytes webp_with_all(bool is_lossless, bool has_alpha)
{
	struct bytes webp = webp_make(WEBP_TEST_WIDTH, WEBP_TEST_HEIGHT,
				      is_lossless, has_alpha);
	struct bytes chunks = chunks_of(webp);
	struct bytes profile = profile_rgb(&gamuts[ADOBE_RGB], 2.2, 0);
	struct file f = file_open();

	put_extended(&f, has_alpha ? 0x38 : 0x28, WEBP_TEST_WIDTH,
		     WEBP_TEST_HEIGHT);
	put_chunk(&f, "ICCP", profile.data, profile.count);
	put_chunk(&f, "what", "odd", 3);
	put(&f, chunks.data, chunks.count);
	put_chunk(&f, "EXIF", exif, sizeof(exif) - 1);
	put_chunk(&f, "XMP ", "x", 1);
	finish(&f);
	free(webp.data);
	free(profile.data);
	return f.b;
}

/* Frames of WEBP_TEST_WIDTH x WEBP_TEST_HEIGHT at (left, top) of a canvas. */
struct bytes webp_animation(uint32_t width, uint32_t height, uint32_t left,
			    uint32_t top, bool is_lossless, bool has_alpha,
			    uint32_t frames)
{
	struct bytes webp = webp_make(WEBP_TEST_WIDTH, WEBP_TEST_HEIGHT,
				      is_lossless, has_alpha);
	struct bytes chunks = chunks_of(webp);
	struct file f = file_open();

	put_extended(&f, 2, width, height);
	put_chunk(&f, "ANIM", "\xff\xff\xff\xff\0\0", 6);
	for (uint32_t i = 0; i < frames; i++) {
		put(&f, "ANMF", 4);
		put_number(&f, (uint32_t)chunks.count + 16, 4);
		put_number(&f, left / 2, 3);
		put_number(&f, top / 2, 3);
		put_number(&f, WEBP_TEST_WIDTH - 1, 3);
		put_number(&f, WEBP_TEST_HEIGHT - 1, 3);
		put_number(&f, 100, 4);
		put(&f, chunks.data, chunks.count);
	}
	finish(&f);
	free(webp.data);
	return f.b;
}

/* Bits, the lowest of each byte first. */
struct bits {
	uint8_t *data;
	size_t count;
};

static void put_bits(struct bits *b, uint32_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, b->count++)
		b->data[b->count / 8] |=
			(uint8_t)((value >> i & 1) << b->count % 8);
}

/* A code of the one symbol 0. */
static void put_single(struct bits *b)
{
	put_bits(b, 1, 4);
}

/* 256 symbols of 8 bits; `has_more`: the alphabet has more symbols. */
static void put_bytes_code(struct bits *b, bool has_more)
{
	put_bits(b, 0, 1);
	put_bits(b, 12 - 4, 4);
	put_bits(b, 0, 30);
	put_bits(b, 0, 3);
	put_bits(b, 1, 3); /* length 8, the 12th in order */
	put_bits(b, has_more, 1);
	if (has_more) {
		put_bits(b, 3, 3);
		put_bits(b, 254, 8);
	}
}

static void put_byte(struct bits *b, uint32_t byte)
{
	for (uint32_t i = 8; i > 0; i--)
		put_bits(b, byte >> (i - 1) & 1, 1);
}

/* A picture of one colour with as many sets of codes as there can be. */
struct bytes webp_of_sets(void)
{
	enum { SIDE = 1024, SETS = 65536 };
	struct bits b = { calloc(1, 512 << 10), 0 };
	struct file f = file_open();

	CHECK(b.data != NULL);
	put_bits(&b, 0x2f, 8);
	put_bits(&b, SIDE - 1, 14);
	put_bits(&b, SIDE - 1, 14);
	put_bits(&b, 0, 4); /* no alpha, version 0 */
	put_bits(&b, 0, 2); /* no transforms, no cache */
	put_bits(&b, 1, 1);
	put_bits(&b, 0, 3); /* a set for each 4 x 4 pixels */
	put_bits(&b, 0, 1);
	put_bytes_code(&b, true);
	put_bytes_code(&b, false);
	for (int i = 0; i < 3; i++)
		put_single(&b);
	for (uint32_t i = 0; i < SETS; i++) {
		put_byte(&b, i & 255);
		put_byte(&b, i >> 8);
	}
	for (uint32_t i = 0; i < 5 * SETS; i++)
		put_single(&b);
	put_bits(&b, 0, 32);
	put_chunk(&f, "VP8L", b.data, (b.count + 7) / 8);
	finish(&f);
	free(b.data);
	return f.b;
}
