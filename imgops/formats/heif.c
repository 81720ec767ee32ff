/* SPDX-License-Identifier: MIT */
/*
 * The header is in the box "meta", which is read once it has arrived as a
 * whole.  A sequence has pictures that follow one another, too, in the box
 * "moov", of which only the number is read: its first picture is an item of
 * "meta".
 *
 * The orientation is in the properties, by MIAF, and not that of EXIF.
 */
#include "imgops/formats/heif.h"

#include "imgops/colour/colour.h"
#include "imgops/colour/icc_write.h"
#include "imgops/colour/matrix.h"
#include "imgops/estimate.h"
#include "imgops/formats/exif.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
	BOX_BYTES_MAX = 8 << 20,
	PROPERTIES_MAX = 64, /* of an item */
	AUXILIARIES_MAX = 16,
	FTYP_BYTES_MAX = 4096,
	CELLS_MAX = 1024,
};

/* What a picture is for another one. */
enum auxiliary { NO_AUXILIARY, ALPHA, APPLE_GAINMAP };

/* What the properties of an item say. */
struct item {
	struct img_size size;
	struct isobmff_box config; /* of its codec */
	bool has_colours;
	uint32_t primaries, curve, matrix;
	bool is_full_range;
	struct isobmff_span profile;
	uint32_t angle; /* in quarters, anticlockwise */
	bool is_mirrored;
	uint32_t mirror; /* 0: top and bottom change places; 1: the sides */
	struct img_size shown; /* part of `size`, at left and top */
	uint32_t left, top;
	enum auxiliary auxiliary;
	bool is_layer; /* one of several that it has */
};

bool heif_recognise(const uint8_t *bytes, size_t count, const uint32_t *brands,
		    size_t brand_count)
{
	static const uint8_t name[] = { 'f', 't', 'y', 'p' };
	size_t n = count < 8 ? count : 8;

	for (size_t i = 4; i < n; i++)
		if (bytes[i] != name[i - 4])
			return false;
	if (bytes[0] != 0 || bytes[1] != 0)
		return false;
	for (size_t i = 0; i < brand_count; i++)
		if (isobmff_has_brand(bytes, count, brands[i]))
			return true;
	return count < HEIF_MAGIC_BYTES;
}

/* --- Properties --- */

static void read_colours(struct item *item, struct isobmff_span s)
{
	switch (isobmff_number(&s, 4)) {
	case ISOBMFF_NAME('n', 'c', 'l', 'x'):
		item->primaries = (uint32_t)isobmff_number(&s, 2);
		item->curve = (uint32_t)isobmff_number(&s, 2);
		item->matrix = (uint32_t)isobmff_number(&s, 2);
		item->has_colours = !s.is_bad;
		item->is_full_range = (isobmff_number(&s, 1) & 0x80) != 0;
		break;
	case ISOBMFF_NAME('p', 'r', 'o', 'f'):
	case ISOBMFF_NAME('r', 'I', 'C', 'C'):
		item->profile = s;
		break;
	default:
		break;
	}
}

/* A side of the clean aperture; false: no whole samples within `whole_px`. */
static bool read_span(uint32_t *size_px, uint32_t *start_px, uint32_t whole_px,
		      const int64_t size[2], const int64_t offset[2])
{
	int64_t px, start, half;

	if (size[1] <= 0 || offset[1] <= 0 || size[0] % size[1] != 0)
		return false;
	px = size[0] / size[1];
	if (px < 1 || px > whole_px)
		return false;
	/* The offset is that of the centre, from the picture's. */
	half = (whole_px - px) * offset[1] + 2 * offset[0];
	if (half % (2 * offset[1]) != 0)
		return false;
	start = half / (2 * offset[1]);
	if (start < 0 || start > whole_px - px)
		return false;
	*size_px = (uint32_t)px;
	*start_px = (uint32_t)start;
	return true;
}

/*
 * The part of a picture that is shown: its sides and the offsets of its centre,
 * as fractions.  An aperture that makes no sense is ignored, as browsers do.
 */
