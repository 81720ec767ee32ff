/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/ac.h"

/* One symbol: number of its bits, coefficients to advance, and its value. */
struct symbol {
	uint32_t bits; /* 0: it does not fit */
	uint32_t advance;
	int32_t value;
};

/* The first symbol of `left` bits, which are the highest of `next`. */
static struct symbol symbol_read(const struct huffman *h, uint64_t next,
				 uint32_t left)
{
	uint32_t code = h->codes[next >> (64 - LOOK_BITS)];
	uint32_t run = code >> 4 & 15, size = code & 15, length = code >> 8;
	struct bits value = { .next = next << length };

	if (code == 0 || length + size > left)
		return (struct symbol){ 0 };
	return (struct symbol){
		.bits = length + size,
		.advance = size == 0 && run != 15 ? (uint32_t)AC_END : run + 1,
		.value = huffman_value(&value, (int32_t)size),
	};
}

static uint64_t pair_make(const struct huffman *h, uint32_t look)
{
	uint64_t next = (uint64_t)look << (64 - PAIR_BITS);
	struct symbol first = symbol_read(h, next, PAIR_BITS), last = { 0 };

	if (first.bits == 0)
		return 0;
	if (first.advance < AC_END)
		last = symbol_read(h, next << first.bits,
				   PAIR_BITS - first.bits);
	if (last.bits == 0)
		last.value = first.value;
	return (first.bits + last.bits) |
	       (uint64_t)first.advance << PAIR_FIRST_SHIFT |
	       (uint64_t)(first.advance + last.advance) << PAIR_LAST_SHIFT |
	       (uint64_t)first.bits << PAIR_FIRST_BITS_SHIFT |
	       (uint64_t)(uint16_t)first.value << PAIR_FIRST_VALUE_SHIFT |
	       (uint64_t)(uint16_t)last.value << PAIR_LAST_VALUE_SHIFT;
}

/* The power p for which (1 << p) - 1 is nearest to `squares`. */
static uint32_t skip_power(uint32_t squares)
{
	uint32_t least = (2 * squares + 1) / 3; /* the largest below 1 << p */

	return least > 0 ? 32 - (uint32_t)__builtin_clz(least) : 0;
}

static uint16_t skip_make(const struct huffman *h, uint32_t look)
{
	uint64_t next = (uint64_t)look << (64 - LOOK_BITS);
	uint32_t used = 0, coefficients = 0, squares = 0;
	uint32_t end = 0;

	while (coefficients <= AC_COEFFICIENTS && end == 0) {
		struct symbol s =
			symbol_read(h, next << used, LOOK_BITS - used);
		uint32_t sum = squares + (uint32_t)(s.value * s.value);

		if (s.bits == 0 || sum > SKIP_SQUARES_MAX)
			break;
		used += s.bits;
		squares = sum;
		if (s.advance == AC_END)
			end = SKIP_IS_END;
		coefficients += end != 0 ? 1 : s.advance;
	}
	return (uint16_t)(used | skip_power(squares) << SKIP_POWER_SHIFT |
			  coefficients << SKIP_COEFFICIENTS_SHIFT | end);
}

bool ac_table_make(struct ac_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols, bool has_skips)
{
	if (!huffman_make(&t->codes, counts, symbols, UINT8_MAX))
		return false;
	for (uint32_t i = 0; i < PAIRS; i++)
		t->pairs[i] = pair_make(&t->codes, i);
	for (uint32_t i = 0; i < LOOKS && has_skips; i++)
		t->skips[i] = skip_make(&t->codes, i);
	return true;
}
