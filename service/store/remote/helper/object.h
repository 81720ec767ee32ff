/* SPDX-License-Identifier: MIT */
/*
 * Object: a package as it came from the store, in a file.  What it says of
 * itself is checked here.
 */
#ifndef SERVICE_STORE_OBJECT_H
#define SERVICE_STORE_OBJECT_H

#include "service/store/package.h"

#define OBJECT_BYTES_MAX (UINT64_C(1) << 30)

/*
 * Check the package of `bytes` bytes in `fd`: its index, the SHA-256 of each
 * file, and whether its meta.json is that of the image `id`.
 */
MUST_CHECK enum store_answer object_check(int fd, uint64_t bytes,
					  const char *id);

#endif
