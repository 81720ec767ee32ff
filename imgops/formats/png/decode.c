/* SPDX-License-Identifier: MIT */
/*
 * Decode: chunks -> inflate.c -> rows.c -> planes, a row at a time.
 *
 * The pixels of unusual kinds are first expanded to bytes: those of 1, 2, 4 and
 * 16 bits, of a palette, grey with alpha, and those of which one colour is
 * transparent.  16 bits are rounded to 8.
 *
 * A picture is whole if its deflated data end with the right checksum, and no
 * CRC of what was read is wrong.  What follows, such as a missing IEND, is not
 * looked at.
 */
#include "imgops/formats/png/png.h"

#include "imgops/estimate.h"
#include "imgops/formats/png/inflate.h"
#include "imgops/formats/png/rows.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

#include <libdeflate.h>

enum {
	MISSING = 128, /* samples of the rows that a damaged file lacks */
	COLOURS = 256,
	OPAQUE = 255,
	CRC_PART = 1 << 20,   /* bytes between two pauses */
	PART_CHUNKS = 1 << 9, /* chunks, too */
};

/* Which pixels come together (PNG 8.1), and where they go. */
struct pass {
	uint32_t x, y, across, down;
};

static const struct pass whole = { 0, 0, 1, 1 };
static const struct pass adam7[] = {
	{ 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
	{ 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 },
};

static uint32_t passes_of(const struct pass **passes, const struct png_own *own)
{
	*passes = own->is_interlaced ? adam7 : &whole;
	return own->is_interlaced ? ARRAY_SIZE(adam7) : 1;
}

/* A side of 0: the pass has no pixels. */
static struct img_size size_of(const struct pass *p, struct img_size size)
{
	return (struct img_size){
		(size.width_px + p->across - 1 - p->x) / p->across,
		(size.height_px + p->down - 1 - p->y) / p->down,
	};
}

static uint64_t raw_bytes(const struct img_header *h)
{
	const struct pass *passes;
	uint32_t count = passes_of(&passes, png_own(h));
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct img_size s = size_of(&passes[i], h->stored);

		if (s.width_px > 0)
			sum += (uint64_t)s.height_px *
			       (1 + png_row_bytes(png_own(h), s.width_px));
	}
	return sum;
}

struct decoder {
	const struct img_header *header;
	const struct png_own *own;
	const struct png_rows *rows;
	const uint8_t *file;
	size_t file_bytes, at; /* of the next chunk */
	uint32_t chunk_count;
	bool lenient, is_damaged, is_opaque;
	enum img_err err;   /* rows are missing because of it */
	uint64_t row_count; /* that were read */
	struct image *dst;
	const struct memory *memory;

	struct inflate *z;
	uint8_t *window;
	size_t window_bytes;
	uint8_t *row, *above;             /* without filter */
	uint8_t *pixels;                  /* expanded */
	uint8_t *samples[IMG_PLANES_MAX]; /* of a pass, or what is not used */
	uint8_t colours[COLOURS][4];      /* the palette */
	uint32_t key[3];                  /* the transparent colour */
};

/* --- Memory: one block for all but the planes --- */

struct sizes {
	size_t window, row, pixels, samples, all;
};

static struct sizes sizes_of(const struct img_header *h)
{
	size_t row = png_row_bytes(png_own(h), h->stored.width_px);
	struct sizes s = {
		.window = INFLATE_WINDOW(row + 1),
		.row = PNG_BEFORE + row + PNG_AFTER,
		.pixels = (size_t)h->stored.width_px * 4 + PNG_AFTER,
		.samples = h->stored.width_px + PNG_AFTER,
	};

	/* A small picture needs less, but its profile may not. */
	if (h->icc_bytes == 0)
		s.window = min_u64(s.window, raw_bytes(h) + INFLATE_SLACK + 1);
	s.all = sizeof(struct inflate) + s.window + 2 * s.row + s.pixels +
		IMG_PLANES_MAX * s.samples;
	return s;
}

