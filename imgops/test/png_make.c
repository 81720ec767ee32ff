/* SPDX-License-Identifier: MIT */
#include "imgops/test/png_make.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { GREY = 0, RGB = 2, PALETTE = 3, GREY_ALPHA = 4, RGBA = 6 };

static uint32_t depth_of(const struct png_spec *s)
{
	return s->depth == 0 ? 8 : s->depth;
}

static uint32_t samples_of(const struct png_spec *s)
{
	static const uint32_t counts[] = { 1, 0, 3, 1, 2, 0, 4 };

	return counts[s->type];
}

static uint32_t colours_of(const struct png_spec *s)
{
	return s->colours == 0 ? 1u << depth_of(s) : s->colours;
}

/* Sample `i` of a pixel, as it is in the file. */
static uint32_t sample_at(const struct png_spec *s, uint32_t x, uint32_t y,
			  uint32_t i)
{
	uint32_t noise = scramble((y * 65536 + x) * 4 + i);
	uint32_t v = (x * 900 + y * 500 + i * 9000 + noise % 2500) & 0xffff;

	if (s->is_noise)
		v = noise & 0xffff;
	if (s->is_flat)
		v = 0x5a5a;
	if (s->is_opaque && (s->type == GREY_ALPHA || s->type == RGBA) &&
	    i == samples_of(s) - 1)
		v = 0xffff;
	v >>= 16 - depth_of(s);
	return s->type == PALETTE ? v % colours_of(s) : v;
}

static uint8_t level_of(const struct png_spec *s, uint32_t sample)
{
	uint32_t most = (1u << depth_of(s)) - 1;

	return (uint8_t)((sample * 255.0) / most + 0.5);
}

static uint8_t palette_at(uint32_t index, uint32_t i)
{
	return (uint8_t)scramble(index * 3 + i + 7);
}

/* The alpha of a colour of the palette; the last ones are opaque. */
static uint8_t palette_alpha(const struct png_spec *s, uint32_t index)
{
	if (!s->has_alpha || index >= (colours_of(s) + 1) / 2 || s->is_opaque)
		return 255;
	return (uint8_t)(index * 41);
}

void png_pixel(uint8_t rgba[4], const struct png_spec *s, uint32_t x,
	       uint32_t y)
{
	uint32_t count = samples_of(s), colours = count < 3 ? 1 : 3;
	bool is_key = s->has_alpha;

	if (s->type == PALETTE) {
		uint32_t index = sample_at(s, x, y, 0);

		for (uint32_t i = 0; i < 3; i++)
			rgba[i] = palette_at(index, i);
		rgba[3] = palette_alpha(s, index);
		return;
	}
	for (uint32_t i = 0; i < colours; i++) {
		uint32_t v = sample_at(s, x, y, i);

		is_key = is_key && v == sample_at(s, 0, 0, i);
		rgba[i] = level_of(s, v);
	}
	for (uint32_t i = colours; i < 3; i++)
		rgba[i] = rgba[0];
	rgba[3] = is_key ? 0 : 255;
	if (count == 2 || count == 4)
		rgba[3] = level_of(s, sample_at(s, x, y, count - 1));
}

/* --- Chunks --- */

