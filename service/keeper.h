/* SPDX-License-Identifier: MIT */
/*
 * Keeper: a small process that starts a helper program, and starts it again
 * when it ends.
 *
 *	server --control--> keeper --fork, exec--> helper
 *	   \______________ socket ________________/
 *
 * The server cannot start programs: its sandbox forbids it.  So the keeper is
 * made before the server enters the sandbox.  It does nothing else, and
 * receives no byte from a client.  It has the environment of the server's
 * start, which may have keys that the server then forgets.
 *
 * A helper that is started again has the keys of the one before, or those that
 * a check has accepted since, whatever the file of keys has then.  They are in
 * an anonymous file of the keeper, which each helper has as KEEPER_KEYS:
 * `serve` and `check` with --keep-keys write it (kept.h).
 *
 * After each start of a helper, and after other events, the keeper sends a
 * sentence for the log over the helper's end of the socket, by the helper's own
 * protocol: keeper_tell_fn.  A helper that ends soon is started again after 0.1
 * s, then 0.2 s, up to 5 s, also while new keys are checked.  Keeper and helper
 * end when the server ends.
 */
#ifndef SERVICE_KEEPER_H
#define SERVICE_KEEPER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	KEEPER_ARGUMENTS_MAX = 24,
	KEEPER_DETAIL_BYTES = 200,
	/* Descriptors of a helper: its end of the socket, its file of keys. */
	KEEPER_SOCKET = 3,
	KEEPER_KEYS,
};

/*
 * Send a sentence for the log, or "", to the server.  `is_start`: a helper is
 * about to be started; what the one before had is without an answer.
 * `is_wrong`: it is an error; after a start, the helper before has failed.
 * Called in the keeper's process.
 */
typedef void keeper_tell_fn(int socket, bool is_start, bool is_wrong,
			    const char *detail);

struct keeper_config {
	const char *helper;  /* in sentences, such as "the store helper" */
	const char *keys;    /* "keys of the store" */
	const char *process; /* name of the keeper's process */
	keeper_tell_fn *tell;
	const char *program; /* path of the helper */
	/*
	 * Ended by NULL; the first is the helper's name, the second its
	 * command.
	 */
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

#endif