static void read_aperture(struct item *item, struct isobmff_span s)
{
	int64_t n[8];
	struct img_size shown;
	uint32_t left, top;

	for (size_t i = 0; i < ARRAY_SIZE(n); i++)
		n[i] = (int32_t)(uint32_t)isobmff_number(&s, 4);
	if (!s.is_bad &&
	    read_span(&shown.width_px, &left, item->size.width_px, n, n + 4) &&
	    read_span(&shown.height_px, &top, item->size.height_px, n + 2,
		      n + 6)) {
		item->shown = shown;
		item->left = left;
		item->top = top;
	}
}

static enum auxiliary read_auxiliary(struct isobmff_span s)
{
	static const struct {
		const char *name;
		enum auxiliary meaning;
	} names[] = {
		{ "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", ALPHA },
		{ "urn:mpeg:hevc:2015:auxid:1", ALPHA },
		{ "urn:com:apple:photo:2020:aux:hdrgainmap", APPLE_GAINMAP },
	};

	(void)isobmff_version(&s);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s.left > strlen(names[i].name) &&
		    memcmp(s.at, names[i].name, strlen(names[i].name) + 1) == 0)
			return names[i].meaning;
	return NO_AUXILIARY;
}

static void read_property(struct item *item, const struct isobmff_box *box)
{
	struct isobmff_span s = box->data;

	switch (box->type) {
	case ISOBMFF_NAME('i', 's', 'p', 'e'):
		(void)isobmff_version(&s);
		item->size.width_px = (uint32_t)isobmff_number(&s, 4);
		item->size.height_px = (uint32_t)isobmff_number(&s, 4);
		item->shown = item->size;
		item->left = item->top = 0;
		break;
	case ISOBMFF_NAME('a', 'v', '1', 'C'):
	case ISOBMFF_NAME('h', 'v', 'c', 'C'):
		item->config = *box;
		break;
	case ISOBMFF_NAME('c', 'o', 'l', 'r'):
		read_colours(item, s);
		break;
	case ISOBMFF_NAME('i', 'r', 'o', 't'):
		item->angle = isobmff_number(&s, 1) & 3;
		break;
	case ISOBMFF_NAME('i', 'm', 'i', 'r'):
		item->is_mirrored = true;
		item->mirror = isobmff_number(&s, 1) & 1;
		break;
	case ISOBMFF_NAME('c', 'l', 'a', 'p'): /* always after ispe */
		read_aperture(item, s);
		break;
	case ISOBMFF_NAME('l', 's', 'e', 'l'):
		item->is_layer = true;
		break;
	case ISOBMFF_NAME('a', 'u', 'x', 'C'):
		item->auxiliary = read_auxiliary(s);
		break;
	default:
		break;
	}
}

static struct item read_item(const struct isobmff_meta *m, uint32_t number)
{
	struct item item = { .matrix = H273_UNSPECIFIED };
	struct isobmff_places places = isobmff_places(m, number);
	struct isobmff_box box;
	uint32_t count = 0;

	while (count++ < PROPERTIES_MAX && isobmff_property(&box, m, &places))
		read_property(&item, &box);
	return item;
}

/* The item that is this for item `of`.  0: none. */
static uint32_t find_auxiliary(const struct isobmff_meta *m, uint32_t of,
			       enum auxiliary meaning)
{
	for (uint32_t i = 0; i < AUXILIARIES_MAX; i++) {
		uint32_t number = isobmff_source(
			m, ISOBMFF_NAME('a', 'u', 'x', 'l'), of, i);

		if (number == 0 || read_item(m, number).auxiliary == meaning)
			return number;
	}
	return 0;
}

/* A picture, which may be a grid of other items. */
struct picture {
	struct item item, cell;
	uint32_t cells; /* 1: no grid */
	uint32_t type;  /* of the cells */
	struct heif_coding coding;
};

/* Some writers give the colours of a grid to its cells alone. */
static void take_colours(struct item *grid, const struct item *cell)
{
	if (!grid->has_colours) {
		grid->has_colours = cell->has_colours;
		grid->primaries = cell->primaries;
		grid->curve = cell->curve;
		grid->matrix = cell->matrix;
		grid->is_full_range = cell->is_full_range;
	}
	if (grid->profile.left == 0)
		grid->profile = cell->profile;
}

