/* SPDX-License-Identifier: MIT */
/*
 * Golden: replies compared with those that an earlier run saved (save.h).
 *
 * The file is read at each reply, so that a set need not fit into memory twice;
 * it is in the page cache after the first.
 */
#ifndef LOADGEN_GOLDEN_H
#define LOADGEN_GOLDEN_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether `bytes` are those saved in `dir` of the reply to the upload `path`.
 * False: `why` says what differs; a file that cannot be read does.
 */
MUST_CHECK bool golden_compare(const char *dir, const char *path,
			       const void *bytes, size_t size,
			       struct error *why);

#endif
