/* SPDX-License-Identifier: MIT */
#include "imgops/skim.h"

#include "imgops/markers.h"
#include "imgops/reduce.h"

#include <stdlib.h>

enum {
	LOW_BIT_MAX = 13,
	NOWHERE = REDUCE_COEFFICIENTS,
	PLACES = 25, /* the 4 x 4 lowest coefficients are among the first */
};

/*
 * Where the first coefficients of the zigzag (T.81, figure 5) go in a block of
 * reduce.h, and the last one that a block of n x n needs.
 */
static const uint8_t places[PLACES] = {
	0,  1,       4,       8,       5,       2,       3,       6,       9,
	12, NOWHERE, 13,      10,      7,       NOWHERE, NOWHERE, NOWHERE, 11,
	14, NOWHERE, NOWHERE, NOWHERE, NOWHERE, NOWHERE, 15,
};
static const int32_t last_needed[REDUCE_MAX + 1] = { 0, 0, 4, 12, 24 };

struct component {
	struct img_plane *plane;
	int16_t *dc_values; /* progressive: of each block, as rows of `plane` */
	const struct huffman *dc;
	const struct ac_table *ac;
	uint32_t across, down;  /* blocks in an MCU */
	uint16_t quant[PLACES]; /* in zigzag order */
	int32_t last_dc;
	int id; /* in scan headers */
};

struct skim {
	struct bits bits;
	uint32_t n; /* samples of a block, each way */
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* of MCUs */
	uint32_t restart_interval;
	int low_bit; /* progressive: of DC, sent so far */
	struct skim_tables tables;
};

/* Block (x, y) of a component.  False: the data are not as they should be. */
typedef bool read_block_fn(struct skim *s, struct component *c, uint32_t x,
			   uint32_t y);

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

/*
 * AC coefficients until the last needed one; the rest are stepped over.  What
 * is read behind it goes NOWHERE.
 */
static inline bool read_ac(struct bits *bits, const struct component *c,
			   int32_t last, int32_t *block)
{
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
			if (k < PLACES)
				block[places[k]] =
					reduce_limited(value * c->quant[k]);
		}
	}
	*bits = b;
	return k >= ADVANCE_END || skip_ac(bits, c->ac, AC_COEFFICIENTS - k);
}

static bool read_block(struct skim *s, struct component *c, uint32_t x,
		       uint32_t y)
{
	int32_t block[REDUCE_COEFFICIENTS + 1] = { 0 }; /* and NOWHERE */
	size_t stride = c->plane->stride_bytes;

	if (!read_dc(&s->bits, c))
		return false;
	block[0] = reduce_dc(c->last_dc, c->quant[0], s->n);
	if (!read_ac(&s->bits, c, last_needed[s->n], block))
		return false;
	reduce_block(c->plane->samples + y * s->n * stride + x * s->n, stride,
		     block, s->n);
	return true;
}

static bool read_first_dc(struct skim *s, struct component *c, uint32_t x,
			  uint32_t y)
{
	if (!read_dc(&s->bits, c) || abs(c->last_dc) > INT16_MAX >> s->low_bit)
		return false;
	c->dc_values[y * c->plane->stride_bytes + x] =
		(int16_t)(c->last_dc * (1 << s->low_bit));
	return true;
}

static bool read_next_dc_bit(struct skim *s, struct component *c, uint32_t x,
			     uint32_t y)
{
	int16_t *value = &c->dc_values[y * c->plane->stride_bytes + x];
	struct bits *b = &s->bits;

	if (b->count < 1)
		*b = bits_refill(*b);
	*value = (int16_t)(*value | (int16_t)(b->next >> 63 << s->low_bit));
	bits_drop(b, 1);
	return true;
}

static inline __attribute__((always_inline)) bool
read_mcu(struct skim *s, uint32_t column, uint32_t row, read_block_fn *read)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read(s, c, column * c->across + x,
					  row * c->down + y))
					return false;
	}
	return true;
}

/* Restart marker `number` follows at once. */
static bool restart(struct skim *s, uint32_t number)
{
	struct bits *b = &s->bits;

	if (!bits_are_real(b) || b->count - b->made_up >= 8 ||
	    b->end - b->at < 2 || b->at[0] != 0xff ||
	    b->at[1] != MARKER_RST0 + number % 8)
		return false;
	*b = (struct bits){ .at = b->at + 2, .end = b->end };
	for (uint32_t i = 0; i < s->component_count; i++)
		s->components[i].last_dc = 0;
	return true;
}

/* Inlined for each kind of block. */
static inline __attribute__((always_inline)) bool read_scan(struct skim *s,
							    read_block_fn *read)
{
	uint32_t left = s->restart_interval, restarts = 0;

	for (uint32_t y = 0; y < s->rows; y++) {
		for (uint32_t x = 0; x < s->columns; x++) {
			if (s->restart_interval > 0 && left-- == 0) {
				if (!restart(s, restarts++))
					return false;
				left = s->restart_interval - 1;
			}
			if (!read_mcu(s, x, y, read))
				return false;
		}
		if (!bits_are_real(&s->bits))
			return false;
	}
	return true;
}

