/* SPDX-License-Identifier: MIT */
/*
 * Image operations: bytes to planes, planes to planes, planes to bytes.
 *
 *	bytes -> img_probe -> img_fit -> img_cost
 *	bytes -> img_decode -> img_scale -> img_retouch -> img_encode -> bytes
 *	      img_find_border <-/   \-> img_placeholder
 *
 * Most pictures of JPEGs stay in the file's own samples: planes of Y', Cb and
 * Cr, or only Y' for grey.  img_scale() converts pictures in all other colour
 * spaces to these.
 *
 * The functions are pure: the result depends only on the arguments.  They use
 * no threads, files, globals or logging.  Any number of threads may call any of
 * them at once, on different images.
 *
 * Ownership  `dst` must be empty ({0}).  On IMG_OK the caller owns it and frees
 *            it by img_release().  On an error `dst` is still empty.
 * Memory     All memory that grows with the picture comes from the caller's
 *            struct memory, which must outlive it.
 * Limits     Sides up to IMG_SIDE_PX_MAX, or less by struct img_limits.
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
	IMG_ERR_UNKNOWN_FORMAT, /* does not begin as any of the formats does */
	IMG_ERR_UNSUPPORTED,    /* a kind of the format that is not read */
	IMG_ERR_CORRUPT,        /* header or data contradict the standard */
	IMG_ERR_TRUNCATED,      /* ends before the last pixel */
	IMG_ERR_TOO_LARGE,      /* over a limit: side, pixels, memory */
	IMG_ERR_TOO_MANY_SCANS, /* more scans than allowed: a "scan bomb" */
	IMG_ERR_NO_MEMORY,
	IMG_ERR_OUTSIDE,        /* `crop` begins outside of the picture */
	IMG_ERR_TOO_MANY_BYTES, /* no result is within `bytes_max` */
	/* Only of img_decode(), see there. */
	IMG_ERR_IRREGULAR,
	IMG_ERR_NEEDS_ALL_SCANS,
	IMG_ERR_TEXTURE,
	/* Only of a decoder elsewhere: it crashed, or took too long. */
	IMG_ERR_LOST,
	/* There is none, whatever the file. */
	IMG_ERR_NO_DECODER,
	/* Only of img_find_border(), see there. */
	IMG_ERR_BORDER,
};

/* A few English words for logs and replies.  Never NULL, never freed. */
const char *img_strerror(enum img_err err);

/* --- File formats --- */

/* The formats that are built in, as numbers: see formats/list.h. */
enum img_format_number {
#define FORMAT(name, word) IMG_FORMAT_##name,
#include "imgops/formats/list.h"
#undef FORMAT
	IMG_FORMATS,
};

/* The first of them are formats of results, too. */
enum {
#define FORMAT(name, word) IMG_RESULT_##name,
#define READ_ONLY_FORMAT(name, word)
#include "imgops/formats/list.h"
#undef FORMAT
	IMG_RESULT_FORMATS,
};

/* What a user sees of a format. */
struct img_format {
	const char *name;       /* for people: "JPEG" */
	const char *word;       /* for programs, as in list.h: "jpeg" */
	const char *media_type; /* of a result: "image/jpeg" */
	const char *suffix;     /* of a result's file, without the dot: "jpg" */
	uint32_t side_px_max;   /* of a result; 0: IMG_SIDE_PX_MAX */
	/* Its decoder is a library that was not made for hostile files. */
	bool is_fragile;
	bool holds_gainmap; /* a result can have one */
	/*
	 * The only program that decodes it; img_decode() is NO_DECODER.  NULL:
	 * there is no such program.
	 */
	const char *program;
	/* Private: formats/format.h. */
	const struct img_codec *codec;
};

extern const struct img_format *const img_formats[IMG_FORMATS];

enum { IMG_FORMAT_NAMES_CHARS = 128 };

/*
 * The names in a sentence, such as "JPEG, PNG and PPM"; `and` is " and ".
 * `formats` has a bit for each enum img_format_number.
 */
void img_format_names(char out[IMG_FORMAT_NAMES_CHARS], const char *and,
		      uint32_t formats);

#define IMG_SIDE_PX_MAX 65500 /* libjpeg's limit, for all formats */

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
 * The colour space of the planes, as defined by JFIF and, for the inks, by
 * Adobe.  CMYK is stored inverted (255: no ink), with and without an Adobe
 * marker: Adobe's programs write it so, and djpeg, ImageMagick, libvips and
 * Pillow read it so.
 */
enum img_space {
	IMG_GREY,
	IMG_YCBCR,
	IMG_RGB,
	IMG_CMYK,
	IMG_YCCK, /* CMYK with 255 - C, 255 - M and 255 - Y as Y'CbCr */
	/*
	 * R, G and B, each multiplied by alpha (255: opaque) and rounded, and
	 * alpha.  So a transparent pixel has no colour, and pixels can be
	 * summed.
	 */
	IMG_RGBA,
};

