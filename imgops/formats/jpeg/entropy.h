/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: entropy-coded scans to samples, without libjpeg, which is
 * faster.  A block at n/8 (idct.h) needs few of its 64 coefficients; only these
 * are decoded, and the codes after them are skipped.
 *
 * sequential_read(), sequential.c
 *	Files of one scan: 8-bit, Huffman-coded, not progressive, with all
 *	components in it.
 *
 * progressive_read(), progressive.c
 *	Huffman-coded progressive files whose scans are in order.  Each scan of
 *	such a file adds bits to some coefficients of all blocks (ITU-T T.81,
 *	annex G), so libjpeg keeps all coefficients of the picture: 3 bytes for
 *	each pixel of a 4:2:0 file.  Here all scans are read at the same time: a
 *	row of MCUs of the first scan, the same row of the second and so on;
 *	then the row's blocks are complete, and become n x n samples each.  So
 *	the coefficients of one row are enough, and they stay in the cache.
 *
 * Call them after jpeg_read_header().  `img` has n x n samples for each block,
 * with n from 1 to 4, or 8.
 * With `keeps_light`, these mean the light of the block (light.h).
 *
 * IRREGULAR: it is no such file, it is damaged, or there was no memory.  The
 * state of libjpeg has not changed, so that libjpeg can then read the file and
 * say what is wrong with it.  TEXTURE, only with `watches_texture`: what was to
 * be read has fine texture (texture.h), and `img` is not complete.
 */
#ifndef IMGOPS_FORMATS_JPEG_ENTROPY_H
#define IMGOPS_FORMATS_JPEG_ENTROPY_H

#include "imgops/imgops.h"
#include "imgops/formats/jpeg/scans.h"

#include <stdio.h>

#include <jpeglib.h>

struct reduction {
	uint32_t n;
	bool watches_texture, keeps_light;
};

/* The Huffman tables that a scan uses: bit i for table i. */
struct table_set {
	uint32_t dc, ac;
};

/* jpeg->src has all of the scan. */
MUST_CHECK enum img_err
sequential_read(struct image *img, struct reduction how,
		const struct jpeg_decompress_struct *jpeg,
		const struct memory *memory);

/* The memory that sequential_read() or sequential_begin() needs. */
size_t sequential_bytes(struct table_set used);

/*
 * sequential_read() in parts, while the file arrives.  First sequential_begin()
 * on its header, whose results must stay, also `img`, whose planes it fills;
 * `jpeg` need not.  NULL: IRREGULAR.  The caller frees the result, a block of
 * `memory`.
 *
 * Each time that more bytes of the scan have come, sequential_come() reads what
 * is certainly complete; *stop, which another thread may set, ends it within
 * some MCUs.  `scan` may be at another address each time.  When all have come,
 * sequential_rest() reads what is left.  Each may return IRREGULAR or TEXTURE;
 * then there are no further calls.
 */
struct sequential;
MUST_CHECK struct sequential *
sequential_begin(struct image *img, struct reduction how,
		 const struct jpeg_decompress_struct *jpeg,
		 const struct memory *memory);
MUST_CHECK enum img_err sequential_come(struct sequential *s,
					const uint8_t *scan, size_t bytes,
					const _Atomic bool *stop);
/* Bytes of the scan that have been read. */
size_t sequential_come_bytes(const struct sequential *s);
MUST_CHECK enum img_err sequential_rest(struct sequential *s,
					const uint8_t *scan, size_t bytes,
					const struct memory *memory);

enum { PROGRESSIVE_SCANS_MAX = 20 };

/*
 * `pieces` are those of scans_pieces(), or the whole file as one piece;
 * scans.is_complete must be set for the file.  `pieces` have at most
 * `scan_count` scans.
 */
MUST_CHECK enum img_err
progressive_read(struct image *img, struct reduction how,
		 const struct jpeg_decompress_struct *jpeg,
		 const struct piece *pieces, uint32_t piece_count,
		 uint32_t scan_count, const struct memory *memory);

/*
 * Blocks of all components in one row of MCUs, how many of them may need only
 * low values, and at most how many need all: those that the frame cuts
 * (edge.h), or all at 8/8.
 */
struct block_count {
	uint64_t all, low, whole;
};

/*
 * Add the blocks of a component of sampling factors `h` and `v` in a picture of
 * `size`, whose largest factors are `h_max` and `v_max`, at n/8.
 */
void block_count_add(struct block_count *count, uint32_t n,
		     struct img_size size, uint32_t h, uint32_t h_max,
		     uint32_t v, uint32_t v_max);

/* The memory that progressive_read() needs. */
size_t progressive_bytes(struct block_count count, uint32_t component_count,
			 uint32_t scan_count);

#endif
