/* SPDX-License-Identifier: MIT */
/*
 * GIF87a and GIF89a: the first picture, on its screen.  giflib reads the
 * blocks; its memory does not grow with the picture.  Pixels are read here:
 * giflib takes a microsecond for each code that clears its table, and a file
 * may consist of these.  Only read: a GIF as a result has few colours and many
 * bytes.
 *
 * Where the first picture does not cover the screen, it is transparent; the
 * screen grows to hold the first picture, as in browsers.
 */
#include "imgops/formats/format.h"

#include "imgops/estimate.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

#include <gif_lib.h>

enum {
	SCREEN_BYTES = 13, /* signature and description of the screen */
	PICTURE_BYTES = 10,
	CONTROL_BYTES = 8, /* a graphic control extension */
	EXTENSION = 0x21,
	PICTURE = 0x2c,
	CONTROL = 0xf9,
	HAS_COLOURS = 0x80, /* bits of packed bytes */
	COLOUR_BITS = 0x07,
	IS_TRANSPARENT = 0x01,
	COLOURS = 256,
	CODE_BITS_MAX = 12,
	CODES_MAX = 1 << CODE_BITS_MAX,
	CALLS_PER_PAUSE = 512, /* of giflib, for up to 255 bytes */
};

/* Where the walk over the file's blocks has stopped. */
enum walk { AT_BLOCK, IN_DATA, AT_END };

struct FORMAT_OWN gif_own {
	size_t at; /* of the next byte to look at; 0: the walk begins */
	enum walk walk;
	uint32_t left, top, width, height; /* the first picture */
	bool is_found;                     /* the members above are set */
	bool is_transparent; /* one index of the first picture is */
	uint8_t clear_index;
};

FORMAT_OWN_FUNCTIONS(GIF, gif)

static bool gif_recognise(const uint8_t *b, size_t count)
{
	static const char *const signatures[] = { "GIF87a", "GIF89a" };
	size_t n = count < 6 ? count : 6;

	return memcmp(b, signatures[0], n) == 0 ||
	       memcmp(b, signatures[1], n) == 0;
}

static uint32_t read_u16(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8;
}

/* Bytes of the colour table that a packed byte announces. */
static size_t table_bytes(uint8_t packed)
{
	return (packed & HAS_COLOURS) != 0 ?
		       3u << ((packed & COLOUR_BITS) + 1) :
		       0;
}

/* The control block at `b` is about the picture that follows. */
static void read_control(struct gif_own *own, const uint8_t *b)
{
	own->is_transparent = (b[3] & IS_TRANSPARENT) != 0;
	own->clear_index = b[6];
}

static bool read_first(struct img_header *h, struct gif_own *own,
		       const uint8_t *b, const uint8_t *screen)
{
	own->left = read_u16(b + 1);
	own->top = read_u16(b + 3);
	own->width = read_u16(b + 5);
	own->height = read_u16(b + 7);
	own->is_found = true;
	h->stored = (struct img_size){
		(uint32_t)max_u64(read_u16(screen + 6), own->left + own->width),
		(uint32_t)max_u64(read_u16(screen + 8), own->top + own->height),
	};
	return own->width > 0 && own->height > 0;
}

/*
 * Look at the block at own->at.  False: it is not whole.  The walk goes on to
 * its data, or ends.
 */
static bool walk_block(struct img_header *h, struct gif_own *own,
		       const uint8_t *bytes, enum img_err *err)
{
	const uint8_t *b = bytes + own->at;
	size_t left = h->bytes - own->at;

	if (b[0] == EXTENSION) {
		bool is_control = left >= 2 && b[1] == CONTROL;

		if (left < 2 || (is_control && left < CONTROL_BYTES))
			return false;
		if (is_control && !own->is_found)
			read_control(own, b);
		own->at += 2;
		own->walk = IN_DATA;
	} else if (b[0] == PICTURE) {
		if (left < PICTURE_BYTES)
			return false;
		h->frames++;
		if (!own->is_found && !read_first(h, own, b, bytes))
			*err = IMG_ERR_CORRUPT;
		/* A byte for the size of codes is before the data. */
		own->at += PICTURE_BYTES + table_bytes(b[9]) + 1;
		own->walk = IN_DATA;
	} else {
		/* The end of the file, or what nobody reads. */
		if (!own->is_found)
			*err = IMG_ERR_CORRUPT;
		own->walk = AT_END;
	}
	return true;
}

