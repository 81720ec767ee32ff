/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: coefficients of a scan that is not progressive, by tables that
 * are indexed by the next bits.
 *
 * A Huffman code and the value after it have about six bits in a photo.  So an
 * entry of `pairs` has up to two whole symbols with their values, and an entry
 * of `skips` as many as fit, without values.  Longer ones are left to
 * ac_long(). Tables of 9 or 11 bits are slower: more symbols are too long, or
 * the tables are too large for the first cache.
 */
#ifndef IMGOPS_FORMATS_JPEG_AC_H
#define IMGOPS_FORMATS_JPEG_AC_H

#include "imgops/formats/jpeg/huffman.h"
#include "imgops/formats/jpeg/texture.h"

enum {
	AC_COEFFICIENTS = 63,
	/* Index of the last symbol of a block that ends early: so much more. */
	AC_END = 128,
	/* An index is below this after a pair, and after ac_long(). */
	AC_INDEX_MAX = AC_COEFFICIENTS + 16 + AC_END + 1,
};

/*
 * An entry of ac_table.pairs, from its lowest bit on: the bits of all its
 * symbols (0: not even one fits), the coefficients up to the value of the first
 * and up to that of the last, the bits of the first alone, and both values.  If
 * there is only one, both are the same.
 */
enum {
	PAIR_BITS = 10,
	PAIRS = 1 << PAIR_BITS,
	PAIRS_PER_REFILL = REFILL_BITS / PAIR_BITS,
	PAIR_BITS_MASK = 63,
	PAIR_FIRST_SHIFT = 8,
	PAIR_LAST_SHIFT = 16,
	PAIR_ADVANCE_MASK = 255,
	PAIR_FIRST_BITS_SHIFT = 24,
	PAIR_FIRST_VALUE_SHIFT = 32,
	PAIR_LAST_VALUE_SHIFT = 48,
};

/*
 * An entry of ac_table.skips stands for as many whole symbols as fit into
 * LOOK_BITS: the number of their bits (0: not even one symbol fits), the number
 * of their coefficients, and whether the block ends there, which counts as one
 * more coefficient.  With `power`, the squares of their values have a sum of
 * about (1 << power) - 1; symbols of larger values are left to ac_long().
 */
enum {
	SKIPS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	SKIP_BITS_MASK = 15,
	SKIP_POWER_SHIFT = 4,
	SKIP_POWER_MASK = 15,
	SKIP_SQUARES_MAX = (3 << SKIP_POWER_MASK) / 2 - 1,
	SKIP_COEFFICIENTS_SHIFT = 8,
	SKIP_COEFFICIENTS_MASK = 127,
	SKIP_IS_END = 1 << 15,
};

/* A symbol with its value. */
struct ac_symbol {
	uint8_t bits;    /* of both; 0: they do not fit */
	uint8_t advance; /* coefficients */
	int16_t value;
};

/*
 * The bits of a DC symbol with its value (0: it does not fit), and the value.
 */
enum { DC_BITS_MASK = 63, DC_VALUE_SHIFT = 16 };

struct dc_table {
	struct huffman codes;
	uint32_t values[PAIRS];
};

struct ac_table {
	struct huffman codes;
	uint64_t pairs[PAIRS];
	uint16_t skips
		[LOOKS]; /* if they are needed: they take longest to make */
};

/* `room` is for the work.  False: as for huffman_make(). */
MUST_CHECK bool dc_table_make(struct dc_table *t,
			      const uint8_t counts[CODE_BITS_MAX + 1],
			      const uint8_t *symbols,
			      struct ac_symbol room[LOOKS]);

MUST_CHECK bool ac_table_make(struct ac_table *t,
			      const uint8_t counts[CODE_BITS_MAX + 1],
			      const uint8_t *symbols, bool has_skips,
			      struct ac_symbol room[LOOKS]);

/* The energy of the symbols of a look, of which the first is coefficient k. */
static inline uint64_t skip_energy(const struct texture *t, uint32_t k,
				   uint32_t step)
{
	uint64_t weight = t->weights[k];

	return (weight << (step >> SKIP_POWER_SHIFT & SKIP_POWER_MASK)) -
	       weight;
}

/* Read any symbol, and its value; for those in the tables there is faster. */
static inline bool ac_long(struct bits *b, const struct huffman *h, uint32_t *k,
			   int32_t *value)
{
	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	*k += size == 0 && run != 15 ? (uint32_t)AC_END : (uint32_t)(run + 1);
	*value = huffman_value(b, size);
	return symbol >= 0;
}

/*
 * Skip what follows coefficient `k` in a block.  `looks` is how many can be
 * made before the next refill.  With `watches`, add the energy of what is
 * skipped to *energy: about, because all symbols of a look count as if they
 * were the first one's coefficient.  False: the codes are not valid.
 */
static inline __attribute__((always_inline)) bool
ac_skip(struct bits *bits, const struct ac_table *ac, uint32_t k,
	uint32_t looks, bool watches, const struct texture *t, uint64_t *energy)
{
	struct bits b = *bits;

	while (k < AC_COEFFICIENTS) {
		uint32_t step, coefficients;

		if (looks == 0) {
			b = bits_refill(b);
			looks = SKIPS_PER_REFILL;
		}
		looks--;
		step = ac->skips[b.next >> (64 - LOOK_BITS)];
		coefficients = step >> SKIP_COEFFICIENTS_SHIFT &
			       SKIP_COEFFICIENTS_MASK;
		if (step == 0 || k + coefficients > AC_COEFFICIENTS) {
			int32_t value;

			b = bits_refill(b);
			looks = 0;
			if (!ac_long(&b, &ac->codes, &k, &value))
				return false;
			if (watches)
				*energy +=
					texture_energy(t, k % DCTSIZE2, value);
			continue;
		}
		bits_drop(&b, (int32_t)(step & SKIP_BITS_MASK));
		if (watches)
			*energy += skip_energy(t, k + 1, step);
		k += coefficients;
		if (step & SKIP_IS_END)
			k = AC_END;
	}
	*bits = b;
	return k == AC_COEFFICIENTS || k >= AC_END;
}

#endif
