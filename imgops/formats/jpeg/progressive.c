/* SPDX-License-Identifier: MIT */
/*
 * In this order: samples of blocks, rows of MCUs, the file.
 *
 * scan_row.c reads the blocks of a row, in one scan after the other.  Most need
 * only the values that idct.h needs.  Where energy is measured, they need some
 * more; blocks that the frame cuts need all (edge.h), and so do all blocks at
 * 8/8.
 */
#include "imgops/formats/jpeg/entropy.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/idct_full.h"
#include "imgops/formats/jpeg/light.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/scan_row.h"
#include "imgops/formats/jpeg/texture.h"

#include <stdlib.h>
#include <string.h>

enum {
	TABLES = NUM_HUFF_TBLS,
	/* Where energy is measured, coefficients before this one are known. */
	MEASURED = IDCT_POSITIONS,
	LARGEST = MEASURED, /* the place of the largest of the others */
	MEASURED_VALUES = MEASURED + 1,
	/* If no coefficient after this one is set, only low ones are. */
	LOW_LAST = 9,
};

struct component {
	struct img_plane *plane;
	uint32_t columns, rows; /* of blocks, in the picture */
	/* Of the current row of MCUs. */
	struct component_row row;
	uint64_t *is_set;
	int16_t *values;
	uint16_t quant[DCTSIZE2];
	uint16_t low_steps[IDCT_COEFFICIENTS]; /* of them, for idct_block() */
	int16_t all_steps[DCTSIZE2];           /* for idct_full.h */
	struct edge edge;
	struct texture texture;
	bool keeps_light;
	uint64_t left_out; /* coefficients before MEASURED */
};

/* One table in a DHT segment. */
struct codes {
	const uint8_t *counts, *symbols; /* NULL: there is no such table */
};

struct progressive {
	const struct memory *memory;
	struct reduction how;
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* of MCUs */
	struct block_count count;
	/* Of a row of MCUs; `all_values`: of blocks that need all. */
	uint64_t *is_set;
	int16_t *values, *all_values, *dc;
	struct layout low, measured, all;
	scan_row_fn *read_row;
	struct scan scans[PROGRESSIVE_SCANS_MAX];
	uint32_t scan_count, scan_count_max;

	/* Used only by find_scans(). */
	struct codes dc_codes[TABLES], ac_codes[TABLES];
	struct scan_table *tables; /* of all scans */
	uint32_t table_count, table_count_max;
	uint32_t restart_interval;
};

/* --- Samples --- */

/*
 * Where idct_row() expects coefficient k.  0: it does not need it.  At 3/8 it
 * is where 4/8 needs it.
 */
static uint8_t low_place(uint32_t k, uint32_t n)
{
	uint32_t at = k < IDCT_POSITIONS ? idct_positions[k] : IDCT_UNUSED;
	uint32_t u = at % IDCT_MAX, v = at / IDCT_MAX;

	if (n > 2)
		return at == IDCT_UNUSED ? 0 : (uint8_t)at;
	return u < n && v < n ? (uint8_t)(v * n + u) : 0;
}

static void make_layouts(struct progressive *p)
{
	uint32_t n = p->how.n, low_values = n > 2 ? IDCT_COEFFICIENTS : n * n;
	uint8_t next = (uint8_t)low_values;

	p->all = (struct layout){ .values = DCTSIZE2, .needed = UINT64_MAX };
	memcpy(p->all.places, idct_order, sizeof(idct_order));
	if (n == DCTSIZE)
		return;
	p->low = (struct layout){ .values = low_values };
	p->measured = (struct layout){ .values = MEASURED_VALUES,
				       .largest = LARGEST };
	for (uint32_t k = 1; k < MEASURED; k++) {
		uint8_t place = low_place(k, n);

		p->low.places[k] = place;
		if (place > 0)
			p->low.needed |= coefficient_bit(k);
		p->measured.needed |= coefficient_bit(k);
		p->measured.places[k] = place > 0 ? place : next++;
	}
}

/* Make the samples of block (x, y), which is cut. */
static void make_cut_samples(uint8_t *out, const struct component *c,
			     const int16_t *values, uint64_t set, uint32_t x,
			     uint32_t y)
{
	int32_t all[DCTSIZE2] = { 0 };

	all[0] = idct_limited(values[0] * c->quant[0]);
	while (set != 0) {
		uint32_t k = coefficient_take(&set), at = idct_order[k];

		all[at] = idct_limited(values[at] * c->quant[k]);
	}
	edge_block(out, c->plane->stride_bytes, all, &c->edge, x, y);
}

