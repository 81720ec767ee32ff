/* SPDX-License-Identifier: MIT */
/*
 * Keeper: a small process that starts the store helper, and starts it again
 * when it ends.
 *
 *	server --control--> keeper --fork, exec--> helper
 *	   \______________ socket ________________/
 *
 * The server cannot start programs: its sandbox forbids it.  So the keeper is
 * made before the server enters the sandbox.  It does nothing else, and
 * receives no byte from a client.  It has the environment of the server's
 * start, with the keys of the object store, which the server then forgets.
 *
 * A helper that is started again has the keys of the one before, or those that
 * a check has accepted since, whatever the file of keys has then.  They are in
 * an anonymous file of the keeper, which each helper has as STORE_KEYS: `serve`
 * and `check` with --keep-keys write it (credentials.h).
 *
 * After each start the keeper sends MESSAGE_STARTED over the helper's end of
 * the socket, and after other events MESSAGE_NOTE, each with a sentence for the
 * log.  A helper that ends soon is started again after 0.1 s, then 0.2 s, up to
 * 5 s, also while new keys are checked.  Keeper and helper end when the server
 * ends.
 */
#ifndef SERVICE_STORE_KEEPER_H
#define SERVICE_STORE_KEEPER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { KEEPER_ARGUMENTS_MAX = 24 };

/* The arguments of the helper, ended by NULL; the second is its command. */
struct keeper_config {
	const char *program; /* path of the helper */
	const char *arguments[KEEPER_ARGUMENTS_MAX];
};

enum keeper_result { KEEPER_OK, KEEPER_WRONG, KEEPER_FAILED };

/*
 * Run `program flags ...`, which checks flags and keys without a connection.
 * KEEPER_WRONG: they cannot be used, and another time neither; KEEPER_FAILED:
 * it did not come so far.  In both cases `error` says why.  Call it before
 * there are threads.
 */
MUST_CHECK enum keeper_result keeper_check_flags(const struct keeper_config *c,
						 struct error *error);

/*
 * Start the keeper; *socket is the server's end of the socket, and *control its
 * end of the control pipe.  Both are the caller's.  Call it before there are
 * threads.  False: `error` says why.
 */
MUST_CHECK bool keeper_start(const struct keeper_config *c, int *socket,
			     int *control, struct error *error);

/*
 * Ask the keeper to replace the helper by one that reads its keys again.  First
 * `program check ...` is run: if that fails, or takes 10 s, the helper stays.
 * Asked again meanwhile, it checks once more.  Returns at once; a message tells
 * the result.
 */
void keeper_reload(int control);

/*
 * The helper does not answer any more: ask the keeper to end it, and to start
 * another.  Returns at once.
 */
void keeper_replace(int control);

/* Overwrite and remove the variables AWS_* of this process. */
void keeper_forget_keys(void);

#endif
