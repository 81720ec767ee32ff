/* SPDX-License-Identifier: MIT */
/*
 * Addresses of clients: lists of networks, such as
 * "127.0.0.0/8,::1,10.0.0.0/8", and how many connections come from each site.
 *
 * A site is an IPv4 address or a /64 network of IPv6.  It counts as one client,
 * because a client usually has all addresses of a /64.  The two forms of an
 * IPv4 address, 192.0.2.1 and ::ffff:192.0.2.1, are the same.
 */
#ifndef SERVICE_ADDRESSES_H
#define SERVICE_ADDRESSES_H

#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { NETWORKS_MAX = 64, NETWORKS_WHY_BYTES = 192 };

/*
 * An IPv6 address in network order; an IPv4 address is stored as
 * ::ffff:a.b.c.d.
 */
struct address {
	uint8_t bytes[16];
};

struct networks {
	uint32_t count;
	struct network {
		struct address first;
		/* Leading bits of the address that define the network. */
		uint32_t bits;
	} list[NETWORKS_MAX];
};

/*
 * Read a list of addresses and networks with commas between them; "none" is the
 * empty list.  False: `why` names the item and what is wrong with it, without a
 * full stop.
 */
MUST_CHECK bool networks_read(struct networks *to, const char *text,
			      char why[NETWORKS_WHY_BYTES]);

/* Is the address in one of them?  Only IPv4 and IPv6 addresses can be. */
bool networks_contain(const struct networks *n, const struct sockaddr *from);

/*
 * The connections of each site.
 *
 * Threads    One at a time.
 */
struct sites {
	/* Connections from these networks have no site. */
	const struct networks *uncounted;
	uint32_t connections_max;
	struct site *list; /* an array of connections_max */
	/*
	 * All entries from this index on are free; earlier ones may be free
	 * too.
	 */
	uint32_t used_count;
};

/*
 * The address has no site: its network is not counted, or it is neither IPv4
 * nor IPv6.
 */
enum { SITE_NONE = -1 };

/* False: no memory.  `uncounted` must outlive it. */
MUST_CHECK bool sites_init(struct sites *s, uint32_t connections_max,
			   const struct networks *uncounted);
void sites_release(struct sites *s);

/* How many connections the site of this address has; 0 without a site. */
uint32_t sites_count_from(const struct sites *s, const struct sockaddr *from);

/* Count a new connection from this address.  Returns its site. */
int sites_enter(struct sites *s, const struct sockaddr *from);
void sites_leave(struct sites *s, int site);

/* The number of connections of a site; without a site it is 1. */
uint32_t sites_count(const struct sites *s, int site);

#endif
