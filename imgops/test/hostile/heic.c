/* SPDX-License-Identifier: MIT */
/*
 * Hostile HEICs.  Most are made of PCM, see heics.h; "coded" was written by
 * heif-enc, whose pictures of less than 64 pixels are grids of one cell.
 */
#include "imgops/test/hostile/boxes.h"

#include "base/test/check.h"
#include "imgops/test/heics.h"

#include <stdlib.h>
#include <string.h>

/* A NAL unit, which has its size before it. */
static size_t add_unit(struct seed *s, const char *name, size_t at,
		       uint32_t size_bytes)
{
	size_t bytes =
		(size_t)bytes_number(s->file.data + at, size_bytes, false);
	struct part *p = seed_part(s, name, at, size_bytes + bytes);

	p->data_at = at + size_bytes;
	p->size_at = at;
	p->size_bytes = size_bytes;
	p->is_inner = true;
	return at + p->bytes;
}

/* A file with one picture, whose parts are also its parameters and slices. */
static struct seed open_units(const char *name, struct bytes file)
{
	static const char *const sets[] = { "VPS", "SPS", "PPS" };
	enum { HEAD_BYTES = 23, ARRAY_HEAD_BYTES = 3 };
	struct seed s = boxes_seed(name, file);
	size_t at = seed_find(&s, "hvcC")->data_at + HEAD_BYTES, end;

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		at = add_unit(&s, sets[i], at + ARRAY_HEAD_BYTES, 2);
	at = seed_find(&s, "mdat")->data_at;
	end = seed_find(&s, "mdat")->at + seed_find(&s, "mdat")->bytes;
	while (at < end)
		at = add_unit(&s, "slice", at, 4);
	return s;
}

/* --- Boxes --- */

static const struct number numbers[] = {
	{ "ftyp", "brand", 0, 4 },       { "ftyp", "version", 4, 4 },
	{ "hdlr", "type", 8, 4 },        { "pitm", "item", 4, 2 },
	{ "iloc", "version", 0, 1 },     { "iloc", "sizes", 4, 1 },
	{ "iloc", "base-size", 5, 1 },   { "iloc", "count", 6, 2 },
	{ "iloc", "item", 8, 2 },        { "iloc", "method", 10, 2 },
	{ "iloc", "file", 12, 2 },       { "iloc", "base", 14, 4 },
	{ "iloc", "extents", 18, 2 },    { "iloc", "offset", 20, 4 },
	{ "iloc", "length", 24, 4 },     { "iinf", "count", 4, 2 },
	{ "infe", "version", 0, 1 },     { "infe", "item", 4, 2 },
	{ "infe", "protection", 6, 2 },  { "infe", "type", 8, 4 },
	{ "ispe", "width", 4, 4 },       { "ispe", "height", 8, 4 },
	{ "hvcC", "version", 0, 1 },     { "hvcC", "chroma", 16, 1 },
	{ "hvcC", "depth", 17, 1 },      { "hvcC", "chroma-depth", 18, 1 },
	{ "hvcC", "size-bytes", 21, 1 }, { "hvcC", "arrays", 22, 1 },
	{ "hvcC", "type", 23, 1 },       { "hvcC", "units", 24, 2 },
	{ "colr", "kind", 0, 4 },        { "colr", "primaries", 4, 2 },
	{ "colr", "curve", 6, 2 },       { "colr", "matrix", 8, 2 },
	{ "colr", "range", 10, 1 },      { "ipma", "version", 0, 1 },
	{ "ipma", "count", 4, 4 },       { "ipma", "item", 8, 2 },
	{ "ipma", "properties", 10, 1 }, { "ipma", "first", 11, 1 },
	{ "ipma", "second", 12, 1 },
};

static void try_plain(struct hostile *h)
{
	const struct heic_spec spec = { .width = 40, .height = 24 };
	struct seed s = open_units("plain", heic_make(&spec));

	mutate_nothing(h, &s);
	mutate_cuts(h, &s);
	mutate_parts(h, &s);
	mutate_numbers(h, &s, numbers, ARRAY_SIZE(numbers));
	mutate_bits(h, &s, "VPS", 16);
	mutate_bits(h, &s, "PPS", 24);
	mutate_all_bits(h, &s, "slice", 0, 40);
	mutate_ends(h, &s);
	boxes_mutate(h, &s);
	seed_free(&s);
}