/* Without refinements of the coefficients of which only one is known. */
static uint64_t energy_of(const struct component *c, const struct layout *l,
			  const int16_t *values, uint64_t set)
{
	const struct texture *t = &c->texture;
	uint64_t energy =
		texture_energy(t, (MEASURED + DCTSIZE2) / 2, values[LARGEST]);

	for (set &= c->left_out; set != 0;) {
		uint32_t k = coefficient_take(&set);

		energy += texture_energy(t, k, values[l->places[k]]);
	}
	return energy;
}

/* Have the samples of blocks that are not cut keep their light. */
static void keep_light(uint8_t *out, const struct component *c,
		       const struct strip *s, uint32_t n)
{
	for (uint32_t x = 0; x < s->count; x++, out += n)
		light_keep(out, c->plane->stride_bytes, n,
			   energy_of(c, s->layout,
				     s->values + (size_t)x * s->layout->values,
				     s->is_set[x]));
}

/* Make the samples of row `y` of a component's blocks. */
static void make_blocks(const struct component *c, uint32_t y, uint32_t n)
{
	uint32_t in_mcu = y % c->row.down;
	const int16_t *dc = c->row.dc + (size_t)in_mcu * c->row.stride;
	const struct strip *whole = &c->row.strips[in_mcu][0];
	const struct strip *cut = &c->row.strips[in_mcu][1];
	uint8_t *out =
		c->plane->samples + (size_t)y * n * c->plane->stride_bytes;

	idct_row(out, c->plane->stride_bytes, dc, whole->values,
		 whole->layout->values, c->low_steps, n, whole->count);
	if (c->keeps_light)
		keep_light(out, c, whole, n);
	for (uint32_t i = 0; i < cut->count; i++) {
		int16_t *values = cut->values + (size_t)i * DCTSIZE2;
		uint32_t x = whole->count + i;

		values[0] = dc[x];
		make_cut_samples(out + (size_t)x * n, c, values, cut->is_set[i],
				 x, y);
	}
}

/* Of one or two blocks of which these coefficients are not 0. */
static bool make_full_blocks(const struct full_block *blocks, uint32_t count,
			     uint64_t set)
{
	const struct idct_full *idct = idct_full_best();
	bool is_low = set << (LOW_LAST + 1) == 0, fits = true;

	if (set != 0)
		return (is_low ? idct->two_low : idct->two)(&blocks[0],
							    &blocks[count - 1]);
	for (uint32_t i = 0; i < count; i++)
		fits = idct_full_flat(&blocks[i]) && fits;
	return fits;
}

/* As make_blocks(), at 8/8.  False: see idct_full_fn. */
static bool make_full_row(const struct component *c, uint32_t y)
{
	uint32_t in_mcu = y % c->row.down;
	const int16_t *dc = c->row.dc + (size_t)in_mcu * c->row.stride;
	const struct strip *all = &c->row.strips[in_mcu][1];
	size_t stride = c->plane->stride_bytes;
	uint8_t *out = c->plane->samples + (size_t)y * DCTSIZE * stride;
	bool fits = true;

	for (uint32_t x = 0; x < all->count; x += 2) {
		uint32_t count = min_u32(2, all->count - x);
		struct full_block two[2];
		uint64_t set = 0;

		for (uint32_t i = 0; i < count; i++, out += DCTSIZE) {
			int16_t *values =
				all->values + (size_t)(x + i) * DCTSIZE2;

			values[0] = dc[x + i];
			set |= all->is_set[x + i];
			two[i] = (struct full_block){ values, c->all_steps, out,
						      stride };
		}
		fits = make_full_blocks(two, count, set) && fits;
	}
	return fits;
}

/* --- Rows of MCUs --- */

static bool make_row(const struct progressive *p, uint32_t row)
{
	bool fits = true;

	for (uint32_t i = 0; i < p->component_count; i++) {
		const struct component *c = &p->components[i];

		for (uint32_t k = 0; k < c->row.rows; k++) {
			uint32_t y = row * c->row.down + k;

			if (p->how.n == DCTSIZE)
				fits = make_full_row(c, y) && fits;
			else
				make_blocks(c, y, p->how.n);
		}
	}
	return fits;
}

static bool watches_row(const struct progressive *p, uint32_t row)
{
	return p->how.watches_texture &&
	       texture_watches(texture_step(p->rows), row);
}

