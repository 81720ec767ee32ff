/* SPDX-License-Identifier: MIT */
/* Time and memory of a decode, estimated from the header. */
#include "imgops/estimate.h"

#include "imgops/image.h"
#include "imgops/formats/jpeg/edge.h"
#include "imgops/formats/jpeg/entropy.h"
#include "imgops/formats/jpeg/header.h"
#include "imgops/formats/jpeg/memory.h"
#include "imgops/formats/jpeg/path.h"

#include <math.h>

enum decode_term {
	TERM_PICTURES,    /* always 1 */
	TERM_PROFILES,    /* 1 if there is a profile */
	TERM_HEAD_BYTES,  /* bytes before the first scan, perhaps all tables */
	TERM_TABLES,      /* tables of AC codes, if some are skipped */
	TERM_FULL_TABLES, /* the same at 8/8, where none is */
	/* Bytes of a sequential file, decoded by libjpeg. */
	TERM_FULL_BYTES,
	/* Bytes of a sequential file, by sequential.c at n/8. */
	TERM_SEQUENTIAL_1_BYTES,
	TERM_SEQUENTIAL_2_BYTES,
	TERM_SEQUENTIAL_3_BYTES,
	TERM_SEQUENTIAL_4_BYTES,
	TERM_SEQUENTIAL_8_BYTES,
	/* Bytes of a progressive file in which markers are searched. */
	TERM_SCANNED_BYTES,
	TERM_DC_BYTES, /* bytes of DC scans, at 1/8 */
	/*
	 * Blocks that are visited in DC scans beyond the usual two.  The time
	 * for those is a part of that for a block to 1 x 1 samples.
	 */
	TERM_DC_BLOCKS,
	/* Bytes of a progressive file, by progressive.c, not only from DC. */
	TERM_ROWS_BYTES,
	TERM_ROWS_BLOCKS, /* blocks that this visits in all scans */
	/* Bytes of a progressive file, decoded by libjpeg. */
	TERM_PROGRESSIVE_BYTES,
	TERM_ARITHMETIC_BYTES,
	/*
	 * Where arithmetic-coded data end early, libjpeg reads zeros, which may
	 * mean as much work for each block as noise.
	 */
	TERM_ARITHMETIC_BLOCKS,
	TERM_KEPT_BLOCKS, /* coefficients written and read again */
	/* Extra time for a block that the frame cuts, at a reduced size. */
	TERM_CUT_BLOCKS,
	/* Blocks that the inverse DCT turns into n x n samples. */
	TERM_BLOCKS_1,
	TERM_BLOCKS_2,
	TERM_BLOCKS_3,
	TERM_BLOCKS_4,
	TERM_BLOCKS_8,
	TERM_BLOCKS_LIBJPEG, /* to 8 x 8 samples, by libjpeg */
	TERM_LIGHT_BLOCKS,   /* of luma, whose light is kept */
	TERM_COUNT,
};

