/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: SSIMULACRA2, which says how much a picture that was compressed
 * or scaled differs from its reference, for a person who looks at it.
 *
 * J. Sneyers, "SSIMULACRA 2: Structural SIMilarity Unveiling Local And
 * Compression Related Artifacts", Cloudinary, 2023, version 2.1: written from
 * the definition and the weights that are published with the authors' program,
 * of which it shares no code.  Scores differ from that program's by 0.06 at
 * most: its recursive Gaussian in single precision rounds so much that on
 * another processor, without fused multiply and add, it differs from itself by
 * as much.  These scores are the same on all processors.
 *
 * Threads    One at a time may use a struct ssimulacra2.
 */
#ifndef IMGOPS_SSIMULACRA2_H
#define IMGOPS_SSIMULACRA2_H

#include "imgops/imgops.h"

enum { SSIMULACRA2_SIDE_MIN = 8 };

/* A reference, and room to compare results with it. */
struct ssimulacra2;

/*
 * Pictures as img_scale() makes them, with sides of SSIMULACRA2_SIDE_MIN at
 * least.  What is transparent is compared over white, and chroma of half size
 * is taken as its samples repeated.  `reference` is not used later.
 *
 * At each scale about `pixels` pixels are compared, in rows from all over the
 * picture, 1 or more; UINT64_MAX: all.  NULL: no memory.
 */
struct ssimulacra2 *ssimulacra2_new(const struct image *reference,
				    uint64_t pixels,
				    const struct memory *memory);

/* The same without vectors, which gives the same scores; for tests. */
struct ssimulacra2 *ssimulacra2_new_portable(const struct image *reference,
					     uint64_t pixels,
					     const struct memory *memory);

/*
 * The score of a result of the same sides.  100: no difference.  The authors
 * call 90 visually lossless, 70 high, 50 medium and 30 low quality; there is no
 * least score.
 */
double ssimulacra2_score(struct ssimulacra2 *s, const struct image *result);

void ssimulacra2_free(struct ssimulacra2 *s); /* NULL is fine */

/* The memory that ssimulacra2_new() asks for. */
size_t ssimulacra2_bytes(uint32_t width, uint32_t height, uint64_t pixels);

#endif
