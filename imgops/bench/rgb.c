/* SPDX-License-Identifier: MIT */
#include "imgops/bench/rgb.h"

#include "imgops/bench/measure.h"
#include "imgops/bench/reference.h"
#include "imgops/ssimulacra2.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <lcms2.h>

enum { CHANNELS = 3, LEVELS = 256 };

static void ignore_message(j_common_ptr jpeg, int level)
{
	(void)jpeg;
	(void)level;
}

/* From a profile to sRGB.  NULL: the profile is damaged. */
static cmsHTRANSFORM open_profile(const void *profile, size_t bytes)
{
	cmsHPROFILE from = cmsOpenProfileFromMem(profile, (uint32_t)bytes);
	cmsHPROFILE to = cmsCreate_sRGBProfile();
	cmsHTRANSFORM transform = NULL;

	if (from != NULL && to != NULL)
		transform = cmsCreateTransform(from, TYPE_RGB_8, to, TYPE_RGB_8,
					       INTENT_PERCEPTUAL, 0);
	if (from != NULL)
		(void)cmsCloseProfile(from);
	if (to != NULL)
		(void)cmsCloseProfile(to);
	return transform;
}

static void shape(struct rgb *p, uint32_t width, uint32_t height)
{
	size_t bytes = (size_t)width * height;

	p->samples = must_alloc(CHANNELS, bytes);
	for (int c = 0; c < CHANNELS; c++)
		p->planes[c] = (struct img_plane){
			.samples = p->samples + (size_t)c * bytes,
			.width = width,
			.height = height,
			.stride_bytes = width,
			.span_x = width,
			.span_y = height,
		};
}

/* Read all rows; `transform` is NULL if they are sRGB already. */
static void read_rows(struct rgb *p, struct jpeg_decompress_struct *jpeg,
		      cmsHTRANSFORM transform)
{
	uint32_t width = jpeg->output_width;
	uint8_t *row = must_alloc(width, CHANNELS);

	for (size_t at = 0; jpeg->output_scanline < jpeg->output_height;
	     at += width) {
		(void)jpeg_read_scanlines(jpeg, &row, 1);
		if (transform != NULL)
			cmsDoTransform(transform, row, row, width);
		for (size_t x = 0; x < width; x++)
			for (size_t c = 0; c < CHANNELS; c++)
				p->planes[c].samples[at + x] =
					row[CHANNELS * x + c];
	}
	free(row);
}

bool rgb_decode(struct rgb *out, const uint8_t *data, size_t bytes)
{
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	cmsHTRANSFORM transform = NULL;
	JOCTET *profile = NULL;
	unsigned profile_bytes;
	bool ok;

	*out = (struct rgb){ 0 };
	jpeg.err = jpeg_std_error(&errors);
	errors.emit_message = ignore_message;
	jpeg_create_decompress(&jpeg);
	jpeg_mem_src(&jpeg, data, bytes);
	jpeg_save_markers(&jpeg, JPEG_APP0 + 2, 0xffff);
	(void)jpeg_read_header(&jpeg, TRUE);
	ok = jpeg.num_components == 1 || jpeg.num_components == CHANNELS;
	if (ok && jpeg.num_components == CHANNELS &&
	    jpeg_read_icc_profile(&jpeg, &profile, &profile_bytes)) {
		transform = open_profile(profile, profile_bytes);
		ok = transform != NULL;
	}
	if (ok) {
		jpeg.out_color_space = JCS_RGB;
		(void)jpeg_start_decompress(&jpeg);
		shape(out, jpeg.output_width, jpeg.output_height);
		read_rows(out, &jpeg, transform);
		(void)jpeg_finish_decompress(&jpeg);
	}
	if (transform != NULL)
		cmsDeleteTransform(transform);
	free(profile);
	jpeg_destroy_decompress(&jpeg);
	return ok;
}

void rgb_release(struct rgb *p)
{
	free(p->samples);
	*p = (struct rgb){ 0 };
}

/* IEC 61966-2-1, both from 0 to 1. */
static double to_light(double value)
{
	return value <= 0.04045 ? value / 12.92 :
				  pow((value + 0.055) / 1.055, 2.4);
}

static double from_light(double light)
{
	return light <= 0.0031308 ? light * 12.92 :
				    1.055 * pow(light, 1 / 2.4) - 0.055;
}

static void fill_levels(double light[LEVELS])
{
	for (int i = 0; i < LEVELS; i++)
		light[i] = 255 * to_light(i / 255.0);
}

struct rgb rgb_scale(const struct rgb *p, const struct img_view *view,
		     uint32_t width, uint32_t height, enum img_filter filter,
		     enum rgb_light light)
{
	double levels[LEVELS];
	struct rgb out;

	fill_levels(levels);
	shape(&out, width, height);
	for (int c = 0; c < CHANNELS; c++) {
		double *scaled = reference_scale(
			&p->planes[c], view, &out.planes[c], filter,
			light == RGB_LINEAR ? levels : NULL);

		for (size_t i = 0; i < (size_t)width * height; i++) {
			double v = light == RGB_LINEAR ?
					   255 * from_light(scaled[i] / 255) :
					   scaled[i];

			out.planes[c].samples[i] = (uint8_t)lround(v);
		}
		free(scaled);
	}
	return out;
}

static void *heap_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return must_alloc(1, bytes);
}

static void heap_free(void *arg, void *block)
{
	(void)arg;
	free(block);
}

/* The same picture for imgops. */
static struct image image_of(const struct rgb *p)
{
	struct image img = { .plane_count = CHANNELS,
			     .space = IMG_RGB,
			     .block = p->samples };

	memcpy(img.planes, p->planes, sizeof(p->planes));
	return img;
}

double image_score(const struct image *reference, const struct image *result)
{
	static const struct memory heap = { .alloc = heap_alloc,
					    .free = heap_free };
	struct ssimulacra2 *s = ssimulacra2_new(reference, UINT64_MAX, &heap);
	double score = ssimulacra2_score(s, result);

	ssimulacra2_free(s);
	return score;
}

double rgb_score(const struct rgb *reference, const struct rgb *result)
{
	const struct image from = image_of(reference), to = image_of(result);

	return image_score(&from, &to);
}
