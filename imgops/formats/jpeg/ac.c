/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/ac.h"

/*
 * For each LOOK_BITS bits, the symbol with which they begin.  Codes are in the
 * order of their bits, and so are values.
 */
static void symbols_make(struct ac_symbol first[LOOKS],
			 const uint8_t counts[CODE_BITS_MAX + 1],
			 const uint8_t *symbols, bool is_ac)
{
	uint32_t at = 0;

	memset(first, 0, LOOKS * sizeof(*first));
	for (uint32_t n = 1; n <= LOOK_BITS; n++)
		for (uint32_t i = 0; i < counts[n]; i++) {
			uint32_t size = *symbols & 15, run = *symbols++ >> 4;
			uint32_t same = (uint32_t)LOOKS >> n;
			struct ac_symbol s = {
				.bits = (uint8_t)(n + size),
				.advance = (uint8_t)(is_ac ? run + 1 : 0),
			};

			if (s.bits > LOOK_BITS) {
				at += same;
				continue;
			}
			if (is_ac && size == 0 && run != 15)
				s.advance = AC_END;
			same >>= size;
			for (int32_t v = 0; v < 1 << size; v++) {
				bool is_less = size > 0 && v < 1 << (size - 1);

				s.value = (int16_t)(is_less ? v - (1 << size) +
								      1 :
							      v);
				for (uint32_t k = 0; k < same; k++)
					first[at++] = s;
			}
		}
}

/* The symbol after the first `used` bits of a look, if it ends before `end`. */
static struct ac_symbol symbol_at(const struct ac_symbol first[LOOKS],
				  uint32_t look, uint32_t used, uint32_t end)
{
	struct ac_symbol s = first[look << used & (LOOKS - 1)];

	return used + s.bits <= end ? s : (struct ac_symbol){ 0 };
}

static uint64_t pair_make(const struct ac_symbol first[LOOKS], uint32_t look)
{
	struct ac_symbol s = symbol_at(first, look, 0, PAIR_BITS);
	struct ac_symbol next = { 0 };
	uint32_t bits = s.bits, advance = s.advance;
	int16_t value = s.value;

	if (bits == 0)
		return 0;
	if (advance < AC_END)
		next = symbol_at(first, look, bits, PAIR_BITS);
	if (next.bits > 0) {
		bits += next.bits;
		advance += next.advance;
		value = next.value;
	}
	return bits | (uint64_t)s.advance << PAIR_FIRST_SHIFT |
	       (uint64_t)advance << PAIR_LAST_SHIFT |
	       (uint64_t)s.bits << PAIR_FIRST_BITS_SHIFT |
	       (uint64_t)(uint16_t)s.value << PAIR_FIRST_VALUE_SHIFT |
	       (uint64_t)(uint16_t)value << PAIR_LAST_VALUE_SHIFT;
}

/* The power p for which (1 << p) - 1 is nearest to `squares`. */
static uint32_t skip_power(uint32_t squares)
{
	uint32_t least = (2 * squares + 1) / 3; /* the largest below 1 << p */

	return least > 0 ? 32 - (uint32_t)__builtin_clz(least) : 0;
}

static uint16_t skip_make(const struct ac_symbol first[LOOKS], uint32_t look)
{
	uint32_t used = 0, coefficients = 0, squares = 0;
	uint32_t end = 0;

	while (coefficients <= AC_COEFFICIENTS && end == 0) {
		struct ac_symbol s = symbol_at(first, look, used, LOOK_BITS);
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
		   const uint8_t *symbols, struct ac_symbol room[LOOKS])
{
	if (!huffman_make(&t->codes, counts, symbols, VALUE_BITS_MAX))
		return false;
	symbols_make(room, counts, symbols, false);
	for (uint32_t i = 0; i < PAIRS; i++) {
		struct ac_symbol s = symbol_at(
			room, i << (LOOK_BITS - PAIR_BITS), 0, PAIR_BITS);

		t->values[i] = s.bits | (uint32_t)s.value << DC_VALUE_SHIFT;
	}
	return true;
}

bool ac_table_make(struct ac_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols, bool has_skips,
		   struct ac_symbol room[LOOKS])
{
	if (!huffman_make(&t->codes, counts, symbols, UINT8_MAX))
		return false;
	symbols_make(room, counts, symbols, true);
	for (uint32_t i = 0; i < PAIRS; i++)
		t->pairs[i] = pair_make(room, i << (LOOK_BITS - PAIR_BITS));
	for (uint32_t i = 0; i < LOOKS && has_skips; i++)
		t->skips[i] = skip_make(room, i);
	return true;
}
