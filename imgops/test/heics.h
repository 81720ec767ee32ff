/* SPDX-License-Identifier: MIT */
/*
 * For the tests of HEIC: files of any kind, made without a library.  HEVC can
 * hold samples as they are ("PCM"), so each has a known value.
 */
#ifndef IMGOPS_TEST_HEICS_H
#define IMGOPS_TEST_HEICS_H

#include "imgops/test/support.h"

/* What says how a gain map is meant. */
enum heic_gain {
	HEIC_GAIN_NOTHING,
	HEIC_GAIN_XMP,  /* Apple's, with the headroom HEIC_HEADROOM */
	HEIC_GAIN_NOTE, /* Apple's, with the headroom 4 in the maker's note */
	HEIC_GAIN_ISO,  /* spec->iso */
};

#define HEIC_HEADROOM 5.25

/* A member that is 0 means the most usual value. */
struct heic_spec {
	/* Of the whole picture; 0: HEIC_TEST_WIDTH and HEIC_TEST_HEIGHT. */
	uint32_t width, height;
	uint32_t depth;  /* 8 to 12 */
	uint32_t format; /* 420, 422, 444 or 400 */
	/* As ITU-T H.273 numbers them; 0: BT.601; HEIC_IDENTITY. */
	uint32_t matrix;
	bool is_limited; /* the range of video */
	bool has_no_box; /* matrix and range are in the HEVC data alone */
	bool has_alpha, is_multiplied;
	uint32_t cell;           /* a grid of squares of this side */
	bool has_coloured_cells; /* which have the colours, and the grid none */
	bool has_depth;          /* as phones write: auxiliary pictures, */
	bool has_gainmap;        /* which are of another size, */
	bool has_thumbnail;
	enum heic_gain gain;
	const struct img_gain *iso; /* numbers are multiples of 1/64 */
	uint32_t iso_primaries;     /* of the alternate; 0: it has no box */
	bool is_map_coloured;
	uint32_t map_px;                   /* both sides; 0: HEIC_TEST_MAP */
	bool has_map_alpha, is_map_turned; /* by a quarter */
	bool has_exif;                     /* and EXIF with an orientation */
	bool is_turned, is_mirrored;
	uint8_t angle, mirror;
	/* As in the file: width, height, offset of the centre: fractions. */
	bool is_cut;
	uint32_t aperture[8];
	uint32_t second_px; /* both sides in another size, after the aperture */
	struct bytes icc;
	uint32_t primaries, curve; /* 0: those of sRGB */
	bool is_at_end;            /* "meta" is behind "mdat" */
	bool is_in_pieces;         /* each item has two extents */
	/* The HEVC data say that they are larger than the picture. */
	uint32_t lie_px;
};

enum {
	HEIC_TEST_WIDTH = 70,
	HEIC_TEST_HEIGHT = 46,
	HEIC_TEST_MAP = 32,
	HEIC_IDENTITY = 255
};

struct bytes heic_make(const struct heic_spec *spec);

/* The sample of a plane at its (x, y) that heic_make() writes; 3: alpha. */
uint32_t heic_sample(const struct heic_spec *spec, uint32_t plane, uint32_t x,
		     uint32_t y);

#endif
