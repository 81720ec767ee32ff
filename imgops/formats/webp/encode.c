/* SPDX-License-Identifier: MIT */
/*
 * Encoding by libwebp.  A lossy result without alpha goes to it in its own
 * samples, in the range of video; all others as pixels, which libwebp converts
 * if the result is lossy.
 *
 * libwebp reports its progress in hundredths of the work, from its own loops
 * and on the same thread.  It keeps nothing that belongs to a thread, so that
 * is when pauses are.
 */
#include "imgops/formats/webp/webp.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <webp/encode.h>

enum {
	RIFF_BYTES = 12,
	CHUNK_HEAD_BYTES = 8,
	EXTENDED_BYTES = CHUNK_HEAD_BYTES + 10, /* the chunk VP8X */
};

/* Flags of VP8X. */
enum { HAS_XMP = 4, HAS_EXIF = 8, HAS_ALPHA = 16, HAS_ICC = 32 };

struct encoder {
	const struct memory *memory;
	uint8_t *out; /* the result, after room for a profile */
	size_t profile_room;
	size_t metadata_room; /* after the result */
	size_t count;         /* of bytes in `out`, the room included */
	size_t size;          /* of `out` */
};

static uint32_t read32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[3] << 24;
}

static void write_number(uint8_t *to, size_t number, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(number >> 8 * i);
}

/*
 * libwebp has the whole file when it begins to write, and the first bytes give
 * its size.
 */
static int on_bytes(const uint8_t *data, size_t count, const WebPPicture *p)
{
	struct encoder *e = p->custom_ptr;

	if (e->out == NULL) {
		assert(count >= CHUNK_HEAD_BYTES);
		e->size = e->profile_room + CHUNK_HEAD_BYTES +
			  read32(data + 4) + e->metadata_room;
		e->out = memory_alloc(e->memory, e->size);
		e->count = e->profile_room;
	}
	if (e->out == NULL)
		return 0;
	assert(count <= e->size - e->count);
	memcpy(e->out + e->count, data, count);
	e->count += count;
	return 1;
}

static int on_progress(int percent, const WebPPicture *p)
{
	const struct encoder *e = p->custom_ptr;

	(void)percent;
	memory_pause(e->memory);
	return 1;
}

/* --- The profile, and the metadata --- */

/* A chunk of `bytes`, if there are any. */
static size_t chunk_bytes(size_t bytes)
{
	return bytes == 0 ? 0 : CHUNK_HEAD_BYTES + bytes + bytes % 2;
}

static size_t metadata_room(const struct image *src)
{
	const struct img_metadata *m = src->metadata;

	return m == NULL ?
		       0 :
		       chunk_bytes(m->exif.count) + chunk_bytes(m->xmp.count);
}

/* What comes before the picture, at most. */
static size_t profile_room(size_t profile_bytes, size_t metadata_bytes)
{
	return profile_bytes + metadata_bytes == 0 ?
		       0 :
		       EXTENDED_BYTES + chunk_bytes(profile_bytes);
}

/* Returns the end of the chunk. */
static uint8_t *put_chunk(uint8_t *to, const char *name, const uint8_t *data,
			  size_t bytes)
{
	if (bytes == 0)
		return to;
	memcpy(to, name, 4);
	write_number(to + 4, bytes, 4);
	memcpy(to + CHUNK_HEAD_BYTES, data, bytes);
	if (bytes % 2 == 1)
		to[CHUNK_HEAD_BYTES + bytes] = 0;
	return to + chunk_bytes(bytes);
}

static uint8_t flags_of(const struct image *src)
{
	const struct img_metadata *m = src->metadata;
	bool has_exif = m != NULL && m->exif.count > 0;
	bool has_xmp = m != NULL && m->xmp.count > 0;

	return (uint8_t)((src->profile_bytes > 0 ? HAS_ICC : 0) |
			 (has_exif ? HAS_EXIF : 0) | (has_xmp ? HAS_XMP : 0));
}

/*
 * Write chunks VP8X and ICCP before the others, and EXIF and XMP after them; a
 * VP8X is replaced.
 */
