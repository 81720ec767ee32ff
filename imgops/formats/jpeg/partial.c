/* SPDX-License-Identifier: MIT */
/*
 * In this order: the tables of a scan, its blocks and its MCUs.
 *
 * The AC coefficients of a block are decoded as far as they are needed, and
 * those after them are skipped.  Both use tables that are indexed by the next
 * LOOK_BITS bits.
 */
#include "imgops/formats/jpeg/partial.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/texture.h"

#include <stdlib.h>
#include <string.h>

/* --- AC coefficients --- */

/*
 * Each entry of ac_table.symbols decodes one Huffman symbol and its value at
 * once.  It has their number of bits (0: more than LOOK_BITS), the number of
 * coefficients to advance, and the value of the last of these.
 */
enum {
	SYMBOL_BITS_MASK = 63,
	SYMBOL_ADVANCE_SHIFT = 8,
	SYMBOL_ADVANCE_MASK = 255,
	SYMBOL_VALUE_SHIFT = 16,
	ADVANCE_END = 128, /* the block ends */
};

/*
 * An entry of ac_table.skips stands for as many whole symbols as fit into
 * LOOK_BITS: the number of their bits (0: not even one symbol fits), the number
 * of their coefficients, and whether the block ends there, which counts as one
 * more coefficient.  With `power`, the squares of their values have a sum of
 * about (1 << power) - 1; symbols of larger values are left to read_long().
 */
enum {
	SKIP_BITS_MASK = 15,
	SKIP_POWER_SHIFT = 4,
	SKIP_POWER_MASK = 15,
	SKIP_SQUARES_MAX = (3 << SKIP_POWER_MASK) / 2 - 1,
	SKIP_COEFFICIENTS_SHIFT = 8,
	SKIP_COEFFICIENTS_MASK = 127,
	SKIP_IS_END = 1 << 15,
};

enum {
	LOOKS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	AC_COEFFICIENTS = 63,
	PAUSE_MCUS = 256, /* not more without a pause */
};

struct ac_table {
	struct huffman codes;
	uint32_t symbols[LOOKS];
	uint16_t skips[LOOKS];
};

/* The value of `size` bits after the first `used` bits of a look. */
static int32_t look_value(uint32_t look, uint32_t used, uint32_t size)
{
	struct bits rest = {
		.next = (uint64_t)look << (64 - LOOK_BITS) << used,
	};

	return huffman_value(&rest, (int32_t)size);
}

/* The power p for which (1 << p) - 1 is nearest to `squares`. */
static uint32_t skip_power(uint32_t squares)
{
	uint32_t least = (2 * squares + 1) / 3; /* the largest below 1 << p */

	return least > 0 ? 32 - (uint32_t)__builtin_clz(least) : 0;
}

static uint16_t skip_make(const struct huffman *h, uint32_t look)
{
	uint32_t used = 0, coefficients = 0, squares = 0;
	uint32_t end = 0;

	while (coefficients <= AC_COEFFICIENTS && end == 0) {
		uint32_t code = h->codes[look << used & (LOOKS - 1)];
		uint32_t run = code >> 4 & 15, size = code & 15;
		uint32_t length = code >> 8, bits = used + length + size;

		if (code == 0 || bits > (uint32_t)LOOK_BITS)
			break;

		int32_t value = look_value(look, used + length, size);
		uint32_t sum = squares + (uint32_t)(value * value);

		if (sum > SKIP_SQUARES_MAX)
			break;
		used = bits;
		squares = sum;
		if (size == 0 && run != 15)
			end = SKIP_IS_END;
		coefficients += end != 0 ? 1 : run + 1;
	}
	return (uint16_t)(used | skip_power(squares) << SKIP_POWER_SHIFT |
			  coefficients << SKIP_COEFFICIENTS_SHIFT | end);
}

static uint32_t symbol_make(const struct huffman *h, uint32_t look)
{
	uint32_t code = h->codes[look], length = code >> 8;
	uint32_t run = code >> 4 & 15, size = code & 15;
	uint32_t bits = length + size;

	if (code == 0 || bits > (uint32_t)LOOK_BITS)
		return 0;
	if (size == 0 && run != 15)
		return bits | (uint32_t)ADVANCE_END << SYMBOL_ADVANCE_SHIFT;
	return bits | (run + 1) << SYMBOL_ADVANCE_SHIFT |
	       (uint32_t)look_value(look, length, size) << SYMBOL_VALUE_SHIFT;
}

