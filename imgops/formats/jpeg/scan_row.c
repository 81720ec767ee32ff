/* SPDX-License-Identifier: MIT */
/*
 * In this order: symbols, blocks in each kind of scan, rows.
 *
 * Whether a bit is set cannot be predicted, and a mispredicted branch takes as
 * long as several symbols.  So a look into a table gives a symbol with its
 * value, and corrections are made without a branch.  What a scan has no bits
 * for is not visited: blocks in a run of those without new values, and
 * coefficients that are not needed.
 */
#include "imgops/formats/jpeg/scan_row.h"

#include "imgops/formats/jpeg/markers.h"

#include <stdlib.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define INLINED static inline __attribute__((always_inline))

/*
 * An entry, from its lowest bit on: the number of bits, what it is, how many
 * coefficients are 0 before the value, and the value, or of how many blocks the
 * end is.
 */
enum {
	ENTRY_BITS_MASK = 31,
	ENTRY_IS_VALUE = 1 << 5,
	ENTRY_IS_END = 1 << 6,
	ENTRY_IS_ZEROS = 1 << 7, /* 15 zeros, and another as the value */
	ENTRY_RUN_SHIFT = 8,
	ENTRY_RUN_MASK = 15,
	ENTRY_VALUE_SHIFT = 16,
	ZEROS_RUN = 15,
};

/* --- Symbols --- */

/* How many bits follow a symbol. */
static int32_t bits_after(uint32_t symbol)
{
	uint32_t run = symbol >> 4, size = symbol & 15;

	return (int32_t)(size == 0 && run < ZEROS_RUN ? run : size);
}

/*
 * The entry of a symbol, without the number of bits; `bits` follow it.  0: it
 * is not valid.
 */
static uint32_t entry_of(const struct scan_table *t, uint32_t symbol,
			 uint32_t bits)
{
	uint32_t run = symbol >> 4, size = symbol & 15;
	int32_t value = (int32_t)bits;

	if (size == 0 && !t->is_dc && run < ZEROS_RUN)
		return ENTRY_IS_END | ((1u << run) + bits) << ENTRY_VALUE_SHIFT;
	if (size == 0 && !t->is_dc)
		return ENTRY_IS_ZEROS | run << ENTRY_RUN_SHIFT;
	if (size > 0 && bits >> (size - 1) == 0)
		value += 1 - (1 << size);
	if ((t->is_refinement && size > 1) ||
	    abs(value) > INT16_MAX >> t->low_bit)
		return 0;
	value *= 1 << t->low_bit;
	return ENTRY_IS_VALUE | run << ENTRY_RUN_SHIFT |
	       (uint32_t)value << ENTRY_VALUE_SHIFT;
}

bool scan_table_make(struct scan_table *t, const struct scan *s,
		     const uint8_t counts[CODE_BITS_MAX + 1],
		     const uint8_t *symbols)
{
	uint32_t *entry = t->entries;

	t->is_dc = s->first == 0;
	t->is_refinement = s->is_refinement;
	t->low_bit = t->is_dc ? 0 : s->low_bit;
	memset(entry, 0, sizeof(t->entries));
	if (!huffman_codes_make(&t->codes, counts, symbols,
				t->is_dc ? VALUE_BITS_MAX : UINT8_MAX))
		return false;
	/* Codes are in the order of their bits, and so is what follows. */
	for (int32_t n = 1; n <= ENTRY_LOOK_BITS; n++)
		for (uint32_t i = 0; i < counts[n]; i++) {
			uint32_t symbol = *symbols++;
			int32_t size = n + bits_after(symbol);
			uint32_t same = (uint32_t)ENTRIES >> n, each;

			if (size > ENTRY_LOOK_BITS) {
				entry += same;
				continue;
			}
			each = (uint32_t)ENTRIES >> size;
			for (uint32_t k = 0; k < same; k++, entry++) {
				*entry = entry_of(t, symbol, k / each);
				if (*entry != 0)
					*entry |= (uint32_t)size;
			}
		}
	return true;
}

