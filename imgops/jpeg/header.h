/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: the contents of a JPEG's header that are not fields of struct
 * img_header.
 */
#ifndef IMGOPS_JPEG_HEADER_H
#define IMGOPS_JPEG_HEADER_H

#include "imgops/imgops.h"

enum profile_state {
	PROFILE_NONE,
	PROFILE_READ,
	PROFILE_BROKEN, /* chunks missing, twice, contradicting; or over max */
	PROFILE_NO_MEMORY,
};

/*
 * The ICC profile of a JPEG, put together from the chunks in its header (ICC.1,
 * annex B.4), in any order.  The profile itself is not checked.  If
 * PROFILE_READ, *profile is a block of `memory`; otherwise *profile and *bytes
 * are unchanged.  Linear time whatever the bytes.
 */
MUST_CHECK enum profile_state profile_read(uint8_t **profile, size_t *bytes,
					   const uint8_t *jpeg,
					   size_t jpeg_bytes,
					   const struct memory *memory);

#endif
