/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the inverse DCT of whole blocks, 8 x 8 samples, two at a time.
 *
 * C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms
 * with 11 multiplications", ICASSP 1989, with the constants and the rounding of
 * libjpeg's "islow".  The samples are those of libjpeg-turbo's vector code for
 * x86, bit for bit: where values are too large for 16 bits, which no encoder
 * writes, they wrap around or are limited at the same places.
 */
#ifndef IMGOPS_FORMATS_JPEG_IDCT_FULL_H
#define IMGOPS_FORMATS_JPEG_IDCT_FULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Coefficient (u, v), u along a row, is at [v * 8 + u], as it is in the file,
 * and so is its step.  8 x 8 samples go to rows `stride_bytes` apart.
 */
struct full_block {
	int16_t *coefficients;
	const int16_t *steps;
	uint8_t *out;
	size_t stride_bytes;
};

enum { FULL_LIMIT = 8191 };

/*
 * Make the samples of both blocks, which may be the same, and set their
 * coefficients to 0.  False: a coefficient (u, 0) is over FULL_LIMIT.  Then, if
 * there are no others, libjpeg-turbo's values wrap around at another place, and
 * these samples may differ.
 */
typedef bool idct_full_fn(const struct full_block *a,
			  const struct full_block *b);

struct idct_full {
	const char *name;
	idct_full_fn *two;
	/* If all coefficients are 0 but those of u < 4, v < 4. */
	idct_full_fn *two_low;
};

extern const struct idct_full idct_full_portable;
#ifdef __x86_64__
extern const struct idct_full idct_full_avx2;
#endif

/* The fastest for this machine. */
const struct idct_full *idct_full_best(void);

/* The same for a block of which only the first coefficient is not 0. */
bool idct_full_flat(const struct full_block *block);

#endif