/* False: as for huffman_make(). */
static bool ac_table_make(struct ac_table *t,
			  const uint8_t counts[CODE_BITS_MAX + 1],
			  const uint8_t *symbols)
{
	if (!huffman_make(&t->codes, counts, symbols, UINT8_MAX))
		return false;
	for (uint32_t i = 0; i < LOOKS; i++) {
		t->symbols[i] = symbol_make(&t->codes, i);
		t->skips[i] = skip_make(&t->codes, i);
	}
	return true;
}

/* Read any symbol, and its value; for those in the tables there is faster. */
static inline bool read_long(struct bits *b, const struct huffman *h,
			     int32_t *k, int32_t *value)
{
	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	*k += size == 0 && run != 15 ? ADVANCE_END : run + 1;
	*value = huffman_value(b, size);
	return symbol >= 0;
}

/* The energy of the symbols of a look, of which the first is coefficient k. */
static inline uint64_t skip_energy(const struct texture *t, uint32_t k,
				   uint32_t step)
{
	uint64_t weight = t->weights[k];

	return (weight << (step >> SKIP_POWER_SHIFT & SKIP_POWER_MASK)) -
	       weight;
}

/*
 * Skip the last `left` coefficients of a block.  With `watches`, add their
 * energy to *energy: about, because all symbols of a look count as if they were
 * the first one's coefficient.  False: the codes are not valid.
 */
static inline __attribute__((always_inline)) bool
skip_ac(struct bits *bits, const struct ac_table *ac, int32_t left,
	bool watches, const struct texture *t, uint64_t *energy)
{
	struct bits b = *bits;

	while (left > 0) {
		b = bits_refill(b);
		for (uint32_t i = 0; i < LOOKS_PER_REFILL && left > 0; i++) {
			uint32_t step = ac->skips[b.next >> (64 - LOOK_BITS)];
			uint32_t coefficients =
				step >> SKIP_COEFFICIENTS_SHIFT &
				SKIP_COEFFICIENTS_MASK;

			if (step == 0 || (int32_t)coefficients > left) {
				int32_t k = AC_COEFFICIENTS - left, value;

				b = bits_refill(b);
				if (!read_long(&b, &ac->codes, &k, &value))
					return false;
				if (watches)
					*energy += texture_energy(
						t, (uint32_t)k % DCTSIZE2,
						value);
				left = k >= ADVANCE_END ? 0 :
							  AC_COEFFICIENTS - k;
				break;
			}
			bits_drop(&b, step & SKIP_BITS_MASK);
			if (watches)
				*energy += skip_energy(
					t, (uint32_t)(DCTSIZE2 - left), step);
			left -= (int32_t)coefficients;
			if (step & SKIP_IS_END)
				left = 0;
		}
	}
	*bits = b;
	return left == 0;
}

/* --- The tables and blocks of a scan --- */

struct scan_tables {
	const struct huffman *dc[NUM_HUFF_TBLS];
	const struct ac_table *ac[NUM_HUFF_TBLS];
};

/*
 * Find the tables of the scan whose header `jpeg` has just read.  False: the
 * header names tables that cannot exist.
 */
static bool find_tables(struct table_set *used,
			const struct jpeg_decompress_struct *jpeg)
{
	*used = (struct table_set){ 0, 0 };
	for (int i = 0; i < jpeg->comps_in_scan; i++) {
		const jpeg_component_info *c = jpeg->cur_comp_info[i];
		uint32_t dc = (uint32_t)c->dc_tbl_no;
		uint32_t ac = (uint32_t)c->ac_tbl_no;

		if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS)
			return false;
		used->dc |= 1u << dc;
		used->ac |= 1u << ac;
	}
	return true;
}

static size_t scan_tables_bytes(struct table_set used)
{
	size_t dc = (size_t)__builtin_popcount(used.dc);
	size_t ac = (size_t)__builtin_popcount(used.ac);

	return dc * sizeof(struct huffman) + ac * sizeof(struct ac_table);
}

/*
 * Make the tables in `room`, which has scan_tables_bytes() and is aligned for
 * any type.  False: a table is missing or not valid.
 */
