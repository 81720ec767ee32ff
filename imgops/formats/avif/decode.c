/* SPDX-License-Identifier: MIT */
/*
 * Decoding by libavif and dav1d, on one thread and at full size.  Planes of
 * JFIF's Y'CbCr and of grey are copied, with their range and depth changed; of
 * all others libavif makes interleaved pixels, which become planes.
 *
 * There is no pause while libavif decodes, and nothing of a truncated file can
 * be shown.  Where chroma samples lie is ignored, as browsers do.
 */
#include "imgops/formats/avif/avif.h"

#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/stack.h"
#include "imgops/image.h"

#include <string.h>

#include <avif/avif.h>

struct job {
	const struct img_header *header;
	const uint8_t *bytes;
	size_t count;
	uint8_t *pixels; /* NULL: planes are wanted */
	uint32_t channels;
	avifDecoder *decoder;
	enum img_err err;
};

static enum img_err error_of(avifResult result)
{
	switch (result) {
	case AVIF_RESULT_OK:
		return IMG_OK;
	case AVIF_RESULT_OUT_OF_MEMORY:
		return IMG_ERR_NO_MEMORY;
	case AVIF_RESULT_TRUNCATED_DATA:
	case AVIF_RESULT_IO_ERROR:
		return IMG_ERR_TRUNCATED;
	case AVIF_RESULT_NOT_IMPLEMENTED:
	case AVIF_RESULT_UNSUPPORTED_DEPTH:
	case AVIF_RESULT_NO_CODEC_AVAILABLE:
		return IMG_ERR_UNSUPPORTED;
	default:
		return IMG_ERR_CORRUPT;
	}
}

static uint32_t channels_of(const struct img_header *h)
{
	return h->space == IMG_RGBA ? 4 : 3;
}

/* --- In libavif --- */

static void set_decoder(avifDecoder *d, const struct img_header *h)
{
	uint64_t pixels = max_u64(img_pixels(heif_own(h)->coded),
				  img_pixels(heif_own(h)->cell));
	/* The header of all items is read: a map's base is larger. */
	bool is_map = heif_own(h)->file_bytes > 0;

	d->codecChoice = AVIF_CODEC_CHOICE_DAV1D;
	d->maxThreads = 1;
	d->ignoreExif = AVIF_TRUE;
	d->ignoreXMP = AVIF_TRUE;
	d->strictFlags = AVIF_STRICT_DISABLED;
	d->imageSizeLimit = (uint32_t)min_u64(is_map ? UINT64_MAX : pixels,
					      AVIF_DEFAULT_IMAGE_SIZE_LIMIT);
	d->imageDimensionLimit = IMG_SIDE_PX_MAX;
}

/* Is the picture what the header has promised? */
static bool is_promised(const avifImage *img, const struct img_header *h)
{
	uint32_t chroma = h->h_factors[0] * 2u + h->v_factors[0];
	const struct heif_own *own = heif_own(h);

	if (img->width != own->coded.width_px ||
	    img->height != own->coded.height_px || img->depth < 8 ||
	    img->depth > own->coding.depth)
		return false;
	if (h->space == IMG_GREY)
		return img->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
	if (h->space != IMG_YCBCR)
		return true;
	return heif_is_jfif(img->matrixCoefficients) &&
	       chroma ==
		       (img->yuvFormat == AVIF_PIXEL_FORMAT_YUV420 ? 2 * 2 + 2 :
			img->yuvFormat == AVIF_PIXEL_FORMAT_YUV422 ? 2 * 2 + 1 :
			img->yuvFormat == AVIF_PIXEL_FORMAT_YUV444 ? 2 + 1 :
								     0);
}

/*
 * The libyuv of Debian 12 is wrong by up to 10 levels in BT.709, so libavif
 * converts by itself.
 */
