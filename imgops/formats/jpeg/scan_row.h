/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: a row of MCUs in one scan of a progressive file (ITU-T T.81,
 * annex G).
 *
 * A refinement scan has one more bit for each coefficient that is not 0 so far.
 * So it is noted of all coefficients of a block whether they are 0, but only
 * those that are needed have a place for their value.
 */
#ifndef IMGOPS_FORMATS_JPEG_SCAN_ROW_H
#define IMGOPS_FORMATS_JPEG_SCAN_ROW_H

#include "imgops/imgops.h"
#include "imgops/formats/jpeg/huffman.h"

#include <stdio.h>

#include <jpeglib.h>

enum {
	ENTRY_LOOK_BITS = 10,
	ENTRIES = 1 << ENTRY_LOOK_BITS,
	SAMPLING_MAX = 4, /* a component's blocks along a side of an MCU */
};

/*
 * The symbols of a scan with what follows them: a value or a run of blocks.
 * `entries` is indexed by the next bits; scan_row.c says what an entry is.
 */
struct scan_table {
	uint32_t entries[ENTRIES]; /* 0: not all of it fits */
	struct huffman_codes codes;
	int32_t low_bit; /* values are shifted by so much */
	bool is_dc, is_refinement;
};

/*
 * Coefficient k in zigzag order, in a set of coefficients.  The first is the
 * highest bit, as it is in the file.
 */
static inline uint64_t coefficient_bit(uint32_t k)
{
	return UINT64_C(1) << 63 >> k;
}

/* The first coefficient of a set, which is removed. */
static inline uint32_t coefficient_take(uint64_t *set)
{
	uint32_t k = (uint32_t)__builtin_clzll(*set);

	*set ^= coefficient_bit(k);
	return k;
}

/* Where the AC values of a block are. */
struct layout {
	uint32_t values; /* how many a block has */
	/*
	 * Of coefficient k in zigzag order.  0: it is not needed; scans write
	 * there, but nobody reads what they wrote.
	 */
	uint8_t places[DCTSIZE2];
	uint64_t needed; /* the coefficient_bit() of those that are */
	/*
	 * The value at `largest` is the magnitude of the largest coefficient
	 * that is not needed, without the bits of refinement scans.  0: there
	 * is no such value.
	 */
	uint32_t largest;
};

/* Blocks that lie side by side. */
struct strip {
	const struct layout *layout;
	uint64_t *is_set; /* of each block: coefficients that are not 0 */
	int16_t *values;
	uint32_t count;
};

/* The blocks of a component in a row of MCUs. */
struct component_row {
	uint32_t across, down; /* blocks of an MCU */
	int16_t *dc;           /* `down` rows of `stride` values */
	uint32_t stride;
	/* Those in the picture. */
	uint32_t columns, rows;
	/* Of each of `rows`: its blocks are in two strips, side by side. */
	struct strip strips[SAMPLING_MAX][2];
};

struct scan {
	struct bits bits;
	uint32_t first, last; /* coefficients */
	int32_t low_bit;
	bool is_refinement;
	uint32_t eob_run; /* how many of the next blocks have no new value */
	uint32_t restart_interval, mcus_left, restarts;
	uint32_t component_count;
	const struct component_row *rows[IMG_PLANES_MAX];
	/* Of each component, if it is needed. */
	const struct scan_table *tables[IMG_PLANES_MAX];
	int32_t last_dc[IMG_PLANES_MAX];
};

/*
 * Make a table for scan `s`, whose first members are set; `counts` and
 * `symbols` are as for huffman_make().
 */
MUST_CHECK bool scan_table_make(struct scan_table *t, const struct scan *s,
				const uint8_t counts[CODE_BITS_MAX + 1],
				const uint8_t *symbols);

/*
 * Read what a scan has of the next row of MCUs, of which there are `columns`.
 * False: the data are irregular.
 */
typedef bool scan_row_fn(struct scan *s, uint32_t columns,
			 const struct memory *memory);

bool scan_row_portable(struct scan *s, uint32_t columns,
		       const struct memory *memory);

/* The fastest for this machine. */
scan_row_fn *scan_row_best(void);

#endif
