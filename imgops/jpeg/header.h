/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the ICC profile in a JPEG's header, which is not a member of
 * struct img_header.
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

#endif
