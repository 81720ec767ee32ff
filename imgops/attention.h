/* SPDX-License-Identifier: MIT */
/*
 * Inside imgops: which part of a picture IMG_SMART keeps.
 *
 * What draws attention is looked for in a grid of at most ATTENTION_CELLS x
 * ATTENTION_CELLS cells: edges, saturated colours and colours of skin, each
 * above the mean of the picture.  The part is the one with the most of it, what
 * is in its middle counting more; if there is nothing, the middle one.
 */
#ifndef IMGOPS_ATTENTION_H
#define IMGOPS_ATTENTION_H

#include "imgops/imgops.h"

enum { ATTENTION_CELLS = 96 };

/*
 * Move the part of the decoded picture `src` that `view` shows to where it has
 * most attention, within the cut.  False: no memory.
 */
MUST_CHECK bool attention_move(struct img_view *view, const struct image *src,
			       const struct memory *memory);

/* The memory that it needs. */
uint64_t attention_bytes(void);

#endif
