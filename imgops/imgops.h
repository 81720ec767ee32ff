/* SPDX-License-Identifier: MIT */
/*
 * Image operations: JPEG bytes to planes, planes to planes, planes to bytes.
 *
 *	bytes -> img_probe -> img_fit
 *	bytes -> img_decode -> img_scale -> img_blur -> img_encode -> bytes
 *
 * Pictures stay in the JPEG's own samples: planes of Y', Cb and Cr (or Y'
 * alone for grey) on the common path.  img_scale() turns all else into these.
 *
 * Pure functions: the result depends on the arguments alone.  No threads,
 * files, globals or logging.  Any number of threads may call any of them at
 * once, on different images.
 *
 * Ownership  `dst` must be empty ({0}).  On IMG_OK the caller owns it and ends
 *            with img_release().  On an error `dst` is still empty.
 * Memory     All that grows with the picture comes from the caller's struct
 *            img_memory, which must outlive it.
 * Limits     Sides up to 65,500 pixels (libjpeg's), less by struct img_limits.
 */
#ifndef IMGOPS_IMGOPS_H
#define IMGOPS_IMGOPS_H

#include "imgops/image.h"
#include "imgops/recipe.h"

/* Checked from the header, before any pixel is allocated. */
struct img_limits {
	uint32_t side_px_max;
	uint64_t pixels_max; /* of the file; and of the result */
	uint32_t scans_max;  /* of one file; 16 at `pixels_max` */
	/* libjpeg's memory, coefficients first of all, and the planes. */
	uint64_t decode_bytes_max;
};

struct img_header {
	struct img_size stored;  /* as in the file */
	struct img_size upright; /* as displayed: orientation applied */
	uint32_t orientation;    /* EXIF: 1..8, 1 if absent or nonsense */
	enum img_space space;
	uint32_t component_count;
	uint8_t h_factors[IMG_PLANES_MAX]; /* sampling, 1..4 */
	uint8_t v_factors[IMG_PLANES_MAX];
	bool is_progressive;
	bool is_arithmetic;
	uint32_t scan_count; /* in all the bytes; 1 if the first has all */
	size_t icc_bytes;    /* of the ICC profile; 0: none */
};

/*
 * Read the header alone, without decoding, in one walk over the markers.
 * Errors: all but NO_MEMORY; TOO_MANY_SCANS by what is in the bytes given;
 * CORRUPT also for more than 32,768 markers.
 */
IMG_CHECK enum img_err img_probe(struct img_header *header, const uint8_t *jpeg,
				 size_t jpeg_bytes,
				 const struct img_limits *limits);

/* The part of the displayed picture that is shown, and at which size. */
struct img_view {
	double left, top, width, height; /* the whole picture is 0, 0, 1, 1 */
	struct img_size size;            /* of the result */
	uint32_t orientation; /* 1..8: how the file's rows lie in it */
};

/*
 * How `recipe` shows the picture of `header`.  Sides of the result are at least
 * 1 and at most 65,500.
 */
struct img_view img_fit(const struct img_header *header,
			const struct img_recipe *recipe);

/*
 * The smallest of 1, 2, 3, 4 and 8 eighths of its size at which a file is
 * decoded well enough for every plane of what is to be made.  What is decoded
 * for one picture is good for all that need no more of it.
 */
uint32_t img_eighths(const struct img_header *header,
		     const struct img_view *view,
		     const struct img_recipe *recipe);

/*
 * Decode at img_eighths() of `view` and `recipe`.  Planes keep the file's
 * orientation, space and subsampling; an ICC profile comes with them.  Unless
 * recipe->lenient, data that cannot be trusted to the last pixel are an error.
 * What the planes do not need is not looked at: scans that scans.h drops, and
 * all behind the last pixel.
 *
 * Errors: all; TOO_LARGE also if the result would be over `limits`.
 */
IMG_CHECK enum img_err
img_decode(struct image *dst, const uint8_t *jpeg, size_t jpeg_bytes,
	   const struct img_header *header, const struct img_view *view,
	   const struct img_recipe *recipe, const struct img_limits *limits,
	   const struct img_memory *memory);

/*
 * Scale the part of `src`, made by img_decode(), that `view` shows.  The result
 * is grey or Y'CbCr of view->size, upright, 4:2:0 or as recipe->full_chroma
 * says; in sRGB, or in what src->profile says if recipe->keep_profile and that
 * can be.  Lanczos-3, widened to shrink.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_scale(struct image *dst, const struct image *src,
				 const struct img_view *view,
				 const struct img_recipe *recipe,
				 const struct img_memory *memory);

/*
 * Gaussian blur of `sigma_px` luma pixels, in [0.3, 100], edges extended, of a
 * picture made by img_scale or img_blur.  A flat plane stays flat, bit for bit.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_blur(struct image *dst, const struct image *src,
				double sigma_px,
				const struct img_memory *memory);

/*
 * Encode a picture made by img_scale or img_blur, as the last fields of
 * `recipe` say.  No metadata but src->profile.  Writes the padding of `src`.
 * *jpeg is a block of `memory`.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_encode(uint8_t **jpeg, size_t *jpeg_bytes,
				  struct image *src,
				  const struct img_recipe *recipe,
				  const struct img_memory *memory);

#endif
