/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets.  An address is written as "127.0.0.1:8080", "[::1]:8080",
 * "localhost:0", or ":8080" for all addresses of IPv4 and IPv6.  Port 0 is any
 * free port.
 */
#ifndef SERVICE_LISTEN_H
#define SERVICE_LISTEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Connections that wait to be accepted, at most. */
enum { LISTEN_BACKLOG = 1024 };

/* Does the address have one of these forms?  False: *why is the reason. */
bool listen_check(const char *address, const char **why);

/*
 * Can only this machine connect to it?  True also for an address that
 * cannot be used.
 */
bool listen_is_local(const char *address);

enum listen_result {
	LISTEN_OK,
	LISTEN_BAD_ADDRESS, /* another attempt will fail too */
	/*
	 * Another attempt may succeed: the address is in use or not up yet, or
	 * there was no memory.
	 */
	LISTEN_FAILED,
};

/*
 * A TCP socket that listens on `address`; *port is its port.  On failure *why
 * says what was wrong, without a full stop.
 */
enum listen_result listen_on(const char *address, int *fd, uint16_t *port,
			     const char **why);

/*
 * Sockets that listen already when the program starts, because the service
 * manager has opened them (systemd's sd_listen_fds(3)).  The manager has them,
 * too: clients that come between two servers wait for the next one.  So they
 * must never be shut down, only closed.
 *
 * Each is named by the flag whose place it takes.
 */
enum listen_use { LISTEN_MAIN, LISTEN_ADMIN, LISTEN_AGENT, LISTEN_USES };

extern const char *const listen_flags[LISTEN_USES]; /* "admin-listen" */

enum { LISTEN_ADDRESS_BYTES = 64 };

struct listen_inherited {
	int fds[LISTEN_USES]; /* -1: none */
	char addresses[LISTEN_USES][LISTEN_ADDRESS_BYTES];
};

/* The values of these variables; NULL: not set. */
struct listen_variables {
	const char *pid, *fds, *names; /* LISTEN_PID, _FDS, _FDNAMES */
};

/*
 * Find the sockets that are for this process.  Without names, they are in the
 * order of enum listen_use, and a single one is the main port's whatever its
 * name.  False: `why` says what is wrong.
 */
MUST_CHECK bool listen_inherit(struct listen_inherited *out,
			       const struct listen_variables *v,
			       struct error *why);

/* The port of a socket. */
uint16_t listen_port(int fd);

#endif
