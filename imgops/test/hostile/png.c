/* SPDX-License-Identifier: MIT */
/*
 * Hostile PNGs.  Sums of chunks are made right after a change, except where a
 * name says otherwise: behind a wrong one, nothing would be tried.
 */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#include "imgops/test/png_make.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { SIGNATURE_BYTES = 8, FRAME_BYTES = 12, WIDTH = 19, HEIGHT = 17 };

static const struct png_spec plain = {
	.width = WIDTH, .height = HEIGHT, .type = 2, .filter = PNG_ALL_FILTERS
};

/* The sums of all chunks, as far as sizes make sense. */
static void repair(struct bytes file)
{
	size_t at = SIGNATURE_BYTES;

	while (at + FRAME_BYTES <= file.count) {
		uint8_t *chunk = file.data + at;
		uint64_t bytes = bytes_number(chunk, 4, false);

		if (bytes > file.count - at - FRAME_BYTES)
			return;
		bytes_put_number(chunk + 8 + bytes,
				 crc32(0, chunk + 4, (uInt)(4 + bytes)), 4,
				 false);
		at += bytes + FRAME_BYTES;
	}
}

static struct seed open_seed(const char *name, struct bytes file)
{
	struct seed s = seed_of(name, file);
	size_t at = SIGNATURE_BYTES;

	s.repair = repair;
	(void)seed_part(&s, "signature", 0, SIGNATURE_BYTES);
	while (at < file.count) {
		size_t bytes = FRAME_BYTES +
			       (size_t)bytes_number(file.data + at, 4, false);
		char letters[5] = { 0 };
		struct part *p;

		memcpy(letters, file.data + at + 4, 4);
		p = seed_part(&s, letters, at, bytes);
		p->data_at = at + 8;
		p->size_at = at;
		p->size_bytes = 4;
		p->name_at = at + 4;
		at += bytes;
	}
	return s;
}

static struct seed make_seed(const char *name, struct png_spec spec)
{
	struct seed s = open_seed(name, png_make(&spec));

	free(spec.extra.data);
	return s;
}

static const struct number header[] = {
	{ "IHDR", "width", 0, 4 },        { "IHDR", "height", 4, 4 },
	{ "IHDR", "depth", 8, 1 },        { "IHDR", "type", 9, 1 },
	{ "IHDR", "compression", 10, 1 }, { "IHDR", "filter", 11, 1 },
	{ "IHDR", "interlace", 12, 1 },
};

/* Insert a chunk before the first IDAT. */
static struct bytes with_chunk(const struct seed *s, const char *name,
			       const void *data, size_t count)
{
	struct bytes chunk = { NULL, 0 }, file;

	png_add(&chunk, name, data, count);
	file = bytes_insert(s->file, seed_find(s, "IDAT")->at, chunk.data,
			    chunk.count);
	free(chunk.data);
	return file;
}

static void try_structure(struct hostile *h)
{
	struct png_spec spec = plain;
	struct seed s;

	spec.type = 6;
	spec.idat_bytes = 400;
	png_add(&spec.extra, "pHYs", "\0\0\013\023\0\0\013\023\1", 9);
	s = make_seed("rgba", spec);
	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, header, ARRAY_SIZE(header));
	mutate_bits(h, &s, "signature", 8);
	mutate_bits(h, &s, "IDAT", 24);
	mutate_ends(h, &s);
	for (uint32_t i = 0; i < s.part_count; i++) {
		const struct part *p = &s.parts[i];
		struct bytes b = bytes_of(s.file.data, s.file.count);

		b.data[p->at + p->bytes - 1] ^= 1;
		hostile_try(h, s.name, b, "wrong-sum-of-%s", p->name);
	}
	seed_free(&s);
}

/* Each type and depth, whatever the data are. */
static void try_kinds(struct hostile *h)
{
	static const uint8_t depths[] = { 0, 1, 2, 3, 4, 8, 16, 32 };
	struct seed s = make_seed("rgb", plain);

	mutate_nothing(h, &s);
	for (uint8_t type = 0; type <= 7; type++)
		for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
			uint8_t kind[] = { depths[i], type };

			seed_try(h, &s,
				 bytes_set(s.file,
					   seed_find(&s, "IHDR")->data_at + 8,
					   kind, sizeof(kind)),
				 "type-%u-of-%u-bits", type, depths[i]);
		}
	seed_free(&s);
}