static bool quant_copy(struct component *c,
		       const struct jpeg_decompress_struct *jpeg, int number)
{
	const JQUANT_TBL *from = NULL;

	if (number >= 0 && number < NUM_QUANT_TBLS)
		from = jpeg->quant_tbl_ptrs[number];
	for (uint32_t k = 0; from != NULL && k < PLACES; k++) {
		uint32_t at = places[k];

		if (at != NOWHERE)
			c->quant[k] = from->quantval[at / REDUCE_MAX * DCTSIZE +
						     at % REDUCE_MAX];
		/* Where it has vector code, libjpeg takes steps as signed. */
		if (c->quant[k] > INT16_MAX)
			return false;
	}
	return from != NULL;
}

/* The components of the scan that `jpeg` has just read the header of. */
static bool components_make(struct skim *s, struct image *img,
			    int16_t *dc_values,
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
			.dc_values = dc_values +
				     (p->samples - (uint8_t *)img->block),
			.dc = s->tables.dc[from->dc_tbl_no],
			.ac = s->tables.ac[from->ac_tbl_no],
			.across = is_alone ? 1 : (uint32_t)from->h_samp_factor,
			.down = is_alone ? 1 : (uint32_t)from->v_samp_factor,
			.id = from->component_id,
		};
		if (!quant_copy(c, jpeg, from->quant_tbl_no))
			return false;
		blocks += c->across * c->down;
	}
	return blocks <= D_MAX_BLOCKS_IN_MCU;
}

static void scan_shape(struct skim *s,
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
	s->restart_interval = jpeg->restart_interval;
	s->low_bit = jpeg->Al;
	s->bits = (struct bits){
		.at = jpeg->src->next_input_byte,
		.end = jpeg->src->next_input_byte + jpeg->src->bytes_in_buffer,
	};
}

/* True: `m` heads a scan of all components for the next bit of DC. */
static bool is_next_bit(const struct skim *s, const struct marker *m)
{
	uint32_t count = s->component_count;

	if (m->bytes != 4 + 2 * (size_t)count || m->data[0] != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (m->data[1 + 2 * i] != s->components[i].id)
			return false;
	/* scans_keep() has seen that the rest is in order. */
	return (m->data[m->bytes - 1] & 15) == s->low_bit - 1;
}

static bool read_dc_bits(struct skim *s, struct markers w)
{
	struct marker m;

	while (markers_next(&w, &m)) {
		if (m.code == MARKER_DRI || m.code == MARKER_DQT ||
		    m.code == MARKER_DAC)
			return false;
		if (m.code != MARKER_SOS)
			continue;
		if (!is_next_bit(s, &m))
			return false;
		s->low_bit--;
		s->bits = (struct bits){ .at = w.at, .end = w.end };
		if (!read_scan(s, read_next_dc_bit))
			return false;
	}
	return true;
}

static void store_dc(const struct component *c)
{
	const struct img_plane *p = c->plane;
	int32_t block[REDUCE_COEFFICIENTS] = { 0 };

	for (uint32_t y = 0; y < p->height; y++)
		for (uint32_t x = 0; x < p->width; x++) {
			size_t at = y * p->stride_bytes + x;

			block[0] = reduce_dc(c->dc_values[at], c->quant[0], 1);
			reduce_block(p->samples + at, p->stride_bytes, block,
				     1);
		}
}

static bool read_progressive(struct skim *s, const struct piece *later,
			     uint32_t later_count)
{
	if (!read_scan(s, read_first_dc) ||
	    !read_dc_bits(s, (struct markers){ s->bits.at, s->bits.end, true }))
		return false;
	for (uint32_t i = 0; i < later_count; i++) {
		const uint8_t *at = later[i].data;

		if (!read_dc_bits(s, (struct markers){ at, at + later[i].bytes,
						       false }))
			return false;
	}
	for (uint32_t i = 0; i < s->component_count; i++)
		store_dc(&s->components[i]);
	return s->low_bit == 0;
}

static bool can_read(const struct jpeg_decompress_struct *jpeg)
{
	if (jpeg->arith_code || jpeg->comps_in_scan != jpeg->num_components)
		return false;
	if (jpeg->progressive_mode)
		return jpeg->Ss == 0 && jpeg->Se == 0 && jpeg->Ah == 0 &&
		       jpeg->Al <= LOW_BIT_MAX;
	return jpeg->Ss == 0 && jpeg->Se == DCTSIZE2 - 1 && jpeg->Ah == 0 &&
	       jpeg->Al == 0;
}

size_t skim_bytes(const struct image *img, bool is_progressive,
		  struct skim_used used)
{
	size_t values = is_progressive ? (size_t)image_bytes(img) : 0;

	return sizeof(struct skim) + skim_tables_bytes(used) +
	       values * sizeof(int16_t);
}

bool skim_read(struct image *img, uint32_t n,
	       const struct jpeg_decompress_struct *jpeg,
	       const struct piece *later, uint32_t later_count,
	       const struct img_memory *memory)
{
	bool is_progressive = jpeg->progressive_mode;
	struct skim_used used;
	struct skim *s;
	int16_t *dc_values;
	bool ok;

	if (!can_read(jpeg) || !skim_used_find(&used, jpeg))
		return false;
	s = memory->alloc(memory->arg, skim_bytes(img, is_progressive, used));
	if (s == NULL)
		return false;
	dc_values = (int16_t *)((uint8_t *)(s + 1) + skim_tables_bytes(used));
	s->n = n;
	scan_shape(s, jpeg);
	ok = skim_tables_make(&s->tables, s + 1, used, jpeg) &&
	     components_make(s, img, dc_values, jpeg) &&
	     (is_progressive ? read_progressive(s, later, later_count) :
			       read_scan(s, read_block));
	memory->free(memory->arg, s);
	return ok;
}
