/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: a scan that is read by two cores.
 *
 * A Huffman code says nothing of where it begins, so a scan can only be read
 * from its beginning.  But a reader that begins anywhere reads the right codes
 * after a while (Klein and Wiseman, Parallel Huffman decoding with applications
 * to JPEG files, The Computer Journal 46(5), 2003), mostly within a few MCUs.
 * So a helper (base/memory.h) reads a part of the scan ahead, and notes for
 * each MCU where it began.  The reader comes to that part later.  If it begins
 * an MCU where the helper has begun one, all that follows is the same, except
 * that the DC of each component differs by a constant: it is a sum of
 * differences.  The reader takes the coefficients, makes their samples, and
 * goes on where the helper has ended.  Meanwhile the helper reads the next
 * part.
 *
 *	bytes   |  reader   |     helper      |  reader   |     helper     |
 *	reader  | reads 1   | samples of 2    | reads 3   | samples of 4   |
 *	helper  |    reads 2      |        reads 4        |
 *
 * The reader never waits for the helper: it reads until the part has been read.
 * The result is the same as without a helper, also of a damaged file: what the
 * helper has not read, or has read from the wrong bit, the reader reads.
 *
 * After a restart marker an MCU begins, so there a helper begins if a scan has
 * some.  Only for blocks of up to 4 x 4 samples whose light is not kept.
 */
#ifndef IMGOPS_FORMATS_JPEG_AHEAD_H
#define IMGOPS_FORMATS_JPEG_AHEAD_H

#include "imgops/formats/jpeg/sequential.h"

struct ahead;

/*
 * Begin to read ahead of `scan`, whose components have blocks of n x n samples.
 * NULL: without it, because the scan is short, or there is no helper, no memory
 * or nobody idle.
 */
struct ahead *ahead_start(const struct component *components, uint32_t count,
			  uint32_t n, const struct bits *scan,
			  uint32_t restart_interval,
			  const struct memory *memory);

/* The reader has read a restart marker. */
void ahead_restart(struct ahead *a);

/* May be NULL. */
void ahead_stop(struct ahead *a);

/*
 * The reader is about to read `count` MCUs.  Returns how many of them, 1 or
 * more, it has to read before it asks again.  *has_them: they have been read.
 */
uint32_t ahead_look(struct ahead *a, const struct bits *bits,
		    const struct component *components, uint32_t count,
		    bool *has_them);

/*
 * The samples of `count` MCUs that have been read, for the blocks of component
 * `index` in row `y` of each; those of the first begin at `out`.  False: a DC
 * is not valid.
 */
MUST_CHECK bool ahead_make(struct ahead *a, uint32_t index, uint32_t y,
			   uint8_t *out, uint32_t count);

/*
 * The reader has read, or made, `count` MCUs after ahead_look().  If it has not
 * read them, *bits and the DC of components become those after them.
 */
void ahead_pass(struct ahead *a, uint32_t count, struct bits *bits,
		struct component *components);

#endif
