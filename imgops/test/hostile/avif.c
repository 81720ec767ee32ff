/* SPDX-License-Identifier: MIT */
#include "imgops/test/hostile/boxes.h"

static struct seed open_seed(const struct hostile *h, const char *name)
{
	return boxes_seed(name, hostile_seed(h, name));
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
	boxes_mutate(h, &s);
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
