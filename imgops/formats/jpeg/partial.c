/* SPDX-License-Identifier: MIT */
/*
 * In this order: the tables of a scan, its blocks and its MCUs.
 *
 * The AC coefficients of a block are decoded as far as they are needed, and
 * those after them are skipped (ac.h).
 */
#include "imgops/formats/jpeg/partial.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/ac.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/idct_full.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/texture.h"

#include <stdlib.h>
#include <string.h>

enum { PAUSE_MCUS = 256 }; /* not more without a pause */

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
			     struct table_set used, bool has_skips,
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
			    !ac_table_make(ac, of_ac->bits, of_ac->huffval,
					   has_skips))
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
	uint16_t low_steps[IDCT_COEFFICIENTS]; /* of them, for idct_block() */
	int16_t all_steps[DCTSIZE2];           /* for idct_full() */
	int32_t last_dc;
	struct edge edge;
	struct texture texture;
};

struct partial {
	struct bits bits;
	const struct memory *memory;
	uint32_t n; /* a block becomes n x n samples */
	idct_full_fn *idct_full;
	bool watches_texture;
	uint32_t texture_step;
	/*
	 * Where a block has its coefficients, by their number: the low ones, for
	 * idct_block(), or all.  Others share the place after the last.
	 */
	uint8_t low[AC_INDEX_MAX], all[AC_INDEX_MAX];
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* columns and rows of MCUs */
	/* Those in which the frame cuts no block. */
	uint32_t whole_columns, whole_rows;
	uint32_t restart_interval, mcus_left, restarts;
	struct scan_tables tables;
};

/* How blocks are read. */
enum how {
	HOW_LOW,     /* only the low coefficients, at 1/8 to 4/8 */
	HOW_WATCHES, /* the same, and fine texture is watched for */
	HOW_FULL,    /* all coefficients, at 8/8 */
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

/* Add the energy of the symbols of a pair, the first after coefficient k. */
static inline uint64_t pair_energy(const struct texture *t, uint32_t k,
				   uint64_t pair)
{
	uint32_t first = pair >> PAIR_FIRST_SHIFT & PAIR_ADVANCE_MASK;
	uint32_t last = pair >> PAIR_LAST_SHIFT & PAIR_ADVANCE_MASK;
	uint64_t energy =
		texture_energy(t, (k + first) % DCTSIZE2,
			       (int16_t)(pair >> PAIR_FIRST_VALUE_SHIFT));

	if (last > first)
		energy += texture_energy(
			t, (k + last) % DCTSIZE2,
			(int16_t)(pair >> PAIR_LAST_VALUE_SHIFT));
	return energy;
}

/*
 * Read AC coefficients up to `last` at least, and store them at `places`.  *out
 * is the index of the last one, or AC_END more.  False: a code is not valid.
 */
static inline __attribute__((always_inline)) bool
read_values(struct bits *bits, const struct ac_table *ac, uint32_t last,
	    const uint8_t *places, int16_t *block, uint32_t *out, enum how how,
	    const struct texture *t, uint64_t *energy)
{
	struct bits b = *bits;
	uint32_t k = 0;

	while (k < last) {
		b = bits_refill(b);
		for (uint32_t i = 0; i < PAIRS_PER_REFILL && k < last; i++) {
			uint64_t pair = ac->pairs[b.next >> (64 - PAIR_BITS)];
			uint32_t first =
				pair >> PAIR_FIRST_SHIFT & PAIR_ADVANCE_MASK;
			int32_t value =
				(int16_t)(pair >> PAIR_FIRST_VALUE_SHIFT);

			if (pair == 0) {
				b = bits_refill(b);
				if (!ac_long(&b, &ac->codes, &k, &value))
					return false;
				block[places[k]] = (int16_t)value;
				if (how == HOW_WATCHES)
					*energy += texture_energy(
						t, k % DCTSIZE2, value);
				break;
			}
			if (how == HOW_WATCHES)
				*energy += pair_energy(t, k, pair);
			block[places[k + first]] = (int16_t)value;
			/* After coefficient 63, another block begins. */
			if (how == HOW_FULL && k + first >= AC_COEFFICIENTS) {
				k += first;
				bits_drop(&b, pair >> PAIR_FIRST_BITS_SHIFT &
						      PAIR_BITS_MASK);
				break;
			}
			k += pair >> PAIR_LAST_SHIFT & PAIR_ADVANCE_MASK;
			block[places[k]] =
				(int16_t)(pair >> PAIR_LAST_VALUE_SHIFT);
			bits_drop(&b, pair & PAIR_BITS_MASK);
		}
	}
	*bits = b;
	*out = k;
	return true;
}

/* Read the low coefficients of a block, and skip the others. */
static inline __attribute__((always_inline)) bool
read_low(struct partial *s, struct component *c, int16_t *block, enum how how)
{
	uint64_t energy = 0;
	uint32_t k;

	if (!read_values(&s->bits, c->ac, idct_last[s->n], s->low, block, &k,
			 how, &c->texture, &energy) ||
	    !ac_skip(&s->bits, c->ac, k, how == HOW_WATCHES, &c->texture,
		     &energy))
		return false;
	if (how == HOW_WATCHES)
		texture_add(&c->texture, energy);
	return true;
}

/* Read all coefficients of a block.  *last is AC_END: only the first is not 0. */
static inline __attribute__((always_inline)) bool
read_whole(struct partial *s, struct component *c, int16_t block[DCTSIZE2 + 1],
	   uint32_t *last)
{
	if (!read_dc(&s->bits, c))
		return false;
	memset(block, 0, DCTSIZE2 * sizeof(*block));
	block[0] = (int16_t)c->last_dc;
	return read_values(&s->bits, c->ac, AC_COEFFICIENTS, s->all, block,
			   last, HOW_FULL, NULL, NULL) &&
	       (*last == AC_COEFFICIENTS || *last >= AC_END);
}

static inline uint8_t *samples_of(const struct partial *s,
				  const struct component *c, uint32_t x,
				  uint32_t y)
{
	return c->plane->samples + y * s->n * c->plane->stride_bytes + x * s->n;
}

/* Read block (x, y) of a component.  False: the data are irregular. */
static inline __attribute__((always_inline)) bool
read_low_block(struct partial *s, struct component *c, uint32_t x, uint32_t y,
	       enum how how)
{
	/* The last one is IDCT_UNUSED. */
	int16_t block[IDCT_COEFFICIENTS + 1] = { 0 };

