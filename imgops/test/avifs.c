/* SPDX-License-Identifier: MIT */
#include "imgops/test/avifs.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

#include <avif/avif.h>

uint32_t avif_sample(const struct avif_spec *spec, uint32_t plane, uint32_t x,
		     uint32_t y)
{
	uint32_t depth = spec->depth == 0 ? 8 : spec->depth;
	uint32_t wide, black = 16u << (depth - 8);

	/* Of all planes a different one, within the range of video. */
	wide = x * 37 + y * 23 + plane * 411;
	if (spec->is_noise)
		wide = scramble(wide * 65537 + x);
	wide = black + wide % (black * 13);
	if (plane != 3)
		return spec->is_limited ? wide : wide * 9 / 8;
	return spec->is_opaque ? (1u << depth) - 1 : wide - black;
}

static avifPixelFormat format_of(const struct avif_spec *spec)
{
	switch (spec->format) {
	case 400:
		return AVIF_PIXEL_FORMAT_YUV400;
	case 422:
		return AVIF_PIXEL_FORMAT_YUV422;
	case 420:
		return AVIF_PIXEL_FORMAT_YUV420;
	default:
		return AVIF_PIXEL_FORMAT_YUV444;
	}
}

static void fill(const struct avif_spec *spec, const avifImage *img,
		 uint32_t plane)
{
	uint8_t *row = plane == 3 ? img->alphaPlane : img->yuvPlanes[plane];
	uint32_t stride =
		plane == 3 ? img->alphaRowBytes : img->yuvRowBytes[plane];
	bool is_chroma = plane == 1 || plane == 2;
	uint32_t width = img->width, height = img->height;

	if (row == NULL)
		return;
	if (is_chroma && spec->format != 0 && spec->format != 444)
		width = (width + 1) / 2;
	if (is_chroma && spec->format == 420)
		height = (height + 1) / 2;
	for (uint32_t y = 0; y < height; y++, row += stride)
		for (uint32_t x = 0; x < width; x++) {
			uint32_t v = avif_sample(spec, plane, x, y);

			if (img->depth > 8)
				((uint16_t *)(void *)row)[x] = (uint16_t)v;
			else
				row[x] = (uint8_t)v;
		}
}

static avifImage *picture(const struct avif_spec *spec)
{
	avifImage *img = avifImageCreate(
		spec->width == 0 ? AVIF_TEST_WIDTH : spec->width,
		spec->height == 0 ? AVIF_TEST_HEIGHT : spec->height,
		spec->depth == 0 ? 8 : spec->depth, format_of(spec));

	CHECK(img != NULL);
	img->yuvRange = spec->is_limited ? AVIF_RANGE_LIMITED : AVIF_RANGE_FULL;
	img->colorPrimaries =
		(avifColorPrimaries)(spec->primaries == 0 ? 1 :
							    spec->primaries);
	img->transferCharacteristics =
		(avifTransferCharacteristics)(spec->curve == 0 ? 13 :
								 spec->curve);
	img->matrixCoefficients =
		(avifMatrixCoefficients)(spec->is_identity ? 0 :
					 spec->matrix == 0 ? 6 :
							     spec->matrix);
	if (spec->is_turned)
		img->transformFlags |= AVIF_TRANSFORM_IROT;
	if (spec->is_mirrored)
		img->transformFlags |= AVIF_TRANSFORM_IMIR;
	if (spec->is_cut)
		img->transformFlags |= AVIF_TRANSFORM_CLAP;
	/* Eight numbers in the same order. */
	memcpy(&img->clap, spec->aperture, sizeof(spec->aperture));
	img->irot.angle = spec->angle;
#if AVIF_VERSION >= 1000000
	img->imir.axis = spec->mirror;
#else
	img->imir.mode = spec->mirror;
#endif
	if (spec->icc.count > 0)
		(void)avifImageSetProfileICC(img, spec->icc.data,
					     spec->icc.count);
	(void)avifImageAllocatePlanes(img, spec->has_alpha ? AVIF_PLANES_ALL :
							     AVIF_PLANES_YUV);
	for (uint32_t i = 0; i < 4; i++)
		fill(spec, img, i);
	return img;
}

static avifEncoder *encoder_open(void)
{
	avifEncoder *e = avifEncoderCreate();

	CHECK(e != NULL);
	e->codecChoice = AVIF_CODEC_CHOICE_AOM;
	e->speed = 9;
#if AVIF_VERSION >= 1000000
	e->quality = e->qualityAlpha = AVIF_QUALITY_LOSSLESS;
#else
	e->minQuantizer = e->maxQuantizer = AVIF_QUANTIZER_LOSSLESS;
	e->minQuantizerAlpha = e->maxQuantizerAlpha = AVIF_QUANTIZER_LOSSLESS;
#endif
	return e;
}

struct bytes avif_make(const struct avif_spec *spec)
{
	avifEncoder *e = encoder_open();
	avifImage *img = picture(spec);
	const avifImage *cells[16];
	avifRWData out = AVIF_DATA_EMPTY;
	avifResult result = AVIF_RESULT_OK;
	struct bytes file;

	for (size_t i = 0; i < ARRAY_SIZE(cells); i++)
		cells[i] = img;
	CHECK_NUMBER(spec->columns * 2, <=, ARRAY_SIZE(cells));
	if (spec->columns > 0)
		result = avifEncoderAddImageGrid(e, spec->columns, 2, cells,
						 AVIF_ADD_IMAGE_FLAG_SINGLE);
	else if (spec->frames < 2)
		result = avifEncoderAddImage(e, img, 1,
					     AVIF_ADD_IMAGE_FLAG_SINGLE);
	for (uint32_t i = 0; spec->frames > 1 && i < spec->frames; i++)
		if (result == AVIF_RESULT_OK)
			result = avifEncoderAddImage(e, img, 1,
						     AVIF_ADD_IMAGE_FLAG_NONE);
	CHECK_NUMBER(result, ==, AVIF_RESULT_OK);
	CHECK_NUMBER(avifEncoderFinish(e, &out), ==, AVIF_RESULT_OK);
	file = (struct bytes){ malloc(out.size), out.size };
	CHECK(file.data != NULL);
	memcpy(file.data, out.data, out.size);
	avifRWDataFree(&out);
	avifImageDestroy(img);
	avifEncoderDestroy(e);
	return file;
}

uint8_t *avif_box(struct bytes file, const char *type)
{
	for (size_t i = 4; i + 4 <= file.count; i++)
		if (memcmp(file.data + i, type, 4) == 0)
			return file.data + i + 4;
	CHECK(!"a box of this type");
	return NULL;
}