/* Of a grid, the first cell says how all of them are coded. */
static void read_picture(struct picture *p, const struct isobmff_meta *m,
			 uint32_t number)
{
	uint32_t first = number;

	p->cells = 1;
	p->type = isobmff_item_type(m, number);
	p->item = p->cell = read_item(m, number);
	if (p->type != ISOBMFF_NAME('g', 'r', 'i', 'd'))
		return;
	p->cells = isobmff_targets(m, ISOBMFF_NAME('d', 'i', 'm', 'g'), number);
	first = isobmff_target(m, ISOBMFF_NAME('d', 'i', 'm', 'g'), number, 0);
	p->type = isobmff_item_type(m, first);
	p->cell = read_item(m, first);
	if (p->type == ISOBMFF_NAME('h', 'v', 'c', '1')) /* libavif does not */
		take_colours(&p->item, &p->cell);
}

/* The costs count alpha as a second picture like the first. */
static bool is_like(const struct picture *alpha, const struct picture *p)
{
	return alpha->cells == p->cells && alpha->type == p->type &&
	       alpha->cell.size.width_px == p->cell.size.width_px &&
	       alpha->cell.size.height_px == p->cell.size.height_px &&
	       !alpha->cell.is_layer;
}

/* --- The picture --- */

/* EXIF's number: the picture is turned, then mirrored. */
static uint32_t orientation_of(const struct item *item)
{
	static const uint8_t turned[] = { 1, 8, 3, 6 };
	static const uint8_t and_mirrored[][2] = {
		{ 4, 2 }, { 5, 7 }, { 2, 4 }, { 7, 5 }
	};

	return item->is_mirrored ? and_mirrored[item->angle][item->mirror] :
				   turned[item->angle];
}

/*
 * Planes are used as they are if their matrix is JFIF's, for which an
 * unspecified one is taken, too.  Without a box the matrix is in the picture's
 * data, so RGB is promised, which can be made of all.
 */
static enum img_space space_of_samples(const struct heif_coding *coding,
				       bool has_matrix, uint32_t matrix)
{
	if (coding->is_grey)
		return IMG_GREY;
	return has_matrix && heif_is_jfif(matrix) ? IMG_YCBCR : IMG_RGB;
}

static enum img_space space_of(const struct picture *p, bool is_transparent)
{
	const struct item *item = &p->item;
	const struct heif_coding *coding = &p->coding;

	if (is_transparent)
		return IMG_RGBA;
	/* A part that begins within a sample of chroma is cut out of pixels. */
	if (!coding->is_grey && (item->left % coding->h_factor != 0 ||
				 item->top % coding->v_factor != 0))
		return IMG_RGB;
	return space_of_samples(coding, item->has_colours, item->matrix);
}

bool heif_is_jfif(uint32_t matrix)
{
	return matrix == H273_UNSPECIFIED || matrix == H273_MATRIX_BT470BG ||
	       matrix == H273_MATRIX_BT601;
}

static void take_profile(struct img_header *h, const struct isobmff_span *icc,
			 const uint8_t *bytes)
{
	struct matrix_tags tags;

	if (icc->left == 0)
		return;
	h->icc_bytes = icc->left;
	heif_own_change(h)->icc_offset = (uint64_t)(icc->at - bytes);
	if (matrix_read(&tags, icc->at, icc->left))
		h->profile = matrix_is_srgb(&tags) ? IMG_PROFILE_SRGB :
						     IMG_PROFILE_MATRIX;
}

/*
 * Without a profile, the codes of other colours than those of sRGB make one.
 * The curve of video is taken for that of sRGB, as browsers do.
 */
static void make_profile(struct img_header *h, const struct item *item)
{
	struct heif_own *own = heif_own_change(h);
	uint32_t primaries = item->primaries, curve = item->curve;
	uint8_t profile[ICC_WRITTEN_BYTES_MAX];
	size_t bytes;
	struct icc_colours colours;
	struct matrix_tags tags;

	if (primaries == H273_UNSPECIFIED)
		primaries = H273_BT709;
	if (curve == H273_BT709 || curve == H273_UNSPECIFIED ||
	    curve == H273_CURVE_BT601 || curve == H273_CURVE_BT2020 ||
	    curve == H273_CURVE_BT2020 + 1)
		curve = H273_CURVE_SRGB;
	if (!item->has_colours || h->icc_bytes > 0 ||
	    (primaries == H273_BT709 && curve == H273_CURVE_SRGB) ||
	    !icc_colours_of(&colours, primaries, curve))
		return;
	bytes = icc_write(profile, &colours);
	if (!matrix_read(&tags, profile, bytes) || matrix_is_srgb(&tags))
		return;
	own->primaries = primaries;
	own->curve = curve;
	h->icc_bytes = bytes;
	h->profile = IMG_PROFILE_MATRIX;
}