	if (!read_dc(&s->bits, c))
		return false;
	block[0] = (int16_t)c->last_dc;
	if (!read_low(s, c, block, how))
		return false;
	idct_block(samples_of(s, c, x, y), c->plane->stride_bytes, block,
		   c->low_steps, s->n);
	return true;
}

/* The same at 8/8. */
static inline __attribute__((always_inline)) bool
read_full_block(struct partial *s, struct component *c, uint32_t x, uint32_t y)
{
	_Alignas(32) int16_t block[DCTSIZE2 + 1];
	uint8_t *out = samples_of(s, c, x, y);
	uint32_t last;

	if (!read_whole(s, c, block, &last))
		return false;
	if (last == AC_END)
		idct_full_flat(out, c->plane->stride_bytes,
			       block[0] * c->all_steps[0]);
	else
		s->idct_full(out, c->plane->stride_bytes, block, c->all_steps);
	return true;
}

static inline __attribute__((always_inline)) bool
read_block(struct partial *s, struct component *c, uint32_t x, uint32_t y,
	   enum how how)
{
	return how == HOW_FULL ? read_full_block(s, c, x, y) :
				 read_low_block(s, c, x, y, how);
}

static inline __attribute__((always_inline)) bool
read_mcu(struct partial *s, uint32_t column, uint32_t row, enum how how)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_block(s, c, column * c->across + x,
						row * c->down + y, how))
					return false;
	}
	return true;
}

/*
 * At a reduced size, read a block that the frame cuts: all coefficients count.
 */
static bool read_cut_block(struct partial *s, struct component *c, uint32_t x,
			   uint32_t y)
{
	int16_t block[DCTSIZE2 + 1];
	int32_t all[DCTSIZE2];
	uint32_t last;

	if (!read_whole(s, c, block, &last))
		return false;
	for (uint32_t k = 0; k < DCTSIZE2; k++) {
		uint32_t at = idct_order[k];

		all[at] = idct_limited(block[at] * c->quant[k]);
	}
	edge_block(samples_of(s, c, x, y), c->plane->stride_bytes, all,
		   &c->edge, x, y);
	return true;
}

