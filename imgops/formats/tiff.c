/* SPDX-License-Identifier: MIT */
#include "imgops/formats/tiff.h"

#include <string.h>

/* Values up to this size are in the entry itself. */
enum { INLINE_BYTES = 4 };

/* TIFF 6.0, section 2: the types of integers, and the bytes of a value. */
static const uint8_t integer_bytes[] = {
	[1] = 1, [3] = 2, [4] = 4, /* BYTE, SHORT, LONG */
	[6] = 1, [8] = 2, [9] = 4, /* SBYTE, SSHORT, SLONG */
};

static uint32_t tiff_read8(const struct tiff *t, size_t at)
{
	return at < t->bytes ? t->data[at] : 0;
}

uint32_t tiff_read16(const struct tiff *t, size_t at)
{
	if (at > t->bytes || t->bytes - at < 2)
		return 0;
	const uint8_t *p = t->data + at;

	return t->little_endian ? p[0] | (uint32_t)p[1] << 8 :
				  p[1] | (uint32_t)p[0] << 8;
}

uint32_t tiff_read32(const struct tiff *t, size_t at)
{
	uint32_t first = tiff_read16(t, at), second = tiff_read16(t, at + 2);

	return t->little_endian ? first | second << 16 : second | first << 16;
}

/*
 * The value of the entry at `at`, or the first of its values.  A negative one
 * is returned as a number over INT8_MAX.  0: it is not an integer.
 */
static uint32_t tiff_integer(const struct tiff *t, size_t at)
{
	uint32_t type = tiff_read16(t, at + 2);
	uint64_t count = tiff_read32(t, at + 4);
	uint32_t bytes = type < sizeof(integer_bytes) ? integer_bytes[type] : 0;
	size_t value = at + 8;

	if (bytes * count > INLINE_BYTES)
		value = tiff_read32(t, value);
	switch (bytes) {
	case 1:
		return tiff_read8(t, value);
	case 2:
		return tiff_read16(t, value);
	case 4:
		return tiff_read32(t, value);
	default:
		return 0;
	}
}

size_t tiff_open(struct tiff *t, const uint8_t *tiff, size_t bytes)
{
	*t = (struct tiff){ tiff, bytes, 0 };
	if (bytes < 8)
		return 0;
	if (memcmp(t->data, "II", 2) == 0)
		t->little_endian = 1;
	else if (memcmp(t->data, "MM", 2) != 0)
		return 0;
	return tiff_read16(t, 2) == 42 ? tiff_read32(t, 4) : 0;
}

size_t tiff_find(const struct tiff *t, size_t directory, uint32_t tag)
{
	uint32_t entry_count = tiff_read16(t, directory);

	for (uint32_t i = 0; i < entry_count; i++) {
		size_t entry = directory + 2 + (size_t)i * TIFF_ENTRY_BYTES;

		/*
		 * Without this check, a file of 16 bytes could cause 65,535
		 * rounds.
		 */
		if (entry + TIFF_ENTRY_BYTES > t->bytes)
			return 0;
		if (tiff_read16(t, entry) == tag)
			return entry;
	}
	return 0;
}

uint32_t tiff_value(const struct tiff *t, size_t directory, uint32_t tag)
{
	size_t entry = directory > 0 ? tiff_find(t, directory, tag) : 0;

	return entry > 0 ? tiff_integer(t, entry) : 0;
}
