/* SPDX-License-Identifier: MIT */
/*
 * Image operations: JPEG bytes to planes, planes to planes, planes to bytes.
 *
 *	bytes -> img_probe -> img_fit -> img_cost
 *	bytes -> img_decode -> img_scale -> img_blur -> img_encode -> bytes
 *	                            \-> img_placeholder
 *
 * On the common path a picture stays in the JPEG's own samples: planes of Y',
 * Cb and Cr, or of Y' alone for grey.  img_scale() converts all other colour
 * spaces to these.
 *
 * The functions are pure: the result depends on the arguments alone.  They use
 * no threads, files, globals or logging.  Any number of threads may call any of
 * them at once, on different images.
 *
 * Ownership  `dst` must be empty ({0}).  On IMG_OK the caller owns it and frees
 *            it by img_release().  On an error `dst` is still empty.
 * Memory     All memory that grows with the picture comes from the caller's
 *            struct memory, which must outlive it.
 * Limits     Sides up to 65,500 pixels (libjpeg's limit), or less by struct
 *            img_limits.
 */
#ifndef IMGOPS_IMGOPS_H
#define IMGOPS_IMGOPS_H

#include "base/memory.h"
#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum img_err {
	IMG_OK = 0,
	IMG_ERR_NOT_JPEG,       /* does not begin as a JPEG does */
	IMG_ERR_UNSUPPORTED,    /* 12-bit, lossless, ... */
	IMG_ERR_CORRUPT,        /* header or data contradict the standard */
	IMG_ERR_TRUNCATED,      /* ends before the last pixel */
	IMG_ERR_TOO_LARGE,      /* over a limit: side, pixels, memory */
	IMG_ERR_TOO_MANY_SCANS, /* over the limit: a "scan bomb" */
	IMG_ERR_NO_MEMORY,
};

/* A few English words for logs and replies.  Never NULL, never freed. */
const char *img_strerror(enum img_err err);

struct img_size {
	uint32_t width_px;
	uint32_t height_px;
};

static inline uint64_t img_pixels(struct img_size size)
{
	return (uint64_t)size.width_px * size.height_px;
}

/* --- Images --- */

enum { IMG_PLANES_MAX = 4 };

/*
 * The colour space of the planes, as defined by JFIF and, for the last three,
 * by Adobe.  CMYK is stored inverted (255: no ink), as Adobe's programs write
 * it and djpeg, ImageMagick, libvips and Pillow read it, with and without an
 * Adobe marker.
 */
enum img_space {
	IMG_GREY,
	IMG_YCBCR,
	IMG_RGB,
	IMG_CMYK,
	IMG_YCCK, /* CMYK with 255 - C, 255 - M and 255 - Y as Y'CbCr */
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

/* Bits of image.notes: problems that are not errors. */
enum {
	IMG_NOTE_DAMAGED = 1,     /* lenient: some of the picture is missing */
	IMG_NOTE_BAD_PROFILE = 2, /* its ICC profile was ignored */
};

/*
 * A picture as planes of 8-bit samples.  All planes share one block.  Every row
 * has room for whole JPEG blocks, and every plane for whole rows of blocks, so
 * that libjpeg may read and write past the picture's edge.
 */
struct image {
	struct img_plane planes[IMG_PLANES_MAX];
	uint32_t plane_count; /* 0: empty */
	enum img_space space;
	uint32_t notes;
	uint8_t *profile; /* ICC, or NULL: sRGB */
	size_t profile_bytes;
	bool is_srgb; /* `profile` is known to be */
	void *block;  /* holds the samples of all planes */
	const struct memory *memory;
};

/*
 * Free everything that `img` owns and make it empty.  An empty image is fine.
 */
void img_release(struct image *img);

/* --- Transform parameters --- */

enum img_fit {
	IMG_FIT_INSIDE, /* all of the picture, aspect kept */
	IMG_FIT_COVER,  /* all of the box, aspect kept, the rest cut off */
	IMG_FIT_FILL,   /* all of both, stretched */
};

/* Which part of the displayed picture IMG_FIT_COVER keeps. */
enum img_gravity {
	IMG_CENTRE,
	IMG_NORTH,
	IMG_NORTHEAST,
	IMG_EAST,
	IMG_SOUTHEAST,
	IMG_SOUTH,
	IMG_SOUTHWEST,
	IMG_WEST,
	IMG_NORTHWEST,
};

enum img_filter {
	IMG_LANCZOS3,
	IMG_BOX,
	IMG_TRIANGLE,
	IMG_BSPLINE,     /* cubic; Mitchell-Netravali's B = 1, C = 0 */
	IMG_CATMULL_ROM, /* B = 0, C = 1/2 */
	IMG_MITCHELL,    /* B = C = 1/3 */
};

/* The result that is wanted.  Zero is the default of all but `quality`. */
struct img_transform {
	struct img_size box; /* side 0: unbounded; then all fits are "inside" */
	enum img_fit fit;
	enum img_gravity gravity;
	enum img_filter filter;
	bool enlarge;      /* also where the picture is smaller than the box */
	bool as_stored;    /* EXIF orientation is not applied */
	bool keep_profile; /* keep the ICC profile if possible, not sRGB */
	bool full_chroma;  /* 4:4:4 instead of 4:2:0 */
	double blur_sigma_px; /* in pixels of the result; 0: no blur */
	int quality;          /* 1 .. 100 */
	bool progressive;
	bool optimize; /* Huffman tables for this picture; two passes */
	bool lenient;  /* use the readable part of a damaged file */
};

/* --- The file's header --- */

/* Checked from the header, before any pixel is allocated. */
struct img_limits {
	uint32_t side_px_max;
	uint64_t pixels_max; /* of the file; and of the result */
	uint32_t scans_max;  /* of one file; 16 at `pixels_max` */
	/* libjpeg's memory, mostly for coefficients, and the planes. */
	uint64_t decode_bytes_max;
};

/* What the header's ICC profile means, as far as it is known. */
enum img_profile {
	IMG_PROFILE_UNKNOWN, /* none, or it may have to be converted */
	IMG_PROFILE_SRGB,    /* needs no conversion */
	IMG_PROFILE_BAD,     /* will be ignored */
};

enum { IMG_PIECES_MAX = 64 };

/* Parts of the file, in order; to[i] is the offset after the last byte. */
struct img_pieces {
	uint32_t count; /* 0: all of the file must be read */
	bool is_full;   /* there are more than these: they are not used */
	uint32_t from[IMG_PIECES_MAX], to[IMG_PIECES_MAX];
};

/* The scans of a progressive file: see jpeg/scans.h. */
struct img_scans {
	bool is_odd, is_complete, has_scans, keep[2];
	size_t pending; /* offset of what is in no piece yet */
	uint32_t component_count;
	uint8_t ids[IMG_PLANES_MAX], tables[IMG_PLANES_MAX];
	uint32_t quant_sums[4];
	/* The lowest bit that was sent of each coefficient; -1: none. */
	int8_t low_bit[IMG_PLANES_MAX][64];
	struct img_pieces pieces[2]; /* at 1/8, at 2/8 */
};

/* Everything that imgops needs to know of a file before decoding it. */
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
	enum img_profile profile;

