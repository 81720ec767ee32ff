/* SPDX-License-Identifier: MIT */
/*
 * In this order: Huffman codes (ITU-T T.81, annexes C and F), the tables of a
 * scan, its blocks and MCUs, and the two kinds of files.
 *
 * The AC coefficients of a block are decoded as far as they are needed, and
 * those after them are skipped.  Both use tables that are indexed by the next
 * LOOK_BITS bits.  Everything that runs for each coefficient is inline.
 */
#include "imgops/jpeg/partial.h"

#include "imgops/image.h"
#include "imgops/jpeg/idct.h"
#include "imgops/jpeg/markers.h"

#include <stdlib.h>
#include <string.h>

/* --- Bits and Huffman codes --- */

enum {
	LOOK_BITS = 12, /* bits that index a table; longer codes are rare */
	LOOKS = 1 << LOOK_BITS,
	CODE_BITS_MAX = 16,
	VALUE_BITS_MAX = 15,
	SYMBOL_BITS_MAX = CODE_BITS_MAX + VALUE_BITS_MAX,
	REFILL_BITS = 56, /* at least this many bits are there after a refill */
	SYMBOLS_MAX = 256,
};

/*
 * The next bits of the scan; the first one is the highest bit.  Past the end of
 * the data, bits are zeros; bits_are_real() tells afterwards whether any of
 * these were used.
 */
struct bits {
	const uint8_t *at, *end;
	uint64_t next;
	int32_t count;
	int32_t made_up; /* number of zeros added after the last real bit */
};

/* A table of codes. */
struct huffman {
	uint16_t codes[LOOKS]; /* length << 8 | symbol; 0: the code is longer */
	/* Left-aligned in 16 bits: codes of length n are below limits[n]. */
	uint32_t limits[CODE_BITS_MAX + 1];
	/* Code plus this is the index of its symbol. */
	int32_t offsets[CODE_BITS_MAX + 1];
	const uint8_t *symbols; /* in the order of their codes */
};

static inline uint64_t bits_load(const uint8_t *from)
{
	uint64_t n;

	memcpy(&n, from, sizeof(n));
	return __builtin_bswap64(n);
}

static inline bool bits_hold_ff(uint64_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return ((~n - ones) & n & (ones << 7)) != 0;
}

/*
 * Refill byte by byte.  FF 00 is one byte.  After the next marker there are
 * only zeros.
 */
__attribute__((noinline)) static struct bits bits_refill_slowly(struct bits b)
{
	while (b.count < REFILL_BITS) {
		uint64_t byte = 0;

		if (b.at < b.end && *b.at != 0xff)
			byte = *b.at++;
		else if (b.end - b.at >= 2 && b.at[1] == 0) {
			byte = 0xff;
			b.at += 2;
		} else
			b.made_up += 8;
		b.next |= byte << (REFILL_BITS - b.count);
		b.count += 8;
	}
	return b;
}

/* Make sure that at least REFILL_BITS bits are in `next`. */
static inline struct bits bits_refill(struct bits b)
{
	uint64_t n = UINT64_MAX;

	if (b.end - b.at >= 8)
		n = bits_load(b.at);
	if (bits_hold_ff(n))
		return bits_refill_slowly(b);
	b.next |= n >> b.count;
	b.at += (63 - b.count) >> 3;
	b.count |= REFILL_BITS;
	return b;
}

static inline void bits_drop(struct bits *b, int32_t count)
{
	b->next <<= count;
	b->count -= count;
}

/* The next symbol, or -1: no such code. */
static inline int32_t huffman_symbol(struct bits *b, const struct huffman *t)
{
	uint32_t code = t->codes[b->next >> (64 - LOOK_BITS)];

	if (code != 0) {
		bits_drop(b, (int32_t)(code >> 8));
		return code & 0xff;
	}
	code = (uint32_t)(b->next >> (64 - CODE_BITS_MAX));
	for (int32_t n = LOOK_BITS + 1; n <= CODE_BITS_MAX; n++)
		if (code < t->limits[n]) {
			bits_drop(b, n);
			return t->symbols[(int32_t)(code >>
						    (CODE_BITS_MAX - n)) +
					  t->offsets[n]];
		}
	return -1;
}