static enum img_err set_planes(struct img_header *h, enum img_space space,
			       const struct img_limits *limits)
{
	const struct heif_coding *coding = &heif_own(h)->coding;
	enum img_err err = format_set_full(h, space, limits);

	if (space == IMG_YCBCR) {
		h->h_factors[0] = (uint8_t)coding->h_factor;
		h->v_factors[0] = (uint8_t)coding->v_factor;
	}
	return err;
}

static enum img_err take_picture(struct img_header *h, const struct picture *p,
				 bool is_transparent,
				 const struct img_limits *limits)
{
	h->orientation = orientation_of(&p->item);
	heif_own_change(h)->coding = p->coding;
	return set_planes(h, space_of(p, is_transparent), limits);
}

/*
 * Is what is shown inside of the picture?  And no row or column of cells is
 * wholly outside of it, which would be decoded for nothing.
 */
static bool has_fitting_sizes(const struct picture *p)
{
	const struct item *item = &p->item;
	struct img_size all = item->size, cell = p->cell.size;

	return img_pixels(all) > 0 && img_pixels(cell) > 0 &&
	       (uint64_t)item->left + item->shown.width_px <= all.width_px &&
	       (uint64_t)item->top + item->shown.height_px <= all.height_px &&
	       p->cells * img_pixels(cell) <
		       ((uint64_t)all.width_px + cell.width_px) *
			       ((uint64_t)all.height_px + cell.height_px);
}

/* Sizes, and is it a picture of the codec?  Sets p->coding. */
static enum img_err check_picture(struct heif_own *own, struct picture *p,
				  const struct heif_codec *codec,
				  const struct img_limits *limits)
{
	own->coded = p->item.size;
	own->left = p->item.left;
	own->top = p->item.top;
	own->cells = p->cells;
	own->cell = p->cell.size;
	if (p->cells == 0 || p->type == 0)
		return IMG_ERR_CORRUPT;
	if (p->type != codec->item_type || p->cells > CELLS_MAX ||
	    p->cell.is_layer)
		return IMG_ERR_UNSUPPORTED;
	if (p->cell.config.type != codec->config_type)
		return IMG_ERR_CORRUPT;
	if (format_check_size(own->cell, limits) != IMG_OK ||
	    format_check_size(own->coded, limits) != IMG_OK)
		return IMG_ERR_TOO_LARGE;
	if (!has_fitting_sizes(p))
		return IMG_ERR_CORRUPT;
	return codec->read_config(&p->coding, p->cell.config.data);
}

/* --- The gain map --- */

/*
 * ISO 21496-1 in HEIF: the item "tmap" is made of the picture and its map, and
 * its data say how.  0: there is none.
 */
static uint32_t find_tone_map(const struct isobmff_meta *m)
{
	const uint32_t dimg = ISOBMFF_NAME('d', 'i', 'm', 'g');

	for (uint32_t i = 0; i < AUXILIARIES_MAX; i++) {
		uint32_t item = isobmff_source(m, dimg, m->primary, i);

		if (item == 0 ||
		    (isobmff_item_type(m, item) ==
			     ISOBMFF_NAME('t', 'm', 'a', 'p') &&
		     isobmff_targets(m, dimg, item) == 2 &&
		     isobmff_target(m, dimg, item, 0) == m->primary))
			return item;
	}
	return 0;
}

/* The picture of the map.  0: there is none. */
static uint32_t find_map(const struct isobmff_meta *m)
{
	uint32_t tone = find_tone_map(m);

	return tone != 0 ? isobmff_target(m, ISOBMFF_NAME('d', 'i', 'm', 'g'),
					  tone, 1) :
			   find_auxiliary(m, m->primary, APPLE_GAINMAP);
}

static bool is_all_shown(const struct item *item)
{
	return item->shown.width_px == item->size.width_px &&
	       item->shown.height_px == item->size.height_px;
}

