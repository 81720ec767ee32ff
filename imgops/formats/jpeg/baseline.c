/* SPDX-License-Identifier: MIT */
/*
 * A mispredicted branch takes as long as three coefficients, so there are few.
 * Bits are written after every second coefficient, however many there are, into
 * a buffer in which no zero follows an FF yet.  Small values are looked up
 * together with their code.
 *
 * For tables that are made for the picture, symbols are counted by the same
 * walk over the blocks.
 */
#include "imgops/formats/jpeg/baseline.h"

#include "imgops/formats/jpeg/effort.h"
#include "imgops/formats/jpeg/fdct.h"
#include "imgops/formats/jpeg/huffman.h"
#include "imgops/image.h"

#include <assert.h>

#define INLINED __attribute__((always_inline)) static inline
#define RARELY(condition) __builtin_expect(condition, 0)
#ifdef __x86_64__
#define BMI __attribute__((target("bmi,bmi2")))
#else
#define BMI
#endif

enum {
	TABLES = 2, /* for luma, and for chroma */
	RUN_MAX = 15,
	ZEROS_16 = 0xf0,
	END_OF_BLOCK = 0,
	SIZES = 16, /* a symbol is a run of zeros * SIZES + the value's bits */
	LAST = DCTSIZE2 - 1,
	/* An entry's number of bits is in its lowest bits. */
	LENGTH_BITS = 6,
	LENGTHS = 1 << LENGTH_BITS,
	SMALL_BITS = 6,
	SMALL_MAX = (1 << SMALL_BITS) - 1,
	SMALL_ROW = 2 * SMALL_MAX + 2,
	SMALL_ZERO = SMALL_ROW / 2, /* where a value of 0 would be */
	MCU_BLOCKS_MAX = 6,
	MCU_BYTES_MAX = MCU_BLOCKS_MAX * DCTSIZE2 * SYMBOL_BITS_MAX / 8 + 8,
	BUFFER_BYTES = 4 * MCU_BYTES_MAX,
};

/*
 * The symbols of all coefficients but the first of a block.  An entry is the
 * code, and the number of bits that it and the value after it have; while
 * symbols are counted, it is how many there are.
 */
struct symbols {
	uint32_t all[SYMBOLS_MAX];
	/* Those of small values, with the value; see small_row(). */
	uint32_t small[(RUN_MAX + 2) * SMALL_ROW];
};

/*
 * The entries of small values after `run` zeros, from -SMALL_MAX to
 * SMALL_MAX.  There is a row for -1, because addresses are computed faster
 * with it.
 */
INLINED uint32_t *small_row(struct symbols *t, int64_t run)
{
	return t->small + (run + 1) * SMALL_ROW + SMALL_ZERO;
}

struct component {
	const struct img_plane *plane;
	uint32_t h, v;         /* blocks of an MCU */
	uint32_t across, down; /* blocks of the plane */
	const struct fdct_steps *steps;
	uint32_t *dc; /* entries of first coefficients */
	struct symbols *ac;
	uint32_t first; /* block, in a row of MCUs */
	int32_t before; /* the first coefficient of the last block */
};

/*
 * Bits that are written: all before `at`, and `used` % 64 of `word`, its last.
 */
struct sink {
	uint8_t *at;
	uint64_t word;
	uint32_t used;
};

struct baseline {
	const struct memory *memory;
	struct jpeg_compress_struct *jpeg;
	struct component components[IMG_PLANES_MAX];
	uint32_t component_count;
	uint32_t across, down; /* MCUs */
	uint32_t row_blocks;
	/* Undefined at first: to clear all takes a small picture's time. */
	struct fdct_steps steps[TABLES];
	uint32_t dc[TABLES][SYMBOLS_MAX];
	struct symbols ac[TABLES];
	uint8_t buffer[BUFFER_BYTES];
	struct fdct_block blocks[]; /* of a row of MCUs, or of all */
};

/* --- From samples to blocks --- */

/*
 * Blocks outside of the plane that belong to the MCUs of a row: they have the
 * DC value of the block before them.
 */
