/* SPDX-License-Identifier: MIT */
/* Hostile GIFs. */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#include "imgops/test/gifs.h"

#include <stdlib.h>
#include <string.h>

enum { SCREEN_BYTES = 13, PICTURE_BYTES = 10, EXTENSION_BYTES = 2 };

static size_t table_bytes(uint8_t packed)
{
	return (packed & 0x80) != 0 ? 3u << ((packed & 7) + 1) : 0;
}

/* Data in blocks, each after its size, up to one of size 0. */
static size_t data_end(struct bytes file, size_t at)
{
	while (file.data[at] != 0)
		at += 1u + file.data[at];
	return at + 1;
}

static void find_blocks(struct seed *s, size_t at)
{
	const uint8_t *d = s->file.data;

	while (d[at] != ';') {
		size_t end = at + EXTENSION_BYTES;
		struct part *p;

		if (d[at] == '!') {
			p = seed_part(s, "extension", at,
				      data_end(s->file, end) - at);
			p->data_at = end;
		} else {
			end = at + PICTURE_BYTES;
			(void)seed_part(s, "picture", at, PICTURE_BYTES);
			if (table_bytes(d[end - 1]) > 0)
				(void)seed_part(s, "own-colours", end,
						table_bytes(d[end - 1]));
			end += table_bytes(d[end - 1]);
			(void)seed_part(s, "code-size", end, 1);
			p = seed_part(s, "data", end + 1,
				      data_end(s->file, end + 1) - end - 1);
			p->data_at = p->at + 1;
			p->size_at = p->at;
			p->size_bytes = 1;
		}
		at = p->at + p->bytes;
	}
	(void)seed_part(s, "trailer", at, 1);
}

static struct seed make_seed(const char *name, const struct gif_spec *spec)
{
	struct seed s = seed_of(name, gif_make(spec));
	size_t colours = table_bytes(s.file.data[10]);

	s.is_little_endian = true;
	(void)seed_part(&s, "signature", 0, 6);
	(void)seed_part(&s, "screen", 6, SCREEN_BYTES - 6);
	(void)seed_part(&s, "colours", SCREEN_BYTES, colours);
	find_blocks(&s, SCREEN_BYTES + colours);
	return s;
}

static const struct number numbers[] = {
	{ "screen", "width", 0, 2 },          { "screen", "height", 2, 2 },
	{ "screen", "packed", 4, 1 },         { "screen", "background", 5, 1 },
	{ "screen", "aspect", 6, 1 },         { "extension", "size", 0, 1 },
	{ "extension", "packed", 1, 1 },      { "extension", "delay", 2, 2 },
	{ "extension", "clear-index", 4, 1 }, { "extension", "end", 5, 1 },
	{ "picture", "left", 1, 2 },          { "picture", "top", 3, 2 },
	{ "picture", "width", 5, 2 },         { "picture", "height", 7, 2 },
	{ "picture", "packed", 9, 1 },        { "code-size", "bits", 0, 1 },
};

static const struct gif_spec plain = { .screen = { 23, 17 },
				       .width = 23,
				       .height = 17,
				       .clear_index = -1,
				       .frames = 1 };

static void try_plain(struct hostile *h)
{
	struct seed s = make_seed("plain", &plain);

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, numbers, ARRAY_SIZE(numbers));
	mutate_bits(h, &s, "signature", 12);
	mutate_all_bits(h, &s, "extension", 0, 16);
	mutate_bits(h, &s, "data", 24);
	mutate_ends(h, &s);
	seed_free(&s);
}

static void try_animation(struct hostile *h)
{
	struct gif_spec spec = plain;
	struct seed s;

	spec.is_interlaced = spec.has_own_colours = true;
	spec.clear_index = 5;
	spec.frames = 2;
	spec.left = 3;
	s = make_seed("animation", &spec);
	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, numbers + 5, 11);
	mutate_bits(h, &s, "data", 8);
	seed_free(&s);
}