/*
 * One plane.  A subsampled plane may end between two luma pixels, so the
 * picture covers `span_x` of its `width` samples: width - 1 < span_x <= width.
 */
struct img_plane {
	uint8_t *samples; /* rows from the top, stride_bytes apart */
	uint32_t width;
	uint32_t height;
	/*
	 * >= width; the rest of a row is padding, and so are some rows below.
	 */
	size_t stride_bytes;
	double span_x;
	double span_y;
};

/* Bits of image.notes: problems that are not errors. */
enum {
	/* With `lenient`: a part of the picture is missing. */
	IMG_NOTE_DAMAGED = 1,
	IMG_NOTE_BAD_PROFILE = 2, /* its ICC profile was ignored */
	IMG_NOTE_HDR = 4,         /* its profile, kept, says PQ or HLG */
	/*
	 * Its gain map was wanted, and is left out: it is broken, or the result
	 * is of a format that has none.
	 */
	IMG_NOTE_NO_GAINMAP = 8,
	/*
	 * Some of its metadata were wanted, and are left out: they are broken,
	 * too large, or the result's format has no place for them.
	 */
	IMG_NOTE_METADATA_LEFT_OUT = 16,
	/* Its metadata were wanted; its manifest of C2PA is left out. */
	IMG_NOTE_MANIFEST_REMOVED = 32,
};

/*
 * What the samples of a gain map mean (ISO 21496-1).  The picture that it comes
 * with is the base; with the map, it becomes the alternate, usually the one for
 * displays with more headroom.  For light B of a channel, 1 for the base's
 * white, and the map's sample m from 0 to 1, the alternate is
 *
 *	A = (B + base_offset) * 2^(min + (max - min) * m^(1/gamma)) -
 *	    other_offset
 *
 * If it is for less headroom than the base, the exponent has a minus.
 */
struct img_gain {
	uint32_t channel_count; /* 1: all channels are alike; or 3 */
	/* B and A have the primaries of the base, else of the alternate. */
	bool uses_base_colours;
	/*
	 * For which headroom each is, as log2 of the ratio of white to the
	 * base's white.
	 */
	double base_headroom, other_headroom;
	struct {
		double min, max, gamma, base_offset, other_offset;
	} channels[3];
};

struct img_gainmap;
struct img_watermark;

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
	uint8_t *profile; /* ICC profile; NULL: sRGB */
	size_t profile_bytes;
	bool is_srgb;                /* `profile` is known to be sRGB */
	void *block;                 /* holds the samples of all planes */
	struct img_gainmap *gainmap; /* a block of its own; NULL: none */
	/*
	 * For img_encode(), which writes them; set by the caller, who owns
	 * them.  NULL: none.
	 */
	const struct img_metadata *metadata;
	const struct memory *memory;
};

/*
 * The largest profile of a map.  It is a matrix profile; those have some
 * hundred bytes, and some KB with curves in tables.
 */
enum { IMG_GAINMAP_PROFILE_BYTES_MAX = 64 << 10 };

/* It covers the whole picture that it comes with, with its orientation. */
struct img_gainmap {
	/*
	 * IMG_GREY, IMG_YCBCR or IMG_RGB.  Its profile is that of the
	 * alternate's primaries, and NULL if those are not needed.
	 */
	struct image image;
	struct img_gain gain;
	/* The sizes of the map and of the base in the file. */
	struct img_size stored, base_stored;
};

/*
 * Free everything that `img` owns and make it empty.  An empty image is fine.
 */
void img_release(struct image *img);

/*
 * Make `dst` a copy of `src`, which may have come from outside of this program:
 * of `src` only its samples and its profile must exist, and its strides hold a
 * row.  CORRUPT: no picture has such planes.  Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_copy(struct image *dst, const struct image *src,
				 const struct memory *memory);

/* --- Transform parameters --- */

enum img_fit {
	IMG_FIT_INSIDE, /* the whole picture within the box, aspect kept */
	IMG_FIT_COVER,  /* fill the whole box, aspect kept, cut off the rest */
	IMG_FIT_FILL,   /* the whole picture fills the whole box, stretched */
	IMG_FIT_PAD,    /* as inside, and the rest of the box is background */
};

/* Pixels at the sides of a picture. */
struct img_sides {
	uint32_t top_px, right_px, bottom_px, left_px;
};

/* A background that is transparent if the format holds alpha, else white. */
#define IMG_TRANSPARENT 0x1000000u

/* A part of a picture, in pixels; without a side, all of it. */
struct img_rect {
	uint32_t left_px, top_px, width_px, height_px;
};

