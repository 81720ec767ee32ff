/* SPDX-License-Identifier: MIT */
/*
 * A picture is one slice for each block of 32 x 32, so each slice begins with
 * the same two bits of arithmetic code, 0x8680: "not divided" and "PCM"; and
 * ends with 0xfe80: "the last block".
 */
#include "imgops/test/heics.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

enum { SLICE_PX = 32, ROOM_FIRST = 4096 };

/* --- Bits and boxes --- */

struct writer {
	uint8_t *data; /* of malloc() */
	size_t count, room;
	uint32_t bits; /* of the last byte that are free */
};

static void make_room(struct writer *w, size_t count)
{
	if (w->room - w->count >= count)
		return;
	w->room = 2 * (w->room + count) + ROOM_FIRST;
	w->data = realloc(w->data, w->room);
	CHECK(w->data != NULL);
}

static void put_bits(struct writer *w, uint64_t value, uint32_t bits)
{
	while (bits-- > 0) {
		if (w->bits == 0) {
			make_room(w, 1);
			w->data[w->count++] = 0;
			w->bits = 8;
		}
		w->bits--;
		w->data[w->count - 1] |= (value >> bits & 1) << w->bits;
	}
}

/* "ue(v)" */
static void put_golomb(struct writer *w, uint32_t value)
{
	uint32_t bits = 1;

	while (value + 1 >= 2u << (bits - 1))
		bits++;
	put_bits(w, value + 1, 2 * bits - 1);
}

static void put(struct writer *w, uint64_t value, uint32_t bytes)
{
	w->bits = 0;
	put_bits(w, value, 8 * bytes);
}

static void put_data(struct writer *w, const void *data, size_t count)
{
	make_room(w, count);
	if (count > 0)
		memcpy(w->data + w->count, data, count);
	w->count += count;
	w->bits = 0;
}

/* Set the number of four bytes at `at`. */
static void put_size(struct writer *w, size_t at, size_t bytes)
{
	for (uint32_t i = 0; i < 4; i++)
		w->data[at + i] = (uint8_t)(bytes >> (24 - 8 * i));
}

/* Where the box's size is, for end(). */
static size_t begin(struct writer *w, const char *type)
{
	size_t at = w->count;

	put(w, 0, 4);
	put_data(w, type, 4);
	return at;
}

static size_t begin_full(struct writer *w, const char *type, uint32_t version)
{
	size_t at = begin(w, type);

	put(w, version << 24, 4);
	return at;
}

static void end(struct writer *w, size_t at)
{
	put_size(w, at, w->count - at);
}

/* --- HEVC --- */

struct picture {
	const struct heic_spec *spec;
	uint32_t left, top; /* within the whole */
	uint32_t width, height;
	uint32_t format, depth;
	uint32_t plane; /* the first plane is this one of the whole; 3: alpha */
};

static uint32_t h_factor(uint32_t format)
{
	return format == 420 || format == 422 ? 2 : 1;
}

static uint32_t v_factor(uint32_t format)
{
	return format == 420 ? 2 : 1;
}

static uint32_t blocks(uint32_t px)
{
	return (px + SLICE_PX - 1) / SLICE_PX;
}

/* A NAL unit of this type. */
static void put_nal(struct writer *w, uint32_t type, const struct writer *from)
{
	uint32_t zeros = 0;

	put(w, type << 9 | 1, 2);
	for (size_t i = 0; i < from->count; i++) {
		if (zeros >= 2 && from->data[i] <= 3) {
			put(w, 3, 1);
			zeros = 0;
		}
		put(w, from->data[i], 1);
		zeros = from->data[i] == 0 ? zeros + 1 : 0;
	}
}

static void put_profile(struct writer *w)
{
	put_bits(w, 4, 8); /* with extensions of the range */
	put_bits(w, 1u << 27, 32);
	put_bits(w, 9, 4); /* frames */
	put_bits(w, 0, 44);
	put_bits(w, 120, 8);
}

