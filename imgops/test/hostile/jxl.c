/* SPDX-License-Identifier: MIT */
/*
 * Hostile JPEG XLs: codestreams, whose fields are of bits and have no ends that
 * could be found, and boxes.
 */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"
#include "imgops/test/jxls.h"

#include <stdlib.h>
#include <string.h>

/* A codestream: its first bits are the headers of the image and of a frame. */
static struct seed open_stream(const struct hostile *h, const char *name,
			       size_t head_bytes)
{
	struct seed s = seed_of(name, hostile_seed(h, name));

	(void)seed_part(&s, "signature", 0, 2);
	(void)seed_part(&s, "head", 2, head_bytes - 2);
	(void)seed_part(&s, "rest", head_bytes, s.file.count - head_bytes);
	return s;
}

static struct seed open_boxes(const char *name, struct bytes file)
{
	struct seed s = seed_of(name, file);
	size_t at = 0;

	while (at < file.count) {
		size_t bytes = (size_t)bytes_number(file.data + at, 4, false);
		char letters[5] = { 0 };
		struct part *p;

		memcpy(letters, file.data + at + 4, 4);
		if (bytes == 0)
			bytes = file.count - at;
		p = seed_part(&s, letters[3] == ' ' ? "JXL" : letters, at,
			      bytes);
		p->data_at = at + 8;
		p->size_at = at;
		p->size_bytes = 4;
		p->name_at = at + 4;
		at += bytes;
	}
	return s;
}

/* Fields of the header that jxl_make() writes for a small lossless picture. */
static const struct {
	const char *name;
	uint32_t first, bits;
} fields[] = {
	{ "is-small", 16, 1 },
	{ "height-bits", 17, 2 },
	{ "height", 19, 9 },
	{ "ratio", 28, 3 },
	{ "width-bits", 31, 2 },
	{ "width", 33, 9 },
	{ "is-default", 42, 1 },
	{ "has-more", 43, 1 },
	{ "is-float", 44, 1 },
	{ "depth", 45, 2 },
	{ "is-16-bits-enough", 47, 1 },
	{ "channels", 48, 2 },
	{ "is-XYB", 50, 1 },
	{ "colours-are-default", 51, 1 },
	{ "extensions", 52, 2 },
	{ "transforms-are-default", 54, 1 },
};

/* Every value, or for many bits some. */
static void try_fields(struct hostile *h, const struct seed *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint32_t bits = fields[i].bits, step = bits > 3 ? 67 : 1;

		for (uint32_t value = 0; value < 1u << bits; value += step) {
			struct bytes b = bytes_of(s->file.data, s->file.count);

			for (uint32_t k = 0; k < bits; k++) {
				size_t at = fields[i].first + k;
				uint8_t bit = (uint8_t)(1u << at % 8);

				b.data[at / 8] &= (uint8_t)~bit;
				if ((value >> k & 1) != 0)
					b.data[at / 8] |= bit;
			}
			hostile_try(h, s->name, b, "%s-is-%u", fields[i].name,
				    value);
		}
	}
}

static void try_lossless(struct hostile *h)
{
	struct seed s = open_stream(h, "lossless", 16);

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	try_fields(h, &s);
	mutate_bits(h, &s, "signature", 4);
	mutate_all_bits(h, &s, "head", 40, 96);
	mutate_bits(h, &s, "rest", 16);
	mutate_ends(h, &s);
	seed_free(&s);
}

static void try_stream(struct hostile *h, const char *name, size_t head_bytes)
{
	struct seed s = open_stream(h, name, head_bytes);

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_all_bits(h, &s, "head", 0, 8 * ((uint32_t)head_bytes - 2));
	mutate_bits(h, &s, "rest", 8);
	seed_free(&s);
}

/* --- Boxes --- */

static const struct number box_numbers[] = {
	{ "JXL", "signature", 0, 4 }, { "ftyp", "brand", 0, 4 },
	{ "ftyp", "version", 4, 4 },  { "ftyp", "compatible", 8, 4 },
	{ "jxlp", "index", 0, 4 },    { "jxlp.2", "index", 0, 4 },
	{ "jxlp.3", "index", 0, 4 },
};

/* Insert a box before the first that has a part of the codestream. */
static void try_box(struct hostile *h, const struct seed *s, const char *what,
		    const char *letters, struct bytes data, size_t claimed)
{
	struct bytes box = { malloc(8 + data.count), 8 + data.count };

	CHECK(box.data != NULL);
	bytes_put_number(box.data, claimed, 4, false);
	memcpy(box.data + 4, letters, 4);
	memcpy(box.data + 8, data.data, data.count);
	hostile_try(h, s->name,
		    bytes_insert(s->file, seed_find(s, "jxlp")->at, box.data,
				 box.count),
		    "%s", what);
	free(box.data);
}