static bool scan_tables_make(struct scan_tables *t, void *room,
			     struct table_set used,
			     const struct jpeg_decompress_struct *jpeg)
{
	size_t dc_count = (size_t)__builtin_popcount(used.dc);
	struct huffman *dc = room;
	struct ac_table *ac = (struct ac_table *)(dc + dc_count);

	*t = (struct scan_tables){ 0 };
	for (uint32_t i = 0; i < NUM_HUFF_TBLS; i++) {
		const JHUFF_TBL *of_dc = jpeg->dc_huff_tbl_ptrs[i];
		const JHUFF_TBL *of_ac = jpeg->ac_huff_tbl_ptrs[i];

		if (used.dc >> i & 1) {
			if (of_dc == NULL ||
			    !huffman_make(dc, of_dc->bits, of_dc->huffval,
					  VALUE_BITS_MAX))
				return false;
			t->dc[i] = dc++;
		}
		if (used.ac >> i & 1) {
			if (of_ac == NULL ||
			    !ac_table_make(ac, of_ac->bits, of_ac->huffval))
				return false;
			t->ac[i] = ac++;
		}
	}
	return true;
}

struct component {
	struct img_plane *plane;
	const struct huffman *dc;
	const struct ac_table *ac;
	uint32_t columns, rows; /* of blocks, in the picture */
	uint32_t across, down;  /* blocks in an MCU */
	uint16_t quant[DCTSIZE2];
	int32_t last_dc;
	struct edge edge;
	struct texture texture;
};

struct partial {
	struct bits bits;
	const struct memory *memory;
	uint32_t n; /* a block becomes n x n samples */
	bool watches_texture;
	uint32_t texture_step;
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* columns and rows of MCUs */
	/* Those in which the frame cuts no block. */
	uint32_t whole_columns, whole_rows;
	uint32_t restart_interval, mcus_left, restarts;
	struct scan_tables tables;
};

static inline bool read_dc(struct bits *b, struct component *c)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);

	int32_t size = huffman_symbol(b, c->dc);

	if (size < 0)
		return false;
	c->last_dc += huffman_value(b, size);
	return abs(c->last_dc) <= INT16_MAX;
}

/* Where in a block its coefficients go. */
struct layout {
	const uint8_t *positions; /* of coefficient k in zigzag order */
	int32_t count;            /* of positions; others are not stored */
};

/*
 * Read AC coefficients up to the last needed one, and skip the rest.  One after
 * the last needed one that is decoded on the way is stored if it has a
 * position.
 */
static inline __attribute__((always_inline)) bool
read_ac(struct bits *bits, struct component *c, int32_t last,
	struct layout layout, int32_t *block, bool watches)
{
	uint64_t energy = 0;
	struct bits b = *bits;
	int32_t k = 0;

	while (k < last) {
		b = bits_refill(b);
		for (int32_t i = 0; i < LOOKS_PER_REFILL && k < last; i++) {
			uint32_t look =
				c->ac->symbols[b.next >> (64 - LOOK_BITS)];
			int32_t value = (int32_t)look >> SYMBOL_VALUE_SHIFT;

			if (look == 0) {
				b = bits_refill(b);
				if (!read_long(&b, &c->ac->codes, &k, &value))
					return false;
				i = LOOKS_PER_REFILL; /* too few bits left */
			} else {
				bits_drop(&b, look & SYMBOL_BITS_MASK);
				k += look >> SYMBOL_ADVANCE_SHIFT &
				     SYMBOL_ADVANCE_MASK;
			}
			if (k < layout.count)
				block[layout.positions[k]] =
					idct_limited(value * c->quant[k]);
			if (watches)
				energy += texture_energy(&c->texture,
							 (uint32_t)k % DCTSIZE2,
							 value);
		}
	}
	*bits = b;
	if (k < ADVANCE_END && !skip_ac(bits, c->ac, AC_COEFFICIENTS - k,
					watches, &c->texture, &energy))
		return false;
	if (watches)
		texture_add(&c->texture, energy);
	return true;
}

