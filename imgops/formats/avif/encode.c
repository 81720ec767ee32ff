/* SPDX-License-Identifier: MIT */
/*
 * Encoding by libavif and libaom, on one thread.  libaom gets a lossy result in
 * its own samples: JFIF's Y'CbCr is BT.601 in full range, which AV1 can name.
 * A lossless one has its R, G and B as planes, without a matrix.  Only a result
 * with alpha is converted by libavif.
 *
 * There is no pause while libaom encodes.
 */
#include "imgops/formats/avif/avif.h"

#include "imgops/chroma.h"
#include "imgops/colour/colour.h"
#include "imgops/estimate.h"
#include "imgops/formats/gain.h"
#include "imgops/formats/stack.h"
#include "imgops/image.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <avif/avif.h>

struct job {
	const struct image *src;
	const struct img_transform *transform;
	double quality;
	bool is_sharp;   /* of RGBA: halved chroma would lose colours */
	uint8_t *pixels; /* interleaved, with alpha; NULL: none */
	avifRWData out;
	avifResult result;
};

/* --- The parameters --- */

enum { SPEED_USUAL = 8, SPEED_MOST = 9, SPEED_SLOW = 6 };

/*
 * 1..9 become 9..3.  Less than that takes several times as long again, for one
 * per cent of the bytes.
 */
static int speed_of(int effort)
{
	return effort == 0 ? SPEED_USUAL : SPEED_MOST - effort * 2 / 3;
}

/* libavif's quality, with SPEED_USUAL. */
const double avif_qualities[FORMAT_QUALITIES] = { 5,  15, 41, 53, 63,
						  73, 85, 94, 100 };

enum { BEST = 100, FINE = 63 };

static int quality_of(const struct img_transform *t, double quality)
{
	return t->lossless ?
		       BEST :
		       (int)lround(format_quality(avif_qualities, quality));
}

#if AVIF_VERSION < 1000000

enum { WORST = AVIF_QUANTIZER_WORST_QUALITY };

/* As later versions do for a quality. */
static void set_quantizer(avifEncoder *e, int quantizer)
{
	char level[16];

	e->minQuantizer = e->maxQuantizer = quantizer;
	e->minQuantizerAlpha = e->maxQuantizerAlpha = quantizer;
	if (quantizer == AVIF_QUANTIZER_LOSSLESS)
		return;
	(void)snprintf(level, sizeof(level), "%d", quantizer);
	avifEncoderSetCodecSpecificOption(e, "end-usage", "q");
	avifEncoderSetCodecSpecificOption(e, "cq-level", level);
}

#endif

static void set_encoder(avifEncoder *e, const struct img_transform *t,
			int quality)
{

	e->codecChoice = AVIF_CODEC_CHOICE_AOM;
	e->maxThreads = 1;
	e->speed = speed_of(t->effort);
#if AVIF_VERSION >= 1000000
	e->quality = e->qualityAlpha = quality;
#else
	set_quantizer(e, ((100 - quality) * WORST + 50) / 100);
#endif
}

/* --- The samples --- */

/* With IMG_CHROMA_AUTO, RGBA becomes 4:4:4 if it `is_sharp`. */
static avifPixelFormat format_of(const struct image *src,
				 const struct img_transform *t, bool is_sharp)
{
	bool is_full = image_has_full_chroma(src);

	if (src->space == IMG_GREY)
		return AVIF_PIXEL_FORMAT_YUV400;
	if (src->space == IMG_RGBA && !t->lossless)
		is_full = t->chroma == IMG_CHROMA_AUTO ?
				  is_sharp :
				  t->chroma == IMG_CHROMA_444;
	return is_full ? AVIF_PIXEL_FORMAT_YUV444 : AVIF_PIXEL_FORMAT_YUV420;
}

/* AV1 has G, B and R in this order. */
static void lend_planes(avifImage *img, const struct image *src)
{
	static const uint32_t of_rgb[] = { 1, 2, 0 };

	for (uint32_t i = 0; i < src->plane_count; i++) {
		const struct img_plane *p =
			&src->planes[src->space == IMG_RGB ? of_rgb[i] : i];

		img->yuvPlanes[i] = p->samples;
		img->yuvRowBytes[i] = (uint32_t)p->stride_bytes;
	}
}

