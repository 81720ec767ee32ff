/* SPDX-License-Identifier: MIT */
/*
 * The header of a WebP, read without libwebp, so that every bound is checked
 * here, and a walk can go on where it stopped.
 *
 * The walk ends at the beginning of the picture.  Only if VP8X promises EXIF,
 * it goes on to that, which is usually at the end; and with an animation, whose
 * frames are counted, to the end of the container.
 */
#include "imgops/formats/webp/webp.h"

#include "imgops/colour/matrix.h"
#include "imgops/formats/exif.h"
#include "imgops/image.h"

#include <string.h>

enum {
	CHUNK_HEAD_BYTES = 8,
	EXTENDED_BYTES = 10,
	FRAME_HEAD_BYTES = 16,
	LOSSY_HEAD_BYTES = 10,
	LOSSLESS_HEAD_BYTES = 5,
};

/* Flags of VP8X. */
enum { HAS_ANIMATION = 2, HAS_EXIF = 8, HAS_ICC = 32 };

static uint32_t read16(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t read24(const uint8_t *p)
{
	return read16(p) | (uint32_t)p[2] << 16;
}

static uint32_t read32(const uint8_t *p)
{
	return read24(p) | (uint32_t)p[3] << 24;
}

/* A chunk; not all of its data need be there. */
struct chunk {
	const uint8_t *name;
	size_t offset; /* of its head */
	const uint8_t *data;
	size_t bytes;
	size_t arrived_bytes; /* of `bytes` */
	size_t end;           /* the offset of the next chunk, at most */
};

/*
 * The chunk at `offset`, of which `arrived` is the end of the bytes that are
 * there, and `end` the end of the chunks.
 */
static enum img_err read_chunk(struct chunk *c, const uint8_t *bytes,
			       size_t offset, size_t arrived, size_t end)
{
	size_t data = offset + CHUNK_HEAD_BYTES;

	if (end < data)
		return IMG_ERR_CORRUPT;
	if (arrived < data)
		return IMG_ERR_TRUNCATED;
	*c = (struct chunk){ .name = bytes + offset,
			     .offset = offset,
			     .data = bytes + data,
			     .bytes = read32(bytes + offset + 4) };
	if (c->bytes > end - data)
		return IMG_ERR_CORRUPT;
	c->arrived_bytes = min_u64(c->bytes, arrived - data);
	/* Padded; the last one may lack that. */
	c->end = min_u64(data + c->bytes + c->bytes % 2, end);
	return IMG_OK;
}

static bool is_named(const struct chunk *c, const char *name)
{
	return memcmp(c->name, name, 4) == 0;
}

static bool has_arrived(const struct chunk *c)
{
	return c->arrived_bytes == c->bytes;
}

/* Size and alpha of a chunk VP8 or VP8L. */
static enum img_err read_picture_head(struct webp_own *own,
				      const struct chunk *c)
{
	const uint8_t *d = c->data;
	size_t head = own->is_lossless ? LOSSLESS_HEAD_BYTES : LOSSY_HEAD_BYTES;
	uint32_t bits;

	if (c->bytes < head)
		return IMG_ERR_CORRUPT;
	if (c->arrived_bytes < head)
		return IMG_ERR_TRUNCATED;
	if (own->is_lossless) {
		bits = read32(d + 1);
		own->size = (struct img_size){ 1 + (bits & 0x3fff),
					       1 + (bits >> 14 & 0x3fff) };
		own->has_alpha = bits >> 28 & 1;
		if (d[0] != 0x2f)
			return IMG_ERR_CORRUPT;
		return bits >> 29 == 0 ? IMG_OK : IMG_ERR_UNSUPPORTED;
	}
	bits = read24(d);
	own->size = (struct img_size){ read16(d + 6) & 0x3fff,
				       read16(d + 8) & 0x3fff };
	/* A key frame that is shown, and its first part is within the chunk. */
	if ((bits & 1) != 0 || (bits >> 1 & 7) > 3 || (bits >> 4 & 1) == 0 ||
	    bits >> 5 >= c->bytes || memcmp(d + 3, "\x9d\x01\x2a", 3) != 0 ||
	    img_pixels(own->size) == 0)
		return IMG_ERR_CORRUPT;
	return IMG_OK;
}

/* The memory of libwebp for a lossy picture or frame, without its alpha. */
static uint64_t lossy_bytes(struct img_size size)
{
	/* Measured: for each column of 16 pixels, and for all. */
	enum { COLUMN_BYTES = 2016, ONCE_BYTES = 8 << 10 };

	return ONCE_BYTES + (uint64_t)COLUMN_BYTES * (2 + size.width_px / 16);
}

/*
 * How many of `arrived` bytes of a lossless picture are read.  To read its
 * beginning again for each byte that arrives would take long, so it is read
 * when there are twice as many as the last time, or all.
 */
static size_t readable_bytes(size_t arrived, size_t bytes)
{
	size_t count = 1;

	if (arrived == bytes)
		return bytes;
	while (count <= arrived / 2)
		count *= 2;
	return min_u64(count, arrived);
}

/* Alpha is stored as it is, or as the green of a lossless picture. */
static enum img_err add_alpha(struct webp_own *own, const uint8_t *bytes)
{
	enum { ALPHA_HEAD_BYTES = 1 };
	size_t data = own->alpha_offset + CHUNK_HEAD_BYTES;
	struct webp_lossless cost = { 0 };
	enum img_err err = IMG_OK;

	if (own->alpha_offset == 0)
		return IMG_OK;
	own->picture_offset = own->alpha_offset;
	own->has_alpha = true;
	if (own->alpha_end - data <= ALPHA_HEAD_BYTES)
		return IMG_ERR_CORRUPT;
	if ((bytes[data] & 3) != 0)
		err = webp_lossless_cost(
			&cost, bytes + data + ALPHA_HEAD_BYTES,
			own->alpha_end - data - ALPHA_HEAD_BYTES, own->size);
	/* libwebp allocates the plane of alpha twice. */
	own->library_bytes += 2 * img_pixels(own->size) + cost.library_bytes;
	own->code_sets = cost.code_sets;
	return err == IMG_ERR_TRUNCATED ? IMG_ERR_CORRUPT : err;
}

/* A chunk VP8 or VP8L: the picture itself. */
static enum img_err read_picture(struct webp_own *own, const struct chunk *c,
				 const uint8_t *bytes)
{
	struct webp_lossless cost = { 0 };
	enum img_err err;
	size_t count;

	own->is_lossless = is_named(c, "VP8L");
	own->picture_offset = c->offset;
	own->picture_end = c->offset + CHUNK_HEAD_BYTES + c->bytes;
	err = read_picture_head(own, c);
	if (err != IMG_OK)
		return err;
	if (!own->is_lossless) {
		own->library_bytes = lossy_bytes(own->size);
		return add_alpha(own, bytes);
	}
	count = readable_bytes(c->arrived_bytes - LOSSLESS_HEAD_BYTES,
			       c->bytes - LOSSLESS_HEAD_BYTES);
	if (count == own->tried_bytes && count > 0)
		return IMG_ERR_TRUNCATED;
	err = webp_lossless_cost(&cost, c->data + LOSSLESS_HEAD_BYTES, count,
				 own->size);
	own->library_bytes = cost.library_bytes;
	own->code_sets = cost.code_sets;
	if (err == IMG_ERR_TRUNCATED && has_arrived(c))
		err = IMG_ERR_CORRUPT;
	own->tried_bytes = err == IMG_ERR_TRUNCATED ? count : 0;
	return err;
}

/* A chunk of a picture: its alpha, or itself.  Others are ignored. */
static enum img_err take_part(struct webp_own *own, const struct chunk *c,
			      const uint8_t *bytes)
{
	enum img_err err = IMG_OK;

	if (own->has_picture)
		return IMG_OK;
	if (is_named(c, "ALPH")) {
		if (!has_arrived(c))
			return IMG_ERR_TRUNCATED;
		own->alpha_offset = c->offset;
		own->alpha_end = c->offset + CHUNK_HEAD_BYTES + c->bytes;
	}
	if (is_named(c, "VP8 ") || is_named(c, "VP8L")) {
		err = read_picture(own, c, bytes);
		own->has_picture = err == IMG_OK;
	}
	return err;
}

/* A frame of an animation.  Only the first one is read. */
static enum img_err take_frame(struct img_header *h, const struct chunk *c,
			       const uint8_t *bytes)
{
	struct webp_own *own = webp_own_change(h);
	size_t end = c->offset + CHUNK_HEAD_BYTES + c->bytes;
	size_t at = c->offset + CHUNK_HEAD_BYTES + FRAME_HEAD_BYTES;
	struct img_size size;

	if (c->bytes < FRAME_HEAD_BYTES)
		return IMG_ERR_CORRUPT;
	if (!has_arrived(c))
		return IMG_ERR_TRUNCATED;
	own->left = 2 * read24(c->data);
	own->top = 2 * read24(c->data + 3);
	size = (struct img_size){ 1 + read24(c->data + 6),
				  1 + read24(c->data + 9) };
	while (!own->has_picture) {
		struct chunk part;
		enum img_err err = read_chunk(&part, bytes, at, end, end);

		if (err == IMG_OK)
			err = take_part(own, &part, bytes);
		if (err != IMG_OK)
			return err == IMG_ERR_TRUNCATED ? IMG_ERR_CORRUPT : err;
		at = part.end;
	}
	if (own->size.width_px != size.width_px ||
	    own->size.height_px != size.height_px ||
	    own->left + size.width_px > own->canvas.width_px ||
	    own->top + size.height_px > own->canvas.height_px)
		return IMG_ERR_CORRUPT;
	return IMG_OK;
}

static enum img_err take_extended(struct img_header *h, const struct chunk *c,
				  const struct img_limits *limits)
{
	struct webp_own *own = webp_own_change(h);

	if (c->bytes != EXTENDED_BYTES)
		return IMG_ERR_CORRUPT;
	if (!has_arrived(c))
		return IMG_ERR_TRUNCATED;
	own->has_extended = true;
	own->flags = c->data[0];
	own->canvas = (struct img_size){ 1 + read24(c->data + 4),
					 1 + read24(c->data + 7) };
	h->stored = own->canvas;
	return format_check_size(h->stored, limits);
}

/*
 * Judge a matrix profile; this needs no memory.  Others are judged when the
 * picture is scaled, because that takes long.
 */
static void take_profile(struct img_header *h, const struct chunk *c)
{
	struct matrix_tags tags;

	h->icc_bytes = c->bytes;
	webp_own_change(h)->icc_offset = c->offset + CHUNK_HEAD_BYTES;
	if (c->bytes > 0 && matrix_read(&tags, c->data, c->bytes))
		h->profile = matrix_is_srgb(&tags) ? IMG_PROFILE_SRGB :
						     IMG_PROFILE_MATRIX;
}

static enum img_err take_metadata(struct img_header *h, const struct chunk *c)
{
	struct webp_own *own = webp_own_change(h);
	bool is_profile = is_named(c, "ICCP") && (own->flags & HAS_ICC) != 0 &&
			  h->icc_bytes == 0 && !own->has_picture &&
			  h->frames == 0;
	bool is_exif = is_named(c, "EXIF") && (own->flags & HAS_EXIF) != 0 &&
		       !own->has_exif;

	if (!is_profile && !is_exif)
		return IMG_OK;
	if (!has_arrived(c))
		return IMG_ERR_TRUNCATED;
	if (is_profile) {
		take_profile(h, c);
		return IMG_OK;
	}
	own->has_exif = true;
	h->orientation = exif_orientation(c->data, c->bytes);
	if (h->orientation == 0) /* some programs write a JPEG's marker */
		h->orientation = exif_app1_orientation(c->data, c->bytes);
	return IMG_OK;
}

/* A chunk of the container.  The first says which others may come. */
static enum img_err take_chunk(struct img_header *h, const struct chunk *c,
			       const uint8_t *bytes,
			       const struct img_limits *limits)
{
	struct webp_own *own = webp_own_change(h);
	bool is_animated = (own->flags & HAS_ANIMATION) != 0;
	enum img_err err;

	if (own->offset == WEBP_MAGIC_BYTES && is_named(c, "VP8X"))
		return take_extended(h, c, limits);
	if (own->offset == WEBP_MAGIC_BYTES && !is_named(c, "VP8 ") &&
	    !is_named(c, "VP8L"))
		return IMG_ERR_CORRUPT;
	if (is_animated && is_named(c, "ANMF")) {
		err = h->frames == 0 ? take_frame(h, c, bytes) : IMG_OK;
		h->frames += err == IMG_OK;
		return err;
	}
	if (is_animated)
		return take_metadata(h, c);
	err = take_part(own, c, bytes);
	if (err != IMG_OK || !own->has_picture)
		return err != IMG_OK ? err : take_metadata(h, c);
	if (own->has_extended && (own->canvas.width_px != own->size.width_px ||
				  own->canvas.height_px != own->size.height_px))
		return IMG_ERR_CORRUPT;
	own->canvas = h->stored = own->size;
	err = format_check_size(h->stored, limits);
	return err != IMG_OK ? err : take_metadata(h, c);
}

/* False: what follows matters. */
static bool has_all(const struct webp_own *own)
{
	if (own->offset >= own->end)
		return true;
	return own->has_picture && (own->flags & HAS_ANIMATION) == 0 &&
	       (own->has_exif || (own->flags & HAS_EXIF) == 0);
}

static enum img_err walk(struct img_header *h, const uint8_t *bytes,
			 const struct img_limits *limits)
{
	struct webp_own *own = webp_own_change(h);
	enum img_err err = IMG_OK;
	struct chunk c;

	if (own->offset == 0) {
		if (h->bytes < WEBP_MAGIC_BYTES)
			return IMG_ERR_TRUNCATED;
		own->end = CHUNK_HEAD_BYTES + (size_t)read32(bytes + 4);
		own->offset = WEBP_MAGIC_BYTES;
		if (own->end <= own->offset)
			return IMG_ERR_CORRUPT;
	}
	while (err == IMG_OK && !has_all(own)) {
		err = read_chunk(&c, bytes, own->offset, h->bytes, own->end);
		if (err == IMG_OK)
			err = take_chunk(h, &c, bytes, limits);
		if (err == IMG_OK)
			own->offset = c.end;
	}
	return err;
}

enum img_err webp_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct img_limits *limits)
{
	struct webp_own *own = webp_own_change(h);
	enum img_space space = IMG_YCBCR;
	enum img_err err;

	if (own->has_ended)
		return IMG_OK;
	err = walk(h, bytes, limits);
	if (err != IMG_OK)
		return err;
	if (!own->has_picture)
		return IMG_ERR_CORRUPT;
	if (own->is_lossless)
		space = IMG_RGB;
	if (own->has_alpha || img_pixels(own->size) < img_pixels(own->canvas))
		space = IMG_RGBA;
	err = format_set_full(h, space, limits);
	if (space == IMG_YCBCR)
		h->h_factors[0] = h->v_factors[0] = 2;
	own->has_ended = err == IMG_OK;
	return err;
}
