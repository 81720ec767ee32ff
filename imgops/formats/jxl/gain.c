/* SPDX-License-Identifier: MIT */
/*
 * The gain map of a JPEG XL is in a box "jhgm" of the file (ISO/IEC 18181-2),
 * before or behind the picture, which has these parts:
 *
 *	version   0                                             1 byte
 *	metadata  ISO 21496-1, annex C       after their size,  2 bytes
 *	colours   as coded in a codestream   after their size,  1 byte
 *	profile   as coded in a codestream   after its size,    4 bytes
 *	picture   a codestream               to the end of the box
 *
 * Colours or profile are those of the alternate.  The profile, which only
 * libjxl could decode, is not read, and what is written are colours.
 *
 * A map whose box is compressed ("brob"), or ends with the file instead of
 * after a number of bytes, is left out; so is one that is not turned as its
 * base is.
 */
#include "imgops/formats/gain.h"
#include "imgops/formats/isobmff.h"
#include "imgops/formats/jxl/jxl.h"

#include "imgops/colour/matrix.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BOXES_MAX = 4096, BROB_BYTES = 4, VERSION = 0 };

/* --- Reading --- */

struct parts {
	struct isobmff_span metadata, colours, profile, picture;
};

/* A part after its size, which has so many bytes. */
static struct isobmff_span take_part(struct isobmff_span *s,
				     uint32_t size_bytes)
{
	size_t bytes = (size_t)isobmff_number(s, size_bytes);
	struct isobmff_span part = { s->at, bytes, false };

	isobmff_skip(s, bytes);
	return part;
}

/* False: they are not within `s`, the data of the box. */
static bool read_parts(struct parts *p, struct isobmff_span s)
{
	bool is_known = isobmff_number(&s, 1) == VERSION;

	p->metadata = take_part(&s, 2);
	p->colours = take_part(&s, 1);
	p->profile = take_part(&s, 4);
	p->picture = s;
	return is_known && !s.is_bad;
}

/*
 * Can it be the map of `base`?  What libjxl makes of XYB and a profile is not
 * what the writer had.
 */
static bool is_map_of(const struct img_header *map,
		      const struct img_header *base)
{
	const struct jxl_image *image = &jxl_own(map)->image;

	return (map->space == IMG_GREY || map->space == IMG_RGB) &&
	       !image->is_animated && !(image->is_xyb && image->has_icc) &&
	       map->orientation == base->orientation &&
	       map->stored.width_px <= base->stored.width_px &&
	       map->stored.height_px <= base->stored.height_px;
}

/* `at`: where the data of its box are in the file. */
static void read_map(struct jxl_map *map, struct isobmff_span data, uint64_t at,
		     const struct img_header *base,
		     const struct img_limits *limits)
{
	struct img_header h = { .format = base->format };
	struct parts p;

	if (!read_parts(&p, data) || p.picture.left < 2 ||
	    p.picture.at[0] != 0xff)
		return;
	h.bytes = p.picture.left;
	if (jxl_probe_codestream(&h, p.picture.at, limits) != IMG_OK ||
	    !is_map_of(&h, base))
		return;
	map->is_found = true;
	map->is_bad = false;
	map->at = at;
	map->bytes = data.left;
	map->picture_bytes = p.picture.left;
	map->icc_bytes = jxl_own(&h)->image.has_icc ? h.icc_bytes : 0;
	map->stored = h.stored;
	map->is_grey = h.space == IMG_GREY;
	map->image = jxl_own(&h)->image;
	map->work = jxl_own(&h)->work;
}

/*
 * Does it hold a map?  `data` are what has arrived of it, of a "brob" at least
 * BROB_BYTES.
 */
static bool is_map_box(uint32_t type, struct isobmff_span data)
{
	if (type == ISOBMFF_NAME('b', 'r', 'o', 'b'))
		type = (uint32_t)isobmff_number(&data, 4);
	return type == ISOBMFF_NAME('j', 'h', 'g', 'm');
}

