/* SPDX-License-Identifier: MIT */
/*
 * Image: a picture as planes of 8-bit samples, and where its memory is from.
 *
 * All planes share one block.  Every row has room for whole JPEG blocks, and
 * every plane for whole rows of blocks, so that libjpeg may write and read past
 * the picture's edge (planes.h).
 */
#ifndef IMGOPS_IMAGE_H
#define IMGOPS_IMAGE_H

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

/* Where memory is from.  `alloc` is as malloc(); `free` gets what it gave. */
struct img_memory {
	void *(*alloc)(void *arg, size_t bytes);
	void (*free)(void *arg, void *block);
	void *arg;
};

struct img_size {
	uint32_t width_px;
	uint32_t height_px;
};

static inline uint64_t img_pixels(struct img_size size)
{
	return (uint64_t)size.width_px * size.height_px;
}

enum { IMG_PLANES_MAX = 4 };

/* What the planes hold, as JFIF, and Adobe for the last three, define it. */
enum img_space {
	IMG_GREY,
	IMG_YCBCR,
	IMG_RGB,
	IMG_CMYK,
	IMG_YCCK,
};

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

/* What went wrong without being an error; bits of image.notes. */
enum {
	IMG_NOTE_DAMAGED = 1,     /* lenient: some of the picture is missing */
	IMG_NOTE_BAD_PROFILE = 2, /* its ICC profile was ignored */
};

struct image {
	struct img_plane planes[IMG_PLANES_MAX];
	uint32_t plane_count; /* 0: empty */
	enum img_space space;
	bool inks_inverted; /* CMYK, YCCK: 255 is no ink, as Adobe has it */
	uint32_t notes;
	uint8_t *profile; /* ICC, or NULL: sRGB */
	size_t profile_bytes;
	void *block; /* holds the samples of all planes */
	const struct img_memory *memory;
};

/* Free all that `img` holds and make it empty.  An empty image is fine. */
void img_release(struct image *img);

#endif
