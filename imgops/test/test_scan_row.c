/* SPDX-License-Identifier: MIT */
/*
 * Promises: blocks of AC scans are those of a slow decoder, which follows T.81,
 * G.1.2.2 and G.1.2.3, bit by bit; for any CPU, and for this one.  Values that
 * are not needed are left out, but for the largest of them.  A scan with a
 * value over 16 bits is irregular.
 */
#include "imgops/formats/jpeg/scan_row.h"

#include "base/test/check.h"
#include "imgops/test/support.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS = 40,
	DATA_BYTES = 4000,
	VALUES_MAX = DCTSIZE2 + 1,
	SCANS = 3, /* one, and two that refine it */
	SEEDS = 3000,
	FULL_EVERY = 7, /* some files have blocks without zeros */
	LOW_BITS = 14,
};

/* Blocks of a scan, and the values of all their coefficients. */
struct slow {
	struct bits bits;
	uint32_t eob_run;
	int32_t values[BLOCKS][DCTSIZE2];
	int32_t largest[BLOCKS][DCTSIZE2]; /* without bits of refinement */
};

static uint32_t slow_bits(struct bits *b, uint32_t count)
{
	uint32_t value = 0;

	for (; count > 0; count--) {
		*b = bits_refill(*b);
		value = value << 1 | bits_take(b, 1);
	}
	return value;
}

static int32_t slow_symbol(struct bits *b, const struct scan_table *t)
{
	*b = bits_refill(*b);
	return huffman_search(b, &t->codes, 1);
}

static void slow_refine(struct bits *b, int32_t *value, int32_t step)
{
	if (slow_bits(b, 1) != 0)
		*value += *value < 0 ? -step : step;
}

/* Skip `run` coefficients that are 0, in a refinement scan. */
static uint32_t slow_skip(struct slow *s, int32_t *values,
			  const struct scan *scan, uint32_t k, uint32_t run)
{
	for (; k <= scan->last; k++) {
		if (scan->is_refinement && values[k] != 0)
			slow_refine(&s->bits, &values[k], 1 << scan->low_bit);
		else if (run-- == 0)
			break;
	}
	return k;
}

/* A new value of `size` bits.  False: it is not valid. */
static bool slow_value(struct slow *s, int32_t *value, const struct scan *scan,
		       uint32_t size)
{
	uint32_t bits = slow_bits(&s->bits, size);

	if (scan->is_refinement && size > 1)
		return false;
	*value = (int32_t)bits;
	if (bits >> (size - 1) == 0)
		*value -= (1 << size) - 1;
	*value *= 1 << scan->low_bit;
	return abs(*value) <= INT16_MAX;
}

static bool slow_block(struct slow *s, const struct scan *scan, uint32_t x)
{
	int32_t *values = s->values[x], value = 0;
	uint32_t k = scan->first;

	while (s->eob_run == 0 && k <= scan->last) {
		int32_t symbol = slow_symbol(&s->bits, scan->tables[0]);
		uint32_t run = (uint32_t)symbol >> 4, size = symbol & 15;

		if (symbol < 0)
			return false;
		if (size == 0 && run < 15) {
			s->eob_run = (1u << run) + slow_bits(&s->bits, run);
			break;
		}
		if (size > 0 && !slow_value(s, &value, scan, size))
			return false;
		k = slow_skip(s, values, scan, k, run);
		if (size > 0 && k > scan->last)
			return false;
		if (size > 0)
			s->largest[x][k] = values[k] = value;
		k++;
	}
	if (s->eob_run > 0) {
		(void)slow_skip(s, values, scan, k, DCTSIZE2);
		s->eob_run--;
	}
	return true;
}

static bool slow_row(struct slow *s, const struct scan *scan)
{
	for (uint32_t x = 0; x < BLOCKS; x++)
		if (!slow_block(s, scan, x))
			return false;
	return bits_are_real(&s->bits);
}

/* Blocks, as scan_row.c has them. */
struct fast {
	struct component_row row;
	struct layout layout;
	uint64_t is_set[BLOCKS];
	int16_t values[BLOCKS * VALUES_MAX];
};

