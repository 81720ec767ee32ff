/* SPDX-License-Identifier: MIT */
/*
 * EXIF is a TIFF file in a JPEG marker: a header that gives the byte order,
 * then directories of 12-byte entries.  Orientation is an entry of the first.
 */
#include "imgops/exif.h"

#include <string.h>

enum {
	TAG_ORIENTATION = 0x0112,
	TYPE_SHORT = 3,
	ENTRY_BYTES = 12,
};

struct tiff {
	const uint8_t *data;
	size_t bytes;
	int little_endian;
};

/* Both return 0 past the end, which is no valid value of what is looked for. */
static uint32_t read16(const struct tiff *t, size_t at)
{
	if (at > t->bytes || t->bytes - at < 2)
		return 0;
	const uint8_t *p = t->data + at;

	return t->little_endian ? p[0] | (uint32_t)p[1] << 8 :
				  p[1] | (uint32_t)p[0] << 8;
}

static uint32_t read32(const struct tiff *t, size_t at)
{
	uint32_t first = read16(t, at), second = read16(t, at + 2);

	return t->little_endian ? first | second << 16 : second | first << 16;
}

uint32_t exif_orientation(const uint8_t *app1, size_t bytes)
{
	static const uint8_t magic[] = { 'E', 'x', 'i', 'f', 0, 0 };

	if (bytes < sizeof(magic) + 8 ||
	    memcmp(app1, magic, sizeof(magic)) != 0)
		return 0;

	struct tiff t = { app1 + sizeof(magic), bytes - sizeof(magic), 0 };

	if (memcmp(t.data, "II", 2) == 0)
		t.little_endian = 1;
	else if (memcmp(t.data, "MM", 2) != 0)
		return 0;
	if (read16(&t, 2) != 42)
		return 0;

	size_t directory = read32(&t, 4);
	uint32_t entry_count = read16(&t, directory);

	for (uint32_t i = 0; i < entry_count; i++) {
		size_t entry = directory + 2 + (size_t)i * ENTRY_BYTES;

		/* Without this, 16 bytes could ask for 65,535 rounds. */
		if (entry + ENTRY_BYTES > t.bytes)
			return 0;
		if (read16(&t, entry) != TAG_ORIENTATION)
			continue;
		uint32_t value = read16(&t, entry + 8);

		if (read16(&t, entry + 2) != TYPE_SHORT || value > 8)
			return 0;
		return value;
	}
	return 0;
}
