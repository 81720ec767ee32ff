/* SPDX-License-Identifier: MIT */
/*
 * Kept: the keys of a helper program, in an anonymous file that its keeper has
 * made (keeper.h).  kept_write() writes them into the empty file, which then
 * cannot change.
 */
#ifndef SERVICE_KEPT_H
#define SERVICE_KEPT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

bool kept_is_there(int fd);

/* False: `error`. */
MUST_CHECK bool kept_write(int fd, const void *bytes, size_t count,
			   struct error *error);

/* At most `room` - 1 bytes, and a NUL. */
void kept_read(int fd, char *text, size_t room);

#endif