/* Of some, only the lowest coefficients are needed, or only every third. */
static void make_layout(struct layout *l, uint32_t seed)
{
	uint32_t last = seed % 4 == 0 ? DCTSIZE2 - 1 : seed / 4 % DCTSIZE2;
	uint32_t step = seed % 4 == 1 ? 3 : 1;
	uint8_t next = 1;

	*l = (struct layout){ 0 };
	for (uint32_t k = 1; k <= last; k += step) {
		l->places[k] = next++;
		l->needed |= coefficient_bit(k);
	}
	l->values = next;
	if (seed % 4 == 2)
		l->largest = l->values++;
}

static void fast_start(struct fast *f, uint32_t seed)
{
	memset(f, 0, sizeof(*f));
	make_layout(&f->layout, seed);
	f->row.columns = BLOCKS;
	f->row.rows = 1;
	/* The last ones may be of another kind. */
	f->row.strips[0][0] =
		(struct strip){ &f->layout, f->is_set, f->values, BLOCKS - 5 };
	f->row.strips[0][1] = (struct strip){
		&f->layout, f->is_set + BLOCKS - 5,
		f->values + (size_t)(BLOCKS - 5) * f->layout.values, 5
	};
}

static void check_block(const struct fast *f, const struct slow *s, uint32_t x)
{
	const struct layout *l = &f->layout;
	const int16_t *values = f->values + (size_t)x * l->values;
	int32_t largest = 0;

	for (uint32_t k = 1; k < DCTSIZE2; k++) {
		CHECK_NUMBER((f->is_set[x] & coefficient_bit(k)) != 0, ==,
			     (s->values[x][k] != 0));
		if (l->needed & coefficient_bit(k))
			CHECK_NUMBER(values[l->places[k]], ==, s->values[x][k]);
		else if (abs(s->largest[x][k]) > largest)
			largest = abs(s->largest[x][k]);
	}
	if (l->largest != 0)
		CHECK_NUMBER(values[l->largest], ==, largest);
}

/*
 * Nearly all bits are codes.  In a first scan no coefficient is 0, so that
 * scans which refine it have a bit for each.
 */
static void make_full_table(struct scan_table *t, uint8_t symbols[SYMBOLS_MAX],
			    const struct scan *s, uint32_t seed)
{
	static const uint8_t counts[CODE_BITS_MAX + 1] = {
		[2] = 2, [4] = 7, [8] = 15, [12] = 15, [16] = 15
	};

	for (uint32_t i = 0; i < SYMBOLS_MAX; i++) {
		uint32_t r = scramble(seed * SYMBOLS_MAX + i) >> 8 & 3;

		symbols[i] = (uint8_t)(s->is_refinement ? r << 4 : 1 + r / 2);
	}
	CHECK(scan_table_make(t, s, counts, symbols));
}

/* A table of codes of all lengths; most symbols can occur in the scan. */
static void make_table(struct scan_table *t, uint8_t symbols[SYMBOLS_MAX],
		       const struct scan *s, uint32_t seed)
{
	static const uint8_t counts[CODE_BITS_MAX + 1] = {
		[2] = 2,   [4] = 3,   [6] = 6, [8] = 40,
		[11] = 60, [12] = 60, [16] = 9
	};

	if (seed / SCANS % FULL_EVERY == 0) {
		make_full_table(t, symbols, s, seed);
		return;
	}
	for (uint32_t i = 0; i < SYMBOLS_MAX; i++) {
		uint32_t r = scramble(seed * SYMBOLS_MAX + i);
		uint32_t run = r >> 8 & (seed & 1 ? 15 : 3);
		uint32_t size = s->is_refinement ? r & 1 : r & 3;

		if (i > 4 && r >> 20 == 0)
			size = 9; /* more than a refinement scan may have */
		symbols[i] = (uint8_t)(run << 4 | size);
	}
	CHECK(scan_table_make(t, s, counts, symbols));
}

