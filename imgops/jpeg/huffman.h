/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: Huffman codes of a JPEG scan, read from memory.
 *
 * ITU-T T.81, annexes C and F.  For intact data only: bits past the end read as
 * zeros, and bits_are_real() says afterwards whether any of them were used.
 * All inline: these are the innermost loops.
 *
 * The AC coefficients of a block are decoded as far as they are needed and
 * skipped from there on, both by tables over the next LOOK_BITS bits.
 */
#ifndef IMGOPS_JPEG_HUFFMAN_H
#define IMGOPS_JPEG_HUFFMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	LOOK_BITS = 12, /* of a table; longer codes are rare */
	LOOKS = 1 << LOOK_BITS,
	CODE_BITS_MAX = 16,
	VALUE_BITS_MAX = 15,
	SYMBOL_BITS_MAX = CODE_BITS_MAX + VALUE_BITS_MAX,
	REFILL_BITS = 56, /* at least this many after a refill */
	SYMBOLS_MAX = 256,
};

/* The next bits of the scan, the first of them on top. */
struct bits {
	const uint8_t *at, *end;
	uint64_t next;
	int32_t count;
	int32_t made_up; /* zeros after the last real bit */
};

/* A table of codes. */
struct huffman {
	uint16_t codes[LOOKS]; /* length << 8 | symbol; 0: longer than that */
	/* Left-aligned in 16 bits: codes of length n are below limits[n]. */
	uint32_t limits[CODE_BITS_MAX + 1];
	int32_t offsets[CODE_BITS_MAX + 1]; /* code to index of its symbol */
	const uint8_t *symbols;             /* in the order of their codes */
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

/* One byte at a time; FF 00 is one byte.  From the first marker on, zeros. */
__attribute__((noinline)) static struct bits bits_refill_slowly(struct bits b)
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

/* The next symbol, or -1: no such code. */
static inline int32_t huffman_symbol(struct bits *b, const struct huffman *t)
{
	uint32_t code = t->codes[b->next >> (64 - LOOK_BITS)];

	if (code != 0) {
		bits_drop(b, (int32_t)(code >> 8));
		return code & 0xff;
	}
	code = (uint32_t)(b->next >> (64 - CODE_BITS_MAX));
	for (int32_t n = LOOK_BITS + 1; n <= CODE_BITS_MAX; n++)
		if (code < t->limits[n]) {
			bits_drop(b, n);
			return t->symbols[(int32_t)(code >>
						    (CODE_BITS_MAX - n)) +
					  t->offsets[n]];
		}
	return -1;
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

/*
 * An entry of ac_table.symbols is one symbol with its value: its bits (0: more
 * than LOOK_BITS), the number of coefficients to advance, and the value of the
 * last of these.
 */
enum {
	SYMBOL_BITS_MASK = 63,
	SYMBOL_ADVANCE_SHIFT = 8,
	SYMBOL_ADVANCE_MASK = 255,
	SYMBOL_VALUE_SHIFT = 16,
	ADVANCE_END = 128, /* of the block */
};

/*
 * An entry of ac_table.skips is as many whole symbols as fit: their bits (0:
 * not even one symbol fits), their coefficients, and whether the block ends
 * there, which counts as one more coefficient.
 */
enum {
	SKIP_BITS_MASK = 63,
	SKIP_COEFFICIENTS_SHIFT = 8,
	SKIP_COEFFICIENTS_MASK = 127,
	SKIP_IS_END = 1 << 15,
};

enum {
	LOOKS_PER_REFILL = REFILL_BITS / LOOK_BITS,
	AC_COEFFICIENTS = 63,
};

struct ac_table {
	struct huffman codes;
	uint32_t symbols[LOOKS];
	uint16_t skips[LOOKS];
};

/* Read a symbol that is too long for the tables, and its value. */
static inline bool read_long(struct bits *b, const struct huffman *h,
			     int32_t *k, int32_t *value)
{
	int32_t symbol = huffman_symbol(b, h);
	int32_t run = symbol >> 4, size = symbol & 15;

	*k += size == 0 && run != 15 ? ADVANCE_END : run + 1;
	*value = huffman_value(b, size);
	return symbol >= 0;
}

/*
 * Skip the last `left` coefficients of a block.  False: the codes make no
 * sense.
 */
static inline bool skip_ac(struct bits *bits, const struct ac_table *ac,
			   int32_t left)
{
	struct bits b = *bits;

	while (left > 0) {
		b = bits_refill(b);
		for (uint32_t i = 0; i < LOOKS_PER_REFILL && left > 0; i++) {
			uint32_t step = ac->skips[b.next >> (64 - LOOK_BITS)];
			uint32_t coefficients =
				step >> SKIP_COEFFICIENTS_SHIFT &
				SKIP_COEFFICIENTS_MASK;

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
			bits_drop(&b, step & SKIP_BITS_MASK);
			left -= (int32_t)coefficients;
			if (step & SKIP_IS_END)
				left = 0;
		}
	}
	*bits = b;
	return left == 0;
}

#endif
