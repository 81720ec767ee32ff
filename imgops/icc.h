/* SPDX-License-Identifier: MIT */
/*
 * ICC profiles, by lcms2: what the numbers of a picture mean, made sRGB.
 *
 * A profile comes from a stranger.  What lcms2 refuses, what is for pixels of
 * another kind and what would take long is bad, and bad ones are ignored.  A
 * lack of memory is nobody's fault but ours.
 *
 * Memory     lcms2's own, by malloc(): some ten times the profile at most.
 */
#ifndef IMGOPS_ICC_H
#define IMGOPS_ICC_H

#include "imgops/icc_context.h"
#include "imgops/shaper.h"

enum icc_verdict {
	ICC_NO_MEMORY,
	ICC_BAD,
	ICC_SRGB, /* or so near that nobody can tell */
	ICC_OTHER,
};

/* A conversion to sRGB; or, with no channels, none. */
struct icc {
	uint32_t channels;          /* of the picture: grey 1, RGB 3, CMYK 4 */
	struct icc_context context; /* of `to_srgb`; without lcms: none */
	cmsHTRANSFORM to_srgb;      /* NULL: `shaper` */
	struct shaper shaper;
};

/* None. */
void icc_init(struct icc *icc);

/*
 * Open a profile for a picture of `space`, to convert about `pixels` of it.
 * A grey picture may have an RGB profile.  Only ICC_OTHER makes `icc` one that
 * converts; all are well with icc_close().  Until then `icc` stays where it is.
 */
IMG_CHECK enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
				    size_t profile_bytes, enum img_space space,
				    uint64_t pixels);

/*
 * Planes of icc->channels to planes of sRGB.  For CMYK, `flip` has 255 for
 * each plane where 255 is no ink, else 0; for others it is all 0.
 */
void icc_convert(const struct icc *icc, uint8_t *const srgb[3],
		 const uint8_t *const *device, const uint8_t *flip,
		 uint32_t width);

void icc_close(struct icc *icc);

#endif
