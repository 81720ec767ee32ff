/* SPDX-License-Identifier: MIT */
/*
 * For the tests of gain maps: a writer and a reader of JPEGs with a gain map
 * that share no code with imgops.
 */
#ifndef IMGOPS_TEST_GAINMAPS_H
#define IMGOPS_TEST_GAINMAPS_H

#include "imgops/test/support.h"

enum gainmap_metadata {
	GAINMAP_ISO,
	GAINMAP_ISO_SHARED, /* with one denominator, as libultrahdr writes */
	GAINMAP_XMP,        /* attributes */
	GAINMAP_XMP_LISTS,  /* elements, with a list of three numbers */
	GAINMAP_XMP_LONG,   /* as GAINMAP_XMP, after 60 KB of other XMP */
	GAINMAP_XMP_SECOND, /* as GAINMAP_XMP, after ISO that says nothing */
	GAINMAP_APPLE,      /* with the headroom in XMP */
	GAINMAP_APPLE_NOTE, /* with that in the maker's note */
	GAINMAP_NONE,       /* a second picture that is no map */
	GAINMAP_KINDS,
};

struct gainmap_spec {
	struct jpeg_spec base, map;
	enum gainmap_metadata metadata;
	const struct img_gain *gain; /* numbers are multiples of 1/64 */
	double headroom;             /* Apple's, in the file: not its log2 */
	double note[2];              /* what Apple's note has instead */
	struct bytes profile;        /* of the map; no data: none */
	bool little_endian;          /* the index */
	/* Another picture before the map, with ISO that says nothing. */
	bool has_preview;
	int64_t preview_error; /* added to its size in the index */
	bool is_promised;      /* the first picture has hdrgm:Version */
	/* Added to what the index says of the map. */
	int64_t offset_error, bytes_error;
	size_t cut_bytes; /* missing at the end of the map */
	const char *trailer;
};

/* The usual meaning, and one with three channels in other colours. */
extern const struct img_gain gainmap_usual, gainmap_coloured;

/* The numbers of ISO 21496-1, annex C, which the caller frees. */
struct bytes gainmap_iso(const struct img_gain *gain);

/* Read them again.  They must be as imgops writes them. */
void gainmap_see_iso(struct img_gain *gain, struct bytes iso);

struct bytes gainmap_make(const struct gainmap_spec *spec);

/* The file's gain map, by its index and its ISO metadata; the rest must fit. */
struct gainmap_seen {
	struct bytes first, map; /* parts of the file */
	struct img_gain gain;
	bool has_profile;
};

/* False: the file has no index. */
bool gainmap_see(struct gainmap_seen *seen, struct bytes file);

#endif
