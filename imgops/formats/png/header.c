/* SPDX-License-Identifier: MIT */
/*
 * A PNG is a list of chunks: length, name, data, CRC.  The header is all that
 * comes before the first IDAT, which has the pixels.  What comes after them is
 * not read: an EXIF chunk there has no effect.
 *
 * Colours are those of cICP, else iCCP, else sRGB, else gAMA and cHRM (PNG
 * 4.3).  Of cICP, transfer functions of HDR (PQ, HLG) are not known: it counts
 * as absent.
 */
#include "imgops/formats/png/png.h"

#include "imgops/colour/matrix.h"
#include "imgops/formats/exif.h"
#include "imgops/formats/png/inflate.h"
#include "imgops/image.h"

#include <math.h>
#include <string.h>

#include <libdeflate.h>

enum {
	/* A picture has some tens of chunks before its pixels. */
	CHUNKS_MAX = 32768,
	HEADER_BYTES = 13,
	PALETTE_MAX = 256,
	NAME_BYTES_MAX = 79, /* of a profile */
	/* Matrix profiles have less; others are judged later. */
	JUDGED_BYTES_MAX = 8192,
	JUDGED_DEFLATED_MAX = 8192,
	/* gAMA and cHRM count in 1/100,000. */
	UNIT = 100000,
	/* Screens of sRGB; libpng calls exponents alike that differ by 5 %. */
	SRGB_GAMMA = 45455,
	SRGB_GAMMA_OFF = SRGB_GAMMA / 20,
	GAMMA_MIN = UNIT / 20,
	GAMMA_MAX = UNIT * 20,
};

const uint8_t png_signature[PNG_SIGNATURE_BYTES] = { 0x89, 'P',  'N',  'G',
						     '\r', '\n', 0x1a, '\n' };

bool png_recognise(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, png_signature, count) == 0;
}

/* 0: there is no such type. */
static uint32_t samples_of(uint32_t type)
{
	static const uint8_t counts[] = {
		[PNG_GREY] = 1,       [PNG_RGB] = 3,  [PNG_PALETTE] = 1,
		[PNG_GREY_ALPHA] = 2, [PNG_RGBA] = 4,
	};

	return type < ARRAY_SIZE(counts) ? counts[type] : 0;
}

uint32_t png_samples(const struct png_own *own)
{
	return samples_of(own->type);
}

uint32_t png_step(const struct png_own *own)
{
	uint32_t bits = samples_of(own->type) * own->depth;

	return bits < 8 ? 1 : bits / 8;
}

size_t png_row_bytes(const struct png_own *own, uint32_t width)
{
	return ((size_t)width * samples_of(own->type) * own->depth + 7) / 8;
}

bool png_crc_is_right(const uint8_t *data, size_t bytes)
{
	return libdeflate_crc32(0, data - 4, bytes + 4) ==
	       png_read32(data + bytes);
}

/* --- Chunks --- */

struct chunk {
	uint32_t name;
	size_t offset; /* of the data */
	const uint8_t *data;
	size_t bytes;
};

static enum img_err read_ihdr(struct img_header *h, const struct chunk *c,
			      const struct img_limits *limits)
{
	struct png_own *own = png_own_change(h);
	const uint8_t *d = c->data;
	struct img_size size;
	uint32_t depth, type;

	if (c->bytes != HEADER_BYTES || own->depth != 0)
		return IMG_ERR_CORRUPT;
	size = (struct img_size){ png_read32(d), png_read32(d + 4) };
	depth = d[8];
	type = d[9];
	/* Any depth for grey; not 16 bits, or only 8 and 16, for others. */
	if (size.width_px == 0 || size.height_px == 0 ||
	    size.width_px > INT32_MAX || size.height_px > INT32_MAX ||
	    samples_of(type) == 0 || depth > 16 || depth == 0 ||
	    (depth & (depth - 1)) != 0 || (type == PNG_PALETTE && depth > 8) ||
	    (type != PNG_PALETTE && type != PNG_GREY && depth < 8))
		return IMG_ERR_CORRUPT;
	/* Methods of compression, filters and interlacing. */
	if (d[10] != 0 || d[11] != 0 || d[12] > 1)
		return IMG_ERR_CORRUPT;
	h->stored = size;
	own->type = (uint8_t)type;
	own->is_interlaced = d[12] == 1;
	if (format_check_size(size, limits) != IMG_OK)
		return IMG_ERR_TOO_LARGE;
	own->depth = (uint8_t)depth;
	return IMG_OK;
}