/* The next entry, of any length. */
static uint32_t next_long(struct bits *b, const struct scan_table *t)
{
	int32_t symbol = huffman_search(b, &t->codes, 1), size;

	if (symbol < 0)
		return 0;
	size = bits_after((uint32_t)symbol);
	return entry_of(t, (uint32_t)symbol, size > 0 ? bits_take(b, size) : 0);
}

/* The next entry; 0: it is not valid. */
INLINED uint32_t next_entry(struct bits *b, const struct scan_table *t)
{
	uint32_t entry;

	if (b->count < SYMBOL_BITS_MAX)
		*b = bits_refill(*b);
	entry = t->entries[b->next >> (64 - ENTRY_LOOK_BITS)];
	if (entry == 0) {
		struct bits copy = *b;

		entry = next_long(&copy, t);
		*b = copy;
		return entry;
	}
	bits_drop(b, (int32_t)(entry & ENTRY_BITS_MASK));
	return entry;
}

INLINED uint32_t run_of(uint32_t entry)
{
	return entry >> ENTRY_RUN_SHIFT & ENTRY_RUN_MASK;
}

INLINED int32_t value_of(uint32_t entry)
{
	return (int32_t)entry >> ENTRY_VALUE_SHIFT;
}

/* --- Blocks of DC scans --- */

/* A block's place in an MCU. */
struct slot {
	int16_t *dc; /* of the next block here */
	uint32_t step;
	uint32_t component; /* of the scan */
};

INLINED bool read_first_dc(struct scan *s, struct slot *slots, uint32_t count,
			   uint32_t mcus)
{
	int32_t most = INT16_MAX >> s->low_bit;
	struct bits b = s->bits;

	for (; mcus > 0; mcus--)
		for (uint32_t i = 0; i < count; i++) {
			uint32_t c = slots[i].component;
			uint32_t entry = next_entry(&b, s->tables[c]);
			int32_t dc = s->last_dc[c] + value_of(entry);

			if (entry == 0 || abs(dc) > most)
				return false;
			s->last_dc[c] = dc;
			*slots[i].dc = (int16_t)(dc * (1 << s->low_bit));
			slots[i].dc += slots[i].step;
		}
	s->bits = b;
	return true;
}

INLINED bool refine_dc(struct scan *s, struct slot *slots, uint32_t count,
		       uint32_t mcus)
{
	struct bits b = s->bits;

	for (; mcus > 0; mcus--)
		for (uint32_t i = 0; i < count; i++) {
			if (b.count < 1)
				b = bits_refill(b);
			*slots[i].dc =
				(int16_t)(*slots[i].dc | bits_take(&b, 1)
								 << s->low_bit);
			slots[i].dc += slots[i].step;
		}
	s->bits = b;
	return true;
}

/* --- Blocks of AC scans --- */

/* `largest` is that of the layout, in which the value's place is `place`. */
INLINED void set_value(int16_t *values, uint32_t place, int32_t value,
		       uint32_t largest)
{
	values[place] = (int16_t)value;
	if (largest != 0 && place == 0 && abs(value) > values[largest])
		values[largest] = (int16_t)abs(value);
}

INLINED bool read_first_ac(struct scan *s, struct strip t)
{
	/* These stay in registers; compilers cannot know it. */
	const struct scan_table *table = s->tables[0];
	const uint8_t *places = t.layout->places;
	uint32_t first = s->first, last = s->last, x = s->eob_run;
	uint32_t apart = t.layout->values, largest = t.layout->largest;
	struct bits b = s->bits;

	while (x < t.count) {
		int16_t *values = t.values + (size_t)x * apart;
		uint32_t k = first, blocks = 1;
		uint64_t set = 0;

		while (k <= last) {
			uint32_t entry = next_entry(&b, table);

			if ((entry & ENTRY_IS_VALUE) == 0) {
				if (entry == 0)
					return false;
				k += ZEROS_RUN + 1;
				if ((entry & ENTRY_IS_END) == 0)
					continue;
				blocks = entry >> ENTRY_VALUE_SHIFT;
				break;
			}
			k += run_of(entry);
			if (k > last)
				return false;
			set |= coefficient_bit(k);
			set_value(values, places[k], value_of(entry), largest);
			k++;
		}
		t.is_set[x] |= set;
		x += blocks;
	}
	s->eob_run = x - t.count;
	s->bits = b;
	return true;
}