static avifResult make_pixels(struct job *j)
{
	avifRGBImage rgb;

	avifRGBImageSetDefaults(&rgb, j->decoder->image);
	rgb.depth = 8;
	rgb.chromaUpsampling = AVIF_CHROMA_UPSAMPLING_BILINEAR;
	rgb.avoidLibYUV = AVIF_TRUE;
	rgb.format =
		j->channels == 4 ? AVIF_RGB_FORMAT_RGBA : AVIF_RGB_FORMAT_RGB;
	rgb.pixels = j->pixels;
	rgb.rowBytes = rgb.width * j->channels;
	return avifImageYUVToRGB(j->decoder->image, &rgb);
}

static void run(void *arg)
{
	struct job *j = arg;
	avifDecoder *d = j->decoder;
	avifResult result;

	set_decoder(d, j->header);
	result = avifDecoderSetSource(d, AVIF_DECODER_SOURCE_PRIMARY_ITEM);
	if (result == AVIF_RESULT_OK)
		result = avifDecoderSetIOMemory(d, j->bytes, j->count);
	if (result == AVIF_RESULT_OK)
		result = avifDecoderParse(d);
	/*
	 * The limits of the whole are for the header; these are for the cells.
	 * libavif scales a picture whose size is not the one of its item, which
	 * MIAF forbids, but not to a side over the limit.
	 */
	d->imageSizeLimit = (uint32_t)img_pixels(heif_own(j->header)->cell);
	d->imageDimensionLimit = 1;
	if (result == AVIF_RESULT_OK)
		result = avifDecoderNextImage(d);
	j->err = error_of(result);
	if (j->err == IMG_OK && !is_promised(d->image, j->header))
		j->err = IMG_ERR_CORRUPT;
	if (j->err == IMG_OK && j->pixels != NULL)
		j->err = error_of(make_pixels(j));
}

/* --- Planes --- */

static void put_plane(struct img_plane *to, const struct job *j, uint32_t i,
		      const struct memory *memory)
{
	const avifImage *img = j->decoder->image;
	const struct img_header *h = j->header;
	uint32_t left = heif_own(h)->left, top = heif_own(h)->top;
	const uint8_t *from = img->yuvPlanes[i];
	uint8_t levels[HEIF_LEVELS_MAX];

	if (i > 0) { /* luma has the factors of a whole sample of chroma */
		left /= h->h_factors[0];
		top /= h->v_factors[0];
	}
	from += (size_t)top * img->yuvRowBytes[i] +
		(size_t)left * (img->depth > 8 ? 2 : 1);
	heif_fill_levels(levels, img->depth, img->yuvRange == AVIF_RANGE_FULL,
			 i > 0);
	for (uint32_t y = 0; y < to->height; y++, from += img->yuvRowBytes[i]) {
		uint8_t *row = to->samples + y * to->stride_bytes;
		const uint16_t *wide = (const uint16_t *)(const void *)from;

		if (img->depth > 8)
			for (uint32_t x = 0; x < to->width; x++)
				row[x] = levels[wide[x] % HEIF_LEVELS_MAX];
		else if (img->yuvRange == AVIF_RANGE_FULL)
			memcpy(row, from, to->width);
		else
			for (uint32_t x = 0; x < to->width; x++)
				row[x] = levels[from[x]];
		memory_pause(memory);
	}
}

static enum img_err take_planes(struct image *dst, const struct job *j,
				const struct memory *memory)
{
	heif_shape(dst, j->header);
	if (!image_alloc(dst, memory))
		return IMG_ERR_NO_MEMORY;
	for (uint32_t i = 0; i < dst->plane_count; i++)
		put_plane(&dst->planes[i], j, i, memory);
	return IMG_OK;
}

/* --- Pixels --- */

static bool is_opaque(const struct job *j)
{
	size_t count = (size_t)img_pixels(heif_own(j->header)->coded) * 4;

	for (size_t i = 3; j->channels == 4 && i < count; i += 4)
		if (j->pixels[i] != 255)
			return false;
	return true;
}

