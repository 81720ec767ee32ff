/* SPDX-License-Identifier: MIT */
/*
 * URL: whom to send to, by plain HTTP, and what to ask for there.
 *
 * Ownership  A URL owns its texts.
 */
#ifndef LOADGEN_URL_H
#define LOADGEN_URL_H

#include "loadgen/error.h"

#include <netdb.h>
#include <stdbool.h>

struct url {
	char *host;      /* a name or an address, without brackets */
	char *authority; /* host and port as in the URL: the Host header */
	char *target;    /* path and query; "/" where the URL has no path */
	char port[sizeof("65535")];
};

/* Fill `url`.  False: `error` says what is wrong, and `url` is untouched. */
MUST_CHECK bool url_parse(struct url *url, const char *text,
			  struct error *error);

/* Free the texts and make `url` empty.  An empty one is fine. */
void url_release(struct url *url);

/*
 * All addresses of the host, for freeaddrinfo().  NULL: `error` says why there
 * is none.  Asks the resolver, and waits for it.
 */
struct addrinfo *url_resolve(const struct url *url, struct error *error);

#endif
