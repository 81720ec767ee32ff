/* SPDX-License-Identifier: MIT */
/*
 * In this order: blocks in each kind of scan, rows of MCUs, the file.
 *
 * A refinement scan has one more bit for each coefficient that is not 0 so far.
 * So a struct block notes for all 64 coefficients whether they are 0, but has
 * the values of only those that idct.h needs, and the largest of the others.
 * Blocks that the frame cuts need all values (edge.h), and so do all blocks at
 * 8/8: each of these has the other values in a struct rest.
 */
#include "imgops/formats/jpeg/entropy.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/idct_full.h"
#include "imgops/formats/jpeg/light.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/texture.h"

#include <stdlib.h>
#include <string.h>

enum {
	VALUES = 25, /* >= IDCT_POSITIONS; makes a block 64 bytes */
	EOB_BITS_MAX = 14,
	TABLES = NUM_HUFF_TBLS,
};

struct block {
	uint64_t is_set; /* bit k > 0: coefficient k in zigzag order is not 0 */
	/* How many bytes after this block its struct rest is; 0: none. */
	uint32_t rest;
	int16_t values[VALUES]; /* values[0] is DC */
	/*
	 * The magnitude of the largest coefficient from VALUES on, without the
	 * bits of refinement scans.  Not of a block that has a struct rest.
	 */
	int16_t largest;
};

/* The other values of a block that needs all. */
struct rest {
	_Alignas(8) int16_t values[DCTSIZE2 - VALUES];
};

struct component {
	struct img_plane *plane;
	uint32_t columns, rows; /* of blocks, in the picture */
	uint32_t across, down;  /* blocks in an MCU */
	uint32_t stride;        /* blocks in a row of `blocks` */
	struct block *blocks;   /* of the current row of MCUs: `down` rows */
	uint16_t quant[DCTSIZE2];
	uint16_t low_steps[IDCT_COEFFICIENTS]; /* of them, for idct_block() */
	int16_t all_steps[DCTSIZE2];           /* for idct_full.h */
	struct edge edge;
	struct texture texture;
	bool keeps_light;
	uint64_t left_out; /* bit k: coefficient k < VALUES is left out */
};

struct scan {
	struct bits bits;
	uint32_t first, last; /* coefficients */
	int low_bit;
	bool is_refinement;
	uint32_t eob_run; /* how many of the next blocks have no new value */
	uint32_t restart_interval, mcus_left, restarts;
	const struct memory *memory;
	uint32_t component_count;
	struct component *components[IMG_PLANES_MAX];
	const struct huffman *dc[IMG_PLANES_MAX];
	const struct huffman *ac;
	int32_t last_dc[IMG_PLANES_MAX];
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
	struct block *blocks;
	struct rest *rests; /* of those of the blocks that need all values */
	struct block_count count;
	struct scan scans[PROGRESSIVE_SCANS_MAX];
	uint32_t scan_count, scan_count_max;

	/* Used only by find_scans(). */
	struct codes dc[TABLES], ac[TABLES];
	struct huffman *tables; /* of all scans */
	uint32_t table_count, table_count_max;
	uint32_t restart_interval;
};

/*
 * Read a block of a scan; `i` is its component in the scan.  False: the data
 * are irregular.
 */
typedef bool read_block_fn(struct scan *s, uint32_t i, struct block *block);

static bool read_first_dc(struct scan *s, uint32_t i, struct block *block)
{
	struct bits *b = &s->bits;
	int32_t size;

	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);
	size = huffman_symbol(b, s->dc[i]);
	if (size < 0)
		return false;
	s->last_dc[i] += huffman_value(b, size);
	if (abs(s->last_dc[i]) > INT16_MAX >> s->low_bit)
		return false;
	block->values[0] = (int16_t)(s->last_dc[i] * (1 << s->low_bit));
	return true;
}

static inline uint32_t read_bit(struct bits *b)
{
	if (b->count < 1)
		*b = bits_refill(*b);
	return bits_take(b, 1);
}

static bool refine_dc(struct scan *s, uint32_t i, struct block *block)
{
	(void)i;
	block->values[0] =
		(int16_t)(block->values[0] | read_bit(&s->bits) << s->low_bit);
	return true;
}

/* Where the value of coefficient k is kept.  NULL: it is not. */
static inline int16_t *value_of(struct block *block, uint32_t k)
{
	struct rest *rest;

	if (k < VALUES)
		return &block->values[k];
	if (block->rest == 0)
		return NULL;
	rest = (struct rest *)(void *)((uint8_t *)block + block->rest);
	return &rest->values[k - VALUES];
}

