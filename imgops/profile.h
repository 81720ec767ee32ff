/* SPDX-License-Identifier: MIT */
#ifndef IMGOPS_PROFILE_H
#define IMGOPS_PROFILE_H

#include "imgops/image.h"

enum { PROFILE_BYTES_MAX = 4 << 20 }; /* the largest printer profiles */

enum profile_state {
	PROFILE_NONE,
	PROFILE_READ,
	PROFILE_BROKEN, /* chunks missing, twice, contradicting; or over max */
	PROFILE_NO_MEMORY,
};

/*
 * The ICC profile of a JPEG, put together from the chunks in its header (ICC.1,
 * annex B.4), in whichever order they come.  What is in the profile is not
 * looked at.  If PROFILE_READ, *profile is a block of `memory`; else both
 * results are untouched.  Linear time whatever the bytes.
 */
IMG_CHECK enum profile_state profile_read(uint8_t **profile, size_t *bytes,
					  const uint8_t *jpeg,
					  size_t jpeg_bytes,
					  const struct img_memory *memory);

#endif
