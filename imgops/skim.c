/* SPDX-License-Identifier: MIT */
#include "imgops/skim.h"

#include "imgops/huffman.h"
#include "imgops/markers.h"

#include <stdlib.h>

enum {
	STEPS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	LOW_BIT_MAX = 13,
};

/*
 * What can be stepped over by looking at some bits, whole symbols: how many
 * bits (0: not even one symbol), how many coefficients, and whether the block
 * ends there, which counts as a coefficient.
 */
enum {
	STEP_BITS_MASK = 63,
	STEP_COEFFICIENTS_SHIFT = 8,
	STEP_COEFFICIENTS_MASK = 127,
	STEP_IS_END = 1 << 15,
};

struct ac_table {
	struct huffman codes;
	uint16_t steps[LOOKS];
};

struct component {
	struct img_plane *plane;
	int16_t *coefficients; /* DC of each block, as rows of `plane` */
	const struct huffman *dc;
	const struct ac_table *ac;
	uint32_t across, down; /* blocks in an MCU */
	int id;                /* in scan headers */
	int32_t quant;
	int32_t last_dc;
};

/* One scan: first DC and all AC, first DC alone, or one more bit of DC. */
struct skim {
	struct bits bits;
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* of MCUs */
	uint32_t restart_interval;
	int low_bit;
	struct huffman dc[NUM_HUFF_TBLS];
	struct ac_table ac[NUM_HUFF_TBLS];
};

typedef bool read_block_fn(struct bits *b, struct component *c,
			   int16_t *coefficient, int low_bit);

static uint16_t step_make(const struct huffman *h, uint32_t look)
{
	uint32_t used = 0, coefficients = 0;

	while (coefficients < DCTSIZE2) {
		uint32_t code = h->codes[look << used & (LOOKS - 1)];
		uint32_t run = code >> 4 & 15, size = code & 15;
		uint32_t bits = used + (code >> 8) + size;

		if (code == 0 || bits > (uint32_t)LOOK_BITS)
			break;
		used = bits;
		if (size == 0 && run != 15)
			return (uint16_t)(used | STEP_IS_END |
					  (coefficients + 1)
						  << STEP_COEFFICIENTS_SHIFT);
		coefficients += run + 1;
	}
	return (uint16_t)(used | coefficients << STEP_COEFFICIENTS_SHIFT);
}

/* One symbol that is too long for a step. */
static inline bool skip_symbol(struct bits *b, const struct huffman *h,
			       int32_t *left)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);

	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	if (symbol < 0)
		return false;
	*left = size == 0 && run != 15 ? 0 : *left - run - 1;
	bits_drop(b, size);
	return true;
}

/* Step over the 63 AC coefficients of a block.  False: that cannot be. */
static inline bool skip_ac(struct bits *bits, const struct ac_table *ac)
{
	struct bits b = *bits;
	int32_t left = DCTSIZE2 - 1;

	while (left > 0) {
		b = bits_refill(b);
		for (uint32_t i = 0; i < STEPS_PER_REFILL && left > 0; i++) {
			uint32_t step = ac->steps[b.next >> (64 - LOOK_BITS)];
			uint32_t coefficients =
				step >> STEP_COEFFICIENTS_SHIFT &
				STEP_COEFFICIENTS_MASK;

			if (step == 0 || (int32_t)coefficients > left) {
				if (!skip_symbol(&b, &ac->codes, &left))
					return false;
				break;
			}
			bits_drop(&b, step & STEP_BITS_MASK);
			left -= (int32_t)coefficients;
			if (step & STEP_IS_END)
				left = 0;
		}
	}
	*bits = b;
	return left == 0;
}

static inline bool read_first(struct bits *b, struct component *c,
			      int16_t *coefficient, int low_bit)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);

	int32_t size = huffman_symbol(b, c->dc);

	if (size < 0)
		return false;
	c->last_dc += huffman_value(b, size);
	if (abs(c->last_dc) > INT16_MAX >> low_bit)
		return false;
	*coefficient = (int16_t)(c->last_dc * (1 << low_bit));
	return true;
}

