/* SPDX-License-Identifier: MIT */
/*
 * The metadata of a JPEG XL are in boxes of the file: "Exif", "xml ", and
 * "jumb" with C2PA's manifest.  Those that are compressed ("brob") are not
 * read.
 */
#include "imgops/formats/isobmff.h"
#include "imgops/formats/jxl/jxl.h"

#include "imgops/metadata/metadata.h"

enum { BOXES_MAX = 4096 };

void jxl_metadata(struct metadata_found *found, const uint8_t *bytes,
		  size_t count, const struct img_header *h)
{
	struct isobmff_span file = { bytes, count, false };
	struct isobmff_box box;

	(void)h;
	if (bytes[0] == 0xff) /* a codestream */
		return;
	for (uint32_t i = 0; i < BOXES_MAX && isobmff_next(&box, &file); i++) {
		bool is_packed = box.type == ISOBMFF_NAME('b', 'r', 'o', 'b');
		uint32_t type = is_packed ?
					(uint32_t)isobmff_number(&box.data, 4) :
					box.type;
		bool is_exif = type == ISOBMFF_NAME('E', 'x', 'i', 'f');

		if (type == ISOBMFF_NAME('j', 'u', 'm', 'b'))
			found->has_manifest = true;
		if (!is_exif && type != ISOBMFF_NAME('x', 'm', 'l', ' '))
			continue;
		if (is_packed)
			found->is_left_out = true;
		else if (is_exif)
			metadata_found_item(found, box.data.at, box.data.left);
		else if (metadata_is_xmp(box.data.at, box.data.left))
			metadata_found_set(&found->xmp, box.data.at,
					   box.data.left);
	}
}