static avifResult convert_pixels(avifImage *img, const struct job *j)
{
	avifRGBImage rgb;

	avifRGBImageSetDefaults(&rgb, img);
	rgb.format = AVIF_RGB_FORMAT_RGBA;
	rgb.pixels = j->pixels;
	rgb.rowBytes = rgb.width * 4;
	return avifImageRGBToYUV(img, &rgb);
}

static void set_colours(avifImage *img, const struct job *j)
{
	const struct image *src = j->src;
	bool is_rgb = j->transform->lossless && src->space != IMG_GREY;

	img->yuvRange = AVIF_RANGE_FULL;
	img->colorPrimaries = AVIF_COLOR_PRIMARIES_BT709;
	img->transferCharacteristics = AVIF_TRANSFER_CHARACTERISTICS_SRGB;
	img->matrixCoefficients = is_rgb ? AVIF_MATRIX_COEFFICIENTS_IDENTITY :
					   AVIF_MATRIX_COEFFICIENTS_BT601;
	if (src->profile_bytes > 0)
		(void)avifImageSetProfileICC(img, src->profile,
					     src->profile_bytes);
}

/* --- The gain map --- */

#if AVIF_HOLDS_GAINMAP

static avifSignedFraction fraction(double value)
{
	return (avifSignedFraction){ (int32_t)lround(value * GAIN_DENOMINATOR),
				     GAIN_DENOMINATOR };
}

static avifUnsignedFraction unsigned_fraction(double value)
{
	return (avifUnsignedFraction){
		(uint32_t)lround(value * GAIN_DENOMINATOR), GAIN_DENOMINATOR
	};
}

static void set_gain(avifGainMap *to, const struct img_gain *gain)
{
	to->baseHdrHeadroom = unsigned_fraction(gain->base_headroom);
	to->alternateHdrHeadroom = unsigned_fraction(gain->other_headroom);
	to->useBaseColorSpace = gain->uses_base_colours;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t from = gain->channel_count > 1 ? i : 0;

		to->gainMapMin[i] = fraction(gain->channels[from].min);
		to->gainMapMax[i] = fraction(gain->channels[from].max);
		to->gainMapGamma[i] =
			unsigned_fraction(gain->channels[from].gamma);
		to->baseOffset[i] = fraction(gain->channels[from].base_offset);
		to->alternateOffset[i] =
			fraction(gain->channels[from].other_offset);
	}
}

/* Lend the samples of the map to `to`, and describe the alternate. */
static avifResult set_map(avifGainMap *to, const struct image *map,
			  const struct img_transform *t)
{
	to->image = avifImageCreate(map->planes[0].width, map->planes[0].height,
				    8, format_of(map, t, false));
	if (to->image == NULL)
		return AVIF_RESULT_OUT_OF_MEMORY;
	to->image->yuvRange = AVIF_RANGE_FULL;
	to->image->colorPrimaries = AVIF_COLOR_PRIMARIES_UNSPECIFIED;
	to->image->transferCharacteristics =
		AVIF_TRANSFER_CHARACTERISTICS_UNSPECIFIED;
	to->image->matrixCoefficients =
		map->space == IMG_RGB ? AVIF_MATRIX_COEFFICIENTS_IDENTITY :
					AVIF_MATRIX_COEFFICIENTS_BT601;
	lend_planes(to->image, map);
	if (map->profile_bytes == 0)
		return AVIF_RESULT_OK;
	return avifRWDataSet(&to->altICC, map->profile, map->profile_bytes);
}

static avifResult add_map(avifEncoder *e, avifImage *img, const struct job *j)
{
	const struct img_gainmap *map = j->src->gainmap;
	struct img_transform coding;

	if (map == NULL)
		return AVIF_RESULT_OK;
	coding = gainmap_coding(j->transform);
	e->qualityGainMap = quality_of(&coding, coding.quality);
	img->gainMap = avifGainMapCreate();
	if (img->gainMap == NULL)
		return AVIF_RESULT_OUT_OF_MEMORY;
	set_gain(img->gainMap, &map->gain);
	/* The alternate is like the picture, and has more light. */
	if (j->src->profile == NULL && map->image.profile == NULL)
		img->gainMap->altColorPrimaries = img->colorPrimaries;
	img->gainMap->altTransferCharacteristics =
		AVIF_TRANSFER_CHARACTERISTICS_PQ;
	img->gainMap->altMatrixCoefficients = img->matrixCoefficients;
	img->gainMap->altYUVRange = img->yuvRange;
	return set_map(img->gainMap, &map->image, &coding);
}

#else

