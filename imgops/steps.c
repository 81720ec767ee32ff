/* SPDX-License-Identifier: MIT */
#include "imgops/steps.h"

static uint16_t step_make(const struct huffman *h, uint32_t look)
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
			return (uint16_t)(used | STEP_IS_END |
					  (coefficients + 1)
						  << STEP_COEFFICIENTS_SHIFT);
		coefficients += run + 1;
	}
	return (uint16_t)(used | coefficients << STEP_COEFFICIENTS_SHIFT);
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

bool ac_table_make(struct ac_table *t, const uint8_t counts[CODE_BITS_MAX + 1],
		   const uint8_t *symbols)
{
	if (!huffman_make(&t->codes, counts, symbols, UINT8_MAX))
		return false;
	for (uint32_t i = 0; i < LOOKS; i++) {
		t->symbols[i] = symbol_make(&t->codes, i);
		t->steps[i] = step_make(&t->codes, i);
	}
	return true;
}
