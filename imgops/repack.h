/* SPDX-License-Identifier: MIT */
/*
 * Repack: a JPEG file as a smaller JPEG XL file, from which the JPEG can be
 * restored byte for byte.
 *
 * libjxl codes the JPEG's coefficients again, and keeps how the JPEG had coded
 * them.  It does not take every JPEG, and its promise is not relied on: who
 * packs a file restores it, and compares, before the JPEG goes.
 *
 * Both read bytes of others by libjxl, in this process: decoder_repack() runs
 * them in one without rights.
 *
 * Threads    Any, at the same time.
 */
#ifndef IMGOPS_REPACK_H
#define IMGOPS_REPACK_H

#include "imgops/imgops.h"

enum img_repack { IMG_PACK, IMG_RESTORE };

/* Can this build do it? */
bool img_can_repack(void);

/*
 * Pack or restore the file.  The result is written to `to`, of at most `room`
 * bytes; *count is its size.  TOO_MANY_BYTES: there is no room.  UNSUPPORTED:
 * it is no JPEG that can be packed, or no JPEG XL of one.
 */
MUST_CHECK enum img_err img_repack(enum img_repack what, uint8_t *to,
				   size_t room, size_t *count,
				   const uint8_t *bytes, size_t byte_count);

struct img_repack_estimate {
	uint64_t memory_bytes; /* of libjxl, without the two files */
	uint64_t cpu_ns_max;   /* no good file takes as long */
};

/* False: the header of the file, which is not trusted, cannot be read. */
MUST_CHECK bool img_estimate_repack(struct img_repack_estimate *out,
				    enum img_repack what, const uint8_t *bytes,
				    size_t count);

#endif
