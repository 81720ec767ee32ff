/* SPDX-License-Identifier: MIT */
/*
 * The work of darkroom-decoder and darkroom-heif: see decoder.h.
 */
#ifndef SERVICE_DECODER_SERVE_H
#define SERVICE_DECODER_SERVE_H

#include "imgops/imgops.h"
#include "imgops/repack.h"

/* As img_decode(). */
typedef enum img_err decode_fn(struct image *dst, const uint8_t *bytes,
			       size_t count, const struct img_header *header,
			       const struct img_view *view,
			       const struct img_transform *transform,
			       const struct img_limits *limits,
			       const struct memory *memory);

/* As img_repack(). */
typedef enum img_err repack_fn(enum img_repack what, uint8_t *to, size_t room,
			       size_t *count, const uint8_t *bytes,
			       size_t byte_count);

/* What a program does with files. */
struct decoder_work {
	decode_fn *decode;
	repack_fn *repack; /* NULL: it does not */
	/* For tests on busy machines: idle work has the usual priority, too. */
	bool is_prompt;
};

/*
 * Serve the lanes whose descriptors are open (protocol.h), until the server has
 * ended.  Each process has at most `bytes_max` of memory of its own.  Returns a
 * program's status.
 */
int decoder_serve(uint32_t lanes, uint64_t bytes_max,
		  const struct decoder_work *work);

/* main() of a program that does nothing else. */
int decoder_main(int argc, char **argv, const struct decoder_work *work);

#endif