static const struct estimate_term decode_terms[TERM_COUNT] = {
	[TERM_PICTURES] = { "picture", 6310 },
	[TERM_PROFILES] = { "profile", 1910 },
	[TERM_HEAD_BYTES] = { "byte before the first scan", 1 },
	[TERM_TABLES] = { "table of AC codes", 16700 },
	[TERM_FULL_TABLES] = { "table of AC codes at 8/8", 6000 },
	[TERM_FULL_BYTES] = { "byte, decoded by libjpeg", 6.11 },
	[TERM_SEQUENTIAL_1_BYTES] = { "byte, decoded at 1/8", 3 },
	[TERM_SEQUENTIAL_2_BYTES] = { "byte, decoded at 2/8", 3.2 },
	[TERM_SEQUENTIAL_3_BYTES] = { "byte, decoded at 3/8", 3.3 },
	[TERM_SEQUENTIAL_4_BYTES] = { "byte, decoded at 4/8", 3.6 },
	[TERM_SEQUENTIAL_8_BYTES] = { "byte, decoded at 8/8", 4 },
	[TERM_SCANNED_BYTES] = { "byte of scans, walked over", 0.52 },
	[TERM_DC_BYTES] = { "byte of DC scans", 0 },
	[TERM_DC_BLOCKS] = { "block of a further DC scan", 5 },
	[TERM_ROWS_BYTES] = { "byte, progressive, in rows", 7 },
	[TERM_ROWS_BLOCKS] = { "block of a scan, in rows", 1 },
	[TERM_PROGRESSIVE_BYTES] = { "byte, progressive, by libjpeg", 37.7 },
	[TERM_ARITHMETIC_BYTES] = { "byte, arithmetic coding", 60 },
	[TERM_ARITHMETIC_BLOCKS] = { "block, arithmetic coding", 2500 },
	[TERM_KEPT_BLOCKS] = { "block of kept coefficients", 15 },
	[TERM_CUT_BLOCKS] = { "block that the frame cuts", 100 },
	[TERM_BLOCKS_1] = { "block to 1 x 1 samples", 8 },
	[TERM_BLOCKS_2] = { "block to 2 x 2 samples", 14 },
	[TERM_BLOCKS_3] = { "block to 3 x 3 samples", 20 },
	[TERM_BLOCKS_4] = { "block to 4 x 4 samples", 20.5 },
	[TERM_BLOCKS_8] = { "block to 8 x 8 samples", 22 },
	[TERM_BLOCKS_LIBJPEG] = { "block to 8 x 8 samples, libjpeg", 40 },
	[TERM_LIGHT_BLOCKS] = { "block whose light is kept", 11 },
};

/*
 * The time to visit a block without bytes, in units of the time for one byte.
 * A scan that refines AC looks at all the coefficients of each block.
 */
#define BYTES_PER_VISIT 0.5
#define ARITHMETIC_BYTES_PER_VISIT 2

/* DC scans of a usual progressive file. */
enum { DC_SCANS = 2 };

/* libjpeg's small allocations before and after all coefficients, in bytes. */
enum { BEFORE_BYTES = 4832, AFTER_BYTES = 11232 };

static uint64_t kept_coefficient_bytes(const struct img_header *h,
				       uint32_t dct_scale)
{
	struct img_size blocks[IMG_PLANES_MAX];
	uint64_t bytes;

	for (uint32_t i = 0; i < h->component_count; i++) {
		blocks[i] = header_blocks(h, i);
		blocks[i].width_px = (uint32_t)round_up_blocks(
			blocks[i].width_px, h->h_factors[i]);
		blocks[i].height_px = (uint32_t)round_up_blocks(
			blocks[i].height_px, h->v_factors[i]);
	}
	bytes = jpeg_memory_bytes(blocks, h->component_count, BEFORE_BYTES,
				  AFTER_BYTES);
	/*
	 * At a reduced size libjpeg makes other small allocations, in another
	 * order: one more chunk is enough.
	 */
	return dct_scale < DECODE_SCALE_FULL ? bytes + ARENA_CHUNK_BYTES :
					       bytes;
}

/* The memory of sequential.c or progressive.c, without libjpeg's. */
static uint64_t our_decode_bytes(const struct img_header *h,
				 const struct path *p)
{
	const struct jpeg_own *own = jpeg_own(h);
	struct img_size most = image_factors_max(h);
	struct block_count blocks = { 0 };

	if (!h->is_progressive)
		return sequential_bytes(
			(struct table_set){ own->dc_tables, own->ac_tables });
	for (uint32_t i = 0; i < h->component_count; i++)
		block_count_add(&blocks, p->dct_scale, h->stored,
				h->h_factors[i], most.width_px, h->v_factors[i],
				most.height_px);
	return progressive_bytes(blocks, h->component_count, p->scan_count);
}

static uint64_t decode_bytes(const struct workload *w)
{
	const struct img_header *h = w->header;
	struct path p = path_of(h, w->scale, w->keeps_light);
	uint64_t working = JPEG_MEMORY_BYTES_MIN;

	if (p.keeps_coefficients)
		working = kept_coefficient_bytes(h, p.dct_scale);
	else if (p.is_ours)
		working += our_decode_bytes(h, &p);
	return image_bytes(&w->decoded) + max_u64(working, h->icc_bytes);
}

