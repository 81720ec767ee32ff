/* SPDX-License-Identifier: MIT */
/*
 * A JPEG's metadata are in its application segments before the first scan: Exif
 * and XMP in APP1, IPTC in APP13, and C2PA's manifest, a "JUMBF", in APP11.
 */
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/markers.h"

#include "imgops/metadata/metadata.h"

static void find_app1(struct metadata_found *found, const struct marker *m)
{
	static const char exif[] = JPEG_EXIF_NAME, xmp[] = JPEG_XMP_NAME;
	static const char more[] = "http://ns.adobe.com/xmp/extension/";

	if (marker_begins(m, exif, sizeof(exif)))
		metadata_found_exif(found, m->data, m->bytes);
	else if (marker_begins(m, xmp, sizeof(xmp)))
		metadata_found_set(&found->xmp, m->data + sizeof(xmp),
				   m->bytes - sizeof(xmp));
	else if (marker_begins(m, more, sizeof(more)))
		found->is_left_out = true;
}

static void find_iptc(struct metadata_found *found, const struct marker *m)
{
	static const char name[] = JPEG_IPTC_NAME;
	struct metadata_span iptc;

	if (!marker_begins(m, name, sizeof(name)))
		return;
	iptc = metadata_iptc_find(m->data + sizeof(name),
				  m->bytes - sizeof(name));
	metadata_found_set(&found->iptc, iptc.bytes, iptc.count);
}

void jpeg_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h)
{
	struct markers w;
	struct marker m;

	(void)h;
	if (!markers_start(&w, bytes, count))
		return;
	while (markers_next(&w, &m) && m.code != MARKER_SOS) {
		if (m.code == MARKER_APP1)
			find_app1(found, &m);
		if (m.code == MARKER_APP13)
			find_iptc(found, &m);
		if (m.code == MARKER_APP11 && marker_begins(&m, "JP", 2) &&
		    memmem(m.data, m.bytes, "jumb", 4) != NULL)
			found->has_manifest = true;
	}
}
