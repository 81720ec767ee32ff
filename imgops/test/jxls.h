/* SPDX-License-Identifier: MIT */
/*
 * For the tests of imgops: JPEG XLs of many kinds, with known pixels, made by
 * libjxl and put into boxes here.  Errors fail an assertion.
 */
#ifndef IMGOPS_TEST_JXLS_H
#define IMGOPS_TEST_JXLS_H

#include "imgops/test/support.h"

/* The size of a picture below, unless it is given. */
enum { JXL_TEST_WIDTH = 75, JXL_TEST_HEIGHT = 51 };

/* The picture to make.  A member that is 0 means the most usual value. */
struct jxl_spec {
	uint32_t width, height;
	uint32_t depth; /* 8, 16, or 32: float */
	uint32_t orientation;
	uint32_t frames;  /* more than 1: of an animation */
	uint32_t layers;  /* frames that are shown at once */
	uint32_t curve;   /* JxlTransferFunction; 0: that of sRGB */
	uint32_t primary; /* JxlPrimaries; 0: those of sRGB */
	const uint8_t *icc;
	size_t icc_bytes;
	bool is_grey;
	bool has_alpha;
	bool is_lossy;
	bool is_modular;
	bool is_noise; /* each sample is random */
	bool has_photon_noise;
	bool in_boxes;
	uint32_t parts; /* of the codestream, each in a box */
	/* Of a reduced picture: how many pixels a sample stands for. */
	uint32_t step;
};

/*
 * The sample of a channel at (x, y), 0..65535: waves, and alpha from 0 to
 * 65535.  For 8 bits it is divided by 257.
 */
uint32_t jxl_sample(const struct jxl_spec *spec, uint32_t channel, uint32_t x,
		    uint32_t y);

struct bytes jxl_make(const struct jxl_spec *spec);

/*
 * A lossless file of the default size and 8 bits, with alpha, whose header says
 * that colours are multiplied by it; libjxl 0.7 does not write such a file.
 */
struct bytes jxl_premultiplied(void);

/* A file with a gain map. */
struct jxl_gain_spec {
	struct jxl_spec base, map;
	const struct img_gain *gain; /* numbers are multiples of 1/64 */
	/* The alternate's colours, and its profile: any bytes. */
	struct bytes colours, profile;
	uint8_t version;
	bool is_before;     /* the picture */
	bool is_compressed; /* the box says so */
	bool is_endless;    /* the box has no size */
};

struct bytes jxl_make_gain(const struct jxl_gain_spec *spec);

/* Display P3, as coded in a codestream, which the caller frees. */
struct bytes jxl_p3(void);

/* The data of the file's box of this type.  No data: there is none. */
struct bytes jxl_find_box(struct bytes file, const char *type);

/* Put a codestream into boxes, in so many parts; frees it. */
struct bytes jxl_box(struct bytes codestream, uint32_t parts);

#endif