static double all_blocks(const struct img_header *h)
{
	double blocks = 0;

	for (uint32_t i = 0; i < h->component_count; i++)
		blocks += (double)img_pixels(header_blocks(h, i));
	return blocks;
}

/* How many blocks are visited in all scans of the file. */
static double visited_blocks(const struct img_header *h)
{
	double blocks = 0;

	for (uint32_t i = 0; i < h->component_count; i++)
		blocks += (double)img_pixels(header_blocks(h, i)) *
			  jpeg_own(h)->component_scans[i];
	return blocks;
}

static void count_progressive(double *counts, const struct img_header *h,
			      const struct path *p, double bytes)
{
	if (!p->is_ours) {
		counts[TERM_PROGRESSIVE_BYTES] = bytes;
	} else if (p->drops_scans && p->set == SCANS_AT_1) {
		counts[TERM_DC_BYTES] = bytes;
		if (p->scan_count > DC_SCANS)
			counts[TERM_DC_BLOCKS] =
				all_blocks(h) * (p->scan_count - DC_SCANS);
	} else {
		counts[TERM_ROWS_BYTES] = bytes;
		/* Most scans are of one component. */
		counts[TERM_ROWS_BLOCKS] =
			all_blocks(h) / h->component_count * p->scan_count;
	}
}

static void count_bytes(double *counts, const struct img_header *h,
			const struct path *p)
{
	const struct jpeg_own *own = jpeg_own(h);
	double bytes = (double)p->scan_bytes, kept = (double)p->kept_bytes;
	double visited = visited_blocks(h);

	/* A scan with hardly any bytes still visits every block. */
	if (!p->is_ours)
		kept = fmax(kept, visited * BYTES_PER_VISIT);
	if (own->is_arithmetic) {
		counts[TERM_ARITHMETIC_BYTES] =
			fmax(bytes, visited * ARITHMETIC_BYTES_PER_VISIT);
		counts[TERM_ARITHMETIC_BLOCKS] = all_blocks(h);
	} else if (h->is_progressive) {
		counts[TERM_SCANNED_BYTES] = bytes;
		count_progressive(counts, h, p, kept);
	} else if (p->is_ours) {
		bool is_full = p->dct_scale == DECODE_SCALE_FULL;

		counts[is_full ? TERM_SEQUENTIAL_8_BYTES :
				 TERM_SEQUENTIAL_1_BYTES + p->dct_scale - 1] =
			bytes;
		counts[is_full ? TERM_FULL_TABLES : TERM_TABLES] =
			__builtin_popcount(own->ac_tables);
	} else {
		counts[TERM_FULL_BYTES] = bytes;
	}
}

static enum decode_term blocks_term(const struct path *p)
{
	if (p->dct_scale < DECODE_SCALE_FULL)
		return TERM_BLOCKS_1 + p->dct_scale - 1;
	return p->is_ours ? TERM_BLOCKS_8 : TERM_BLOCKS_LIBJPEG;
}

static void decode_count(double *counts, const struct workload *w)
{
	const struct img_header *h = w->header;
	struct path p = path_of(h, w->scale, w->keeps_light);

	counts[TERM_PICTURES] = 1;
	counts[TERM_PROFILES] = h->icc_bytes > 0;
	counts[TERM_HEAD_BYTES] = (double)jpeg_own(h)->scan_offset;
	if (p.dct_scale < DECODE_SCALE_FULL)
		counts[TERM_CUT_BLOCKS] = edge_cut_blocks(h);
	if (p.dct_scale < DECODE_SCALE_FULL && w->keeps_light)
		counts[TERM_LIGHT_BLOCKS] =
			(double)img_pixels(header_blocks(h, 0));
	count_bytes(counts, h, &p);
	for (uint32_t i = 0; i < h->component_count; i++) {
		double blocks = (double)img_pixels(header_blocks(h, i));

		counts[blocks_term(&p)] += blocks;
		if (p.keeps_coefficients)
			counts[TERM_KEPT_BLOCKS] += blocks;
	}
}

const struct step_estimate jpeg_decode_estimate = {
	.name = "decode",
	.terms = decode_terms,
	.term_count = TERM_COUNT,
	.count = decode_count,
	.bytes = decode_bytes,
};
