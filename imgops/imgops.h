/* SPDX-License-Identifier: MIT */
/*
 * Image operations: JPEG bytes to planes, planes to planes, planes to bytes.
 *
 *	bytes -> img_probe -> img_fit
 *	bytes -> img_decode -> img_scale -> img_blur -> img_encode -> bytes
 *
 * Pictures stay in the JPEG's own colour space: planes of Y', Cb and Cr (or Y'
 * alone for grey) as JFIF defines them.  There is no RGB on the way; files in
 * other colour spaces are converted by img_decode.
 *
 * Pure functions: the result depends on the arguments alone.  No threads,
 * files, globals or logging.  Any number of threads may call any of them at
 * once, on different images.
 *
 * Ownership  `dst` must be empty ({0}).  On IMG_OK the caller owns it and ends
 *            with img_release().  On an error `dst` is still empty.
 * Memory     All pixels come from the caller's struct img_memory, which must
 *            outlive them.  libjpeg's own working memory comes from malloc().
 * Limits     Sides up to 65,500 pixels (libjpeg's), less by struct img_limits.
 */
#ifndef IMGOPS_IMGOPS_H
#define IMGOPS_IMGOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMG_CHECK __attribute__((warn_unused_result))

enum img_err {
	IMG_OK = 0,
	IMG_ERR_NOT_JPEG,       /* does not begin as a JPEG does */
	IMG_ERR_UNSUPPORTED,    /* a kind not read: 12-bit, lossless, ... */
	IMG_ERR_CORRUPT,        /* header or data contradict the standard */
	IMG_ERR_TRUNCATED,      /* ends before the last pixel */
	IMG_ERR_TOO_LARGE,      /* over a limit: side, pixels, memory */
	IMG_ERR_TOO_MANY_SCANS, /* over the limit: a "scan bomb" */
	IMG_ERR_NO_MEMORY,
};

/* A few English words for logs and replies.  Never NULL, never freed. */
const char *img_strerror(enum img_err err);

/* Where pixels live.  `alloc` is as malloc(); `free` gets what it gave. */
struct img_memory {
	void *(*alloc)(void *arg, size_t bytes);
	void (*free)(void *arg, void *block);
	void *arg;
};

struct img_size {
	uint32_t width_px;
	uint32_t height_px;
};

enum { IMG_PLANES_MAX = 3 };

/*
 * One plane.  A subsampled plane may end between two luma pixels, so the
 * picture covers `span_x` of its `width` samples: width - 1 < span_x <= width.
 */
struct img_plane {
	uint8_t *samples; /* rows from the top, stride_bytes apart */
	uint32_t width;
	uint32_t height;
	size_t stride_bytes; /* >= width; the rest of a row is padding */
	double span_x;
	double span_y;
};

struct image {
	struct img_plane planes[IMG_PLANES_MAX];
	uint32_t plane_count; /* 0: empty, 1: grey, 3: Y' Cb Cr */
	void *block;          /* holds the samples of all planes */
	const struct img_memory *memory;
};

/* Free the samples and make `img` empty.  An empty image is fine. */
void img_release(struct image *img);

/* Checked from the header, before any pixel is allocated. */
struct img_limits {
	uint32_t side_px_max;
	uint64_t pixels_max;
	uint32_t scans_max;        /* of a progressive file */
	uint64_t decode_bytes_max; /* coefficients and planes, together */
};

struct img_header {
	struct img_size stored;  /* as in the file */
	struct img_size upright; /* as displayed: orientation applied */
	uint32_t orientation;    /* EXIF: 1..8, 1 if absent or nonsense */
};

/* Read the header alone.  Errors: all but TOO_MANY_SCANS. */
IMG_CHECK enum img_err img_probe(struct img_header *header, const uint8_t *jpeg,
				 size_t jpeg_bytes,
				 const struct img_limits *limits);

/* `size` shrunk to fit inside `box`, aspect kept; box side 0: unbounded. */
struct img_size img_fit(struct img_size size, struct img_size box);

/*
 * Decode at the smallest of libjpeg's DCT scales (eighths) that is still at
 * least `target`, an upright size.  Planes keep the file's orientation and
 * about its subsampling.  Data that cannot be trusted to the last pixel is an
 * error; what stands between the last pixel and the end of the file is not
 * looked at.
 *
 * Errors: all.
 */
IMG_CHECK enum img_err
img_decode(struct image *dst, const uint8_t *jpeg, size_t jpeg_bytes,
	   const struct img_header *header, struct img_size target,
	   const struct img_limits *limits, const struct img_memory *memory);

/*
 * Scale every plane to an upright picture of `size`, chroma at half of it
 * (4:2:0), turned as EXIF `orientation` asks.  Lanczos-3, widened to shrink.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_scale(struct image *dst, const struct image *src,
				 struct img_size size, uint32_t orientation,
				 const struct img_memory *memory);

/*
 * Gaussian blur of `sigma_px` luma pixels, in (0, 100], edges extended, of a
 * picture made by img_scale or img_blur.  The kernel reaches 3 sigma.  A flat
 * plane stays flat, bit for bit.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_blur(struct image *dst, const struct image *src,
				double sigma_px,
				const struct img_memory *memory);

/*
 * Encode a picture made by img_scale or img_blur as a baseline JPEG (4:2:0 or
 * grey) of `quality` 1..100, without metadata.  Writes the padding of `src`.
 * *jpeg is a block of `memory`.
 *
 * Errors: NO_MEMORY.
 */
IMG_CHECK enum img_err img_encode(uint8_t **jpeg, size_t *jpeg_bytes,
				  struct image *src, int quality,
				  const struct img_memory *memory);

#endif
