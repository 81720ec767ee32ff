/* SPDX-License-Identifier: MIT */
/*
 * In this order: the tables of a scan, its blocks and its MCUs.
 *
 * The AC coefficients of a block are decoded as far as they are needed, and
 * those after them are skipped (ac.h).
 */
#include "imgops/formats/jpeg/entropy.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/ac.h"
#include "imgops/formats/jpeg/ahead.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/idct.h"
#include "imgops/formats/jpeg/idct_full.h"
#include "imgops/formats/jpeg/light.h"
#include "imgops/formats/jpeg/markers.h"
#include "imgops/formats/jpeg/sequential.h"
#include "imgops/formats/jpeg/texture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAUSE_MCUS = 64, /* not more without a pause */
	/*
	 * A block has no more bytes, even if a zero is stuffed after each; and
	 * what is read at once, and a marker, have no more.
	 */
	BLOCK_BYTES_MAX = 2 * DCTSIZE2 * SYMBOL_BITS_MAX / 8 + 1,
	BESIDES_BYTES_MAX = 32,
};

/* --- The tables and blocks of a scan --- */

struct scan_tables {
	const struct dc_table *dc[NUM_HUFF_TBLS];
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

	return dc * sizeof(struct dc_table) + ac * sizeof(struct ac_table);
}

/*
 * Make the tables in `room`, which has scan_tables_bytes() and is aligned for
 * any type.  False: a table is missing or not valid.
 */
static bool scan_tables_make(struct scan_tables *t, void *room,
			     struct table_set used, bool has_skips,
			     struct ac_symbol symbols[LOOKS],
			     const struct jpeg_decompress_struct *jpeg)
{
	size_t dc_count = (size_t)__builtin_popcount(used.dc);
	struct dc_table *dc = room;
	struct ac_table *ac = (struct ac_table *)(dc + dc_count);

	*t = (struct scan_tables){ 0 };
	for (uint32_t i = 0; i < NUM_HUFF_TBLS; i++) {
		const JHUFF_TBL *of_dc = jpeg->dc_huff_tbl_ptrs[i];
		const JHUFF_TBL *of_ac = jpeg->ac_huff_tbl_ptrs[i];

		if (used.dc >> i & 1) {
			if (of_dc == NULL ||
			    !dc_table_make(dc, of_dc->bits, of_dc->huffval,
					   symbols))
				return false;
			t->dc[i] = dc++;
		}
		if (used.ac >> i & 1) {
			if (of_ac == NULL ||
			    !ac_table_make(ac, of_ac->bits, of_ac->huffval,
					   has_skips, symbols))
				return false;
			t->ac[i] = ac++;
		}
	}
	return true;
}

/* A block's place in an MCU. */
struct slot {
	struct component *component;
	uint32_t x, y; /* among those of its component */
	uint8_t *out;  /* samples of the next block here */
	size_t step;   /* from one MCU to the next */
};

enum {
	QUEUE_BLOCKS = 16,
	/* If no coefficient after this one is set, only low ones are. */
	LOW_LAST = 9,
	/* Room for one block, and what is stored after its last coefficient. */
	FULL_ROOM = DCTSIZE2 + 16,
};

/* Whole blocks that wait for their inverse DCT, of a kind. */
struct queue {
	idct_full_fn *two;
	uint32_t count;
	struct full_block blocks[QUEUE_BLOCKS];
};

/*
 * Blocks are read first and transformed later, in pairs: the processor would
 * have to wait for the coefficients that it has just stored.
 */
struct full {
	struct queue low, all;
	bool fits;
	/* Blocks that are zero; the queues have the others. */
	uint32_t unused_count;
	int16_t *unused[2 * QUEUE_BLOCKS];
	int16_t room[2 * QUEUE_BLOCKS][FULL_ROOM];
};

