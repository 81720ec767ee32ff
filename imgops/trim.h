/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: where the border of a picture ends.
 *
 * A pixel is border if each of its channels differs from the background by no
 * more than the tolerance, or if it is transparent: if its alpha is no more
 * than that.  The background is the upper left pixel of the upright picture,
 * before `rotate` and `flip`, so these change nothing.  Channels are those of
 * RGB, in the file's own colours; of grey, luma; of CMYK, the inks.
 *
 * A pixel that differs counts only with one beside it, also diagonally, so that
 * specks are border, and lines are not.  What is inside of the border is the
 * smallest rectangle with all that count.  If there are none, the picture has
 * no border.
 *
 * Pixels are samples of the decoded picture: at n/8 of its size, each is the
 * mean of a square.  Then up to n lines at an edge that are much paler than the
 * next ones, because most of their squares is border, are border.
 */
#ifndef IMGOPS_TRIM_H
#define IMGOPS_TRIM_H

#include "imgops/imgops.h"

/* The border that is known; NULL: none, or it is not to be removed. */
const struct img_border *trim_known(const struct img_header *header,
				    const struct img_transform *transform);

/* Would a search for the border of both find the same? */
bool trim_is_same(const struct img_header *header,
		  const struct img_transform *a, const struct img_transform *b);

#endif