static enum img_err take_pixels(struct image *dst, const struct job *j,
				const struct memory *memory)
{
	const struct heif_own *own = heif_own(j->header);

	image_shape(dst, j->header->stored, is_opaque(j) ? IMG_RGB : IMG_RGBA,
		    true);
	if (!image_alloc(dst, memory))
		return IMG_ERR_NO_MEMORY;
	for (uint32_t y = 0; y < dst->planes[0].height; y++) {
		size_t row = y * dst->planes[0].stride_bytes;
		const uint8_t *at = j->pixels + ((size_t)(own->top + y) *
							 own->coded.width_px +
						 own->left) *
							j->channels;

		for (uint32_t x = 0; x < dst->planes[0].width; x++) {
			uint8_t alpha = j->channels == 4 ? at[3] : 255;

			for (uint32_t i = 0; i < 3; i++)
				dst->planes[i].samples[row + x] =
					colour_share(at[i], alpha);
			if (dst->plane_count == 4)
				dst->planes[3].samples[row + x] = alpha;
			at += j->channels;
		}
		memory_pause(memory);
	}
	return IMG_OK;
}

/* --- All --- */

static uint64_t pixels_bytes(const struct img_header *h)
{
	bool has_pixels = h->space == IMG_RGB || h->space == IMG_RGBA;

	return has_pixels ? img_pixels(heif_own(h)->coded) * channels_of(h) : 0;
}

/*
 * What libavif and dav1d allocate, at most: measured with version 0.11.1 of
 * libavif and 1.0.0 of dav1d.  A grid has a decoder for each cell, and a
 * picture of its own.
 */
static uint64_t library_bytes(const struct img_header *h)
{
	enum { ONCE_BYTES = 512 << 10, EDGE_PX = 128 };
	/* Planes of two pictures, as with film grain, and what is left. */
	enum { PIXEL_BYTES = 5, FULL_CHROMA_BYTES = 8 };
	const struct heif_own *own = heif_own(h);
	uint64_t each =
		own->coding.h_factor == 1 ? FULL_CHROMA_BYTES : PIXEL_BYTES;
	uint64_t cell = (uint64_t)(own->cell.width_px + EDGE_PX) *
			(own->cell.height_px + EDGE_PX),
		 all;

	each *= own->coding.depth > 8 ? 2 : 1;
	all = (ONCE_BYTES + cell * each) * own->cells;
	if (own->cells > 1)
		all += img_pixels(own->coded) * each;
	return h->space == IMG_RGBA ? 2 * all : all;
}

static uint64_t working_bytes(const struct img_header *h)
{
	struct image planes;

	heif_shape(&planes, h);
	return AVIF_STACK_BYTES + library_bytes(h) + pixels_bytes(h) +
	       image_bytes(&planes) + heif_own(h)->file_bytes;
}

/*
 * libavif decodes the file's primary item.  For a map this is a copy of the
 * file, whose primary item is the map.  NULL: no memory.
 */
static uint8_t *copy_file(const uint8_t *bytes, size_t count,
			  const struct heif_own *own,
			  const struct memory *memory)
{
	struct isobmff_span meta;
	struct isobmff_box box;
	uint8_t *copy = memory_alloc(memory, count), *number;
	uint32_t size;

	if (copy == NULL)
		return NULL;
	memcpy(copy, bytes, count);
	meta = (struct isobmff_span){ copy + own->meta_offset,
				      (size_t)own->meta_bytes, false };
	(void)isobmff_version(&meta);
	while (isobmff_next(&box, &meta)) {
		if (box.type != ISOBMFF_NAME('p', 'i', 't', 'm'))
			continue;
		size = isobmff_version(&box.data) == 0 ? 2 : 4;
		number = copy + (box.data.at - copy);
		for (uint32_t i = size; i > 0 && box.data.left >= size; i--)
			number[size - i] = (uint8_t)(own->item >> 8 * (i - 1));
	}
	return copy;
}

/* `held` is memory that libavif allocates by itself, and its stack. */
static enum img_err decode(struct image *dst, struct job *j, uint8_t *held,
			   const struct memory *memory)
{
	enum img_err err;

	j->decoder = avifDecoderCreate();
	if (j->decoder == NULL)
		return IMG_ERR_NO_MEMORY;
	stack_call(run, j, held, AVIF_STACK_BYTES);
	err = j->err;
	if (err == IMG_OK)
		err = j->pixels == NULL ? take_planes(dst, j, memory) :
					  take_pixels(dst, j, memory);
	avifDecoderDestroy(j->decoder);
	return err;
}