/*
 * A place in a picture, as seen from its middle, in parts of its sides:
 * IMG_POINT_PARTS / 2 is the right or the lower edge.
 */
enum { IMG_POINT_PARTS = 10000 };

struct img_point {
	int32_t x, y; /* to the right, and down */
};

/* Clockwise. */
enum img_rotation {
	IMG_ROTATE_0,
	IMG_ROTATE_90,
	IMG_ROTATE_180,
	IMG_ROTATE_270,
};

enum img_flip {
	IMG_FLIP_NONE,
	IMG_FLIP_H, /* left and right change places */
	IMG_FLIP_V, /* top and bottom do */
};

/*
 * Which part of the displayed picture IMG_FIT_COVER keeps, and where in the box
 * IMG_FIT_PAD puts it.
 */
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
	IMG_SMART, /* where most attention is: attention.h; else the centre */
};

/* What a result has of the file's metadata: Exif, XMP and IPTC. */
enum img_metadata_kept {
	IMG_METADATA_STRIP,
	/* Who made the picture, and whose it is, in fields written anew. */
	IMG_METADATA_COPYRIGHT,
	/* All, with what is true of the result, and without small pictures. */
	IMG_METADATA_KEEP,
};

enum img_filter {
	IMG_LANCZOS3,
	IMG_BOX,
	IMG_TRIANGLE,
	IMG_BSPLINE,     /* cubic; Mitchell-Netravali's B = 1, C = 0 */
	IMG_CATMULL_ROM, /* B = 0, C = 1/2 */
	IMG_MITCHELL,    /* B = C = 1/3 */
};

/* The chroma of a result that is coded in Y'CbCr. */
enum img_chroma {
	IMG_CHROMA_420, /* half of each side */
	IMG_CHROMA_444,
	/* 4:4:4 if halving would lose colours, as in coloured text: chroma.h */
	IMG_CHROMA_AUTO,
};

/* What is scaled. */
enum img_light {
	/* The numbers of the file, as nearly all programs do. */
	IMG_LIGHT_GAMMA,
	/* The light that they mean, by the curve of sRGB: resample/light.h. */
	IMG_LIGHT_LINEAR,
};

/*
 * The wanted result.  Zero is the default of every member except `quality` and
 * those of a watermark.
 *
 * The picture is turned upright, its border is removed, and it is rotated,
 * flipped and cut to `crop`, in this order; what is then seen is the displayed
 * picture, which is fitted into the box.
 */
struct img_transform {
	/*
	 * Remove the border: how many levels its colours may differ from the
	 * left upper corner, 2 .. 255; 1: IMG_TRIM_USUAL; 0: it stays.
	 */
	int trim;
	/* A side of 0 has no limit; then every fit acts as "inside". */
	struct img_size box;
	double dpr; /* a factor of the box's sides and of `pad`; 0: 1 */
	enum img_fit fit;
	enum img_gravity gravity;
	/* For IMG_CENTRE: the middle of what is kept, if possible. */
	struct img_point focus;
	enum img_rotation rotation;
	enum img_flip flip;
	struct img_rect crop; /* what is beyond the edges is left out */
	bool greyscale;       /* luma alone */
	enum img_filter filter;
	/* The same for all results of one decoded picture. */
	enum img_light light;
	bool enlarge;   /* enlarge a picture that is smaller than the box */
	bool as_stored; /* do not apply the EXIF orientation */
	/* If possible keep the ICC profile, do not convert to sRGB. */
	bool keep_profile;
	enum img_chroma chroma;
	/*
	 * 0xRRGGBB, in the result's colours, or IMG_TRANSPARENT: what is around
	 * a padded picture, and under transparent parts if the result has no
	 * alpha.
	 */
	uint32_t background;
	struct img_sides pad;    /* around the result; outside of the box */
	double blur_sigma_px;    /* in pixels of the result; 0: no blur */
	double sharpen_sigma_px; /* of the blur that it is compared with */
	enum img_format_number format;
	int quality; /* 1 .. 100 */
	/*
	 * How like the picture its encoded result is to look, as SSIMULACRA2
	 * (ssimulacra2.h), up to 100: then `quality` is not used.  0: it is.
	 */
	double score;
	/* A larger result gets less quality; 0: no limit. */
	uint32_t bytes_max;
	bool progressive;
	bool optimize; /* Huffman tables for this picture; two passes */
	bool lossless; /* if the format can; then `quality` is not used */
	/* How much time to spend for fewer bytes; 0: the format's usual. */
	int effort;        /* 1 .. 9 */
	bool lenient;      /* use the readable part of a damaged file */
	bool keep_gainmap; /* if the file has one and the format can */
	/*
	 * A picture that is drawn over the result: its number, by the caller's
	 * count; 0: none.  The others are of use only with it.
	 */
	uint32_t watermark;
	enum img_gravity watermark_position;
	double watermark_opacity; /* 0 .. 1 */
	double watermark_scale;   /* its share of the result's width, 0 .. 1 */
	enum img_metadata_kept metadata;
};

