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
 * Read the index of a package of `bytes` bytes.  STORE_DAMAGED: there is none,
 * it has no meta.json, or it gives another number of bytes.
 */
MUST_CHECK enum store_answer object_read_index(int fd, uint64_t bytes,
					       struct package *p);

/* The same, and check the SHA-256 of each file. */
MUST_CHECK enum store_answer object_check(int fd, uint64_t bytes,
					  struct package *p);

#endif
