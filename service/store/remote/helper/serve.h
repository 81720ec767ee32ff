/* SPDX-License-Identifier: MIT */
/*
 * Serve: carry out the server's requests, which come as messages over
 * KEEPER_SOCKET (protocol.h).
 *
 *	PUT     PUT If-None-Match: *; if there is an object, compare its MD5
 *	        (ETag), and replace it if it differs
 *	READ    from the cache; else GET, into the cache; without a cache: GET
 *	        of the wanted bytes
 *	DELETE  HEAD, to learn whether it exists, then DELETE
 *	PROBE   HEAD of the bucket
 *
 * A store that does not know If-None-Match is remembered until the program
 * ends.  So that many READs do not keep PUTs waiting, some connections are for
 * other requests only, and READs beyond half of all requests are refused.
 * Several READs of one image at once cause one GET, if there is a cache.
 */
#ifndef SERVICE_STORE_SERVE_H
#define SERVICE_STORE_SERVE_H

#include "service/store/remote/helper/cache.h"
#include "service/store/remote/helper/s3.h"

/* Until the other end of the socket is closed.  `cache` may be NULL. */
void serve(struct s3 *s3, struct cache *cache);

#endif