/*
 * True: the result of a file with a gain map has one, too.  One that is padded
 * has none, because the map would have to end between its samples, and one with
 * a watermark, because the map would brighten that.
 */
bool img_keeps_gainmap(const struct img_transform *transform);

/* --- The file's header --- */

/* Checked from the header, before any pixel is allocated. */
struct img_limits {
	uint32_t side_px_max;
	uint64_t pixels_max; /* of the file */
	/*
	 * The most scans of a file.  A file with the most pixels of a result
	 * may have only 16, and a larger one fewer.
	 */
	uint32_t scans_max;
	/*
	 * Limit of the planes and the decoder's memory together.  A JPEG's
	 * decoder needs most of it for coefficients.
	 */
	uint64_t decode_bytes_max;
	uint64_t result_pixels_max; /* 0: as pixels_max */
};

static inline uint64_t img_result_pixels_max(const struct img_limits *l)
{
	return l->result_pixels_max > 0 ? l->result_pixels_max : l->pixels_max;
}

/* The most scans of a file of this size. */
uint32_t img_scans_max(struct img_size stored, const struct img_limits *limits);

/* What is known about the ICC profile in the header. */
enum img_profile {
	/* There is none, or lcms2 has to read it first. */
	IMG_PROFILE_UNKNOWN,
	IMG_PROFILE_SRGB,   /* needs no conversion */
	IMG_PROFILE_MATRIX, /* the conversion is simple: colour/matrix.h */
};

/* The levels of `trim` that are usual, as in libvips. */
enum { IMG_TRIM_USUAL = 10, IMG_TRIM_MAX = 255 };

/* A header has room for as many borders. */
enum { IMG_BORDERS_MAX = 16 };

/* What img_find_border() has found. */
struct img_border {
	int tolerance;
	/* The corner of its colour in the file: 1 is right, 2 is lower. */
	uint32_t corner;
	struct img_rect inside; /* in pixels of the file */
	uint32_t seen_px;       /* the width of the decoded picture */
};

/* Does a file have texture that is too fine for the usual scale? */
enum img_texture {
	IMG_TEXTURE_UNKNOWN,
	IMG_TEXTURE_FINE,    /* it is decoded at a larger scale */
	IMG_TEXTURE_IGNORED, /* it is decoded at the usual scale all the same */
};

enum { IMG_HEADER_OWN_BYTES = 2304 };

/* Everything that imgops needs to know about a file before decoding it. */
struct img_header {
	const struct img_format *format; /* NULL: not yet recognised */
	struct img_size stored;          /* as in the file */
	struct img_size upright;         /* as displayed: orientation applied */
	uint32_t orientation; /* EXIF: 1..8, 1 if absent or nonsense */
	enum img_space space;
	uint32_t component_count;
	uint8_t h_factors[IMG_PLANES_MAX]; /* sampling factors, 1..4 */
	uint8_t v_factors[IMG_PLANES_MAX];
	size_t icc_bytes; /* size of the ICC profile; 0: none */
	enum img_profile profile;
	/*
	 * The whole picture comes several times, each time finer: its decode
	 * depends on bytes that have not arrived.
	 */
	bool is_progressive;

	size_t bytes; /* bytes of the file that have arrived */
	/*
	 * Set by img_decode_again(): what img_decode(), and img_find_border(),
	 * have found out.
	 */
	bool has_findings; /* any of the following, or of the format's own */
	bool is_irregular; /* it is decoded in full, whatever is asked for */
	enum img_texture texture;
	uint32_t border_count;
	struct img_border borders[IMG_BORDERS_MAX];

	/*
	 * Pictures that follow one another in the bytes that have arrived; 0:
	 * the format has only one.
	 */
	uint32_t frames;

	/* Private: a struct of the format's folder. */
	_Alignas(uint64_t) uint8_t own[IMG_HEADER_OWN_BYTES];
};

/*
 * Recognise the format and read the header, without decoding, in one walk over
 * the file.  Errors: all except NO_MEMORY.  TOO_MANY_SCANS counts the scans in
 * the bytes given.  A JPEG of more than 32,768 markers is CORRUPT.  After
 * TOO_LARGE only header->format and header->stored are set; after other errors
 * *header is unchanged.
 */
MUST_CHECK enum img_err img_probe(struct img_header *header,
				  const uint8_t *bytes, size_t count,
				  const struct img_limits *limits);

/*
 * As img_probe(), but for a file that is still arriving: continue the walk of
 * an earlier call, which had fewer bytes of the same file.  *header is zero
 * before the first call, which has at least IMG_BEGIN_BYTES.  A part of a JPEG
 * is read once, however many calls there are.  TRUNCATED: the header has not
 * yet come; call again with more bytes.  After any other error only
 * header->format and header->stored may be used.  Once it returns OK, more
 * bytes change only `bytes`, `frames` and the format's own part.
 */