	size_t bytes;            /* of the file, as far as it has arrived */
	size_t scan_offset;      /* of the first scan */
	bool has_one_scan;       /* and it contains all components */
	bool has_huffman_tables; /* before the first scan; MJPEG has none */
	uint8_t dc_tables;       /* used by the first scan: bit i for table i */
	uint8_t ac_tables;
	struct img_scans scans;

	/* The position in the marker segments; private to img_probe(). */
	struct {
		size_t offset; /* 0: not begun */
		bool in_scan, has_ended, has_header, has_jfif;
		uint32_t marker_count;
		uint32_t precision; /* bits of a sample */
		uint8_t ids[IMG_PLANES_MAX];
		int adobe;         /* transform, or -1: no such marker */
		size_t icc_offset; /* of the largest chunk */
		size_t icc_largest_bytes;
	} walk;
};

/*
 * Read the header alone, without decoding, in one walk over the markers.
 * Errors: all but NO_MEMORY; TOO_MANY_SCANS counts the scans in the bytes
 * given; CORRUPT also for more than 32,768 markers.  After TOO_LARGE only
 * header->stored is set; after other errors *header is unchanged.
 */
MUST_CHECK enum img_err img_probe(struct img_header *header,
				  const uint8_t *jpeg, size_t jpeg_bytes,
				  const struct img_limits *limits);

/*
 * The same while a file is still arriving: continue the walk of a former call
 * for the same file with fewer bytes.  *header is zero before the first call.
 * Each marker is read once, however many calls there are.  TRUNCATED: the
 * header has not yet come; call again with more bytes.  After any other error
 * *header is of no use but for its `stored`.  Once it returns OK, more bytes
 * change only `bytes`, `scan_count` and `scans`.
 */
MUST_CHECK enum img_err img_probe_more(struct img_header *header,
				       const uint8_t *jpeg, size_t jpeg_bytes,
				       const struct img_limits *limits);

/* The part of the displayed picture that is shown, and at which size. */
struct img_view {
	double left, top, width, height; /* the whole picture is 0, 0, 1, 1 */
	struct img_size size;            /* of the result */
	uint32_t orientation; /* 1..8: how the file's rows lie in it */
};

/*
 * How `transform` shows the picture of `header`.  Sides of the result are at
 * least 1 and at most 65,500.
 */
struct img_view img_fit(const struct img_header *header,
			const struct img_transform *transform);

/*
 * The DCT scale: a file is decoded at n/8 of its size, and this is the smallest
 * n of 1, 2, 3, 4 and 8 that is good enough for every plane of the result.
 * What is decoded for one result also serves all results that need no larger n.
 */
