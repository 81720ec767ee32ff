/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: what follows from a JPEG's header and is not a member of
 * struct img_header: its ICC profile and its DCT blocks.
 */
#ifndef IMGOPS_JPEG_HEADER_H
#define IMGOPS_JPEG_HEADER_H

#include "imgops/imgops.h"

enum profile_state {
	PROFILE_NONE,
	PROFILE_READ,
	/* Chunks are missing, doubled or contradictory; or too large. */
	PROFILE_BROKEN,
	PROFILE_NO_MEMORY,
};

/*
 * The ICC profile of a JPEG, put together from the chunks in its header (ICC.1,
 * annex B.4), in any order.  The profile itself is not checked.  After
 * PROFILE_READ, *profile is a block from `memory`; otherwise *profile and
 * *bytes are unchanged.  Takes linear time for any bytes.
 */
MUST_CHECK enum profile_state profile_read(uint8_t **profile, size_t *bytes,
					   const uint8_t *jpeg,
					   size_t jpeg_bytes,
					   const struct memory *memory);

enum { BLOCK_PX = 8 }; /* the side of a DCT block */

/*
 * How many DCT blocks a component of sampling factor `factor` has along a side
 * of the picture, if the largest factor is `factor_max`.  With a factor of 1:
 * the MCUs of the picture.
 */
static inline uint32_t blocks_along(uint32_t side_px, uint32_t factor,
				    uint32_t factor_max)
{
	uint64_t mcu_px = (uint64_t)BLOCK_PX * factor_max;

	return (uint32_t)(((uint64_t)side_px * factor + mcu_px - 1) / mcu_px);
}

/* The largest sampling factors of all components. */
struct img_size header_factors(const struct img_header *h);

/* The DCT blocks of component `i`. */
struct img_size header_blocks(const struct img_header *h, uint32_t i);

#endif
