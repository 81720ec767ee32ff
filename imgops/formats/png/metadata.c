/* SPDX-License-Identifier: MIT */
/*
 * A PNG's metadata: eXIf, XMP as text that is not compressed, and the manifest
 * of C2PA in caBX.  They may be behind the pixels, too.
 */
#include "imgops/formats/png/png.h"

#include "imgops/metadata/metadata.h"

#include <string.h>

enum { CHUNKS_MAX = 32768 };

static void find_text(struct metadata_found *found, const uint8_t *data,
		      size_t bytes)
{
	static const char name[] = PNG_XMP_NAME;
	/* Name, flag, method; language and translation, which end with 0. */
	size_t at = sizeof(name) + 2;

	if (bytes < at || memcmp(data, name, sizeof(name)) != 0)
		return;
	found->is_left_out |= data[sizeof(name)] != 0;
	for (int texts = 0; texts < 2 && at < bytes; at++)
		texts += data[at] == 0;
	if (at < bytes && data[sizeof(name)] == 0)
		metadata_found_set(&found->xmp, data + at, bytes - at);
}

void png_metadata(struct metadata_found *found, const uint8_t *bytes,
		  size_t count, const struct img_header *h)
{
	static const char old[] = "Raw profile type ";
	size_t at = PNG_SIGNATURE_BYTES;

	(void)h;
	for (uint32_t i = 0; i < CHUNKS_MAX && count - at > PNG_CHUNK_EXTRA;
	     i++) {
		const uint8_t *data = bytes + at + PNG_CHUNK_HEAD;
		uint32_t name = png_read32(bytes + at + 4);
		size_t length = png_read32(bytes + at);
		bool is_text = name == PNG_NAME('i', 'T', 'X', 't');
		bool is_exif = name == PNG_NAME('e', 'X', 'I', 'f');

		if (length > count - at - PNG_CHUNK_EXTRA)
			return;
		at += PNG_CHUNK_EXTRA + length;
		found->has_manifest |= name == PNG_NAME('c', 'a', 'B', 'X');
		if ((name == PNG_NAME('z', 'T', 'X', 't') ||
		     name == PNG_NAME('t', 'E', 'X', 't')) &&
		    length >= strlen(old) &&
		    memcmp(data, old, strlen(old)) == 0)
			found->is_left_out = true;
		if ((!is_text && !is_exif) || !png_crc_is_right(data, length))
			continue;
		if (is_exif)
			metadata_found_exif(found, data, length);
		else
			find_text(found, data, length);
	}
}
