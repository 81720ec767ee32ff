/* SPDX-License-Identifier: MIT */
/*
 * The work of darkroom-decoder and darkroom-heif: see decoder.h.
 */
#ifndef SERVICE_DECODER_SERVE_H
#define SERVICE_DECODER_SERVE_H

#include "imgops/imgops.h"

/* As img_decode(). */
typedef enum img_err decode_fn(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *header,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory);

/*
 * Serve the lanes whose descriptors are open (protocol.h), until the server has
 * ended.  Each process has at most `bytes_max` of memory of its own.  Returns a
 * program's status.
 */
int decoder_serve(uint32_t lanes, uint64_t bytes_max, decode_fn *decode);

/* main() of a program that does nothing else. */
int decoder_main(int argc, char **argv, decode_fn *decode);

#endif
