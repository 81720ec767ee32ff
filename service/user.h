/* SPDX-License-Identifier: MIT */
/*
 * User: a server that root has started becomes another user after it has opened
 * what only root may open: ports below 1024, keys and certificates.
 *
 * Threads    One, before there are others, because these would stay root.
 */
#ifndef SERVICE_USER_H
#define SERVICE_USER_H

#include "base/error.h"

#include <stdbool.h>

/*
 * Can this process become the user "NAME" or "NAME:GROUP" (names or numbers)?
 * False: `why` is the reason.
 */
MUST_CHECK bool user_check(const char *user, struct error *why);

/*
 * Become this user permanently, with all its groups, or with GROUP alone.
 * False: `why` is the reason, and the program must end.
 */
MUST_CHECK bool user_become(const char *user, struct error *why);

/* If so, an attacker with control of this process controls the machine. */
bool user_is_root(void);

#endif