/* Blocks that are cut are not watched.  False: fine texture has been found. */
static bool watch_row(struct progressive *p)
{
	bool is_fine = false;

	for (uint32_t i = 0; i < p->component_count; i++) {
		struct component *c = &p->components[i];

		for (uint32_t y = 0; y < c->row.rows; y++) {
			struct strip s = c->row.strips[y][0];

			for (; s.count > 0; s.count--) {
				uint64_t set = *s.is_set++;

				texture_add(
					&c->texture,
					energy_of(c, s.layout, s.values, set));
				s.values += s.layout->values;
			}
		}
		is_fine |= texture_is_fine(&c->texture);
	}
	return !is_fine;
}

/* The first of the row's blocks that needs all values. */
static uint32_t first_with_all(const struct progressive *p,
			       const struct component *c, uint32_t y)
{
	return p->how.n == DCTSIZE ? 0 : edge_whole(&c->edge, c->columns, y);
}

/*
 * Say where the blocks of a component are in a row of MCUs: in each row, those
 * that the frame does not cut, then those that need all values.  The first of
 * the latter is at `next`; returns where the one after the last is.
 */
static int16_t *place_blocks(struct progressive *p, struct component *c,
			     uint32_t row, int16_t *next)
{
	bool measures = watches_row(p, row) || c->keeps_light;
	const struct layout *l = measures ? &p->measured : &p->low;
	uint32_t from = row * c->row.down;

	c->row.rows = min_u32(c->row.down, c->rows - from);
	for (uint32_t y = 0; y < c->row.rows; y++) {
		struct strip *s = c->row.strips[y];
		uint32_t first = first_with_all(p, c, from + y);
		size_t at = (size_t)y * c->row.stride;

		s[0] = (struct strip){ l, c->is_set + at,
				       c->values + at * l->values, first };
		s[1] = (struct strip){ &p->all, s->is_set + first, next,
				       c->columns - first };
		next += (size_t)s[1].count * DCTSIZE2;
		memset(s[0].values, 0,
		       (size_t)first * l->values * sizeof(*s->values));
	}
	return next;
}

/* Clear the blocks for a row of MCUs. */
static void clear_row(struct progressive *p, uint32_t row)
{
	int16_t *next = p->all_values;

	memset(p->is_set, 0, p->count.all * sizeof(*p->is_set));
	for (uint32_t i = 0; i < p->component_count; i++)
		next = place_blocks(p, &p->components[i], row, next);
	/* At 8/8, idct_full.h leaves them cleared. */
	if (p->how.n < DCTSIZE || row == 0)
		memset(p->all_values, 0,
		       (size_t)(next - p->all_values) * sizeof(*next));
}

static enum img_err read_rows(struct progressive *p)
{
	for (uint32_t y = 0; y < p->rows; y++) {
		clear_row(p, y);
		for (uint32_t i = 0; i < p->scan_count; i++) {
			if (!p->read_row(&p->scans[i], p->columns, p->memory))
				return IMG_ERR_IRREGULAR;
			memory_pause(p->memory);
		}
		if (watches_row(p, y) && !watch_row(p))
			return IMG_ERR_TEXTURE;
		if (!make_row(p, y))
			return IMG_ERR_IRREGULAR;
		memory_pause(p->memory);
	}
	return IMG_OK;
}

/* --- The file --- */

/* Note the tables of a DHT segment. scans_add() has checked its form. */
static void keep_codes(struct progressive *p, const struct marker *dht)
{
	const uint8_t *d = dht->data, *end = d + dht->bytes;

	while (d < end) {
		struct codes *to = *d >> 4 != 0 ? p->ac_codes : p->dc_codes;
		const uint8_t *symbols = d + 1 + CODE_BITS_MAX;
		uint32_t count = 0;

		for (uint32_t i = 1; i <= CODE_BITS_MAX; i++)
			count += d[i];
		to[*d & 3] = (struct codes){ d, symbols };
		d = symbols + count;
	}
}

/* NULL: there is no such table, it is not valid, or there are too many. */
static const struct scan_table *make_table(struct progressive *p,
					   const struct scan *s,
					   const struct codes codes[TABLES],
					   uint32_t number)
{
	struct scan_table *table = &p->tables[p->table_count];

	if (number >= TABLES || codes[number].counts == NULL ||
	    p->table_count == p->table_count_max)
		return NULL;
	p->table_count++;
	return scan_table_make(table, s, codes[number].counts,
			       codes[number].symbols) ?
		       table :
		       NULL;
}

static struct component *find_component(struct progressive *p, int id,
					const struct jpeg_decompress_struct *j)
{
	for (uint32_t i = 0; i < p->component_count; i++)
		if (j->comp_info[i].component_id == id)
			return &p->components[i];
	return NULL;
}

