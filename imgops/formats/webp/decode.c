/* SPDX-License-Identifier: MIT */
/*
 * Decoding by libwebp, in one of two ways.  A lossy picture without alpha
 * becomes its own planes of Y'CbCr 4:2:0, which libwebp writes where they are
 * needed; only their range is changed.  All others become interleaved pixels,
 * then planes.
 *
 * libwebp gets the file in pieces, so that there are pauses: its incremental
 * decoder does what rows it can and copies nothing.  A piece has about as many
 * bytes as PIECE_PX pixels have on average.  Rows that need no bytes of their
 * own, as those of a flat picture may, are decoded without a pause.
 *
 * VP8 places a sample of chroma in the centre of four of luma, as JPEG does:
 * libwebp's encoder averages four, and its decoder interpolates from there.
 */
#include "imgops/formats/webp/webp.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/image.h"

#include <assert.h>
#include <string.h>

#include <webp/decode.h>

enum {
	PIECE_PX = 16 << 10, /* half a millisecond */
	/* After each piece libwebp decodes up to eight rows again. */
	LOSSLESS_PIECE_PX = 128 << 10,
	PIECE_BYTES_MIN = 64,
	MISSING = 128, /* samples of the rows that a damaged file lacks */
};

struct decoder {
	const struct webp_own *own;
	const uint8_t *data; /* the picture's chunks */
	size_t count;        /* of it that are there */
	const struct memory *memory;
	WebPDecoderConfig config;
	/* Called after each piece, with the number of rows that are done. */
	void (*on_rows)(struct decoder *d, uint32_t rows);
	struct image *dst;
	uint32_t done; /* rows whose range is changed */
};

static enum img_err error_of(VP8StatusCode status)
{
	switch (status) {
	case VP8_STATUS_OK:
		return IMG_OK;
	case VP8_STATUS_OUT_OF_MEMORY:
		return IMG_ERR_NO_MEMORY;
	case VP8_STATUS_UNSUPPORTED_FEATURE:
		return IMG_ERR_UNSUPPORTED;
	case VP8_STATUS_SUSPENDED:
	case VP8_STATUS_NOT_ENOUGH_DATA:
		return IMG_ERR_TRUNCATED;
	default:
		return IMG_ERR_CORRUPT;
	}
}

/*
 * The bytes that libwebp gets next.  It reads the codes of a lossless picture
 * when it has an eighth of it, and until it has all codes it begins again each
 * time, so there are twice as many then.
 */
static size_t next_piece(const struct decoder *d, size_t given, uint32_t rows)
{
	uint64_t bytes = d->own->picture_end - d->own->picture_offset;
	uint64_t px = d->own->is_lossless ? LOSSLESS_PIECE_PX : PIECE_PX;
	uint64_t piece = bytes * px / img_pixels(d->own->size);

	piece = max_u64(piece, PIECE_BYTES_MIN);
	if (d->own->is_lossless && rows == 0)
		piece = max_u64(piece, given > 0 ? given : bytes / 8);
	return (size_t)min_u64(piece, d->count - given);
}

/* *rows: of the picture, from the top, that are right. */
static enum img_err run(struct decoder *d, uint32_t *rows)
{
	WebPIDecoder *webp = WebPIDecode(NULL, 0, &d->config);
	VP8StatusCode status = VP8_STATUS_SUSPENDED;
	int last = 0;

	*rows = 0;
	if (webp == NULL)
		return IMG_ERR_NO_MEMORY;
	for (size_t given = 0; given < d->count;) {
		given += next_piece(d, given, *rows);
		status = WebPIUpdate(webp, d->data, given);
		if (status != VP8_STATUS_OK && status != VP8_STATUS_SUSPENDED)
			break;
		(void)WebPIDecodedArea(webp, NULL, NULL, NULL, &last);
		*rows = (uint32_t)last;
		if (d->on_rows != NULL)
			d->on_rows(d, *rows);
		memory_pause(d->memory);
	}
	WebPIDelete(webp);
	return error_of(status);
}