/* Has it an orientation of its own?  Without one, its base's is meant. */
static bool is_turned_otherwise(const struct item *map, const struct item *base)
{
	uint32_t orientation = orientation_of(map);

	return orientation != 1 && orientation != orientation_of(base);
}

/*
 * Note the map.  One that does not cover all of the picture is not read, and
 * none with alpha, which the costs would not count.
 */
static void take_map(struct heif_own *own, const struct isobmff_meta *m,
		     const struct picture *base, const struct heif_codec *codec,
		     const struct img_limits *limits)
{
	const struct img_size *whole = &base->item.size;
	struct heif_map *map = &own->map;
	uint32_t item = find_map(m);
	struct heif_own found;
	struct picture p;

	if (item == 0)
		return;
	read_picture(&p, m, item);
	map->is_bad = check_picture(&found, &p, codec, limits) != IMG_OK ||
		      !is_all_shown(&p.item) || !is_all_shown(&base->item) ||
		      found.coded.width_px > whole->width_px ||
		      found.coded.height_px > whole->height_px ||
		      is_turned_otherwise(&p.item, &base->item) ||
		      find_auxiliary(m, item, ALPHA) != 0 || item > UINT16_MAX;
	if (map->is_bad)
		return;
	*map = (struct heif_map){
		.item = item,
		.coded = found.coded,
		.cell = found.cell,
		.cells = found.cells,
		.coding = p.coding,
		.matrix = p.item.matrix,
		.has_matrix = p.item.has_colours,
		.is_full_range = p.item.is_full_range,
	};
}

bool heif_gainmap(struct img_header *map, const struct img_header *h)
{
	/* It was checked when the header was read. */
	const struct img_limits none = { .side_px_max = UINT32_MAX,
					 .pixels_max = UINT64_MAX };
	const struct heif_own *base = heif_own(h);
	const struct heif_map *from = &base->map;
	uint64_t pixels = img_pixels(from->coded);
	struct heif_own *own = heif_own_change(map);

	if (from->item == 0)
		return false;
	*map = (struct img_header){
		.format = h->format,
		.stored = from->coded,
		.orientation = 1,
		/* Both have about as many for a pixel. */
		.bytes = (size_t)((double)h->bytes * (double)pixels /
				  (double)(pixels + img_pixels(base->coded))),
	};
	*own = (struct heif_own){
		.meta_offset = base->meta_offset,
		.meta_bytes = base->meta_bytes,
		.item = from->item,
		.file_bytes = h->bytes,
		.coded = from->coded,
		.cell = from->cell,
		.cells = from->cells,
		.coding = from->coding,
		.matrix = from->matrix,
		.has_matrix = from->has_matrix,
		.is_full_range = from->is_full_range,
		.has_picture = true,
		.has_ended = true,
	};
	return set_planes(map,
			  space_of_samples(&own->coding, own->has_matrix,
					   own->matrix),
			  &none) == IMG_OK;
}

/* What Apple says of a map: XMP and EXIF data that describe this item. */
static void read_apple(struct gain_metadata *from, const struct isobmff_meta *m,
		       struct isobmff_span file, uint32_t item)
{
	const uint32_t cdsc = ISOBMFF_NAME('c', 'd', 's', 'c');
	static const char name[] = "HDRGainMap:";

	for (uint32_t i = 0; i < AUXILIARIES_MAX; i++) {
		uint32_t number = isobmff_source(m, cdsc, item, i);
		struct isobmff_span s;

		if (number == 0)
			break;
		if (!isobmff_data(&s, m, file, number))
			continue;
		switch (isobmff_item_type(m, number)) {
		case ISOBMFF_NAME('m', 'i', 'm', 'e'):
			if (memmem(s.at, s.left, name, strlen(name)) == NULL)
				break;
			from->apple = s.at;
			from->apple_bytes = s.left;
			break;
		case ISOBMFF_NAME('E', 'x', 'i', 'f'): /* begins with offset */
			isobmff_skip(&s, (size_t)isobmff_number(&s, 4));
			if (from->note == NULL)
				from->note = exif_maker_note(s.at, s.left,
							     &from->note_bytes);
			break;
		default:
			break;
		}
	}
}

