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
 *	                admin port
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
 * Is it an upload by the page of our admin port?  Without keys, that page may
 * read the reply, also one that refuses the head.  The request has a route.
 */
bool browsers_is_reader(const struct request *r);

/*
 * Could the request come from a page of another site?  A page of any site may
 * ask for what is public, and that of r->reader_origin for uploads.
 */
enum problem browsers_check_page(struct request *r, bool is_public);

#endif