static void point_rows(struct decoder *d, uint8_t *block, const struct sizes *s)
{
	uint8_t *next = block + sizeof(struct inflate);

	d->z = (void *)block;
	d->window = next;
	d->window_bytes = s->window;
	next += s->window;
	memset(next, 0, 2 * s->row);
	d->row = next + PNG_BEFORE;
	d->above = d->row + s->row;
	next += 2 * s->row;
	d->pixels = next;
	next += s->pixels;
	for (uint32_t i = 0; i < IMG_PLANES_MAX; i++, next += s->samples)
		d->samples[i] = next;
	assert(next == block + s->all);
}

/* --- Chunks --- */

static bool crc_is_right(const struct decoder *d, const uint8_t *data,
			 size_t bytes)
{
	uint32_t crc = libdeflate_crc32(0, data - 4, 4);

	for (size_t at = 0; at < bytes; at += CRC_PART) {
		crc = libdeflate_crc32(crc, data + at,
				       min_u64(bytes - at, CRC_PART));
		memory_pause(d->memory);
	}
	return crc == png_read32(data + bytes);
}

/* False: no IDAT follows. */
static bool next_idat(struct inflate *z)
{
	struct decoder *d = z->arg;
	const uint8_t *head = d->file + d->at;
	size_t left = d->file_bytes - d->at, bytes;

	if (left < PNG_CHUNK_HEAD ||
	    png_read32(head + 4) != PNG_NAME('I', 'D', 'A', 'T'))
		return false;
	bytes = png_read32(head);
	if (bytes > PNG_CHUNK_BYTES_MAX)
		return false;
	z->in = head + PNG_CHUNK_HEAD;
	if (left < bytes + PNG_CHUNK_EXTRA) {
		z->in_end = z->in + min_u64(bytes, left - PNG_CHUNK_HEAD);
		d->at = d->file_bytes;
		return true;
	}
	z->in_end = z->in + bytes;
	d->at += bytes + PNG_CHUNK_EXTRA;
	if (++d->chunk_count % PART_CHUNKS == 0)
		memory_pause(d->memory);
	if (!crc_is_right(d, z->in, bytes))
		d->is_damaged = true;
	return true;
}

/* NO_MEMORY, or OK: a profile that cannot be read is ignored. */
static enum img_err read_profile(struct decoder *d)
{
	const struct img_header *h = d->header;
	const struct png_own *own = d->own;
	struct inflate *z = d->z;
	bool is_read = false;
	uint8_t *profile;
	size_t n;

	if (own->has_bad_profile)
		d->dst->notes |= IMG_NOTE_BAD_PROFILE;
	if (h->icc_bytes == 0)
		return IMG_OK;
	profile = memory_alloc(d->memory, h->icc_bytes);
	if (profile == NULL)
		return IMG_ERR_NO_MEMORY;
	if (own->makes_profile)
		is_read = icc_write(profile, &own->colours) == h->icc_bytes;
	inflate_init(z, d->file + own->icc.offset, own->icc.bytes, d->window,
		     d->window_bytes);
	z->memory = d->memory;
	for (size_t at = 0; !own->makes_profile && at < h->icc_bytes; at += n) {
		const uint8_t *bytes;

		n = min_u64(h->icc_bytes - at, INFLATE_HISTORY);
		is_read = inflate_take(z, &bytes, n) == IMG_OK;
		if (!is_read)
			break;
		memcpy(profile + at, bytes, n);
	}
	if (is_read && !own->makes_profile)
		is_read = inflate_finish(z) == IMG_OK;
	if (!is_read) {
		memory_free(d->memory, profile);
		d->dst->notes |= IMG_NOTE_BAD_PROFILE;
		return IMG_OK;
	}
	d->dst->profile = profile;
	d->dst->profile_bytes = h->icc_bytes;
	d->dst->is_srgb = h->profile == IMG_PROFILE_SRGB;
	return IMG_OK;
}