MUST_CHECK enum img_err img_probe_more(struct img_header *header,
				       const uint8_t *bytes, size_t count,
				       const struct img_limits *limits);

/* A shorter file is of no format. */
enum { IMG_BEGIN_BYTES = 2 };

/*
 * The header of the file's gain map, as far as estimates need it.  False: the
 * file has none that can be decoded.
 */
bool img_gainmap_header(struct img_header *map,
			const struct img_header *header);

/* The part of the displayed picture that is shown, and at which size. */
struct img_view {
	/*
	 * The whole picture is 0, 0, 1, 1.  For IMG_SMART, img_scale() moves
	 * it, and this is the middle.
	 */
	double left, top, width, height;
	struct img_size size; /* of the scaled picture */
	struct img_sides pad; /* around it, in the result */
	/* 1..8: the EXIF orientation of the file's rows. */
	uint32_t orientation;
	/* What is beyond a `crop`, in parts of the sides: no filter sees it. */
	double cut_left, cut_top, cut_right, cut_bottom;
};

static inline struct img_size img_result_size(const struct img_view *view)
{
	const struct img_sides *pad = &view->pad;

	return (struct img_size){
		pad->left_px + view->size.width_px + pad->right_px,
		pad->top_px + view->size.height_px + pad->bottom_px,
	};
}

/*
 * Does the part that `transform` asks for begin in the picture?  *size, if it
 * is not NULL, is that of the picture before the cut.  This and img_fit() see
 * the picture with its border until img_find_border() has found that.
 */
bool img_crop_fits(const struct img_header *header,
		   const struct img_transform *transform,
		   struct img_size *size);

/*
 * The view of the picture that `transform` asks for, whose part must fit.
 * Sides of the scaled picture are at least 1 and at most IMG_SIDE_PX_MAX, and
 * so is each side of the pad.
 */
struct img_view img_fit(const struct img_header *header,
			const struct img_transform *transform);

/* True: the result is within the limits of its format and of `limits`. */
bool img_result_fits(const struct img_view *view,
		     const struct img_transform *transform,
		     const struct img_limits *limits);

/*
 * A file is decoded at n/8 of its size, and this is the smallest n that its
 * format offers (JPEG: 1, 2, 3, 4 and 8) and that is good enough for every
 * plane of the result.  A picture decoded at n can also be used for every
 * result that needs n or less.
 */
uint32_t img_decode_scale(const struct img_header *header,
			  const struct img_view *view,
			  const struct img_transform *transform);

/* --- Cost, estimated from the header before anything is decoded --- */

/*
 * A *way* is what takes most of a step's time, such as the bytes of a JPEG that
 * is decoded at 2/8.  On another machine, steps of one way take about the same
 * number of times as long as was estimated; those of another way, another
 * number.  The caller can learn it.
 */
enum { IMG_WAYS = (IMG_FORMATS + IMG_RESULT_FORMATS + 4) * 49 };

/* For people: "decode jpeg: byte, decoded at 2/8". */
void img_way_name(uint32_t way, char *text, size_t bytes);

struct img_cost {
	/*
	 * Estimated CPU time of each step, and the sum.  The constants were
	 * fitted to photos on one machine: estimates of different pictures can
	 * be compared, but none is guaranteed.
	 */
	uint64_t decode_ns; /* includes img_probe() */
	uint64_t scale_ns;
	uint64_t blur_ns; /* of img_retouch() */
	uint64_t encode_ns;
	uint64_t cpu_ns;
	uint32_t decode_way; /* less than IMG_WAYS; of no time: any */
	/*
	 * The largest sum of blocks of struct memory in use at one time, from
	 * img_decode() to img_encode().  This is right if the caller releases
	 * the input of a step as soon as the step has its result, and the
	 * decoded picture when the last result has been scaled.  If there are
	 * several results, each may at any time be in any step, or be finished
	 * and kept.
	 *
	 * For a photo the real peak is only a little smaller.  It is much
	 * smaller if a profile is in several pieces, or if the result could
	 * have been large.  It is larger than the estimate for a result that
	 * does not compress at all (binary noise), for a damaged file that is
	 * read in another way than an intact one, and for a file that is cut
	 * before the second of its scans.
	 */
	uint64_t bytes;
};

/* One of several results from one file, and its own cost. */
struct img_cost_part {
	const struct img_view *view;
	const struct img_transform *transform;
	const struct img_watermark *watermark; /* NULL: none */

	/* img_cost_parts() sets the members below. */
	uint64_t scale_ns;
	uint64_t blur_ns;
	uint64_t encode_ns;
	uint32_t scale_way, blur_way, encode_way;
};

