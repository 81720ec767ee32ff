/* SPDX-License-Identifier: MIT */
/*
 * Hosts: the names and addresses in Host, Origin, flags and URLs.
 *
 * A host is a name, an IPv4 address, or an IPv6 address in brackets.
 *
 * Pure.  Parts are found in other texts, which must stay.
 */
#ifndef SERVICE_HOSTS_H
#define SERVICE_HOSTS_H

#include "service/http/head/text_part.h"
#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>

/* Remove the port of "host:port".  False: it is not a number. */
MUST_CHECK bool host_cut_port(struct text_part *host);

/* Has it only characters of a name, and is it no longer than a name may be? */
bool host_is_name(struct text_part host);

/* Is it an IPv4 address, or an IPv6 address in brackets? */
bool host_is_address(struct text_part host);

/*
 * A name without the dot at its end, which says that nothing is to be added.
 */
struct text_part host_without_dot(struct text_part name);

/* Are they the same name?  Case, and a dot at the end, are ignored. */
bool host_is_same(struct text_part a, struct text_part b);

/* Is it this domain, or a name below it? */
bool host_is_in_domain(struct text_part name, const char *domain);

/*
 * "localhost" and names below it mean the machine itself, so no other machine
 * can answer for them.
 */
bool host_is_localhost(struct text_part name);

/* Is it such a name, or an address of the machine's own loopback? */
bool host_is_loopback(struct text_part host);

/*
 * The origin of a URL, such as "https://photos.example:8443"; empty: the URL is
 * only a path.
 */
struct text_part url_origin(const char *url);

/* The host of an origin, with its port; empty: there is none. */
struct text_part origin_host(struct text_part origin);

#endif
