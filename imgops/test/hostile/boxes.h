/* SPDX-License-Identifier: MIT */
/*
 * Hostile files of boxes, as AVIFs and HEICs are.  Places in the file are
 * numbers in the box "iloc", so what makes the boxes before the picture longer
 * or shorter breaks them, too, except in boxes_mutate().
 */
#ifndef IMGOPS_TEST_HOSTILE_BOXES_H
#define IMGOPS_TEST_HOSTILE_BOXES_H

#include "imgops/test/hostile/hostile.h"

/* `file` belongs to the seed.  Its parts are the boxes, outer ones first. */
struct seed boxes_seed(const char *name, struct bytes file);

/*
 * What is tried with one picture, whatever its codec: sizes, other boxes, many
 * boxes, and broken profiles instead of its last property, the codes of its
 * colours; their seed is called "profile".
 */
void boxes_mutate(struct hostile *h, const struct seed *s);

#endif
