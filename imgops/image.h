/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: how the planes of an image are laid out in memory.
 */
#ifndef IMGOPS_IMAGE_H
#define IMGOPS_IMAGE_H

#include "imgops/imgops.h"

/*
 * libjpeg writes whole blocks and whole rows of MCUs.  So it may write past the
 * right edge of a plane to the end of a block, and past the lower edge to the
 * end of an MCU, which has at most 4 x 4 blocks.
 */
enum {
	IMAGE_BLOCK_PX = 16,
	IMAGE_ROW_GROUP_MAX = 32,
};

/* img_decode_scale() of a picture at full size */
enum { DECODE_SCALE_FULL = 8 };

enum {
	/* The size of the largest printer profiles. */
	PROFILE_BYTES_MAX = 4 << 20,
	/*
	 * The largest profile that is returned with a result, because profiles
	 * come from clients.  Profiles of cameras and screens have some KB,
	 * those with large tables half a MB.
	 */
	PROFILE_KEPT_BYTES_MAX = 1 << 20,
};

/*
 * Allocate the samples of `img`, whose plane_count and planes' width, height
 * and spans are set.  Samples are not initialised.  False: no memory, and `img`
 * is empty.
 */
MUST_CHECK bool image_alloc(struct image *img, const struct memory *memory);

/* Bytes that image_alloc() would ask for. */
uint64_t image_bytes(const struct image *img);

/* How many planes a picture has. */
uint32_t image_planes_of(enum img_space space);

/*
 * Set the shape of a picture of `size`, without samples.  Chroma of Y'CbCr has
 * full size or half of each side.
 */
void image_shape(struct image *img, struct img_size size, enum img_space space,
		 bool full_chroma);

/*
 * The shape of one component's plane, without samples, in a picture of `size`
 * decoded at n/8.  `h` and `v` are the component's sampling factors, `h_max`
 * and `v_max` the largest factors of the picture.
 */
struct img_plane image_plane_shape(struct img_size size, uint32_t n, uint32_t h,
				   uint32_t h_max, uint32_t v, uint32_t v_max);

/* The largest sampling factors of all components of a file. */
struct img_size image_factors_max(const struct img_header *h);

/* True: the picture has chroma planes as large as luma. */
bool image_has_full_chroma(const struct image *img);

/*
 * Do the samples of plane `i` stand for light: more, the larger they are?  The
 * first ones of YCCK stand for ink.
 */
static inline bool image_has_light(const struct image *img, uint32_t i)
{
	switch (img->space) {
	case IMG_YCBCR:
		return i == 0;
	case IMG_YCCK:
		return i == 3;
	case IMG_RGBA:
		return i < 3;
	default:
		return true;
	}
}

/* The first sample of a row of plane `i`. */
static inline uint8_t *image_row(const struct image *img, uint32_t i,
				 uint32_t y)
{
	const struct img_plane *p = &img->planes[i];

	return p->samples + y * p->stride_bytes;
}

/*
 * If a side is too long, or has room left, where the picture is: 0 is left or
 * top, 1 is right or bottom.
 */
double image_end_kept(enum img_gravity gravity, bool is_height);

/*
 * Are the file's columns, or rows, displayed in the opposite order?  From
 * orientation 5 on, columns are displayed as rows.
 */
static inline bool image_mirrors_x(uint32_t orientation)
{
	return orientation == 2 || orientation == 3 || orientation == 7 ||
	       orientation == 8;
}

static inline bool image_mirrors_y(uint32_t orientation)
{
	return orientation == 3 || orientation == 4 || orientation == 6 ||
	       orientation == 7;
}

/* True: `img` holds a picture as img_scale() makes: not of inks. */
bool image_is_shaped(const struct image *img);

#endif
