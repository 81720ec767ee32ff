/* SPDX-License-Identifier: MIT */
/*
 * Inside heic/: a picture of HEVC, decoded by libde265 on one thread.
 *
 * A picture is whole, or there is none.
 */
#ifndef IMGOPS_FORMATS_HEIC_HEVC_H
#define IMGOPS_FORMATS_HEIC_HEVC_H

#include "imgops/formats/heic/heic.h"

#include <libde265/de265.h>

struct hevc {
	const struct de265_image *img; /* the picture */

	/* Inside hevc.c. */
	de265_decoder_context *decoder;
	struct img_size size;
	uint32_t width, height; /* with the samples that are not shown */
	uint32_t buffers;       /* pictures that the decoder has */
	uint32_t units;         /* NAL units that it was given */
};

/*
 * Decode the one picture of `data`.  It may be larger than `size`, by less than
 * a block, and smaller.  Call hevc_end() afterwards, whatever is returned.
 *
 * Errors: NO_MEMORY, UNSUPPORTED, CORRUPT.
 */
enum img_err hevc_decode(struct hevc *v, const struct heic_config *config,
			 struct isobmff_span data, struct img_size size);

/* v->img is no longer valid. */
void hevc_end(struct hevc *v);

#endif