/* As struct heif_decoder says. */
static enum img_err decode_picture(struct image *dst, const uint8_t *bytes,
				   size_t count, const struct img_header *h,
				   const struct memory *memory)
{
	struct job j = { .header = h,
			 .bytes = bytes,
			 .count = count,
			 .channels = channels_of(h) };
	size_t pixels = (size_t)pixels_bytes(h);
	enum img_err err = IMG_ERR_NO_MEMORY;
	uint8_t *held, *copy = NULL;

	if (heif_own(h)->file_bytes > 0) {
		copy = copy_file(bytes, count, heif_own(h), memory);
		if (copy == NULL)
			return IMG_ERR_NO_MEMORY;
		j.bytes = copy;
	}
	held = memory_alloc(memory,
			    AVIF_STACK_BYTES + (size_t)library_bytes(h));
	if (pixels > 0)
		j.pixels = memory_alloc(memory, pixels);
	if (held != NULL && (pixels == 0 || j.pixels != NULL))
		err = decode(dst, &j, held, memory);
	memory_free(memory, j.pixels);
	memory_free(memory, held);
	memory_free(memory, copy);
	return err;
}

enum img_err avif_decode(struct image *dst, const uint8_t *bytes, size_t count,
			 const struct img_header *h,
			 const struct img_view *view,
			 const struct img_transform *transform,
			 const struct img_limits *limits,
			 const struct memory *memory)
{
	static const struct heif_decoder decoder = { working_bytes,
						     decode_picture };

	(void)view; /* there is only one size */
	return heif_decode(dst, bytes, count, h, &decoder, transform, limits,
			   memory);
}

/* --- Estimate --- */

/*
 * Measured with photos of 640 and 1600 pixels, on an Intel Xeon that took 2.2
 * times as long for a JPEG as estimate.c says; these are the times divided by
 * that.
 */
static const struct estimate_term decode_terms[HEIF_TERMS] = {
	[HEIF_FILES] = { "file", 200000 },
	[HEIF_PIXELS] = { "pixel", 6 },
	[HEIF_BYTES] = { "byte of the file", 50 },
	[HEIF_WIDE_PIXELS] = { "pixel of more than 8 bits", 8 },
	[HEIF_CELLS] = { "cell of a grid", 100000 },
	[HEIF_RGB_PIXELS] = { "interleaved pixel", 10 },
	[HEIF_ALPHA_PIXELS] = { "pixel with alpha", 8 },
};

static uint64_t decode_bytes(const struct workload *w)
{
	return working_bytes(w->header) + w->header->icc_bytes;
}

const struct step_estimate avif_decode_estimate = { "decode", decode_terms,
						    HEIF_TERMS, heif_count,
						    decode_bytes };

/* --- The format --- */

/* Only the samples of RGB can be kept as they are: see encode.c. */
static enum format_planes avif_planes(const struct img_transform *transform)
{
	return transform->lossless ? FORMAT_RGB : FORMAT_YCBCR;
}

static const struct img_codec codec = {
	.magic_bytes = HEIF_MAGIC_BYTES,
	.recognise = avif_recognise,
	.probe_more = avif_probe_more,
	.decode = avif_decode,
	.decode_estimate = &avif_decode_estimate,
	.encode = avif_encode,
	.encode_estimate = &avif_encode_estimate,
	.qualities = avif_qualities,
	.has_whole_qualities = true,
	.own_pixel_bytes = 32,
	.own_edge_px = 128,
	.own_bytes = 8 << 20,
	.planes = avif_planes,
	.holds_alpha = true,
	.holds_profile = true,
	.holds_metadata = true,
	.metadata = heif_metadata,
	.gainmap = heif_gainmap,
};

const struct img_format avif_format = {
	.name = "AVIF",
	.word = "avif",
	.media_type = "image/avif",
	.suffix = "avif",
	.is_fragile = true,
	.holds_gainmap = AVIF_HOLDS_GAINMAP,
	.codec = &codec,
};