/* Read block (x, y) of a component.  False: the data are irregular. */
static inline __attribute__((always_inline)) bool
read_block(struct partial *s, struct component *c, uint32_t x, uint32_t y,
	   bool watches)
{
	/* The last one is IDCT_UNUSED. */
	int32_t block[IDCT_COEFFICIENTS + 1] = { 0 };
	const struct layout layout = { idct_positions, IDCT_POSITIONS };
	size_t stride = c->plane->stride_bytes;

	if (!read_dc(&s->bits, c))
		return false;
	block[0] = idct_dc(c->last_dc, c->quant[0], s->n);
	if (!read_ac(&s->bits, c, idct_last[s->n], layout, block, watches))
		return false;
	idct_block(c->plane->samples + y * s->n * stride + x * s->n, stride,
		   block, s->n);
	return true;
}

static inline __attribute__((always_inline)) bool
read_mcu(struct partial *s, uint32_t column, uint32_t row, bool watches)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_block(s, c, column * c->across + x,
						row * c->down + y, watches))
					return false;
	}
	return true;
}

/* As read_block(), for a block that the frame cuts: all coefficients count. */
static bool read_cut_block(struct partial *s, struct component *c, uint32_t x,
			   uint32_t y)
{
	int32_t block[DCTSIZE2] = { 0 };
	const struct layout layout = { idct_order, DCTSIZE2 };
	size_t stride = c->plane->stride_bytes;

	if (!read_dc(&s->bits, c))
		return false;
	block[0] = edge_dc(&c->edge, c->last_dc, c->quant[0], x, y);
	if (!read_ac(&s->bits, c, AC_COEFFICIENTS, layout, block, false))
		return false;
	edge_block(c->plane->samples + y * s->n * stride + x * s->n, stride,
		   block, &c->edge, x, y);
	return true;
}

/* Read past a block that is outside of the picture. */
static bool skip_block(struct partial *s, struct component *c)
{
	return read_dc(&s->bits, c) && skip_ac(&s->bits, c->ac, AC_COEFFICIENTS,
					       false, &c->texture, NULL);
}

static inline __attribute__((always_inline)) bool
read_edge_block(struct partial *s, struct component *c, uint32_t x, uint32_t y,
		bool watches)
{
	if (x >= c->columns || y >= c->rows)
		return skip_block(s, c);
	if (edge_cuts(&c->edge, x, y))
		return read_cut_block(s, c, x, y);
	return read_block(s, c, x, y, watches);
}

/* As read_mcu(), at the edge.  Compilers would inline less if they were one. */
static __attribute__((noinline)) bool
read_edge_mcu(struct partial *s, uint32_t column, uint32_t row, bool watches)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_edge_block(
					    s, c, column * c->across + x,
					    row * c->down + y, watches))
					return false;
	}
	return true;
}

/* Read the next restart marker, which must follow directly. */
static bool read_restart(struct partial *s)
{
	struct bits *b = &s->bits;

	if (!bits_are_real(b) || b->count - b->made_up >= 8 ||
	    b->end - b->at < 2 || b->at[0] != 0xff ||
	    b->at[1] != MARKER_RST0 + s->restarts++ % 8)
		return false;
	*b = (struct bits){ .at = b->at + 2, .end = b->end };
	for (uint32_t i = 0; i < s->component_count; i++)
		s->components[i].last_dc = 0;
	return true;
}

/* True: fine texture has been found so far. */
static bool has_texture(const struct partial *s)
{
	for (uint32_t i = 0; i < s->component_count; i++)
		if (texture_is_fine(&s->components[i].texture))
			return true;
	return false;
}

/* Read the MCUs of a row from column x to before `end`. */
static inline __attribute__((always_inline)) bool
read_mcus(struct partial *s, uint32_t x, uint32_t end, uint32_t row,
	  bool watches)
{
	uint32_t whole = row < s->whole_rows ? s->whole_columns : 0;

	for (; x < end; x++) {
		if (s->restart_interval > 0 && s->mcus_left-- == 0) {
			if (!read_restart(s))
				return false;
			s->mcus_left = s->restart_interval - 1;
		}
		if (!(x < whole ? read_mcu(s, x, row, watches) :
				  read_edge_mcu(s, x, row, watches)))
			return false;
	}
	return bits_are_real(&s->bits);
}

static inline __attribute__((always_inline)) bool
read_row(struct partial *s, uint32_t row, bool watches)
{
	uint32_t end;

	for (uint32_t x = 0; x < s->columns; x = end) {
		end = min_u32(x + PAUSE_MCUS, s->columns);
		if (!read_mcus(s, x, end, row, watches))
			return false;
		memory_pause(s->memory);
	}
	return true;
}