/*
 * `header` comes from img_probe() on the whole file, `view` from img_fit().  It
 * knows of no watermark.
 */
struct img_cost img_cost(const struct img_header *header,
			 const struct img_view *view,
			 const struct img_transform *transform);

/*
 * The cost of `count` (1 or more) results together.  The file is decoded once,
 * at `scale`/8, the largest img_decode_scale() of all results.
 */
struct img_cost img_cost_parts(const struct img_header *header, uint32_t scale,
			       struct img_cost_part *parts, uint32_t count);

/* --- The steps --- */

/*
 * Decode at img_decode_scale() of `view` and `transform`.  Planes keep the
 * file's orientation, space and subsampling; the ICC profile is copied too.  If
 * any pixel may be wrong because data are damaged, that is an error, unless
 * transform->lenient is set.  Data that the planes do not need are not read:
 * unneeded scans of a progressive file, and everything after the last pixel.
 *
 * `header` is the result of img_probe() for exactly these bytes.
 *
 * If transform->keep_gainmap, the file's gain map is decoded, too, in a way
 * that suits all results of this scale.  A map that cannot be decoded is no
 * error.
 *
 * IRREGULAR: the file cannot be decoded in the usual, fast way.  The next time
 * it is decoded in full, or what is wrong with it is found out.
 *
 * NEEDS_ALL_SCANS: samples outside of the frame may show in a progressive file,
 * of which not all scans were read.  The next time all are read.
 *
 * TEXTURE: the file has so much fine texture that the usual scale would
 * show false stripes.  The next time the scale is larger.
 *
 * After these, call img_decode_again(), img_cost() and img_decode().  That may
 * take much more time and memory.
 *
 * Errors: all; TOO_LARGE also if the result would be over `limits`.
 */
MUST_CHECK enum img_err
img_decode(struct image *dst, const uint8_t *bytes, size_t count,
	   const struct img_header *header, const struct img_view *view,
	   const struct img_transform *transform,
	   const struct img_limits *limits, const struct memory *memory);

/*
 * A part of img_decode(), done while the file arrives: of a baseline JPEG of
 * one scan.  img_early_come() decodes what has come, as often as it is called,
 * on any thread, one at a time.  img_decode_rest() is img_decode() from there
 * on, with the same result.
 */
struct img_early;

/*
 * `header` is the result, OK, of img_probe_more() on the first `count` bytes.
 * It allocates what img_decode() would, except profile and gain map.  NULL: the
 * file is not decoded early, or there is no memory.  `memory` must outlive the
 * picture.
 */
struct img_early *img_early_begin(const uint8_t *bytes, size_t count,
				  const struct img_header *header,
				  const struct img_view *view,
				  const struct img_transform *transform,
				  const struct img_limits *limits,
				  const struct memory *memory);

/*
 * `count` bytes have come; they may have moved since the last call.  *stop,
 * which another thread may set, ends it within some MCUs.  Errors: what
 * img_decode_rest() will return; further calls decode no more.
 */
MUST_CHECK enum img_err img_early_come(struct img_early *e,
				       const uint8_t *bytes, size_t count,
				       const _Atomic bool *stop);

void img_early_free(struct img_early *e); /* NULL is fine */

/*
 * How much of the work of img_decode(), 0 .. 1, is left to img_decode_rest(),
 * in which `e` may be NULL: as far as bytes tell.
 */
double img_early_left(const struct img_early *e, size_t count,
		      const struct img_header *header,
		      const struct img_view *view,
		      const struct img_transform *transform);

/*
 * As img_decode().  `e` is still to be freed, but holds nothing large any more.
 * If `e` is NULL, was begun for another scale or light, or got here before, all
 * is decoded.
 */
MUST_CHECK enum img_err img_decode_rest(struct image *dst, struct img_early *e,
					const uint8_t *bytes, size_t count,
					const struct img_header *header,
					const struct img_view *view,
					const struct img_transform *transform,
					const struct img_limits *limits,
					const struct memory *memory);

/*
 * True: img_decode() has ended with `err`, and may be called again with the
 * changed header, to decode in another way.  That happens at most once for each
 * `err`, except BORDER.  A file with fine texture that is TOO_LARGE at the
 * larger scale gets the usual one.
 */
bool img_decode_again(struct img_header *header, enum img_err err);

/*
 * Find the border that `transform` asks to remove in a picture made by
 * img_decode(): rows and columns at the edges, of one colour or transparent.
 * trim.h has the rules.  It is found to a sample of `decoded`.
 *
 * BORDER: it is now known, or better than before, and noted in the header.
 * Call img_decode_again(), and again img_crop_fits(), img_fit() and img_cost().
 * If what is inside needs a larger img_decode_scale(), decode again, and call
 * this once more; else `decoded` is good for the new view.  OK: nothing has
 * changed.  Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_find_border(struct img_header *header,
					const struct image *decoded,
					const struct img_transform *transform,
					const struct memory *memory);

/*
 * If `memory` has a helper, may another core help img_decode()?  That takes
 * more memory than estimated: at most so many bytes, in so many blocks.
 */