static enum img_err read_plte(struct img_header *h, const struct chunk *c)
{
	struct png_own *own = png_own_change(h);

	if (own->type != PNG_PALETTE)
		return IMG_OK; /* a proposal for screens of few colours */
	if (own->palette.bytes > 0 || c->bytes == 0 || c->bytes % 3 != 0 ||
	    c->bytes / 3 > PALETTE_MAX)
		return IMG_ERR_CORRUPT;
	own->palette = (struct png_part){ c->offset, c->bytes };
	return IMG_OK;
}

/* libpng, too, ignores one of a wrong size or at a wrong place. */
static void read_trns(struct img_header *h, const struct chunk *c)
{
	struct png_own *own = png_own_change(h);
	bool is_right = false;

	switch (own->type) {
	case PNG_GREY:
		is_right = c->bytes == 2;
		break;
	case PNG_RGB:
		is_right = c->bytes == 6;
		break;
	case PNG_PALETTE:
		is_right = c->bytes > 0 && c->bytes <= own->palette.bytes / 3;
		break;
	default:
		break;
	}
	if (!is_right || own->alpha.bytes > 0)
		return;
	own->alpha = (struct png_part){ c->offset, c->bytes };
}

/* A name, a zero, the method of compression, which is 0, and the profile. */
static void read_iccp(struct img_header *h, const struct chunk *c)
{
	struct png_own *own = png_own_change(h);
	const uint8_t *end =
		memchr(c->data, 0, min_u64(c->bytes, NAME_BYTES_MAX + 1));
	size_t begin;

	if (own->icc.bytes > 0 || own->has_bad_profile)
		return;
	if (end == NULL || (size_t)(end - c->data) + 2 >= c->bytes ||
	    end[1] != 0) {
		own->has_bad_profile = true;
		return;
	}
	begin = (size_t)(end - c->data) + 2;
	own->icc = (struct png_part){ c->offset + begin, c->bytes - begin };
}

static void read_gama(struct png_own *own, const struct chunk *c)
{
	uint32_t gamma = png_read32(c->data);

	if (own->has_gamma || gamma < GAMMA_MIN || gamma > GAMMA_MAX)
		return;
	own->has_gamma = true;
	if (own->has_cicp)
		return;
	if (gamma >= SRGB_GAMMA - SRGB_GAMMA_OFF &&
	    gamma <= SRGB_GAMMA + SRGB_GAMMA_OFF)
		return;
	own->colours.exponent = (double)UNIT / gamma;
	own->colours.scale = 1;
	own->colours.offset = own->colours.slope = own->colours.knee = 0;
}

static void read_chrm(struct png_own *own, const struct chunk *c)
{
	double *const to[] = { own->colours.white, own->colours.red,
			       own->colours.green, own->colours.blue };

	if (own->has_primaries)
		return;
	own->has_primaries = true;
	for (size_t i = 0; !own->has_cicp && i < 2 * ARRAY_SIZE(to); i++)
		to[i / 2][i % 2] = (double)png_read32(c->data + 4 * i) / UNIT;
}

/* Primaries, transfer function, matrix, full range. */
static void read_cicp(struct png_own *own, const struct chunk *c)
{
	if (own->has_cicp || c->data[2] != 0 || c->data[3] != 1)
		return;
	own->has_cicp = icc_colours_of(&own->colours, c->data[0], c->data[1]);
}

