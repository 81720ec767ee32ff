/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the header of a picture of HEIF, read without a library, so
 * that every bound is checked here.
 *
 *	HEIF, ISO/IEC 23008-12; MIAF, ISO/IEC 23000-22
 *
 * AVIF and HEIC are such pictures, in boxes (isobmff.h), of different codecs.
 */
#ifndef IMGOPS_FORMATS_HEIF_H
#define IMGOPS_FORMATS_HEIF_H

#include "imgops/formats/format.h"
#include "imgops/formats/gain.h"
#include "imgops/formats/isobmff.h"

/* ITU-T H.273: codes of matrix coefficients, primaries and curves. */
enum {
	H273_BT709 = 1,
	H273_UNSPECIFIED = 2,
	H273_CURVE_BT601 = 6,
	H273_CURVE_SRGB = 13,
	H273_CURVE_BT2020 = 14, /* and 15 */
	H273_MATRIX_IDENTITY = 0,
	H273_MATRIX_BT470BG = 5,
	H273_MATRIX_BT601 = 6,
};

/* How the samples of a picture are coded. */
struct heif_coding {
	bool is_grey;
	uint32_t depth;              /* bits of a sample */
	uint32_t h_factor, v_factor; /* of luma */
};

/* The gain map of a picture. */
struct heif_map {
	uint32_t item; /* 0: there is none, or it cannot be read */
	bool is_bad;   /* there is one */
	struct img_size coded, cell;
	uint32_t cells;
	struct heif_coding coding;
	uint32_t matrix;
	bool has_matrix, is_full_range;
};

/* The formats' own part of the header. */
struct FORMAT_OWN heif_own {
	uint64_t offset;     /* of the box of the file that is read next */
	uint64_t icc_offset; /* of the profile */
	uint64_t meta_offset, meta_bytes; /* the data of the box "meta" */
	uint32_t item;                    /* the picture */
	/* Of a map: the size of the file, whose primary item is another one. */
	size_t file_bytes;
	/* Of the picture before its clean aperture, if any, is cut out. */
	struct img_size coded;
	uint32_t left, top; /* of the aperture */
	struct img_size cell;
	uint32_t cells; /* pictures that make up a grid; else 1 */
	uint32_t alpha; /* item that is the alpha; 0: none */
	struct heif_coding coding;
	/* The profile is made of these codes; 0: it is in the file. */
	uint32_t primaries, curve;
	uint32_t matrix; /* if has_matrix; else the picture's data say it */
	bool has_matrix, is_full_range;
	bool is_sequence;
	bool has_picture; /* its header is read */
	bool has_ended;   /* all of the header is read */
	struct heif_map map;
};

_Static_assert(sizeof(struct heif_own) <= IMG_HEADER_OWN_BYTES, "it has room");

static inline const struct heif_own *heif_own(const struct img_header *h)
{
	return (const void *)h->own;
}

static inline struct heif_own *heif_own_change(struct img_header *h)
{
	return (void *)h->own;
}

/* What differs from codec to codec. */
struct heif_codec {
	uint32_t item_type;   /* of a picture */
	uint32_t config_type; /* of the property that configures its decoder */
	uint32_t sequence;    /* brand of files with a box "moov" */
	enum img_err (*read_config)(struct heif_coding *coding,
				    struct isobmff_span config);
};

enum { HEIF_MAGIC_BYTES = 64 };

/* img_codec.recognise() of files that have one of these brands. */
bool heif_recognise(const uint8_t *bytes, size_t count, const uint32_t *brands,
		    size_t brand_count);

/* img_codec.probe_more(). */
enum img_err heif_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct heif_codec *codec,
			     const struct img_limits *limits);

/* img_codec.metadata(). */
void heif_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h);

/* img_codec.gainmap(): as the header of a picture of its own. */
bool heif_gainmap(struct img_header *map, const struct img_header *h);

/* How a codec decodes. */
struct heif_decoder {
	/* All memory that decode() takes. */
	uint64_t (*working_bytes)(const struct img_header *h);
	/* The picture of a header, the file's or its map's; without profile. */
	enum img_err (*decode)(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *h,
			       const struct memory *memory);
};

/*
 * img_codec.decode().  The map has what memory the picture leaves of
 * limits->decode_bytes_max; one that is broken or needs more is left out, with
 * a note.
 */
MUST_CHECK enum img_err heif_decode(struct image *dst, const uint8_t *bytes,
				    size_t count, const struct img_header *h,
				    const struct heif_decoder *decoder,
				    const struct img_transform *transform,
				    const struct img_limits *limits,
				    const struct memory *memory);

/* Is Y'CbCr of this matrix the one of JFIF? */
bool heif_is_jfif(uint32_t matrix);

/* The planes of a picture, whose space and factors the header promises. */
void heif_shape(struct image *img, const struct img_header *h);

/* The terms of an estimate of decoding, and how many of each it takes. */
enum {
	HEIF_FILES,
	HEIF_PIXELS,
	HEIF_BYTES,       /* of the file */
	HEIF_WIDE_PIXELS, /* of more than 8 bits */
	HEIF_CELLS,
	HEIF_RGB_PIXELS,
	HEIF_ALPHA_PIXELS,
	HEIF_TERMS,
};

struct workload;
void heif_count(double *counts, const struct workload *w);

/* What levels of samples mean in JFIF's range and 8 bits. */
enum { HEIF_DEPTH_MAX = 12, HEIF_LEVELS_MAX = 1 << HEIF_DEPTH_MAX };
void heif_fill_levels(uint8_t levels[HEIF_LEVELS_MAX], uint32_t depth,
		      bool is_full_range, bool is_chroma);

#endif