static void fill_row(struct fdct_block *row, const struct component *c,
		     uint32_t mcus, uint32_t real_rows)
{
	uint32_t width = mcus * c->h;

	for (uint32_t v = 0; v < c->v; v++)
		for (uint32_t x = v < real_rows ? c->across : 0; x < width;
		     x++) {
			size_t at = (size_t)v * width + x;
			size_t before =
				x % c->h > 0 ? at - 1 : at - width + c->h - 1;

			row[at].at[0] = row[before].at[0];
			row[at].nonzero = 0;
		}
}

/* All blocks of a row of MCUs. */
static void transform_row(const struct baseline *b, struct fdct_block *blocks,
			  uint32_t mcu_y)
{
	for (uint32_t i = 0; i < b->component_count; i++) {
		const struct component *c = &b->components[i];
		const struct img_plane *p = c->plane;
		uint32_t y = mcu_y * c->v, rows = min_u32(c->v, c->down - y);
		struct fdct_block *row = blocks + c->first;

		for (uint32_t v = 0; v < rows; v++)
			fdct_row(row + (size_t)v * b->across * c->h,
				 p->samples + (size_t)(y + v) * DCTSIZE *
						      p->stride_bytes,
				 p->stride_bytes, c->across, c->steps);
		fill_row(row, c, b->across, rows);
		memory_pause(b->memory);
	}
}

/* --- From blocks to symbols --- */

INLINED void flush(struct sink *s)
{
	if (s == NULL)
		return;

	uint64_t bytes = __builtin_bswap64(s->word << (-s->used % 64));

	memcpy(s->at, &bytes, sizeof(bytes));
	s->at += s->used % 64 / 8;
	s->used %= 8;
}

/*
 * Write a symbol, or count it if there is no sink.  What is added to `used`
 * besides the number of bits is a multiple of 64.
 */
INLINED void put(struct sink *s, uint32_t *entry)
{
	if (s == NULL) {
		++*entry;
		return;
	}
	s->word = s->word << (*entry % LENGTHS) | *entry >> LENGTH_BITS;
	s->used += *entry;
}

INLINED void put_value(struct sink *s, uint32_t entries[SYMBOLS_MAX],
		       uint32_t run, int32_t value)
{
	int32_t sign = value >> 31;
	uint32_t magnitude = (uint32_t)((value ^ sign) - sign);
	uint32_t size = 31 - (uint32_t)__builtin_clz(2 * magnitude + 1);
	uint32_t bits = (uint32_t)(value + sign) & ((1U << size) - 1);
	uint32_t *entry = &entries[run * SIZES + size];

	if (s == NULL) {
		++*entry;
		return;
	}
	s->word = s->word << (*entry % LENGTHS) |
		  (uint64_t)(*entry >> LENGTH_BITS) << size | bits;
	s->used += *entry;
}

/* Value k, which is not 0, after value `before`, which was not, too. */
INLINED void put_next(struct sink *s, struct symbols *t,
		      const struct fdct_block *block, int64_t k, int64_t before)
{
	int64_t value = block->at[k], run = k - before - 1;

	if (RARELY(run > RUN_MAX || value < -SMALL_MAX || value > SMALL_MAX)) {
		for (; run > RUN_MAX; run -= RUN_MAX + 1) {
			flush(s);
			put(s, &t->all[ZEROS_16]);
		}
		flush(s);
		put_value(s, t->all, (uint32_t)run, (int32_t)value);
	} else {
		put(s, &small_row(t, run)[value]);
	}
}

/*
 * When flush() is called, there are at most 7 bits from the call before, and
 * the codes of two values.
 */
INLINED void put_block(struct sink *s, uint32_t dc[SYMBOLS_MAX],
		       struct symbols *ac, const struct fdct_block *block,
		       int32_t dc_before)
{
	uint64_t left = block->nonzero & ~UINT64_C(1);
	int64_t before = 0, k;

	put_value(s, dc, 0, block->at[0] - dc_before);
	while (left != 0) {
		k = __builtin_ctzll(left);
		put_next(s, ac, block, k, before);
		before = k;
		left &= left - 1;
		flush(s);
		if (left == 0)
			break;
		k = __builtin_ctzll(left);
		put_next(s, ac, block, k, before);
		before = k;
		left &= left - 1;
	}
	if (before < LAST)
		put(s, &ac->all[END_OF_BLOCK]);
	flush(s);
}

