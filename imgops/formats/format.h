/* SPDX-License-Identifier: MIT */
/*
 * Formats: what imgops must know of a file format (the contract that the author
 * of a format reads).
 *
 * A format is a folder that ends in one const struct img_format.  All else in
 * imgops and in the service reaches it by this table.  It reads a header,
 * decodes to planes, at a reduced size if it can, and encodes planes.  What
 * part of a picture is shown, at which size and in which colours, is not its
 * concern.
 *
 * imgops/README.md says how to add one.
 *
 * Ownership  As in imgops.h.  A format keeps nothing between two calls but its
 *            own part of struct img_header, which may be copied as bytes.
 */
#ifndef IMGOPS_FORMATS_FORMAT_H
#define IMGOPS_FORMATS_FORMAT_H

#include "imgops/imgops.h"

#include <assert.h>

struct step_estimate;  /* imgops/estimate.h */
struct metadata_found; /* imgops/metadata/metadata.h */

/* The planes of a coloured result. */
enum format_planes {
	FORMAT_YCBCR,     /* in 4:2:0 or 4:4:4, as format_chroma() says */
	FORMAT_YCBCR_420, /* whatever is asked for */
	FORMAT_RGB,
};

/* The qualities of a JPEG for which a format says its library's own. */
enum { FORMAT_QUALITIES = 9 };
extern const int format_qualities[FORMAT_QUALITIES]; /* 1 .. 100, rising */

/*
 * A file that is decoded while it arrives: as img_early_begin(), ..come(),
 * ..left() and img_decode_rest() say; `e` is of this format, and not NULL.  A
 * format's own struct begins with a struct img_early.
 */
struct format_early {
	struct img_early *(*begin)(const uint8_t *bytes, size_t count,
				   const struct img_header *header,
				   const struct img_view *view,
				   const struct img_transform *transform,
				   const struct img_limits *limits,
				   const struct memory *memory);
	enum img_err (*come)(struct img_early *e, const uint8_t *bytes,
			     size_t count, const _Atomic bool *stop);
	enum img_err (*rest)(struct image *dst, struct img_early *e,
			     const uint8_t *bytes, size_t count,
			     const struct img_header *header,
			     const struct img_view *view,
			     const struct img_transform *transform,
			     const struct img_limits *limits,
			     const struct memory *memory);
	double (*left)(const struct img_early *e, size_t count,
		       const struct img_header *header,
		       const struct img_view *view,
		       const struct img_transform *transform);
	void (*free)(struct img_early *e);
};

struct img_early {
	const struct format_early *format;
};

struct img_codec {
	/*
	 * Can a file of the format begin with these bytes, IMG_BEGIN_BYTES to
	 * magic_bytes of them?  With magic_bytes a yes is final.
	 */
	uint32_t magic_bytes;
	bool (*recognise)(const uint8_t *bytes, size_t count);

	/*
	 * img_probe_more() of a file of this format; header->format and
	 * header->bytes are set.  Sides and pixels must pass
	 * format_check_size(), and format_set_upright() be called.
	 */
	enum img_err (*probe_more)(struct img_header *header,
				   const uint8_t *bytes,
				   const struct img_limits *limits);

	/*
	 * The scale, in eighths, at which the file is decoded: the smallest
	 * that the format offers and that is at least `n`, which is 1 or more.
	 * A picture with texture too fine for that scale needs `fine_n`; a
	 * format that cannot tell ignores it.  NULL: always at full size.
	 */
	uint32_t (*scale)(const struct img_header *header, double n,
			  double fine_n);

	/*
	 * The scale at which decode() decodes if img_decode_scale() has
	 * returned `scale`: the same or larger.  NULL: the same.
	 */
	uint32_t (*scale_used)(const struct img_header *header, uint32_t scale);

	/*
	 * img_decode() and img_decode_again().  The size of the result is
	 * within the limits.  decode() NULL: only the format's program does,
	 * see img_format.program.  `again` NULL: there is one way to
	 * decode.
	 */
	enum img_err (*decode)(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *header,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory);
	bool (*decode_again)(struct img_header *header, enum img_err err);
	const struct format_early *early; /* NULL: files come as a whole */
	const struct step_estimate *decode_estimate;

	/*
	 * img_encode() of a picture that image_is_shaped(): IMG_GREY;
	 * IMG_YCBCR or IMG_RGB, as planes() says; or IMG_RGBA if the format
	 * holds alpha.  A format without grey writes grey as colours.
	 * `quality`, 1 .. 100, is that of `transform` or less.  NULL, as the
	 * rest: the format is only read.
	 */
	enum img_err (*encode)(uint8_t **bytes, size_t *count,
			       struct image *src,
			       const struct img_transform *transform,
			       double quality, const struct memory *memory);
	const struct step_estimate *encode_estimate;

	/*
	 * The library's measure for which a picture looks as good as a JPEG of
	 * each of format_qualities[]: it rises or falls from one to the next.
	 * script/lab/bench-quality says whether they fit.  NULL: the measure is
	 * that of a JPEG, or there is none.
	 */
	const double *qualities;
	/* Between two whole qualities, encode() has no others. */
	bool has_whole_qualities;
	/*
	 * If there are qualities: what decode() asks of struct memory for a
	 * file that encode() has written, at most, for each pixel, of a picture
	 * whose sides are this much longer, and once.
	 */
	uint32_t own_pixel_bytes, own_edge_px, own_bytes;