static void try_sizes(struct hostile *h)
{
	/* The screen, and the picture's place and size. */
	static const uint32_t sizes[][6] = {
		{ 0, 0, 0, 0, 23, 17 },
		{ 1, 1, 0, 0, 23, 17 },
		{ 22, 17, 0, 0, 23, 17 },
		{ 1024, 1024, 0, 0, 23, 17 },
		{ 1024, 1025, 0, 0, 23, 17 },
		{ 65500, 16, 0, 0, 23, 16 },
		{ 65535, 65535, 0, 0, 23, 17 },
		{ 23, 17, 100, 100, 23, 17 },
		{ 23, 17, 65000, 0, 23, 17 },
		{ 23, 17, 65535, 65535, 23, 17 },
		{ 23, 17, 0, 0, 17, 23 },
		{ 23, 17, 0, 0, 1000, 1000 },
		{ 23, 17, 0, 0, 65535, 1 },
		{ 23, 17, 0, 0, 0, 17 },
		{ 23, 17, 0, 0, 23, 0 },
	};
	struct seed s = make_seed("plain", &plain);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const uint32_t *n = sizes[i];
		struct bytes b = bytes_of(s.file.data, s.file.count);
		uint8_t *picture = b.data + seed_find(&s, "picture")->at + 1;

		bytes_put_number(b.data + 6, n[0], 2, true);
		bytes_put_number(b.data + 8, n[1], 2, true);
		for (size_t k = 0; k < 4; k++)
			bytes_put_number(picture + 2 * k, n[2 + k], 2, true);
		hostile_try(h, "plain", b, "%ux%u-at-%u-%u-on-%ux%u", n[4],
			    n[5], n[2], n[3], n[0], n[1]);
	}
	seed_free(&s);
}

/* --- Codes --- */

#define SCREEN "GIF89a\4\0\4\0\x81\0\0abcdefghijkl"
#define PICTURE ",\0\0\0\0\4\0\4\0\0"

/* Codes of the given numbers of bits, in one block of data. */
static void try_codes(struct hostile *h, const char *name, uint8_t least_bits,
		      const uint16_t (*codes)[2], size_t count)
{
	uint8_t data[260] = { 0 };
	struct bytes head = bytes_of(SCREEN PICTURE, 25 + 10), file;
	size_t bits = 0;

	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < codes[i][1]; k++, bits++)
			data[2 + bits / 8] |=
				(uint8_t)((codes[i][0] >> k & 1) << bits % 8);
	data[0] = least_bits;
	data[1] = (uint8_t)((bits + 7) / 8);
	file = bytes_insert(head, head.count, data, 2 + (bits + 7) / 8 + 1);
	free(head.data);
	hostile_try(h, "codes", file, "%s", name);
}

#define CODES(name, ...)                                                       \
	do {                                                                   \
		static const uint16_t codes[][2] = __VA_ARGS__;                \
                                                                               \
		try_codes(h, name, 2, codes, ARRAY_SIZE(codes));               \
	} while (0)

/* Of 2 bits: 4 clears the table, 5 ends; the first new code is 6. */
static void try_tables(struct hostile *h)
{
	CODES("intact", { { 4, 3 },
			  { 1, 3 },
			  { 6, 3 },
			  { 7, 3 },
			  { 8, 4 },
			  { 9, 4 },
			  { 0, 4 },
			  { 5, 4 } });
	CODES("nothing", { { 0, 0 } });
	CODES("end-at-once", { { 5, 3 } });
	CODES("clear-and-end", { { 4, 3 }, { 5, 3 } });
	CODES("clears-only", { { 4, 3 }, { 4, 3 }, { 4, 3 }, { 4, 3 } });
	CODES("no-clear-first", { { 1, 3 },
				  { 6, 3 },
				  { 7, 3 },
				  { 8, 4 },
				  { 9, 4 },
				  { 0, 4 },
				  { 5, 4 } });
	CODES("first-code-is-new", { { 4, 3 }, { 6, 3 }, { 5, 3 } });
	CODES("code-not-yet", { { 4, 3 }, { 1, 3 }, { 7, 3 }, { 5, 3 } });
	CODES("end-early", { { 4, 3 }, { 1, 3 }, { 6, 3 }, { 5, 3 } });
	CODES("more-than-pixels", { { 4, 3 },
				    { 1, 3 },
				    { 6, 3 },
				    { 7, 3 },
				    { 8, 4 },
				    { 9, 4 },
				    { 10, 4 },
				    { 11, 4 },
				    { 5, 4 } });
	CODES("no-end", { { 4, 3 },
			  { 1, 3 },
			  { 6, 3 },
			  { 7, 3 },
			  { 8, 4 },
			  { 9, 4 },
			  { 0, 4 } });
}

