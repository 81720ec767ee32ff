/* SPDX-License-Identifier: MIT */
/*
 * Hostile AVIFs.  Places in the file are numbers in the box "iloc", so what
 * makes the boxes before the picture longer or shorter breaks them, too, except
 * where shifted() is used.
 */
#include "imgops/test/hostile/hostile.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 8 };

/* What is before the boxes in a box.  SIZE_MAX: it has none. */
static size_t inner_at(const char *type)
{
	static const struct {
		char type[5];
		size_t at;
	} kinds[] = { { "meta", 4 }, { "iref", 4 }, { "iinf", 6 },
		      { "iprp", 0 }, { "ipco", 0 }, { "moov", 0 },
		      { "trak", 0 }, { "mdia", 0 }, { "minf", 0 },
		      { "stbl", 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(type, kinds[i].type) == 0)
			return kinds[i].at;
	return SIZE_MAX;
}

/* Boxes within others come after these. */
static void find_boxes(struct seed *s)
{
	size_t at = 0, end = s->file.count;

	for (uint32_t outer = 0; outer == 0 || outer <= s->part_count;
	     outer++) {
		if (outer > 0) {
			const struct part *p = &s->parts[outer - 1];
			size_t inner = inner_at(p->name);

			end = p->at + p->bytes;
			at = inner == SIZE_MAX ? end : p->data_at + inner;
		}
		while (at < end) {
			size_t bytes = (size_t)bytes_number(s->file.data + at,
							    4, false);
			char type[5] = { 0 };
			struct part *p;

			memcpy(type, s->file.data + at + 4, 4);
			p = seed_part(s, type, at, bytes);
			p->data_at = at + HEAD_BYTES;
			p->size_at = at;
			p->size_bytes = 4;
			p->name_at = at + 4;
			p->is_inner = outer > 0;
			at += bytes;
		}
	}
}

static struct seed open_seed(const struct hostile *h, const char *name)
{
	struct seed s = seed_of(name, hostile_seed(h, name));

	find_boxes(&s);
	return s;
}

/* --- One picture --- */

static const struct number numbers[] = {
	{ "ftyp", "brand", 0, 4 },       { "ftyp", "version", 4, 4 },
	{ "hdlr", "type", 8, 4 },        { "pitm", "item", 4, 2 },
	{ "iloc", "version", 0, 1 },     { "iloc", "sizes", 4, 1 },
	{ "iloc", "base-size", 5, 1 },   { "iloc", "count", 6, 2 },
	{ "iloc", "item", 8, 2 },        { "iloc", "file", 10, 2 },
	{ "iloc", "extents", 12, 2 },    { "iloc", "offset", 14, 4 },
	{ "iloc", "length", 18, 4 },     { "iinf", "count", 4, 2 },
	{ "infe", "version", 0, 1 },     { "infe", "item", 4, 2 },
	{ "infe", "protection", 6, 2 },  { "infe", "type", 8, 4 },
	{ "ispe", "width", 4, 4 },       { "ispe", "height", 8, 4 },
	{ "pixi", "channels", 4, 1 },    { "pixi", "depth", 5, 1 },
	{ "av1C", "marker", 0, 1 },      { "av1C", "profile", 1, 1 },
	{ "colr", "kind", 0, 4 },        { "colr", "primaries", 4, 2 },
	{ "colr", "curve", 6, 2 },       { "colr", "matrix", 8, 2 },
	{ "colr", "range", 10, 1 },      { "ipma", "version", 0, 1 },
	{ "ipma", "count", 4, 4 },       { "ipma", "item", 8, 2 },
	{ "ipma", "properties", 10, 1 }, { "ipma", "first", 11, 1 },
	{ "ipma", "third", 13, 1 },
};

/* The sides of "ispe" together. */
static void try_sizes(struct hostile *h, const struct seed *s)
{
	static const uint32_t sides[][2] = {
		{ 16, 12 },
		{ 24, 32 },
		{ 31, 24 },
		{ 33, 24 },
		{ 64, 48 },
		{ 1024, 1024 },
		{ 1024, 1025 },
		{ 65500, 16 },
		{ 65501, 1 },
		{ 65536, 65536 },
		{ UINT32_MAX, UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		uint8_t size[8];

		bytes_put_number(size, sides[i][0], 4, false);
		bytes_put_number(size + 4, sides[i][1], 4, false);
		hostile_try(h, s->name,
			    bytes_set(s->file,
				      seed_find(s, "ispe")->data_at + 4, size,
				      8),
			    "says-%ux%u", sides[i][0], sides[i][1]);
	}
}

static void add_to(struct bytes file, size_t at, size_t more)
{
	bytes_put_number(file.data + at,
			 bytes_number(file.data + at, 4, false) + more, 4,
			 false);
}

/* Insert bytes before the picture, whose place is made right. */
static struct bytes shifted(const struct seed *s, size_t at, const void *data,
			    size_t count)
{
	size_t place = seed_find(s, "iloc")->data_at + 14;
	struct bytes b = bytes_insert(s->file, at, data, count);

	CHECK(at != place);
	add_to(b, at < place ? place + count : place, count);
	return b;
}

/* The picture's colours become a profile, at the end of "ipco". */
static struct bytes put_profile(const struct seed *s, const void *data,
				size_t count)
{
	static const uint8_t head[] = "\0\0\0\0colrprof";
	enum { PROFILE_HEAD_BYTES = 12, PROPERTY = 5, NCLX = 4 };
	const struct part *ipco = seed_find(s, "ipco");
	struct bytes box = bytes_of(head, PROFILE_HEAD_BYTES);
	struct bytes whole = bytes_insert(box, box.count, data, count), file;
	uint8_t *places;

	bytes_put_number(whole.data, whole.count, 4, false);
	file = shifted(s, ipco->at + ipco->bytes, whole.data, whole.count);
	add_to(file, ipco->at, whole.count);
	add_to(file, seed_find(s, "iprp")->at, whole.count);
	add_to(file, seed_find(s, "meta")->at, whole.count);
	places = file.data + seed_find(s, "ipma")->data_at + whole.count + 11;
	CHECK_NUMBER(places[3], ==, NCLX);
	places[3] = PROPERTY;
	free(box.data);
	free(whole.data);
	return file;
}

/* Many boxes, and boxes in boxes, before "meta". */
static void try_many(struct hostile *h, const struct seed *s)
{
	enum { MANY = 30000 };
	size_t at = seed_find(s, "meta")->at, count = MANY * HEAD_BYTES;
	uint8_t *all = malloc(count);

	CHECK(all != NULL);
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * HEAD_BYTES, "\0\0\0\10free", HEAD_BYTES);
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "30000-empty-boxes");
	for (size_t i = 0; i < MANY; i++) {
		memcpy(all + i * HEAD_BYTES, "\0\0\0\0iprp", HEAD_BYTES);
		bytes_put_number(all + i * HEAD_BYTES, count - i * HEAD_BYTES,
				 4, false);
	}
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "30000-boxes-in-boxes");
	for (size_t i = 0; i < MANY; i++)
		memcpy(all + i * HEAD_BYTES, "\0\0\0\10ispe", HEAD_BYTES);
	bytes_put_number(all, count, 4, false);
	memcpy(all + 4, "meta", 4);
	hostile_try(h, s->name, shifted(s, at, all, count),
		    "meta-of-30000-boxes-first");
	free(all);
}