struct sequential {
	struct bits bits;
	size_t offset; /* of bits.at in the scan, between two calls */
	const struct memory *memory; /* NULL: without pauses */
	/* While bytes still come: end here.  NULL: all have come. */
	const _Atomic bool *stop;
	uint32_t n; /* a block becomes n x n samples */
	bool watches_texture, keeps_light;
	uint32_t texture_step;
	/*
	 * Where a block has its coefficients, by their number: the low ones,
	 * for idct_block(), or all.  Others share the place after the last.
	 */
	uint8_t low[AC_INDEX_MAX], all[AC_INDEX_MAX];
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	struct slot slots[D_MAX_BLOCKS_IN_MCU];
	uint32_t slot_count;
	uint32_t columns, rows; /* columns and rows of MCUs */
	uint32_t x, y;          /* the next MCU */
	/* Those in which the frame cuts no block. */
	uint32_t whole_columns, whole_rows;
	uint32_t restart_interval, mcus_left, restarts;
	struct scan_tables tables;
	struct ahead *ahead; /* NULL: none */
	union {
		struct ac_symbol symbols[LOOKS]; /* while tables are made */
		struct full full;
	};
};

/*
 * Read all coefficients of a block, which is zero.  *last is AC_END: only the
 * first is set.
 */
static inline __attribute__((always_inline)) bool
read_whole(const struct sequential *s, struct bits *bits, struct component *c,
	   int16_t block[DCTSIZE2 + 1], uint32_t *last)
{
	struct reading r = { .ac = c->ac, .places = s->all, .block = block };

	if (!read_dc(bits, c, &r.looks))
		return false;
	block[0] = (int16_t)c->last_dc;
	return read_values(&r, bits, AC_COEFFICIENTS, last, HOW_FULL) &&
	       (*last == AC_COEFFICIENTS || *last >= AC_END);
}

/* --- Samples --- */

static void full_start(struct full *f)
{
	const struct idct_full *idct = idct_full_best();

	f->fits = true;
	f->low.two = idct->two_low;
	f->low.count = 0;
	f->all.two = idct->two;
	f->all.count = 0;
	f->unused_count = ARRAY_SIZE(f->unused);
	for (uint32_t i = 0; i < ARRAY_SIZE(f->unused); i++)
		f->unused[i] = f->room[i];
	memset(f->room, 0, sizeof(f->room));
}

/* Make the samples of the blocks in a queue. */
static void full_flush(struct full *f, struct queue *q)
{
	for (uint32_t i = 0; i < q->count; i += 2) {
		const struct full_block *a = &q->blocks[i];
		const struct full_block *b = i + 1 < q->count ? a + 1 : a;

		f->fits = q->two(a, b) && f->fits;
	}
	for (uint32_t i = 0; i < q->count; i++)
		f->unused[f->unused_count++] = q->blocks[i].coefficients;
	q->count = 0;
}

/* Read a block, and have its samples made. */
static inline __attribute__((always_inline)) bool
read_full_block(struct sequential *s, struct bits *bits,
		const struct slot *slot)
{
	struct component *c = slot->component;
	struct full *f = &s->full;
	struct full_block b = {
		.coefficients = f->unused[f->unused_count - 1],
		.steps = c->all_steps,
		.out = slot->out,
		.stride_bytes = c->plane->stride_bytes,
	};
	struct queue *q = &f->all;
	uint32_t last;

	if (!read_whole(s, bits, c, b.coefficients, &last))
		return false;
	if (last == AC_END) {
		f->fits = idct_full_flat(&b) && f->fits;
		return true;
	}
	if (last >= AC_END && last <= AC_END + LOW_LAST)
		q = &f->low;
	f->unused_count--;
	q->blocks[q->count++] = b;
	if (q->count == QUEUE_BLOCKS)
		full_flush(f, q);
	return true;
}

/* The same at a reduced size. */
static inline __attribute__((always_inline)) bool
read_low_block(struct sequential *s, struct bits *bits, const struct slot *slot,
	       enum how how)
{
	/* The last one is IDCT_UNUSED. */
	int16_t block[IDCT_COEFFICIENTS + 1] = { 0 };
	struct component *c = slot->component;
	bool measures = how == HOW_WATCHES ||
			(how == HOW_KEEPS_LIGHT && c->keeps_light);
	uint64_t energy = 0;

	/* Each is compiled alone. */
	if (!(measures ?
		      read_low(c, bits, s->n, s->low, block, &energy, true) :
		      read_low(c, bits, s->n, s->low, block, &energy, false)))
		return false;
	block[0] = (int16_t)c->last_dc;
	if (how == HOW_WATCHES)
		texture_add(&c->texture, energy);
	idct_block(slot->out, c->plane->stride_bytes, block, c->low_steps,
		   s->n);
	if (measures && c->keeps_light)
		light_keep(slot->out, c->plane->stride_bytes, s->n, energy);
	return true;
}