static void add_chunks(struct encoder *e, const struct image *src)
{
	uint8_t *chunks = e->out + e->profile_room + RIFF_BYTES, *to = e->out;
	bool is_extended = memcmp(chunks, "VP8X", 4) == 0;
	size_t rest = e->count - e->profile_room - RIFF_BYTES;
	const struct img_metadata *m = src->metadata;
	uint8_t flags = flags_of(src);

	if (is_extended) {
		flags |= chunks[CHUNK_HEAD_BYTES];
		chunks += EXTENDED_BYTES;
		rest -= EXTENDED_BYTES;
	} else if (memcmp(chunks, "VP8L", 4) == 0 &&
		   (chunks[CHUNK_HEAD_BYTES + 4] & 16) != 0) {
		flags |= HAS_ALPHA;
	}
	memcpy(to, e->out + e->profile_room, RIFF_BYTES);
	to += RIFF_BYTES;
	memcpy(to, "VP8X\x0a\0\0\0", CHUNK_HEAD_BYTES);
	write_number(to + 8, flags, 4);
	write_number(to + 12, src->planes[0].width - 1, 3);
	write_number(to + 15, src->planes[0].height - 1, 3);
	to += EXTENDED_BYTES;
	to = put_chunk(to, "ICCP", src->profile, src->profile_bytes);
	memmove(to, chunks, rest);
	to += rest;
	if (m != NULL) {
		to = put_chunk(to, "EXIF", m->exif.bytes, m->exif.count);
		to = put_chunk(to, "XMP ", m->xmp.bytes, m->xmp.count);
	}
	e->count = (size_t)(to - e->out);
	write_number(e->out + 4, e->count - CHUNK_HEAD_BYTES, 4);
}

/* --- The parameters --- */

/* libwebp's quality. */
const double webp_qualities[FORMAT_QUALITIES] = { 1,  8,  28, 57, 77,
						  84, 92, 99, 100 };

static double quality_of(const struct img_transform *t)
{
	return format_quality(webp_qualities, t->quality);
}

enum { METHOD_MOST = 6 };

/*
 * 1..9 become 0..6.  The most tries everything for a plane of alpha, which
 * takes up to 70 microseconds a pixel; one less is as good for it.
 */
static int method_of(int effort, bool has_alpha)
{
	enum { USUAL = 4 };
	int method = effort == 0 ? USUAL : (effort * 3 - 1) / 4;

	return method == METHOD_MOST && has_alpha ? method - 1 : method;
}

/*
 * 1..9 become 0..8.  Level 9 tries everything: it takes up to 100 microseconds
 * a pixel, for one per cent of the bytes.
 */
static int lossless_level_of(int effort)
{
	enum { USUAL = 6 };

	return effort == 0 ? USUAL : effort - 1;
}

/*
 * True: libwebp computes twice what it writes.  Otherwise it collects all
 * symbols of the result, which takes a third less time, but up to 27 bytes a
 * pixel, and the end of the work, when it writes them, has no pauses.
 */
static bool saves_memory(const struct image *src)
{
	return (uint64_t)src->planes[0].width * src->planes[0].height > 2 << 20;
}

/* False: another version of libwebp. */
static bool set_config(WebPConfig *c, const struct image *src,
		       const struct img_transform *t, double quality)
{
	if (!WebPConfigInit(c))
		return false;
	c->quality = (float)format_quality(webp_qualities, quality);
	c->method = method_of(t->effort, src->space == IMG_RGBA);
	c->low_memory = saves_memory(src);
	return !t->lossless ||
	       WebPConfigLosslessPreset(c, lossless_level_of(t->effort));
}

/* --- The samples --- */

static bool takes_pixels(enum img_space space, bool is_lossless)
{
	return is_lossless || space == IMG_RGBA;
}

/* The block that libwebp reads. */
static uint64_t input_bytes(const struct image *src, bool is_lossless)
{
	uint64_t width = src->planes[0].width, height = src->planes[0].height;

	if (takes_pixels(src->space, is_lossless))
		return width * height * sizeof(uint32_t) +
		       width * IMG_PLANES_MAX;
	return width * height + 2 * ((width + 1) / 2 * ((height + 1) / 2));
}

/* 0..255 to the range of video: the opposite of widen_row() in decode.c. */
static inline void narrow_row(uint8_t *restrict to,
			      const uint8_t *restrict from, uint32_t width,
			      uint16_t black, uint16_t add, uint16_t factor)
{
	for (uint32_t x = 0; x < width; x++) {
		uint16_t less = (uint16_t)(2 * from[x] + add);

		less = (uint16_t)(((uint32_t)less * factor) >> 16);
		to[x] = (uint8_t)(black + from[x] - less);
	}
}

static void narrow_luma(uint8_t *to, const uint8_t *from, uint32_t width)
{
	narrow_row(to, from, width, 16, 7, 4627);
}

static void narrow_chroma(uint8_t *to, const uint8_t *from, uint32_t width)
{
	narrow_row(to, from, width, 17, 32, 3982);
}

