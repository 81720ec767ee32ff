/* SPDX-License-Identifier: MIT */
/*
 * Promises: what zlib has deflated, with any level, strategy and window, is
 * inflated to the same bytes, whatever the pieces in which it comes and the
 * sizes in which it is taken; of damaged data, exactly what zlib refuses is
 * refused; data with too many tables are irregular; there are pauses.
 */
#include "imgops/formats/png/inflate.h"

#include "base/test/check.h"
#include "imgops/test/png_make.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { TAKEN_MAX = 50000, RAW_BYTES = 400000 };

/* Pieces of `step` bytes. */
struct source {
	const uint8_t *at, *end;
	size_t step;
};

static bool next(struct inflate *z)
{
	struct source *s = z->arg;
	size_t n = min_u64(s->step, (size_t)(s->end - s->at));

	if (s->at == s->end)
		return false;
	z->in = s->at;
	z->in_end = s->at + n;
	s->at += n;
	return true;
}

static enum img_err inflate_all(uint8_t *out, size_t count, struct bytes in,
				size_t piece, size_t take,
				const struct memory *memory)
{
	struct inflate *z = malloc(sizeof(*z));
	uint8_t *window = malloc(INFLATE_WINDOW(TAKEN_MAX));
	struct source s = { in.data, in.data + in.count, piece };
	enum img_err err = IMG_OK;
	const uint8_t *bytes;

	CHECK(z != NULL && window != NULL);
	inflate_init(z, in.data, 0, window, INFLATE_WINDOW(TAKEN_MAX));
	z->next = next;
	z->arg = &s;
	z->memory = memory;
	for (size_t at = 0, n; at < count && err == IMG_OK; at += n) {
		n = min_u64(take, count - at);
		err = inflate_take(z, &bytes, n);
		if (err == IMG_OK)
			memcpy(out + at, bytes, n);
	}
	if (err == IMG_OK)
		err = inflate_finish(z);
	free(window);
	free(z);
	return err;
}

static struct bytes deflate_all(struct bytes raw, int level, int strategy,
				int window_bits)
{
	z_stream z = { 0 };
	struct bytes out = { malloc(raw.count * 2 + 100000), 0 };

	CHECK(out.data != NULL);
	CHECK_NUMBER(
		deflateInit2(&z, level, Z_DEFLATED, window_bits, 8, strategy),
		==, Z_OK);
	z.next_out = out.data;
	z.avail_out = (uInt)(raw.count * 2 + 100000);
	/* Blocks of all kinds, and empty ones. */
	for (size_t at = 0, n; at < raw.count; at += n) {
		n = min_u64(raw.count - at, 150000);
		z.next_in = raw.data + at;
		z.avail_in = (uInt)n;
		CHECK_NUMBER(deflate(&z, at % 2 == 0 ? Z_FULL_FLUSH :
						       Z_PARTIAL_FLUSH),
			     ==, Z_OK);
	}
	CHECK_NUMBER(deflate(&z, Z_FINISH), ==, Z_STREAM_END);
	out.count = z.total_out;
	(void)deflateEnd(&z);
	return out;
}

/* Kinds of bytes that need all sorts of codes. */
static void fill(struct bytes raw, int kind)
{
	for (size_t i = 0; i < raw.count; i++) {
		uint32_t noise = scramble((uint32_t)i + (uint32_t)kind * 99);

		switch (kind) {
		case 0:
			raw.data[i] = (uint8_t)noise;
			break;
		case 1:
			raw.data[i] = 7;
			break;
		case 2: /* small numbers are common: codes of all lengths */
			raw.data[i] = (uint8_t)__builtin_clz(noise | 1) *
				      (uint8_t)(noise % 9);
			break;
		case 3: /* matches at all distances */
			raw.data[i] =
				i < 300 || noise % 64 == 0 ?
					(uint8_t)noise :
					raw.data[i - 1 -
						 noise / 64 %
							 (i < 33000 ? i :
								      32768)];
			break;
		default: /* matches that repeat a few bytes */
			raw.data[i] = (uint8_t)(i % (1 + i / 3000 % 40));
		}
	}
}

static void test_all_data(void)
{
	static const size_t pieces[] = { 1, 7, 23, 24, 25, 8192, SIZE_MAX };
	static const size_t takes[] = { 1000, 1, TAKEN_MAX };
	struct bytes raw = { malloc(RAW_BYTES), RAW_BYTES };
	uint8_t *out = malloc(RAW_BYTES);

	CHECK(raw.data != NULL && out != NULL);
	for (int kind = 0; kind < 5; kind++) {
		fill(raw, kind);
		for (int level = 0; level <= 9; level += 3)
			for (int strategy = 0; strategy <= Z_FIXED;
			     strategy++) {
				struct bytes in =
					deflate_all(raw, level, strategy,
						    9 + (kind + level) % 7);
				size_t i = (size_t)(level + strategy);

				check_case("kind %d, level %d, strategy %d",
					   kind, level, strategy);
				memset(out, 0, RAW_BYTES);
				CHECK_NUMBER(
					inflate_all(
						out, raw.count, in,
						pieces[i % ARRAY_SIZE(pieces)],
						takes[i % ARRAY_SIZE(takes)],
						NULL),
					==, IMG_OK);
				CHECK(memcmp(out, raw.data, raw.count) == 0);
				free(in.data);
			}
	}
	free(raw.data);
	free(out);
}