enum { IMG_HELP_BYTES = 7 << 20, IMG_HELP_BLOCKS = 3 };
bool img_may_be_helped(const struct img_header *header,
		       const struct img_view *view,
		       const struct img_transform *transform);

/* As img_decode(), but also calls it again, at any cost. */
MUST_CHECK enum img_err
img_decode_any(struct image *dst, const uint8_t *bytes, size_t count,
	       const struct img_header *header, const struct img_view *view,
	       const struct img_transform *transform,
	       const struct img_limits *limits, const struct memory *memory);

/*
 * Scale the part of `src`, made by img_decode(), that `view` shows.  The result
 * has view->size and is upright.  It is grey, or what transform->format codes:
 * Y'CbCr, with the chroma of transform->chroma, or RGB, also if the pad is to
 * be transparent.  A picture with alpha is RGBA if the format holds alpha, else
 * it is put on transform->background.  It is in sRGB, or in the colours of
 * src->profile if transform->keep_profile and the profile can be kept.
 * transform->filter is widened where the size shrinks.  A plane that keeps its
 * size is not filtered: only the part is cut out.
 *
 * If img_keeps_gainmap(), the part of the gain map is scaled as well.  It is
 * never enlarged, and at least as large, compared with the result, as in the
 * file.  A map of a file that shrinks may have up to half of the result's
 * sides.  If the base is converted to sRGB, a map of one channel stays right,
 * and one of three gets the profile of the colours in which it is applied.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_scale(struct image *dst, const struct image *src,
				  const struct img_view *view,
				  const struct img_transform *transform,
				  const struct memory *memory);

/*
 * The same, if nobody else uses `src` or needs its planes any more.  Planes
 * that keep their size and colours are moved, not copied; then `src` has none,
 * and can only be released.  On an error it has them still.
 */
MUST_CHECK enum img_err img_scale_last(struct image *dst, struct image *src,
				       const struct img_view *view,
				       const struct img_transform *transform,
				       const struct memory *memory);

/*
 * Gaussian blur of a picture made by img_scale() or img_blur().  `sigma_px` is
 * in luma pixels, from 0.3 to 100.  Past an edge, the edge sample is repeated.
 * A flat plane stays flat, bit for bit.  A gain map is blurred by as much.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_blur(struct image *dst, const struct image *src,
				 double sigma_px, const struct memory *memory);

/*
 * Sharpen a picture made by img_scale(), in place, by an unsharp mask on its
 * luma: blur/rows.h has the curve.  `sigma_px` is that of the blur, from 0.3 to
 * 100.  Where luma differs little from its blur, nothing changes.  A gain map
 * stays as it is.
 *
 * Errors: NO_MEMORY; *img is unchanged.
 */
MUST_CHECK enum img_err img_sharpen(struct image *img, double sigma_px,
				    const struct memory *memory);

/*
 * Is something done with the scaled picture: is it blurred, sharpened, padded
 * or given a watermark, in this order?
 */
bool img_is_retouched(const struct img_view *view,
		      const struct img_transform *transform);

/*
 * Do that: *img, made by img_scale(), is changed, or another picture takes its
 * place, of img_result_size().  A grey picture gets colours if the background
 * has some, unless transform->greyscale; any gets alpha if the background is
 * transparent and the format holds alpha.  `watermark` is that of
 * transform->watermark, NULL: none.  On an error *img is still to be released.
 *
 * Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_retouch(struct image *img,
				    const struct img_view *view,
				    const struct img_transform *transform,
				    const struct img_watermark *watermark,
				    const struct memory *memory);

/* A file of more pixels is not taken as a watermark. */
enum { IMG_WATERMARK_PIXELS_MAX = 1 << 22 };

/*
 * Read a file of any format that is decoded here, to be drawn over results.
 * Its alpha is kept, its colours are converted to sRGB.  It takes up to six
 * bytes for each pixel, of `memory`, until img_watermark_free().  Any number of
 * threads may draw it.  Errors: all of img_probe() and img_decode().
 */
MUST_CHECK enum img_err img_watermark_load(struct img_watermark **out,
					   const uint8_t *bytes, size_t count,
					   const struct memory *memory);
void img_watermark_free(struct img_watermark *watermark); /* NULL is fine */

