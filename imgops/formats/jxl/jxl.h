/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: JPEG XL, a codestream that is the file or is in boxes.
 *
 *	ISO/IEC 18181-1 (codestream), 18181-2 (file format)
 *
 * The header is read here, also those of the frames, of which layers, an
 * animation and hidden pictures consist; libjxl reads and writes pictures.
 *
 * Memory  libjxl calls malloc() for most of its memory, and version 0.7 for all
 *         but some KB.  So while it works, a block of the size that it needs is
 *         taken from struct memory: that charges it, and refuses what is over a
 *         limit.  What libjxl asks of its memory manager is at most as much.
 *         The block's beginning is libjxl's stack.
 */
#ifndef IMGOPS_FORMATS_JXL_H
#define IMGOPS_FORMATS_JXL_H

#include "imgops/colour/icc_write.h"
#include "imgops/formats/format.h"
#include "imgops/formats/jxl/bits.h"

#include <jxl/memory_manager.h>

/* What is known of the image before its first frame. */
struct jxl_image {
	struct img_size preview; /* 0, 0: none */
	uint32_t extra_channels; /* alpha is one of them */
	uint32_t depth;          /* bits of a sample */
	/* ITU-T H.273: 16 is PQ, 18 HLG, and 0 none of these. */
	uint32_t hdr_curve;
	uint32_t primaries; /* H.273's number; 0: grey, or others */
	bool is_float;
	bool is_xyb;
	bool has_icc; /* the profile is in the codestream */
	bool has_alpha;
	bool is_premultiplied;
	bool is_animated;
	bool has_timecodes;
};

/* Of all frames that are decoded for the first picture. */
struct jxl_work {
	uint64_t pixels;
	uint64_t largest_pixels; /* of one frame */
	uint64_t modular_pixels;
	uint32_t group_px; /* the side of the largest group */
	uint32_t frames;
	bool has_noise;
	bool is_known; /* all of them are counted */
};

/* The gain map, which is in a box of its own. */
struct jxl_map {
	uint64_t next_box;  /* of the file: the first that is not looked at */
	uint32_t boxes;     /* passed over */
	bool is_found;      /* the members below are set */
	bool is_bad;        /* there is one that is not read */
	uint64_t at, bytes; /* the data of its box */
	size_t picture_bytes, icc_bytes;
	struct img_size stored;
	bool is_grey;
	struct jxl_image image;
	struct jxl_work work;
};

struct FORMAT_OWN jxl_own {
	struct jxl_image image;
	struct jxl_work work;
	struct jxl_place place; /* of the next frame, after those to skip */
	uint64_t skipped_bytes;
	uint32_t read_count; /* frames whose header is read */
	bool has_image;
	bool has_preview; /* its frame comes next */
	bool has_ended;   /* no more frames are read */
	/* libjxl makes sRGB; else the colours are those of a profile. */
	bool is_srgb;
	bool is_map; /* samples are numbers, not colours */
	struct jxl_map map;
};

FORMAT_OWN_FUNCTIONS(JXL, jxl)

enum { JXL_MAGIC_BYTES = 12 };

enum img_err jxl_probe_more(struct img_header *header, const uint8_t *bytes,
			    const struct img_limits *limits);

/* The same of the codestream alone. */
enum img_err jxl_probe_codestream(struct img_header *header,
				  const uint8_t *bytes,
				  const struct img_limits *limits);

/*
 * Primaries and white of colours that are coded as in a codestream; the curve
 * is that of sRGB.  False: they are in a profile, or broken.
 */
MUST_CHECK bool jxl_read_primaries(struct icc_colours *to, const uint8_t *bytes,
				   size_t count);

/* --- gain.c: the gain map --- */

/* Look for the map's box in what has arrived, where no call has looked yet. */
void jxl_find_gainmap(struct img_header *header, const uint8_t *bytes,
		      const struct img_limits *limits);

/* As format.h says. */
bool jxl_gainmap(struct img_header *map, const struct img_header *header);

/*
 * Decode the map, which is all that jxl_gainmap() says, and attach it to `dst`.
 * A map that is broken is left out, with a note.  Errors: NO_MEMORY, and `dst`
 * is empty.
 */
MUST_CHECK enum img_err jxl_add_gainmap(struct image *dst, const uint8_t *bytes,
					const struct img_header *header,
					const struct img_limits *limits,
					const struct memory *memory);

/* The data of the map's box before its picture.  Returns their size. */
enum { JXL_GAIN_HEAD_BYTES_MAX = 256 };
size_t jxl_write_gain_head(uint8_t out[JXL_GAIN_HEAD_BYTES_MAX],
			   const struct img_gainmap *map);

/* --- Frames --- */

enum jxl_frame_type {
	JXL_REGULAR,
	JXL_LOW_FREQUENCY, /* of a later frame, at an eighth of its size */
	JXL_REFERENCE,     /* is not shown: a later frame uses it */
	JXL_SKIP_PROGRESSIVE,
};

enum { JXL_GROUP_PX_MAX = 1024 };

struct jxl_frame {
	enum jxl_frame_type type;
	struct img_size size;
	uint64_t bytes; /* of its sections, which follow the header */
	uint32_t passes;
	uint32_t group_px; /* the side of a group: 128 to JXL_GROUP_PX_MAX */
	bool is_modular;
	bool has_noise;
	bool is_last;
	bool is_shown;
	/* Sections are in an order that is not read, so `bytes` is not known */
	bool is_permuted;
};

/* Read a frame's header.  `b` says whether that has worked. */
struct jxl_frame jxl_frame_read(struct jxl_bits *b,
				const struct jxl_image *image,
				struct img_size size, bool is_preview);

/* --- libjxl --- */

/* Memory that libjxl manages: at most `left_bytes`. */
struct jxl_memory {
	JxlMemoryManager manager;
	uint64_t left_bytes;
	bool was_refused;
};

/* `m` must not move in memory afterwards. */
void jxl_memory_init(struct jxl_memory *m, uint64_t bytes);

/*
 * libjxl needs more stack than callers have to spare: version 0.7.0 takes 21 KB
 * to decode and 36 KB to encode, version 0.11.2 up to 50 KB.
 */
enum { JXL_STACK_BYTES = 256 << 10 };

enum img_err jxl_decode(struct image *dst, const uint8_t *bytes, size_t count,
			const struct img_header *header,
			const struct img_view *view,
			const struct img_transform *transform,
			const struct img_limits *limits,
			const struct memory *memory);

/*
 * Decode a codestream, or the first one of a file in boxes.  On an error `dst`
 * is empty.
 */
MUST_CHECK enum img_err jxl_decode_picture(struct image *dst,
					   const uint8_t *bytes, size_t count,
					   const struct img_header *header,
					   bool is_lenient,
					   const struct img_limits *limits,
					   const struct memory *memory);

/* As formats/format.h says. */
void jxl_metadata(struct metadata_found *found, const uint8_t *bytes,
		  size_t count, const struct img_header *h);

enum img_err jxl_encode(uint8_t **bytes, size_t *count, struct image *src,
			const struct img_transform *transform, double quality,
			const struct memory *memory);

/* As img_repack(). */
enum img_err jxl_pack(uint8_t *to, size_t room, size_t *count,
		      const uint8_t *jpeg, size_t jpeg_bytes);
enum img_err jxl_restore(uint8_t *to, size_t room, size_t *count,
			 const uint8_t *jxl, size_t jxl_bytes);

extern const struct step_estimate jxl_decode_estimate;
extern const struct step_estimate jxl_encode_estimate;
extern const double jxl_qualities[FORMAT_QUALITIES];

#endif