INLINED void put_mcu(struct sink *s, struct baseline *b,
		     const struct fdct_block *blocks, uint32_t x)
{
	for (uint32_t i = 0; i < b->component_count; i++) {
		struct component *c = &b->components[i];
		const struct fdct_block *block =
			blocks + c->first + (size_t)x * c->h;

		for (uint32_t v = 0; v < c->v; v++, block += b->across * c->h)
			for (uint32_t h = 0; h < c->h; h++) {
				put_block(s, c->dc, c->ac, &block[h],
					  c->before);
				c->before = block[h].at[0];
			}
	}
}

/* --- From symbols to bytes --- */

/* Append bytes of a scan: a zero follows each FF. */
MUST_CHECK static bool append(struct output *o, const uint8_t *from,
			      size_t count)
{
	const uint8_t *end = from + count;
	uint8_t *to;

	if (!output_reserve(o, 2 * count))
		return false;
	to = o->bytes + o->count;
	while (from < end) {
		uint64_t word = UINT64_MAX;

		if (end - from >= (ptrdiff_t)sizeof(word))
			memcpy(&word, from, sizeof(word));
		if (!bits_hold_ff(word)) {
			memcpy(to, &word, sizeof(word));
			to += sizeof(word);
			from += sizeof(word);
			continue;
		}
		*to++ = *from;
		if (*from++ == 0xff)
			*to++ = 0;
	}
	o->count = (size_t)(to - o->bytes);
	return true;
}

BMI MUST_CHECK static bool put_row(struct sink *state, struct baseline *b,
				   const struct fdct_block *blocks,
				   struct output *o)
{
	struct sink s = *state;

	for (uint32_t x = 0; x < b->across; x++) {
		size_t bytes = (size_t)(s.at - b->buffer);

		if (bytes > BUFFER_BYTES - MCU_BYTES_MAX) {
			if (!append(o, b->buffer, bytes))
				return false;
			s.at = b->buffer;
			memory_pause(b->memory);
		}
		put_mcu(&s, b, blocks, x);
	}
	*state = s;
	return true;
}

static bool put_end(struct sink *s, struct baseline *b, struct output *o)
{
	size_t bytes = (size_t)(s->at - b->buffer);

	/* The last byte is filled up with ones. */
	if (s->used > 0)
		b->buffer[bytes++] =
			(uint8_t)(s->word << (8 - s->used) | 0xff >> s->used);
	return append(o, b->buffer, bytes);
}

BMI static void count_row(struct baseline *b, const struct fdct_block *blocks)
{
	for (uint32_t x = 0; x < b->across; x++)
		put_mcu(NULL, b, blocks, x);
}

/* --- Tables --- */

static uint32_t entry_of(uint32_t code, uint32_t length)
{
	return code << LENGTH_BITS | length;
}

static void set_entries(uint32_t entries[SYMBOLS_MAX], const JHUFF_TBL *table)
{
	uint32_t code = 0, n = 0;

	memset(entries, 0, SYMBOLS_MAX * sizeof(*entries));
	for (uint32_t bits = 1; bits <= CODE_BITS_MAX; bits++, code <<= 1)
		for (uint32_t i = 0; i < table->bits[bits]; i++, code++) {
			uint32_t symbol = table->huffval[n++];

			entries[symbol] = entry_of(code, bits + symbol % SIZES);
		}
}

/* The entries of small values, from those of symbols. */
static void set_small(struct symbols *t)
{
	for (uint32_t symbol = 0; symbol < SYMBOLS_MAX; symbol++) {
		uint32_t size = symbol % SIZES, run = symbol / SIZES;
		uint32_t code = t->all[symbol] >> LENGTH_BITS << size;
		uint32_t length = t->all[symbol] % LENGTHS;
		uint32_t *zero = small_row(t, run);
		uint32_t least = 1U << size >> 1;
		uint32_t *positive = zero + least;
		uint32_t *negative = zero + 1 - 2 * (ptrdiff_t)least;

		if (size > SMALL_BITS)
			continue;
		for (uint32_t i = 0; i < least; i++) {
			positive[i] = entry_of(code | (least + i), length);
			negative[i] = entry_of(code | i, length);
		}
	}
}

