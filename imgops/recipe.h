/* SPDX-License-Identifier: MIT */
/*
 * Recipe: what a picture is to become.
 */
#ifndef IMGOPS_RECIPE_H
#define IMGOPS_RECIPE_H

#include "imgops/image.h"

enum img_fit {
	IMG_FIT_INSIDE, /* all of the picture, aspect kept */
	IMG_FIT_COVER,  /* all of the box, aspect kept, the rest cut off */
	IMG_FIT_FILL,   /* all of both, stretched */
};

/* Which part of the displayed picture IMG_FIT_COVER keeps. */
enum img_gravity {
	IMG_CENTRE,
	IMG_NORTH,
	IMG_NORTHEAST,
	IMG_EAST,
	IMG_SOUTHEAST,
	IMG_SOUTH,
	IMG_SOUTHWEST,
	IMG_WEST,
	IMG_NORTHWEST,
};

/* What the picture is to become.  Zero is the default, but for `quality`. */
struct img_recipe {
	struct img_size box; /* side 0: unbounded; then all fits are "inside" */
	enum img_fit fit;
	enum img_gravity gravity;
	bool enlarge;         /* where the picture is smaller than the box */
	bool as_stored;       /* EXIF orientation is not applied */
	bool keep_profile;    /* ICC stays, where it can, instead of sRGB */
	bool full_chroma;     /* 4:4:4 instead of 4:2:0 */
	double blur_sigma_px; /* of the result; 0: no blur */
	int quality;          /* 1 .. 100 */
	bool progressive;
	bool optimize; /* Huffman tables for this picture; two passes */
	bool lenient;  /* take what a damaged file still gives */
};

#endif