/* As run(); OK also for the rows of a damaged file, if they may be used. */
static enum img_err run_lenient(struct decoder *d, uint32_t *rows,
				bool is_lenient)
{
	uint64_t bytes = d->own->library_bytes;
	void *held = memory_alloc(d->memory, (size_t)bytes);
	enum img_err err = IMG_ERR_NO_MEMORY;

	if (held != NULL)
		err = run(d, rows);
	memory_free(d->memory, held);
	if (err == IMG_OK || err == IMG_ERR_NO_MEMORY || !is_lenient ||
	    *rows == 0)
		return err;
	d->dst->notes |= IMG_NOTE_DAMAGED;
	return IMG_OK;
}

/* --- Planes of a lossy picture --- */

/*
 * A sample of video has the range 16..235, and of chroma 16..240; JFIF has
 * 0..255.  What is added to v is v * (255 / range - 1), rounded, computed in 16
 * bits and the upper half of a product by a constant, for which the compiler
 * uses the CPU's vectors.  The numbers were found by trying all; test_webp
 * checks that results are exact.
 */
static inline void widen_row(uint8_t *row, uint32_t width, int16_t range,
			     uint16_t add, uint16_t factor)
{
	enum { BLACK = 16 };

	for (uint32_t x = 0; x < width; x++) {
		int16_t v = (int16_t)(row[x] - BLACK);
		uint16_t more;

		v = v > 0 ? v : 0;
		v = v < range ? v : range;
		more = (uint16_t)(4 * v + add);
		more = (uint16_t)(((uint32_t)more * factor) >> 16);
		row[x] = (uint8_t)(v + more);
	}
}

static void widen_luma(uint8_t *row, uint32_t width)
{
	widen_row(row, width, 219, 12, 2694);
}

static void widen_chroma(uint8_t *row, uint32_t width)
{
	widen_row(row, width, 224, 29, 2267);
}

/* Rows of chroma come together with the first of their rows of luma. */
static uint32_t rows_of(const struct img_plane *p, uint32_t plane,
			uint32_t rows)
{
	return min_u32(plane == 0 ? rows : (rows + 1) / 2, p->height);
}

static void widen_rows(struct decoder *d, uint32_t rows)
{
	for (uint32_t i = 0; i < d->dst->plane_count; i++) {
		struct img_plane *p = &d->dst->planes[i];

		for (uint32_t y = rows_of(p, i, d->done);
		     y < rows_of(p, i, rows); y++) {
			(i == 0 ? widen_luma : widen_chroma)(
				p->samples + y * p->stride_bytes, p->width);
			memory_pause(d->memory);
		}
	}
	d->done = rows;
}

static enum img_err decode_planes(struct decoder *d, bool is_lenient)
{
	struct img_plane *p = d->dst->planes;
	WebPDecBuffer *out = &d->config.output;
	uint32_t rows = 0;
	enum img_err err;

	out->colorspace = MODE_YUV;
	out->u.YUVA = (WebPYUVABuffer){
		.y = p[0].samples,
		.u = p[1].samples,
		.v = p[2].samples,
		.y_stride = (int)p[0].stride_bytes,
		.u_stride = (int)p[1].stride_bytes,
		.v_stride = (int)p[2].stride_bytes,
		.y_size = p[0].stride_bytes * p[0].height,
		.u_size = p[1].stride_bytes * p[1].height,
		.v_size = p[2].stride_bytes * p[2].height,
	};
	d->on_rows = widen_rows;
	err = run_lenient(d, &rows, is_lenient);
	if (err != IMG_OK)
		return err;
	for (uint32_t i = 0; i < d->dst->plane_count; i++)
		for (uint32_t y = rows_of(&p[i], i, rows); y < p[i].height; y++)
			memset(p[i].samples + y * p[i].stride_bytes, MISSING,
			       p[i].width);
	return IMG_OK;
}

/* --- Pixels --- */

/* Interleaved pixels of the picture, or of a frame of an animation. */
struct pixels {
	uint8_t *block;
	uint32_t channels; /* 3, or 4 with alpha, which is not multiplied */
	size_t row_bytes;
	uint32_t rows; /* that are right */
};