/* Of the palette, or the transparent colour. */
static void read_colours(struct decoder *d)
{
	const uint8_t *palette = d->file + d->own->palette.offset;
	const uint8_t *alpha = d->file + d->own->alpha.offset;

	/* An index past the palette is black, as in libpng. */
	for (uint32_t i = 0; i < COLOURS; i++) {
		memset(d->colours[i], 0, 3);
		if (i < d->own->palette.bytes / 3)
			memcpy(d->colours[i], palette + 3 * (size_t)i, 3);
		d->colours[i][3] = OPAQUE;
		if (d->own->type == PNG_PALETTE && i < d->own->alpha.bytes)
			d->colours[i][3] = alpha[i];
	}
	for (uint32_t i = 0; i < 3 && d->own->type != PNG_PALETTE &&
			     2 * i < d->own->alpha.bytes;
	     i++)
		d->key[i] = ((uint32_t)alpha[2 * i] << 8 | alpha[2 * i + 1]) &
			    ((1u << d->own->depth) - 1);
}

/* --- Pixels --- */

#define INLINED __attribute__((always_inline))

INLINED static inline uint32_t sample_at(const uint8_t *in, size_t i,
					 uint32_t depth)
{
	size_t bit = i * depth;

	if (depth == 16)
		return (uint32_t)in[2 * i] << 8 | in[2 * i + 1];
	return (uint32_t)in[bit / 8] >> (8 - depth - bit % 8) &
	       ((1u << depth) - 1);
}

INLINED static inline uint8_t level_of(uint32_t sample, uint32_t depth)
{
	if (depth == 16)
		return (uint8_t)((sample * 255 + 32895) >> 16);
	return (uint8_t)(sample * 255 / ((1u << depth) - 1));
}

/* `colours` samples of colour, and perhaps one of alpha. */
INLINED static inline void expand(const struct decoder *d, uint8_t *out,
				  const uint8_t *in, size_t width,
				  uint32_t depth, uint32_t colours,
				  bool has_alpha)
{
	bool has_key = d->own->alpha.bytes > 0;
	bool is_rgba = has_alpha || has_key;
	uint32_t step = colours + has_alpha;

	for (size_t x = 0; x < width; x++) {
		bool is_key = has_key;

		for (uint32_t i = 0; i < colours; i++) {
			uint32_t v = sample_at(in, x * step + i, depth);

			is_key = is_key && v == d->key[i];
			*out++ = level_of(v, depth);
		}
		if (!is_rgba)
			continue;
		for (uint32_t i = colours; i < 3; i++, out++)
			*out = out[-1];
		*out = is_key ? 0 : OPAQUE;
		if (has_alpha)
			*out = level_of(
				sample_at(in, x * step + colours, depth),
				depth);
		out++;
	}
}

static void expand_palette(const struct decoder *d, uint8_t *out,
			   const uint8_t *in, size_t width)
{
	if (d->own->depth == 8) {
		for (size_t x = 0; x < width; x++)
			memcpy(out + 4 * x, d->colours[in[x]], 4);
		return;
	}
	for (size_t x = 0; x < width; x++)
		memcpy(out + 4 * x, d->colours[sample_at(in, x, d->own->depth)],
		       4);
}

/* Bytes that are samples already are used as they are. */
static bool is_common(const struct png_own *own)
{
	return own->depth == 8 && own->alpha.bytes == 0 &&
	       (own->type == PNG_GREY || own->type == PNG_RGB ||
		own->type == PNG_RGBA);
}

static uint8_t *expand_row(struct decoder *d, uint8_t *in, size_t width)
{
	const struct png_own *own = d->own;

	if (is_common(own))
		return in;
	if (own->type == PNG_PALETTE)
		expand_palette(d, d->pixels, in, width);
	else if (own->type == PNG_GREY)
		expand(d, d->pixels, in, width, own->depth, 1, false);
	else if (own->type == PNG_GREY_ALPHA)
		expand(d, d->pixels, in, width, own->depth, 1, true);
	else if (own->type == PNG_RGB)
		expand(d, d->pixels, in, width, own->depth, 3, false);
	else
		expand(d, d->pixels, in, width, own->depth, 3, true);
	return d->pixels;
}