/* What zlib says of the same: `out` has room for a byte that is not wanted. */
static bool zlib_accepts(uint8_t *out, size_t count, struct bytes in)
{
	z_stream z = { .next_in = in.data,
		       .avail_in = (uInt)in.count,
		       .next_out = out,
		       .avail_out = (uInt)count + 1 };
	int end;

	CHECK_NUMBER(inflateInit(&z), ==, Z_OK);
	end = inflate(&z, Z_FINISH);
	(void)inflateEnd(&z);
	return z.total_out > count ||
	       (z.total_out == count && end == Z_STREAM_END);
}

static void test_damaged_data(void)
{
	enum { COUNT = 3000, ROUNDS = 6000 };
	struct bytes raw = { malloc(COUNT), COUNT };
	uint8_t *out = malloc(COUNT), *expected = malloc(COUNT + 1);
	uint32_t good = 0;

	CHECK(raw.data != NULL && out != NULL && expected != NULL);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct bytes in;
		enum img_err err;
		bool accepts;

		fill(raw, (int)(i % 5));
		in = deflate_all(raw, (int)(i % 9) + 1, (int)(i % 7) % 5, 15);
		/* Mostly in the tables of the first block. */
		for (uint32_t k = 0; k < i % 3; k++)
			in.data[2 + scramble(i * 5 + k) %
					    (k == 0 ? 60 : in.count - 2) %
					    (in.count - 2)] ^=
				(uint8_t)(1u << scramble(i * 7 + k) % 8);
		if (i % 4 == 3)
			in.count -= 1 + scramble(i) % (in.count - 1);
		check_case("round %u", i);
		accepts = zlib_accepts(expected, COUNT, in);
		err = inflate_all(out, COUNT, in, i % 2 == 0 ? SIZE_MAX : 11,
				  100, NULL);
		CHECK_NUMBER(err == IMG_OK, ==, accepts);
		if (accepts)
			CHECK(memcmp(out, expected, COUNT) == 0);
		good += accepts;
		free(in.data);
	}
	CHECK_NUMBER(good, >, ROUNDS / 5);
	CHECK_NUMBER(good, <, ROUNDS);
	free(raw.data);
	free(out);
	free(expected);
}

/* A block with tables for every few bytes takes long. */
static void test_many_tables(void)
{
	enum { COUNT = 3000 };
	struct bytes in = png_deflate_tables(COUNT);
	uint8_t out[COUNT + 1];

	CHECK(zlib_accepts(out, COUNT, in));
	CHECK_NUMBER(inflate_all(out, COUNT, in, SIZE_MAX, 1000, NULL), ==,
		     IMG_ERR_IRREGULAR);
	free(in.data);
}

/* So does a block of ten bits that is empty. */
static void test_many_blocks(void)
{
	static const uint8_t four_blocks[] = { 0x02, 0x08, 0x20, 0x80, 0x00 };
	enum { GROUPS = 1000, GROUP = sizeof(four_blocks) };
	uint8_t data[2 + GROUPS * GROUP] = { 0x78, 0x01 }, out[2];
	struct bytes in = { data, sizeof(data) };

	for (size_t i = 0; i < GROUPS; i++)
		memcpy(data + 2 + i * GROUP, four_blocks, GROUP);
	CHECK_NUMBER(inflate_all(out, 1, in, SIZE_MAX, 1, NULL), ==,
		     IMG_ERR_IRREGULAR);
}

/* More data than are wanted are not an error; fewer are. */
static void test_the_end(void)
{
	struct bytes raw = { malloc(RAW_BYTES), RAW_BYTES }, in;
	uint8_t *out = malloc(RAW_BYTES + 1);
	struct heap h;

	CHECK(raw.data != NULL && out != NULL);
	fill(raw, 3);
	in = deflate_all(raw, 6, 0, 15);
	heap_init(&h);
	CHECK_NUMBER(
		inflate_all(out, RAW_BYTES - 1, in, SIZE_MAX, 1000, &h.memory),
		==, IMG_OK);
	CHECK_NUMBER(h.pause_count, >=, RAW_BYTES / INFLATE_PART);
	CHECK_NUMBER(inflate_all(out, RAW_BYTES + 1, in, SIZE_MAX, 1, NULL), ==,
		     IMG_ERR_CORRUPT);
	in.count--; /* of the checksum */
	CHECK_NUMBER(inflate_all(out, RAW_BYTES, in, SIZE_MAX, 1000, NULL), ==,
		     IMG_ERR_TRUNCATED);
	in.count++;
	in.data[in.count - 1] ^= 1;
	CHECK_NUMBER(inflate_all(out, RAW_BYTES, in, SIZE_MAX, 1000, NULL), ==,
		     IMG_ERR_CORRUPT);
	free(in.data);
	free(raw.data);
	free(out);
}

int main(void)
{
	test_all_data();
	test_damaged_data();
	test_many_tables();
	test_many_blocks();
	test_the_end();
	return 0;
}