static void put_vps(struct writer *w)
{
	put_bits(w, 3, 6);
	put_bits(w, 0, 9);
	put_bits(w, 0x1ffff, 17);
	put_profile(w);
	put_bits(w, 1, 1);
	for (int i = 0; i < 3; i++)
		put_golomb(w, 0);
	put_bits(w, 0, 6);
	put_golomb(w, 0);
	put_bits(w, 0, 2);
	put_bits(w, 1, 1);
}

static void put_colours(struct writer *w, const struct heic_spec *spec)
{
	put(w, spec->primaries == 0 ? 1 : spec->primaries, 2);
	put(w, spec->curve == 0 ? 13 : spec->curve, 2);
	put(w,
	    spec->matrix == 0             ? 6 :
	    spec->matrix == HEIC_IDENTITY ? 0 :
					    spec->matrix,
	    2);
	put(w, spec->is_limited ? 0 : 0x80, 1);
}

static void put_vui(struct writer *w, const struct heic_spec *spec)
{
	put_bits(w, 0, 2);
	put_bits(w, 1, 1);
	put_bits(w, 5, 3);
	put_bits(w, spec->is_limited ? 0 : 1, 1);
	put_bits(w, 1, 1);
	put_bits(w, 2, 8);
	put_bits(w, 2, 8);
	put_bits(w,
		 spec->matrix == 0             ? 6 :
		 spec->matrix == HEIC_IDENTITY ? 0 :
						 spec->matrix,
		 8);
	put_bits(w, 0, 7);
}

static void put_sps(struct writer *w, const struct picture *p)
{
	uint32_t width = blocks(p->width + p->spec->lie_px) * SLICE_PX;
	uint32_t height = blocks(p->height) * SLICE_PX;
	uint32_t chroma = p->format == 400 ? 0 :
			  p->format == 422 ? 2 :
			  p->format == 444 ? 3 :
					     1;

	put_bits(w, 1, 8); /* one layer */
	put_profile(w);
	put_golomb(w, 0);
	put_golomb(w, chroma);
	if (chroma == 3)
		put_bits(w, 0, 1);
	put_golomb(w, width);
	put_golomb(w, height);
	put_bits(w, 1, 1);
	put_golomb(w, 0);
	put_golomb(w, (width - p->width) / h_factor(p->format));
	put_golomb(w, 0);
	put_golomb(w, (height - p->height) / v_factor(p->format));
	put_golomb(w, p->depth - 8);
	put_golomb(w, p->depth - 8);
	put_golomb(w, 0);
	put_bits(w, 1, 1);
	for (int i = 0; i < 3; i++) /* buffers */
		put_golomb(w, 0);
	put_golomb(w, 2); /* blocks of 32 alone; transforms of 4 to 32 */
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_golomb(w, 3);
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_bits(w, 1, 4); /* PCM */
	put_bits(w, p->depth - 1, 4);
	put_bits(w, p->depth - 1, 4);
	put_golomb(w, 2);
	put_golomb(w, 0);
	put_bits(w, 1, 1);
	put_golomb(w, 0);
	put_bits(w, 0, 3);
	put_bits(w, 1, 1);
	put_vui(w, p->spec);
	put_bits(w, 0, 1);
	put_bits(w, 1, 1);
}

static void put_pps(struct writer *w)
{
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_bits(w, 0, 7);
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_bits(w, 0, 3);
	put_golomb(w, 0);
	put_golomb(w, 0);
	put_bits(w, 0, 7);
	put_bits(w, 5, 3); /* no filter of edges */
	put_bits(w, 0, 2);
	put_golomb(w, 0);
	put_bits(w, 0, 2);
	put_bits(w, 1, 1);
}

static void put_samples(struct writer *w, const struct picture *p,
			uint32_t plane, uint32_t left, uint32_t top)
{
	uint32_t h = plane == 0 ? 1 : h_factor(p->format);
	uint32_t v = plane == 0 ? 1 : v_factor(p->format);

	for (uint32_t y = 0; y < SLICE_PX / v; y++)
		for (uint32_t x = 0; x < SLICE_PX / h; x++)
			put_bits(w,
				 heic_sample(p->spec, p->plane + plane,
					     (p->left + left) / h + x,
					     (p->top + top) / v + y),
				 p->depth);
}

