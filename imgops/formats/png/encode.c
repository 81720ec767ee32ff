/* SPDX-License-Identifier: MIT */
/*
 * Encode: each row gets the filter whose differences are the smallest, as the
 * standard proposes (PNG 12.7), and libdeflate compresses.
 *
 * libdeflate compresses everything in one call, which cannot pause.  So a large
 * picture is compressed in strips, each an IDAT of its own.  The last block of
 * a strip is marked as the last of all, and may end inside a byte: inflate.c
 * finds it, the mark is removed, and an empty stored block fills the byte.
 */
#include "imgops/formats/png/png.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/png/inflate.h"
#include "imgops/formats/png/rows.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

#include <libdeflate.h>

enum {
	/*
	 * The usual level of libdeflate: 6 takes 1.7 times as long for 3 %
	 * fewer bytes, 1 takes 0.6 of the time for 8 % more.
	 */
	EFFORT = 4,
	EFFORT_MAX = 9,
	STRIP_BYTES = 768 << 10, /* some ms at the usual effort */
	HEADER_BYTES = 13,
	DEPTH = 8,
	XMP_HEAD_BYTES = 4, /* not compressed, no language, no translation */
	/* Signature, IHDR, sRGB, IEND; and the name of a profile. */
	FIXED_BYTES = 128,
	/* Of each IDAT: the chunk, zlib's head and checksum, an empty block. */
	IDAT_EXTRA = PNG_CHUNK_EXTRA + 2 + 4 + 6,
};

struct encoder {
	struct image *src;
	const struct memory *memory;
	const struct png_rows *rows;
	struct libdeflate_compressor *deflate;
	size_t row_bytes;
	uint32_t step, strip_rows;

	uint8_t *strip; /* filtered rows of a strip */
	uint8_t *row, *above;
	uint8_t *best, *trial;   /* filtered */
	struct inflate *inflate; /* NULL: there is only one strip */
	uint8_t *window;
	uint32_t adler;

	uint8_t *out;
	size_t used, room;
};

/* --- Sizes, which do not depend on what is in the picture --- */

/* What deflated data may have, at most. */
static size_t deflated_max(size_t bytes)
{
	return libdeflate_zlib_compress_bound(NULL, bytes);
}

struct sizes {
	size_t row, line, strip, inflate, work, out;
	uint32_t strip_rows;
};

static size_t metadata_bytes(const struct img_metadata *m)
{
	return m == NULL ? 0 :
			   m->exif.count + m->xmp.count + sizeof(PNG_XMP_NAME) +
				   XMP_HEAD_BYTES + 2 * PNG_CHUNK_EXTRA;
}

static struct sizes sizes_of(const struct image *src, size_t profile_bytes)
{
	const struct img_plane *p = &src->planes[0];
	struct sizes s = { .row = (size_t)p->width * src->plane_count };
	uint32_t strips;

	s.line = PNG_BEFORE + s.row + PNG_AFTER;
	s.strip_rows = (uint32_t)max_u64(STRIP_BYTES / (s.row + 1), 1);
	s.strip_rows = min_u32(s.strip_rows, p->height);
	strips = (p->height + s.strip_rows - 1) / s.strip_rows;
	s.strip = s.strip_rows * (s.row + 1);
	if (strips > 1)
		s.inflate = sizeof(struct inflate) +
			    INFLATE_WINDOW(INFLATE_HISTORY);
	s.work = s.inflate + s.strip + 4 * s.line;
	s.out = FIXED_BYTES + metadata_bytes(src->metadata) +
		deflated_max(profile_bytes) +
		strips * (deflated_max(s.strip) + IDAT_EXTRA);
	return s;
}

/* --- Chunks --- */

static void write32(uint8_t *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (uint8_t)(v >> (24 - 8 * i));
}

static uint8_t *chunk_begin(struct encoder *e)
{
	return e->out + e->used + PNG_CHUNK_HEAD;
}

/* End a chunk that has `bytes` bytes since chunk_begin(). */
static void chunk_end(struct encoder *e, uint32_t name, size_t bytes)
{
	uint8_t *head = e->out + e->used;

	assert(e->used + PNG_CHUNK_EXTRA + bytes <= e->room);
	write32(head, (uint32_t)bytes);
	write32(head + 4, name);
	write32(head + PNG_CHUNK_HEAD + bytes,
		libdeflate_crc32(0, head + 4, 4 + bytes));
	e->used += PNG_CHUNK_EXTRA + bytes;
}