static void try_boxes(struct hostile *h, const struct seed *s)
{
	static const struct {
		const char *name, *text;
		size_t count;
	} boxes[] = {
		{ "meta-empty-first", "\0\0\0\14meta\0\0\0\0", 12 },
		{ "free-of-64-bits", "\0\0\0\1free\0\0\0\0\0\0\0\20", 16 },
		{ "free-of-0-in-64-bits", "\0\0\0\1free\0\0\0\0\0\0\0\0", 16 },
		{ "free-of-7-bytes", "\0\0\0\7free", 8 },
		{ "free-to-the-end", "\0\0\0\0free", 8 },
		{ "moov-empty", "\0\0\0\10moov", 8 },
		{ "mdat-first", "\0\0\0\10mdat", 8 },
		{ "ftyp-again", "\0\0\0\14ftypheic", 12 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(boxes); i++)
		hostile_try(h, s->name,
			    shifted(s, seed_find(s, "meta")->at, boxes[i].text,
				    boxes[i].count),
			    "%s", boxes[i].name);
}

static void try_plain(struct hostile *h)
{
	struct seed s = open_seed(h, "plain");

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, numbers, ARRAY_SIZE(numbers));
	mutate_all_bits(h, &s, "av1C", 8, 24);
	mutate_all_bits(h, &s, "mdat", 0, 64);
	mutate_bits(h, &s, "mdat", 8);
	mutate_ends(h, &s);
	try_sizes(h, &s);
	try_boxes(h, &s);
	try_many(h, &s);
	/* Without the codes of colours, which the profile replaces. */
	s.name = "profile";
	hostile_try(h, s.name, put_profile(&s, "", 0), "intact");
	mutate_profile(h, &s, put_profile);
	seed_free(&s);
}