/* Go on through data blocks, each of which begins with its size. */
static void walk_data(struct gif_own *own, const uint8_t *bytes, size_t count)
{
	while (own->at < count && bytes[own->at] != 0)
		own->at += 1u + bytes[own->at];
	if (own->at < count) {
		own->at++;
		own->walk = AT_BLOCK;
	}
}

static enum img_err walk(struct img_header *h, struct gif_own *own,
			 const uint8_t *bytes)
{
	enum img_err err = IMG_OK;

	if (own->at == 0) {
		if (h->bytes < SCREEN_BYTES)
			return IMG_ERR_TRUNCATED;
		own->at = SCREEN_BYTES + table_bytes(bytes[10]);
	}
	while (err == IMG_OK && own->walk != AT_END && own->at < h->bytes) {
		if (own->walk == IN_DATA)
			walk_data(own, bytes, h->bytes);
		else if (!walk_block(h, own, bytes, &err))
			break;
	}
	return err == IMG_OK && !own->is_found ? IMG_ERR_TRUNCATED : err;
}

static enum img_err gif_probe_more(struct img_header *h, const uint8_t *bytes,
				   const struct img_limits *limits)
{
	struct gif_own *own = gif_own_change(h);
	bool was_found = own->is_found, covers;
	enum img_err err = walk(h, own, bytes);

	if (err != IMG_OK || was_found)
		return err;
	covers = own->left == 0 && own->top == 0 &&
		 own->width == h->stored.width_px &&
		 own->height == h->stored.height_px;
	return format_set_full(
		h, own->is_transparent || !covers ? IMG_RGBA : IMG_RGB, limits);
}

/* --- Decode --- */

struct input {
	const uint8_t *next;
	size_t left;
	uint32_t calls;
	const struct memory *memory;
};

static int read_bytes(GifFileType *gif, GifByteType *to, int count)
{
	struct input *in = gif->UserData;
	size_t n = min_u64((size_t)count, in->left);

	memcpy(to, in->next, n);
	in->next += n;
	in->left -= n;
	if (++in->calls % CALLS_PER_PAUSE == 0)
		memory_pause(in->memory);
	return (int)n;
}

/* Go to the first picture; giflib skips the rest. */
static bool find_picture(GifFileType *gif)
{
	GifRecordType type = UNDEFINED_RECORD_TYPE;

	while (DGifGetRecordType(gif, &type) == GIF_OK &&
	       type == EXTENSION_RECORD_TYPE) {
		GifByteType *block;
		int code;

		if (DGifGetExtension(gif, &code, &block) != GIF_OK)
			return false;
		while (block != NULL)
			if (DGifGetExtensionNext(gif, &block) != GIF_OK)
				return false;
	}
	return type == IMAGE_DESC_RECORD_TYPE &&
	       DGifGetImageDesc(gif) == GIF_OK;
}

/* The colour of each index: R, G, B and alpha. */
typedef uint8_t palette[4][COLOURS];

/* False: the picture has no colours. */
static bool palette_make(palette p, const GifFileType *gif,
			 const struct gif_own *own)
{
	const ColorMapObject *map = gif->Image.ColorMap != NULL ?
					    gif->Image.ColorMap :
					    gif->SColorMap;

	memset(p, 0, sizeof(palette));
	for (int i = 0; map != NULL && i < map->ColorCount; i++) {
		p[0][i] = map->Colors[i].Red;
		p[1][i] = map->Colors[i].Green;
		p[2][i] = map->Colors[i].Blue;
	}
	memset(p[3], 255, COLOURS);
	if (own->is_transparent)
		for (int i = 0; i < 4; i++)
			p[i][own->clear_index] = 0;
	return map != NULL;
}

static void write_row(struct image *dst, const uint8_t *indices, uint32_t y,
		      const struct gif_own *own, palette p)
{
	for (uint32_t i = 0; i < dst->plane_count; i++) {
		struct img_plane *plane = &dst->planes[i];
		uint8_t *to = plane->samples +
			      (size_t)(own->top + y) * plane->stride_bytes +
			      own->left;

		for (uint32_t x = 0; x < own->width; x++)
			to[x] = p[i][indices[x]];
	}
}

/*
 * LZW (GIF89a, appendix F): a code is a string of indices.  Those from `next`
 * on do not exist, so the table is cleared without a look at it.
 */
