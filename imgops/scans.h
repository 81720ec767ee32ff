/* SPDX-License-Identifier: MIT */
/*
 * Scans: the parts of a progressive file that a reduced decode needs.
 *
 * libjpeg decodes a component to one sample per block from its DC coefficients
 * alone, yet reads every scan.  Most bytes are AC scans, the more of them luma.
 * Reading the rest, piece after piece as if it were the file, gives the same
 * samples, bit for bit.
 *
 * A component's size is libjpeg's DCT_scaled_size.  Unless decode.c asks for
 * less it is 2, not 1, for the chroma of 4:2:0 in a picture at 1/8: such a
 * component needs its AC scans.
 *
 * What is lost: damage inside a dropped scan is not noticed.  Its header is
 * checked, and that all bits of all coefficients are there by what the headers
 * say.
 *
 * Ownership  Pieces point into the caller's bytes, which must outlive them.
 */
#ifndef IMGOPS_SCANS_H
#define IMGOPS_SCANS_H

#include <stddef.h>
#include <stdint.h>

enum { SCANS_PIECES_MAX = 64 };

struct piece {
	const uint8_t *data;
	size_t bytes;
};

/*
 * Leave out the AC scans of all components but those in `ac_components`, bit i
 * for component i of the frame.  Returns the count of pieces.  0: read all of
 * the file; it is not progressive, or not whole and clean, or needs more
 * pieces.  Linear time whatever the bytes.
 */
uint32_t scans_keep(struct piece pieces[SCANS_PIECES_MAX], const uint8_t *jpeg,
		    size_t jpeg_bytes, uint32_t ac_components);

#endif
