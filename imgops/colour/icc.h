/* SPDX-License-Identifier: MIT */
/*
 * ICC profiles, read by lcms2: they say which colours the numbers of a picture
 * mean.  Pictures are converted to sRGB.
 *
 * A profile comes from a client.  A profile is bad if lcms2 refuses it, if it
 * is for pixels of another kind, or if converting would take long.  Bad
 * profiles are ignored.  A lack of memory is an error.
 *
 * Matrix profiles are converted by matrix.h, because lcms2 computes 50,000
 * powers before it converts the first pixel; all others by lcms2.
 *
 * Memory     lcms2 takes what it needs from struct memory, at most
 *            icc_bytes_max().  A profile that needs more is bad.
 */
#ifndef IMGOPS_COLOUR_ICC_H
#define IMGOPS_COLOUR_ICC_H

#include "imgops/arena.h"
#include "imgops/colour/matrix.h"
#include "imgops/imgops.h"

#include <setjmp.h>

#include <lcms2.h>

enum icc_verdict {
	ICC_NO_MEMORY,
	ICC_BAD,
	ICC_SRGB, /* or so similar that nobody can see the difference */
	ICC_OTHER,
};

/*
 * A context of lcms2 that can be abandoned.  If an allocation fails, lcms2 2.14
 * treats a good profile as a bad one, or crashes.  So a failed allocation does
 * not return: it jumps (longjmp) to the caller of lcms2, who frees the context
 * and with it everything that lcms2 has allocated.
 */
struct icc_context {
	cmsContext lcms;
	bool jumps; /* false: a failed allocation returns NULL as usual */
	jmp_buf failed;
	struct arena arena;
	struct arena_account account;
};

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
 * follow in any case; until then `icc` must not move, and `memory` must exist.
 */
MUST_CHECK enum icc_verdict icc_open(struct icc *icc, const uint8_t *profile,
				     size_t profile_bytes, enum img_space space,
				     uint64_t pixels,
				     const struct memory *memory);

/* True: the samples are of high dynamic range, PQ or HLG. */
bool icc_is_hdr(const struct icc *icc);

/* The most memory that an open profile of this size takes. */
uint64_t icc_bytes_max(size_t profile_bytes);

/*
 * lcms2 makes a table of this many entries before it converts `pixels` pixels.
 * 0: it computes each pixel.
 */
uint64_t icc_table_entries(uint32_t channels, uint64_t pixels);

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
