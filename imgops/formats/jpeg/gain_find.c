/* SPDX-License-Identifier: MIT */
#include "imgops/formats/jpeg/gain.h"

#include "imgops/formats/exif.h"
#include "imgops/formats/tiff.h"

#include <string.h>

/* With their zeros. */
static const char iso_name[] = "urn:iso:std:iso:ts:21496:-1";
static const char xmp_name[] = "http://ns.adobe.com/xap/1.0/";

/* --- Its metadata --- */

static bool has_text(const uint8_t *xmp, size_t bytes, const char *text)
{
	return memmem(xmp, bytes, text, strlen(text)) != NULL;
}

/* Note XMP that has `text`; the first counts. */
static void look_for(const uint8_t **xmp, size_t *bytes, const struct marker *m,
		     const char *text)
{
	if (m->code != MARKER_APP1 || *xmp != NULL ||
	    !marker_begins(m, xmp_name, sizeof(xmp_name)) ||
	    !has_text(m->data, m->bytes, text))
		return;
	*xmp = m->data + sizeof(xmp_name);
	*bytes = m->bytes - sizeof(xmp_name);
}

static void look_at_marker(struct gain_metadata *found, const struct marker *m,
			   const char *xmp_text)
{
	if (m->code == MARKER_APP2 && found->iso == NULL &&
	    marker_begins(m, iso_name, sizeof(iso_name))) {
		found->iso = m->data + sizeof(iso_name);
		found->iso_bytes = m->bytes - sizeof(iso_name);
	}
	look_for(&found->xmp, &found->xmp_bytes, m, xmp_text);
	look_for(&found->apple, &found->apple_bytes, m,
		 "HDRGainMap:HDRGainMapVersion");
}

/* False: there are none. */
static bool find_metadata(struct gain_metadata *found, const uint8_t *jpeg,
			  size_t bytes, const char *xmp_text)
{
	struct markers w;
	struct marker m;

	*found = (struct gain_metadata){ NULL };
	if (!markers_start(&w, jpeg, bytes))
		return false;
	for (uint32_t i = 0; i < JPEG_MARKERS_MAX && markers_next(&w, &m) &&
			     m.code != MARKER_SOS;
	     i++)
		look_at_marker(found, &m, xmp_text);
	return found->iso != NULL || found->xmp != NULL || found->apple != NULL;
}

/* The maker's note of the first picture, if it has one. */
static void find_note(struct gain_metadata *found, const uint8_t *jpeg,
		      size_t bytes)
{
	struct markers w;
	struct marker m;

	if (!markers_start(&w, jpeg, bytes))
		return;
	for (uint32_t i = 0; i < JPEG_MARKERS_MAX && found->note == NULL &&
			     markers_next(&w, &m) && m.code != MARKER_SOS;
	     i++)
		if (m.code == MARKER_APP1)
			found->note = exif_app1_maker_note(m.data, m.bytes,
							   &found->note_bytes);
}

bool gain_find_metadata(struct gain_metadata *found, const uint8_t *map,
			size_t map_bytes, const uint8_t *jpeg, size_t bytes)
{
	if (!find_metadata(found, map, map_bytes, "hdrgm:GainMapMax"))
		return false;
	if (found->apple != NULL)
		find_note(found, jpeg, bytes);
	return true;
}

bool gain_is_promised(const uint8_t *jpeg, size_t bytes)
{
	struct gain_metadata unused;

	return find_metadata(&unused, jpeg, bytes, "hdrgm:Version");
}

/* --- The index --- */

/* CIPA DC-007-2009, 5.2: tags of the index, and the entries of one of them. */
enum {
	TAG_ENTRIES = 0xb002,
	ENTRY_BYTES = 16,
	ENTRY_SIZE_AT = 4,
	ENTRY_OFFSET_AT = 8,
	/* Portraits of phones have about six: masks, depth, gain map. */
	PICTURES_MAX = 16,
	NAME_BYTES = 4, /* "MPF" and its zero */
};

void gain_read_index(struct jpeg_pictures *p, const struct marker *m,
		     const uint8_t *jpeg)
{
	if (m->code != MARKER_APP2 || p->index_offset > 0 ||
	    !marker_begins(m, "MPF", NAME_BYTES))
		return;
	p->index_offset = (size_t)(m->data - jpeg) + NAME_BYTES;
	p->index_bytes = m->bytes - NAME_BYTES;
}

/* Where entry 0 is in `t`, and how many there are; 0: there are none. */
static uint32_t find_entries(size_t *at, const struct tiff *t, size_t directory)
{
	size_t entry = directory > 0 ? tiff_find(t, directory, TAG_ENTRIES) : 0;
	uint32_t count;

	if (entry == 0)
		return 0;
	count = tiff_read32(t, entry + 4) / ENTRY_BYTES;
	*at = tiff_read32(t, entry + 8);
	/* Values that fit into an entry would be no picture at all. */
	if (*at > t->bytes || (t->bytes - *at) / ENTRY_BYTES < count)
		return 0;
	return count < PICTURES_MAX ? count : PICTURES_MAX;
}

/* Keep what is needed of a map's header.  False: such a map is not read. */
static bool keep_header(struct jpeg_map *map, const struct img_header *h,
			struct img_size base)
{
	const struct jpeg_own *own = jpeg_own(h);