/*
 * At a reduced size, read a block that the frame cuts: all coefficients count.
 */
static bool read_cut_block(struct sequential *s, const struct slot *slot,
			   uint32_t x, uint32_t y)
{
	int16_t block[DCTSIZE2 + 1] = { 0 };
	struct component *c = slot->component;
	int32_t all[DCTSIZE2];
	uint32_t last;

	if (!read_whole(s, &s->bits, c, block, &last))
		return false;
	for (uint32_t k = 0; k < DCTSIZE2; k++) {
		uint32_t at = idct_order[k];

		all[at] = idct_limited(block[at] * c->quant[k]);
	}
	edge_block(slot->out, c->plane->stride_bytes, all, &c->edge, x, y);
	return true;
}

/* Read past a block that is outside of the picture. */
static bool skip_block(struct sequential *s, struct component *c)
{
	int16_t block[DCTSIZE2 + 1] = { 0 };
	uint32_t last;

	return read_whole(s, &s->bits, c, block, &last);
}

/* --- MCUs --- */

/* Read whole MCUs.  The bits stay in registers. */
static inline __attribute__((always_inline)) bool
read_run(struct sequential *s, uint32_t count, enum how how)
{
	struct bits b = s->bits;

	for (; count > 0; count--)
		for (uint32_t i = 0; i < s->slot_count; i++) {
			struct slot *slot = &s->slots[i];

			if (!(how == HOW_FULL ?
				      read_full_block(s, &b, slot) :
				      read_low_block(s, &b, slot, how)))
				return false;
			slot->out += slot->step;
		}
	s->bits = b;
	return true;
}

/* Read block (x, y) of a component. */
static inline __attribute__((always_inline)) bool
read_edge_block(struct sequential *s, const struct slot *slot, uint32_t x,
		uint32_t y, enum how how)
{
	struct component *c = slot->component;

	if (x >= c->columns || y >= c->rows)
		return skip_block(s, c);
	if (how == HOW_FULL)
		return read_full_block(s, &s->bits, slot);
	if (edge_cuts(&c->edge, x, y))
		return read_cut_block(s, slot, x, y);
	return read_low_block(s, &s->bits, slot, how);
}

/* An MCU at the edge.  Compilers would inline less if this was a run. */
static __attribute__((noinline)) bool
read_edge_mcu(struct sequential *s, uint32_t column, uint32_t row, enum how how)
{
	for (uint32_t i = 0; i < s->slot_count; i++) {
		struct slot *slot = &s->slots[i];
		const struct component *c = slot->component;

		if (!read_edge_block(s, slot, column * c->across + slot->x,
				     row * c->down + slot->y, how))
			return false;
		slot->out += slot->step;
	}
	return true;
}

static bool read_restart(struct sequential *s)
{
	if (!restart_read(&s->bits, s->restarts++, s->components,
			  s->component_count))
		return false;
	s->mcus_left = s->restart_interval;
	if (s->ahead != NULL)
		ahead_restart(s->ahead);
	return true;
}

/* True: fine texture has been found so far. */
static bool has_texture(const struct sequential *s)
{
	for (uint32_t i = 0; i < s->component_count; i++)
		if (texture_is_fine(&s->components[i].texture))
			return true;
	return false;
}

/* Make the samples of MCUs that have been read ahead. */
static bool make_run(struct sequential *s, uint32_t count)
{
	for (uint32_t i = 0; i < s->slot_count; i++) {
		struct slot *slot = &s->slots[i];
		uint32_t index = (uint32_t)(slot->component - s->components);

		if (slot->x == 0 &&
		    !ahead_make(s->ahead, index, slot->y, slot->out, count))
			return false;
		slot->out += count * slot->step;
	}
	return true;
}

/* How many of the next `count` MCUs have certainly come? */
static uint32_t mcus_here(const struct sequential *s, uint32_t count)
{
	size_t most = s->slot_count * BLOCK_BYTES_MAX + BESIDES_BYTES_MAX;
	size_t bytes = (size_t)(s->bits.end - s->bits.at);

	if (s->stop == NULL)
		return count;
	return atomic_load_explicit(s->stop, memory_order_relaxed) ?
		       0 :
		       (uint32_t)min_u64(count, bytes / most);
}

