/* SPDX-License-Identifier: MIT */
/*
 * The metadata of AVIF and HEIC are items that describe the picture ("cdsc"):
 * one of type "Exif", and one of type "mime" with XMP.  C2PA's manifest is in a
 * box "uuid" of the file.
 */
#include "imgops/formats/heif.h"

#include "imgops/metadata/metadata.h"

#include <string.h>

enum { BOXES_MAX = 4096, ITEMS_MAX = 16, UUID_BYTES = 16 };

static void find_boxes(struct metadata_found *found, struct isobmff_span s)
{
	static const uint8_t c2pa[UUID_BYTES] = { 0xd8, 0xfe, 0xc3, 0xd6,
						  0x1b, 0x0e, 0x48, 0x3c,
						  0x92, 0x97, 0x58, 0x28,
						  0x87, 0x7e, 0xc4, 0x81 };
	struct isobmff_box box;

	for (uint32_t i = 0; i < BOXES_MAX && isobmff_next(&box, &s); i++)
		if (box.type == ISOBMFF_NAME('u', 'u', 'i', 'd') &&
		    box.data.left >= UUID_BYTES &&
		    memcmp(box.data.at, c2pa, UUID_BYTES) == 0)
			found->has_manifest = true;
}

void heif_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h)
{
	const struct heif_own *own = heif_own(h);
	const struct isobmff_span file = { bytes, count, false };
	struct isobmff_span meta = { bytes + own->meta_offset,
				     (size_t)own->meta_bytes, false };
	struct isobmff_span data;
	struct isobmff_meta m;

	find_boxes(found, file);
	if (own->meta_bytes == 0 || isobmff_meta_read(&m, meta) != IMG_OK)
		return;
	for (uint32_t i = 0; i < ITEMS_MAX; i++) {
		uint32_t item = isobmff_source(
			&m, ISOBMFF_NAME('c', 'd', 's', 'c'), m.primary, i);
		uint32_t type = item > 0 ? isobmff_item_type(&m, item) : 0;
		bool is_exif = type == ISOBMFF_NAME('E', 'x', 'i', 'f');

		if (item == 0)
			return;
		if (!is_exif && type != ISOBMFF_NAME('m', 'i', 'm', 'e'))
			continue;
		if (!isobmff_data(&data, &m, file, item))
			found->is_left_out = true;
		else if (is_exif)
			metadata_found_item(found, data.at, data.left);
		else if (metadata_is_xmp(data.at, data.left))
			metadata_found_set(&found->xmp, data.at, data.left);
	}
}