static enum img_err decode_scan(struct partial *s)
{
	s->mcus_left = s->restart_interval;
	s->restarts = 0;
	for (uint32_t y = 0; y < s->rows; y++) {
		bool watches = s->watches_texture &&
			       texture_watches(s->texture_step, y);
		bool ok =
			watches ? read_row(s, y, true) : read_row(s, y, false);

		if (!ok)
			return IMG_ERR_IRREGULAR;
		if (watches && has_texture(s))
			return IMG_ERR_TEXTURE;
	}
	return IMG_OK;
}

/* Set up the components of the scan whose header `jpeg` has just read. */
static bool components_make(struct partial *s, struct image *img,
			    const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;
	uint32_t blocks = 0; /* in an MCU */

	s->component_count = (uint32_t)jpeg->comps_in_scan;
	for (uint32_t i = 0; i < s->component_count; i++) {
		const jpeg_component_info *from = jpeg->cur_comp_info[i];
		struct img_plane *p = &img->planes[from->component_index];
		struct component *c = &s->components[i];

		*c = (struct component){
			.plane = p,
			.dc = s->tables.dc[from->dc_tbl_no],
			.ac = s->tables.ac[from->ac_tbl_no],
			.columns = from->width_in_blocks,
			.rows = from->height_in_blocks,
			.across = is_alone ? 1 : (uint32_t)from->h_samp_factor,
			.down = is_alone ? 1 : (uint32_t)from->v_samp_factor,
		};
		edge_make(&c->edge, jpeg, from, s->n);
		if (!idct_quant(c->quant, jpeg, from->quant_tbl_no))
			return false;
		texture_start(&c->texture, from,
			      jpeg->quant_tbl_ptrs[from->quant_tbl_no], s->n,
			      s->texture_step);
		blocks += c->across * c->down;
	}
	return blocks <= D_MAX_BLOCKS_IN_MCU;
}

static void scan_shape(struct partial *s,
		       const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;
	uint32_t mcu_x = DCTSIZE, mcu_y = DCTSIZE;

	if (!is_alone) {
		mcu_x *= (uint32_t)jpeg->max_h_samp_factor;
		mcu_y *= (uint32_t)jpeg->max_v_samp_factor;
	}
	s->columns = (jpeg->image_width + mcu_x - 1) / mcu_x;
	s->rows = (jpeg->image_height + mcu_y - 1) / mcu_y;
	s->whole_columns = jpeg->image_width / mcu_x;
	s->whole_rows = jpeg->image_height / mcu_y;
	s->texture_step = texture_step(s->rows);
	s->restart_interval = jpeg->restart_interval;
	s->bits = (struct bits){
		.at = jpeg->src->next_input_byte,
		.end = jpeg->src->next_input_byte + jpeg->src->bytes_in_buffer,
	};
}

static bool can_read(const struct jpeg_decompress_struct *jpeg)
{
	if (jpeg->progressive_mode || jpeg->arith_code ||
	    jpeg->comps_in_scan != jpeg->num_components)
		return false;
	return jpeg->Ss == 0 && jpeg->Se == DCTSIZE2 - 1 && jpeg->Ah == 0 &&
	       jpeg->Al == 0;
}

size_t partial_bytes(struct table_set used)
{
	return sizeof(struct partial) + scan_tables_bytes(used);
}

enum img_err partial_read(struct image *img, uint32_t n, bool watches_texture,
			  const struct jpeg_decompress_struct *jpeg,
			  const struct memory *memory)
{
	enum img_err err = IMG_ERR_IRREGULAR;
	struct table_set used;
	struct partial *s;

	if (!can_read(jpeg) || !find_tables(&used, jpeg))
		return err;
	s = memory_alloc(memory, partial_bytes(used));
	if (s == NULL)
		return err;
	s->n = n;
	s->watches_texture = watches_texture;
	s->memory = memory;
	scan_shape(s, jpeg);
	if (scan_tables_make(&s->tables, s + 1, used, jpeg) &&
	    components_make(s, img, jpeg))
		err = decode_scan(s);
	memory_free(memory, s);
	return err;
}