static inline void set_value(struct block *block, uint32_t k, int32_t value)
{
	int16_t *to = value_of(block, k);

	block->is_set |= UINT64_C(1) << k;
	if (to != NULL)
		*to = (int16_t)value;
	else if (abs(value) > block->largest)
		block->largest = (int16_t)abs(value);
}

/*
 * The length of an end-of-band run, in blocks.  `log2` is the upper half of the
 * run's symbol.
 */
static inline uint32_t read_eob_run(struct bits *b, int32_t log2)
{
	uint32_t run = 1u << log2;

	return log2 > 0 ? run + bits_take(b, log2) : run;
}

static inline int32_t read_symbol(struct bits *b, const struct huffman *t)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);
	return huffman_symbol(b, t);
}

static bool read_first_ac(struct scan *s, uint32_t i, struct block *block)
{
	struct bits b = s->bits;

	(void)i;
	if (s->eob_run > 0) {
		s->eob_run--;
		return true;
	}
	for (uint32_t k = s->first; k <= s->last; k++) {
		int32_t symbol = read_symbol(&b, s->ac), value;
		int32_t run = symbol >> 4, size = symbol & 15;

		if (symbol < 0)
			return false;
		if (size == 0 && run <= EOB_BITS_MAX) {
			s->eob_run = read_eob_run(&b, run) - 1;
			break;
		}
		k += (uint32_t)run;
		if (size == 0)
			continue;
		value = huffman_value(&b, size);
		if (k > s->last || abs(value) > INT16_MAX >> s->low_bit)
			return false;
		set_value(block, k, value * (1 << s->low_bit));
	}
	s->bits = b;
	return true;
}

/* One more bit of coefficient k, which is not 0. */
static inline void refine_value(struct bits *b, struct block *block, uint32_t k,
				int32_t step)
{
	int16_t *value;

	if (read_bit(b) == 0)
		return;
	value = value_of(block, k);
	if (value != NULL)
		*value = (int16_t)(*value + (*value < 0 ? -step : step));
}

/*
 * From coefficient k on, refine those that are not 0, and skip `run` that are
 * 0.  Returns the index of the next one that is 0, or last + 1.
 */
static inline uint32_t refine_run(struct bits *b, struct block *block,
				  uint32_t k, uint32_t last, int32_t run,
				  int32_t step)
{
	for (; k <= last; k++) {
		if (block->is_set >> k & 1)
			refine_value(b, block, k, step);
		else if (run-- == 0)
			break;
	}
	return k;
}

/* Refine the coefficients from k on that are not 0; the others stay 0. */
static inline void refine_rest(struct bits *b, struct block *block, uint32_t k,
			       uint32_t last, int32_t step)
{
	uint64_t from_k = UINT64_MAX << k;
	uint64_t set = block->is_set & from_k & UINT64_MAX >> (63 - last);

	for (; set != 0; set &= set - 1)
		refine_value(b, block, (uint32_t)__builtin_ctzll(set), step);
}

static bool refine_ac(struct scan *s, uint32_t i, struct block *block)
{
	struct bits b = s->bits;
	int32_t step = 1 << s->low_bit;
	uint32_t k = s->first;

	(void)i;
	for (; s->eob_run == 0 && k <= s->last; k++) {
		int32_t symbol = read_symbol(&b, s->ac), value = 0;
		int32_t run = symbol >> 4, size = symbol & 15;

		if (symbol < 0 || size > 1)
			return false;
		if (size == 0 && run <= EOB_BITS_MAX) {
			s->eob_run = read_eob_run(&b, run);
			break;
		}
		if (size > 0)
			value = read_bit(&b) ? step : -step;
		k = refine_run(&b, block, k, s->last, run, step);
		if (size == 0)
			continue;
		if (k > s->last)
			return false;
		set_value(block, k, value);
	}
	if (s->eob_run > 0) {
		refine_rest(&b, block, k, s->last, step);
		s->eob_run--;
	}
	s->bits = b;
	return true;
}

/* Read the next restart marker, which must follow directly. */
static bool read_restart(struct scan *s)
{
	struct bits *b = &s->bits;

	if (!bits_are_real(b) || b->count - b->made_up >= 8 ||
	    b->end - b->at < 2 || b->at[0] != 0xff ||
	    b->at[1] != MARKER_RST0 + s->restarts % 8)
		return false;
	*b = (struct bits){ .at = b->at + 2, .end = b->end };
	memset(s->last_dc, 0, sizeof(s->last_dc));
	s->eob_run = 0;
	s->restarts++;
	return true;
}