uint32_t img_dct_scale(const struct img_header *header,
		       const struct img_view *view,
		       const struct img_transform *transform);

/* --- Cost, estimated from the header before anything is decoded --- */

struct img_cost {
	/*
	 * CPU time of each step, and their sum.  Fitted to photos on one
	 * machine: it compares pictures well, but is no guarantee.
	 */
	uint64_t decode_ns; /* with img_probe() */
	uint64_t scale_ns;
	uint64_t blur_ns;
	uint64_t encode_ns;
	uint64_t cpu_ns;
	/*
	 * The largest sum of blocks of struct memory in use at one time, from
	 * img_decode() to img_encode().  The caller must release the input of a
	 * step as soon as its result is there, and the decoded picture when the
	 * last result has been scaled.  Several results may be in any of their
	 * steps at the same time, or finished and kept.
	 *
	 * For a photo the real peak is hardly smaller.  It is much smaller only
	 * if a profile is in several pieces or the result may be large.  It is
	 * larger for a result that does not compress at all (binary noise), for
	 * a damaged file that is read in another way than an intact one, and
	 * for a file that is cut before the second of its scans.
	 */
	uint64_t bytes;
};

/* One of several results that are made from one file, and its own cost. */
struct img_cost_part {
	const struct img_view *view;
	const struct img_transform *transform;

	uint64_t scale_ns; /* these are set by img_cost_parts() */
	uint64_t blur_ns;
	uint64_t encode_ns;
};

/* `header` by img_probe() from the whole file; `view` by img_fit(). */
struct img_cost img_cost(const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform);

/*
 * The same for `count` (1 or more) results together, if the file is decoded
 * once, at the largest img_dct_scale() of all: `dct_scale`.
 */
struct img_cost img_cost_parts(const struct img_header *header,
			       uint32_t dct_scale, struct img_cost_part *parts,
			       uint32_t count);

/* --- The steps --- */

/*
 * Decode at img_dct_scale() of `view` and `transform`.  Planes keep the file's
 * orientation, space and subsampling; the ICC profile is copied too.  Data that
 * cannot be trusted to the last pixel are an error, unless transform->lenient.
 * Data that the planes do not need are not looked at: unneeded scans of a
 * progressive file, and everything after the last pixel.
 *
 * `header` is what img_probe() found in all these bytes.
 *
 * Errors: all; TOO_LARGE also if the result would be over `limits`.
 */
MUST_CHECK enum img_err
img_decode(struct image *dst, const uint8_t *jpeg, size_t jpeg_bytes,
	   const struct img_header *header, const struct img_view *view,
	   const struct img_transform *transform,
	   const struct img_limits *limits, const struct memory *memory);

/*
 * Scale the part of `src`, made by img_decode(), that `view` shows.  The result
 * is grey or Y'CbCr, has view->size, is upright, and is 4:2:0 unless
 * transform->full_chroma.  It is in sRGB, or in the colours of src->profile if
 * transform->keep_profile and the profile can be kept.  Shrinking widens
 * transform->filter; a plane that keeps its size is only cut.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_scale(struct image *dst, const struct image *src,
				  const struct img_view *view,
				  const struct img_transform *transform,
				  const struct memory *memory);

/*
 * Gaussian blur of `sigma_px` luma pixels, in [0.3, 100], edges extended, of a
 * picture made by img_scale() or img_blur().  A flat plane stays flat, bit for
 * bit.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_blur(struct image *dst, const struct image *src,
				 double sigma_px, const struct memory *memory);

/*
 * Encode a picture made by img_scale() or img_blur() with the quality and
 * coding of `transform`.  The only metadata is src->profile.  Overwrites the
 * padding of `src`.  *jpeg is a block of `memory`.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_encode(uint8_t **jpeg, size_t *jpeg_bytes,
				   struct image *src,
				   const struct img_transform *transform,
				   const struct memory *memory);

/* --- Placeholder: what a page can show until the picture is loaded --- */

enum { IMG_BLURHASH_CHARS = 28 };

/*
 * Both members are made from the picture averaged down to a grid of 32 x 32
 * cells, each the mean of up to 4 x 4 samples spread over it.  Samples are
 * taken as sRGB, also where the picture keeps another profile.
 */
struct img_placeholder {
	/*
	 * BlurHash (blurha.sh) of the grid: 4 x 3 components, or 3 x 4 if the
	 * picture is higher than wide.
	 */
	char blurhash[IMG_BLURHASH_CHARS + 1];
	/*
	 * The dominant colour, R, G and B: the mean of the cells that fall in
	 * the fullest of 8 x 8 x 8 boxes of similar colours; of equally full
	 * boxes, the one with the least red, then green, then blue.
	 */
	uint8_t dominant[3];
};

/*
 * The placeholder of a picture made by img_scale() or img_blur().  The time
 * does not grow with the picture, and no memory is allocated.
 */
void img_placeholder(struct img_placeholder *out, const struct image *scaled);

#endif