static void narrow_planes(WebPPicture *p, const struct image *src,
			  uint8_t *block, const struct memory *memory)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;
	uint32_t half = (width + 1) / 2, half_rows = (height + 1) / 2;
	uint8_t *const to[] = { block, block + (size_t)width * height,
				block + (size_t)width * height +
					(size_t)half * half_rows };

	p->use_argb = 0;
	p->y = to[0];
	p->u = to[1];
	p->v = to[2];
	p->y_stride = (int)width;
	p->uv_stride = (int)half;
	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *from = &src->planes[i];

		for (uint32_t y = 0; y < from->height; y++)
			(i == 0 ? narrow_luma : narrow_chroma)(
				to[i] + (size_t)y * from->width,
				from->samples + y * from->stride_bytes,
				from->width);
		memory_pause(memory);
	}
	if (src->space == IMG_GREY)
		memset(to[1], 128, 2 * (size_t)half * half_rows);
}

static void pack_pixels(WebPPicture *p, const struct image *src, uint8_t *block,
			const struct memory *memory)
{
	uint32_t width = src->planes[0].width, height = src->planes[0].height;
	uint32_t *argb = (uint32_t *)(void *)block;
	uint8_t *row = block + (size_t)width * height * sizeof(*argb);

	p->use_argb = 1;
	p->argb = argb;
	p->argb_stride = (int)width;
	for (uint32_t y = 0; y < height; y++) {
		const uint8_t *from = row;

		colour_write_row(row, src, y);
		for (uint32_t x = 0; x < width; x++, from += src->plane_count) {
			bool is_grey = src->plane_count == 1;
			uint32_t alpha = src->plane_count == 4 ? from[3] : 255;

			*argb++ = alpha << 24 | (uint32_t)from[0] << 16 |
				  (uint32_t)from[is_grey ? 0 : 1] << 8 |
				  from[is_grey ? 0 : 2];
		}
		memory_pause(memory);
	}
}

/* --- All --- */

/*
 * The memory of libwebp for a lossless picture, or a plane of alpha: for its
 * pixels, and for a histogram of each square.
 */
static uint64_t lossless_bytes(const struct image *src, int method,
			       uint64_t histogram_bytes)
{
	enum { ONCE_BYTES = 1280 << 10, HISTOGRAMS_MAX = 2600 };
	uint64_t width = src->planes[0].width, height = src->planes[0].height;
	uint64_t pixels = width * height, count;
	int bits = 7 - method;

	do {
		count = (1 + (width >> bits)) * (1 + (height >> bits));
		bits++;
	} while (count > HISTOGRAMS_MAX);
	return ONCE_BYTES + pixels * (method >= 5 ? 36 : 28) +
	       max_u64(pixels * 8, count * histogram_bytes);
}

/*
 * The memory of libwebp, at most: measured with version 1.2.4 and photos, and
 * with noise, which takes the most.
 */
static uint64_t library_bytes(const struct image *src, const WebPConfig *c)
{
	enum { ONCE_BYTES = 128 << 10, COLOUR_BYTES = 17 << 10 };
	enum { ALPHA_BYTES = 8 << 10, FINE = 80, METHOD_OF_SYMBOLS = 3 };
	uint64_t pixels =
		(uint64_t)src->planes[0].width * src->planes[0].height;
	uint64_t fine = (uint64_t)ceilf(fmaxf(c->quality - FINE, 0));
	uint64_t lossy = ONCE_BYTES + pixels * 6;

	if (!c->low_memory && c->method >= METHOD_OF_SYMBOLS)
		lossy += pixels * 10 + pixels * fine * 11 / 20;
	if (c->lossless)
		return lossless_bytes(src, c->method, COLOUR_BYTES);
	if (src->space != IMG_RGBA)
		return lossy;
	return max_u64(lossy + 3 * pixels,
		       lossless_bytes(src, c->method, ALPHA_BYTES));
}

static bool run(struct encoder *e, const struct image *src,
		const WebPConfig *config, uint8_t *input)
{
	WebPPicture p;
	bool ok;

	if (!WebPPictureInit(&p))
		return false;
	p.width = (int)src->planes[0].width;
	p.height = (int)src->planes[0].height;
	p.writer = on_bytes;
	p.custom_ptr = e;
	p.progress_hook = on_progress;
	if (takes_pixels(src->space, config->lossless))
		pack_pixels(&p, src, input, e->memory);
	else
		narrow_planes(&p, src, input, e->memory);
	ok = WebPEncode(config, &p);
	WebPPictureFree(&p); /* what libwebp has added to it */
	return ok;
}

enum img_err webp_encode(uint8_t **bytes, size_t *count, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory)
{
	struct encoder e = { .memory = memory,
			     .metadata_room = metadata_room(src),
			     .profile_room = profile_room(src->profile_bytes,
							  metadata_room(src)) };
	uint8_t *input = NULL;
	void *held = NULL;
	WebPConfig config;
	bool ok = false;

