/* SPDX-License-Identifier: MIT */
#include "imgops/skim.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOK_BITS = 13, /* of a table; longer codes are rare */
	LOOKS = 1 << LOOK_BITS,
	CODE_BITS_MAX = 16,
	VALUE_BITS_MAX = 15,
	SYMBOL_BITS_MAX = CODE_BITS_MAX + VALUE_BITS_MAX,
	STEPS_PER_REFILL = 56 / LOOK_BITS,
	DC_MAX = 32767,
};

/* The next bits of the scan, the first of them on top. */
struct bits {
	const uint8_t *at, *end;
	uint64_t next;
	int32_t count;
	int32_t made_up; /* zeros behind the last real bit: may not be used */
};

/* A Huffman table: T.81 annex C. */
struct table {
	uint16_t codes[LOOKS]; /* length << 8 | symbol; 0: longer than that */
	/* Left-aligned in 16 bits: codes of length n are below limits[n]. */
	uint32_t limits[CODE_BITS_MAX + 1];
	int32_t offsets[CODE_BITS_MAX + 1]; /* code to index of its symbol */
	const uint8_t *symbols;
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

struct steps {
	uint16_t by_bits[LOOKS];
};

struct component {
	struct img_plane *plane;
	const struct table *dc, *ac;
	const struct steps *steps;
	uint32_t across, down; /* blocks in an MCU */
	int32_t quant;         /* of DC */
	int32_t last_dc;
};

struct skim {
	struct bits bits;
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	struct table dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
	struct steps steps[NUM_HUFF_TBLS];
};

static uint64_t load_big_endian(const uint8_t *from)
{
	uint64_t n;

	memcpy(&n, from, sizeof(n));
	return __builtin_bswap64(n);
}

static bool holds_ff(uint64_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return ((~n - ones) & n & (ones << 7)) != 0;
}

/* One byte at a time, FF 00 being one; zeros from the first marker on. */
__attribute__((noinline)) static struct bits refill_slowly(struct bits b)
{
	while (b.count <= 56) {
		uint64_t byte = 0;

		if (b.at < b.end && *b.at != 0xff)
			byte = *b.at++;
		else if (b.end - b.at >= 2 && b.at[1] == 0) {
			byte = 0xff;
			b.at += 2;
		} else
			b.made_up += 8;
		b.next |= byte << (56 - b.count);
		b.count += 8;
	}
	return b;
}

/* At least 56 bits from here on. */
static inline struct bits refill(struct bits b)
{
	uint64_t n = UINT64_MAX;

	if (b.end - b.at >= 8)
		n = load_big_endian(b.at);
	if (holds_ff(n))
		return refill_slowly(b);
	b.next |= n >> b.count;
	b.at += (63 - b.count) >> 3;
	b.count |= 56;
	return b;
}

static inline void drop(struct bits *b, int32_t count)
{
	b->next <<= count;
	b->count -= count;
}

/* The next symbol, or -1: no such code. */
static inline int32_t read_symbol(struct bits *b, const struct table *t)
{
	uint32_t code = t->codes[b->next >> (64 - LOOK_BITS)];

	if (code != 0) {
		drop(b, (int32_t)(code >> 8));
		return code & 0xff;
	}
	code = (uint32_t)(b->next >> (64 - CODE_BITS_MAX));
	for (int32_t n = LOOK_BITS + 1; n <= CODE_BITS_MAX; n++)
		if (code < t->limits[n]) {
			drop(b, n);
			return t->symbols[(int32_t)(code >>
						    (CODE_BITS_MAX - n)) +
					  t->offsets[n]];
		}
	return -1;
}

/* T.81 F.2.2.1: `size` bits, negative if the first is 0. */
static inline int32_t read_value(struct bits *b, int32_t size)
{
	if (size == 0)
		return 0;

	int32_t value = (int32_t)(b->next >> (64 - size));

	drop(b, size);
	return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/* False: the table makes no sense. */
static bool table_make(struct table *t, const JHUFF_TBL *from)
{
	uint32_t code = 0, index = 0;

	memset(t, 0, sizeof(*t));
	t->symbols = from->huffval;
	for (uint32_t n = 1; n <= CODE_BITS_MAX; n++) {
		t->offsets[n] = (int32_t)index - (int32_t)code;
		for (uint32_t i = 0; i < from->bits[n]; i++, code++, index++) {
			if (code >= 1u << n || index >= 256)
				return false;
			if (n > LOOK_BITS)
				continue;
			for (uint32_t k = 0; k < (uint32_t)LOOKS >> n; k++)
				t->codes[(code << (LOOK_BITS - n)) + k] =
					(uint16_t)(n << 8 |
						   from->huffval[index]);
		}
		t->limits[n] = code << (CODE_BITS_MAX - n);
		code <<= 1;
	}
	return true;
}

static uint16_t step_make(const struct table *t, uint32_t look)
{
	uint32_t used = 0, coefficients = 0;

	while (coefficients < DCTSIZE2) {
		uint32_t code = t->codes[look << used & (LOOKS - 1)];
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

static void steps_make(struct steps *s, const struct table *t)
{
	for (uint32_t i = 0; i < LOOKS; i++)
		s->by_bits[i] = step_make(t, i);
}

/* One symbol that is too long for a step. */
static inline bool skip_symbol(struct bits *b, const struct table *t,
			       int32_t *left)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = refill(*b);

	int32_t symbol = read_symbol(b, t);
	int32_t run = symbol >> 4, size = symbol & 15;

	if (symbol < 0)
		return false;
	*left = size == 0 && run != 15 ? 0 : *left - run - 1;
	drop(b, size);
	return true;
}

/* Step over the 63 AC coefficients of a block.  False: that cannot be. */
static inline bool skip_ac(struct bits *bits, const struct component *c)
{
	const uint16_t *steps = c->steps->by_bits;
	struct bits b = *bits;
	int32_t left = DCTSIZE2 - 1;

	while (left > 0) {
		b = refill(b);
		for (uint32_t i = 0; i < STEPS_PER_REFILL && left > 0; i++) {
			uint32_t step = steps[b.next >> (64 - LOOK_BITS)];
			int32_t after =
				left -
				(int32_t)(step >> STEP_COEFFICIENTS_SHIFT &
					  STEP_COEFFICIENTS_MASK);

			if (step == 0 || after < 0) {
				if (!skip_symbol(&b, c->ac, &left))
					return false;
				break;
			}
			drop(&b, step & STEP_BITS_MASK);
			left = step & STEP_IS_END ? 0 : after;
		}
	}
	*bits = b;
	return left == 0;
}

/* As libjpeg's jpeg_idct_1x1() and its range limit do it. */
static uint8_t sample_of(int32_t dc, int32_t quant)
{
	int32_t v = (dc * quant + 4) >> 3;

	v = ((v & 1023) ^ 512) - 512 + 128;
	return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline bool read_block(struct bits *b, struct component *c,
			      uint8_t *sample)
{
	if (b->count < SYMBOL_BITS_MAX)
		*b = refill(*b);

	int32_t size = read_symbol(b, c->dc);

	if (size < 0 || size > VALUE_BITS_MAX)
		return false;
	c->last_dc += read_value(b, size);
	if (abs(c->last_dc) > DC_MAX)
		return false;
	*sample = sample_of(c->last_dc, c->quant);
	return skip_ac(b, c);
}

static bool read_mcu(struct skim *s, uint32_t column, uint32_t row)
{
	for (uint32_t i = 0; i < s->component_count; i++) {
		struct component *c = &s->components[i];
		struct img_plane *p = c->plane;
		uint8_t *at = p->samples +
			      (size_t)row * c->down * p->stride_bytes +
			      (size_t)column * c->across;

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				if (!read_block(&s->bits, c,
						at + y * p->stride_bytes + x))
					return false;
	}
	return true;
}

/* True: no bit was used that is not there. */
static bool is_real(const struct bits *b)
{
	return b->made_up <= b->count;
}

/* Restart marker `number` follows at once. */
static bool restart(struct skim *s, uint32_t number)
{
	struct bits *b = &s->bits;

	if (!is_real(b) || b->count - b->made_up >= 8 || b->end - b->at < 2 ||
	    b->at[0] != 0xff || b->at[1] != JPEG_RST0 + number % 8)
		return false;
	*b = (struct bits){ .at = b->at + 2, .end = b->end };
	for (uint32_t i = 0; i < s->component_count; i++)
		s->components[i].last_dc = 0;
	return true;
}

static bool read_scan(struct skim *s, uint32_t columns, uint32_t rows,
		      uint32_t interval)
{
	uint32_t left = interval, restarts = 0;

	for (uint32_t y = 0; y < rows; y++) {
		for (uint32_t x = 0; x < columns; x++) {
			if (interval > 0 && left-- == 0) {
				if (!restart(s, restarts++))
					return false;
				left = interval - 1;
			}
			if (!read_mcu(s, x, y))
				return false;
		}
		if (!is_real(&s->bits))
			return false;
	}
	return true;
}

static bool tables_make(struct skim *s, const struct jpeg_decompress_struct *j)
{
	uint32_t dc_made = 0, ac_made = 0;

	for (int i = 0; i < j->comps_in_scan; i++) {
		const jpeg_component_info *c = j->cur_comp_info[i];
		int dc = c->dc_tbl_no, ac = c->ac_tbl_no;

		if (dc < 0 || dc >= NUM_HUFF_TBLS || ac < 0 ||
		    ac >= NUM_HUFF_TBLS || j->dc_huff_tbl_ptrs[dc] == NULL ||
		    j->ac_huff_tbl_ptrs[ac] == NULL)
			return false;
		if ((dc_made & 1u << dc) == 0 &&
		    !table_make(&s->dc[dc], j->dc_huff_tbl_ptrs[dc]))
			return false;
		if ((ac_made & 1u << ac) == 0) {
			if (!table_make(&s->ac[ac], j->ac_huff_tbl_ptrs[ac]))
				return false;
			steps_make(&s->steps[ac], &s->ac[ac]);
		}
		dc_made |= 1u << dc;
		ac_made |= 1u << ac;
	}
	return true;
}

static bool components_make(struct skim *s, struct image *img,
			    const struct jpeg_decompress_struct *jpeg)
{
	bool is_alone = jpeg->comps_in_scan == 1;

	s->component_count = (uint32_t)jpeg->comps_in_scan;
	for (uint32_t i = 0; i < s->component_count; i++) {
		const jpeg_component_info *c = jpeg->cur_comp_info[i];
		const JQUANT_TBL *quant = NULL;

		if (c->quant_tbl_no >= 0 && c->quant_tbl_no < NUM_QUANT_TBLS)
			quant = jpeg->quant_tbl_ptrs[c->quant_tbl_no];
		if (quant == NULL)
			return false;
		s->components[i] = (struct component){
			.plane = &img->planes[c->component_index],
			.dc = &s->dc[c->dc_tbl_no],
			.ac = &s->ac[c->ac_tbl_no],
			.steps = &s->steps[c->ac_tbl_no],
			.across = is_alone ? 1 : (uint32_t)c->h_samp_factor,
			.down = is_alone ? 1 : (uint32_t)c->v_samp_factor,
			.quant = quant->quantval[0],
		};
	}
	return true;
}

bool skim_read(struct image *img, const struct jpeg_decompress_struct *jpeg)
{
	struct skim s = {
		.bits = { .at = jpeg->src->next_input_byte,
			  .end = jpeg->src->next_input_byte +
				 jpeg->src->bytes_in_buffer },
	};
	bool is_alone = jpeg->comps_in_scan == 1;
	const struct img_plane *first =
		&img->planes[jpeg->cur_comp_info[0]->component_index];
	uint32_t across =
		8u * (is_alone ? 1 : (uint32_t)jpeg->max_h_samp_factor);
	uint32_t down = 8u * (is_alone ? 1 : (uint32_t)jpeg->max_v_samp_factor);

	(void)first;
	if (jpeg->progressive_mode || jpeg->arith_code ||
	    jpeg->comps_in_scan != jpeg->num_components)
		return false;
	return tables_make(&s, jpeg) && components_make(&s, img, jpeg) &&
	       read_scan(&s, (jpeg->image_width + across - 1) / across,
			 (jpeg->image_height + down - 1) / down,
			 jpeg->restart_interval);
}
