/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/ac.h"

/* A symbol with its value. */
struct symbol {
	uint32_t bits;    /* of both; 0: it does not fit */
	uint32_t advance; /* coefficients */
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

/* For each PAIR_BITS bits, the symbol with which they begin. */
static void symbols_make(struct symbol first[PAIRS],
			 const uint8_t counts[CODE_BITS_MAX + 1],
			 const uint8_t *symbols, bool is_ac)
{
	uint32_t at = 0; /* codes are in order, so are the bits */

	for (uint32_t n = 1; n <= PAIR_BITS; n++)
		for (uint32_t i = 0; i < counts[n]; i++) {
			uint32_t size = *symbols & 15, run = *symbols++ >> 4;
			uint32_t same = PAIRS >> n;
			struct symbol s = {
				.bits = n + size,
				.advance = is_ac ? run + 1 : 0,
			};

			if (s.bits > PAIR_BITS) {
				at += same;
				continue;
			}
			if (is_ac && size == 0 && run != 15)
				s.advance = AC_END;
			same >>= size;
			for (int32_t v = 0; v < 1 << size; v++) {
				bool is_less = size > 0 && v < 1 << (size - 1);

				s.value = is_less ? v - (1 << size) + 1 : v;
				for (uint32_t k = 0; k < same; k++)
					first[at++] = s;
			}
		}
}

static uint64_t pair_make(const struct symbol *first, const struct symbol *next)
{
	bool is_pair = next->bits > 0 && first->advance < AC_END &&
		       first->bits + next->bits <= PAIR_BITS;
	uint32_t bits = first->bits, advance = first->advance;

	if (bits == 0)
		return 0;
	if (is_pair) {
		bits += next->bits;
		advance += next->advance;
	}
	return bits | (uint64_t)first->advance << PAIR_FIRST_SHIFT |
	       (uint64_t)advance << PAIR_LAST_SHIFT |
	       (uint64_t)first->bits << PAIR_FIRST_BITS_SHIFT |
	       (uint64_t)(uint16_t)first->value << PAIR_FIRST_VALUE_SHIFT |
	       (uint64_t)(uint16_t)(is_pair ? next : first)->value
		       << PAIR_LAST_VALUE_SHIFT;
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

bool dc_table_make(struct dc_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols)
{
	struct symbol first[PAIRS] = { 0 };

	if (!huffman_make(&t->codes, counts, symbols, VALUE_BITS_MAX))
		return false;
	symbols_make(first, counts, symbols, false);
	for (uint32_t i = 0; i < PAIRS; i++)
		t->values[i] = first[i].bits | (uint32_t)first[i].value
						       << DC_VALUE_SHIFT;
	return true;
}

bool ac_table_make(struct ac_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols, bool has_skips)
{
	struct symbol first[PAIRS] = { 0 };

	if (!huffman_make(&t->codes, counts, symbols, UINT8_MAX))
		return false;
	symbols_make(first, counts, symbols, true);
	for (uint32_t i = 0; i < PAIRS; i++)
		t->pairs[i] = pair_make(
			&first[i], &first[i << first[i].bits & (PAIRS - 1)]);
	for (uint32_t i = 0; i < LOOKS && has_skips; i++)
		t->skips[i] = skip_make(&t->codes, i);
	return true;
}