static void try_sizes(struct hostile *h)
{
	static const uint32_t sides[][2] = {
		{ WIDTH, HEIGHT - 1 },
		{ WIDTH, HEIGHT * 2 },
		{ HEIGHT, WIDTH },
		{ 1024, 1024 },
		{ 1024, 1025 },
		{ 65500, 16 },
		{ 16, 65500 },
		{ 65501, 1 },
		{ 65536, 65536 },
		{ INT32_MAX, 1 },
		{ INT32_MAX, INT32_MAX },
		{ 0x80000000, 1 },
	};
	struct seed s = make_seed("rgb", plain);

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		uint8_t size[8];

		bytes_put_number(size, sides[i][0], 4, false);
		bytes_put_number(size + 4, sides[i][1], 4, false);
		seed_try(h, &s,
			 bytes_set(s.file, seed_find(&s, "IHDR")->data_at, size,
				   8),
			 "says-%ux%u", sides[i][0], sides[i][1]);
	}
	seed_free(&s);
}

static void try_palette(struct hostile *h)
{
	struct png_spec spec = plain;
	struct seed s;

	spec.type = 3;
	spec.depth = 4;
	spec.colours = 11;
	spec.has_alpha = true;
	s = make_seed("palette", spec);
	mutate_nothing(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, header + 2, 2);
	mutate_bits(h, &s, "IDAT", 8);
	hostile_try(h, s.name, with_chunk(&s, "PLTE", "abc", 3), "two-PLTEs");
	for (uint32_t colours = 0; colours <= 257; colours += 1 + colours * 7) {
		uint8_t entries[3 * 400] = { 0 };
		const struct part *p = seed_find(&s, "PLTE");
		struct bytes without = bytes_without(s.file, p->at, p->bytes);
		struct bytes chunk = { NULL, 0 };

		png_add(&chunk, "PLTE", entries, 3 * (size_t)colours);
		hostile_try(
			h, s.name,
			bytes_insert(without, p->at, chunk.data, chunk.count),
			"%u-colours", colours);
		free(chunk.data);
		free(without.data);
	}
	seed_free(&s);
}

static void try_interlaced(struct hostile *h)
{
	struct png_spec spec = plain;
	struct seed s;

	spec.type = 0;
	spec.depth = 16;
	spec.is_interlaced = spec.has_alpha = true;
	s = make_seed("interlaced", spec);
	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_numbers(h, &s, header, ARRAY_SIZE(header));
	mutate_bits(h, &s, "IDAT", 8);
	seed_free(&s);
}

/* --- Deflated data --- */

static struct bytes deflated(const void *data, size_t count)
{
	uLongf bytes = compressBound(count);
	struct bytes b = { malloc(bytes), 0 };

	CHECK(b.data != NULL);
	CHECK_NUMBER(compress2(b.data, &bytes, data, count, 6), ==, Z_OK);
	b.count = bytes;
	return b;
}

/* Takes the data. */
static void try_data(struct hostile *h, struct bytes data, const char *name)
{
	hostile_try(h, "data", png_make_of(&plain, data), "%s", name);
}

enum { ROW_BYTES = 1 + 3 * WIDTH, RAW_BYTES = ROW_BYTES * HEIGHT };