static void put_slice(struct writer *w, const struct picture *p, uint32_t at)
{
	uint32_t across = blocks(p->width + p->spec->lie_px);
	uint32_t count = across * blocks(p->height), bits = 0;

	while (1u << bits < count)
		bits++;
	put_bits(w, at == 0 ? 1 : 0, 1);
	put_bits(w, 0, 1);
	put_golomb(w, 0);
	if (at > 0)
		put_bits(w, at, bits);
	put_golomb(w, 2);
	put_golomb(w, 0);
	put_bits(w, 1, 1);
	put(w, 0x8680, 2);
	for (uint32_t i = 0; i < (p->format == 400 ? 1 : 3); i++)
		put_samples(w, p, i, at % across * SLICE_PX,
			    at / across * SLICE_PX);
	put(w, 0xfe80, 2);
}

static void put_hevc(struct writer *w, const struct picture *p)
{
	uint32_t count = blocks(p->width + p->spec->lie_px) * blocks(p->height);
	struct writer slice = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		size_t at = w->count;

		slice.count = slice.bits = 0;
		put_slice(&slice, p, i);
		put(w, 0, 4);
		put_nal(w, 19, &slice);
		put_size(w, at, w->count - at - 4);
	}
	free(slice.data);
}

/* The box "hvcC". */
static void put_config(struct writer *w, const struct picture *p)
{
	size_t box = begin(w, "hvcC");
	uint32_t chroma = p->format == 400 ? 0 :
			  p->format == 422 ? 2 :
			  p->format == 444 ? 3 :
					     1;

	put(w, 0x0104, 2);
	put(w, 0x0800000090000000, 8);
	put(w, 0, 2);
	put(w, 120, 1);
	put(w, 0xf000fc, 3);
	put(w, 0xfc | chroma, 1);
	put(w, 0xf8 | (p->depth - 8), 1);
	put(w, 0xf8 | (p->depth - 8), 1);
	put(w, 0x00000f03, 4);
	for (uint32_t type = 32; type <= 34; type++) {
		struct writer raw = { 0 }, nal = { 0 };

		if (type == 32)
			put_vps(&raw);
		else if (type == 33)
			put_sps(&raw, p);
		else
			put_pps(&raw);
		put_nal(&nal, type, &raw);
		put(w, 0x80 | type, 1);
		put(w, 1, 2);
		put(w, nal.count, 2);
		put_data(w, nal.data, nal.count);
		free(raw.data);
		free(nal.data);
	}
	end(w, box);
}

/* --- Items --- */

enum { ITEMS_MAX = 1100, PROPERTIES_MAX = 24 };

struct item {
	const char *type;
	uint8_t properties[8]; /* from 1 */
	uint32_t property_count;
	size_t offset, bytes;  /* of its data, in the data of all */
	const char *reference; /* NULL: none */
	uint32_t target;
};

struct maker {
	const struct heic_spec *spec;
	struct item items[ITEMS_MAX]; /* number 1 is the first */
	uint32_t item_count;
	struct writer properties;
	uint32_t property_count;
	struct writer data, inside; /* in "mdat", in "idat" */
	struct {                    /* references of grids */
		uint32_t from, first, count;
	} grids[3];
	uint32_t grid_count;
	uint32_t map, tone; /* items; 0: none */
};

static struct item *add_item(struct maker *m, const char *type)
{
	struct item *i = &m->items[m->item_count++];

	CHECK_NUMBER(m->item_count, <=, ITEMS_MAX);
	*i = (struct item){ .type = type, .offset = m->data.count };
	return i;
}

static uint8_t begin_property(struct maker *m, const char *type, size_t *box)
{
	*box = begin(&m->properties, type);
	return (uint8_t)++m->property_count;
}

static void give(struct item *i, uint8_t property)
{
	CHECK_NUMBER(i->property_count, <, sizeof(i->properties));
	i->properties[i->property_count++] = property;
}

static uint8_t add_size(struct maker *m, uint32_t width, uint32_t height)
{
	size_t box;
	uint8_t number = begin_property(m, "ispe", &box);

	put(&m->properties, 0, 4);
	put(&m->properties, width, 4);
	put(&m->properties, height, 4);
	end(&m->properties, box);
	return number;
}