/* What the file says of the map.  `tone`: item that says it; or 0. */
static bool read_gain(struct gain_found *found, const struct isobmff_meta *m,
		      struct isobmff_span file, uint32_t tone, uint32_t map)
{
	struct gain_metadata from = { NULL };
	struct isobmff_span data;

	if (tone == 0) {
		read_apple(&from, m, file, m->primary);
		read_apple(&from, m, file, map);
		return gain_read(found, &from);
	}
	if (!isobmff_data(&data, m, file, tone) ||
	    isobmff_number(&data, 1) != 0) /* version */
		return false;
	from.iso = data.at;
	from.iso_bytes = data.left;
	return gain_read(found, &from);
}

/*
 * Give the map a profile of the alternate's primaries, if the file says which
 * they are.  Errors: NO_MEMORY, CORRUPT.
 */
static enum img_err give_primaries(struct image *map, const struct item *tone,
				   const struct memory *memory)
{
	uint32_t primaries = tone->primaries == H273_UNSPECIFIED ?
				     H273_BT709 :
				     tone->primaries;
	uint8_t made[ICC_WRITTEN_BYTES_MAX];
	const uint8_t *profile = tone->profile.at;
	size_t bytes = tone->profile.left;
	struct icc_colours colours;

	if (bytes == 0 && !tone->has_colours)
		return IMG_OK;
	if (bytes == 0) {
		if (!icc_colours_of(&colours, primaries, H273_CURVE_SRGB))
			return IMG_ERR_CORRUPT;
		profile = made;
		bytes = icc_write(made, &colours);
	}
	return gain_set_profile(map, profile, bytes, memory);
}

/* Errors: those of the map. */
static enum img_err add_gainmap(struct image *dst, struct isobmff_span file,
				const struct img_header *h,
				const struct img_header *map,
				const struct heif_decoder *decoder,
				const struct memory *memory)
{
	const struct heif_own *own = heif_own(h);
	const struct isobmff_span data = { file.at + own->meta_offset,
					   (size_t)own->meta_bytes, false };
	struct gain_found found;
	struct isobmff_meta m;
	struct item tone;
	uint32_t number;
	enum img_err err = isobmff_meta_read(&m, data);

	if (err != IMG_OK)
		return err;
	number = find_tone_map(&m);
	if (!read_gain(&found, &m, file, number, own->map.item))
		return IMG_ERR_CORRUPT;
	if (found.is_empty)
		return IMG_OK;
	err = gain_attach(dst, &found, map, h, memory);
	if (err == IMG_OK)
		err = decoder->decode(&dst->gainmap->image, file.at, file.left,
				      map, memory);
	if (err == IMG_OK && number != 0 &&
	    !gain_has_base_colours(&found.gain, dst->gainmap->image.space)) {
		tone = read_item(&m, number);
		err = give_primaries(&dst->gainmap->image, &tone, memory);
	}
	return err == IMG_OK ? gain_finish(dst->gainmap, &found) : err;
}

/* As heif_decode(); `bytes_max` is left of the memory. */
static enum img_err keep_gainmap(struct image *dst, struct isobmff_span file,
				 const struct img_header *h,
				 const struct heif_decoder *decoder,
				 uint64_t bytes_max,
				 const struct memory *memory)
{
	enum img_err err = IMG_OK;
	struct img_header map;

	if (!heif_gainmap(&map, h))
		err = heif_own(h)->map.is_bad ? IMG_ERR_CORRUPT : IMG_OK;
	else if (decoder->working_bytes(&map) > bytes_max)
		err = IMG_ERR_TOO_LARGE;
	else
		err = add_gainmap(dst, file, h, &map, decoder, memory);
	return gain_or_note(dst, err);
}

/* --- The header --- */