static avifResult add_map(avifEncoder *e, avifImage *img, const struct job *j)
{
	(void)e;
	(void)img;
	assert(j->src->gainmap == NULL);
	return AVIF_RESULT_OK;
}

#endif

/* --- Metadata --- */

static avifResult add_metadata(avifImage *img, const struct img_metadata *m)
{
	if (m == NULL)
		return AVIF_RESULT_OK;
	if (m->exif.count > 0)
		(void)avifImageSetMetadataExif(img, m->exif.bytes,
					       m->exif.count);
	if (m->xmp.count > 0)
		(void)avifImageSetMetadataXMP(img, m->xmp.bytes, m->xmp.count);
	return img->exif.size == m->exif.count &&
			       img->xmp.size == m->xmp.count ?
		       AVIF_RESULT_OK :
		       AVIF_RESULT_OUT_OF_MEMORY;
}

static size_t metadata_bytes(const struct img_metadata *m)
{
	return m == NULL ? 0 : 2 * (m->exif.count + m->xmp.count);
}

/* --- All --- */

static void run(void *arg)
{
	struct job *j = arg;
	avifEncoder *encoder = avifEncoderCreate();
	avifImage *img = avifImageCreate(
		j->src->planes[0].width, j->src->planes[0].height, 8,
		format_of(j->src, j->transform, j->is_sharp));

	j->result = AVIF_RESULT_OUT_OF_MEMORY;
	if (encoder != NULL && img != NULL) {
		set_encoder(encoder, j->transform,
			    quality_of(j->transform, j->quality));
		set_colours(img, j);
		j->result = AVIF_RESULT_OK;
		if (j->pixels == NULL)
			lend_planes(img, j->src);
		else
			j->result = convert_pixels(img, j);
		if (img->icc.size != j->src->profile_bytes)
			j->result = AVIF_RESULT_OUT_OF_MEMORY;
		if (j->result == AVIF_RESULT_OK)
			j->result = add_metadata(img, j->src->metadata);
		if (j->result == AVIF_RESULT_OK)
			j->result = add_map(encoder, img, j);
		if (j->result == AVIF_RESULT_OK)
			j->result = avifEncoderWrite(encoder, img, &j->out);
	}
	if (img != NULL)
		avifImageDestroy(img);
	if (encoder != NULL)
		avifEncoderDestroy(encoder);
}

static uint64_t pixels_bytes(const struct image *src)
{
	return src->space != IMG_RGBA ? 0 :
					(uint64_t)src->planes[0].width *
						src->planes[0].height * 4;
}

/*
 * What libavif and libaom allocate, at most, with the file: measured with
 * version 0.11.1 of libavif and 3.6.0 of libaom, photos and noise.
 */
static uint64_t library_bytes(const struct image *src,
			      const struct img_transform *t, bool is_sharp)
{
	enum { ONCE_BYTES = 4 << 20, EDGE_PX = 64 };
	enum { PIXEL_BYTES = 28, FULL_CHROMA_BYTES = 18, SLOW_BYTES = 22 };
	uint64_t width = src->planes[0].width + EDGE_PX;
	uint64_t height = src->planes[0].height + EDGE_PX;
	uint64_t each = PIXEL_BYTES;
	bool has_alpha = src->space == IMG_RGBA;

	if (format_of(src, t, is_sharp) == AVIF_PIXEL_FORMAT_YUV444)
		each += FULL_CHROMA_BYTES;
	if (speed_of(t->effort) <= SPEED_SLOW)
		each += SLOW_BYTES;
	/* All encoders exist until the end. */
	return (ONCE_BYTES + width * height * each) * (has_alpha ? 2 : 1) +
	       src->profile_bytes + metadata_bytes(src->metadata);
}

/* As *bytes and *count of img_encode(). */
static bool take_result(uint8_t **bytes, size_t *count, struct job *j,
			const struct memory *memory)
{
	*count = j->out.size;
	*bytes = memory_alloc(memory, j->out.size);
	if (*bytes != NULL)
		memcpy(*bytes, j->out.data, j->out.size);
	return *bytes != NULL;
}

enum img_err avif_encode(uint8_t **bytes, size_t *count, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory)
{
	struct job j = { .src = src,
			 .transform = transform,
			 .quality = quality };
	size_t pixels = (size_t)pixels_bytes(src);
	size_t row_bytes = (size_t)src->planes[0].width * 4;
	bool ok = false;
	size_t held_bytes = AVIF_STACK_BYTES;
	uint8_t *held;