struct lzw {
	GifFileType *gif;
	const GifByteType *block; /* of data, after its size */
	uint32_t left;            /* bytes of it */
	uint32_t bits, bit_count; /* that are not used yet, the first lowest */
	uint32_t clear;           /* the code; the next one ends the data */
	uint32_t least_bits, code_bits;
	uint32_t next;
	uint32_t last;    /* the code before; CODES_MAX: none */
	uint32_t pending; /* indices of the string, at the end of it */
	uint8_t string[CODES_MAX];
	uint16_t before[CODES_MAX]; /* the string without its last index */
	uint8_t ends[CODES_MAX];
};

static void lzw_clear(struct lzw *z)
{
	z->next = z->clear + 2;
	z->code_bits = z->least_bits;
	z->last = CODES_MAX;
}

/* giflib has read the description of the picture.  False: no data follow. */
static bool lzw_open(struct lzw *z, GifFileType *gif)
{
	GifByteType *block = NULL;
	int bits = 0;

	if (DGifGetCode(gif, &bits, &block) != GIF_OK || block == NULL ||
	    bits < 1 || bits > 8)
		return false;
	z->gif = gif;
	z->left = block[0];
	z->block = block + 1;
	z->bits = z->bit_count = z->pending = 0;
	z->clear = 1u << bits;
	z->least_bits = (uint32_t)bits + 1;
	for (uint32_t i = 0; i < z->clear; i++)
		z->ends[i] = (uint8_t)i;
	lzw_clear(z);
	return true;
}

static bool lzw_code(struct lzw *z, uint32_t *code)
{
	while (z->bit_count < z->code_bits) {
		if (z->left == 0) {
			GifByteType *block = NULL;

			if (DGifGetCodeNext(z->gif, &block) != GIF_OK ||
			    block == NULL)
				return false;
			z->left = block[0];
			z->block = block + 1;
			continue;
		}
		z->bits |= (uint32_t)*z->block++ << z->bit_count;
		z->bit_count += 8;
		z->left--;
	}
	*code = z->bits & ((1u << z->code_bits) - 1);
	z->bits >>= z->code_bits;
	z->bit_count -= z->code_bits;
	return true;
}

/* Write the string of `code`, from its end, and add a string to the table. */
static bool lzw_string(struct lzw *z, uint32_t code)
{
	bool has_last = z->last < CODES_MAX;
	uint32_t at = code, to = CODES_MAX;

	if (code == z->clear + 1 || code > z->next ||
	    (code == z->next && !has_last))
		return false;
	if (code == z->next) { /* the last string, and its first index again */
		to--;
		at = z->last;
	}
	for (; at > z->clear; at = z->before[at])
		z->string[--to] = z->ends[at];
	z->string[--to] = z->ends[at];
	if (code == z->next)
		z->string[CODES_MAX - 1] = z->string[to];
	if (has_last && z->next < CODES_MAX) {
		z->before[z->next] = (uint16_t)z->last;
		z->ends[z->next++] = z->string[to];
	}
	if (z->next >= 1u << z->code_bits && z->code_bits < CODE_BITS_MAX)
		z->code_bits++;
	z->last = code;
	z->pending = CODES_MAX - to;
	return true;
}

static bool lzw_row(struct lzw *z, uint8_t *row, uint32_t width)
{
	uint32_t n, code;

	for (uint32_t x = 0; x < width; x += n) {
		n = min_u32(z->pending, width - x);
		memcpy(row + x, z->string + CODES_MAX - z->pending, n);
		z->pending -= n;
		if (n == width - x)
			continue;
		if (!lzw_code(z, &code))
			return false;
		if (code == z->clear)
			lzw_clear(z);
		else if (!lzw_string(z, code))
			return false;
	}
	return true;
}

/* What is needed beside the planes. */
struct work {
	struct lzw lzw;
	uint8_t row[]; /* of indices */
};

/* Rows in the order of the file: all, or in four passes. */
static uint32_t read_rows(struct image *dst, GifFileType *gif,
			  struct work *work, const struct gif_own *own,
			  palette p)
{
	static const uint32_t firsts[] = { 0, 4, 2, 1 },
			      steps[] = { 8, 8, 4, 2 };
	uint32_t passes = gif->Image.Interlace ? 4 : 1, done = 0;

	if (!lzw_open(&work->lzw, gif))
		return 0;
	for (uint32_t pass = 0; pass < passes; pass++) {
		uint32_t y = passes > 1 ? firsts[pass] : 0;
		uint32_t step = passes > 1 ? steps[pass] : 1;

		for (; y < own->height; y += step) {
			if (!lzw_row(&work->lzw, work->row, own->width))
				return done;
			write_row(dst, work->row, y, own, p);
			memory_pause(dst->memory);
			done++;
		}
	}
	return done;
}

