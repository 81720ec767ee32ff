/* SPDX-License-Identifier: MIT */
/*
 * Cost: what a picture will take, foretold before any of it is decoded.
 *
 * Sizes are all in the header.  Only the first bytes of a file are looked at,
 * of a progressive one at 1/8 or 2/8 also the markers between its scans.
 *
 * Limits  `bytes` is too low for a result that does not compress at all (binary
 *         noise), for a damaged file that is read in another way than a whole
 *         one, and for one that is cut before the second of its scans.
 */
#ifndef IMGOPS_COST_H
#define IMGOPS_COST_H

#include "imgops/imgops.h"

struct img_cost {
	/*
	 * CPU time, of each step and of all together.  A fit to photos on one
	 * machine: good for comparing pictures, not for promises.
	 */
	uint64_t decode_ns; /* with img_probe() */
	uint64_t scale_ns;
	uint64_t blur_ns;
	uint64_t encode_ns;
	uint64_t cpu_ns;
	/*
	 * At most so much is asked of struct img_memory at one time, from
	 * img_decode() to img_encode(), if each step's input is released as
	 * soon as its result is there.  Of photos it is hardly less; more only
	 * where a profile is in several pieces or the result may be large.
	 */
	uint64_t bytes;
};

/*
 * `header` by img_probe() from all of the file; `view` by img_fit().
 */
struct img_cost img_cost(const struct img_header *header, const uint8_t *jpeg,
			 size_t jpeg_bytes, const struct img_view *view,
			 const struct img_recipe *recipe);

#endif
