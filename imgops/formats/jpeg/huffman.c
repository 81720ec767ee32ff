/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/huffman.h"

/*
 * Refill byte by byte.  FF 00 stands for the byte FF.  At any other FF the data
 * end, and zeros are added.
 */
struct bits bits_refill_slowly(struct bits b)
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

/* Fill `count` entries, a power of 2. */
static void fill(uint16_t *looks, uint32_t count, uint16_t entry)
{
	uint64_t four = entry * UINT64_C(0x0001000100010001);

	for (uint32_t i = 0; count >= 4 && i < count; i += 4)
		memcpy(looks + i, &four, sizeof(four));
	for (uint32_t i = 0; count < 4 && i < count; i++)
		looks[i] = entry;
}

bool huffman_codes_make(struct huffman_codes *c,
			const uint8_t counts[CODE_BITS_MAX + 1],
			const uint8_t *symbols, uint32_t symbol_max)
{
	uint32_t code = 0, index = 0;

	*c = (struct huffman_codes){ .symbols = { 0 } };
	for (uint32_t n = 1; n <= CODE_BITS_MAX; n++) {
		c->offsets[n] = (int32_t)index - (int32_t)code;
		for (uint32_t i = 0; i < counts[n]; i++, code++, index++) {
			if (code + 1 >= 1u << n || index >= SYMBOLS_MAX ||
			    symbols[index] > symbol_max)
				return false;
			c->symbols[index] = symbols[index];
		}
		c->limits[n] = code << (CODE_BITS_MAX - n);
		code <<= 1;
	}
	return true;
}

bool huffman_make(struct huffman *t, const uint8_t counts[CODE_BITS_MAX + 1],
		  const uint8_t *symbols, uint32_t symbol_max)
{
	uint16_t *looks = t->looks;

	memset(looks, 0, sizeof(t->looks));
	if (!huffman_codes_make(&t->codes, counts, symbols, symbol_max))
		return false;
	/* Codes are in the order of their bits. */
	for (uint32_t n = 1; n <= LOOK_BITS; n++)
		for (uint32_t i = 0; i < counts[n]; i++) {
			fill(looks, (uint32_t)LOOKS >> n,
			     (uint16_t)(n << 8 | *symbols++));
			looks += LOOKS >> n;
		}
	return true;
}