/* Rows with these filters, and more or fewer bytes than the header says. */
static void try_rows(struct hostile *h)
{
	static const int tried[] = { 0, 1, 4, 5, 6, 127, 255 };
	uint8_t raw[2 * RAW_BYTES] = { 0 };
	static const struct {
		const char *name;
		size_t count;
	} sizes[] = {
		{ "no-row", 0 },
		{ "half-a-row", ROW_BYTES / 2 },
		{ "a-row", ROW_BYTES },
		{ "a-row-less", RAW_BYTES - ROW_BYTES },
		{ "a-byte-less", RAW_BYTES - 1 },
		{ "a-byte-more", RAW_BYTES + 1 },
		{ "twice-the-rows", 2 * RAW_BYTES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(tried); i++) {
		char name[32];

		raw[3 * ROW_BYTES] = (uint8_t)tried[i];
		(void)snprintf(name, sizeof(name), "filter-%d", tried[i]);
		try_data(h, deflated(raw, RAW_BYTES), name);
	}
	raw[3 * ROW_BYTES] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		try_data(h, deflated(raw, sizes[i].count), sizes[i].name);
}

/* The head and the sum of zlib's format, and blocks that cannot be. */
static void try_zlib(struct hostile *h)
{
	static const uint8_t heads[][2] = { { 0x78, 0x9d }, { 0x79, 0x9c },
					    { 0x88, 0x1c }, { 0x78, 0xbb },
					    { 0x08, 0x1d }, { 0, 0 } };
	static const char *const names[] = { "head-sum",   "method-9",
					     "window-64K", "dictionary",
					     "window-256", "head-0" };
	static const struct {
		const char *name, *text;
		size_t count;
	} blocks[] = {
		{ "empty", "", 0 },
		{ "head-only", "\x78\x9c", 2 },
		{ "block-of-type-3", "\x78\x9c\7", 3 },
		{ "stored-sizes-differ", "\x78\x9c\1\5\0\5\0abcde", 12 },
		{ "stored-cut", "\x78\x9c\1\377\377\0\0abcde", 12 },
		{ "stored-of-0", "\x78\x9c\1\0\0\377\377\0\0\0\1", 11 },
		{ "distance-before-begin", "\x78\x9c\3\2\0\0\0\0", 8 },
		{ "codes-of-0-bits", "\x78\x9c\5\0\0\0\0\0\0\0\0\0", 12 },
		{ "codes-too-many",
		  "\x78\x9c\5\340\377\377\377\377\377\377\377"
		  "\377",
		  12 },
	};
	uint8_t raw[RAW_BYTES] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct bytes b = deflated(raw, sizeof(raw));

		memcpy(b.data, heads[i], 2);
		try_data(h, b, names[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		try_data(h, bytes_of(blocks[i].text, blocks[i].count),
			 blocks[i].name);
	for (size_t i = 1; i <= 4; i++) {
		struct bytes b = deflated(raw, sizeof(raw));
		char name[32];

		(void)snprintf(name, sizeof(name), "sum-cut-by-%zu", i);
		b.count -= i;
		try_data(h, b, name);
	}
	for (size_t i = 1; i <= 4; i++) {
		struct bytes b = deflated(raw, sizeof(raw));
		char name[32];

		(void)snprintf(name, sizeof(name), "sum-byte-%zu", i);
		b.data[b.count - i] ^= 0x10;
		try_data(h, b, name);
	}
	try_data(h, png_deflate_tables(RAW_BYTES), "a-table-for-each-byte");
}

static void try_chunks(struct hostile *h)
{
	static const struct {
		const char *name, *letters, *data;
		size_t count;
	} chunks[] = {
		{ "gAMA-0", "gAMA", "\0\0\0\0", 4 },
		{ "gAMA-max", "gAMA", "\377\377\377\377", 4 },
		{ "gAMA-short", "gAMA", "\0\0\1", 3 },
		{ "gAMA-22", "gAMA", "\0\0\x55\xf0", 4 },
		{ "cHRM-short", "cHRM", "\0\0\0\1", 4 },
		{ "cHRM-0", "cHRM",
		  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		  "\0",
		  32 },
		{ "sRGB-9", "sRGB", "\11", 1 },
		{ "sRGB-empty", "sRGB", "", 0 },
		{ "cICP-sRGB", "cICP", "\1\15\0\1", 4 },
		{ "cICP-0", "cICP", "\0\0\0\0", 4 },
		{ "cICP-max", "cICP", "\377\377\377\377", 4 },
		{ "cICP-YCbCr", "cICP", "\1\15\1\1", 4 },
		{ "cICP-PQ", "cICP", "\11\20\0\1", 4 },
		{ "tRNS-short", "tRNS", "\0\1\0", 3 },
		{ "tRNS-long", "tRNS", "\0\1\0\1\0\1\0\1", 8 },
		{ "bKGD-empty", "bKGD", "", 0 },
		{ "hIST-empty", "hIST", "", 0 },
		{ "PLTE-of-rgb-broken", "PLTE", "ab", 2 },
		{ "acTL-0", "acTL", "\0\0\0\0\0\0\0\0", 8 },
		{ "acTL-2", "acTL", "\0\0\0\2\0\0\0\0", 8 },
		{ "acTL-max", "acTL", "\377\377\377\377\377\377\377\377", 8 },
		{ "acTL-short", "acTL", "\0\0\0\2", 4 },
		{ "fcTL-short", "fcTL", "\0\0", 2 },
		{ "IHDR-again", "IHDR", "\0\0\0\1\0\0\0\1\10\2\0\0\0", 13 },
		{ "IEND-early", "IEND", "", 0 },
		{ "IDAT-empty", "IDAT", "", 0 },
		{ "letter-0", "ab\0d", "", 0 },
		{ "letter-space", "ab d", "", 0 },
		{ "critical-unknown", "ABcD", "", 0 },
		{ "third-letter-small", "abcd", "", 0 },
		{ "CgBI", "CgBI", "\x50\0\x20\2", 4 },
	};
	struct seed s = make_seed("rgb", plain);

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		hostile_try(h, "rgb",
			    with_chunk(&s, chunks[i].letters, chunks[i].data,
				       chunks[i].count),
			    "with-%s", chunks[i].name);
	seed_free(&s);
}

/* --- Profiles, EXIF --- */

static struct bytes put_exif(const struct seed *s, const void *data,
			     size_t count)
{
	return with_chunk(s, "eXIf", data, count);
}

static struct bytes put_profile(const struct seed *s, const void *data,
				size_t count)
{
	struct bytes packed = deflated(data, count), chunk, file;

	chunk = bytes_insert(packed, 0, "a\0\0", 3);
	file = with_chunk(s, "iCCP", chunk.data, chunk.count);
	free(packed.data);
	free(chunk.data);
	return file;
}

static void try_profile_chunks(struct hostile *h, const struct seed *s)
{
	uint8_t name[120];
	static const struct {
		const char *name, *data;
		size_t count;
	} chunks[] = {
		{ "empty", "", 0 },
		{ "name-only", "name", 4 },
		{ "no-data", "name\0\0", 6 },
		{ "no-name", "\0\0\x78\x9c\3\0\0\0\0\1", 10 },
		{ "method-1", "name\0\1\x78\x9c\3\0\0\0\0\1", 14 },
		{ "of-0-bytes", "name\0\0\x78\x9c\3\0\0\0\0\1", 14 },
		{ "no-zlib", "name\0\0nothing", 13 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++)
		hostile_try(
			h, s->name,
			with_chunk(s, "iCCP", chunks[i].data, chunks[i].count),
			"iCCP-%s", chunks[i].name);
	memset(name, 'a', sizeof(name));
	hostile_try(h, s->name, with_chunk(s, "iCCP", name, sizeof(name)),
		    "iCCP-long-name");
}

static void try_metadata(struct hostile *h)
{
	struct seed s = make_seed("rgb", plain);

	mutate_exif(h, &s, put_exif);
	mutate_profile(h, &s, put_profile);
	try_profile_chunks(h, &s);
	seed_free(&s);
}

/* --- Many --- */

static void try_many(struct hostile *h)
{
	static const struct {
		const char *name, *letters;
		uint32_t count;
	} many[] = { { "30000-empty-tEXts", "tEXt", 30000 },
		     { "40000-empty-tEXts", "tEXt", 40000 },
		     { "40000-empty-IDATs", "IDAT", 40000 } };
	struct seed s = make_seed("rgb", plain);

	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		struct bytes all = { NULL, 0 }, one = { NULL, 0 };

		png_add(&one, many[i].letters, NULL, 0);
		all.data = malloc(one.count * many[i].count);
		CHECK(all.data != NULL);
		for (uint32_t k = 0; k < many[i].count; k++)
			memcpy(all.data + k * one.count, one.data, one.count);
		hostile_try(h, "rgb",
			    bytes_insert(s.file, seed_find(&s, "IDAT")->at,
					 all.data, one.count * many[i].count),
			    "%s", many[i].name);
		free(all.data);
		free(one.data);
	}
	seed_free(&s);
}

void hostile_png(struct hostile *h)
{
	try_structure(h);
	try_kinds(h);
	try_sizes(h);
	try_chunks(h);
	try_metadata(h);
	try_many(h);
	try_rows(h);
	try_zlib(h);
	try_palette(h);
	try_interlaced(h);
}
