/* SPDX-License-Identifier: MIT */
/*
 * The header of an AVIF, read without libavif, so that every bound is checked
 * here.  It is in the box "meta", which is read once it has arrived as a whole.
 * A sequence has pictures that follow one another, too, in the box "moov", of
 * which only the number is read: its first picture is an item of "meta".
 *
 * EXIF is not read: by MIAF, the orientation is in the properties.
 */
#include "imgops/formats/avif/avif.h"

#include "imgops/colour/icc_write.h"
#include "imgops/colour/matrix.h"
#include "imgops/formats/isobmff.h"

#include <string.h>

enum {
	BOX_BYTES_MAX = 8 << 20,
	PROPERTIES_MAX = 64, /* of an item */
	AUXILIARIES_MAX = 16,
	FTYP_BYTES_MAX = 4096,
	CELLS_MAX = 1024,
};

static const uint32_t still = ISOBMFF_NAME('a', 'v', 'i', 'f');
static const uint32_t sequence = ISOBMFF_NAME('a', 'v', 'i', 's');

/* What the properties of an item say. */
struct item {
	struct img_size size;
	bool has_codec, is_grey;
	uint32_t depth, h_factor, v_factor; /* of luma */
	bool has_colours;
	uint32_t primaries, curve, matrix;
	struct isobmff_span profile;
	uint32_t angle; /* in quarters, anticlockwise */
	bool is_mirrored;
	uint32_t mirror; /* 0: top and bottom change places; 1: the sides */
	struct img_size shown; /* part of `size`, at left and top */
	uint32_t left, top;
	bool is_alpha;
	bool is_layer; /* one of several that it has */
};

bool avif_recognise(const uint8_t *bytes, size_t count)
{
	static const uint8_t name[] = { 'f', 't', 'y', 'p' };
	size_t n = count < 8 ? count : 8;

	for (size_t i = 4; i < n; i++)
		if (bytes[i] != name[i - 4])
			return false;
	if (bytes[0] != 0 || bytes[1] != 0)
		return false;
	return count < AVIF_MAGIC_BYTES ||
	       isobmff_has_brand(bytes, count, still) ||
	       isobmff_has_brand(bytes, count, sequence);
}

/* --- Properties --- */

static void read_codec(struct item *item, struct isobmff_span s)
{
	uint32_t bits = (uint32_t)isobmff_number(&s, 4) >> 8 & 0xff;

	item->has_codec = !s.is_bad;
	item->depth = (bits & 64) == 0 ? 8 : (bits & 32) == 0 ? 10 : 12;
	item->is_grey = (bits & 16) != 0;
	item->h_factor = (bits & 8) != 0 ? 2 : 1;
	item->v_factor = (bits & 4) != 0 ? 2 : 1;
}

