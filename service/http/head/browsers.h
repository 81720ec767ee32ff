/* SPDX-License-Identifier: MIT */
/*
 * Browsers: what their headers say about the page that a request comes from.  A
 * server without keys must not do what a page of another site asks for, because
 * the browser may be inside a network that the server trusts.
 *
 *	Host            the name that the browser looked up.  A foreign page may
 *	                let its own name point to our address (DNS rebinding).
 *	                Then the browser believes that we are the page's server,
 *	                but the name that it sends is not ours.  An address is
 *	                not looked up, so any address is allowed.  A private
 *	                name, as containers use, cannot be registered, so it is
 *	                allowed, too; but as others in the private network may
 *	                answer for it, a page of that name may change nothing.
 *	Sec-Fetch-Site  whether the page is of our site; a page cannot set it
 *	Origin          the page's own address; used for browsers that do not
 *	                send Sec-Fetch-Site, and to recognise the page of our
 *	                admin port and those of --cors-origin
 *
 * Pages of the origins in --cors-origin may use the main port and read its
 * replies: CORS, as in https://fetch.spec.whatwg.org/#http-cors-protocol.  The
 * server uses no cookies, so there are no "credentials" in the sense of CORS.
 *
 * Clients other than browsers can send any headers anyway, so these checks are
 * only about browsers.
 *
 * Threads    Any.
 */
#ifndef SERVICE_BROWSERS_H
#define SERVICE_BROWSERS_H

#include "service/http/reply/problem.h"
#include "base/util.h"

#include <stdbool.h>

struct request;

/*
 * Is `names`, the value of --host, a list of names such as
 * "photos.example,darkroom", or "*" for any name?  False: *why says why not.
 */
bool browsers_check_names(const char *names, const char **why);

/*
 * Is `origins`, the value of --cors-origin, a list of origins such as
 * "https://shop.example,https://shop.example:8443", written as browsers send
 * them, or "*" for any?  False: *why says why not.
 */
bool browsers_check_origins(const char *origins, const char **why);

/*
 * Which pages of --cors-origin may read the reply, also one that refuses the
 * head: those of the request's Origin, or of any, "*"; NULL: none.
 */
const char *browsers_reader(const struct request *r);

/*
 * Is it an upload by the page of our admin port?  Without keys, that page may
 * read the reply, too.
 */
bool browsers_is_admin_page(const struct request *r);

/* Does r->reader_origin depend on the request's Origin? */
bool browsers_reader_varies(const struct request *r);

/*
 * Could the request come from a page of another site?  A page of any site may
 * ask for what is public, and those of r->reader_origin for all of the port.
 */
enum problem browsers_check_page(struct request *r, bool is_public);

/* The same, if the client has shown that it may send the request. */
enum problem browsers_check_origin(struct request *r);

/* Returns PROBLEM_CROSS_SITE, and explains it. */
enum problem browsers_refuse(struct request *r);

#endif
