/* SPDX-License-Identifier: MIT */
/*
 * Processes: the processes of a server on this machine, found in /proc.
 *
 * A server is the processes that hold the socket that listens at its address,
 * and all their descendants: workers of nginx and node belong to it.  This
 * process is never part of it; process 1, which holds sockets for services that
 * are not started yet, only by its number, as in a server's own container.
 *
 * Limits     What /proc does not show to this user is not found.  A proxy that
 *            listens for the server, such as Docker's, is taken for it.
 */
#ifndef LOADGEN_PROCESSES_H
#define LOADGEN_PROCESSES_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 512 }; /* more are left out */

/* Zero one to begin. */
struct processes {
	pid_t pids[PROCESSES_MAX];
	size_t count;
};

/*
 * Add the processes that listen at `port` of `host`, if that is this machine,
 * and their descendants.  There may be none.
 */
void processes_add_listeners(struct processes *p, const char *host,
			     uint16_t port);

/* Add `pid` and its descendants.  False: there is no such process. */
MUST_CHECK bool processes_add_pid(struct processes *p, pid_t pid);

/* Add the descendants of those in `p` that are not in it yet. */
void processes_add_descendants(struct processes *p);

#endif