/* Of the bits of `mask`, those whose bit among the lowest of `bits` is set. */
typedef uint64_t deposit_fn(uint64_t bits, uint64_t mask);

INLINED uint64_t deposit_portable(uint64_t bits, uint64_t mask)
{
	uint64_t out = 0;

	for (; mask != 0; mask &= mask - 1, bits >>= 1)
		out |= mask & -mask & -(bits & 1);
	return out;
}

/* What a refinement scan has for a block. */
struct refinement {
	uint64_t set;             /* coefficients that were not 0 */
	uint64_t bits;            /* one of each, the last is the lowest */
	uint64_t added, negative; /* new ones, and those of them below 0 */
};

/* Read a bit of each of these coefficients, after those before them. */
INLINED void read_corrections(struct bits *b, struct refinement *r,
			      uint64_t set)
{
	int32_t count = __builtin_popcountll(set);

	if (b->count < count) {
		*b = bits_refill(*b);
		if (count > REFILL_BITS) {
			r->bits = r->bits << 16 | bits_take(b, 16);
			*b = bits_refill(*b);
			count -= 16;
		}
	}
	r->bits = r->bits << count | b->next >> 1 >> (63 - count);
	bits_drop(b, count);
}

/* Change the values of a block. */
INLINED void refine_values(const struct layout *l, int16_t *values,
			   const struct refinement *r, int16_t step,
			   deposit_fn *deposit)
{
	uint64_t set = deposit(r->bits, r->set) | r->added;

	if (l->largest != 0 && (r->added & ~l->needed) != 0 &&
	    values[l->largest] < step)
		values[l->largest] = step;
	for (set &= l->needed; set != 0; set &= set - 1) {
		uint32_t bit = (uint32_t)__builtin_ctzll(set);
		int16_t *value = &values[l->places[63 - bit]];
		int32_t sign =
			*value >> 15 | -(int32_t)(r->negative >> bit & 1);

		*value = (int16_t)(*value + (step ^ sign) - sign);
	}
}

/*
 * Read a block that may have new values.  `zeros` are the coefficients of the
 * scan that are 0 so far.  A symbol says how many of them come before the next
 * new one.  After it, `zeros` has those that are left, and `left` the
 * coefficients that are not 0 and whose bits have not been read.
 */
INLINED bool read_refinement(struct scan *s, struct bits *b,
			     struct refinement *r, uint64_t zeros,
			     deposit_fn *deposit)
{
	int32_t zero_count = __builtin_popcountll(zeros);
	uint64_t left = r->set;

	do {
		uint32_t entry = next_entry(b, s->tables[0]);
		uint64_t next;

		if (entry & ENTRY_IS_END) {
			s->eob_run = (entry >> ENTRY_VALUE_SHIFT) - 1;
			read_corrections(b, r, left);
			break;
		}
		zero_count -= (int32_t)run_of(entry) + 1;
		if (zero_count < 0) {
			read_corrections(b, r, left);
			return (entry & ENTRY_IS_ZEROS) != 0;
		}
		if (entry == 0)
			return false;
		next = deposit(UINT64_C(1) << zero_count, zeros);
		if (left != 0) {
			read_corrections(b, r, left & -next);
			left &= next - 1;
		}
		zeros &= next - 1;
		if ((entry & ENTRY_IS_VALUE) == 0)
			continue;
		r->added |= next;
		r->negative |= next & (uint64_t)((int32_t)entry >> 31);
	} while ((left | zeros) != 0);
	return true;
}

INLINED bool refine_ac(struct scan *s, struct strip t, deposit_fn *deposit)
{
	uint64_t band = UINT64_MAX >> s->first & UINT64_MAX << (63 - s->last);
	int16_t step = (int16_t)(1 << s->low_bit);
	struct bits b = s->bits;

	for (uint32_t x = 0; x < t.count; x++) {
		int16_t *values = t.values + (size_t)x * t.layout->values;
		uint64_t set = t.is_set[x];
		struct refinement r = { .set = set & band };

		if (s->eob_run > 0) {
			s->eob_run--;
			if (r.set == 0)
				continue;
			read_corrections(&b, &r, r.set);
		} else if (!read_refinement(s, &b, &r, ~set & band, deposit)) {
			return false;
		}
		t.is_set[x] = set | r.added;
		refine_values(t.layout, values, &r, step, deposit);
	}
	s->bits = b;
	return true;
}