/* The value of `size` bits, negative if the first bit is 0 (T.81 F.2.2.1). */
static inline int32_t huffman_value(struct bits *b, int32_t size)
{
	if (size == 0)
		return 0;

	int32_t value = (int32_t)(b->next >> (64 - size));

	bits_drop(b, size);
	return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/* True: no made-up bit was used. */
static inline bool bits_are_real(const struct bits *b)
{
	return b->made_up <= b->count;
}

/*
 * Make a table from a DHT segment: the number of codes of each length, and
 * `symbols`, an array of SYMBOLS_MAX that must outlive the table.  False: codes
 * overflow or are all ones, or a symbol is over `symbol_max`.
 */
static bool huffman_make(struct huffman *t,
			 const uint8_t counts[CODE_BITS_MAX + 1],
			 const uint8_t *symbols, uint32_t symbol_max)
{
	uint32_t code = 0, index = 0;

	memset(t, 0, sizeof(*t));
	t->symbols = symbols;
	for (uint32_t n = 1; n <= CODE_BITS_MAX; n++) {
		t->offsets[n] = (int32_t)index - (int32_t)code;
		for (uint32_t i = 0; i < counts[n]; i++, code++, index++) {
			if (code + 1 >= 1u << n || index >= SYMBOLS_MAX ||
			    symbols[index] > symbol_max)
				return false;
			if (n > LOOK_BITS)
				continue;
			for (uint32_t k = 0; k < (uint32_t)LOOKS >> n; k++)
				t->codes[(code << (LOOK_BITS - n)) + k] =
					(uint16_t)(n << 8 | symbols[index]);
		}
		t->limits[n] = code << (CODE_BITS_MAX - n);
		code <<= 1;
	}
	return true;
}

/* --- AC coefficients --- */

/*
 * An entry of ac_table.symbols is one symbol with its value: its number of bits
 * (0: more than LOOK_BITS), the number of coefficients to advance, and the
 * value of the last of these.
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
 * more coefficient.
 */
enum {
	SKIP_BITS_MASK = 63,
	SKIP_COEFFICIENTS_SHIFT = 8,
	SKIP_COEFFICIENTS_MASK = 127,
	SKIP_IS_END = 1 << 15,
};

enum {
	LOOKS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	AC_COEFFICIENTS = 63,
};

struct ac_table {
	struct huffman codes;
	uint32_t symbols[LOOKS];
	uint16_t skips[LOOKS];
};

static uint16_t skip_make(const struct huffman *h, uint32_t look)
{
	uint32_t used = 0, coefficients = 0;

	while (coefficients <= AC_COEFFICIENTS) {
		uint32_t code = h->codes[look << used & (LOOKS - 1)];
		uint32_t run = code >> 4 & 15, size = code & 15;
		uint32_t bits = used + (code >> 8) + size;

		if (code == 0 || bits > (uint32_t)LOOK_BITS)
			break;
		used = bits;
		if (size == 0 && run != 15)
			return (uint16_t)(used | SKIP_IS_END |
					  (coefficients + 1)
						  << SKIP_COEFFICIENTS_SHIFT);
		coefficients += run + 1;
	}
	return (uint16_t)(used | coefficients << SKIP_COEFFICIENTS_SHIFT);
}

static uint32_t symbol_make(const struct huffman *h, uint32_t look)
{
	uint32_t code = h->codes[look], length = code >> 8;
	uint32_t run = code >> 4 & 15, size = code & 15;
	uint32_t bits = length + size;
	struct bits rest = {
		.next = (uint64_t)look << (64 - LOOK_BITS) << length,
	};

	if (code == 0 || bits > (uint32_t)LOOK_BITS)
		return 0;
	if (size == 0 && run != 15)
		return bits | (uint32_t)ADVANCE_END << SYMBOL_ADVANCE_SHIFT;
	return bits | (run + 1) << SYMBOL_ADVANCE_SHIFT |
	       (uint32_t)huffman_value(&rest, (int32_t)size)
		       << SYMBOL_VALUE_SHIFT;
}

/* Returns as huffman_make() does. */
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

/* Read a symbol that is too long for the tables, and its value. */
static inline bool read_long(struct bits *b, const struct huffman *h,
			     int32_t *k, int32_t *value)
{
	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	*k += size == 0 && run != 15 ? ADVANCE_END : run + 1;
	*value = huffman_value(b, size);
	return symbol >= 0;
}

/*
 * Skip the last `left` coefficients of a block.  False: the codes are not
 * valid.
 */
static inline bool skip_ac(struct bits *bits, const struct ac_table *ac,
			   int32_t left)
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
				int32_t advance = 0, value;

				b = bits_refill(b);
				if (!read_long(&b, &ac->codes, &advance,
					       &value))
					return false;
				left = advance == ADVANCE_END ? 0 :
								left - advance;
				break;
			}
			bits_drop(&b, step & SKIP_BITS_MASK);
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
 * Find the tables of the scan whose header `jpeg` has just read; in a
 * progressive file only those for DC.  False: the header names tables that
 * cannot exist.
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
		if (!jpeg->progressive_mode)
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

