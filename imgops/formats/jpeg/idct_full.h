/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the inverse DCT of a whole block, 8 x 8 samples.
 *
 * C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms
 * with 11 multiplications", ICASSP 1989, with the constants and the rounding of
 * libjpeg's "islow".  The samples are those of libjpeg-turbo's vector code, bit
 * for bit, for all coefficients: where values are too large for 16 bits, they
 * wrap around or are limited at the same places.
 */
#ifndef IMGOPS_FORMATS_JPEG_IDCT_FULL_H
#define IMGOPS_FORMATS_JPEG_IDCT_FULL_H

#include <stddef.h>
#include <stdint.h>

/*
 * Write 8 x 8 samples to rows `stride_bytes` apart.  Coefficient (u, v), u along
 * a row, is at [v * 8 + u], as it is in the file, and so is its step.
 */
typedef void idct_full_fn(uint8_t *out, size_t stride_bytes,
			  const int16_t coefficients[64],
			  const int16_t steps[64]);

idct_full_fn idct_full_portable;
#ifdef __x86_64__
idct_full_fn idct_full_avx2;
#endif

/* The fastest for this machine. */
idct_full_fn *idct_full_best(void);

/* A block of which only the first coefficient, dequantised, is not 0. */
void idct_full_flat(uint8_t *out, size_t stride_bytes, int32_t dc);

#endif
