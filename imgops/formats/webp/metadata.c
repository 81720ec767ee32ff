/* SPDX-License-Identifier: MIT */
/*
 * A WebP's metadata: the chunks EXIF and XMP, and C2PA with its manifest.
 */
#include "imgops/formats/webp/webp.h"

#include "imgops/metadata/metadata.h"

#include <string.h>

enum { CHUNKS_MAX = 32768, HEAD_BYTES = 8 };

void webp_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h)
{
	size_t at = WEBP_MAGIC_BYTES, end = min_u64(count, webp_own(h)->end);

	for (uint32_t i = 0;
	     i < CHUNKS_MAX && at < end && end - at >= HEAD_BYTES; i++) {
		const uint8_t *head = bytes + at, *data = head + HEAD_BYTES;
		size_t length = head[4] | (size_t)head[5] << 8 |
				(size_t)head[6] << 16 | (size_t)head[7] << 24;

		if (length > end - at - HEAD_BYTES)
			return;
		if (memcmp(head, "EXIF", 4) == 0)
			metadata_found_exif(found, data, length);
		else if (memcmp(head, "XMP ", 4) == 0)
			metadata_found_set(&found->xmp, data, length);
		else if (memcmp(head, "C2PA", 4) == 0)
			found->has_manifest = true;
		at += HEAD_BYTES + length + length % 2;
	}
}
