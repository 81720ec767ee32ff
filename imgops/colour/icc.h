/* SPDX-License-Identifier: MIT */
/*
 * ICC profiles, read by lcms2: they say which colours the numbers of a picture
 * mean.  Pictures are converted to sRGB.
 *
 * A profile comes from a client.  A profile is bad if lcms2 refuses it, if it
 * is for pixels of another kind, or if converting would take long.  Bad
 * profiles are ignored.  A lack of memory is an error.
 *
 * Most profiles (cameras, phones, screens) are three curves and three colours:
 * a "matrix profile". lcms2 reads and checks it, but the conversion is done
 * here, because lcms2 computes 50,000 powers before it converts the first
 * pixel.
 *
 * Memory     lcms2 uses malloc(): at most about ten times the size of the
 *            profile.
 */
#ifndef IMGOPS_COLOUR_ICC_H
#define IMGOPS_COLOUR_ICC_H

#include "imgops/imgops.h"

#include <setjmp.h>
#include <sys/queue.h>

#include <lcms2.h>

enum icc_verdict {
	ICC_NO_MEMORY,
	ICC_BAD,
	ICC_SRGB, /* or so similar that nobody can see the difference */
	ICC_OTHER,
};

/*
 * A context of lcms2 that can be abandoned when memory is short.  If an
 * allocation fails, lcms2 2.14 treats a good profile as a bad one, or crashes.
 * So a failed allocation does not return: it jumps (longjmp) to the caller of
 * lcms2, who frees the context and with it everything that lcms2 has allocated.
 */
struct icc_context {
	cmsContext lcms;
	bool jumps; /* false: a failed allocation returns NULL as usual */
	jmp_buf no_memory;
	LIST_HEAD(, icc_block) blocks;
};

enum { LEVEL_ENTRIES = 8192 };

/*
 * One value for each of the three channels of the result; the fourth is not
 * used.
 */
typedef float light_vector __attribute__((vector_size(16)));

struct matrix_profile {
	/*
	 * For each level of each input channel, its contribution to each output
	 * channel.  The sums are indices into `levels`.
	 */
	light_vector parts[3][256];
	/* sRGB levels, from no light to full light */
	uint8_t levels[LEVEL_ENTRIES];
};

/* The curve of sRGB: from light to level and back, both 0 to 1. */
double srgb_encode(double light); /* light below 0 is 0, above 1 is 1 */
double srgb_decode(double level);

/* A conversion to sRGB; without channels, it converts nothing. */
struct icc {
	/* Of the picture: 1 for grey, 3 for RGB, 4 for CMYK. */
	uint32_t channels;
	/* The context of `to_srgb`; unused if its lcms is NULL. */
	struct icc_context context;
	cmsHTRANSFORM to_srgb; /* NULL: `matrix` converts */
	struct matrix_profile matrix;
};

/* Initialise `icc` so that it converts nothing. */
void icc_init(struct icc *icc);

/*
 * Open a profile for a picture of `space`, of which about `pixels` pixels will
 * be converted.  A grey picture may have an RGB profile.  After ICC_OTHER `icc`
 * converts; after the other verdicts it converts nothing.  icc_close() may
 * follow in any case; until then `icc` must not move in memory.
 */
MUST_CHECK enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
				     size_t profile_bytes, enum img_space space,
				     uint64_t pixels);

/*
 * Convert planes of icc->channels to planes of sRGB.  For CMYK, `flip` is 255
 * for each plane in which 255 means no ink, and 0 for the others; for other
 * spaces it is all 0.
 */
void icc_convert(const struct icc *icc, uint8_t *const srgb[3],
		 const uint8_t *const *device, const uint8_t *flip,
		 uint32_t width);

void icc_close(struct icc *icc);

#endif