	if ((h->space != IMG_GREY && h->space != IMG_YCBCR) ||
	    h->stored.width_px > base.width_px ||
	    h->stored.height_px > base.height_px)
		return false;
	*map = (struct jpeg_map){
		.stored = h->stored,
		.icc_bytes = h->icc_bytes,
		.scan_offset = own->scan_offset,
		.scan_count = own->scan_count,
		.dc_tables = own->dc_tables,
		.ac_tables = own->ac_tables,
		.is_grey = h->space == IMG_GREY,
		.is_progressive = h->is_progressive,
		.is_arithmetic = own->is_arithmetic,
		.has_one_scan = own->has_one_scan,
		.has_huffman_tables = own->has_huffman_tables,
	};
	for (uint32_t i = 0; i < h->component_count; i++) {
		map->component_scans[i] = own->component_scans[i];
		map->h_factors[i] = h->h_factors[i];
		map->v_factors[i] = h->v_factors[i];
	}
	return true;
}

/* Part of the file. */
struct picture {
	size_t at, end;
};

/* Look at a picture that has arrived. */
static void look_at(struct img_header *h, const uint8_t *jpeg,
		    const struct picture *picture,
		    const struct img_limits *limits)
{
	struct jpeg_pictures *p = &jpeg_own_change(h)->pictures;
	const uint8_t *data = jpeg + picture->at;
	struct img_header map = { .format = h->format,
				  .bytes = picture->end - picture->at };
	struct gain_metadata metadata;
	struct gain_found meaning;

	if (!gain_find_metadata(&metadata, data, map.bytes, jpeg, h->bytes))
		return;
	p->has_map = gain_read(&meaning, &metadata) &&
		     jpeg_probe_picture(&map, data, limits) == IMG_OK &&
		     keep_header(&p->map, &map, h->stored);
	p->has_bad_map |= !p->has_map;
	p->map.offset = picture->at;
	p->map.bytes = map.bytes;
}

/*
 * Of the pictures that begin behind the middle of the last one, so that sizes
 * may be somewhat wrong, the one that ends first.  False: there are none.
 */
static bool next_picture(struct picture *next, const struct tiff *t,
			 size_t entries, uint32_t count,
			 const struct jpeg_pictures *p)
{
	next->end = SIZE_MAX;
	for (uint32_t i = 0; i < count; i++) {
		size_t entry = entries + (size_t)i * ENTRY_BYTES;
		size_t offset = tiff_read32(t, entry + ENTRY_OFFSET_AT);
		size_t at = p->index_offset + offset;
		size_t end = at + tiff_read32(t, entry + ENTRY_SIZE_AT);

		/* Offsets count from the index; that of the first is 0. */
		if (offset > 0 && at >= p->seen_middle && end > at &&
		    end < next->end)
			*next = (struct picture){ at, end };
	}
	return next->end < SIZE_MAX;
}

void gain_find(struct img_header *h, const uint8_t *jpeg,
	       const struct img_limits *limits)
{
	struct jpeg_pictures *p = &jpeg_own_change(h)->pictures;
	struct picture picture;
	struct tiff t;
	size_t directory, entries;
	uint32_t count;

	if (p->index_offset == 0)
		return;
	directory = tiff_open(&t, jpeg + p->index_offset, p->index_bytes);
	count = find_entries(&entries, &t, directory);
	while (!p->has_map && next_picture(&picture, &t, entries, count, p)) {
		p->is_cut = picture.end > h->bytes;
		if (p->is_cut)
			return;
		look_at(h, jpeg, &picture, limits);
		p->seen_middle =
			picture.at + (picture.end - picture.at + 1) / 2;
	}
}

bool gain_header(struct img_header *map, const struct img_header *h)
{
	const struct jpeg_pictures *p = &jpeg_own(h)->pictures;
	const struct jpeg_map *m = &p->map;
	struct jpeg_own *own;

	if (!p->has_map)
		return false;
	/*
	 * Its samples are numbers, not colours, so it counts as a picture
	 * without a profile.  Of a progressive one, all scans are read.
	 */
	*map = (struct img_header){
		.format = h->format,
		.stored = m->stored,
		.upright = m->stored,
		.orientation = 1,
		.space = m->is_grey ? IMG_GREY : IMG_YCBCR,
		.component_count = m->is_grey ? 1 : JPEG_MAP_COMPONENTS,
		.is_progressive = m->is_progressive,
		.is_irregular = m->is_progressive,
		.texture = IMG_TEXTURE_IGNORED,
		.bytes = m->bytes,
	};
	for (uint32_t i = 0; i < map->component_count; i++) {
		map->h_factors[i] = m->h_factors[i];
		map->v_factors[i] = m->v_factors[i];
	}
	own = jpeg_own_change(map);
	own->is_arithmetic = m->is_arithmetic;
	own->has_one_scan = m->has_one_scan;
	own->has_huffman_tables = m->has_huffman_tables;
	own->dc_tables = m->dc_tables;
	own->ac_tables = m->ac_tables;
	own->scan_count = m->scan_count;
	own->scan_offset = m->scan_offset;
	for (uint32_t i = 0; i < map->component_count; i++)
		own->component_scans[i] = m->component_scans[i];
	return true;
}