static void try_more_boxes(struct hostile *h, const struct seed *s)
{
	struct bytes stream = hostile_seed(h, "lossless");
	struct bytes none = { stream.data, 0 }, one = { stream.data, 1 };
	struct bytes eight = { (uint8_t *)"\0\0\0\0\0\0\0\20", 8 };

	try_box(h, s, "jxlc-before-jxlp", "jxlc", stream, 8 + stream.count);
	try_box(h, s, "jxlc-empty", "jxlc", none, 8);
	try_box(h, s, "jxlp-empty", "jxlp", none, 8);
	try_box(h, s, "jxlp-of-1-byte", "jxlp", one, 9);
	try_box(h, s, "unknown-to-the-end", "what", one, 0);
	try_box(h, s, "unknown-of-7-bytes", "what", none, 7);
	try_box(h, s, "unknown-of-64-bits", "what", eight, 1);
	try_box(h, s, "brob-empty", "brob", none, 8);
	try_box(h, s, "brob-of-brob", "brob",
		(struct bytes){ (uint8_t *)"brobx", 5 }, 13);
	try_box(h, s, "jbrd-broken", "jbrd", one, 9);
	try_box(h, s, "Exif-broken", "Exif", one, 9);
	try_box(h, s, "ftyp-again", "ftyp", eight, 16);
	try_box(h, s, "jxll-broken", "jxll", none, 8);
	free(stream.data);
}

static void try_many(struct hostile *h, const struct seed *s)
{
	enum { MANY = 30000 };
	uint8_t *all = malloc(MANY * 8);

	CHECK(all != NULL);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * 8, "\0\0\0\10what", 8);
	hostile_try(
		h, s->name,
		bytes_insert(s->file, seed_find(s, "jxlp")->at, all, MANY * 8),
		"30000-empty-boxes");
	free(all);
}

static void try_boxes(struct hostile *h)
{
	struct seed s = open_boxes("boxes", hostile_seed(h, "boxes"));

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, box_numbers, ARRAY_SIZE(box_numbers));
	mutate_bits(h, &s, "jxlp", 8);
	mutate_bits(h, &s, "jxlp.3", 8);
	try_more_boxes(h, &s);
	try_many(h, &s);
	seed_free(&s);
	s = open_boxes("box", jxl_box(hostile_seed(h, "lossless"), 0));
	mutate_nothing(h, &s);
	mutate_parts(h, &s);
	seed_free(&s);
}

/* --- Sizes --- */

static void put_bits(uint8_t *to, size_t *at, uint32_t value, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++, ++*at)
		to[*at / 8] |= (uint8_t)((value >> i & 1) << *at % 8);
}

/* A header that says so, and nothing, or zeros, behind it. */
static void try_sizes(struct hostile *h)
{
	static const uint32_t sizes[][2] = {
		{ 1, 1 },         { 21, 13 },
		{ 1024, 1024 },   { 1024, 1025 },
		{ 65500, 16 },    { 65501, 1 },
		{ 65536, 65536 }, { 1 << 30, 1 },
		{ 1, 1 << 30 },   { 1 << 30, 1 << 30 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		for (size_t tail = 0; tail <= 100; tail += 100) {
			uint8_t file[200] = { 0 };
			size_t at = 0;

			put_bits(file, &at, 0x0aff, 16);
			put_bits(file, &at, 0, 1);
			put_bits(file, &at, 3, 2);
			put_bits(file, &at, sizes[i][1] - 1, 30);
			put_bits(file, &at, 0, 3);
			put_bits(file, &at, 3, 2);
			put_bits(file, &at, sizes[i][0] - 1, 30);
			put_bits(file, &at, 3, 2); /* defaults */
			hostile_try(h, "sizes",
				    bytes_of(file, (at + 7) / 8 + tail),
				    "%ux%u-and-%s", sizes[i][0], sizes[i][1],
				    tail > 0 ? "zeros" : "nothing");
		}
}

void hostile_jxl(struct hostile *h)
{
	try_lossless(h);
	try_boxes(h);
	try_sizes(h);
	try_stream(h, "lossy", 10);
	try_stream(h, "animation", 13);
	try_stream(h, "layers", 9);
}
