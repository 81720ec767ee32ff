/* SPDX-License-Identifier: MIT */
/*
 * Inside rows.c and rows_avx2.c: the loops that compilers vectorise, for the
 * kind of CPU that the macro LOOP names, or any.  Indices are size_t: compilers
 * vectorise only indices that do not wrap.
 */
#ifndef IMGOPS_BLUR_ROWS_LOOPS_H
#define IMGOPS_BLUR_ROWS_LOOPS_H

#include "imgops/blur/rows.h"

#include <stddef.h>

#ifndef LOOP
#define LOOP static inline
#endif

LOOP void widen(int16_t *restrict out, const uint8_t *restrict in,
		uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)(in[x] << BLUR_EXTRA_BITS);
}

/* Rounded, values end at (255 << 6) + 32 at most: they fit into 16 bits. */
LOOP void narrow(uint8_t *restrict out, const int16_t *restrict in,
		 uint32_t width)
{
	enum { HALF = 1 << (BLUR_EXTRA_BITS - 1) };

	for (size_t x = 0; x < width; x++)
		out[x] = (uint8_t)((uint16_t)(in[x] + HALF) >> BLUR_EXTRA_BITS);
}

LOOP void smooth(int16_t *restrict out, const int16_t *restrict a,
		 const int16_t *restrict b, const int16_t *restrict c,
		 uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)((uint16_t)(a[x] + 2 * b[x] + c[x] + 2) >> 2);
}

LOOP void reduce(int16_t *restrict out, const int16_t *restrict in,
		 uint32_t width)
{
	const int16_t *before = in - 1;

	for (size_t i = 0; i < width; i++)
		out[i] = (int16_t)((uint16_t)(before[2 * i] + 2 * in[2 * i] +
					      in[2 * i + 1] + 2) >>
				   2);
}

LOOP void expand(int16_t *restrict out, const int16_t *restrict in,
		 uint32_t in_width)
{
	for (size_t i = 0; i < in_width; i++) {
		out[2 * i] = in[i];
		out[2 * i + 1] =
			(int16_t)((uint16_t)(in[i] + in[i + 1] + 1) >> 1);
	}
}

LOOP void average(int16_t *restrict out, const int16_t *restrict a,
		  const int16_t *restrict b, uint32_t width)
{
	for (size_t x = 0; x < width; x++)
		out[x] = (int16_t)((uint16_t)(a[x] + b[x] + 1) >> 1);
}

#endif