static uint8_t add_config(struct maker *m, const struct picture *p)
{
	put_config(&m->properties, p);
	return (uint8_t)++m->property_count;
}

static uint8_t add_aux(struct maker *m, const char *name)
{
	size_t box;
	uint8_t number = begin_property(m, "auxC", &box);

	put(&m->properties, 0, 4);
	put_data(&m->properties, name, strlen(name) + 1);
	end(&m->properties, box);
	return number;
}

static void give_colours(struct maker *m, struct item *i)
{
	const struct heic_spec *spec = m->spec;
	struct writer *w = &m->properties;
	size_t box;

	if (spec->icc.count > 0) {
		give(i, begin_property(m, "colr", &box));
		put_data(w, "prof", 4);
		put_data(w, spec->icc.data, spec->icc.count);
		end(w, box);
	}
	if (!spec->has_no_box) {
		give(i, begin_property(m, "colr", &box));
		put_data(w, "nclx", 4);
		put_colours(w, spec);
		end(w, box);
	}
}

/* Properties of what is shown, in the order that MIAF wants. */
static void give_view(struct maker *m, struct item *i)
{
	const struct heic_spec *spec = m->spec;
	struct writer *w = &m->properties;
	size_t box;

	if (!spec->has_coloured_cells)
		give_colours(m, i);
	if (spec->is_cut) {
		give(i, begin_property(m, "clap", &box));
		for (int k = 0; k < 8; k++)
			put(w, spec->aperture[k], 4);
		end(w, box);
	}
	if (spec->second_px > 0)
		give(i, add_size(m, spec->second_px, spec->second_px));
	if (spec->is_turned) {
		give(i, begin_property(m, "irot", &box));
		put(w, spec->angle, 1);
		end(w, box);
	}
	if (spec->is_mirrored) {
		give(i, begin_property(m, "imir", &box));
		put(w, spec->mirror, 1);
		end(w, box);
	}
}

static uint32_t add_picture(struct maker *m, const struct picture *p,
			    uint8_t size, uint8_t config)
{
	struct item *i = add_item(m, "hvc1");

	give(i, size);
	give(i, config);
	put_hevc(&m->data, p);
	i->bytes = m->data.count - i->offset;
	return m->item_count;
}

/* The picture or its alpha: one item or a grid.  Returns its number. */
static uint32_t add_whole(struct maker *m, const struct picture *p)
{
	uint32_t side = m->spec->cell, columns, rows, first;
	struct picture cell = *p;
	uint8_t whole = add_size(m, p->width, p->height), size, config;
	struct item *grid;

	if (side == 0)
		return add_picture(m, p, whole, add_config(m, p));
	cell.width = cell.height = side;
	size = add_size(m, side, side);
	config = add_config(m, &cell);
	columns = (p->width + side - 1) / side;
	rows = (p->height + side - 1) / side;
	first = m->item_count + 1;
	for (uint32_t i = 0; i < columns * rows; i++) {
		cell.left = i % columns * side;
		cell.top = i / columns * side;
		(void)add_picture(m, &cell, size, config);
		if (m->spec->has_coloured_cells && i == 0)
			give_colours(m, &m->items[m->item_count - 1]);
	}
	grid = add_item(m, "grid");
	give(grid, whole);
	grid->offset = m->inside.count;
	grid->bytes = 8;
	put(&m->inside, 0, 2);
	put(&m->inside, rows - 1, 1);
	put(&m->inside, columns - 1, 1);
	put(&m->inside, p->width, 2);
	put(&m->inside, p->height, 2);
	m->grids[m->grid_count].from = m->item_count;
	m->grids[m->grid_count].first = first;
	m->grids[m->grid_count++].count = columns * rows;
	return m->item_count;
}

/* A small grey picture beside `target`. */
static void add_beside(struct maker *m, const char *reference, uint32_t target,
		       const char *aux)
{
	struct picture p = { .spec = m->spec,
			     .width = 32,
			     .height = 32,
			     .format = 400,
			     .depth = 8 };
	struct item *i;

	(void)add_picture(m, &p, add_size(m, 32, 32), add_config(m, &p));
	i = &m->items[m->item_count - 1];
	if (aux != NULL)
		give(i, add_aux(m, aux));
	i->reference = reference;
	i->target = target;
}