	assert(quality >= 1 && quality <= 100);
	if (src->space == IMG_RGBA && transform->chroma == IMG_CHROMA_AUTO)
		j.is_sharp = chroma_is_sharp_rgba(src);
	held_bytes += (size_t)library_bytes(src, transform, j.is_sharp);
	if (src->gainmap != NULL) {
		struct img_transform coding = gainmap_coding(transform);

		held_bytes += (size_t)library_bytes(&src->gainmap->image,
						    &coding, false);
	}
	held = memory_alloc(memory, held_bytes);
	if (pixels > 0)
		j.pixels = memory_alloc(memory, pixels);
	for (uint32_t y = 0; j.pixels != NULL && y < src->planes[0].height; y++)
		colour_write_row(j.pixels + y * row_bytes, src, y);
	if (held != NULL && (pixels == 0 || j.pixels != NULL)) {
		stack_call(run, &j, held, AVIF_STACK_BYTES);
		ok = j.result == AVIF_RESULT_OK &&
		     take_result(bytes, count, &j, memory);
		avifRWDataFree(&j.out);
	}
	memory_free(memory, j.pixels);
	memory_free(memory, held);
	return ok ? IMG_OK : IMG_ERR_NO_MEMORY;
}

/* --- Estimate --- */

/*
 * Measured with photos of 640 and 1600 pixels, on an Intel Xeon that took 2.2
 * times as long for a JPEG as estimate.c says; these are the times divided by
 * that.  They differ by half from photo to photo; noise takes twice as long.
 */
enum {
	TERM_RESULTS,
	TERM_SPEED, /* 0..9 */
	TERM_FULL_CHROMA = TERM_SPEED + SPEED_MOST + 1,
	TERM_LOSSLESS,
	TERM_FINE,
	TERM_ALPHA,
	TERM_COUNT,
};

enum { BLOCK_PX = 16 };

#define SPEED "pixel of a result, speed "

static const struct estimate_term encode_terms[TERM_COUNT] = {
	[TERM_RESULTS] = { "result", 1300000 },
	[TERM_SPEED + 3] = { SPEED "3", 5800 },
	[TERM_SPEED + 4] = { SPEED "4", 3200 },
	[TERM_SPEED + 5] = { SPEED "5", 2200 },
	[TERM_SPEED + 6] = { SPEED "6", 560 },
	[TERM_SPEED + 7] = { SPEED "7", 350 },
	[TERM_SPEED + 8] = { SPEED "8", 260 },
	[TERM_SPEED + 9] = { SPEED "9", 80 },
	[TERM_FULL_CHROMA] = { "pixel of 4:4:4", 60 },
	[TERM_LOSSLESS] = { "pixel of a lossless result", 350 },
	[TERM_FINE] = { "pixel times libavif's quality over 63", 5.4 },
	[TERM_ALPHA] = { "pixel with alpha", 200 },
};

static void encode_count(double *counts, const struct workload *w)
{
	const struct img_transform *t = w->transform;
	/* Blocks are coded whole. */
	double pixels =
		samples_in_groups(w->view->size.width_px,
				  w->view->size.height_px, BLOCK_PX, BLOCK_PX);

	counts[TERM_RESULTS] = 1;
	counts[TERM_SPEED + speed_of(t->effort)] = pixels;
	if (t->chroma == IMG_CHROMA_444 && !t->lossless)
		counts[TERM_FULL_CHROMA] = pixels;
	if (t->lossless)
		counts[TERM_LOSSLESS] = pixels;
	else if (quality_of(t, t->quality) > FINE)
		counts[TERM_FINE] = pixels * (quality_of(t, t->quality) - FINE);
	if (w->scaled.space == IMG_RGBA)
		counts[TERM_ALPHA] = pixels;
}

static uint64_t encode_bytes(const struct workload *w)
{
	enum { ONCE_BYTES = 4096, PIXEL_BYTES = 5 }; /* of a file, at most */

	return image_bytes(&w->scaled) + w->profile_bytes * 2 +
	       AVIF_STACK_BYTES +
	       library_bytes(&w->scaled, w->transform, true) +
	       pixels_bytes(&w->scaled) + ONCE_BYTES + w->profile_bytes +
	       img_pixels(w->view->size) * PIXEL_BYTES;
}

const struct step_estimate avif_encode_estimate = { "encode", encode_terms,
						    TERM_COUNT, encode_count,
						    encode_bytes };