static enum img_err read_meta(struct img_header *h, const uint8_t *bytes,
			      struct isobmff_span data,
			      const struct heif_codec *codec,
			      const struct img_limits *limits)
{
	struct heif_own *own = heif_own_change(h);
	struct isobmff_meta m;
	enum img_err err = isobmff_meta_read(&m, data);
	struct picture p, alpha;

	if (err != IMG_OK)
		return err;
	read_picture(&p, &m, m.primary);
	h->stored = p.item.shown;
	err = check_picture(own, &p, codec, limits);
	if (err != IMG_OK)
		return err;
	own->alpha = find_auxiliary(&m, m.primary, ALPHA);
	if (own->alpha != 0) {
		read_picture(&alpha, &m, own->alpha);
		if (!is_like(&alpha, &p))
			return IMG_ERR_UNSUPPORTED;
	}
	take_profile(h, &p.item.profile, bytes);
	make_profile(h, &p.item);
	own->has_matrix = p.item.has_colours;
	own->matrix = p.item.matrix;
	own->is_full_range = p.item.is_full_range;
	own->item = m.primary;
	take_map(own, &m, &p, codec, limits);
	err = take_picture(h, &p, own->alpha != 0, limits);
	own->meta_offset = (uint64_t)(data.at - bytes);
	own->meta_bytes = data.left;
	own->has_picture = err == IMG_OK;
	return err;
}

/* The most pictures of a track: moov / trak / mdia / minf / stbl / stsz. */
static uint32_t count_frames(struct isobmff_span moov)
{
	static const uint32_t path[] = { ISOBMFF_NAME('m', 'd', 'i', 'a'),
					 ISOBMFF_NAME('m', 'i', 'n', 'f'),
					 ISOBMFF_NAME('s', 't', 'b', 'l'),
					 ISOBMFF_NAME('s', 't', 's', 'z') };
	struct isobmff_box box;
	uint32_t most = 0;

	while (isobmff_next(&box, &moov)) {
		size_t i = 0;

		if (box.type != ISOBMFF_NAME('t', 'r', 'a', 'k'))
			continue;
		while (i < ARRAY_SIZE(path) &&
		       isobmff_find(&box, box.data, path[i]))
			i++;
		if (i < ARRAY_SIZE(path))
			continue;
		isobmff_skip(&box.data, 8);
		most = (uint32_t)max_u64(most, isobmff_number(&box.data, 4));
	}
	return most > 1 ? most : 0;
}

/* --- The file --- */

/* A box of the file.  It is skipped if nothing in it matters. */
static enum img_err take_box(struct img_header *h, const uint8_t *bytes,
			     const struct heif_codec *codec,
			     const struct img_limits *limits)
{
	struct heif_own *own = heif_own_change(h);
	struct isobmff_head head;
	enum img_err err = isobmff_head(&head, bytes, h->bytes, own->offset);
	bool is_meta, is_movie;
	struct isobmff_span data;

	if (err != IMG_OK)
		return err;
	is_meta = head.type == ISOBMFF_NAME('m', 'e', 't', 'a') &&
		  !own->has_picture;
	is_movie = head.type == ISOBMFF_NAME('m', 'o', 'o', 'v') &&
		   own->is_sequence;
	if (is_meta || is_movie) {
		if (head.bytes > BOX_BYTES_MAX)
			return IMG_ERR_CORRUPT;
		if (head.bytes > h->bytes - own->offset)
			return IMG_ERR_TRUNCATED;
		data = (struct isobmff_span){ bytes + own->offset +
						      head.head_bytes,
					      head.bytes - head.head_bytes,
					      false };
		if (is_movie)
			h->frames = count_frames(data);
		else
			err = read_meta(h, bytes, data, codec, limits);
	}
	/* The pictures themselves come after all that is read. */
	own->has_ended = own->has_picture &&
			 (!own->is_sequence || is_movie ||
			  head.type == ISOBMFF_NAME('m', 'd', 'a', 't'));
	if (err == IMG_OK && head.bytes > UINT64_MAX / 2 && !own->has_ended)
		return IMG_ERR_CORRUPT;
	own->offset += err == IMG_OK ? head.bytes : 0;
	return err;
}

/* The first box names them all. */
static enum img_err read_brands(struct img_header *h, const uint8_t *bytes,
				const struct heif_codec *codec)
{
	struct isobmff_head head;
	enum img_err err = isobmff_head(&head, bytes, h->bytes, 0);

	if (err != IMG_OK)
		return err;
	if (head.bytes > FTYP_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	if (head.bytes > h->bytes)
		return IMG_ERR_TRUNCATED;
	heif_own_change(h)->is_sequence =
		isobmff_has_brand(bytes, h->bytes, codec->sequence);
	return IMG_OK;
}

enum img_err heif_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct heif_codec *codec,
			     const struct img_limits *limits)
{
	struct heif_own *own = heif_own_change(h);
	enum img_err err = IMG_OK;

	if (own->offset == 0)
		err = read_brands(h, bytes, codec);
	while (err == IMG_OK && !own->has_ended)
		err = take_box(h, bytes, codec, limits);
	return err;
}