/* Count small values as their symbols. */
static void count_small(struct symbols *t)
{
	for (uint32_t symbol = 0; symbol < SYMBOLS_MAX; symbol++) {
		uint32_t size = symbol % SIZES, run = symbol / SIZES;
		const uint32_t *zero = small_row(t, run);
		int32_t least = (int32_t)(1U << size >> 1);

		if (size > SMALL_BITS)
			continue;
		for (int32_t i = least; i < 2 * least; i++)
			t->all[symbol] += zero[i] + zero[-i];
	}
}

enum {
	NO_SYMBOL = SYMBOLS_MAX, /* gets the code of all ones, which none has */
	TREES_MAX = SYMBOLS_MAX + 1,
	DEPTH_MAX = 64, /* a deeper tree has counts of more than 32 bits */
};

/*
 * A tree of codes while it is made, named by one of its symbols.  Its rank is
 * how many of its symbols there are, and, among equals, that of the larger name
 * is less.
 */
struct forest {
	uint64_t ranks[TREES_MAX]; /* the least is the last */
	uint32_t count;
	uint8_t bits[TREES_MAX];
	int16_t next[TREES_MAX]; /* symbol of the same tree; -1: none */
};

static uint64_t rank_of(uint64_t count, uint32_t symbol)
{
	return count * (TREES_MAX + 1) + (NO_SYMBOL - symbol);
}

static void plant(struct forest *f, uint64_t rank)
{
	uint32_t i = f->count++;

	for (; i > 0 && f->ranks[i - 1] < rank; i--)
		f->ranks[i] = f->ranks[i - 1];
	f->ranks[i] = rank;
}

/* Take the rarest tree and add a bit to its codes.  Returns its last symbol. */
static uint32_t fell(struct forest *f, uint64_t *count, uint32_t *name)
{
	uint64_t rank = f->ranks[--f->count];
	uint32_t symbol;

	*count = rank / (TREES_MAX + 1);
	*name = symbol = NO_SYMBOL - (uint32_t)(rank % (TREES_MAX + 1));
	f->bits[symbol]++;
	while (f->next[symbol] >= 0) {
		symbol = (uint32_t)f->next[symbol];
		f->bits[symbol]++;
	}
	return symbol;
}

/* Huffman's algorithm. */
static void make_codes(struct forest *f, const uint32_t counts[SYMBOLS_MAX])
{
	memset(f, 0, sizeof(*f));
	memset(f->next, 0xff, sizeof(f->next));
	for (uint32_t i = 0; i < SYMBOLS_MAX; i++)
		if (counts[i] > 0)
			plant(f, rank_of(counts[i], i));
	plant(f, rank_of(1, NO_SYMBOL));
	while (f->count > 1) {
		uint64_t count, more;
		uint32_t name, other;
		uint32_t last = fell(f, &count, &name);

		(void)fell(f, &more, &other);
		f->next[last] = (int16_t)other;
		plant(f, rank_of(count + more, name));
	}
}

/* Shorten codes of more than 16 bits (T.81, figure K.3), and drop NO_SYMBOL. */
static void limit_bits(uint8_t codes_of_bits[DEPTH_MAX + 1])
{
	uint8_t *n = codes_of_bits;
	uint32_t bits;

	for (bits = DEPTH_MAX; bits > CODE_BITS_MAX; bits--)
		while (n[bits] > 0) {
			uint32_t shorter = bits - 2;

			while (n[shorter] == 0)
				shorter--;
			n[bits] -= 2;
			n[bits - 1]++;
			n[shorter + 1] += 2;
			n[shorter]--;
		}
	while (n[bits] == 0)
		bits--;
	n[bits]--;
}

static void make_table(JHUFF_TBL *table, const uint32_t counts[SYMBOLS_MAX])
{
	struct forest f;
	uint8_t codes_of_bits[DEPTH_MAX + 1] = { 0 };
	uint32_t n = 0;

	make_codes(&f, counts);
	for (uint32_t i = 0; i <= NO_SYMBOL; i++)
		codes_of_bits[f.bits[i]]++;
	codes_of_bits[0] = 0; /* symbols that are not used */
	for (uint32_t bits = 1; bits <= DEPTH_MAX; bits++)
		for (uint32_t i = 0; codes_of_bits[bits] > 0 && i < SYMBOLS_MAX;
		     i++)
			if (f.bits[i] == bits)
				table->huffval[n++] = (uint8_t)i;
	limit_bits(codes_of_bits);
	memcpy(table->bits, codes_of_bits, sizeof(table->bits));
}