static bool is_opaque(const struct pixels *p)
{
	size_t count = p->row_bytes * p->rows;

	for (size_t i = 3; p->channels == 4 && i < count; i += 4)
		if (p->block[i] != 255)
			return false;
	return true;
}

static void put_colours(uint8_t *const to[3], const uint8_t *pixels,
			uint32_t channels, uint32_t width)
{
	uint8_t *restrict red = to[0], *restrict green = to[1];
	uint8_t *restrict blue = to[2];

	for (uint32_t x = 0; x < width; x++, pixels += channels) {
		red[x] = pixels[0];
		green[x] = pixels[1];
		blue[x] = pixels[2];
	}
}

static void put_shares(uint8_t *const to[4], const uint8_t *pixels,
		       uint32_t width)
{
	uint8_t *restrict red = to[0], *restrict green = to[1];
	uint8_t *restrict blue = to[2], *restrict alpha = to[3];

	for (uint32_t x = 0; x < width; x++, pixels += 4) {
		uint8_t share = pixels[3];

		red[x] = colour_share(pixels[0], share);
		green[x] = colour_share(pixels[1], share);
		blue[x] = colour_share(pixels[2], share);
		alpha[x] = share;
	}
}

static void put_row(struct image *img, uint32_t left, uint32_t y,
		    const uint8_t *pixels, uint32_t channels, uint32_t width)
{
	uint8_t *to[IMG_PLANES_MAX] = { NULL };

	for (uint32_t i = 0; i < img->plane_count; i++)
		to[i] = img->planes[i].samples +
			y * img->planes[i].stride_bytes + left;
	if (img->plane_count == 4 && channels == 4) {
		put_shares(to, pixels, width);
		return;
	}
	put_colours(to, pixels, channels, width);
	if (img->plane_count == 4)
		memset(to[3], 255, width);
}

/* Fill a part of a row of all planes; alpha, if any, is `alpha`. */
static void fill_row(struct image *img, uint32_t left, uint32_t y,
		     uint8_t level, uint8_t alpha, uint32_t width)
{
	for (uint32_t i = 0; i < img->plane_count; i++)
		memset(img->planes[i].samples +
			       y * img->planes[i].stride_bytes + left,
		       i == 3 ? alpha : level, width);
}

/* A row of the canvas, which is transparent where the frame is not. */
static void put_canvas_row(struct decoder *d, const struct pixels *from,
			   uint32_t y)
{
	const struct webp_own *own = d->own;
	struct image *img = d->dst;
	uint32_t of_frame = y - own->top;

	if (own->size.width_px < img->planes[0].width || y < own->top ||
	    of_frame >= own->size.height_px)
		fill_row(img, 0, y, 0, 0, img->planes[0].width);
	if (y < own->top || of_frame >= own->size.height_px)
		return;
	if (of_frame < from->rows)
		put_row(img, own->left, y,
			from->block + of_frame * from->row_bytes,
			from->channels, own->size.width_px);
	else
		fill_row(img, own->left, y, MISSING, 255, own->size.width_px);
}

static enum img_err put_canvas(struct decoder *d, const struct pixels *from,
			       struct img_size canvas)
{
	bool is_covered = img_pixels(d->own->size) == img_pixels(canvas);
	uint32_t notes = d->dst->notes;

	image_shape(d->dst, canvas,
		    is_covered && is_opaque(from) ? IMG_RGB : IMG_RGBA, true);
	if (!image_alloc(d->dst, d->memory))
		return IMG_ERR_NO_MEMORY;
	d->dst->notes = notes;
	for (uint32_t y = 0; y < canvas.height_px; y++) {
		put_canvas_row(d, from, y);
		memory_pause(d->memory);
	}
	return IMG_OK;
}

static uint32_t pixel_channels(const struct webp_own *own)
{
	return own->has_alpha ? 4 : 3;
}

static uint64_t pixels_bytes(const struct webp_own *own)
{
	return img_pixels(own->size) * pixel_channels(own);
}