/* --- NAL units --- */

struct unit {
	const void *data;
	size_t count;
};

#define UNIT(text)                                                             \
	{                                                                      \
		text, sizeof(text) - 1                                         \
	}

static struct unit unit_of(const struct seed *s, const char *name)
{
	const struct part *p = seed_find(s, name);

	return (struct unit){ s->file.data + p->data_at,
			      p->bytes - p->size_bytes };
}

/* The file with these units as its only picture. */
static void try_units(struct hostile *h, const struct seed *s, const char *name,
		      const struct unit *units, size_t count)
{
	const struct part *mdat = seed_find(s, "mdat");
	struct bytes file = bytes_cut(s->file, mdat->data_at), more;

	for (size_t i = 0; i < count; i++) {
		uint8_t size[4];

		bytes_put_number(size, units[i].count, 4, false);
		more = bytes_insert(file, file.count, size, 4);
		free(file.data);
		file = bytes_insert(more, more.count, units[i].data,
				    units[i].count);
		free(more.data);
	}
	bytes_put_number(file.data + mdat->at, file.count - mdat->at, 4, false);
	bytes_put_number(file.data + seed_find(s, "iloc")->data_at + 24,
			 file.count - mdat->data_at, 4, false);
	hostile_try(h, s->name, file, "%s", name);
}

/* Units that no picture has between its slices. */
static void try_between(struct hostile *h, const struct seed *s)
{
	static const struct {
		const char *name;
		struct unit unit;
	} kinds[] = {
		{ "nothing", UNIT("") },
		{ "one-byte", UNIT("\46") },
		{ "head", UNIT("\46\1") },
		{ "delimiter", UNIT("\106\1\120") },
		{ "end-of-sequence", UNIT("\110\1") },
		{ "end-of-stream", UNIT("\112\1") },
		{ "filler", UNIT("\114\1\377\377\200") },
		{ "message", UNIT("\116\1\5\377\377\377\1\200") },
		{ "unknown", UNIT("\176\1abc") },
		{ "second-layer", UNIT("\46\11abc") },
		{ "layer-63", UNIT("\47\371abc") },
		{ "no-temporal-id", UNIT("\46\0abc") },
		{ "forbidden-bit", UNIT("\246\1abc") },
		{ "inter-slice", UNIT("\2\1\320\200\200") },
		{ "empty-VPS", UNIT("\100\1") },
		{ "empty-SPS", UNIT("\102\1") },
		{ "empty-PPS", UNIT("\104\1") },
		{ "zeros", UNIT("\0\0\0\1\0\0\1\0\0\0") },
		{ "last-zeros", UNIT("\116\1\0\0\3") },
	};
	struct unit units[] = { unit_of(s, "slice"),
				{ "", 0 },
				unit_of(s, "slice.2") };
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		units[1] = kinds[i].unit;
		(void)snprintf(name, sizeof(name), "%s-between", kinds[i].name);
		try_units(h, s, name, units, ARRAY_SIZE(units));
	}
}

/* Parameters of other pictures, before the slices and between them. */
static void try_others(struct hostile *h, const struct seed *s)
{
	static const struct {
		const char *name;
		struct heic_spec spec;
	} others[] = {
		{ "same", { .width = 40, .height = 24 } },
		{ "48x24", { .width = 48, .height = 24 } },
		{ "80x24", { .width = 80, .height = 24 } },
		{ "160x96", { .width = 160, .height = 96 } },
		{ "444", { .width = 40, .height = 24, .format = 444 } },
		{ "400", { .width = 40, .height = 24, .format = 400 } },
		{ "10-bits", { .width = 40, .height = 24, .depth = 10 } },
	};
	static const char *const sets[] = { "SPS", "PPS" };
	struct unit first = unit_of(s, "slice"), second = unit_of(s, "slice.2");
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct seed o = open_units("", heic_make(&others[i].spec));

		for (size_t k = 0; k < ARRAY_SIZE(sets); k++) {
			struct unit set = unit_of(&o, sets[k]);

			(void)snprintf(name, sizeof(name), "%s-of-%s-before",
				       sets[k], others[i].name);
			try_units(h, s, name,
				  (struct unit[]){ set, first, second }, 3);
			(void)snprintf(name, sizeof(name), "%s-of-%s-between",
				       sets[k], others[i].name);
			try_units(h, s, name,
				  (struct unit[]){ first, set, second }, 3);
		}
		seed_free(&o);
	}
}