/* Read the MCUs of a row up to before column `end`, if they have come. */
static inline __attribute__((always_inline)) bool
read_mcus(struct sequential *s, uint32_t end, uint32_t row, enum how how)
{
	uint32_t whole = row < s->whole_rows ? s->whole_columns : 0;
	uint32_t x = s->x;
	bool has_them = false;

	while (x < end) {
		uint32_t count = x < whole ? min_u32(whole, end) - x : 1;

		count = mcus_here(s, count);
		if (count == 0)
			break;
		if (s->ahead != NULL)
			count = ahead_look(s->ahead, &s->bits, s->components,
					   count, &has_them);
		if (s->restart_interval > 0) {
			if (s->mcus_left == 0 && !read_restart(s))
				return false;
			count = min_u32(count, s->mcus_left);
			s->mcus_left -= count;
		}
		if (!(x >= whole ? read_edge_mcu(s, x, row, how) :
		      has_them && how == HOW_LOW ? make_run(s, count) :
						   read_run(s, count, how)))
			return false;
		if (s->ahead != NULL)
			ahead_pass(s->ahead, count, &s->bits, s->components);
		x += count;
	}
	s->x = x;
	return bits_are_real(&s->bits);
}

/* Point the slots at the samples of a row of MCUs. */
static void start_row(struct sequential *s, uint32_t row)
{
	for (uint32_t i = 0; i < s->slot_count; i++) {
		struct slot *slot = &s->slots[i];
		const struct component *c = slot->component;
		size_t y = ((size_t)row * c->down + slot->y) * s->n;

		slot->out = c->plane->samples + y * c->plane->stride_bytes +
			    slot->x * s->n;
	}
}

static inline __attribute__((always_inline)) bool
read_row(struct sequential *s, uint32_t row, enum how how)
{
	uint32_t end = s->x;

	if (s->x == 0)
		start_row(s, row);
	while (s->x == end && end < s->columns) {
		end = min_u32(end + PAUSE_MCUS, s->columns);
		if (!read_mcus(s, end, row, how))
			return false;
		if (s->memory != NULL)
			memory_pause(s->memory);
	}
	return true;
}

/* The same, in the way of this picture. */
static bool read_any_row(struct sequential *s, uint32_t row, bool watches)
{
	if (s->n == DECODE_SCALE_FULL)
		return read_row(s, row, HOW_FULL);
	if (watches)
		return read_row(s, row, HOW_WATCHES);
	return s->keeps_light ? read_row(s, row, HOW_KEEPS_LIGHT) :
				read_row(s, row, HOW_LOW);
}

/* Read on, as far as bytes have come. */
static enum img_err read_rows(struct sequential *s)
{
	for (; s->y < s->rows; s->x = 0, s->y++) {
		bool watches = s->watches_texture &&
			       texture_watches(s->texture_step, s->y);

		if (!read_any_row(s, s->y, watches))
			return IMG_ERR_IRREGULAR;
		if (s->x < s->columns)
			return IMG_OK;
		if (watches && has_texture(s))
			return IMG_ERR_TEXTURE;
	}
	return IMG_OK;
}

/* The blocks of a component in an MCU.  False: there are too many. */
static bool slots_add(struct sequential *s, struct component *c)
{
	for (uint32_t i = 0; i < c->across * c->down; i++) {
		if (s->slot_count == D_MAX_BLOCKS_IN_MCU)
			return false;
		s->slots[s->slot_count++] = (struct slot){
			.component = c,
			.x = i % c->across,
			.y = i / c->across,
			.step = (size_t)c->across * s->n,
		};
	}
	return true;
}