static void put32(uint8_t *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* The least power of two above `count`. */
static size_t room(size_t count)
{
	size_t bytes = 64;

	while (bytes <= count)
		bytes *= 2;
	return bytes;
}

/* Bytes that have been appended have room(count). */
static void append(struct bytes *to, const void *data, size_t bytes)
{
	size_t wanted = room(to->count + bytes);

	if (to->data == NULL || wanted > room(to->count))
		to->data = realloc(to->data, wanted);
	CHECK(to->data != NULL);
	if (bytes > 0)
		memcpy(to->data + to->count, data, bytes);
	to->count += bytes;
}

void png_add(struct bytes *to, const char *name, const void *data, size_t bytes)
{
	size_t start = to->count;
	uint8_t number[4];

	put32(number, (uint32_t)bytes);
	append(to, number, 4);
	append(to, name, 4);
	append(to, data, bytes);
	put32(number,
	      (uint32_t)crc32(0, to->data + start + 4, (uInt)(4 + bytes)));
	append(to, number, 4);
}

uint8_t *png_chunk(struct bytes png, const char *name, size_t *bytes)
{
	uint8_t *at = png.data + 8;

	while (memcmp(at + 4, name, 4) != 0) {
		at += 12 + ((size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]);
		CHECK(at + 12 <= png.data + png.count);
	}
	*bytes = (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
	return at + 8;
}

void png_set_crc(struct bytes png, const char *name)
{
	size_t bytes;
	uint8_t *data = png_chunk(png, name, &bytes);

	put32(data + bytes, (uint32_t)crc32(0, data - 4, (uInt)(4 + bytes)));
}

/* --- Pixels --- */

static int paeth(int a, int b, int c)
{
	int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);

	if (pa <= pb && pa <= pc)
		return a;
	return pb <= pc ? b : c;
}

/* One pass of an interlaced picture, or the picture. */
struct pass {
	uint32_t x, y, across, down;
};

static void put_row(const struct png_spec *s, const struct pass *p, uint32_t y,
		    uint32_t width, uint8_t *row)
{
	uint32_t depth = depth_of(s), count = samples_of(s);

	for (uint32_t x = 0; x < width; x++)
		for (uint32_t i = 0; i < count; i++) {
			uint32_t v = sample_at(s, p->x + x * p->across,
					       p->y + y * p->down, i);
			size_t at = (size_t)x * count + i;

			if (depth == 16) {
				row[2 * at] = (uint8_t)(v >> 8);
				row[2 * at + 1] = (uint8_t)v;
			} else {
				row[at * depth / 8] |=
					(uint8_t)(v << (8 - depth -
							at * depth % 8));
			}
		}
}

static void put_pass(struct bytes *raw, const struct png_spec *s,
		     const struct pass *p)
{
	uint32_t width = (s->width + p->across - 1 - p->x) / p->across;
	uint32_t height = (s->height + p->down - 1 - p->y) / p->down;
	size_t bytes = ((size_t)width * samples_of(s) * depth_of(s) + 7) / 8;
	size_t step = (samples_of(s) * depth_of(s) + 7) / 8;
	uint8_t *row = calloc(2, bytes + 1), *above = row + bytes + 1;
	uint8_t *out = malloc(bytes + 1);

	CHECK(row != NULL && out != NULL);
	for (uint32_t y = 0; width > 0 && y < height; y++) {
		uint32_t filter = s->filter == PNG_ALL_FILTERS ?
					  (y + p->y) % PNG_ALL_FILTERS :
					  s->filter;

		memset(row, 0, bytes);
		put_row(s, p, y, width, row);
		out[0] = (uint8_t)filter;
		for (size_t x = 0; x < bytes; x++) {
			int a = x < step ? 0 : row[x - step], b = above[x];
			int c = x < step ? 0 : above[x - step];
			int guess[] = { 0, a, b, (a + b) / 2, paeth(a, b, c) };

			out[x + 1] = (uint8_t)(row[x] - guess[filter]);
		}
		append(raw, out, bytes + 1);
		memcpy(above, row, bytes);
	}
	free(row);
	free(out);
}

struct bytes png_make_of(const struct png_spec *s, struct bytes deflated)
{
	struct bytes png = { NULL, 0 };
	uint8_t head[13] = { 0 }, colours[3 * 256], alpha[256];
	size_t part = s->idat_bytes == 0 ? deflated.count : s->idat_bytes;

	put32(head, s->width);
	put32(head + 4, s->height);
	head[8] = (uint8_t)depth_of(s);
	head[9] = (uint8_t)s->type;
	head[12] = s->is_interlaced;
	append(&png, "\x89PNG\r\n\x1a\n", 8);
	png_add(&png, "IHDR", head, sizeof(head));
	append(&png, s->extra.data, s->extra.count);
	for (uint32_t i = 0; i < colours_of(s) && s->type == PALETTE; i++) {
		for (uint32_t k = 0; k < 3; k++)
			colours[3 * i + k] = palette_at(i, k);
		alpha[i] = palette_alpha(s, i);
	}
	if (s->type == PALETTE)
		png_add(&png, "PLTE", colours, 3 * (size_t)colours_of(s));
	if (s->type == PALETTE && s->has_alpha) {
		png_add(&png, "tRNS", alpha, (colours_of(s) + 1) / 2);
	} else if (s->has_alpha) {
		for (uint32_t i = 0; i < 3; i++) {
			uint32_t v = sample_at(s, 0, 0, i);

			alpha[2 * i] = (uint8_t)(v >> 8);
			alpha[2 * i + 1] = (uint8_t)v;
		}
		png_add(&png, "tRNS", alpha, s->type == GREY ? 2 : 6);
	}
	for (size_t at = 0; at < deflated.count; at += part) {
		if (part > deflated.count - at)
			part = deflated.count - at;
		png_add(&png, "IDAT", deflated.data + at, part);
	}
	png_add(&png, "IEND", NULL, 0);
	free(deflated.data);
	/* No byte after its end can be read unnoticed. */
	png.data = realloc(png.data, png.count);
	CHECK(png.data != NULL);
	return png;
}

struct bytes png_make(const struct png_spec *s)
{
	static const struct pass passes[] = {
		{ 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
		{ 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 },
	};
	static const struct pass whole = { 0, 0, 1, 1 };
	struct bytes raw = { NULL, 0 }, deflated;
	uLongf count;

	if (!s->is_interlaced)
		put_pass(&raw, s, &whole);
	for (size_t i = 0; s->is_interlaced && i < ARRAY_SIZE(passes); i++)
		put_pass(&raw, s, &passes[i]);
	count = compressBound(raw.count);
	deflated.data = malloc(count);
	CHECK(deflated.data != NULL);
	CHECK_NUMBER(compress2(deflated.data, &count, raw.data, raw.count,
			       s->level == 0 ? 6 :
			       s->level < 0  ? 0 :
					       s->level),
		     ==, Z_OK);
	deflated.count = count;
	free(raw.data);
	return png_make_of(s, deflated);
}

/* --- Hostile data --- */

struct bits {
	struct bytes to;
	uint64_t pending;
	uint32_t count;
};

static void put_bits(struct bits *b, uint32_t value, uint32_t count)
{
	b->pending |= (uint64_t)value << b->count;
	b->count += count;
	for (; b->count >= 8; b->count -= 8, b->pending >>= 8)
		b->to.data[b->to.count++] = (uint8_t)b->pending;
}

struct bytes png_deflate_tables(size_t count)
{
	/* In the order of the file; those of 18, 0 and 1 are not 0. */
	static const uint8_t lengths[18] = { [2] = 1, [3] = 2, [17] = 2 };
	struct bits b = { .to = { malloc(16 * count + 16), 0 } };
	uint8_t zero = 0;
	uLong adler = 1;

	CHECK(b.to.data != NULL);
	put_bits(&b, 0x78, 8);
	put_bits(&b, 0x9c, 8);
	for (size_t i = 0; i < count; i++) {
		put_bits(&b, i + 1 == count, 1);
		put_bits(&b, 2, 2);
		put_bits(&b, 0, 5);
		put_bits(&b, 0, 5);
		put_bits(&b, 18 - 4, 4);
		for (int k = 0; k < 18; k++)
			put_bits(&b, lengths[k], 3);
		/* 18 is 0, 0 is 10, 1 is 11: a length of 1 for 0 and 256. */
		put_bits(&b, 3, 2);
		put_bits(&b, 0 | (138 - 11) << 1, 8);
		put_bits(&b, 0 | (117 - 11) << 1, 8);
		put_bits(&b, 3, 2);
		put_bits(&b, 1, 2);
		/* The zero, and the end of the block. */
		put_bits(&b, 0, 1);
		put_bits(&b, 1, 1);
		adler = adler32(adler, &zero, 1);
	}
	put_bits(&b, 0, 7);
	b.pending = b.count = 0;
	put32(b.to.data + b.to.count, (uint32_t)adler);
	b.to.count += 4;
	return b.to;
}
