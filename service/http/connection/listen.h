/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets.  An address is written as "127.0.0.1:8080", "[::1]:8080",
 * "localhost:0", or ":8080" for all addresses of IPv4 and IPv6.  Port 0 is any
 * free port.
 */
#ifndef SERVICE_LISTEN_H
#define SERVICE_LISTEN_H

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

#endif
