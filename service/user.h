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
 * Become this user permanently, with all groups of the user, or only with GROUP
 * if one is given.  False: `why` is the reason, and the program must end.
 */
MUST_CHECK bool user_become(const char *user, struct error *why);

/*
 * Is this process root?  Then an attacker who controls it controls the machine.
 */
bool user_is_root(void);

#endif