/* A chunk without which pixels would be the same, but not how they look. */
static void read_extra(struct img_header *h, const struct chunk *c)
{
	struct png_own *own = png_own_change(h);
	static const struct {
		uint32_t name, bytes;
		void (*read)(struct png_own *own, const struct chunk *c);
	} readers[] = {
		{ PNG_NAME('g', 'A', 'M', 'A'), 4, read_gama },
		{ PNG_NAME('c', 'H', 'R', 'M'), 32, read_chrm },
		{ PNG_NAME('c', 'I', 'C', 'P'), 4, read_cicp },
	};

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (c->name == readers[i].name && c->bytes == readers[i].bytes)
			readers[i].read(own, c);
	switch (c->name) {
	case PNG_NAME('s', 'R', 'G', 'B'):
		own->has_srgb = true;
		break;
	case PNG_NAME('i', 'C', 'C', 'P'):
		read_iccp(h, c);
		break;
	case PNG_NAME('e', 'X', 'I', 'f'):
		if (h->orientation == 0)
			h->orientation = exif_orientation(c->data, c->bytes);
		break;
	case PNG_NAME('a', 'c', 'T', 'L'):
		if (c->bytes == 8 && png_read32(c->data) > 1)
			h->frames = png_read32(c->data);
		break;
	default:
		break;
	}
}

/* A chunk other than IDAT, of which all bytes have come. */
static enum img_err read_chunk(struct img_header *h, const struct chunk *c,
			       const struct img_limits *limits)
{
	struct png_own *own = png_own_change(h);
	enum img_err err = IMG_OK;

	switch (c->name) {
	case PNG_NAME('I', 'H', 'D', 'R'):
		err = read_ihdr(h, c, limits);
		break;
	case PNG_NAME('P', 'L', 'T', 'E'):
		err = read_plte(h, c);
		break;
	case PNG_NAME('t', 'R', 'N', 'S'):
		read_trns(h, c);
		break;
	default:
		read_extra(h, c);
		return IMG_OK;
	}
	if (err == IMG_OK && !png_crc_is_right(c->data, c->bytes))
		own->is_damaged = true;
	return err;
}

/* What can be said of a chunk by its name and place. */
static enum img_err check_name(const struct png_own *own, uint32_t name)
{
	bool is_first = own->chunk_count == 0;

	for (int shift = 0; shift < 32; shift += 8) {
		uint32_t letter = (name >> shift & 0xff) | 0x20;

		if (letter < 'a' || letter > 'z')
			return IMG_ERR_CORRUPT;
	}
	switch (name) {
	case PNG_NAME('I', 'H', 'D', 'R'):
	case PNG_NAME('P', 'L', 'T', 'E'):
	case PNG_NAME('I', 'D', 'A', 'T'):
		break;
	case PNG_NAME('I', 'E', 'N', 'D'):
		return IMG_ERR_CORRUPT;
	default:
		/* A capital: only a reader that knows the chunk may show it. */
		if ((name >> 24 & 0x20) == 0)
			return IMG_ERR_UNSUPPORTED;
	}
	return is_first == (name == PNG_NAME('I', 'H', 'D', 'R')) ?
		       IMG_OK :
		       IMG_ERR_CORRUPT;
}

/* --- The profile --- */

/* Is the profile simple?  `bytes` of it. */
static enum img_profile judge(const uint8_t *profile, size_t bytes)
{
	struct matrix_tags tags;

	if (!matrix_read(&tags, profile, bytes))
		return IMG_PROFILE_UNKNOWN;
	return matrix_is_srgb(&tags) ? IMG_PROFILE_SRGB : IMG_PROFILE_MATRIX;
}

/*
 * The size of a profile is its first number, and what does not have this size
 * is ignored later.  So only a small one is inflated here.
 */