/* Set the components of a scan, and make their tables. */
static bool add_components(struct progressive *p, struct scan *s,
			   const uint8_t *d,
			   const struct jpeg_decompress_struct *jpeg)
{
	uint32_t blocks = 0; /* in an MCU */

	for (uint32_t i = 0; i < s->component_count; i++, d += 2) {
		struct component *c = find_component(p, d[0], jpeg);

		if (c == NULL)
			return false;
		s->rows[i] = &c->row;
		blocks += c->row.across * c->row.down;
		if (s->first == 0 && s->is_refinement)
			continue;
		s->tables[i] =
			s->first > 0 ?
				make_table(p, s, p->ac_codes, d[1] & 15) :
				make_table(p, s, p->dc_codes, d[1] >> 4);
		if (s->tables[i] == NULL)
			return false;
	}
	return s->component_count == 1 || blocks <= D_MAX_BLOCKS_IN_MCU;
}

/*
 * Add a scan, whose data begin at `data`. scans_add() has checked its header.
 */
static bool add_scan(struct progressive *p, const struct marker *sos,
		     const struct markers *data,
		     const struct jpeg_decompress_struct *jpeg)
{
	const uint8_t *d = sos->data, *end = d + sos->bytes;
	struct scan *s = &p->scans[p->scan_count];

	if (p->scan_count == p->scan_count_max)
		return false;
	p->scan_count++;
	*s = (struct scan){
		.bits = { .at = data->at, .end = data->end },
		.component_count = d[0],
		.first = end[-3],
		.last = end[-2],
		.is_refinement = end[-1] >> 4 != 0,
		.low_bit = end[-1] & 15,
		.restart_interval = p->restart_interval,
		.mcus_left = p->restart_interval,
	};
	return add_components(p, s, d + 1, jpeg);
}

static bool add_marker(struct progressive *p, const struct marker *m,
		       const struct markers *after,
		       const struct jpeg_decompress_struct *jpeg)
{
	switch (m->code) {
	case MARKER_DHT:
		keep_codes(p, m);
		return true;
	case MARKER_DRI:
		if (m->bytes != 2)
			return false;
		p->restart_interval = (uint32_t)m->data[0] << 8 | m->data[1];
		return true;
	case MARKER_DAC:
		return false;
	case MARKER_SOS:
		return add_scan(p, m, after, jpeg);
	default:
		return true;
	}
}

static bool find_scans(struct progressive *p, const struct piece *pieces,
		       uint32_t piece_count,
		       const struct jpeg_decompress_struct *jpeg)
{
	for (uint32_t i = 0; i < piece_count; i++) {
		const uint8_t *at = pieces[i].data;
		struct markers w = { .at = at, .end = at + pieces[i].bytes };
		struct marker m;

		if (i == 0 && !markers_start(&w, at, pieces[i].bytes))
			return false;
		w.memory = p->memory;
		while (markers_next(&w, &m))
			if (!add_marker(p, &m, &w, jpeg))
				return false;
	}
	return p->scan_count > 0;
}

static struct block_count
count_blocks(const struct jpeg_decompress_struct *jpeg, uint32_t n)
{
	struct img_size size = { jpeg->image_width, jpeg->image_height };
	struct block_count count = { 0 };

	for (int i = 0; i < jpeg->num_components; i++) {
		const jpeg_component_info *c = &jpeg->comp_info[i];

		block_count_add(&count, n, size, (uint32_t)c->h_samp_factor,
				(uint32_t)jpeg->max_h_samp_factor,
				(uint32_t)c->v_samp_factor,
				(uint32_t)jpeg->max_v_samp_factor);
	}
	return count;
}

static void watch_component(struct component *c,
			    const jpeg_component_info *from,
			    const JQUANT_TBL *quant, uint32_t step,
			    const struct progressive *p, bool has_light)
{
	texture_start(&c->texture, from, quant, p->how.n, step,
		      p->how.keeps_light, has_light);
	c->keeps_light = p->how.keeps_light && has_light;
	for (uint32_t k = 1; k < MEASURED; k++)
		if (c->texture.weights[k] > 0)
			c->left_out |= coefficient_bit(k);
}

/* Set the steps of a component, and what is measured of it. */
static bool set_component(struct component *c, const struct progressive *p,
			  const struct jpeg_decompress_struct *jpeg,
			  const jpeg_component_info *from, bool has_light)
{
	if (p->how.n < DCTSIZE)
		edge_make(&c->edge, jpeg, from, p->how.n);
	if (!idct_quant(c->quant, jpeg, from->quant_tbl_no))
		return false;
	idct_choose_steps(c->low_steps, c->quant);
	for (uint32_t k = 0; k < DCTSIZE2; k++)
		c->all_steps[idct_order[k]] = (int16_t)c->quant[k];
	watch_component(c, from, jpeg->quant_tbl_ptrs[from->quant_tbl_no],
			texture_step(p->rows), p, has_light);
	return true;
}