static void try_code_sizes(struct hostile *h)
{
	static const uint16_t codes[][2] = { { 4, 3 }, { 1, 3 }, { 6, 3 } };

	for (uint8_t bits = 0; bits < 14; bits++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "size-%u", bits);
		try_codes(h, name, bits, codes, ARRAY_SIZE(codes));
	}
}

/* --- Blocks --- */

static void try_blocks(struct hostile *h)
{
#define DATA "\2\4\x8c\x8f\x09\x05\0"
	static const struct {
		const char *name, *text;
		size_t count;
	} files[] = {
#define FILE_OF(name, text) { name, text, sizeof(text) - 1 }
		FILE_OF("no-picture", SCREEN ";"),
		FILE_OF("no-colours", "GIF89a\4\0\4\0\1\0\0" PICTURE DATA ";"),
		FILE_OF("few-colours",
			"GIF89a\4\0\4\0\x80\0\0abcdef" PICTURE DATA ";"),
		FILE_OF("unknown-block", SCREEN "?" PICTURE DATA ";"),
		FILE_OF("zeros-between", SCREEN "\0\0\0" PICTURE DATA ";"),
		FILE_OF("comment", SCREEN "!\376\2ab\0" PICTURE DATA ";"),
		FILE_OF("comment-empty", SCREEN "!\376\0" PICTURE DATA ";"),
		FILE_OF("comment-open", SCREEN "!\376\2ab"),
		FILE_OF("comment-swallows",
			SCREEN "!\376\377ab" PICTURE DATA ";"),
		FILE_OF("unknown-extension",
			SCREEN "!\1\2ab\0" PICTURE DATA ";"),
		FILE_OF("loops", SCREEN
			"!\377\13NETSCAPE2.0\3\1\0\0\0" PICTURE DATA ";"),
		FILE_OF("loops-short",
			SCREEN "!\377\13NETSCAPE2.0\1\1\0" PICTURE DATA ";"),
		FILE_OF("control-short", SCREEN "!\371\1\1\0" PICTURE DATA ";"),
		FILE_OF("control-long",
			SCREEN "!\371\6\1\0\0\1\0\0\0" PICTURE DATA ";"),
		FILE_OF("control-twice", SCREEN
			"!\371\4\1\0\0\1\0!\371\4\0\0\0\0\0" PICTURE DATA ";"),
		FILE_OF("control-after-picture",
			SCREEN PICTURE DATA "!\371\4\1\0\0\1\0;"),
		FILE_OF("extension-in-GIF87a",
			"GIF87a\4\0\4\0\x81\0\0abcdefghijkl"
			"!\371\4\1\0\0\1\0" PICTURE DATA ";"),
		FILE_OF("data-in-blocks-of-1",
			SCREEN PICTURE "\2\1\x8c\1\x8f\1\x09\1\x05\0;"),
		FILE_OF("two-screens", SCREEN SCREEN PICTURE DATA ";"),
#undef FILE_OF
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		hostile_try(h, "blocks",
			    bytes_of(files[i].text, files[i].count), "%s",
			    files[i].name);
}

/* A block of `count` bytes, again and again before or after the picture. */
static void try_many(struct hostile *h, const char *name, const void *block,
		     size_t count, bool is_after)
{
	enum { MANY = 30000 };
	struct seed s = make_seed("plain", &plain);
	const struct part *before =
		seed_find(&s, is_after ? "trailer" : "picture");
	uint8_t *all = malloc(MANY * count);

	CHECK(all != NULL);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * count, block, count);
	hostile_try(h, "plain",
		    bytes_insert(s.file, before->at, all, MANY * count), "%s",
		    name);
	free(all);
	seed_free(&s);
}

void hostile_gif(struct hostile *h)
{
	try_plain(h);
	try_sizes(h);
	try_many(h, "30000-comments", "!\376\0", 3, false);
	try_many(h, "30000-controls", "!\371\4\1\0\0\1\0", 8, false);
	try_many(h, "30000-more-pictures", PICTURE "\2\0", 12, true);
	try_animation(h);
	try_tables(h);
	try_code_sizes(h);
	try_blocks(h);
}