static inline bool begin_mcu(struct scan *s)
{
	if (s->restart_interval == 0 || s->mcus_left-- > 0)
		return true;
	s->mcus_left = s->restart_interval - 1;
	return read_restart(s);
}

/*
 * In a scan of one component each block is an MCU, and no block lies past the
 * picture's edge.
 */
static inline __attribute__((always_inline)) bool
read_blocks(struct scan *s, uint32_t row, read_block_fn *read)
{
	const struct component *c = s->components[0];

	for (uint32_t y = 0; y < c->down && row * c->down + y < c->rows; y++) {
		for (uint32_t x = 0; x < c->columns; x++)
			if (!begin_mcu(s) ||
			    !read(s, 0, &c->blocks[y * c->stride + x]))
				return false;
		memory_pause(s->memory);
	}
	return true;
}

static inline __attribute__((always_inline)) bool
read_mcu(struct scan *s, uint32_t column, read_block_fn *read)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		const struct component *c = s->components[i];
		struct block *from = c->blocks + (size_t)column * c->across;

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read(s, i, &from[y * c->stride + x]))
					return false;
	}
	return true;
}

static inline __attribute__((always_inline)) bool
read_mcus(struct scan *s, uint32_t columns, uint32_t row, read_block_fn *read)
{
	if (s->component_count == 1)
		return read_blocks(s, row, read);
	for (uint32_t x = 0; x < columns; x++)
		if (!begin_mcu(s) || !read_mcu(s, x, read))
			return false;
	return true;
}

/* Read what one scan has of a row of the picture's MCUs. */
static bool read_row(struct scan *s, uint32_t columns, uint32_t row)
{
	bool ok;

	if (s->first > 0)
		ok = s->is_refinement ? read_blocks(s, row, refine_ac) :
					read_blocks(s, row, read_first_ac);
	else
		ok = s->is_refinement ?
			     read_mcus(s, columns, row, refine_dc) :
			     read_mcus(s, columns, row, read_first_dc);
	return ok && bits_are_real(&s->bits);
}

static void make_samples(uint8_t *out, size_t stride, const struct block *block,
			 const uint16_t steps[IDCT_COEFFICIENTS], uint32_t n)
{
	int16_t low[IDCT_COEFFICIENTS + 1] = { 0 }; /* last: IDCT_UNUSED */
	uint64_t needed = (UINT64_C(2) << idct_last[n]) - 2;
	uint64_t set = block->is_set & needed;

	low[0] = block->values[0];
	for (; set != 0; set &= set - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(set);

		low[idct_positions[k]] = block->values[k];
	}
	idct_block(out, stride, low, steps, n);
}

/* As make_samples(), for block (x, y), which is cut. */
static void make_cut_samples(uint8_t *out, const struct component *c,
			     struct block *block, uint32_t x, uint32_t y)
{
	int32_t all[DCTSIZE2] = { 0 };
	uint64_t set = block->is_set;

	all[0] = idct_limited(block->values[0] * c->quant[0]);
	for (; set != 0; set &= set - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(set);

		all[idct_order[k]] =
			idct_limited(*value_of(block, k) * c->quant[k]);
	}
	edge_block(out, c->plane->stride_bytes, all, &c->edge, x, y);
}

/* Without refinements of the coefficients of which only one is known. */
static uint64_t energy_of(const struct component *c, const struct block *block)
{
	const struct texture *t = &c->texture;
	uint64_t set = block->is_set & c->left_out, energy;

	energy = texture_energy(t, (VALUES + DCTSIZE2) / 2, block->largest);
	for (; set != 0; set &= set - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(set);

		energy += texture_energy(t, k, block->values[k]);
	}
	return energy;
}

/* The coefficients of a block that has all; `to` is zero. */
static void all_coefficients(int16_t to[DCTSIZE2], struct block *block)
{
	uint64_t set = block->is_set;

	to[0] = block->values[0];
	for (; set != 0; set &= set - 1) {
		uint32_t k = (uint32_t)__builtin_ctzll(set);

		to[idct_order[k]] = *value_of(block, k);
	}
}

/*
 * Make the samples of row `y` of a component's blocks at 8/8.  False: see
 * idct_full_fn.
 */
