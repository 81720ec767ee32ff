/* SPDX-License-Identifier: MIT */
/*
 * Inside decode: AC coefficients of a block, decoded while they are needed and
 * stepped over from there on, by tables over the next bits.
 */
#ifndef IMGOPS_STEPS_H
#define IMGOPS_STEPS_H

#include "imgops/huffman.h"

/*
 * One symbol with its value: how many bits (0: more than were looked at), by
 * how many coefficients to advance, the value of the last of these.
 */
enum {
	SYMBOL_BITS_MASK = 63,
	SYMBOL_ADVANCE_SHIFT = 8,
	SYMBOL_ADVANCE_MASK = 255,
	SYMBOL_VALUE_SHIFT = 16,
	ADVANCE_END = 128, /* of the block */
};

/*
 * A step is whole symbols: how many bits (0: not even one symbol), how many
 * coefficients, and whether the block ends there, which counts as one more.
 */
enum {
	STEP_BITS_MASK = 63,
	STEP_COEFFICIENTS_SHIFT = 8,
	STEP_COEFFICIENTS_MASK = 127,
	STEP_IS_END = 1 << 15,
};

enum {
	LOOKS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	AC_COEFFICIENTS = 63,
};

struct ac_table {
	struct huffman codes;
	uint32_t symbols[LOOKS];
	uint16_t steps[LOOKS];
};

/* As huffman_make(). */
bool ac_table_make(struct ac_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols);

/* A symbol that is too long to look up, and its value. */
static inline bool read_long(struct bits *b, const struct huffman *h,
			     int32_t *k, int32_t *value)
{
	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	*k += size == 0 && run != 15 ? ADVANCE_END : run + 1;
	*value = huffman_value(b, size);
	return symbol >= 0;
}

/* Step over the last `left` coefficients of a block.  False: that cannot be. */
static inline bool skip_ac(struct bits *bits, const struct ac_table *ac,
			   int32_t left)
{
	struct bits b = *bits;

	while (left > 0) {
		b = bits_refill(b);
		for (uint32_t i = 0; i < LOOKS_PER_REFILL && left > 0; i++) {
			uint32_t step = ac->steps[b.next >> (64 - LOOK_BITS)];
			uint32_t coefficients =
				step >> STEP_COEFFICIENTS_SHIFT &
				STEP_COEFFICIENTS_MASK;

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
			bits_drop(&b, step & STEP_BITS_MASK);
			left -= (int32_t)coefficients;
			if (step & STEP_IS_END)
				left = 0;
		}
	}
	*bits = b;
	return left == 0;
}

#endif
