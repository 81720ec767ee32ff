/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jxl/bits.h"

#include <string.h>

enum { BOX_HEAD_BYTES = 8, LARGE_BYTES = 8, PART_BYTES = 4, BOXES_MAX = 4096 };

const uint8_t jxl_container[12] = { 0,   0,   0,   12,  'J',  'X',
				    'L', ' ', 0xd, 0xa, 0x87, 0xa };

static uint64_t read_big(const uint8_t *p, uint32_t bytes)
{
	uint64_t number = 0;

	for (uint32_t i = 0; i < bytes; i++)
		number = number << 8 | p[i];
	return number;
}

struct jxl_place jxl_beginning(const uint8_t *bytes)
{
	struct jxl_place boxes = { .next_box = sizeof(jxl_container) };
	struct jxl_place file = { .end = UINT64_MAX };

	return bytes[0] == jxl_container[0] ? boxes : file;
}

struct jxl_bits jxl_bits_at(struct jxl_place place, const uint8_t *bytes,
			    size_t count)
{
	return (struct jxl_bits){ .bytes = bytes,
				  .count = count,
				  .place = place };
}

/* False: `err` says why. */
static bool fail(struct jxl_bits *b, enum img_err err)
{
	if (b->err == IMG_OK)
		b->err = err;
	return false;
}

/* Enter the next box, or pass over it if it has no codestream. */
static bool next_box(struct jxl_bits *b)
{
	uint64_t at = b->place.next_box;
	uint64_t head = BOX_HEAD_BYTES, bytes, end;
	const uint8_t *type;
	bool is_part;

	if (at == 0)
		return fail(b, IMG_ERR_TRUNCATED);
	if (at > b->count || b->count - at < BOX_HEAD_BYTES)
		return fail(b, IMG_ERR_TRUNCATED);
	if (++b->boxes > BOXES_MAX)
		return fail(b, IMG_ERR_CORRUPT);
	bytes = read_big(b->bytes + at, 4);
	type = b->bytes + at + 4;
	if (bytes == 1) {
		head += LARGE_BYTES;
		if (b->count - at < head)
			return fail(b, IMG_ERR_TRUNCATED);
		bytes = read_big(b->bytes + at + BOX_HEAD_BYTES, LARGE_BYTES);
	}
	is_part = memcmp(type, "jxlp", 4) == 0;
	if (is_part)
		head += PART_BYTES;
	end = at + bytes;
	if (bytes == 0) /* to the end of the file */
		end = UINT64_MAX;
	else if (bytes < head || bytes > INT64_MAX)
		return fail(b, IMG_ERR_CORRUPT);
	if (is_part || memcmp(type, "jxlc", 4) == 0)
		b->place = (struct jxl_place){ at + head, end, 0 };
	b->place.next_box = end;
	return true;
}

/* Is there a byte?  False: `err` says why not. */
static bool find_byte(struct jxl_bits *b)
{
	while (b->err == IMG_OK && b->place.at == b->place.end)
		(void)next_box(b);
	if (b->err == IMG_OK && b->place.at >= b->count)
		return fail(b, IMG_ERR_TRUNCATED);
	return b->err == IMG_OK;
}

uint32_t jxl_read(struct jxl_bits *b, uint32_t count)
{
	uint32_t value = 0;

	for (uint32_t have = 0; have < count;) {
		uint32_t take = min_u32(count - have, b->bit_count);

		if (take == 0) {
			if (!find_byte(b))
				return 0;
			b->bits = b->bytes[b->place.at++];
			b->bit_count = 8;
			continue;
		}
		value |= (b->bits & ((1u << take) - 1)) << have;
		b->bits >>= take;
		b->bit_count -= take;
		have += take;
	}
	return b->err == IMG_OK ? value : 0;
}

uint32_t jxl_read_choice(struct jxl_bits *b, const struct jxl_choice *choice)
{
	uint32_t i = jxl_read(b, 2);

	return choice->of[i].add + jxl_read(b, choice->of[i].bits);
}

uint64_t jxl_read_u64(struct jxl_bits *b)
{
	uint32_t kind = jxl_read(b, 2);
	uint64_t value;

	if (kind == 0)
		return 0;
	if (kind == 1)
		return 1 + jxl_read(b, 4);
	if (kind == 2)
		return 17 + jxl_read(b, 8);
	value = jxl_read(b, 12);
	for (uint32_t shift = 12; jxl_read_bool(b); shift += 8) {
		if (shift == 60)
			return value | (uint64_t)jxl_read(b, 4) << shift;
		value |= (uint64_t)jxl_read(b, 8) << shift;
	}
	return value;
}

static void skip_whole_bytes(struct jxl_bits *b, uint64_t count)
{
	while (count > 0 && find_byte(b)) {
		uint64_t have = b->place.end - b->place.at;
		uint64_t step = min_u64(count, have);

		/* What has not arrived can be passed over, too. */
		b->place.at += step;
		count -= step;
	}
}

void jxl_skip_bits(struct jxl_bits *b, uint64_t count)
{
	uint32_t rest = (uint32_t)min_u64(count, b->bit_count);

	(void)jxl_read(b, rest);
	count -= rest;
	skip_whole_bytes(b, count / 8);
	(void)jxl_read(b, count % 8);
}

void jxl_skip_bytes(struct jxl_bits *b, uint64_t count)
{
	b->bit_count = 0;
	skip_whole_bytes(b, count);
}

void jxl_skip_extensions(struct jxl_bits *b)
{
	uint64_t set = jxl_read_u64(b), bits = 0;

	for (; set != 0 && b->err == IMG_OK; set &= set - 1) {
		uint64_t more = jxl_read_u64(b);

		if (more > UINT32_MAX) {
			b->err = IMG_ERR_CORRUPT;
			return;
		}
		bits += more;
	}
	jxl_skip_bits(b, bits);
}

void jxl_skip_name(struct jxl_bits *b)
{
	static const struct jxl_choice of_length = {
		{ { 0, 0 }, { 0, 4 }, { 16, 5 }, { 48, 10 } }
	};

	jxl_skip_bits(b, (uint64_t)jxl_read_choice(b, &of_length) * 8);
}