void jxl_find_gainmap(struct img_header *h, const uint8_t *bytes,
		      const struct img_limits *limits)
{
	struct jxl_map *map = &jxl_own_change(h)->map;
	struct isobmff_head head;

	if (bytes[0] != jxl_container[0])
		return;
	while (!map->is_found && map->boxes < BOXES_MAX &&
	       isobmff_head(&head, bytes, h->bytes, map->next_box) == IMG_OK) {
		uint64_t at = map->next_box + head.head_bytes;
		struct isobmff_span data = { bytes + at, h->bytes - (size_t)at,
					     false };
		bool is_whole = head.bytes <= h->bytes - map->next_box;

		if (head.type == ISOBMFF_NAME('b', 'r', 'o', 'b') &&
		    data.left < BROB_BYTES && !is_whole)
			return;
		if (is_map_box(head.type, data)) {
			map->is_bad = true;
			if (!is_whole)
				return;
			data.left = (size_t)head.bytes - head.head_bytes;
			if (head.type == ISOBMFF_NAME('j', 'h', 'g', 'm'))
				read_map(map, data, at, h, limits);
			map->boxes = BOXES_MAX; /* the first counts */
			return;
		}
		if (head.bytes > INT64_MAX) /* no box is behind it */
			return;
		map->next_box += head.bytes;
		map->boxes++;
	}
}

bool jxl_gainmap(struct img_header *map, const struct img_header *h)
{
	/* It was checked when the header was read. */
	const struct img_limits none = { .side_px_max = UINT32_MAX,
					 .pixels_max = UINT64_MAX };
	const struct jxl_map *from = &jxl_own(h)->map;
	struct jxl_own *own;

	if (!from->is_found)
		return false;
	*map = (struct img_header){ .format = h->format,
				    .stored = from->stored,
				    .orientation = h->orientation,
				    .bytes = from->picture_bytes,
				    .icc_bytes = from->icc_bytes };
	own = jxl_own_change(map);
	own->image = from->image;
	own->work = from->work;
	own->has_image = true;
	own->has_ended = true;
	own->is_map = true;
	return format_set_full(map, from->is_grey ? IMG_GREY : IMG_RGB,
			       &none) == IMG_OK;
}

/*
 * Give the map a profile of the alternate's primaries, if the file says which
 * they are.  Errors: NO_MEMORY, CORRUPT.
 */
static enum img_err give_primaries(struct image *map, const struct parts *p,
				   const struct memory *memory)
{
	uint8_t profile[ICC_WRITTEN_BYTES_MAX];
	struct icc_colours colours;
	size_t bytes;

	if (p->colours.left == 0)
		return p->profile.left == 0 ? IMG_OK : IMG_ERR_CORRUPT;
	if (!jxl_read_primaries(&colours, p->colours.at, p->colours.left))
		return IMG_ERR_CORRUPT;
	bytes = icc_write(profile, &colours);
	return bytes == 0 ? IMG_ERR_CORRUPT :
			    gain_set_profile(map, profile, bytes, memory);
}

/* Errors: those of the map. */
static enum img_err add_gainmap(struct image *dst, struct isobmff_span data,
				const struct img_header *h,
				const struct img_header *map,
				const struct img_limits *limits,
				const struct memory *memory)
{
	struct gain_metadata metadata = { NULL };
	struct gain_found found;
	struct parts p;
	enum img_err err;

	if (!read_parts(&p, data))
		return IMG_ERR_CORRUPT;
	metadata.iso = p.metadata.at;
	metadata.iso_bytes = p.metadata.left;
	if (!gain_read(&found, &metadata))
		return IMG_ERR_CORRUPT;
	err = gain_attach(dst, &found, map, h, memory);
	if (err == IMG_OK)
		err = jxl_decode_picture(&dst->gainmap->image, p.picture.at,
					 p.picture.left, map, false, limits,
					 memory);
	if (err == IMG_OK &&
	    !gain_has_base_colours(&found.gain, dst->gainmap->image.space))
		err = give_primaries(&dst->gainmap->image, &p, memory);
	return err == IMG_OK ? gain_finish(dst->gainmap, &found) : err;
}

enum img_err jxl_add_gainmap(struct image *dst, const uint8_t *bytes,
			     const struct img_header *h,
			     const struct img_limits *limits,
			     const struct memory *memory)
{
	const struct jxl_map *from = &jxl_own(h)->map;
	struct isobmff_span data = { bytes + from->at, (size_t)from->bytes,
				     false };
	enum img_err err = IMG_ERR_CORRUPT;
	struct img_header map;

	if (jxl_gainmap(&map, h))
		err = add_gainmap(dst, data, h, &map, limits, memory);
	else if (!from->is_bad)
		err = IMG_OK;
	return gain_or_note(dst, err);
}