/* An item whose data describe `target`. */
static void add_description(struct maker *m, const char *type, uint32_t target,
			    const void *data, size_t bytes)
{
	struct item *i = add_item(m, type);

	put_data(&m->data, data, bytes);
	i->bytes = bytes;
	i->reference = "cdsc";
	i->target = target;
}

/* With an orientation, and Apple's note: room 1.5, gain 1. */
static void add_exif(struct maker *m, uint32_t target)
{
	static const uint8_t tiff[] =
		"\0\0\0\0MM\0*\0\0\0\10"
		"\0\2\1\22\0\3\0\0\0\1\0\6\0\0"
		"\207\151\0\4\0\0\0\1\0\0\0\46\0\0\0\0"
		"\0\1\222\174\0\7\0\0\0\74\0\0\0\70\0\0\0\0"
		"Apple iOS\0\0\1MM\0\2"
		"\0\41\0\12\0\0\0\1\0\0\0\54"
		"\0\60\0\12\0\0\0\1\0\0\0\64"
		"\0\0\0\0\0\0\0\3\0\0\0\2\0\0\0\1\0\0\0\1";

	add_description(m, "Exif", target, tiff, sizeof(tiff) - 1);
}

static void put_quotient(struct writer *w, double value)
{
	put(w, (uint32_t)(int32_t)(value * 64), 4);
	put(w, 64, 4);
}

/* ISO 21496-1: an item that is made of the picture and the map. */
static void add_tone_map(struct maker *m)
{
	const struct img_gain *gain = m->spec->iso;
	struct item *i = add_item(m, "tmap");
	struct writer *w = &m->data;
	size_t box;

	put(w, 0, 5); /* versions */
	put(w,
	    (gain->channel_count > 1 ? 0x80 : 0) |
		    (gain->uses_base_colours ? 0x40 : 0),
	    1);
	put_quotient(w, gain->base_headroom);
	put_quotient(w, gain->other_headroom);
	for (uint32_t c = 0; c < gain->channel_count; c++) {
		put_quotient(w, gain->channels[c].min);
		put_quotient(w, gain->channels[c].max);
		put_quotient(w, gain->channels[c].gamma);
		put_quotient(w, gain->channels[c].base_offset);
		put_quotient(w, gain->channels[c].other_offset);
	}
	i->bytes = w->count - i->offset;
	m->tone = m->item_count;
	if (m->spec->iso_primaries == 0)
		return;
	give(i, begin_property(m, "colr", &box));
	put_data(&m->properties, "nclx", 4);
	put(&m->properties, m->spec->iso_primaries, 2);
	put(&m->properties, 16, 2);
	put(&m->properties, 0, 2);
	put(&m->properties, 0x80, 1);
	end(&m->properties, box);
}

static void add_gainmap(struct maker *m, uint32_t primary)
{
	static const char xmp[] =
		"<rdf:Description HDRGainMap:HDRGainMapVersion=\"131072\" "
		"HDRGainMap:HDRGainMapHeadroom=\"5.25\"/>";
	const struct heic_spec *spec = m->spec;
	uint32_t px = spec->map_px == 0 ? HEIC_TEST_MAP : spec->map_px;
	size_t box;
	struct picture p = { .spec = spec,
			     .width = px,
			     .height = px,
			     .format = spec->is_map_coloured ? 444 : 400,
			     .depth = 8 };

	m->map = add_whole(m, &p);
	if (spec->is_map_turned) {
		give(&m->items[m->map - 1], begin_property(m, "irot", &box));
		put(&m->properties, 1, 1);
		end(&m->properties, box);
	}
	if (spec->has_map_alpha)
		add_beside(m, "auxl", m->map, "urn:mpeg:hevc:2015:auxid:1");
	if (spec->gain == HEIC_GAIN_ISO) {
		add_tone_map(m);
		return;
	}
	give(&m->items[m->map - 1],
	     add_aux(m, "urn:com:apple:photo:2020:aux:hdrgainmap"));
	m->items[m->map - 1].reference = "auxl";
	m->items[m->map - 1].target = primary;
	if (spec->gain == HEIC_GAIN_XMP)
		add_description(m, "mime", m->map, xmp, sizeof(xmp) - 1);
	if (spec->gain == HEIC_GAIN_NOTE)
		add_exif(m, primary);
}

