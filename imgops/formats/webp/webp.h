/* SPDX-License-Identifier: MIT */
/*
 * Inside the format WebP: what its header says, and what its files share.
 *
 * A file is a RIFF container of chunks.  The picture is a chunk "VP8 " (lossy),
 * which may follow a chunk ALPH with its alpha, or a chunk "VP8L" (lossless);
 * in an animation it is within a chunk ANMF.  Chunk VP8X says what else there
 * is.
 *
 * Memory  libwebp calls malloc(), and nothing can change that.  So while it
 *         works, a block of the size that it needs is taken from struct memory
 *         and not used: that charges it, and refuses what is over a limit.
 */
#ifndef IMGOPS_FORMATS_WEBP_WEBP_H
#define IMGOPS_FORMATS_WEBP_WEBP_H

#include "imgops/formats/format.h"

enum { WEBP_MAGIC_BYTES = 12 };

/* The largest side of a picture; an animation's canvas may be larger. */
enum { WEBP_SIDE_PX_MAX = 16383 };

struct FORMAT_OWN webp_own {
	/* Of the walk over the chunks. */
	size_t offset; /* of the next chunk; 0: not one chunk yet */
	size_t end;    /* of the container */
	struct img_size canvas;
	uint8_t flags;     /* of VP8X */
	bool has_extended; /* there is a VP8X */
	bool has_exif;
	bool has_picture;
	bool has_ended; /* nothing that follows matters */
	size_t icc_offset;
	size_t alpha_offset; /* of the chunk ALPH; 0: none */
	size_t alpha_end;

	/* The picture, or the first frame: ALPH and VP8, or VP8L. */
	size_t picture_offset;
	size_t picture_end;
	struct img_size size;
	uint32_t left, top; /* on the canvas */
	bool is_lossless;
	bool has_alpha; /* the frame itself */
	/* Of a lossless picture's beginning: read, and not enough. */
	size_t tried_bytes;
	/* The memory of libwebp that decodes it, at most. */
	uint64_t library_bytes;
	uint64_t code_sets; /* of Huffman codes; a lossy picture has none */
};

FORMAT_OWN_FUNCTIONS(WEBP, webp)

/* The pixels of all macroblocks: lossy coding works on whole ones. */
static inline uint64_t webp_block_pixels(struct img_size size)
{
	return (uint64_t)(size.width_px + 15) / 16 *
	       ((size.height_px + 15) / 16) * 256;
}

enum img_err webp_probe_more(struct img_header *h, const uint8_t *bytes,
			     const struct img_limits *limits);

/*
 * The beginning of a lossless picture, up to the codes of its pixels, is read
 * in the probe, in 60 to 90 ns a byte.  For a photo of 24 megapixels, cwebp
 * writes 20 KB of it, and 89 KB with its best method.
 */
enum { WEBP_BEGINNING_BYTES_MAX = 256 << 10 };

/* What libwebp needs to decode a lossless picture, at most. */
struct webp_lossless {
	uint64_t library_bytes;
	uint64_t code_sets; /* of Huffman codes */
};

/*
 * Read the beginning of a lossless picture, after its size, up to the codes of
 * its pixels: what does it take to decode it?  This cannot be told from the
 * size: a small file may have 65,536 sets of Huffman tables, which take 800 MB.
 *
 * TRUNCATED: there are too few bytes.  CORRUPT: it cannot be decoded.
 * UNSUPPORTED: the beginning has more than WEBP_BEGINNING_BYTES_MAX.
 */
enum img_err webp_lossless_cost(struct webp_lossless *cost, const uint8_t *data,
				size_t count, struct img_size size);

/* As formats/format.h says. */
void webp_metadata(struct metadata_found *found, const uint8_t *bytes,
		   size_t count, const struct img_header *h);

enum img_err webp_encode(uint8_t **bytes, size_t *count, struct image *src,
			 const struct img_transform *transform, double quality,
			 const struct memory *memory);

extern const struct step_estimate webp_encode_estimate;
extern const double webp_qualities[FORMAT_QUALITIES];

#endif