static bool make_full_blocks(const struct component *c, uint32_t y)
{
	struct block *blocks = c->blocks + (size_t)(y % c->down) * c->stride;
	size_t stride = c->plane->stride_bytes;
	uint8_t *out = c->plane->samples + (size_t)y * DCTSIZE * stride;
	const struct idct_full *idct = idct_full_best();
	int16_t room[2][DCTSIZE2] = { { 0 } };
	bool fits = true;

	for (uint32_t x = 0; x < c->columns; x += 2) {
		uint32_t count = min_u32(2, c->columns - x);
		struct full_block two[2];

		for (uint32_t i = 0; i < count; i++, out += DCTSIZE) {
			all_coefficients(room[i], &blocks[x + i]);
			two[i] = (struct full_block){ room[i], c->all_steps,
						      out, stride };
		}
		fits = idct->two(&two[0], &two[count - 1]) && fits;
	}
	return fits;
}

/* Make the samples of row `y` of a component's blocks. */
static void make_blocks(const struct component *c, uint32_t y, uint32_t n)
{
	struct block *blocks = c->blocks + (size_t)(y % c->down) * c->stride;
	size_t stride = c->plane->stride_bytes;
	uint8_t *out = c->plane->samples + (size_t)y * n * stride;
	uint32_t whole = edge_whole(&c->edge, c->columns, y), x = 0;

	for (; x < whole; x++)
		make_samples(out + (size_t)x * n, stride, &blocks[x],
			     c->low_steps, n);
	for (; x < c->columns; x++)
		make_cut_samples(out + (size_t)x * n, c, &blocks[x], x, y);
	for (x = 0; c->keeps_light && x < whole; x++)
		light_keep(out + (size_t)x * n, stride, n,
			   energy_of(c, &blocks[x]));
}

/* The rows of blocks of a component in a row of MCUs end before this one. */
static uint32_t rows_end(const struct component *c, uint32_t row)
{
	return min_u32((row + 1) * c->down, c->rows);
}

/* Blocks that are cut are not watched.  False: fine texture has been found. */
static bool watch_row(struct progressive *p, uint32_t row)
{
	bool is_fine = false;

	for (uint32_t i = 0; i < p->component_count; i++) {
		struct component *c = &p->components[i];

		for (uint32_t y = row * c->down; y < rows_end(c, row); y++) {
			const struct block *blocks =
				c->blocks + (size_t)(y % c->down) * c->stride;
			uint32_t whole = edge_whole(&c->edge, c->columns, y);

			for (uint32_t x = 0; x < whole; x++)
				texture_add(&c->texture,
					    energy_of(c, &blocks[x]));
		}
		is_fine |= texture_is_fine(&c->texture);
	}
	return !is_fine;
}

static bool make_row(const struct progressive *p, uint32_t row)
{
	bool fits = true;

	for (uint32_t i = 0; i < p->component_count; i++) {
		const struct component *c = &p->components[i];

		for (uint32_t y = row * c->down; y < rows_end(c, row); y++)
			if (p->how.n == DCTSIZE)
				fits = make_full_blocks(c, y) && fits;
			else
				make_blocks(c, y, p->how.n);
	}
	return fits;
}

/* In row `y` of a component's blocks. */
static uint32_t first_with_rest(const struct progressive *p,
				const struct component *c, uint32_t y)
{
	return p->how.n == DCTSIZE ? 0 : edge_whole(&c->edge, c->columns, y);
}

/* Clear the blocks for a row of MCUs, and give those that need one a rest. */
static void clear_row(const struct progressive *p, uint32_t row)
{
	struct rest *rest = p->rests;

	memset(p->blocks, 0, p->count.all * sizeof(*p->blocks));
	for (uint32_t i = 0; i < p->component_count; i++) {
		const struct component *c = &p->components[i];

		for (uint32_t y = row * c->down; y < rows_end(c, row); y++) {
			struct block *blocks =
				c->blocks + (size_t)(y % c->down) * c->stride;
			uint32_t x = first_with_rest(p, c, y);

			for (; x < c->columns; x++, rest++) {
				*rest = (struct rest){ { 0 } };
				blocks[x].rest =
					(uint32_t)((uint8_t *)rest -
						   (uint8_t *)&blocks[x]);
			}
		}
	}
}

static enum img_err read_rows(struct progressive *p)
{
	for (uint32_t y = 0; y < p->rows; y++) {
		clear_row(p, y);
		for (uint32_t i = 0; i < p->scan_count; i++) {
			if (!read_row(&p->scans[i], p->columns, y))
				return IMG_ERR_IRREGULAR;
			memory_pause(p->memory);
		}
		if (p->how.watches_texture &&
		    texture_watches(texture_step(p->rows), y) &&
		    !watch_row(p, y))
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
		struct codes *to = *d >> 4 != 0 ? p->ac : p->dc;
		const uint8_t *symbols = d + 1 + CODE_BITS_MAX;
		uint32_t count = 0;

		for (uint32_t i = 1; i <= CODE_BITS_MAX; i++)
			count += d[i];
		to[*d & 3] = (struct codes){ d, symbols };
		d = symbols + count;
	}
}

