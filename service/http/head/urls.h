/* SPDX-License-Identifier: MIT */
/*
 * URLs of this server, as its clients see them.  Only the operator and proxies
 * know: a proxy may serve us below a path, by HTTPS, under a name of its own.
 *
 * Threads    Any.
 */
#ifndef SERVICE_URLS_H
#define SERVICE_URLS_H

#include "base/util.h"

#include <stdbool.h>

struct request;

enum { URL_BASE_BYTES = 256 }; /* of a URL without our own path, with its NUL */

/*
 * Is `url` a value of --public-url, such as "https://photos.example/app" or
 * "/app"?  --admin-url must have a host.  False: *why says what to give.
 */
MUST_CHECK bool urls_check_public(const char *url, const char **why);
MUST_CHECK bool urls_check_admin(const char *url, const char **why);

/*
 * The base of URLs that are for no request: that of --public-url, which may be
 * NULL: then it is "".
 */
void urls_public_base(char out[URL_BASE_BYTES], const char *public_url);

/*
 * The base of the URLs in the reply: the text before a path of ours, without a
 * slash at its end.  It is that of --public-url; or what a trusted proxy says
 * by X-Forwarded-Proto, -Host and -Prefix; or "": clients complete the path by
 * the URL of their request.
 */
void urls_base(char out[URL_BASE_BYTES], const struct request *r);

/*
 * Where the client of this request finds the other port: the admin port for a
 * request at the main port, and the other way round.  False: there is no such
 * port, or it is not known how clients reach it, or, at the admin port, the
 * main port does not know from which origin uploads may come.
 */
bool urls_other_port(char out[URL_BASE_BYTES], const struct request *r);

#endif
