/* SPDX-License-Identifier: MIT */
/*
 * RGB: JPEGs as red, green and blue of sRGB, and such a picture scaled in
 * double precision, in both kinds of light.  Uses no code of imgops.
 *
 * Errors     As floor.h: the files have been through the pipeline already.
 */
#ifndef IMGOPS_BENCH_RGB_H
#define IMGOPS_BENCH_RGB_H

#include "imgops/imgops.h"

struct rgb {
	struct img_plane planes[3]; /* of the same size */
	uint8_t *samples;           /* of all planes, from malloc() */
};

/*
 * Decode at full size; chroma as libjpeg enlarges it, and another profile is
 * converted.  Without a profile it is taken as sRGB, whatever Exif says.
 * False: it has no RGB, such as CMYK, or its profile is damaged.
 */
MUST_CHECK bool rgb_decode(struct rgb *out, const uint8_t *jpeg,
			   size_t jpeg_bytes);

void rgb_release(struct rgb *p);

/*
 * What is scaled: numbers as they are in a file, or the light that they mean.
 */
enum rgb_light {
	RGB_GAMMA,
	RGB_LINEAR,
};

/*
 * The part of `p` that `view` shows, of these sides, by reference_scale();
 * rounded to 8 bits as a file would be.
 */
struct rgb rgb_scale(const struct rgb *p, const struct img_view *view,
		     uint32_t width, uint32_t height, enum img_filter filter,
		     enum rgb_light light);

/*
 * SSIMULACRA2 of a result of the same sides, which are SSIMULACRA2_SIDE_MIN at
 * least.
 */
double image_score(const struct image *reference, const struct image *result);
double rgb_score(const struct rgb *reference, const struct rgb *result);

#endif