static enum img_err decode_pixels(struct decoder *d, struct img_size canvas,
				  bool is_lenient)
{
	const struct webp_own *own = d->own;
	WebPDecBuffer *out = &d->config.output;
	size_t bytes = (size_t)pixels_bytes(own);
	struct pixels pixels = { .block = memory_alloc(d->memory, bytes),
				 .channels = pixel_channels(own) };
	enum img_err err;

	if (pixels.block == NULL)
		return IMG_ERR_NO_MEMORY;
	pixels.row_bytes = (size_t)own->size.width_px * pixels.channels;
	out->colorspace = own->has_alpha ? MODE_RGBA : MODE_RGB;
	out->u.RGBA = (WebPRGBABuffer){ .rgba = pixels.block,
					.stride = (int)pixels.row_bytes,
					.size = bytes };
	err = run_lenient(d, &pixels.rows, is_lenient);
	if (err == IMG_OK)
		err = put_canvas(d, &pixels, canvas);
	memory_free(d->memory, pixels.block);
	return err;
}

/* --- All --- */

static enum img_err read_profile(struct image *img, const uint8_t *bytes,
				 const struct img_header *h,
				 const struct memory *memory)
{
	if (h->icc_bytes > PROFILE_BYTES_MAX)
		img->notes |= IMG_NOTE_BAD_PROFILE;
	if (h->icc_bytes == 0 || h->icc_bytes > PROFILE_BYTES_MAX)
		return IMG_OK;
	img->profile = memory_alloc(memory, h->icc_bytes);
	if (img->profile == NULL)
		return IMG_ERR_NO_MEMORY;
	memcpy(img->profile, bytes + webp_own(h)->icc_offset, h->icc_bytes);
	img->profile_bytes = h->icc_bytes;
	img->is_srgb = h->profile == IMG_PROFILE_SRGB;
	return IMG_OK;
}

/* Without the profile: what decoding takes from struct memory, at most. */
static uint64_t working_bytes(const struct img_header *h)
{
	const struct webp_own *own = webp_own(h);
	struct image shape;
	uint64_t planes;

	image_shape(&shape, h->stored, h->space, false);
	planes = image_bytes(&shape);
	if (h->space == IMG_YCBCR)
		return planes + own->library_bytes;
	return pixels_bytes(own) + max_u64(planes, own->library_bytes);
}

static enum img_err webp_decode(struct image *dst, const uint8_t *bytes,
				size_t count, const struct img_header *h,
				const struct img_view *view,
				const struct img_transform *transform,
				const struct img_limits *limits,
				const struct memory *memory)
{
	const struct webp_own *own = webp_own(h);
	struct decoder d = { .own = own, .memory = memory, .dst = dst };
	enum img_err err = IMG_OK;

	(void)view; /* there is only one size */
	assert(own->has_ended && count >= own->picture_offset);
	if (count < own->picture_end && !transform->lenient)
		return IMG_ERR_TRUNCATED;
	if (working_bytes(h) > limits->decode_bytes_max)
		return IMG_ERR_TOO_LARGE;
	if (!WebPInitDecoderConfig(&d.config))
		return IMG_ERR_UNSUPPORTED; /* another version of libwebp */
	d.config.output.is_external_memory = 1;
	d.data = bytes + own->picture_offset;
	d.count = min_u64(count, own->picture_end) - own->picture_offset;
	if (h->space != IMG_YCBCR) {
		err = decode_pixels(&d, h->stored, transform->lenient);
	} else {
		image_shape(dst, h->stored, IMG_YCBCR, false);
		if (!image_alloc(dst, memory))
			return IMG_ERR_NO_MEMORY;
		err = decode_planes(&d, transform->lenient);
	}
	/* Of a whole picture that libwebp wants more of, the data are wrong. */
	if (err == IMG_ERR_TRUNCATED && count >= own->picture_end)
		err = IMG_ERR_CORRUPT;
	/* The last bytes may be missing, and libwebp has made all rows. */
	if (err == IMG_OK && count < own->picture_end)
		dst->notes |= IMG_NOTE_DAMAGED;
	if (err == IMG_OK)
		err = read_profile(dst, bytes, h, memory);
	if (err != IMG_OK)
		img_release(dst);
	return err;
}

/* --- Estimate --- */