static void try_slices(struct hostile *h, const struct seed *s)
{
	struct unit first = unit_of(s, "slice"), second = unit_of(s, "slice.2");

	try_units(h, s, "none", NULL, 0);
	try_units(h, s, "first-alone", &first, 1);
	try_units(h, s, "second-alone", &second, 1);
	try_units(h, s, "second-first", (struct unit[]){ second, first }, 2);
	try_units(h, s, "first-twice", (struct unit[]){ first, first, second },
		  3);
	try_units(h, s, "second-twice",
		  (struct unit[]){ first, second, second }, 3);
	try_units(h, s, "two-pictures",
		  (struct unit[]){ first, second, first, second }, 4);
}

/* Many units, and large ones: what libde265 keeps of them is memory. */
static void try_many(struct hostile *h, const struct seed *s)
{
	enum { MANY = 1000, TOO_MANY = 20000, LARGE_BYTES = 500000 };
	struct unit first = unit_of(s, "slice"), second = unit_of(s, "slice.2");
	struct unit *many = calloc(TOO_MANY, sizeof(*many));
	uint8_t *large = calloc(1, LARGE_BYTES);

	CHECK(many != NULL && large != NULL);
	try_units(h, s, "1000-empty", many, MANY);
	try_units(h, s, "20000-empty", many, TOO_MANY);
	for (size_t i = 0; i < TOO_MANY; i++)
		many[i] = (struct unit)UNIT("\116\1");
	try_units(h, s, "20000-messages", many, TOO_MANY);
	for (size_t i = 0; i < MANY; i++)
		many[i] = i % 2 == 0 ? first : second;
	try_units(h, s, "500-pictures", many, MANY);
	for (size_t i = 1; i < MANY; i++)
		many[i] = second;
	try_units(h, s, "999-slices", many, MANY);
	memcpy(large, "\116\1\5", 3);
	many[0] = first;
	many[1] = (struct unit){ large, LARGE_BYTES };
	many[2] = second;
	try_units(h, s, "large-message", many, 3);
	for (size_t i = 4; i < LARGE_BYTES; i += 3)
		large[i] = 3;
	try_units(h, s, "large-stuffed-message", many, 3);
	memcpy(large, second.data, second.count);
	try_units(h, s, "large-slice", many, 2);
	free(large);
	free(many);
}

static void try_hevc(struct hostile *h)
{
	const struct heic_spec spec = { .width = 40, .height = 24 };
	struct seed s = open_units("units", heic_make(&spec));

	mutate_nothing(h, &s);
	try_slices(h, &s);
	try_many(h, &s);
	try_between(h, &s);
	try_others(h, &s);
	seed_free(&s);
	s = open_units("coded", hostile_seed(h, "coded"));
	mutate_nothing(h, &s);
	mutate_bits(h, &s, "SPS", 120);
	mutate_bits(h, &s, "PPS", 20);
	mutate_all_bits(h, &s, "slice", 16, 40);
	mutate_bits(h, &s, "slice", 40);
	seed_free(&s);
}

/* --- Several items, and what is done with them --- */

static const struct number alpha_numbers[] = {
	{ "auxl", "from", 0, 2 },
	{ "auxl", "count", 2, 2 },
	{ "auxl", "to", 4, 2 },
	{ "prem", "from", 0, 2 },
	{ "prem", "to", 4, 2 },
	{ "auxC", "name", 4, 4 },
	{ "ispe.2", "width", 4, 4 },
	{ "hvcC.2", "chroma", 16, 1 },
	{ "hvcC.2", "depth", 17, 1 },
	{ "iloc", "offset-of-alpha", 40, 4 },
	{ "iloc", "length-of-alpha", 44, 4 },
};