enum {
	LOW_BIT_MAX = 13,
	UNUSED = IDCT_COEFFICIENTS,
	POSITIONS = 25, /* the 4 x 4 lowest coefficients are among the first */
};

/*
 * The position, in a block of idct.h, of each of the first coefficients in
 * zigzag order (T.81, figure 5); and the last coefficient that a block of n x n
 * needs.
 */
static const uint8_t positions[POSITIONS] = {
	0,  1,      4,      8,      5,      2,      3,      6,      9,
	12, UNUSED, 13,     10,     7,      UNUSED, UNUSED, UNUSED, 11,
	14, UNUSED, UNUSED, UNUSED, UNUSED, UNUSED, 15,
};
static const int32_t last_needed[IDCT_MAX + 1] = { 0, 0, 4, 12, 24 };

struct component {
	struct img_plane *plane;
	/* Progressive: DC values of all blocks, in rows as in `plane`. */
	int16_t *dc_values;
	const struct huffman *dc;
	const struct ac_table *ac;
	uint32_t across, down;     /* blocks in an MCU */
	uint16_t quant[POSITIONS]; /* in zigzag order */
	int32_t last_dc;
	int id; /* the component's id in scan headers */
};

struct partial {
	struct bits bits;
	const struct memory *memory;
	uint32_t n; /* a block becomes n x n samples */
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t columns, rows; /* columns and rows of MCUs */
	uint32_t restart_interval;
	int low_bit; /* progressive: the lowest bit of DC that was read */
	struct scan_tables tables;
};

/* Read block (x, y) of a component.  False: the data are irregular. */
typedef bool read_block_fn(struct partial *s, struct component *c, uint32_t x,
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
 * Read AC coefficients up to the last needed one, and skip the rest.  A
 * coefficient after the last needed one that is decoded on the way is stored in
 * UNUSED.
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
			if (k < POSITIONS)
				block[positions[k]] =
					idct_limited(value * c->quant[k]);
		}
	}
	*bits = b;
	return k >= ADVANCE_END || skip_ac(bits, c->ac, AC_COEFFICIENTS - k);
}

static bool read_block(struct partial *s, struct component *c, uint32_t x,
		       uint32_t y)
{
	/* The last one is UNUSED. */
	int32_t block[IDCT_COEFFICIENTS + 1] = { 0 };
	size_t stride = c->plane->stride_bytes;

	if (!read_dc(&s->bits, c))
		return false;
	block[0] = idct_dc(c->last_dc, c->quant[0], s->n);
	if (!read_ac(&s->bits, c, last_needed[s->n], block))
		return false;
	idct_block(c->plane->samples + y * s->n * stride + x * s->n, stride,
		   block, s->n);
	return true;
}

static bool read_first_dc(struct partial *s, struct component *c, uint32_t x,
			  uint32_t y)
{
	if (!read_dc(&s->bits, c) || abs(c->last_dc) > INT16_MAX >> s->low_bit)
		return false;
	c->dc_values[y * c->plane->stride_bytes + x] =
		(int16_t)(c->last_dc * (1 << s->low_bit));
	return true;
}

