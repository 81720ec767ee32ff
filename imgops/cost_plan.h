/* SPDX-License-Identifier: MIT */
/*
 * Inside cost: the sizes that all steps will work on.
 */
#ifndef IMGOPS_COST_PLAN_H
#define IMGOPS_COST_PLAN_H

#include "imgops/cost.h"
#include "imgops/skim.h"

struct plan {
	const struct img_header *header;
	uint64_t jpeg_bytes;
	uint64_t scan_bytes;     /* from the first scan on */
	uint64_t kept_bytes;     /* of a progressive file */
	uint32_t eighths;        /* see img_eighths() */
	struct image decoded;    /* shapes, without samples */
	bool has_other_profile;  /* one that is converted, unless kept */
	bool has_codes;          /* DHT before the first scan; MJPEG has none */
	bool skims;              /* reads what skim.c can */
	struct skim_used tables; /* of the first scan */
	bool keeps_coefficients; /* of the whole file, until all is read */

	/* Of one picture; see plan_picture(). */
	const struct img_view *view;
	const struct img_recipe *recipe;
	struct image scaled;
	bool needs_pixels; /* scaled to whole pixels first, then converted */
	struct image pixels;
	uint64_t profile_bytes; /* in the result, at most */
};

/* What CPU time is made of: so many of each, by step. */
enum cost_term {
	COST_PICTURES,        /* one */
	COST_PROFILES,        /* looked at */
	COST_TABLES,          /* of AC codes, made by skim.c */
	COST_FULL_BYTES,      /* of a sequential file, by libjpeg */
	COST_SKIMMED_1_BYTES, /* of one at n/8, by skim.c */
	COST_SKIMMED_2_BYTES,
	COST_SKIMMED_3_BYTES,
	COST_SKIMMED_4_BYTES,
	COST_SCANNED_BYTES,     /* progressive: walked over */
	COST_DC_BYTES,          /* and decoded, by skim.c */
	COST_PROGRESSIVE_BYTES, /* or all that is kept, by libjpeg */
	COST_ARITHMETIC_BYTES,
	COST_KEPT_BLOCKS, /* coefficients written and read again */
	COST_BLOCKS_1,    /* by the inverse DCT to n x n samples */
	COST_BLOCKS_2,
	COST_BLOCKS_3,
	COST_BLOCKS_4,
	COST_BLOCKS_8,
	COST_COPIED_SAMPLES, /* of planes that keep their size */
	COST_TAPS_MADE,
	COST_SUMS_DOWN, /* products */
	COST_SUMS_ALONG,
	COST_CONVERSIONS,      /* one */
	COST_CONVERTED_PIXELS, /* by profile, or from ink */
	COST_BLUR_SUMS,
	COST_BLUR_PYRAMID, /* samples */
	COST_RESULTS,      /* one */
	COST_OPTIMIZED_RESULTS,
	COST_PROGRESSIVE_RESULTS,
	COST_ENCODED_SAMPLES,
	COST_OPTIMIZED_SAMPLES,   /* more for two passes */
	COST_PROGRESSIVE_SAMPLES, /* more for ten scans */
	COST_SHARP_SAMPLES,       /* more if not blurred */
	COST_SHARP_PROGRESSIVE_SAMPLES,
	COST_TERMS,

	COST_TERMS_OF_SCALE = COST_COPIED_SAMPLES, /* the first ones */
	COST_TERMS_OF_BLUR = COST_BLUR_SUMS,
	COST_TERMS_OF_ENCODE = COST_RESULTS,
};

/* Of the file, decoded at so many eighths. */
struct plan plan_make(const struct img_header *header, const uint8_t *jpeg,
		      size_t jpeg_bytes, uint32_t eighths);

/* Of a picture, the first or the next, that is made of what is decoded. */
void plan_picture(struct plan *p, const struct img_view *view,
		  const struct img_recipe *recipe);

/* The DCT blocks of component `i`. */
struct img_size plan_blocks(const struct img_header *header, uint32_t i);

/* At most so much is asked for at one time. */
struct step_bytes {
	uint64_t decode;  /* what is decoded included */
	uint64_t decoded; /* by what is decoded, until it has been scaled */
	uint64_t scale;   /* besides what is decoded */
	uint64_t finish;  /* to blur or to encode */
};

struct step_bytes cost_bytes(const struct plan *p);

void cost_terms(double terms[COST_TERMS], const struct plan *p);

/* All members of img_cost but `bytes`. */
struct img_cost cost_cpu(const struct plan *p);

#endif