/* Set up the components of the scan whose header `jpeg` has just read. */
static bool components_make(struct sequential *s, struct image *img,
			    const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;

	s->slot_count = 0;
	s->component_count = (uint32_t)jpeg->comps_in_scan;
	for (uint32_t i = 0; i < s->component_count; i++) {
		const jpeg_component_info *from = jpeg->cur_comp_info[i];
		uint32_t index = (uint32_t)from->component_index;
		bool has_light = image_has_light(img, index);
		struct img_plane *p = &img->planes[index];
		struct component *c = &s->components[i];

		*c = (struct component){
			.plane = p,
			.dc = s->tables.dc[from->dc_tbl_no],
			.ac = s->tables.ac[from->ac_tbl_no],
			.columns = from->width_in_blocks,
			.rows = from->height_in_blocks,
			.across = is_alone ? 1 : (uint32_t)from->h_samp_factor,
			.down = is_alone ? 1 : (uint32_t)from->v_samp_factor,
			.keeps_light = s->keeps_light && has_light,
		};
		if (!idct_quant(c->quant, jpeg, from->quant_tbl_no) ||
		    !slots_add(s, c))
			return false;
		idct_choose_steps(c->low_steps, c->quant);
		for (uint32_t k = 0; k < DCTSIZE2; k++)
			c->all_steps[idct_order[k]] = (int16_t)c->quant[k];
		if (s->n == DECODE_SCALE_FULL)
			continue;
		edge_make(&c->edge, jpeg, from, s->n);
		texture_start(&c->texture, from,
			      jpeg->quant_tbl_ptrs[from->quant_tbl_no], s->n,
			      s->texture_step, s->keeps_light, has_light);
	}
	return true;
}

static void scan_shape(struct sequential *s,
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
	s->restart_interval = s->mcus_left = jpeg->restart_interval;
}

static bool can_read_ahead(const struct sequential *s)
{
	return s->n < DECODE_SCALE_FULL && !s->keeps_light;
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

size_t sequential_bytes(struct table_set used)
{
	return sizeof(struct sequential) + scan_tables_bytes(used);
}

struct sequential *sequential_begin(struct image *img, struct reduction how,
				    const struct jpeg_decompress_struct *jpeg,
				    const struct memory *memory)
{
	struct table_set used;
	struct sequential *s;

	if (!can_read(jpeg) || !find_tables(&used, jpeg))
		return NULL;
	s = memory_alloc(memory, sequential_bytes(used));
	if (s == NULL)
		return NULL;
	memset(s, 0, offsetof(struct sequential, symbols));
	s->n = how.n;
	s->watches_texture = how.watches_texture;
	s->keeps_light = how.keeps_light && how.n < DECODE_SCALE_FULL;
	places_make(s->low, idct_positions, IDCT_POSITIONS, IDCT_UNUSED);
	places_make(s->all, idct_order, DCTSIZE2, DCTSIZE2);
	scan_shape(s, jpeg);
	if (!scan_tables_make(&s->tables, s + 1, used,
			      how.n != DECODE_SCALE_FULL, s->symbols, jpeg) ||
	    !components_make(s, img, jpeg)) {
		memory_free(memory, s);
		return NULL;
	}
	full_start(&s->full);
	return s;
}

static void open_scan(struct sequential *s, const uint8_t *scan, size_t bytes,
		      const struct memory *memory)
{
	s->memory = memory;
	s->bits.at = scan + s->offset;
	s->bits.end = scan + bytes;
}

enum img_err sequential_come(struct sequential *s, const uint8_t *scan,
			     size_t bytes, const _Atomic bool *stop)
{
	enum img_err err;

	open_scan(s, scan, bytes, NULL);
	s->stop = stop;
	err = read_rows(s);
	s->stop = NULL;
	s->offset = (size_t)(s->bits.at - scan);
	return err;
}

size_t sequential_come_bytes(const struct sequential *s)
{
	return s->offset;
}

enum img_err sequential_rest(struct sequential *s, const uint8_t *scan,
			     size_t bytes, const struct memory *memory)
{
	enum img_err err;

	open_scan(s, scan, bytes, memory);
	if (can_read_ahead(s))
		s->ahead = ahead_start(s->components, s->component_count, s->n,
				       &s->bits, s->restart_interval, memory);
	err = read_rows(s);
	ahead_stop(s->ahead);
	s->ahead = NULL;
	if (err != IMG_OK)
		return err;
	full_flush(&s->full, &s->full.low);
	full_flush(&s->full, &s->full.all);
	return s->full.fits ? IMG_OK : IMG_ERR_IRREGULAR;
}

enum img_err sequential_read(struct image *img, struct reduction how,
			     const struct jpeg_decompress_struct *jpeg,
			     const struct memory *memory)
{
	struct sequential *s = sequential_begin(img, how, jpeg, memory);
	enum img_err err;

	if (s == NULL)
		return IMG_ERR_IRREGULAR;
	err = sequential_rest(s, jpeg->src->next_input_byte,
			      jpeg->src->bytes_in_buffer, memory);
	memory_free(memory, s);
	return err;
}