static bool check_scan(struct fast f[2], struct slow *slow, struct scan *s,
		       uint32_t seed)
{
	scan_row_fn *read[2] = { scan_row_portable, scan_row_best() };
	/* `s` and the table keep pointers to these. */
	static uint8_t symbols[SYMBOLS_MAX], data[DATA_BYTES];
	static struct scan_table table;
	bool ok;

	make_table(&table, symbols, s, seed);
	s->tables[0] = &table;
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		data[i] = (uint8_t)(scramble(seed * DATA_BYTES + i) % 255);
	s->bits = (struct bits){ .at = data, .end = data + DATA_BYTES };
	slow->bits = s->bits;
	slow->eob_run = 0;
	ok = slow_row(slow, s);
	for (uint32_t i = 0; i < 2; i++) {
		struct scan copy = *s;

		copy.rows[0] = &f[i].row;
		CHECK_NUMBER(read[i](&copy, BLOCKS, &(struct memory){ 0 }), ==,
			     ok);
		for (uint32_t x = 0; ok && x < BLOCKS; x++)
			check_block(&f[i], slow, x);
		if (!ok)
			continue;
		CHECK_NUMBER(copy.eob_run, ==, slow->eob_run);
		CHECK_NUMBER((copy.bits.at - data) * 8 - copy.bits.count, ==,
			     (slow->bits.at - data) * 8 - slow->bits.count);
	}
	return ok;
}

static void test_blocks_are_those_of_a_slow_decoder(void)
{
	static struct fast f[2];
	static struct slow slow;
	uint32_t read_count[SCANS] = { 0 };

	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		uint32_t a = 1 + scramble(seed) % 63, b = 1 + seed % 63;
		uint32_t lowest = seed / 2 % (LOW_BITS - SCANS + 1);
		struct scan s = { .component_count = 1 };

		if (seed % 5 > 0) {
			a = 1;
			b = 63;
		}
		s.first = min_u32(a, b);
		s.last = a + b - s.first;
		memset(&slow, 0, sizeof(slow));
		fast_start(&f[0], seed);
		fast_start(&f[1], seed);
		for (uint32_t i = 0; i < SCANS; i++) {
			s.is_refinement = i > 0;
			s.low_bit = (int32_t)(lowest + SCANS - 1 - i);
			if (!check_scan(f, &slow, &s, seed * SCANS + i))
				break;
			read_count[i]++;
		}
	}
	for (uint32_t i = 0; i < SCANS; i++)
		CHECK_NUMBER(read_count[i], >, 100);
}

/* Two blocks of a DC scan, in one byte; `dc` must be 0. */
static bool reads_dc(scan_row_fn *read, uint8_t data, int16_t dc[2])
{
	static const uint8_t counts[CODE_BITS_MAX + 1] = { [1] = 1 };
	static const uint8_t symbol = 2; /* so many bits follow */
	static struct scan_table table;
	struct component_row row = {
		.dc = dc, .stride = 2, .columns = 2, .rows = 1
	};
	struct scan s = {
		.bits = { .at = &data, .end = &data + 1 },
		.low_bit = LOW_BITS - 1,
		.component_count = 1,
		.rows = { &row },
		.tables = { &table },
	};

	CHECK(scan_table_make(&table, &s, counts, &symbol));
	return read(&s, 2, &(struct memory){ 0 });
}

static void test_dc_values_have_16_bits(void)
{
	scan_row_fn *read[2] = { scan_row_portable, scan_row_best() };

	for (uint32_t i = 0; i < 2; i++) {
		int16_t dc[2] = { 0 };

		/* 3 and a difference of -3, and one of 3. */
		CHECK(reads_dc(read[i], 0x60, dc));
		CHECK_NUMBER(dc[0], ==, 3 << (LOW_BITS - 1));
		CHECK_NUMBER(dc[1], ==, 0);
		CHECK(!reads_dc(read[i], 0x6c, dc));
	}
}

int main(void)
{
	test_blocks_are_those_of_a_slow_decoder();
	test_dc_values_have_16_bits();
	return 0;
}
