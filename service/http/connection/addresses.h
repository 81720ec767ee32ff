/* SPDX-License-Identifier: MIT */
/*
 * Addresses of clients: lists of networks, such as
 * "127.0.0.0/8,::1,10.0.0.0/8", and how many connections come from each site.
 *
 * A site is what counts as one client: an IPv4 address, or a /64 of IPv6, as a
 * client usually has all addresses of one.  An IPv4 address is the same in both
 * forms: 192.0.2.1 and ::ffff:192.0.2.1.
 */
#ifndef SERVICE_ADDRESSES_H
#define SERVICE_ADDRESSES_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NETWORKS_MAX = 64, NETWORKS_WHY_BYTES = 192 };

/* Of IPv6, in network order; of IPv4 as ::ffff:a.b.c.d. */
struct address {
	uint8_t bytes[16];
};

struct networks {
	uint32_t count;
	struct network {
		struct address first;
		uint32_t bits; /* of the address, that the network has fixed */
	} list[NETWORKS_MAX];
};

/*
 * Read a list of addresses and networks with commas between them; "none" is the
 * empty list.  False: `why` says what is wrong with which item, without a full
 * stop.
 */
MUST_CHECK bool networks_read(struct networks *to, const char *text,
			      char why[NETWORKS_WHY_BYTES]);

/*
 * The connections of each site.
 *
 * Threads    One at a time.
 */
struct sites {
	const struct networks *uncounted; /* whose connections have no site */
	uint32_t connections_max;
	struct site *list;   /* connections_max of them */
	uint32_t used_count; /* the rest of the list is free */
};

/* No site: an uncounted network, or neither IPv4 nor IPv6. */
enum { SITE_NONE = -1 };

/* False: no memory.  `uncounted` must outlive it. */
MUST_CHECK bool sites_init(struct sites *s, uint32_t connections_max,
			   const struct networks *uncounted);
void sites_release(struct sites *s);

/* How many connections the site of this address has; 0 without a site. */
uint32_t sites_count_from(const struct sites *s, const struct sockaddr *from);

/* One more connection comes from there.  Returns its site. */
int sites_enter(struct sites *s, const struct sockaddr *from);
void sites_leave(struct sites *s, int site);

/* The connections of a site; a connection without a site is alone. */
uint32_t sites_count(const struct sites *s, int site);

#endif
