/* SPDX-License-Identifier: MIT */
/*
 * SSIMULACRA2: how much a picture that was compressed or scaled differs from
 * its reference, for a person who looks at it.
 *
 * J. Sneyers, "SSIMULACRA 2: Structural SIMilarity Unveiling Local And
 * Compression Related Artifacts", Cloudinary, 2023, version 2.1: written from
 * the definition and the weights that are published with the authors' program,
 * of which it shares no code.  Scores differ from that program's by 0.06 at
 * most: its recursive Gaussian in single precision rounds so much that on
 * another processor, without fused multiply and add, it differs from itself by
 * as much.  This one is within 0.004 of double precision.
 */
#ifndef IMGOPS_BENCH_SSIMULACRA2_H
#define IMGOPS_BENCH_SSIMULACRA2_H

#include <stdint.h>

enum { SSIMULACRA2_SIDE_MIN = 8 };

/*
 * Linear light of red, green and blue of sRGB, from 0 to 1; rows without gaps.
 */
struct light {
	uint32_t width, height;
	float *planes[3]; /* from malloc() */
};

/*
 * Both pictures have the same sides, of SSIMULACRA2_SIDE_MIN at least.  100: no
 * difference.  The authors call 90 visually lossless, 70 high, 50 medium and 30
 * low quality; there is no least score.
 */
double ssimulacra2(const struct light *reference, const struct light *result);

void light_release(struct light *l);

#endif