/* Transparent, or black. */
static void clear(struct image *dst)
{
	for (uint32_t i = 0; i < dst->plane_count; i++)
		for (uint32_t y = 0; y < dst->planes[i].height; y++) {
			memset(dst->planes[i].samples +
				       y * dst->planes[i].stride_bytes,
			       0, dst->planes[i].width);
			memory_pause(dst->memory);
		}
}

/* Why giflib cannot go on. */
static enum img_err error_of(const GifFileType *gif)
{
	const struct input *in = gif->UserData;

	if (gif->Error == D_GIF_ERR_NOT_ENOUGH_MEM)
		return IMG_ERR_NO_MEMORY;
	return in->left == 0 ? IMG_ERR_TRUNCATED : IMG_ERR_CORRUPT;
}

/* `dst` has its samples. */
static enum img_err read_picture(struct image *dst, GifFileType *gif,
				 struct work *work, const struct gif_own *own,
				 bool lenient)
{
	uint32_t done;
	palette p;

	if (!find_picture(gif))
		return error_of(gif);
	if (!palette_make(p, gif, own) || gif->Image.Width != (int)own->width ||
	    gif->Image.Height != (int)own->height)
		return IMG_ERR_CORRUPT;
	clear(dst);
	done = read_rows(dst, gif, work, own, p);
	if (done == own->height)
		return IMG_OK;
	dst->notes = IMG_NOTE_DAMAGED;
	if (lenient && done > 0)
		return IMG_OK;
	return error_of(gif);
}

static size_t work_bytes(const struct gif_own *own)
{
	return sizeof(struct work) + own->width;
}

static enum img_err gif_decode(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *h,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory)
{
	const struct gif_own *own = gif_own(h);
	struct input in = { bytes, count, 0, memory };
	enum img_err err = format_alloc(dst, h, limits, memory);
	GifFileType *gif = NULL;
	struct work *work = NULL;
	int why;

	(void)view; /* there is only one size */
	if (err != IMG_OK)
		return err;
	work = memory_alloc(memory, work_bytes(own));
	err = IMG_ERR_NO_MEMORY;
	if (work != NULL)
		gif = DGifOpen(&in, read_bytes, &why);
	if (gif != NULL)
		err = read_picture(dst, gif, work, own, transform->lenient);
	else if (work != NULL && why != D_GIF_ERR_NOT_ENOUGH_MEM)
		err = IMG_ERR_CORRUPT;
	if (gif != NULL)
		(void)DGifCloseFile(gif, &why);
	memory_free(memory, work);
	if (err != IMG_OK)
		img_release(dst);
	return err;
}

/*
 * Measured on an AMD EPYC with giflib 5.2.1: a photo, noise and one colour of
 * 3000 x 3000 pixels.
 */
enum { PIXELS, CLEARED, FILE_BYTES, ROWS, TERMS };

static const struct estimate_term terms[TERMS] = {
	[PIXELS] = { "pixel", 11 },
	[CLEARED] = { "sample of the screen", 0.1 },
	[FILE_BYTES] = { "byte", 8 },
	[ROWS] = { "row", 60 },
};

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	const struct gif_own *own = gif_own(h);

	counts[PIXELS] = (double)own->width * own->height;
	counts[CLEARED] = (double)img_pixels(h->stored) * h->component_count;
	counts[FILE_BYTES] = (double)h->bytes;
	counts[ROWS] = own->height;
}

static uint64_t decode_bytes(const struct workload *w)
{
	return image_bytes(&w->decoded) + work_bytes(gif_own(w->header));
}

static const struct img_codec codec = {
	.magic_bytes = 6,
	.recognise = gif_recognise,
	.probe_more = gif_probe_more,
	.decode = gif_decode,
	.decode_estimate =
		&(const struct step_estimate){ "decode", terms, TERMS,
					       decode_count, decode_bytes },
};

const struct img_format gif_format = {
	.name = "GIF",
	.word = "gif",
	.media_type = "image/gif",
	.suffix = "gif",
	.codec = &codec,
};
