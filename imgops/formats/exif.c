/* SPDX-License-Identifier: MIT */
#include "imgops/formats/exif.h"

#include "imgops/formats/tiff.h"

#include <string.h>

enum {
	TAG_ORIENTATION = 0x0112,
	TAG_EXIF = 0x8769, /* the offset of a directory, as the next */
	TAG_MAKER_NOTE = 0x927c,
	TAG_COLOUR_SPACE = 0xa001,
	TAG_INTEROPERABILITY = 0xa005,
	TAG_INDEX = 0x0001, /* in the directory of interoperability */
	COLOUR_SPACE_SRGB = 1,
};

uint32_t exif_orientation(const uint8_t *tiff, size_t bytes)
{
	struct tiff t;
	size_t directory = tiff_open(&t, tiff, bytes);
	uint32_t value = tiff_value(&t, directory, TAG_ORIENTATION);

	return value <= 8 ? value : 0;
}

/* The TIFF file in an APP1 marker.  NULL: it is another kind of APP1. */
static const uint8_t *app1_tiff(const uint8_t *app1, size_t *bytes)
{
	static const uint8_t magic[] = { 'E', 'x', 'i', 'f', 0, 0 };

	if (*bytes < sizeof(magic) || memcmp(app1, magic, sizeof(magic)) != 0)
		return NULL;
	*bytes -= sizeof(magic);
	return app1 + sizeof(magic);
}

uint32_t exif_app1_orientation(const uint8_t *app1, size_t bytes)
{
	const uint8_t *tiff = app1_tiff(app1, &bytes);

	return tiff != NULL ? exif_orientation(tiff, bytes) : 0;
}

bool exif_app1_is_adobe_rgb(const uint8_t *app1, size_t bytes)
{
	static const uint8_t r03[] = { 'R', '0', '3', 0 };
	const uint8_t *tiff = app1_tiff(app1, &bytes);
	size_t directory, exif, entry;
	struct tiff t;

	if (tiff == NULL)
		return false;
	directory = tiff_open(&t, tiff, bytes);
	exif = tiff_value(&t, directory, TAG_EXIF);
	if (tiff_value(&t, exif, TAG_COLOUR_SPACE) == COLOUR_SPACE_SRGB)
		return false;
	directory = tiff_value(&t, exif, TAG_INTEROPERABILITY);
	entry = directory > 0 ? tiff_find(&t, directory, TAG_INDEX) : 0;
	return entry > 0 &&
	       memcmp(tiff + entry + TIFF_ENTRY_BYTES - sizeof(r03), r03,
		      sizeof(r03)) == 0;
}

const uint8_t *exif_maker_note(const uint8_t *tiff, size_t bytes, size_t *count)
{
	size_t directory, entry, at;
	struct tiff t;

	directory = tiff_open(&t, tiff, bytes);
	directory = tiff_value(&t, directory, TAG_EXIF);
	entry = directory > 0 ? tiff_find(&t, directory, TAG_MAKER_NOTE) : 0;
	if (entry == 0)
		return NULL;
	*count = tiff_read32(&t, entry + 4);
	at = tiff_read32(&t, entry + 8);
	return at < bytes && *count <= bytes - at ? tiff + at : NULL;
}

const uint8_t *exif_app1_maker_note(const uint8_t *app1, size_t bytes,
				    size_t *count)
{
	const uint8_t *tiff = app1_tiff(app1, &bytes);

	return tiff == NULL ? NULL : exif_maker_note(tiff, bytes, count);
}