/* NULL: there is no such table, it is not valid, or there are too many. */
static const struct huffman *make_table(struct progressive *p,
					const struct codes codes[TABLES],
					uint32_t number, uint32_t symbol_max)
{
	struct huffman *table = &p->tables[p->table_count];

	if (number >= TABLES || codes[number].counts == NULL ||
	    p->table_count == p->table_count_max)
		return NULL;
	p->table_count++;
	return huffman_make(table, codes[number].counts, codes[number].symbols,
			    symbol_max) ?
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
		s->components[i] = c;
		blocks += c->across * c->down;
		if (s->first > 0)
			s->ac = make_table(p, p->ac, d[1] & 15, UINT8_MAX);
		else if (!s->is_refinement)
			s->dc[i] =
				make_table(p, p->dc, d[1] >> 4, VALUE_BITS_MAX);
		if (s->first > 0 ? s->ac == NULL :
				   !s->is_refinement && s->dc[i] == NULL)
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
		.memory = p->memory,
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
	struct block_count count = { 0, 0 };

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
	for (uint32_t k = 1; k < VALUES; k++)
		if (c->texture.weights[k] > 0)
			c->left_out |= UINT64_C(1) << k;
}

static bool make_components(struct progressive *p, struct image *img,
			    const struct jpeg_decompress_struct *jpeg)
{
	struct block *blocks = p->blocks;

	p->columns = blocks_along(jpeg->image_width, 1,
				  (uint32_t)jpeg->max_h_samp_factor);
	p->rows = blocks_along(jpeg->image_height, 1,
			       (uint32_t)jpeg->max_v_samp_factor);
	p->component_count = (uint32_t)jpeg->num_components;
	for (uint32_t i = 0; i < p->component_count; i++) {
		const jpeg_component_info *from = &jpeg->comp_info[i];
		struct component *c = &p->components[i];

		*c = (struct component){
			.plane = &img->planes[i],
			.columns = from->width_in_blocks,
			.rows = from->height_in_blocks,
			.across = (uint32_t)from->h_samp_factor,
			.down = (uint32_t)from->v_samp_factor,
			.blocks = blocks,
		};
		c->stride = p->columns * c->across;
		blocks += (size_t)c->stride * c->down;
		if (p->how.n < DCTSIZE)
			edge_make(&c->edge, jpeg, from, p->how.n);
		if (!idct_quant(c->quant, jpeg, from->quant_tbl_no))
			return false;
		idct_choose_steps(c->low_steps, c->quant);
		for (uint32_t k = 0; k < DCTSIZE2; k++)
			c->all_steps[idct_order[k]] = (int16_t)c->quant[k];
		watch_component(
			c, from, jpeg->quant_tbl_ptrs[from->quant_tbl_no],
			texture_step(p->rows), p, image_has_light(img, i));
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
	if (edge_visible(size.width_px, h, h_max) < DCTSIZE)
		count->whole += v;
	if (edge_visible(size.height_px, v, v_max) < DCTSIZE)
		count->whole += across;
}

size_t progressive_bytes(struct block_count count, uint32_t component_count,
			 uint32_t scan_count)
{
	return count.all * sizeof(struct block) +
	       count.whole * sizeof(struct rest) +
	       tables_max(component_count, scan_count) *
		       sizeof(struct huffman) +
	       sizeof(struct progressive);
}

/*
 * Everything is in one allocation.  The blocks come first, so that each is one
 * cache line.
 */
static struct progressive *open(const struct jpeg_decompress_struct *jpeg,
				struct reduction how, uint32_t scan_count,
				const struct memory *memory)
{
	uint32_t component_count = (uint32_t)jpeg->num_components;
	uint32_t table_count = tables_max(component_count, scan_count);
	struct block_count count = count_blocks(jpeg, how.n);
	struct block *blocks = memory_alloc(
		memory, progressive_bytes(count, component_count, scan_count));
	struct rest *rests = (struct rest *)(blocks + count.all);
	struct huffman *tables = (struct huffman *)(rests + count.whole);
	struct progressive *p = (struct progressive *)(tables + table_count);

	if (blocks == NULL)
		return NULL;
	*p = (struct progressive){
		.memory = memory,
		.how = how,
		.blocks = blocks,
		.rests = rests,
		.count = count,
		.tables = tables,
		.table_count_max = table_count,
		.scan_count_max = scan_count,
	};
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
	memory_free(memory, p->blocks);
	return err;
}