/* A row of pixels as samples; NULL: it is missing. */
static void split_row(struct decoder *d, uint8_t *const to[IMG_PLANES_MAX],
		      uint8_t *in, size_t width)
{
	uint32_t count = d->dst->plane_count;

	if (in == NULL) {
		for (uint32_t i = 0; i < count; i++)
			memset(to[i], count == 4 ? 0 : MISSING, width);
		d->is_opaque = false;
		return;
	}
	in = expand_row(d, in, width);
	if (count == 1) {
		memcpy(to[0], in, width);
	} else if (count == 3 && d->own->type != PNG_PALETTE) {
		d->rows->split3(to, in, width);
	} else {
		memset(in + 4 * width, OPAQUE, PNG_AFTER);
		if (!d->rows->split4(to, in, width))
			d->is_opaque = false;
	}
}

static void put_row(struct decoder *d, const struct pass *pass, uint32_t y,
		    uint8_t *in, size_t width)
{
	uint8_t *to[IMG_PLANES_MAX] = { NULL, NULL, NULL, d->samples[3] };

	for (uint32_t i = 0; i < d->dst->plane_count; i++) {
		struct img_plane *p = &d->dst->planes[i];

		to[i] = p->samples +
			((size_t)y * pass->down + pass->y) * p->stride_bytes;
	}
	if (pass == &whole) {
		split_row(d, to, in, width);
		return;
	}
	split_row(d, d->samples, in, width);
	for (uint32_t i = 0; i < d->dst->plane_count; i++)
		for (size_t x = 0; x < width; x++)
			to[i][pass->x + x * pass->across] = d->samples[i][x];
}

/* The next row without its filter, at d->row; else d->err is set. */
static void read_row(struct decoder *d, size_t bytes)
{
	const uint8_t *in;
	uint8_t *last = d->row;

	d->err = inflate_take(d->z, &in, bytes + 1);
	if (d->err == IMG_OK && in[0] >= PNG_FILTERS)
		d->err = IMG_ERR_CORRUPT;
	if (d->err != IMG_OK)
		return;
	d->row = d->above;
	d->above = last;
	d->rows->undo(d->row, in + 1, d->above, in[0], png_step(d->own), bytes);
}

/* Of a damaged file, the rows that are missing are made up. */
static bool may_go_on(const struct decoder *d)
{
	return d->err == IMG_OK ||
	       (d->lenient && d->row_count > 0 && d->err != IMG_ERR_IRREGULAR);
}

static void read_pass(struct decoder *d, const struct pass *pass)
{
	struct img_size s = size_of(pass, d->header->stored);
	size_t bytes = png_row_bytes(d->own, s.width_px);

	if (s.width_px == 0)
		return;
	memset(d->row, 0, bytes);
	for (uint32_t y = 0; y < s.height_px && may_go_on(d); y++) {
		if (d->err == IMG_OK)
			read_row(d, bytes);
		else
			memory_pause(d->memory);
		if (d->err == IMG_OK)
			d->row_count++;
		put_row(d, pass, y, d->err == IMG_OK ? d->row : NULL,
			s.width_px);
	}
}

static enum img_err read_pixels(struct decoder *d)
{
	const struct pass *passes;
	uint32_t count = passes_of(&passes, d->own);
	struct inflate *z = d->z;

	read_colours(d);
	inflate_init(z, d->file, 0, d->window, d->window_bytes);
	z->next = next_idat;
	z->arg = d;
	z->memory = d->memory;
	z->patient = d->header->is_irregular;
	for (uint32_t i = 0; i < count; i++)
		read_pass(d, &passes[i]);
	if (d->err == IMG_OK)
		d->err = inflate_finish(z);
	if (d->err == IMG_OK && d->is_damaged)
		d->err = IMG_ERR_CORRUPT;
	if (d->err != IMG_OK)
		d->dst->notes |= IMG_NOTE_DAMAGED;
	return may_go_on(d) ? IMG_OK : d->err;
}

static enum img_err png_decode(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *h,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory)
{
	struct sizes sizes = sizes_of(h);
	struct decoder d = {
		.header = h,
		.own = png_own(h),
		.rows = png_rows_best(),
		.file = bytes,
		.file_bytes = count,
		.at = png_own(h)->idat_offset,
		.is_damaged = png_own(h)->is_damaged,
		.is_opaque = true,
		.lenient = transform->lenient,
		.dst = dst,
		.memory = memory,
	};
	struct img_limits less = *limits;
	uint8_t *block;
	enum img_err err;

