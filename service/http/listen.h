/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_LISTEN_H
#define SERVICE_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

/* Could it be one of those below?  False: *why says why not. */
bool listen_check(const char *address, const char **why);

/*
 * False: others than this machine can reach it.  True also of what cannot be
 * listened on at all.
 */
bool listen_is_local(const char *address);

/*
 * A listening TCP socket on `address`: "127.0.0.1:8080", "[::1]:8080",
 * "localhost:0".  Port 0: any free one; *port gets the real one.  On failure
 * -1, and *why says what was wrong, without a full stop.
 */
int listen_on(const char *address, uint16_t *port, const char **why);

/*
 * Here as well is an accept4() that takes the place of the C library's.  Where
 * no descriptor or memory is left for a connection it fails a little later:
 * libmicrohttpd would ask again at once, and take a core for as long as a
 * client waits.
 */

#endif