	/* For img_scale(), which makes what encode() gets. */
	enum format_planes (*planes)(const struct img_transform *transform);
	bool holds_alpha;
	bool holds_profile;
	bool holds_metadata; /* encode() writes Exif and XMP */
	bool holds_iptc;     /* and IPTC */

	/*
	 * Find the metadata of a file whose header is read; *found is empty.
	 * NULL: the format has none.
	 */
	void (*metadata)(struct metadata_found *found, const uint8_t *bytes,
			 size_t count, const struct img_header *header);

	/*
	 * The header of a file's gain map, as far as estimates need it.
	 * decode() attaches that map to the picture if it is to be kept.
	 * False: the file has none.  NULL: none is read.
	 */
	bool (*gainmap)(struct img_header *map,
			const struct img_header *header);
};

/* The format of a result. */
static inline const struct img_codec *
format_of_result(const struct img_transform *transform)
{
	assert((uint32_t)transform->format < IMG_RESULT_FORMATS);
	return img_formats[transform->format]->codec;
}

/* May there be background around the picture?  Only a view tells. */
static inline bool format_may_pad(const struct img_transform *transform)
{
	const struct img_sides *pad = &transform->pad;

	return transform->fit == IMG_FIT_PAD || pad->top_px > 0 ||
	       pad->right_px > 0 || pad->bottom_px > 0 || pad->left_px > 0;
}

/* Does the result get alpha because the pad is transparent? */
static inline bool format_adds_alpha(const struct img_transform *transform)
{
	return transform->background == IMG_TRANSPARENT &&
	       format_of_result(transform)->holds_alpha &&
	       format_may_pad(transform);
}

/* The space of the scaled picture, whose file has `space`. */
static inline enum img_space
format_result_space(const struct img_transform *transform, enum img_space space)
{
	const struct img_codec *c = format_of_result(transform);

	if (space == IMG_GREY || (space == IMG_RGBA && c->holds_alpha))
		return space;
	if (format_adds_alpha(transform))
		return IMG_RGB;
	return c->planes(transform) == FORMAT_RGB ? IMG_RGB : IMG_YCBCR;
}

/*
 * The space of the result if the scaled picture, in `space`, is padded by
 * background.
 */
enum img_space format_padded_space(const struct img_transform *transform,
				   enum img_space space);

/*
 * Which planes of a coloured result have full size?  AUTO: the samples decide.
 * A blur leaves nothing that 4:2:0 would lose.
 */
static inline enum img_chroma
format_chroma(const struct img_transform *transform)
{
	enum format_planes planes =
		format_of_result(transform)->planes(transform);

	if (planes == FORMAT_RGB || format_adds_alpha(transform))
		return IMG_CHROMA_444;
	if (planes == FORMAT_YCBCR_420 ||
	    (transform->chroma == IMG_CHROMA_AUTO &&
	     transform->blur_sigma_px >= 1))
		return IMG_CHROMA_420;
	return transform->chroma;
}

/* True: they all have, whatever the samples. */
static inline bool format_full_size(const struct img_transform *transform)
{
	return format_chroma(transform) == IMG_CHROMA_444;
}

/*
 * A format's own part of the header is a struct <word>_own:
 *
 *	struct FORMAT_OWN ppm_own {
 *		size_t offset;
 *	};
 *	FORMAT_OWN_FUNCTIONS(PPM, ppm)
 *
 * defines ppm_own(header) and ppm_own_change(header), which assert that the
 * file is of the format.  The header stores it as bytes, so the compiler must
 * know that the struct is another view of these bytes.
 */
#define FORMAT_OWN __attribute__((may_alias))
#define FORMAT_OWN_FUNCTIONS(NAME, word)                                       \
	_Static_assert(sizeof(struct word##_own) <= IMG_HEADER_OWN_BYTES,      \
		       "the header has room");                                 \
	_Static_assert(_Alignof(struct word##_own) <= _Alignof(uint64_t),      \
		       "img_header.own is aligned");                           \
	static inline const struct word##_own *word##_own(                     \
		const struct img_header *header)                               \
	{                                                                      \
		assert(header->format == img_formats[IMG_FORMAT_##NAME]);      \
		return (const void *)header->own;                              \
	}                                                                      \
	static inline struct word##_own *word##_own_change(                    \
		struct img_header *header)                                     \
	{                                                                      \
		assert(header->format == img_formats[IMG_FORMAT_##NAME]);      \
		return (void *)header->own;                                    \
	}

/* What is in between the two nearest of img_codec.qualities. */
double format_quality(const double *qualities, double quality);

/* TOO_LARGE: the file is over a limit of sides or pixels.  Else OK. */
enum img_err format_check_size(struct img_size stored,
			       const struct img_limits *limits);

/* Set header->upright by `stored` and `orientation`; 0 is taken for 1. */
void format_set_upright(struct img_header *header);

/*
 * For a file whose planes all have its full size: set what is left of the
 * header, after `stored` and `orientation`, and check the size.
 */
enum img_err format_set_full(struct img_header *header, enum img_space space,
			     const struct img_limits *limits);

/* Allocate the planes of such a file.  TOO_LARGE, NO_MEMORY: none. */
enum img_err format_alloc(struct image *dst, const struct img_header *header,
			  const struct img_limits *limits,
			  const struct memory *memory);

#endif
