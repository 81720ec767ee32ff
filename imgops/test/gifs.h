/* SPDX-License-Identifier: MIT */
/* For the tests of GIF: files of any kind, made by giflib. */
#ifndef IMGOPS_TEST_GIFS_H
#define IMGOPS_TEST_GIFS_H

#include "imgops/test/support.h"

struct gif_spec {
	struct img_size screen;
	uint32_t left, top, width, height;
	bool is_interlaced, has_own_colours;
	int clear_index; /* -1: none */
	int frames;
};

struct bytes gif_make(const struct gif_spec *spec);

/*
 * The index at (x, y) of a picture: stripes; far down noise, which fills the
 * table of codes.
 */
uint8_t gif_index(uint32_t x, uint32_t y);

/* The colour of an index, in the picture's own colours or those of all. */
uint8_t gif_level(uint32_t channel, uint32_t index, bool is_own);

#endif