static void read_colours(struct item *item, struct isobmff_span s)
{
	switch (isobmff_number(&s, 4)) {
	case ISOBMFF_NAME('n', 'c', 'l', 'x'):
		item->primaries = (uint32_t)isobmff_number(&s, 2);
		item->curve = (uint32_t)isobmff_number(&s, 2);
		item->matrix = (uint32_t)isobmff_number(&s, 2);
		item->has_colours = !s.is_bad;
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

static bool names_alpha(struct isobmff_span s)
{
	static const char *const names[] = {
		"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
		"urn:mpeg:hevc:2015:auxid:1",
	};

	(void)isobmff_version(&s);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (s.left > strlen(names[i]) &&
		    memcmp(s.at, names[i], strlen(names[i]) + 1) == 0)
			return true;
	return false;
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
		break;
	case ISOBMFF_NAME('a', 'v', '1', 'C'):
		read_codec(item, s);
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
		item->is_alpha = names_alpha(s);
		break;
	default:
		break;
	}
}

static struct item read_item(const struct isobmff_meta *m, uint32_t number)
{
	struct item item = { .matrix = AVIF_UNSPECIFIED };
	struct isobmff_places places = isobmff_places(m, number);
	struct isobmff_box box;
	uint32_t count = 0;

	while (count++ < PROPERTIES_MAX && isobmff_property(&box, m, &places))
		read_property(&item, &box);
	return item;
}

/* The item that is the alpha of the picture.  0: none. */
static uint32_t find_alpha(const struct isobmff_meta *m)
{
	for (uint32_t i = 0; i < AUXILIARIES_MAX; i++) {
		uint32_t number = isobmff_source(
			m, ISOBMFF_NAME('a', 'u', 'x', 'l'), m->primary, i);

		if (number == 0 || read_item(m, number).is_alpha)
			return number;
	}
	return 0;
}

/* A picture, which may be a grid of other items. */
struct picture {
	struct item item, cell;
	uint32_t cells; /* 1: no grid */
	uint32_t type;  /* of the cells */
};

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
	p->cells = isobmff_targets(m, ISOBMFF_NAME('d', 'i', 'm', 'g'), number,
				   &first);
	p->type = isobmff_item_type(m, first);
	p->cell = read_item(m, first);
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
 * Planes are used as they are if their matrix is JFIF's; libavif takes an
 * unspecified one for that, too.  Without a box the matrix is in the picture's
 * data, so RGB is promised, which libavif makes of all.
 */
static enum img_space space_of(const struct item *item, bool is_transparent)
{
	bool is_jfif =
		item->has_colours && (item->matrix == AVIF_UNSPECIFIED ||
				      item->matrix == AVIF_MATRIX_BT470BG ||
				      item->matrix == AVIF_MATRIX_BT601);

	if (is_transparent)
		return IMG_RGBA;
	if (item->is_grey)
		return IMG_GREY;
	/* A part that begins within a sample of chroma is cut out of pixels. */
	if (item->left % item->h_factor != 0 || item->top % item->v_factor != 0)
		return IMG_RGB;
	return is_jfif ? IMG_YCBCR : IMG_RGB;
}

static void take_profile(struct img_header *h, const struct isobmff_span *icc,
			 const uint8_t *bytes)
{
	struct matrix_tags tags;

	if (icc->left == 0)
		return;
	h->icc_bytes = icc->left;
	avif_own_change(h)->icc_offset = (uint64_t)(icc->at - bytes);
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
	struct avif_own *own = avif_own_change(h);
	uint32_t primaries = item->primaries, curve = item->curve;
	uint8_t profile[ICC_WRITTEN_BYTES_MAX];
	size_t bytes;
	struct icc_colours colours;
	struct matrix_tags tags;

	if (primaries == AVIF_UNSPECIFIED)
		primaries = AVIF_BT709;
	if (curve == AVIF_BT709 || curve == AVIF_UNSPECIFIED ||
	    curve == AVIF_CURVE_BT601 || curve == AVIF_CURVE_BT2020 ||
	    curve == AVIF_CURVE_BT2020 + 1)
		curve = AVIF_CURVE_SRGB;
	if (!item->has_colours || h->icc_bytes > 0 ||
	    (primaries == AVIF_BT709 && curve == AVIF_CURVE_SRGB) ||
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

static enum img_err take_item(struct img_header *h, const struct item *item,
			      bool is_transparent,
			      const struct img_limits *limits)
{
	enum img_space space = space_of(item, is_transparent);
	struct avif_own *own = avif_own_change(h);
	enum img_err err;

	h->orientation = orientation_of(item);
	own->depth = item->depth;
	own->has_full_chroma = item->h_factor == 1;
	err = format_set_full(h, space, limits);
	if (space == IMG_YCBCR) {
		h->h_factors[0] = (uint8_t)item->h_factor;
		h->v_factors[0] = (uint8_t)item->v_factor;
	}
	return err;
}

static enum img_err read_meta(struct img_header *h, const uint8_t *bytes,
			      struct isobmff_span data,
			      const struct img_limits *limits)
{
	struct avif_own *own = avif_own_change(h);
	struct isobmff_meta m;
	enum img_err err = isobmff_meta_read(&m, data);
	struct picture p, alpha;
	struct item *item = &p.item;
	uint32_t alpha_number;

	if (err != IMG_OK)
		return err;
	read_picture(&p, &m, m.primary);
	h->stored = item->shown;
	own->coded = item->size;
	own->left = item->left;
	own->top = item->top;
	own->cells = p.cells;
	own->cell = p.cell.size;
	if (p.cells == 0 || p.type == 0 || img_pixels(item->size) == 0 ||
	    img_pixels(p.cell.size) == 0)
		return IMG_ERR_CORRUPT;
	if (p.type != ISOBMFF_NAME('a', 'v', '0', '1') || p.cells > CELLS_MAX ||
	    p.cell.is_layer)
		return IMG_ERR_UNSUPPORTED;
	if (!p.cell.has_codec)
		return IMG_ERR_CORRUPT;
	alpha_number = find_alpha(&m);
	if (alpha_number != 0) {
		read_picture(&alpha, &m, alpha_number);
		if (!is_like(&alpha, &p))
			return IMG_ERR_UNSUPPORTED;
	}
	item->depth = p.cell.depth;
	item->is_grey = p.cell.is_grey;
	item->h_factor = p.cell.h_factor;
	item->v_factor = p.cell.v_factor;
	if (format_check_size(own->cell, limits) != IMG_OK ||
	    format_check_size(own->coded, limits) != IMG_OK)
		return IMG_ERR_TOO_LARGE;
	take_profile(h, &item->profile, bytes);
	make_profile(h, item);
	err = take_item(h, item, alpha_number != 0, limits);
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
			     const struct img_limits *limits)
{
	struct avif_own *own = avif_own_change(h);
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
			err = read_meta(h, bytes, data, limits);
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
static enum img_err read_brands(struct img_header *h, const uint8_t *bytes)
{
	struct isobmff_head head;
	enum img_err err = isobmff_head(&head, bytes, h->bytes, 0);

	if (err != IMG_OK)
		return err;
	if (head.bytes > FTYP_BYTES_MAX)
		return IMG_ERR_CORRUPT;
	if (head.bytes > h->bytes)
		return IMG_ERR_TRUNCATED;
	avif_own_change(h)->is_sequence =
		isobmff_has_brand(bytes, h->bytes, sequence);
	return IMG_OK;
}

enum img_err avif_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct img_limits *limits)
{
	struct avif_own *own = avif_own_change(h);
	enum img_err err = IMG_OK;

	if (own->offset == 0)
		err = read_brands(h, bytes);
	while (err == IMG_OK && !own->has_ended)
		err = take_box(h, bytes, limits);
	return err;
}