/*
 * Measured with photos of 1600 pixels, and one by one with files of one colour
 * and of many sets of codes, on an Intel Xeon that takes 1.43 times as long for
 * a JPEG as estimate.c says; these are the times divided by that.
 */
enum {
	TERM_FILES,
	TERM_LOSSY_PIXELS,
	TERM_LOSSY_BYTES,
	TERM_LOSSLESS_PIXELS,
	TERM_LOSSLESS_BYTES,
	TERM_CODE_SETS,
	TERM_INTERLEAVED_PIXELS,
	TERM_CANVAS_PIXELS,
	TERM_ROWS,
	TERM_COUNT,
};

static const struct estimate_term decode_terms[TERM_COUNT] = {
	[TERM_FILES] = { "file", 10000 },
	[TERM_LOSSY_PIXELS] = { "pixel of a lossy picture", 2 },
	[TERM_LOSSY_BYTES] = { "byte of a lossy picture", 35 },
	[TERM_LOSSLESS_PIXELS] = { "pixel of a lossless picture, or alpha", 9 },
	[TERM_LOSSLESS_BYTES] = { "byte of a lossless picture", 10 },
	[TERM_CODE_SETS] = { "set of Huffman codes", 5000 },
	[TERM_INTERLEAVED_PIXELS] = { "interleaved pixel", 2 },
	[TERM_CANVAS_PIXELS] = { "pixel of the canvas", 1 },
	[TERM_ROWS] = { "row", 50 },
};

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	const struct webp_own *own = webp_own(h);
	double pixels = (double)img_pixels(own->size);
	double bytes = (double)(own->picture_end - own->picture_offset);

	counts[TERM_FILES] = 1;
	counts[TERM_CODE_SETS] = (double)own->code_sets;
	counts[TERM_ROWS] = h->stored.height_px;
	counts[own->is_lossless ? TERM_LOSSLESS_BYTES : TERM_LOSSY_BYTES] =
		bytes;
	if (own->is_lossless)
		counts[TERM_LOSSLESS_PIXELS] = pixels;
	else
		counts[TERM_LOSSY_PIXELS] =
			(double)webp_block_pixels(own->size);
	if (!own->is_lossless && own->has_alpha)
		counts[TERM_LOSSLESS_PIXELS] = pixels;
	if (h->space != IMG_YCBCR) {
		counts[TERM_INTERLEAVED_PIXELS] = pixels;
		counts[TERM_CANVAS_PIXELS] = (double)img_pixels(h->stored);
	}
}

static uint64_t bytes_to_decode(const struct workload *w)
{
	return working_bytes(w->header) + w->header->icc_bytes;
}

static const struct step_estimate decode_estimate = { "decode", decode_terms,
						      TERM_COUNT, decode_count,
						      bytes_to_decode };

static bool webp_recognise(const uint8_t *bytes, size_t count)
{
	return memcmp(bytes, "RIFF", min_u64(count, 4)) == 0 &&
	       (count <= 8 || memcmp(bytes + 8, "WEBP", count - 8) == 0);
}

/* VP8 has no other chroma. */
static enum format_planes webp_planes(const struct img_transform *transform)
{
	return transform->lossless ? FORMAT_RGB : FORMAT_YCBCR_420;
}

static const struct img_codec codec = {
	.magic_bytes = WEBP_MAGIC_BYTES,
	.recognise = webp_recognise,
	.probe_more = webp_probe_more,
	.decode = webp_decode,
	.decode_estimate = &decode_estimate,
	.encode = webp_encode,
	.encode_estimate = &webp_encode_estimate,
	.qualities = webp_qualities,
	.own_pixel_bytes = 12,
	.own_edge_px = 48,
	.own_bytes = 2 << 20,
	.planes = webp_planes,
	.holds_alpha = true,
	.holds_profile = true,
	.holds_metadata = true,
	.metadata = webp_metadata,
};

const struct img_format webp_format = {
	.name = "WebP",
	.word = "webp",
	.media_type = "image/webp",
	.suffix = "webp",
	.side_px_max = WEBP_SIDE_PX_MAX,
	.codec = &codec,
};