/* --- For decoders --- */

void heif_shape(struct image *img, const struct img_header *h)
{
	struct img_size most = image_factors_max(h);

	*img = (struct image){ .plane_count = h->component_count,
			       .space = h->space };
	for (uint32_t i = 0; i < h->component_count; i++)
		img->planes[i] = image_plane_shape(
			h->stored, DECODE_SCALE_FULL, h->h_factors[i],
			most.width_px, h->v_factors[i], most.height_px);
}

void heif_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	const struct heif_own *own = heif_own(h);
	double pixels = (double)max_u64(img_pixels(own->coded),
					own->cells * img_pixels(own->cell));

	counts[HEIF_FILES] = 1;
	counts[HEIF_PIXELS] = pixels;
	counts[HEIF_BYTES] = (double)h->bytes;
	counts[HEIF_CELLS] = own->cells;
	if (own->coding.depth > 8)
		counts[HEIF_WIDE_PIXELS] = pixels;
	if (h->space == IMG_RGB || h->space == IMG_RGBA)
		counts[HEIF_RGB_PIXELS] = pixels;
	if (h->space == IMG_RGBA)
		counts[HEIF_ALPHA_PIXELS] = pixels;
}

void heif_fill_levels(uint8_t levels[HEIF_LEVELS_MAX], uint32_t depth,
		      bool is_full_range, bool is_chroma)
{
	double step = 1u << (depth - 8);
	double white = is_full_range ? 256 * step - 1 :
		       is_chroma     ? 224 * step :
				       219 * step;
	double black = is_full_range ? 0 : 16 * step;

	for (uint32_t i = 0; i < HEIF_LEVELS_MAX; i++) {
		double v = is_chroma ? 128 + (i - 128 * step) * 255 / white :
				       (i - black) * 255 / white;

		levels[i] = (uint8_t)lround(fmin(fmax(v, 0), 255));
	}
}

static enum img_err read_profile(struct image *img, const uint8_t *bytes,
				 const struct img_header *h,
				 const struct memory *memory)
{
	const struct heif_own *own = heif_own(h);
	struct icc_colours colours;

	if (h->icc_bytes > PROFILE_BYTES_MAX)
		img->notes |= IMG_NOTE_BAD_PROFILE;
	if (h->icc_bytes == 0 || h->icc_bytes > PROFILE_BYTES_MAX)
		return IMG_OK;
	img->profile = memory_alloc(memory, h->icc_bytes);
	if (img->profile == NULL)
		return IMG_ERR_NO_MEMORY;
	if (own->primaries == 0)
		memcpy(img->profile, bytes + own->icc_offset, h->icc_bytes);
	else if (!icc_colours_of(&colours, own->primaries, own->curve) ||
		 icc_write(img->profile, &colours) != h->icc_bytes)
		return IMG_ERR_CORRUPT; /* never: the header has tried */
	img->profile_bytes = h->icc_bytes;
	img->is_srgb = h->profile == IMG_PROFILE_SRGB;
	return IMG_OK;
}

enum img_err heif_decode(struct image *dst, const uint8_t *bytes, size_t count,
			 const struct img_header *h,
			 const struct heif_decoder *decoder,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory)
{
	const struct isobmff_span file = { bytes, count, false };
	uint64_t working = decoder->working_bytes(h);
	enum img_err err;

	assert(heif_own(h)->has_ended);
	if (working > limits->decode_bytes_max)
		return IMG_ERR_TOO_LARGE;
	err = decoder->decode(dst, bytes, count, h, memory);
	if (err == IMG_ERR_CORRUPT && isobmff_is_cut(bytes, count))
		err = IMG_ERR_TRUNCATED;
	if (err == IMG_OK)
		err = read_profile(dst, bytes, h, memory);
	if (err == IMG_OK && transform->keep_gainmap)
		err = keep_gainmap(dst, file, h, decoder,
				   limits->decode_bytes_max - working, memory);
	if (err != IMG_OK)
		img_release(dst);
	return err;
}