/* --- Writing --- */

/* Bits, the lowest first. */
struct bits {
	uint8_t bytes[32];
	uint32_t count;
};

static void put_bits(struct bits *to, uint32_t value, uint32_t count)
{
	assert(to->count + count <= 8 * sizeof(to->bytes));
	for (uint32_t i = 0; i < count; i++, to->count++)
		to->bytes[to->count / 8] |=
			(uint8_t)((value >> i & 1) << to->count % 8);
}

/* Millionths; the lowest bit is the sign. */
static void put_coordinate(struct bits *to, double v)
{
	static const struct {
		uint32_t add, bits;
	} choices[] = {
		{ 0, 19 }, { 524288, 19 }, { 1048576, 20 }, { 2097152, 21 }
	};
	uint32_t n = (uint32_t)lround(fabs(v) * 1e6) * 2, i = 3;

	if (v < 0 && n > 0)
		n--;
	while (n < choices[i].add)
		i--;
	put_bits(to, i, 2);
	put_bits(to, n - choices[i].add, choices[i].bits);
}

/* x and y of light.  A strange profile's may be anywhere. */
static void put_point(struct bits *to, const double xyz[3])
{
	double sum = fmax(xyz[0] + xyz[1] + xyz[2], 1e-4);

	for (int i = 0; i < 2; i++)
		put_coordinate(to, fmax(fmin(xyz[i] / sum, 2), -2));
}

/*
 * Colours of RGB, by their light under D50, with the curve of sRGB: the curve
 * of an alternate is not used.
 */
static void put_colours(struct bits *to, const struct matrix_tags *tags)
{
	enum { CUSTOM_BITS = 6, CUSTOM = 2 }; /* choice 2, and 4 bits of 0 */
	double white[3] = { 0 };

	for (int i = 0; i < MATRIX_CHANNELS; i++)
		for (int k = 0; k < 3; k++)
			white[k] += tags->xyz[i][k];
	put_bits(to, 0, 1); /* not all are usual */
	put_bits(to, 0, 1); /* no profile */
	put_bits(to, 0, 2); /* RGB */
	put_bits(to, CUSTOM, CUSTOM_BITS);
	put_point(to, white);
	put_bits(to, CUSTOM, CUSTOM_BITS);
	for (int i = 0; i < MATRIX_CHANNELS; i++)
		put_point(to, tags->xyz[i]);
	put_bits(to, 0, 1);                 /* no gamma */
	put_bits(to, 2 | (13 - 2) << 2, 6); /* sRGB */
	put_bits(to, 1, 2);                 /* relative */
}

static void put_number(uint8_t **at, size_t value, uint32_t bytes)
{
	while (bytes-- > 0)
		*(*at)++ = (uint8_t)(value >> 8 * bytes);
}

/* After its size, which has so many bytes. */
static void put_part(uint8_t **at, const uint8_t *part, size_t bytes,
		     uint32_t size_bytes)
{
	put_number(at, bytes, size_bytes);
	memcpy(*at, part, bytes);
	*at += bytes;
}

size_t jxl_write_gain_head(uint8_t out[JXL_GAIN_HEAD_BYTES_MAX],
			   const struct img_gainmap *map)
{
	const struct image *img = &map->image;
	uint8_t metadata[GAIN_ISO_BYTES_MAX], *at = out;
	size_t bytes = gain_write_iso(metadata, &map->gain);
	struct bits colours = { .count = 0 };
	struct matrix_tags tags;

	_Static_assert(1 + 2 + sizeof(metadata) + 1 + sizeof(colours.bytes) +
				       4 <=
			       JXL_GAIN_HEAD_BYTES_MAX,
		       "it has room");
	if (img->profile != NULL &&
	    matrix_read(&tags, img->profile, img->profile_bytes))
		put_colours(&colours, &tags);
	put_number(&at, VERSION, 1);
	put_part(&at, metadata, bytes, 2);
	put_part(&at, colours.bytes, (colours.count + 7) / 8, 1);
	put_number(&at, 0, 4); /* no profile */
	return (size_t)(at - out);
}