/* --- Rows --- */

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

/* Begin to read *count MCUs, or only those before the next restart. */
static bool begin_mcus(struct scan *s, uint32_t *count)
{
	if (s->restart_interval == 0)
		return true;
	if (s->mcus_left == 0) {
		if (!read_restart(s))
			return false;
		s->mcus_left = s->restart_interval;
	}
	*count = min_u32(*count, s->mcus_left);
	s->mcus_left -= *count;
	return true;
}

INLINED bool read_dc(struct scan *s, struct slot *slots, uint32_t count,
		     uint32_t mcus)
{
	while (mcus > 0) {
		uint32_t part = mcus;

		if (!begin_mcus(s, &part))
			return false;
		if (!(s->is_refinement ? refine_dc(s, slots, count, part) :
					 read_first_dc(s, slots, count, part)))
			return false;
		mcus -= part;
	}
	return true;
}

INLINED bool read_mcus(struct scan *s, uint32_t columns)
{
	struct slot slots[D_MAX_BLOCKS_IN_MCU];
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->component_count; i++) {
		const struct component_row *c = s->rows[i];

		for (uint32_t y = 0; y < c->down; y++)
			for (uint32_t x = 0; x < c->across; x++)
				slots[count++] = (struct slot){
					.dc = c->dc + y * c->stride + x,
					.step = c->across,
					.component = i,
				};
	}
	return read_dc(s, slots, count, columns);
}

INLINED bool read_ac(struct scan *s, struct strip t, deposit_fn *deposit)
{
	while (t.count > 0) {
		struct strip part = t;

		if (!begin_mcus(s, &part.count))
			return false;
		if (!(s->is_refinement ? refine_ac(s, part, deposit) :
					 read_first_ac(s, part)))
			return false;
		t.is_set += part.count;
		t.values += (size_t)part.count * t.layout->values;
		t.count -= part.count;
	}
	return true;
}

/*
 * In a scan of one component each block is an MCU, and no block lies past the
 * picture's edge.
 */
INLINED bool read_blocks(struct scan *s, const struct memory *memory,
			 deposit_fn *deposit)
{
	const struct component_row *c = s->rows[0];

	for (uint32_t y = 0; y < c->rows; y++) {
		struct slot slot = { .dc = c->dc + y * c->stride, .step = 1 };

		if (!(s->first == 0 ?
			      read_dc(s, &slot, 1, c->columns) :
			      read_ac(s, c->strips[y][0], deposit) &&
				      read_ac(s, c->strips[y][1], deposit)))
			return false;
		memory_pause(memory);
	}
	return true;
}

INLINED bool read_row(struct scan *s, uint32_t columns,
		      const struct memory *memory, deposit_fn *deposit)
{
	bool ok = s->component_count == 1 ? read_blocks(s, memory, deposit) :
					    read_mcus(s, columns);

	return ok && bits_are_real(&s->bits);
}

bool scan_row_portable(struct scan *s, uint32_t columns,
		       const struct memory *memory)
{
	return read_row(s, columns, memory, deposit_portable);
}

#ifdef __x86_64__

#define BMI2 __attribute__((target("bmi,bmi2,popcnt")))

BMI2 INLINED uint64_t deposit_bmi2(uint64_t bits, uint64_t mask)
{
	return _pdep_u64(bits, mask);
}

BMI2 static bool scan_row_bmi2(struct scan *s, uint32_t columns,
			       const struct memory *memory)
{
	return read_row(s, columns, memory, deposit_bmi2);
}

#endif

scan_row_fn *scan_row_best(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
	    __builtin_cpu_supports("popcnt"))
		return scan_row_bmi2;
#endif
	return scan_row_portable;
}