static bool read_all(struct bits *b, struct component *c, int16_t *coefficient,
		     int low_bit)
{
	return read_first(b, c, coefficient, low_bit) && skip_ac(b, c->ac);
}

static bool read_dc(struct bits *b, struct component *c, int16_t *coefficient,
		    int low_bit)
{
	return read_first(b, c, coefficient, low_bit);
}

static bool read_more(struct bits *b, struct component *c, int16_t *coefficient,
		      int low_bit)
{
	(void)c;
	if (b->count < 1)
		*b = bits_refill(*b);
	*coefficient =
		(int16_t)(*coefficient | (int16_t)(b->next >> 63 << low_bit));
	bits_drop(b, 1);
	return true;
}

static inline __attribute__((always_inline)) bool
read_mcu(struct skim *s, uint32_t column, uint32_t row,
	 read_block_fn *read_block)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];
		size_t stride = c->plane->stride_bytes;
		int16_t *at = c->coefficients + (size_t)row * c->down * stride +
			      (size_t)column * c->across;

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_block(&s->bits, c,
						at + y * stride + x,
						s->low_bit))
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

/* Inlined for each kind of scan. */
static inline __attribute__((always_inline)) bool
read_scan(struct skim *s, read_block_fn *read_block)
{
	uint32_t left = s->restart_interval, restarts = 0;

	for (uint32_t y = 0; y < s->rows; y++) {
		for (uint32_t x = 0; x < s->columns; x++) {
			if (s->restart_interval > 0 && left-- == 0) {
				if (!restart(s, restarts++))
					return false;
				left = s->restart_interval - 1;
			}
			if (!read_mcu(s, x, y, read_block))
				return false;
		}
		if (!bits_are_real(&s->bits))
			return false;
	}
	return true;
}

static bool tables_make(struct skim *s, const struct jpeg_decompress_struct *j)
{
	for (int i = 0; i < j->comps_in_scan; i++) {
		const jpeg_component_info *c = j->cur_comp_info[i];
		uint32_t dc = (uint32_t)c->dc_tbl_no;
		uint32_t ac = (uint32_t)c->ac_tbl_no;
		const JHUFF_TBL *from;

		if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS)
			return false;
		from = j->dc_huff_tbl_ptrs[dc];
		if (s->dc[dc].symbols == NULL &&
		    (from == NULL ||
		     !huffman_make(&s->dc[dc], from->bits, from->huffval,
				   VALUE_BITS_MAX)))
			return false;
		from = j->ac_huff_tbl_ptrs[ac];
		if (j->progressive_mode || s->ac[ac].codes.symbols != NULL)
			continue;
		if (from == NULL || !huffman_make(&s->ac[ac].codes, from->bits,
						  from->huffval, UINT8_MAX))
			return false;
		for (uint32_t k = 0; k < LOOKS; k++)
			s->ac[ac].steps[k] = step_make(&s->ac[ac].codes, k);
	}
	return true;
}

static bool components_make(struct skim *s, struct image *img,
			    int16_t *coefficients,
			    const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;
	uint32_t blocks = 0; /* in an MCU */

	for (uint32_t i = 0; i < s->component_count; i++) {
		const jpeg_component_info *c = jpeg->cur_comp_info[i];
		const JQUANT_TBL *quant = NULL;

		if (c->quant_tbl_no >= 0 && c->quant_tbl_no < NUM_QUANT_TBLS)
			quant = jpeg->quant_tbl_ptrs[c->quant_tbl_no];
		/* Where it has vector code, libjpeg takes steps as signed. */
		if (quant == NULL || quant->quantval[0] > INT16_MAX)
			return false;
		struct img_plane *p = &img->planes[c->component_index];

		s->components[i] = (struct component){
			.plane = p,
			.coefficients = coefficients +
					(p->samples - (uint8_t *)img->block),
			.dc = &s->dc[c->dc_tbl_no],
			.ac = &s->ac[c->ac_tbl_no],
			.across = is_alone ? 1 : (uint32_t)c->h_samp_factor,
			.down = is_alone ? 1 : (uint32_t)c->v_samp_factor,
			.id = c->component_id,
			.quant = quant->quantval[0],
		};
		blocks += s->components[i].across * s->components[i].down;
	}
	return blocks <= D_MAX_BLOCKS_IN_MCU;
}