static bool read_next_dc_bit(struct partial *s, struct component *c, uint32_t x,
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
read_mcu(struct partial *s, uint32_t column, uint32_t row, read_block_fn *read)
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

/* Read restart marker `number`, which must be next. */
static bool read_restart(struct partial *s, uint32_t number)
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
static inline __attribute__((always_inline)) bool
decode_scan(struct partial *s, read_block_fn *read)
{
	uint32_t left = s->restart_interval, restarts = 0;

	for (uint32_t y = 0; y < s->rows; y++) {
		for (uint32_t x = 0; x < s->columns; x++) {
			if (s->restart_interval > 0 && left-- == 0) {
				if (!read_restart(s, restarts++))
					return false;
				left = s->restart_interval - 1;
			}
			if (!read_mcu(s, x, y, read))
				return false;
		}
		if (!bits_are_real(&s->bits))
			return false;
		memory_pause(s->memory);
	}
	return true;
}

static bool quant_copy(struct component *c,
		       const struct jpeg_decompress_struct *jpeg, int number)
{
	const JQUANT_TBL *from = NULL;

	if (number >= 0 && number < NUM_QUANT_TBLS)
		from = jpeg->quant_tbl_ptrs[number];
	for (uint32_t k = 0; from != NULL && k < POSITIONS; k++) {
		uint32_t at = positions[k];

		if (at != UNUSED)
			c->quant[k] = from->quantval[at / IDCT_MAX * DCTSIZE +
						     at % IDCT_MAX];
		/* libjpeg's vector code treats quantisation steps as signed. */
		if (c->quant[k] > INT16_MAX)
			return false;
	}
	return from != NULL;
}

/* Set up the components of the scan whose header `jpeg` has just read. */
static bool components_make(struct partial *s, struct image *img,
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
	s->restart_interval = jpeg->restart_interval;
	s->low_bit = jpeg->Al;
	s->bits = (struct bits){
		.at = jpeg->src->next_input_byte,
		.end = jpeg->src->next_input_byte + jpeg->src->bytes_in_buffer,
	};
}

/* True: `m` begins a scan of all components with the next bit of DC. */
static bool is_next_bit(const struct partial *s, const struct marker *m)
{
	uint32_t count = s->component_count;

	if (m->bytes != 4 + 2 * (size_t)count || m->data[0] != count)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (m->data[1 + 2 * i] != s->components[i].id)
			return false;
	/* scans_add() has checked everything else in the header. */
	return (m->data[m->bytes - 1] & 15) == s->low_bit - 1;
}

static bool read_dc_bits(struct partial *s, struct markers w)
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
		if (!decode_scan(s, read_next_dc_bit))
			return false;
	}
	return true;
}

static void store_dc(const struct component *c, const struct memory *memory)
{
	const struct img_plane *p = c->plane;
	int32_t block[IDCT_COEFFICIENTS] = { 0 };

	for (uint32_t y = 0; y < p->height; y++) {
		for (uint32_t x = 0; x < p->width; x++) {
			size_t at = y * p->stride_bytes + x;

			block[0] = idct_dc(c->dc_values[at], c->quant[0], 1);
			idct_block(p->samples + at, p->stride_bytes, block, 1);
		}
		memory_pause(memory);
	}
}

static bool read_progressive(struct partial *s, const struct piece *later,
			     uint32_t later_count)
{
	if (!decode_scan(s, read_first_dc) ||
	    !read_dc_bits(s, (struct markers){ s->bits.at, s->bits.end, true }))
		return false;
	for (uint32_t i = 0; i < later_count; i++) {
		const uint8_t *at = later[i].data;

		if (!read_dc_bits(s, (struct markers){ at, at + later[i].bytes,
						       false }))
			return false;
	}
	for (uint32_t i = 0; i < s->component_count; i++)
		store_dc(&s->components[i], s->memory);
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

size_t partial_bytes(const struct image *img, bool is_progressive,
		     struct table_set used)
{
	size_t values = is_progressive ? (size_t)image_bytes(img) : 0;

	return sizeof(struct partial) + scan_tables_bytes(used) +
	       values * sizeof(int16_t);
}

bool partial_read(struct image *img, uint32_t n,
		  const struct jpeg_decompress_struct *jpeg,
		  const struct piece *later, uint32_t later_count,
		  const struct memory *memory)
{
	bool is_progressive = jpeg->progressive_mode;
	struct table_set used;
	struct partial *s;
	int16_t *dc_values;
	bool ok;

	if (!can_read(jpeg) || !find_tables(&used, jpeg))
		return false;
	s = memory->alloc(memory->arg,
			  partial_bytes(img, is_progressive, used));
	if (s == NULL)
		return false;
	dc_values = (int16_t *)((uint8_t *)(s + 1) + scan_tables_bytes(used));
	s->n = n;
	s->memory = memory;
	scan_shape(s, jpeg);
	ok = scan_tables_make(&s->tables, s + 1, used, jpeg) &&
	     components_make(s, img, dc_values, jpeg) &&
	     (is_progressive ? read_progressive(s, later, later_count) :
			       decode_scan(s, read_block));
	memory->free(memory->arg, s);
	return ok;
}
