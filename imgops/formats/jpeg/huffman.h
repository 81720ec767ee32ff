/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: bits of entropy-coded data, and Huffman codes (ITU-T T.81,
 * annexes C and F).
 *
 * The next bits of a scan are kept in one word.  A table is indexed by the next
 * LOOK_BITS bits.  Everything that runs for each coefficient is inline.
 */
#ifndef IMGOPS_FORMATS_JPEG_HUFFMAN_H
#define IMGOPS_FORMATS_JPEG_HUFFMAN_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	LOOK_BITS = 12, /* bits that index a table; longer codes are rare */
	LOOKS = 1 << LOOK_BITS,
	CODE_BITS_MAX = 16,
	VALUE_BITS_MAX = 15,
	SYMBOL_BITS_MAX = CODE_BITS_MAX + VALUE_BITS_MAX,
	REFILL_BITS = 56, /* at least this many bits are there after a refill */
	SYMBOLS_MAX = 256,
};

/*
 * The next bits of the scan; the first one is the highest bit.  Past the end of
 * the data, bits are zeros; bits_are_real() tells afterwards whether any of
 * these were used.
 */
struct bits {
	const uint8_t *at, *end;
	uint64_t next;
	int32_t count;
	int32_t made_up; /* number of zeros added after the last real bit */
};

/* The codes of a table. */
struct huffman_codes {
	/* Codes of length n, left-aligned in 16 bits, are below limits[n]. */
	uint32_t limits[CODE_BITS_MAX + 1];
	/* A code of length n plus offsets[n] is the index of its symbol. */
	int32_t offsets[CODE_BITS_MAX + 1];
	uint8_t symbols[SYMBOLS_MAX]; /* in the order of their codes */
};

/* The same, with a table for short codes. */
struct huffman {
	uint16_t looks[LOOKS]; /* length << 8 | symbol; 0: the code is longer */
	struct huffman_codes codes;
};

static inline uint64_t bits_load(const uint8_t *from)
{
	uint64_t n;

	memcpy(&n, from, sizeof(n));
	return __builtin_bswap64(n);
}

static inline bool bits_hold_ff(uint64_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);

	return ((~n - ones) & n & (ones << 7)) != 0;
}

/* bits_refill() when an FF byte is near, or the end of the data. */
struct bits bits_refill_slowly(struct bits b);

/* Make sure that at least REFILL_BITS bits are in `next`. */
static inline struct bits bits_refill(struct bits b)
{
	uint64_t n = UINT64_MAX;

	if (b.end - b.at >= 8)
		n = bits_load(b.at);
	if (bits_hold_ff(n))
		return bits_refill_slowly(b);
	b.next |= n >> b.count;
	b.at += (63 - b.count) >> 3;
	b.count |= REFILL_BITS;
	return b;
}

static inline void bits_drop(struct bits *b, int32_t count)
{
	b->next <<= count;
	b->count -= count;
}

/* The next symbol, whose code has `least` bits or more; -1: no such code. */
static inline int32_t
huffman_search(struct bits *b, const struct huffman_codes *c, int32_t least)
{
	uint32_t code = (uint32_t)(b->next >> (64 - CODE_BITS_MAX));

	for (int32_t n = least; n <= CODE_BITS_MAX; n++)
		if (code < c->limits[n]) {
			bits_drop(b, n);
			return c->symbols[(int32_t)(code >>
						    (CODE_BITS_MAX - n)) +
					  c->offsets[n]];
		}
	return -1;
}

/* The next symbol, or -1: no such code. */
static inline int32_t huffman_symbol(struct bits *b, const struct huffman *t)
{
	uint32_t look = t->looks[b->next >> (64 - LOOK_BITS)];

	if (look == 0)
		return huffman_search(b, &t->codes, LOOK_BITS + 1);
	bits_drop(b, (int32_t)(look >> 8));
	return look & 0xff;
}

/* The value of `size` bits, negative if the first bit is 0 (T.81 F.2.2.1). */
static inline int32_t huffman_value(struct bits *b, int32_t size)
{
	if (size == 0)
		return 0;

	int32_t value = (int32_t)(b->next >> (64 - size));

	bits_drop(b, size);
	return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

/* True: no made-up bit was used. */
static inline bool bits_are_real(const struct bits *b)
{
	return b->made_up <= b->count;
}

/* The next `count` bits, 1 or more. */
static inline uint32_t bits_take(struct bits *b, int32_t count)
{
	uint32_t value = (uint32_t)(b->next >> (64 - count));

	bits_drop(b, count);
	return value;
}

/*
 * Make the codes of a DHT segment: the number of codes of each length, and
 * `symbols`, which are copied.  False: codes overflow or are all ones, there
 * are more than SYMBOLS_MAX, or a symbol is over `symbol_max`.
 */
MUST_CHECK bool huffman_codes_make(struct huffman_codes *c,
				   const uint8_t counts[CODE_BITS_MAX + 1],
				   const uint8_t *symbols, uint32_t symbol_max);

/* The same, with the table. */
MUST_CHECK bool huffman_make(struct huffman *t,
			     const uint8_t counts[CODE_BITS_MAX + 1],
			     const uint8_t *symbols, uint32_t symbol_max);

#endif