	(void)view; /* there is only one size */
	if (sizes.all > limits->decode_bytes_max)
		return IMG_ERR_TOO_LARGE;
	less.decode_bytes_max -= sizes.all;
	err = format_alloc(dst, h, &less, memory);
	if (err != IMG_OK)
		return err;
	block = memory_alloc(memory, sizes.all);
	if (block != NULL) {
		point_rows(&d, block, &sizes);
		err = read_profile(&d);
		if (err == IMG_OK)
			err = read_pixels(&d);
		memory_free(memory, block);
	} else {
		err = IMG_ERR_NO_MEMORY;
	}
	if (err != IMG_OK) {
		img_release(dst);
	} else if (dst->space == IMG_RGBA && d.is_opaque) {
		dst->space = IMG_RGB;
		dst->plane_count = 3;
		dst->planes[3] = (struct img_plane){ 0 };
	}
	return err;
}

static bool png_decode_again(struct img_header *h, enum img_err err)
{
	if (err != IMG_ERR_IRREGULAR || h->is_irregular)
		return false;
	h->is_irregular = h->has_findings = true;
	return true;
}

static enum format_planes png_planes(const struct img_transform *transform)
{
	(void)transform;
	return FORMAT_RGB;
}

/*
 * Measured with 12 photos and screenshots, and one by one with files of flat
 * colours, noise, all types and depths, one column, and tables for every byte,
 * on an Intel Xeon that takes 1.6 times as long for an ordinary JPEG as
 * estimate.c says; these are the times divided by 1.6.
 */
enum {
	DEFLATED,
	RAW,
	SPLIT,
	EXPANDED,
	SCATTERED,
	ROWS,
	TABLES,
	FILES,
	DECODE_TERMS
};

static const struct estimate_term decode_terms[DECODE_TERMS] = {
	[DEFLATED] = { "deflated byte", 2 },
	[RAW] = { "byte of the rows, or of a profile", 0.7 },
	[SPLIT] = { "sample", 0.1 },
	[EXPANDED] = { "sample of the file that is expanded", 2.5 },
	[SCATTERED] = { "sample of an interlaced file", 1 },
	[ROWS] = { "row", 25 },
	[TABLES] = { "deflated byte of an irregular file", 40 },
	[FILES] = { "file", 6000 },
};

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	const struct png_own *own = png_own(h);
	double pixels = (double)img_pixels(h->stored);
	double deflated =
		(double)(h->bytes - own->idat_offset) + (double)own->icc.bytes;

	counts[DEFLATED] = deflated;
	counts[RAW] = (double)raw_bytes(h) + (double)h->icc_bytes;
	counts[SPLIT] = pixels * h->component_count;
	if (!is_common(own))
		counts[EXPANDED] = pixels * png_samples(own);
	if (own->is_interlaced)
		counts[SCATTERED] = pixels * h->component_count;
	counts[ROWS] = h->stored.height_px * (own->is_interlaced ? 2.0 : 1.0);
	if (h->is_irregular)
		counts[TABLES] = deflated;
	counts[FILES] = 1;
}

static uint64_t decode_bytes(const struct workload *w)
{
	return image_bytes(&w->decoded) + w->header->icc_bytes +
	       sizes_of(w->header).all;
}

static const struct img_codec codec = {
	.magic_bytes = PNG_SIGNATURE_BYTES,
	.recognise = png_recognise,
	.probe_more = png_probe_more,
	.decode = png_decode,
	.decode_again = png_decode_again,
	.decode_estimate =
		&(const struct step_estimate){ "decode", decode_terms,
					       DECODE_TERMS, decode_count,
					       decode_bytes },
	.encode = png_encode,
	.encode_estimate = &png_encode_estimate,
	.planes = png_planes,
	.holds_alpha = true,
	.holds_profile = true,
	.holds_metadata = true,
	.metadata = png_metadata,
};

const struct img_format png_format = {
	.name = "PNG",
	.word = "png",
	.media_type = "image/png",
	.suffix = "png",
	.codec = &codec,
};