/* The scan that `jpeg` has just read the header of. */
static bool begin(struct skim *s, struct image *img, int16_t *coefficients,
		  const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;
	uint32_t mcu_x = is_alone ? 1 : (uint32_t)jpeg->max_h_samp_factor;
	uint32_t mcu_y = is_alone ? 1 : (uint32_t)jpeg->max_v_samp_factor;

	*s = (struct skim){
		.bits = { .at = jpeg->src->next_input_byte,
			  .end = jpeg->src->next_input_byte +
				 jpeg->src->bytes_in_buffer },
		.component_count = (uint32_t)jpeg->comps_in_scan,
		.restart_interval = jpeg->restart_interval,
		.low_bit = jpeg->progressive_mode ? jpeg->Al : 0,
	};
	s->columns =
		(jpeg->image_width + mcu_x * DCTSIZE - 1) / (mcu_x * DCTSIZE);
	s->rows =
		(jpeg->image_height + mcu_y * DCTSIZE - 1) / (mcu_y * DCTSIZE);
	if (jpeg->arith_code || jpeg->comps_in_scan != jpeg->num_components)
		return false;
	if (jpeg->progressive_mode &&
	    (jpeg->Ss != 0 || jpeg->Ah != 0 || jpeg->Al > LOW_BIT_MAX))
		return false;
	return tables_make(s, jpeg) &&
	       components_make(s, img, coefficients, jpeg);
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

static bool read_later(struct skim *s, struct markers w)
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
		if (!read_scan(s, read_more))
			return false;
	}
	return true;
}

/* As libjpeg's jpeg_idct_1x1() and its range limit do it. */
static uint8_t sample_of(int32_t dc, int32_t quant)
{
	int32_t v = (dc * quant + 4) >> 3;

	v = ((v & 1023) ^ 512) - 512 + 128;
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static void store(const struct component *c)
{
	const struct img_plane *p = c->plane;

	for (uint32_t y = 0; y < p->height; y++) {
		size_t row = y * p->stride_bytes;

		for (uint32_t x = 0; x < p->width; x++)
			p->samples[row + x] =
				sample_of(c->coefficients[row + x], c->quant);
	}
}

static bool read_scans(struct skim *s, bool is_progressive,
		       const struct piece *later, uint32_t later_count)
{
	if (!is_progressive)
		return read_scan(s, read_all);
	if (!read_scan(s, read_dc) ||
	    !read_later(s, (struct markers){ s->bits.at, s->bits.end, true }))
		return false;
	for (uint32_t i = 0; i < later_count; i++) {
		const struct piece *p = &later[i];
		struct markers w = { p->data, p->data + p->bytes, false };

		if (!read_later(s, w))
			return false;
	}
	return s->low_bit == 0;
}

bool skim_read(struct image *img, const struct jpeg_decompress_struct *jpeg,
	       const struct piece *later, uint32_t later_count,
	       const struct img_memory *memory)
{
	size_t count = (size_t)image_bytes(img);
	struct skim *s = memory->alloc(memory->arg,
				       sizeof(*s) + count * sizeof(int16_t));
	bool ok = s != NULL && begin(s, img, (int16_t *)(s + 1), jpeg) &&
		  read_scans(s, jpeg->progressive_mode, later, later_count);

	for (uint32_t i = 0; ok && i < s->component_count; i++)
		store(&s->components[i]);
	if (s != NULL)
		memory->free(memory->arg, s);
	return ok;
}
