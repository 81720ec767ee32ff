/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the factors of libjpeg's "islow" DCT of eight points, forward
 * and inverse (jfdctint.c, jidctint.c), as multiples of 1 / (1 << FACTOR_BITS).
 * C. Loeffler, A. Ligtenberg, G. Moschytz, "Practical fast 1-D DCT algorithms
 * with 11 multiplications", ICASSP 1989.
 */
#ifndef IMGOPS_FORMATS_JPEG_ISLOW_H
#define IMGOPS_FORMATS_JPEG_ISLOW_H

enum { FACTOR_BITS = 13 };

enum {
	F_0_298 = 2446,
	F_0_390 = 3196,
	F_0_541 = 4433,
	F_0_765 = 6270,
	F_0_899 = 7373,
	F_1_175 = 9633,
	F_1_501 = 12299,
	F_1_847 = 15137,
	F_1_961 = 16069,
	F_2_053 = 16819,
	F_2_562 = 20995,
	F_3_072 = 25172,
};

#endif
