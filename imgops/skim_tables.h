/* SPDX-License-Identifier: MIT */
/*
 * Inside skim: the Huffman tables of a scan, only those that it uses.
 */
#ifndef IMGOPS_SKIM_TABLES_H
#define IMGOPS_SKIM_TABLES_H

#include "imgops/steps.h"

#include <stdio.h>

#include <jpeglib.h>

/* Which ones: a bit for each, by number. */
struct skim_used {
	uint32_t dc, ac;
};

struct skim_tables {
	const struct huffman *dc[NUM_HUFF_TBLS];
	const struct ac_table *ac[NUM_HUFF_TBLS];
};

/*
 * Those of the scan that `jpeg` has just read the header of; if progressive,
 * of DC alone.  False: there can be no such tables.
 */
bool skim_used_find(struct skim_used *used,
		    const struct jpeg_decompress_struct *jpeg);

size_t skim_tables_bytes(struct skim_used used);

/*
 * Make them in `room`, aligned for any type, of skim_tables_bytes().  False:
 * one is not there, or makes no sense.
 */
bool skim_tables_make(struct skim_tables *t, void *room, struct skim_used used,
		      const struct jpeg_decompress_struct *jpeg);

#endif