/* Four cells; the grid is item 5. */
static const struct number phone_numbers[] = {
	{ "pitm", "item", 4, 2 },
	{ "dimg", "from", 0, 2 },
	{ "dimg", "count", 2, 2 },
	{ "dimg", "first", 4, 2 },
	{ "dimg", "last", 10, 2 },
	{ "idat", "version", 0, 1 },
	{ "idat", "flags", 1, 1 },
	{ "idat", "rows", 2, 1 },
	{ "idat", "columns", 3, 1 },
	{ "idat", "width", 4, 2 },
	{ "idat", "height", 6, 2 },
	{ "ispe", "width", 4, 4 },
	{ "ispe", "height", 8, 4 },
	{ "ispe.2", "width", 4, 4 },
	{ "ispe.2", "height", 8, 4 },
	{ "irot", "angle", 0, 1 },
	{ "thmb", "from", 0, 2 },
	{ "thmb", "to", 4, 2 },
	{ "auxl", "from", 0, 2 },
	{ "auxl", "to", 4, 2 },
	{ "auxC", "name", 4, 4 },
	{ "cdsc", "from", 0, 2 },
	{ "cdsc", "to", 4, 2 },
	{ "iloc", "method-of-grid", 90, 2 },
	{ "iloc", "extents-of-grid", 98, 2 },
	{ "iloc", "offset-of-grid", 100, 4 },
	{ "iloc", "length-of-grid", 104, 4 },
	{ "iloc", "offset-of-cell-2", 40, 4 },
	{ "iloc", "length-of-cell-2", 44, 4 },
};

static void try_items(struct hostile *h)
{
	const struct heic_spec alpha = { .width = 24,
					 .height = 16,
					 .has_alpha = true,
					 .is_multiplied = true };
	const struct heic_spec phone = { .width = 60,
					 .height = 58,
					 .cell = 32,
					 .has_no_box = true,
					 .is_turned = true,
					 .angle = 3,
					 .has_gainmap = true,
					 .has_depth = true,
					 .has_thumbnail = true,
					 .has_exif = true };
	struct seed s = boxes_seed("alpha", heic_make(&alpha));

	mutate_nothing(h, &s);
	mutate_numbers(h, &s, alpha_numbers, ARRAY_SIZE(alpha_numbers));
	mutate_bits(h, &s, "mdat", 8);
	seed_free(&s);
	s = boxes_seed("phone", heic_make(&phone));
	mutate_nothing(h, &s);
	mutate_numbers(h, &s, phone_numbers, ARRAY_SIZE(phone_numbers));
	mutate_bits(h, &s, "mdat", 8);
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "infe")->data_at + 8,
			      "grid", 4),
		    "of-a-grid");
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "dimg")->data_at + 4,
			      "\0\5\0\5\0\5\0\5", 8),
		    "of-itself");
	hostile_try(h, s.name,
		    bytes_set(s.file, seed_find(&s, "dimg")->data_at + 4,
			      "\0\2\0\2\0\2\0\2", 8),
		    "of-one-cell");
	seed_free(&s);
}

/* Each item is in two pieces. */
static const struct number wide_numbers[] = {
	{ "clap", "width", 0, 4 },          { "clap", "width-by", 4, 4 },
	{ "clap", "height", 8, 4 },         { "clap", "height-by", 12, 4 },
	{ "clap", "left", 16, 4 },          { "clap", "left-by", 20, 4 },
	{ "clap", "top", 24, 4 },           { "clap", "top-by", 28, 4 },
	{ "irot", "angle", 0, 1 },          { "imir", "axis", 0, 1 },
	{ "hvcC", "chroma", 16, 1 },        { "hvcC", "depth", 17, 1 },
	{ "hvcC", "chroma-depth", 18, 1 },  { "iloc", "extents", 18, 2 },
	{ "iloc", "offset", 20, 4 },        { "iloc", "length", 24, 4 },
	{ "iloc", "second-offset", 28, 4 }, { "iloc", "second-length", 32, 4 },
};

static void try_wide(struct hostile *h)
{
	const struct heic_spec spec = { .width = 33,
					.height = 25,
					.format = 422,
					.depth = 10,
					.is_in_pieces = true,
					.is_turned = true,
					.angle = 1,
					.is_mirrored = true,
					.is_cut = true,
					.aperture = { 21, 1, 17, 1, 0, 1, 0,
						      1 } };
	struct seed s = boxes_seed("wide", heic_make(&spec));

	mutate_nothing(h, &s);
	mutate_numbers(h, &s, wide_numbers, ARRAY_SIZE(wide_numbers));
	mutate_bits(h, &s, "mdat", 8);
	seed_free(&s);
}

void hostile_heic(struct hostile *h)
{
	try_plain(h);
	try_hevc(h);
	try_items(h);
	try_wide(h);
}
