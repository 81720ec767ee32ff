/* SPDX-License-Identifier: MIT */
/*
 * Promises: bits are read in the order of T.81, F.2.2.5: FF 00 is one byte and
 * any other marker is the end.  The bits after the end are zeros, and the
 * reader knows that they are not real.  For any table, symbols are those of a
 * bit-by-bit decoder (F.2.2.3); an invalid table is refused.
 */
#include "base/test/check.h"
#include "imgops/formats/jpeg/sequential.c"
#include "imgops/test/support.h"

#include <stdlib.h>

/* The data as single bits. */
struct slow {
	uint8_t bits[8 * 512];
	uint32_t count, at;
};

static void slow_open(struct slow *s, const uint8_t *data, size_t bytes)
{
	s->count = s->at = 0;
	for (size_t i = 0; i < bytes; i++) {
		if (data[i] == 0xff && (i + 1 == bytes || data[i + 1] != 0))
			return;
		for (int bit = 7; bit >= 0; bit--)
			s->bits[s->count++] = data[i] >> bit & 1;
		i += data[i] == 0xff;
	}
}

static uint32_t slow_take(struct slow *s, uint32_t count)
{
	uint32_t n = 0;

	for (; count > 0; count--, s->at++)
		n = n << 1 | (s->at < s->count ? s->bits[s->at] : 0);
	return n;
}

/* A third of the bytes are FF, most of them stuffed. */
static void fill(uint8_t *data, size_t bytes, uint32_t seed)
{
	for (size_t i = 0; i < bytes; i++) {
		uint32_t r = scramble(seed * 4096 + (uint32_t)i);

		data[i] = r % 3 == 0 && seed % 4 ? 0xff : (uint8_t)(r >> 8);
		if (i > 0 && data[i - 1] == 0xff && r >> 16 & 63)
			data[i] = 0;
	}
}

static void test_bits_come_in_order_and_end_where_data_do(void)
{
	struct slow s;

	for (uint32_t seed = 0; seed < 2000; seed++) {
		size_t bytes = 1 + scramble(seed) % 200;
		uint8_t *data = malloc(bytes);
		uint32_t end;

		CHECK(data != NULL);
		fill(data, bytes, seed);
		slow_open(&s, data, bytes);
		struct bits b = { .at = data, .end = data + bytes };

		end = s.count + 200;
		for (uint32_t i = 0; s.at < end; i++) {
			uint32_t n = scramble(seed + i) % 32;

			b = bits_refill(b);
			CHECK_NUMBER(b.count, >=, REFILL_BITS);
			CHECK_NUMBER(b.count, <, 64);
			if (n > 0)
				CHECK_NUMBER(b.next >> (64 - n), ==,
					     slow_take(&s, n));
			bits_drop(&b, (int32_t)n);
			CHECK_NUMBER(bits_are_real(&b), ==, (s.at <= s.count));
		}
		free(data);
	}
}

/*
 * T.81, table F.1 and F.12: the first half of the values of each size is
 * negative.
 */
static void test_values_are_signed_by_their_first_bit(void)
{
	for (int32_t size = 0; size <= VALUE_BITS_MAX; size++)
		for (int32_t n = 0; n < 1 << size; n++) {
			struct bits b = { .count = 60 };
			int32_t half = size > 0 ? 1 << (size - 1) : 0;

			if (size > 0)
				b.next = (uint64_t)n << (64 - size);
			int32_t value = huffman_value(&b, size);

			CHECK_NUMBER(value, ==,
				     (n >= half ? n : n - 2 * half + 1));
			CHECK_NUMBER(b.count, ==, 60 - size);
			CHECK_NUMBER(b.next, ==, 0);
		}
}