	assert(quality >= 1 && quality <= 100);
	if (set_config(&config, src, transform, quality))
		held = memory_alloc(memory,
				    (size_t)library_bytes(src, &config));
	if (held != NULL)
		input = memory_alloc(memory,
				     (size_t)input_bytes(src, config.lossless));
	if (input != NULL)
		ok = run(&e, src, &config, input);
	memory_free(memory, input);
	memory_free(memory, held);
	if (!ok) {
		memory_free(memory, e.out);
		return IMG_ERR_NO_MEMORY;
	}
	if (e.profile_room > 0)
		add_chunks(&e, src);
	*bytes = e.out;
	*count = e.count;
	return IMG_OK;
}

/* --- Estimate --- */

/*
 * Measured with photos of 800 x 450 and 1600 x 900 pixels, on an Intel Xeon
 * that takes 1.43 times as long for a JPEG as estimate.c says; these are the
 * times divided by that.  Noise takes twice as long.
 */
enum {
	TERM_RESULTS,
	TERM_METHOD, /* 0..METHOD_MOST */
	TERM_AGAIN = TERM_METHOD + METHOD_MOST + 1,
	TERM_FINE,
	TERM_ALPHA,
	TERM_LEVEL, /* 0..8 */
	TERM_COUNT = TERM_LEVEL + 9,
};

#define LOSSY "pixel of a lossy result, method "
#define LOSSLESS "pixel of a lossless result, level "

static const struct estimate_term encode_terms[TERM_COUNT] = {
	[TERM_RESULTS] = { "result", 300000 },
	[TERM_METHOD + 0] = { LOSSY "0", 22 },
	[TERM_METHOD + 1] = { LOSSY "1", 30 },
	[TERM_METHOD + 2] = { LOSSY "2", 38 },
	[TERM_METHOD + 3] = { LOSSY "3", 85 },
	[TERM_METHOD + 4] = { LOSSY "4", 80 },
	[TERM_METHOD + 5] = { LOSSY "5", 100 },
	[TERM_METHOD + 6] = { LOSSY "6", 217 },
	[TERM_AGAIN] = { "pixel that is computed twice", 50 },
	[TERM_FINE] = { "pixel times libwebp's quality over 80", 2 },
	[TERM_ALPHA] = { "pixel of a lossy result with alpha", 200 },
	[TERM_LEVEL + 0] = { LOSSLESS "0", 35 },
	[TERM_LEVEL + 1] = { LOSSLESS "1", 150 },
	[TERM_LEVEL + 2] = { LOSSLESS "2", 210 },
	[TERM_LEVEL + 3] = { LOSSLESS "3", 360 },
	[TERM_LEVEL + 4] = { LOSSLESS "4", 365 },
	[TERM_LEVEL + 5] = { LOSSLESS "5", 380 },
	[TERM_LEVEL + 6] = { LOSSLESS "6", 480 },
	[TERM_LEVEL + 7] = { LOSSLESS "7", 520 },
	[TERM_LEVEL + 8] = { LOSSLESS "8", 900 },
};

static void encode_count(double *counts, const struct workload *w)
{
	const struct img_transform *t = w->transform;
	double pixels = (double)webp_block_pixels(w->view->size);
	bool has_alpha = w->scaled.space == IMG_RGBA;
	int method = method_of(t->effort, has_alpha);

	counts[TERM_RESULTS] = 1;
	if (t->lossless) {
		counts[TERM_LEVEL + lossless_level_of(t->effort)] =
			(double)img_pixels(w->view->size);
		return;
	}
	counts[TERM_METHOD + method] = pixels;
	if (saves_memory(&w->scaled) && method > 2)
		counts[TERM_AGAIN] = pixels;
	if (quality_of(t) > 80)
		counts[TERM_FINE] = pixels * (quality_of(t) - 80);
	if (has_alpha)
		counts[TERM_ALPHA] = pixels;
}

/* The bytes of a result, at most: of noise. */
static uint64_t result_bytes(const struct image *img, bool is_lossless)
{
	enum { ONCE_BYTES = 4096 };
	uint64_t pixels =
		(uint64_t)img->planes[0].width * img->planes[0].height;
	uint64_t channels = img->plane_count == 4 ? 4 : 3;

	if (is_lossless)
		return ONCE_BYTES + pixels * channels + pixels / 16;
	return ONCE_BYTES + pixels * channels;
}

static uint64_t encode_bytes(const struct workload *w)
{
	const struct image *img = &w->scaled;
	bool is_lossless = w->transform->lossless;
	uint64_t working = 0;
	WebPConfig config;

	if (set_config(&config, img, w->transform, w->transform->quality))
		working = library_bytes(img, &config);
	return image_bytes(img) + w->profile_bytes + working +
	       input_bytes(img, is_lossless) + result_bytes(img, is_lossless) +
	       profile_room(w->profile_bytes, 1);
}

const struct step_estimate webp_encode_estimate = { "encode", encode_terms,
						    TERM_COUNT, encode_count,
						    encode_bytes };