static void judge_deflated(struct img_header *h, const uint8_t *file)
{
	enum { SIZE_BYTES = 4, ROOM = JUDGED_BYTES_MAX + 1 + INFLATE_SLACK };
	struct png_own *own = png_own_change(h);
	uint8_t window[ROOM];
	const uint8_t *profile, *rest;
	struct inflate z;
	uint32_t bytes;

	inflate_init(&z, file + own->icc.offset,
		     min_u64(own->icc.bytes, JUDGED_DEFLATED_MAX), window,
		     sizeof(window));
	if (inflate_take(&z, &profile, SIZE_BYTES) != IMG_OK ||
	    png_read32(profile) < SIZE_BYTES ||
	    png_read32(profile) > PROFILE_BYTES_MAX) {
		own->has_bad_profile = true;
		return;
	}
	bytes = png_read32(profile);
	h->icc_bytes = bytes;
	if (bytes <= JUDGED_BYTES_MAX &&
	    inflate_take(&z, &rest, bytes - SIZE_BYTES) == IMG_OK &&
	    inflate_finish(&z) == IMG_OK)
		h->profile = judge(profile, bytes);
}

static void judge_made(struct img_header *h)
{
	struct png_own *own = png_own_change(h);
	uint8_t profile[ICC_WRITTEN_BYTES_MAX];
	size_t bytes = icc_write(profile, &own->colours);

	if (bytes == 0)
		return;
	h->profile = judge(profile, bytes);
	own->makes_profile = h->profile == IMG_PROFILE_MATRIX;
	if (own->makes_profile)
		h->icc_bytes = bytes;
	else
		h->profile = IMG_PROFILE_UNKNOWN;
}

static void judge_profile(struct img_header *h, const uint8_t *file)
{
	struct png_own *own = png_own_change(h);

	if (own->has_cicp)
		judge_made(h);
	else if (own->icc.bytes > 0)
		judge_deflated(h, file);
	else if (!own->has_srgb && (own->has_gamma || own->has_primaries))
		judge_made(h);
}

/* --- The walk --- */

/* Everything that follows from the chunks before IDAT. */
static enum img_err finish_header(struct img_header *h, const uint8_t *file,
				  const struct img_limits *limits)
{
	struct png_own *own = png_own_change(h);
	enum img_space space = IMG_RGB;

	if (own->type == PNG_PALETTE && own->palette.bytes == 0)
		return IMG_ERR_CORRUPT;
	if (own->alpha.bytes > 0 || own->type == PNG_RGBA ||
	    own->type == PNG_GREY_ALPHA)
		space = IMG_RGBA;
	else if (own->type == PNG_GREY)
		space = IMG_GREY;
	judge_profile(h, file);
	own->has_header = true;
	own->idat_offset = own->offset;
	return format_set_full(h, space, limits);
}

/* The next chunk; its data may have not yet come.  False: nor has its head. */
static bool find_chunk(struct chunk *c, const struct img_header *h,
		       const uint8_t *file)
{
	size_t offset = png_own(h)->offset;

	if (offset > h->bytes || h->bytes - offset < PNG_CHUNK_HEAD)
		return false;
	c->bytes = png_read32(file + offset);
	c->name = png_read32(file + offset + 4);
	c->offset = offset + PNG_CHUNK_HEAD;
	c->data = file + c->offset;
	return true;
}

enum img_err png_probe_more(struct img_header *h, const uint8_t *bytes,
			    const struct img_limits *limits)
{
	struct png_own *own = png_own_change(h);
	struct chunk c;

	if (own->offset == 0) {
		own->offset = PNG_SIGNATURE_BYTES;
		own->colours = icc_srgb;
	}
	if (own->has_header)
		return IMG_OK;
	while (find_chunk(&c, h, bytes)) {
		enum img_err err = check_name(own, c.name);

		if (err != IMG_OK)
			return err;
		if (c.bytes > PNG_CHUNK_BYTES_MAX ||
		    own->chunk_count >= CHUNKS_MAX)
			return IMG_ERR_CORRUPT;
		if (c.name == PNG_NAME('I', 'D', 'A', 'T'))
			return finish_header(h, bytes, limits);
		if (h->bytes - own->offset < c.bytes + PNG_CHUNK_EXTRA)
			return IMG_ERR_TRUNCATED;
		err = read_chunk(h, &c, limits);
		if (err != IMG_OK)
			return err;
		own->offset += c.bytes + PNG_CHUNK_EXTRA;
		own->chunk_count++;
	}
	return IMG_ERR_TRUNCATED;
}