/* Random counts of codes that leave the code of all ones free. */
static uint32_t make_counts(uint8_t counts[CODE_BITS_MAX + 1], uint32_t seed)
{
	uint32_t room = 1, total = 0;

	for (uint32_t n = 0; n <= CODE_BITS_MAX; n++)
		counts[n] = 0;
	for (uint32_t n = 1; n <= CODE_BITS_MAX; n++) {
		room *= 2;
		uint32_t most = room - 1 < SYMBOLS_MAX - total ?
					room - 1 :
					SYMBOLS_MAX - total;
		uint32_t count = scramble(seed * 32 + n) % (most + 1);

		if (seed % 3 > 0)
			count = count / 4;
		counts[n] = (uint8_t)(count > 255 ? 255 : count);
		room -= counts[n];
		total += counts[n];
	}
	return total;
}

/* T.81, figure F.16. -1: no code fits. */
static int32_t slow_symbol(struct slow *s, const uint8_t *counts,
			   const uint8_t *symbols)
{
	uint32_t code = 0, first = 0, index = 0;

	for (uint32_t n = 1; n <= CODE_BITS_MAX; n++) {
		code = code << 1 | slow_take(s, 1);
		first <<= 1;
		if (code - first < counts[n])
			return symbols[index + code - first];
		index += counts[n];
		first += counts[n];
	}
	return -1;
}

static void test_symbols_are_those_of_a_slow_decoder(void)
{
	static struct huffman h;
	uint8_t counts[CODE_BITS_MAX + 1], symbols[SYMBOLS_MAX], data[400];
	struct slow s;
	uint32_t bad_count = 0, long_count = 0;

	for (uint32_t i = 0; i < SYMBOLS_MAX; i++)
		symbols[i] = (uint8_t)(i * 77 + 5);
	for (uint32_t seed = 0; seed < 500; seed++) {
		(void)make_counts(counts, seed);
		bool ok = huffman_make(&h, counts, symbols, UINT8_MAX);

		CHECK(ok);
		fill(data, sizeof(data), seed * 4);
		slow_open(&s, data, sizeof(data));
		struct bits b = { .at = data, .end = data + sizeof(data) };

		while (s.at + 100 < s.count) {
			uint32_t from = s.at;
			int32_t symbol = slow_symbol(&s, counts, symbols);

			b = bits_refill(b);
			CHECK_NUMBER(huffman_symbol(&b, &h), ==, symbol);
			long_count += s.at - from > LOOK_BITS && symbol >= 0;
			if (symbol >= 0)
				continue;
			bad_count++;
			bits_drop(&b, CODE_BITS_MAX);
		}
	}
	CHECK_NUMBER(bad_count, >, 100);
	CHECK_NUMBER(long_count, >, 100);
}

static void test_tables_that_make_no_sense_are_refused(void)
{
	static struct huffman h;
	static const uint8_t symbols[SYMBOLS_MAX] = { 1, 2, 15 };
	uint8_t counts[CODE_BITS_MAX + 1] = { 0 };

	CHECK(huffman_make(&h, counts, symbols, 255));
	counts[1] = 2; /* 0 and 1: all ones */
	CHECK(!huffman_make(&h, counts, symbols, 255));
	counts[1] = 1;
	CHECK(huffman_make(&h, counts, symbols, 255));
	counts[2] = 1;
	counts[3] = 1; /* 110 */
	CHECK(huffman_make(&h, counts, symbols, 15));
	CHECK(!huffman_make(&h, counts, symbols, 14));
	counts[3] = 2;
	CHECK(!huffman_make(&h, counts, symbols, 255));
	counts[3] = 3;
	CHECK(!huffman_make(&h, counts, symbols, 255));
	counts[3] = 1;
	counts[16] = 253;
	CHECK(huffman_make(&h, counts, symbols, 255));
	counts[16] = 254; /* 257 in all */
	CHECK(!huffman_make(&h, counts, symbols, 255));
}

int main(void)
{
	test_bits_come_in_order_and_end_where_data_do();
	test_values_are_signed_by_their_first_bit();
	test_symbols_are_those_of_a_slow_decoder();
	test_tables_that_make_no_sense_are_refused();
	return 0;
}