/* --- The file --- */

static bool is_cell(const struct maker *m, uint32_t item)
{
	for (uint32_t i = 0; i < m->grid_count; i++)
		if (item - m->grids[i].first < m->grids[i].count)
			return true;
	return false;
}

static void put_items(struct writer *w, const struct maker *m)
{
	size_t box = begin_full(w, "iinf", 0);

	put(w, m->item_count, 2);
	for (uint32_t i = 0; i < m->item_count; i++) {
		bool is_hidden = is_cell(m, i + 1);
		size_t entry = begin(w, "infe");

		put(w, 2u << 24 | is_hidden, 4);
		put(w, i + 1, 2);
		put(w, 0, 2);
		put_data(w, m->items[i].type, 4);
		put(w, 0, 1);
		if (strcmp(m->items[i].type, "mime") == 0)
			put_data(w, "application/rdf+xml", 20);
		end(w, entry);
	}
	end(w, box);
}

static void put_references(struct writer *w, const struct maker *m,
			   uint32_t primary, uint32_t alpha)
{
	size_t box = begin_full(w, "iref", 0), inner;

	for (uint32_t i = 0; i < m->grid_count; i++) {
		inner = begin(w, "dimg");
		put(w, m->grids[i].from, 2);
		put(w, m->grids[i].count, 2);
		for (uint32_t k = 0; k < m->grids[i].count; k++)
			put(w, m->grids[i].first + k, 2);
		end(w, inner);
	}
	for (uint32_t i = 0; i < m->item_count; i++) {
		if (m->items[i].reference == NULL)
			continue;
		inner = begin(w, m->items[i].reference);
		put(w, i + 1, 2);
		put(w, 1, 2);
		put(w, m->items[i].target, 2);
		end(w, inner);
	}
	if (m->tone > 0) {
		inner = begin(w, "dimg");
		put(w, m->tone, 2);
		put(w, 2, 2);
		put(w, primary, 2);
		put(w, m->map, 2);
		end(w, inner);
	}
	if (m->spec->is_multiplied) {
		inner = begin(w, "prem");
		put(w, primary, 2);
		put(w, 1, 2);
		put(w, alpha, 2);
		end(w, inner);
	}
	end(w, box);
}

static void put_properties(struct writer *w, const struct maker *m)
{
	size_t box = begin(w, "iprp"), inner = begin(w, "ipco");

	put_data(w, m->properties.data, m->properties.count);
	end(w, inner);
	inner = begin_full(w, "ipma", 0);
	put(w, m->item_count, 4);
	for (uint32_t i = 0; i < m->item_count; i++) {
		put(w, i + 1, 2);
		put(w, m->items[i].property_count, 1);
		put_data(w, m->items[i].properties, m->items[i].property_count);
	}
	end(w, inner);
	end(w, box);
}

/* `start`: of the data in the file. */
static void put_locations(struct writer *w, const struct maker *m, size_t start)
{
	size_t box = begin_full(w, "iloc", 1);

	put(w, 0x4440, 2);
	put(w, m->item_count, 2);
	for (uint32_t i = 0; i < m->item_count; i++) {
		const struct item *item = &m->items[i];
		/* Apple has those of grids in "idat". */
		bool is_inside = strcmp(item->type, "grid") == 0;
		bool is_split = m->spec->is_in_pieces && !is_inside;
		size_t first = is_split ? item->bytes / 2 : item->bytes;

		put(w, i + 1, 2);
		put(w, is_inside ? 1 : 0, 2);
		put(w, 0, 2);
		put(w, is_inside ? 0 : start, 4);
		put(w, is_split ? 2 : 1, 2);
		put(w, item->offset, 4);
		put(w, first, 4);
		if (is_split) {
			put(w, item->offset + first, 4);
			put(w, item->bytes - first, 4);
		}
	}
	end(w, box);
}

