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
	 * soon as its result is there, what is decoded when the last picture
	 * has been scaled.  Of a photo it is hardly less; more only where a
	 * profile is in several pieces or the result may be large.  Several
	 * pictures may be in any of their steps, or finished and kept.
	 */
	uint64_t bytes;
};

/* One of several pictures that are made of one file, and its share. */
struct img_cost_part {
	const struct img_view *view;
	const struct img_recipe *recipe;

	uint64_t scale_ns; /* these by img_cost_parts() */
	uint64_t blur_ns;
	uint64_t encode_ns;
};

/*
 * `header` by img_probe() from all of the file; `view` by img_fit().
 */
struct img_cost img_cost(const struct img_header *header, const uint8_t *jpeg,
			 size_t jpeg_bytes, const struct img_view *view,
			 const struct img_recipe *recipe);

/*
 * The same of `count` (1 or more) pictures together, if the file is decoded
 * once, at the most img_eighths() of all: `eighths`.
 */
struct img_cost img_cost_parts(const struct img_header *header,
			       const uint8_t *jpeg, size_t jpeg_bytes,
			       uint32_t eighths, struct img_cost_part *parts,
			       uint32_t count);

#endif