/*
 * Encode a picture made by img_scale() or img_retouch() with the format,
 * quality and coding of `transform`; img_scale() got the same format.  The only
 * metadata are src->metadata, as far as the format has a place for them,
 * src->profile, and what a viewer needs to find and apply src->gainmap.
 * Overwrites the padding of `src`.  *bytes is a block from `memory`.
 *
 * A wanted score is met within 2 for nearly all photos (auto_quality.c).  With
 * a limit of bytes, it is the result of the highest quality that fits, as far
 * as three more results tell (max_bytes.c): never a larger one.
 *
 * Errors: NO_MEMORY; TOO_MANY_BYTES, and *count is the size of the smallest
 * result that was made.
 */
MUST_CHECK enum img_err img_encode(uint8_t **bytes, size_t *count,
				   struct image *src,
				   const struct img_transform *transform,
				   const struct memory *memory);

/* --- Metadata --- */

/* The largest Exif, XMP or IPTC that is kept. */
enum { IMG_METADATA_PART_BYTES_MAX = 65500 };

struct img_metadata_part {
	uint8_t *bytes; /* in the block; NULL: none */
	size_t count;
};

/* Of a file, or of a result. */
struct img_metadata {
	struct img_metadata_part exif; /* a TIFF file */
	struct img_metadata_part xmp;  /* XML */
	struct img_metadata_part iptc; /* a sequence of IIM's data sets */
	/* Of a result: where more descriptions may be put into the XML. */
	size_t xmp_end;
	uint32_t notes; /* IMG_NOTE_METADATA_LEFT_OUT, ..MANIFEST_REMOVED */
	void *block;    /* NULL: nothing */
	const struct memory *memory;
};

/* Free the block.  An empty struct is fine. */
void img_metadata_release(struct img_metadata *m);

/* The most bytes that img_metadata_read() will ask for. */
uint64_t img_metadata_bytes_max(const struct img_header *header);

/*
 * Copy the metadata of a file, whose `header` img_probe() has read.  What is
 * broken or too large is left out, with a note.  Errors: NO_MEMORY, and *out is
 * empty.
 */
MUST_CHECK enum img_err img_metadata_read(struct img_metadata *out,
					  const uint8_t *bytes, size_t count,
					  const struct img_header *header,
					  const struct memory *memory);

/*
 * Make what transform->metadata asks for, for the result of `view`, which is
 * `scaled`; `from` is that of the file.  Errors: NO_MEMORY, and *out is empty.
 */
MUST_CHECK enum img_err
img_metadata_make(struct img_metadata *out, const struct img_metadata *from,
		  const struct img_header *header, const struct img_view *view,
		  const struct img_transform *transform,
		  const struct image *scaled, const struct memory *memory);

/* --- Placeholder: what a page can show until the picture is loaded --- */

enum { IMG_BLURHASH_CHARS = 28 };

/*
 * Both members are computed from a grid of 32 x 32 cells over the picture.
 * Each cell is the mean of up to 4 x 4 samples, evenly spread over the cell.
 * Samples are read as sRGB, even if the picture keeps another profile.  What is
 * transparent shows white.
 */
struct img_placeholder {
	/*
	 * BlurHash (blurha.sh) of the grid: 4 x 3 components, or 3 x 4 if the
	 * picture is taller than wide.
	 */
	char blurhash[IMG_BLURHASH_CHARS + 1];
	/*
	 * The dominant colour, R, G and B.  The colours are divided into 8 x 8
	 * x 8 boxes; this is the mean of the cells in the fullest box.  If
	 * several boxes are equally full, the one with the least red counts,
	 * then the least green, then the least blue.
	 */
	uint8_t dominant[3];
};

/*
 * The placeholder of a picture made by img_scale() or img_blur().  The time
 * does not grow with the picture, and no memory is allocated.
 */
void img_placeholder(struct img_placeholder *out, const struct image *scaled);

/* --- PDQ: a hash that is nearly the same for pictures that look alike --- */

enum { IMG_PDQ_BYTES = 32 };

/* Both sides of what is hashed should have as much, if the file has. */
enum { IMG_PDQ_SIDE_PX = 128 };

/*
 * Hashes are compared by the number of bits that differ: up to 31 for the same
 * picture in another size or quality, about 128 for others.
 */
struct img_pdq {
	/* The first byte is the one that is usually printed first. */
	uint8_t upright[IMG_PDQ_BYTES]; /* of the picture as displayed */
	uint8_t stored[IMG_PDQ_BYTES];  /* as it is in the file */
	/* 0 .. 100: below 50 there is too little to see in the picture. */
	uint32_t quality;
};

/*
 * The hash of the luma of a picture made by img_decode(), whole, without its
 * profile.  Errors: NO_MEMORY.
 */
MUST_CHECK enum img_err img_pdq(struct img_pdq *out,
				const struct image *decoded,
				const struct img_header *header,
				const struct memory *memory);

/* The most memory that it asks for. */
uint64_t img_pdq_bytes_max(const struct img_header *header);

#endif