static bool make_components(struct progressive *p, struct image *img,
			    const struct jpeg_decompress_struct *jpeg)
{
	size_t at = 0; /* the component's first block */

	p->columns = blocks_along(jpeg->image_width, 1,
				  (uint32_t)jpeg->max_h_samp_factor);
	p->rows = blocks_along(jpeg->image_height, 1,
			       (uint32_t)jpeg->max_v_samp_factor);
	p->component_count = (uint32_t)jpeg->num_components;
	for (uint32_t i = 0; i < p->component_count; i++) {
		const jpeg_component_info *from = &jpeg->comp_info[i];
		struct component *c = &p->components[i];
		uint32_t across = (uint32_t)from->h_samp_factor;
		uint32_t down = (uint32_t)from->v_samp_factor;

		*c = (struct component){
			.plane = &img->planes[i],
			.columns = from->width_in_blocks,
			.rows = from->height_in_blocks,
			.row = {
				.across = across,
				.down = down,
				.dc = p->dc + at,
				.stride = p->columns * across,
				.columns = from->width_in_blocks,
			},
			.is_set = p->is_set + at,
			.values = p->values + at * p->measured.values,
		};
		at += (size_t)c->row.stride * down;
		if (!set_component(c, p, jpeg, from, image_has_light(img, i)))
			return false;
	}
	return true;
}

static uint32_t tables_max(uint32_t component_count, uint32_t scan_count)
{
	/* One for each component's first DC scan, one for each AC scan. */
	return component_count + scan_count;
}

void block_count_add(struct block_count *count, uint32_t n,
		     struct img_size size, uint32_t h, uint32_t h_max,
		     uint32_t v, uint32_t v_max)
{
	uint64_t across = (uint64_t)blocks_along(size.width_px, 1, h_max) * h;

	count->all += across * v;
	if (n == DCTSIZE) {
		count->whole += across * v;
		return;
	}
	count->low += across * v;
	if (edge_visible(size.width_px, h, h_max) < DCTSIZE)
		count->whole += v;
	if (edge_visible(size.height_px, v, v_max) < DCTSIZE)
		count->whole += across;
}

size_t progressive_bytes(struct block_count count, uint32_t component_count,
			 uint32_t scan_count)
{
	uint64_t values = count.low * MEASURED_VALUES + count.whole * DCTSIZE2 +
			  count.all; /* DC */

	return sizeof(struct progressive) +
	       tables_max(component_count, scan_count) *
		       sizeof(struct scan_table) +
	       count.all * sizeof(uint64_t) + values * sizeof(int16_t);
}

/* Everything is in one allocation. */
static struct progressive *open(const struct jpeg_decompress_struct *jpeg,
				struct reduction how, uint32_t scan_count,
				const struct memory *memory)
{
	uint32_t component_count = (uint32_t)jpeg->num_components;
	uint32_t table_count = tables_max(component_count, scan_count);
	struct block_count count = count_blocks(jpeg, how.n);
	struct progressive *p = memory_alloc(
		memory, progressive_bytes(count, component_count, scan_count));

	if (p == NULL)
		return NULL;
	*p = (struct progressive){
		.memory = memory,
		.how = how,
		.count = count,
		.read_row = scan_row_best(),
		.tables = (struct scan_table *)(p + 1),
		.table_count_max = table_count,
		.scan_count_max = scan_count,
	};
	p->is_set = (uint64_t *)(p->tables + table_count);
	p->all_values = (int16_t *)(p->is_set + count.all);
	p->values = p->all_values + count.whole * DCTSIZE2;
	p->dc = p->values + count.low * MEASURED_VALUES;
	memset(p->dc, 0, count.all * sizeof(*p->dc));
	make_layouts(p);
	return p;
}

enum img_err progressive_read(struct image *img, struct reduction how,
			      const struct jpeg_decompress_struct *jpeg,
			      const struct piece *pieces, uint32_t piece_count,
			      uint32_t scan_count, const struct memory *memory)
{
	enum img_err err = IMG_ERR_IRREGULAR;
	struct progressive *p;

	if (jpeg->arith_code || scan_count > PROGRESSIVE_SCANS_MAX)
		return err;
	p = open(jpeg, how, scan_count, memory);
	if (p == NULL)
		return err;
	if (make_components(p, img, jpeg) &&
	    find_scans(p, pieces, piece_count, jpeg))
		err = read_rows(p);
	memory_free(memory, p);
	return err;
}