/* --- Several items --- */

static const struct number alpha_numbers[] = {
	{ "auxl", "from", 0, 2 },
	{ "auxl", "count", 2, 2 },
	{ "auxl", "to", 4, 2 },
	{ "auxC", "name", 4, 4 },
	{ "pixi.2", "channels", 4, 1 },
	{ "pixi.2", "depth", 5, 1 },
	{ "iloc", "offset-of-alpha", 28, 4 },
	{ "iloc", "length-of-alpha", 32, 4 },
};

static const struct number grid_numbers[] = {
	{ "dimg", "from", 0, 2 },    { "dimg", "count", 2, 2 },
	{ "dimg", "first", 4, 2 },   { "dimg", "second", 6, 2 },
	{ "ispe", "width", 4, 4 },   { "ispe", "height", 8, 4 },
	{ "ispe.2", "width", 4, 4 }, { "ispe.2", "height", 8, 4 },
	{ "mdat", "version", 0, 1 }, { "mdat", "flags", 1, 1 },
	{ "mdat", "rows", 2, 1 },    { "mdat", "columns", 3, 1 },
	{ "mdat", "width", 4, 2 },   { "mdat", "height", 6, 2 },
	{ "iloc", "length", 18, 4 },
};

static void try_items(struct hostile *h)
{
	struct seed s = open_seed(h, "alpha");

	mutate_nothing(h, &s);
	mutate_numbers(h, &s, alpha_numbers, ARRAY_SIZE(alpha_numbers));
	mutate_bits(h, &s, "mdat", 8);
	seed_free(&s);
	s = open_seed(h, "grid");
	mutate_nothing(h, &s);
	mutate_numbers(h, &s, grid_numbers, ARRAY_SIZE(grid_numbers));
	mutate_bits(h, &s, "mdat", 8);
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "infe.2")->data_at + 8,
			      "grid", 4),
		    "of-a-grid");
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "dimg")->data_at + 4,
			      "\0\1\0\1\0\1\0\1", 8),
		    "of-itself");
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "dimg")->data_at + 4,
			      "\0\2\0\2\0\2\0\2", 8),
		    "of-one-cell");
	seed_free(&s);
}

/* --- Transforms and sequences --- */

static const struct number turned_numbers[] = {
	{ "clap", "width", 0, 4 },  { "clap", "width-by", 4, 4 },
	{ "clap", "height", 8, 4 }, { "clap", "height-by", 12, 4 },
	{ "clap", "left", 16, 4 },  { "clap", "left-by", 20, 4 },
	{ "clap", "top", 24, 4 },   { "clap", "top-by", 28, 4 },
	{ "irot", "angle", 0, 1 },  { "imir", "axis", 0, 1 },
	{ "av1C", "depth", 2, 1 },  { "pixi", "depth", 5, 1 },
};

static const struct number sequence_numbers[] = {
	{ "ftyp", "brand", 0, 4 },  { "mvhd", "timescale", 20, 8 },
	{ "tkhd", "flags", 0, 4 },  { "mdhd", "timescale", 20, 4 },
	{ "stco", "count", 4, 4 },  { "stco", "offset", 8, 4 },
	{ "stsc", "count", 4, 4 },  { "stsc", "samples", 12, 4 },
	{ "stsz", "size", 4, 4 },   { "stsz", "count", 8, 4 },
	{ "stsz", "first", 12, 4 }, { "stts", "count", 4, 4 },
	{ "stsd", "count", 4, 4 },  { "stsd", "size", 8, 4 },
};

static void try_others(struct hostile *h)
{
	struct seed s = open_seed(h, "turned");

	mutate_nothing(h, &s);
	mutate_numbers(h, &s, turned_numbers, ARRAY_SIZE(turned_numbers));
	mutate_bits(h, &s, "mdat", 8);
	seed_free(&s);
	s = open_seed(h, "sequence");
	mutate_nothing(h, &s);
	mutate_numbers(h, &s, sequence_numbers, ARRAY_SIZE(sequence_numbers));
	for (uint32_t i = 0; i < s.part_count; i++) {
		const struct part *p = &s.parts[i];

		hostile_try(h, s.name, bytes_set(s.file, p->name_at, "free", 4),
			    "%s-is-free", p->name);
	}
	seed_free(&s);
}

void hostile_avif(struct hostile *h)
{
	try_plain(h);
	try_items(h);
	try_others(h);
}
