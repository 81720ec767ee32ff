/* SPDX-License-Identifier: MIT */
#include "imgops/formats/exif.h"

#include <string.h>

enum {
	TAG_ORIENTATION = 0x0112,
	ENTRY_BYTES = 12,
	INLINE_BYTES = 4, /* values up to this size are in the entry itself */
};

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

uint32_t tiff_integer(const struct tiff *t, size_t at)
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

bool tiff_open(struct tiff *t, const uint8_t *data, size_t bytes)
{
	*t = (struct tiff){ .data = data, .bytes = bytes };
	if (bytes < 8)
		return false;
	if (memcmp(data, "II", 2) == 0)
		t->little_endian = true;
	else if (memcmp(data, "MM", 2) != 0)
		return false;
	return tiff_read16(t, 2) == 42;
}

size_t tiff_find(const struct tiff *t, size_t directory, uint32_t tag)
{
	uint32_t entry_count = tiff_read16(t, directory);

	for (uint32_t i = 0; i < entry_count; i++) {
		size_t entry = directory + 2 + (size_t)i * ENTRY_BYTES;

		/*
		 * Without this check, a file of 16 bytes could cause 65,535
		 * rounds.
		 */
		if (entry + ENTRY_BYTES > t->bytes)
			return 0;
		if (tiff_read16(t, entry) == tag)
			return entry;
	}
	return 0;
}

uint32_t exif_orientation(const uint8_t *tiff, size_t bytes)
{
	struct tiff t;
	size_t entry = 0;
	uint32_t value = 0;

	if (tiff_open(&t, tiff, bytes))
		entry = tiff_find(&t, tiff_read32(&t, 4), TAG_ORIENTATION);
	if (entry > 0)
		value = tiff_integer(&t, entry);
	return value <= 8 ? value : 0;
}

uint32_t exif_app1_orientation(const uint8_t *app1, size_t bytes)
{
	static const uint8_t magic[] = { 'E', 'x', 'i', 'f', 0, 0 };

	if (bytes < sizeof(magic) || memcmp(app1, magic, sizeof(magic)) != 0)
		return 0;
	return exif_orientation(app1 + sizeof(magic), bytes - sizeof(magic));
}