static void put_meta(struct writer *w, const struct maker *m, uint32_t primary,
		     uint32_t alpha, size_t start)
{
	size_t box = begin_full(w, "meta", 0), inner = begin_full(w, "hdlr", 0);

	put(w, 0, 4);
	put_data(w, "pict", 4);
	put(w, 0, 8);
	put(w, 0, 5);
	end(w, inner);
	inner = begin_full(w, "pitm", 0);
	put(w, primary, 2);
	end(w, inner);
	put_locations(w, m, start);
	put_items(w, m);
	put_references(w, m, primary, alpha);
	put_properties(w, m);
	if (m->tone > 0) {
		size_t group;

		inner = begin(w, "grpl");
		group = begin_full(w, "altr", 0);
		put(w, 1000, 4);
		put(w, 2, 4);
		put(w, m->tone, 4);
		put(w, primary, 4);
		end(w, group);
		end(w, inner);
	}
	inner = begin(w, "idat");
	put_data(w, m->inside.data, m->inside.count);
	end(w, inner);
	end(w, box);
}

static void put_file(struct writer *w, const struct maker *m, uint32_t primary,
		     uint32_t alpha)
{
	size_t box = begin(w, "ftyp"), start = w->count;

	put_data(w, "heic\0\0\0\0mif1heicmiaf", 20);
	end(w, box);
	if (!m->spec->is_at_end) {
		size_t at = w->count;

		/* Its size does not depend on where the data are. */
		put_meta(w, m, primary, alpha, 0);
		start = w->count + 8;
		w->count = at;
		put_meta(w, m, primary, alpha, start);
	}
	box = begin(w, "mdat");
	start = w->count;
	put_data(w, m->data.data, m->data.count);
	end(w, box);
	if (m->spec->is_at_end)
		put_meta(w, m, primary, alpha, start);
}

struct bytes heic_make(const struct heic_spec *spec)
{
	struct maker *m = calloc(1, sizeof(*m));
	struct writer w = { 0 };
	struct picture p = {
		.spec = spec,
		.width = spec->width == 0 ? HEIC_TEST_WIDTH : spec->width,
		.height = spec->height == 0 ? HEIC_TEST_HEIGHT : spec->height,
		.format = spec->format == 0 ? 420 : spec->format,
		.depth = spec->depth == 0 ? 8 : spec->depth,
	};
	uint32_t primary, alpha = 0;

	CHECK(m != NULL);
	m->spec = spec;
	primary = add_whole(m, &p);
	give_view(m, &m->items[primary - 1]);
	if (spec->has_thumbnail)
		add_beside(m, "thmb", primary, NULL);
	if (spec->has_gainmap)
		add_gainmap(m, primary);
	if (spec->has_depth)
		add_beside(m, "auxl", primary, "urn:mpeg:hevc:2015:auxid:2");
	if (spec->has_alpha) {
		p.format = 400;
		p.plane = 3;
		alpha = add_whole(m, &p);
		give(&m->items[alpha - 1],
		     add_aux(m, "urn:mpeg:hevc:2015:auxid:1"));
		m->items[alpha - 1].reference = "auxl";
		m->items[alpha - 1].target = primary;
	}
	if (spec->has_exif)
		add_exif(m, primary);
	put_file(&w, m, primary, alpha);
	free(m->data.data);
	free(m->inside.data);
	free(m->properties.data);
	free(m);
	return (struct bytes){ w.data, w.count };
}

uint32_t heic_sample(const struct heic_spec *spec, uint32_t plane, uint32_t x,
		     uint32_t y)
{
	uint32_t depth = spec->depth == 0 ? 8 : spec->depth;
	uint32_t wide, black = 16u << (depth - 8);

	/* Of all planes a different one, within the range of video. */
	wide = x * 37 + y * 23 + plane * 411;
	wide = black + wide % (black * 13);
	if (plane != 3)
		return spec->is_limited ? wide : wide * 9 / 8;
	return wide - black;
}