/* Read past a block that is outside of the picture. */
static bool skip_block(struct partial *s, struct component *c)
{
	int16_t block[DCTSIZE2 + 1];
	uint32_t last;

	return read_whole(s, c, block, &last);
}

static inline __attribute__((always_inline)) bool
read_edge_block(struct partial *s, struct component *c, uint32_t x, uint32_t y,
		enum how how)
{
	if (x >= c->columns || y >= c->rows)
		return skip_block(s, c);
	if (how != HOW_FULL && edge_cuts(&c->edge, x, y))
		return read_cut_block(s, c, x, y);
	return read_block(s, c, x, y, how);
}

/* As read_mcu(), at the edge.  Compilers would inline less if they were one. */
static __attribute__((noinline)) bool
read_edge_mcu(struct partial *s, uint32_t column, uint32_t row, enum how how)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_edge_block(s, c,
						     column * c->across + x,
						     row * c->down + y, how))
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
	  enum how how)
{
	uint32_t whole = row < s->whole_rows ? s->whole_columns : 0;

	for (; x < end; x++) {
		if (s->restart_interval > 0 && s->mcus_left-- == 0) {
			if (!read_restart(s))
				return false;
			s->mcus_left = s->restart_interval - 1;
		}
		if (!(x < whole ? read_mcu(s, x, row, how) :
				  read_edge_mcu(s, x, row, how)))
			return false;
	}
	return bits_are_real(&s->bits);
}

static inline __attribute__((always_inline)) bool
read_row(struct partial *s, uint32_t row, enum how how)
{
	uint32_t end;

	for (uint32_t x = 0; x < s->columns; x = end) {
		end = min_u32(x + PAUSE_MCUS, s->columns);
		if (!read_mcus(s, x, end, row, how))
			return false;
		memory_pause(s->memory);
	}
	return true;
}

/* The same, in the way of this picture. */
static bool read_any_row(struct partial *s, uint32_t row, bool watches)
{
	if (s->n == DECODE_SCALE_FULL)
		return read_row(s, row, HOW_FULL);
	return watches ? read_row(s, row, HOW_WATCHES) :
			 read_row(s, row, HOW_LOW);
}

static enum img_err decode_scan(struct partial *s)
{
	s->mcus_left = s->restart_interval;
	s->restarts = 0;
	for (uint32_t y = 0; y < s->rows; y++) {
		bool watches = s->watches_texture &&
			       texture_watches(s->texture_step, y);

		if (!read_any_row(s, y, watches))
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
		if (!idct_quant(c->quant, jpeg, from->quant_tbl_no))
			return false;
		idct_choose_steps(c->low_steps, c->quant);
		for (uint32_t k = 0; k < DCTSIZE2; k++)
			c->all_steps[idct_order[k]] = (int16_t)c->quant[k];
		blocks += c->across * c->down;
		if (s->n == DECODE_SCALE_FULL)
			continue;
		edge_make(&c->edge, jpeg, from, s->n);
		texture_start(&c->texture, from,
			      jpeg->quant_tbl_ptrs[from->quant_tbl_no], s->n,
			      s->texture_step);
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

/* The places of the first `count` coefficients; all others have `other`. */
static void places_make(uint8_t places[AC_INDEX_MAX], const uint8_t *from,
			uint32_t count, uint8_t other)
{
	memset(places, other, AC_INDEX_MAX);
	memcpy(places, from, count);
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
	s->idct_full = idct_full_best();
	s->watches_texture = watches_texture;
	s->memory = memory;
	places_make(s->low, idct_positions, IDCT_POSITIONS, IDCT_UNUSED);
	places_make(s->all, idct_order, DCTSIZE2, DCTSIZE2);
	scan_shape(s, jpeg);
	if (scan_tables_make(&s->tables, s + 1, used, n != DECODE_SCALE_FULL,
			     jpeg) &&
	    components_make(s, img, jpeg))
		err = decode_scan(s);
	memory_free(memory, s);
	return err;
}
