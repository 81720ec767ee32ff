/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: conversion of a picture's samples to those of its result, in
 * sRGB or in the picture's own profile if that is kept.
 *
 * Y'CbCr is JFIF's: ITU-R BT.601 in full range, rounded as libjpeg does.
 */
#ifndef IMGOPS_COLOUR_COLOUR_H
#define IMGOPS_COLOUR_COLOUR_H

#include "imgops/colour/icc.h"
#include "imgops/imgops.h"

/*
 * True: a result may keep a profile of this size instead of being converted to
 * sRGB.
 */
bool colour_may_keep_profile(enum img_space space, size_t profile_bytes,
			     const struct img_transform *transform);

/*
 * The pixels that lcms2 converts for a result of `size`; none if the profile
 * may be kept.
 */
uint64_t colour_lcms_pixels(enum img_space space, struct img_size size,
			    bool may_keep);

/* How many channels a profile of such a picture has. */
uint32_t colour_channels(enum img_space space);

struct colour {
	enum img_space to;
	struct icc icc; /* the conversion to sRGB; without channels: none */
	uint32_t background; /* 0xRRGGBB */
	bool keeps_profile;
	uint32_t notes; /* bits of image.notes */
};

/*
 * Decide how `src` is converted; the converted picture will have `size`.  Call
 * colour_close() at the end.  False: no memory.
 */
MUST_CHECK bool colour_open(struct colour *c, const struct image *src,
			    struct img_size size,
			    const struct img_transform *transform,
			    const struct memory *memory);

/*
 * True: the conversion needs all channels of a pixel at once, so `src` must
 * first be scaled to planes of one size.
 */
bool colour_needs_pixels(const struct colour *c, const struct image *src);

/*
 * Make `dst`, which is empty, from `src`, whose planes are all of one size.
 * With IMG_CHROMA_AUTO, the converted colours decide.  False: no memory, and
 * `dst` is empty.
 */
MUST_CHECK bool colour_convert(struct image *dst, const struct image *src,
			       const struct colour *c, enum img_chroma chroma,
			       const struct memory *memory);

/* Memory that colour_convert() needs in addition to its result. */
size_t colour_convert_bytes(uint32_t width_px);

/*
 * Convert in place a picture for which colour_needs_pixels() is false.  Only
 * grey pictures change.
 */
void colour_convert_grey(struct image *img, const struct colour *c);

/* The samples of transform->background in a result of `space`. */
void colour_of_background(uint8_t samples[IMG_PLANES_MAX], enum img_space space,
			  const struct img_transform *transform);

/* Keep only the luma of a result; if its space is RGB, in all three planes. */
void colour_drop(struct image *img);

/*
 * Add the notes of the conversion to `dst`, and the profile if it is kept.
 * False: no memory.
 */
MUST_CHECK bool colour_label(struct image *dst, const struct image *src,
			     const struct colour *c,
			     const struct memory *memory);

/*
 * The size of src->profile by the profile's own header; what is behind that was
 * not checked.
 */
size_t colour_used_bytes(const struct image *src);

void colour_close(struct colour *c);

/* a * b / 255, rounded; intermediate sums fit into 16 bits. */
static inline uint8_t colour_share(uint8_t a, uint8_t b)
{
	uint16_t product = (uint16_t)(a * b + 128);

	return (uint8_t)((uint16_t)(product + (product >> 8)) >> 8);
}

/* One of R, G and B: channel 0, 1 or 2.  Planes must not overlap. */
void colour_channel_from_ycc(uint8_t *out, const uint8_t *const ycc[3],
			     uint32_t channel, size_t width);

/* Convert `width` samples of each plane.  Planes must not overlap. */
void colour_rgb_from_ycc(uint8_t *const rgb[3], const uint8_t *const ycc[3],
			 size_t width);

void colour_ycc_from_rgb(uint8_t *const ycc[3], const uint8_t *const rgb[3],
			 size_t width);

/* The mean of 2 x 2 samples; at an odd edge, the mean of the two that exist. */
void colour_halve_row(uint8_t *half, const uint8_t *upper, const uint8_t *lower,
		      size_t width);

/* Only Cb and Cr. */
void colour_chroma_from_rgb(uint8_t *const chroma[2],
			    const uint8_t *const rgb[3], size_t width);

/*
 * Write row `y` of a picture that is grey, RGB or RGBA: the samples of each
 * pixel side by side.  Colours are not multiplied by alpha there.
 */
void colour_write_row(uint8_t *to, const struct image *src, uint32_t y);

#endif