static void write_header(struct encoder *e)
{
	static const uint8_t types[] = {
		[1] = PNG_GREY, [3] = PNG_RGB, [4] = PNG_RGBA
	};
	uint8_t *to;

	memcpy(e->out, png_signature, PNG_SIGNATURE_BYTES);
	e->used = PNG_SIGNATURE_BYTES;
	to = chunk_begin(e);
	memset(to, 0, HEADER_BYTES);
	write32(to, e->src->planes[0].width);
	write32(to + 4, e->src->planes[0].height);
	to[8] = DEPTH;
	to[9] = types[e->step];
	chunk_end(e, PNG_NAME('I', 'H', 'D', 'R'), HEADER_BYTES);
}

static void write_colours(struct encoder *e)
{
	static const uint8_t name[] = { 'I', 'C', 'C', 0, 0 };
	uint8_t *to = chunk_begin(e);
	size_t bytes;

	if (e->src->profile == NULL) {
		*to = 0; /* perceptual */
		chunk_end(e, PNG_NAME('s', 'R', 'G', 'B'), 1);
		return;
	}
	memcpy(to, name, sizeof(name));
	bytes = libdeflate_zlib_compress(
		e->deflate, e->src->profile, e->src->profile_bytes,
		to + sizeof(name), deflated_max(e->src->profile_bytes));
	assert(bytes > 0);
	chunk_end(e, PNG_NAME('i', 'C', 'C', 'P'), sizeof(name) + bytes);
	memory_pause(e->memory);
}

static void write_metadata(struct encoder *e, const struct img_metadata *m)
{
	static const uint8_t head[XMP_HEAD_BYTES] = { 0 };
	uint8_t *to = chunk_begin(e);

	if (m->exif.count > 0) {
		memcpy(to, m->exif.bytes, m->exif.count);
		chunk_end(e, PNG_NAME('e', 'X', 'I', 'f'), m->exif.count);
	}
	if (m->xmp.count > 0) {
		to = chunk_begin(e);
		memcpy(to, PNG_XMP_NAME, sizeof(PNG_XMP_NAME));
		to += sizeof(PNG_XMP_NAME);
		memcpy(to, head, sizeof(head));
		memcpy(to + sizeof(head), m->xmp.bytes, m->xmp.count);
		chunk_end(e, PNG_NAME('i', 'T', 'X', 't'),
			  sizeof(PNG_XMP_NAME) + sizeof(head) + m->xmp.count);
	}
}

/* --- Rows --- */

static void filter_row(struct encoder *e, uint8_t *to, uint32_t y)
{
	uint8_t *last = e->row;
	uint64_t least = UINT64_MAX;

	e->row = e->above;
	e->above = last;
	colour_write_row(e->row, e->src, y);
	for (enum png_filter f = PNG_NONE; f < PNG_FILTERS; f++) {
		uint64_t sum = e->rows->filter(e->trial, e->row, e->above, f,
					       e->step, e->row_bytes);

		if (sum < least) {
			uint8_t *trial = e->trial;

			least = sum;
			*to = (uint8_t)f;
			e->trial = e->best;
			e->best = trial;
		}
	}
	memcpy(to + 1, e->best, e->row_bytes);
	memory_pause(e->memory);
}

/*
 * `count` bytes of deflated data: let more blocks follow, and end them with a
 * whole byte.  Returns the new count.
 */
static size_t open_end(struct encoder *e, uint8_t *data, size_t count,
		       size_t raw_bytes)
{
	struct inflate *z = e->inflate;
	enum img_err err = IMG_OK;
	const uint8_t *bytes;
	uint64_t end;

	inflate_init(z, data, count, e->window,
		     INFLATE_WINDOW(INFLATE_HISTORY));
	z->is_raw = true;
	z->patient = true;
	z->memory = e->memory;
	for (size_t n; err == IMG_OK && raw_bytes > 0; raw_bytes -= n) {
		n = min_u64(raw_bytes, INFLATE_HISTORY);
		err = inflate_take(z, &bytes, n);
	}
	if (err == IMG_OK)
		err = inflate_finish(z);
	assert(err == IMG_OK && z->state == INFLATE_END);
	end = inflate_bit(z);
	assert((end + 7) / 8 == count);
	data[z->block_bit / 8] &= (uint8_t) ~(1u << z->block_bit % 8);
	/* Three bits for the empty block; then the byte is filled by zeros. */
	if ((end + 3 + 7) / 8 > count)
		data[count++] = 0;
	write32(data + count, 0xffff);
	return count + 4;
}

