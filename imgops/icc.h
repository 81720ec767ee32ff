/* SPDX-License-Identifier: MIT */
/*
 * ICC profiles, by lcms2: what the numbers of a picture mean, made sRGB.
 *
 * A profile comes from a stranger.  What lcms2 refuses, what is for pixels of
 * another kind and what would take long is bad, and bad ones are ignored.
 *
 * Memory     lcms2's own, by malloc(): some ten times the profile at most.
 */
#ifndef IMGOPS_ICC_H
#define IMGOPS_ICC_H

#include "imgops/image.h"

#include <lcms2.h>

enum icc_verdict {
	ICC_BAD,
	ICC_SRGB, /* or so near that nobody can tell */
	ICC_OTHER,
};

struct icc {
	cmsContext context;
	cmsHTRANSFORM to_srgb; /* NULL: none */
	uint32_t channels;     /* of a pixel in: grey 1, RGB 3, CMYK 4 */
};

/*
 * Open a profile for a picture of `space`, to convert about `pixels` of it.
 * A grey picture may have an RGB profile.  `icc` is set only by ICC_OTHER; the
 * caller ends it with icc_close().
 */
IMG_CHECK enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
				    size_t profile_bytes, enum img_space space,
				    uint64_t pixels);

/* Interleaved pixels, of icc->channels (CMYK: 255 is full ink), to sRGB. */
void icc_convert(const struct icc *icc, uint8_t *rgb, const uint8_t *device,
		 uint32_t count);

void icc_close(struct icc *icc);

#endif