/* --- Pictures --- */

static uint32_t table_count(const struct baseline *b)
{
	return b->component_count > 1 ? TABLES : 1;
}

static uint32_t blocks_of(uint32_t samples)
{
	return (samples + DCTSIZE - 1) / DCTSIZE;
}

uint64_t baseline_bytes(const struct image *src, bool optimize)
{
	const struct img_plane *last = &src->planes[src->plane_count - 1];
	uint64_t blocks = src->plane_count;

	if (blocks > 1 && !image_has_full_chroma(src))
		blocks += 3;
	blocks *= blocks_of(last->width);
	if (optimize)
		blocks *= blocks_of(last->height);
	return sizeof(struct baseline) +
	       (blocks + 1) * sizeof(struct fdct_block);
}

static void set_components(struct baseline *b, const struct image *src)
{
	const struct img_plane *last = &src->planes[src->plane_count - 1];

	b->component_count = src->plane_count;
	b->across = blocks_of(last->width);
	b->down = blocks_of(last->height);
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const jpeg_component_info *info = &b->jpeg->comp_info[i];
		struct component *c = &b->components[i];

		assert(info->h_samp_factor <= 2 && info->v_samp_factor <= 2);
		*c = (struct component){
			.plane = &src->planes[i],
			.h = (uint32_t)info->h_samp_factor,
			.v = (uint32_t)info->v_samp_factor,
			.across = blocks_of(src->planes[i].width),
			.down = blocks_of(src->planes[i].height),
			.steps = &b->steps[info->quant_tbl_no],
			.dc = b->dc[info->dc_tbl_no],
			.ac = &b->ac[info->ac_tbl_no],
			.first = b->row_blocks,
		};
		b->row_blocks += b->across * c->h * c->v;
	}
}

struct baseline *baseline_new(const struct image *src,
			      struct jpeg_compress_struct *jpeg, int effort,
			      const struct memory *memory)
{
	struct baseline *b = memory_alloc(
		memory, (size_t)baseline_bytes(src, jpeg->optimize_coding));

	if (b == NULL)
		return NULL;
	memset(b, 0, offsetof(struct baseline, steps));
	b->memory = memory;
	b->jpeg = jpeg;
	set_components(b, src);
	for (uint32_t i = 0; i < table_count(b); i++) {
		const uint16_t *quant = jpeg->quant_tbl_ptrs[i]->quantval;

		if (effort > 0)
			effort_steps_make(&b->steps[i], quant);
		else
			fdct_steps_make(&b->steps[i], quant, NULL);
	}
	return b;
}

void baseline_optimise(struct baseline *b)
{
	memset(b->dc, 0, sizeof(b->dc));
	memset(b->ac, 0, sizeof(b->ac));
	for (uint32_t y = 0; y < b->down; y++) {
		struct fdct_block *row = b->blocks + (size_t)y * b->row_blocks;

		transform_row(b, row, y);
		count_row(b, row);
		memory_pause(b->memory);
	}
	for (uint32_t i = 0; i < b->component_count; i++)
		b->components[i].before = 0;
	for (uint32_t i = 0; i < table_count(b); i++) {
		count_small(&b->ac[i]);
		make_table(b->jpeg->dc_huff_tbl_ptrs[i], b->dc[i]);
		make_table(b->jpeg->ac_huff_tbl_ptrs[i], b->ac[i].all);
	}
}

bool baseline_write(struct baseline *b, struct output *o)
{
	struct sink s = { .at = b->buffer };
	bool is_transformed = b->jpeg->optimize_coding;

	for (uint32_t i = 0; i < table_count(b); i++) {
		set_entries(b->dc[i], b->jpeg->dc_huff_tbl_ptrs[i]);
		set_entries(b->ac[i].all, b->jpeg->ac_huff_tbl_ptrs[i]);
		set_small(&b->ac[i]);
	}
	for (uint32_t y = 0; y < b->down; y++) {
		struct fdct_block *row = b->blocks;

		if (is_transformed)
			row += (size_t)y * b->row_blocks;
		else
			transform_row(b, row, y);
		if (!put_row(&s, b, row, o))
			return false;
		memory_pause(b->memory);
	}
	return put_end(&s, b, o);
}

void baseline_free(struct baseline *b)
{
	if (b != NULL)
		memory_free(b->memory, b);
}