static void write_strip(struct encoder *e, uint32_t y, uint32_t count)
{
	uint8_t *to = chunk_begin(e);
	size_t raw = count * (e->row_bytes + 1), bytes = 0;
	bool is_last = y + count == e->src->planes[0].height;

	for (uint32_t i = 0; i < count; i++)
		filter_row(e, e->strip + i * (e->row_bytes + 1), y + i);
	e->adler = libdeflate_adler32(e->adler, e->strip, raw);
	if (y == 0) {
		to[bytes++] = 0x78;
		to[bytes++] = 0x9c;
	}
	to += bytes;
	bytes = libdeflate_deflate_compress(e->deflate, e->strip, raw, to,
					    deflated_max(raw));
	assert(bytes > 0);
	memory_pause(e->memory);
	if (!is_last)
		bytes = open_end(e, to, bytes, raw);
	if (is_last) {
		write32(to + bytes, e->adler);
		bytes += 4;
	}
	chunk_end(e, PNG_NAME('I', 'D', 'A', 'T'),
		  bytes + (size_t)(to - chunk_begin(e)));
}

static void write_all(struct encoder *e)
{
	uint32_t height = e->src->planes[0].height;

	write_header(e);
	write_colours(e);
	if (e->src->metadata != NULL)
		write_metadata(e, e->src->metadata);
	for (uint32_t y = 0; y < height; y += e->strip_rows)
		write_strip(e, y, min_u32(e->strip_rows, height - y));
	(void)chunk_begin(e);
	chunk_end(e, PNG_NAME('I', 'E', 'N', 'D'), 0);
}

static void point_rows(struct encoder *e, uint8_t *block, const struct sizes *s)
{
	uint8_t **const lines[] = { &e->row, &e->above, &e->best, &e->trial };
	uint8_t *next = block + s->inflate;

	if (s->inflate > 0) {
		e->inflate = (void *)block;
		e->window = block + sizeof(struct inflate);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++, next += s->line) {
		memset(next, 0, s->line);
		*lines[i] = next + PNG_BEFORE;
	}
	e->strip = next;
	assert(next + s->strip == block + s->work);
}

/* The result in a block that is not much larger than it; or as it is. */
static void shrink(struct encoder *e)
{
	uint8_t *exact;

	if (e->used > e->room / 2)
		return;
	exact = memory_alloc(e->memory, e->used);
	if (exact == NULL)
		return;
	memcpy(exact, e->out, e->used);
	memory_free(e->memory, e->out);
	e->out = exact;
}

static int effort_of(const struct img_transform *transform)
{
	return transform->effort > 0 ? transform->effort : EFFORT;
}

enum img_err png_encode(uint8_t **bytes, size_t *count, struct image *src,
			const struct img_transform *transform, double quality,
			const struct memory *memory)
{
	struct sizes s = sizes_of(src, src->profile_bytes);
	struct encoder e = {
		.src = src,
		.memory = memory,
		.rows = png_rows_best(),
		.row_bytes = s.row,
		.step = src->plane_count,
		.strip_rows = s.strip_rows,
		.adler = 1,
		.room = s.out,
	};
	uint8_t *work = memory_alloc(memory, s.work);

	(void)quality;
	e.out = memory_alloc(memory, s.out);
	e.deflate = libdeflate_alloc_compressor(effort_of(transform));
	if (work != NULL && e.out != NULL && e.deflate != NULL) {
		point_rows(&e, work, &s);
		write_all(&e);
		shrink(&e);
		*bytes = e.out;
		*count = e.used;
	} else {
		memory_free(memory, e.out);
		e.out = NULL;
	}
	libdeflate_free_compressor(e.deflate);
	memory_free(memory, work);
	return e.out != NULL ? IMG_OK : IMG_ERR_NO_MEMORY;
}

/*
 * Measured as those of decode.c.  Flat colours take a third of the time that is
 * said here.
 */
enum { FILTERED, DEFLATED, ROWS, RESULTS, ENCODE_TERMS };

static const struct estimate_term terms[ENCODE_TERMS] = {
	[FILTERED] = { "sample", 2 },
	[DEFLATED] = { "sample, by the time of the usual effort", 8 },
	[ROWS] = { "row", 100 },
	[RESULTS] = { "result", 60000 },
};

static void encode_count(double *counts, const struct workload *w)
{
	/* How many times as long as the usual effort another takes. */
	static const double times[EFFORT_MAX + 1] = { 0,   0.7, 1, 1,   1,
						      1.3, 1.7, 3, 7.5, 11 };
	double samples =
		(double)img_pixels(w->view->size) * w->scaled.plane_count;

	counts[FILTERED] = samples;
	counts[DEFLATED] = samples * times[effort_of(w->transform)];
	counts[ROWS] = w->view->size.height_px;
	counts[RESULTS] = 1;
}

static uint64_t encode_bytes(const struct workload *w)
{
	struct sizes s = sizes_of(&w->scaled, w->profile_bytes);

	return image_bytes(&w->scaled) + w->profile_bytes + s.work + s.out +
	       s.out / 2;
}

const struct step_estimate png_encode_estimate = {
	.name = "encode",
	.terms = terms,
	.term_count = ENCODE_TERMS,
	.count = encode_count,
	.bytes = encode_bytes,
};
