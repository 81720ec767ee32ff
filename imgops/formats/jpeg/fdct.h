/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: from samples to quantised coefficients.
 *
 * The forward DCT is libjpeg's integer one (Loeffler, Ligtenberg and
 * Moschytz), rows first, and coefficients are divided as libjpeg divides them,
 * so they are those that libjpeg gives.
 *
 * On a CPU without AVX2 libjpeg's vector code is faster than what a compiler
 * makes of C, so fdct_row() is of use there only for steps that shrink
 * coefficients, which libjpeg cannot do.
 */
#ifndef IMGOPS_FORMATS_JPEG_FDCT_H
#define IMGOPS_FORMATS_JPEG_FDCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jpeglib.h>

/*
 * A table of quantisation, prepared for fdct_row(): row after row, and each row
 * twice, for the two halves of a vector.
 */
struct fdct_steps {
	uint16_t corrections[DCTSIZE][2][DCTSIZE];
	uint16_t reciprocals[DCTSIZE][2][DCTSIZE];
	uint16_t scales[DCTSIZE][2][DCTSIZE];
	/* Which bytes of row r are coefficients 8 k to 8 k + 7: at [k][r]. */
	uint8_t zigzag[DCTSIZE][DCTSIZE][2][2 * DCTSIZE];
};

struct fdct_block {
	int16_t at[DCTSIZE2]; /* in zigzag order (T.81, figure 5) */
	uint64_t nonzero;     /* bit k: at[k] is not 0 */
};

/* True: the CPU has AVX2, BMI1 and BMI2, which baseline.c uses, too. */
bool fdct_is_supported(void);

/* The parts of a step in which `shrink` is counted. */
enum { FDCT_SHRINK_STEP = 128 };

/*
 * `quant` has steps of 1 to 255, row after row.  A coefficient is divided by
 * its step, and rounded to the nearest whole number.  With `shrink`, which may
 * be NULL, shrink[i] / FDCT_SHRINK_STEP is first taken from the size of
 * quotient i, so that more coefficients become 0.  An entry is
 * FDCT_SHRINK_STEP / 2 at most.
 */
void fdct_steps_make(struct fdct_steps *steps, const uint16_t quant[DCTSIZE2],
		     const uint8_t shrink[DCTSIZE2]);

/*
 * The first `count` blocks of eight rows.  If `count` is odd, it reads the
 * samples of one block more, and writes to it.  It needs fdct_is_supported().
 */
void fdct_row(struct fdct_block *out, const uint8_t *samples,
	      size_t stride_bytes, uint32_t count,
	      const struct fdct_steps *steps);

/* The same without vectors, on any CPU. */
void fdct_row_portable(struct fdct_block *out, const uint8_t *samples,
		       size_t stride_bytes, uint32_t count,
		       const struct fdct_steps *steps);

#endif
