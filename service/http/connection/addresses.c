/* SPDX-License-Identifier: MIT */
#include "service/http/connection/addresses.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADDRESS_BITS = 128,
	IPV4_FIRST_BIT = 96, /* where a.b.c.d begins in ::ffff:a.b.c.d */
	SITE_BITS = 64,
	ITEM_BYTES = 64,
};

static const uint8_t ipv4_prefix[IPV4_FIRST_BIT / 8] = {
	[10] = 0xff, [11] = 0xff
};

static bool is_ipv4(const struct address *a)
{
	return memcmp(a->bytes, ipv4_prefix, sizeof(ipv4_prefix)) == 0;
}

/* Four bytes in network order. */
static void set_ipv4(struct address *to, const void *bytes)
{
	memcpy(to->bytes, ipv4_prefix, sizeof(ipv4_prefix));
	memcpy(to->bytes + sizeof(ipv4_prefix), bytes, 4);
}

static void clear_after(struct address *a, uint32_t bits)
{
	for (uint32_t i = 0; i < sizeof(a->bytes); i++) {
		uint32_t kept = bits > 8 * i ? bits - 8 * i : 0;

		if (kept < 8)
			a->bytes[i] &= (uint8_t)(0xff00 >> kept);
	}
}

static bool is_same(const struct address *a, const struct address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

/*
 * *bits is the number of bits of the address: 32 or 128.  False: `text` is not
 * an address.
 */
static bool read_address(struct address *to, const char *text, uint32_t *bits)
{
	struct in_addr four;

	*bits = 32;
	if (inet_pton(AF_INET, text, &four) == 1) {
		set_ipv4(to, &four);
		return true;
	}
	*bits = ADDRESS_BITS;
	return inet_pton(AF_INET6, text, to->bytes) == 1;
}

/* False: `text` is not a number of bits up to `most`. */
static bool read_bits(const char *text, uint32_t most, uint32_t *bits)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 3 || text[digits] != '\0')
		return false;
	*bits = (uint32_t)strtoul(text, NULL, 10);
	return *bits <= most;
}

/* Print the network as the user would write it, such as 192.0.2.0/24. */
static void print_network(const struct address *a, uint32_t bits, bool is_four,
			  char *text, size_t bytes)
{
	char address[INET6_ADDRSTRLEN];

	(void)inet_ntop(is_four ? AF_INET : AF_INET6,
			a->bytes + (is_four ? sizeof(ipv4_prefix) : 0), address,
			sizeof(address));
	(void)snprintf(text, bytes, "%s/%u", address, bits);
}

/* Modifies `item`: a NUL replaces its slash. */
static bool read_network(struct network *to, char *item,
			 char why[NETWORKS_WHY_BYTES])
{
	char *slash = strchr(item, '/');
	uint32_t most, bits;
	struct address cleared;
	char network[ITEM_BYTES];

	if (slash != NULL)
		*slash = '\0';
	if (!read_address(&to->first, item, &most)) {
		(void)snprintf(why, NETWORKS_WHY_BYTES,
			       "'%s' is not an IPv4 or IPv6 address", item);
		return false;
	}
	bits = most;
	if (slash != NULL && !read_bits(slash + 1, most, &bits)) {
		(void)snprintf(why, NETWORKS_WHY_BYTES,
			       "'%s/%s': after the slash must be a number of "
			       "bits, 0 to %u",
			       item, slash + 1, most);
		return false;
	}
	to->bits = bits + ADDRESS_BITS - most;
	cleared = to->first;
	clear_after(&cleared, to->bits);
	if (is_same(&cleared, &to->first))
		return true;
	print_network(&cleared, bits, most == 32, network, sizeof(network));
	(void)snprintf(why, NETWORKS_WHY_BYTES,
		       "'%s/%u' has bits after its first %u; the network is %s",
		       item, bits, bits, network);
	return false;
}

bool networks_read(struct networks *to, const char *text,
		   char why[NETWORKS_WHY_BYTES])
{
	to->count = 0;
	if (strcmp(text, "none") == 0)
		return true;
	for (;;) {
		size_t bytes = strcspn(text, ",");
		char item[ITEM_BYTES];

		if (bytes == 0 || bytes >= sizeof(item)) {
			(void)snprintf(why, NETWORKS_WHY_BYTES,
				       "must be 'none', or addresses and "
				       "networks such as 10.0.0.0/8 with one "
				       "comma between two of them");
			return false;
		}
		if (to->count == NETWORKS_MAX) {
			(void)snprintf(why, NETWORKS_WHY_BYTES,
				       "has more than %d networks",
				       NETWORKS_MAX);
			return false;
		}
		memcpy(item, text, bytes);
		item[bytes] = '\0';
		if (!read_network(&to->list[to->count], item, why))
			return false;
		to->count++;
		if (text[bytes] == '\0')
			return true;
		text += bytes + 1;
	}
}

static bool contains(const struct networks *n, const struct address *a)
{
	for (uint32_t i = 0; i < n->count; i++) {
		const struct network *in = &n->list[i];
		struct address network = *a;

		clear_after(&network, in->bits);
		/* ::/0 contains all IPv6 addresses, but no IPv4 address. */
		if (is_same(&network, &in->first) &&
		    is_ipv4(a) == is_ipv4(&in->first))
			return true;
	}
	return false;
}

/* An entry of the list. */
struct site {
	struct address address;
	uint32_t count; /* its connections; 0: the entry is free */
};

bool sites_init(struct sites *s, uint32_t connections_max,
		const struct networks *uncounted)
{
	*s = (struct sites){ .uncounted = uncounted,
			     .connections_max = connections_max };
	s->list = calloc(connections_max, sizeof(*s->list));
	return s->list != NULL;
}

void sites_release(struct sites *s)
{
	free(s->list);
}

/* False: the address is neither IPv4 nor IPv6. */
static bool address_read(struct address *to, const struct sockaddr *from)
{
	if (from->sa_family == AF_INET) {
		set_ipv4(to, &((const struct sockaddr_in *)from)->sin_addr);
		return true;
	}
	if (from->sa_family != AF_INET6)
		return false;
	memcpy(to->bytes, &((const struct sockaddr_in6 *)from)->sin6_addr,
	       sizeof(to->bytes));
	return true;
}

bool networks_contain(const struct networks *n, const struct sockaddr *from)
{
	struct address address;

	return address_read(&address, from) && contains(n, &address);
}

static struct address address_site(const struct address *a)
{
	struct address site = *a;

	if (!is_ipv4(a))
		clear_after(&site, SITE_BITS);
	return site;
}

/* False: the address has no site. */
static bool find_site_address(const struct sites *s,
			      const struct sockaddr *from, struct address *site)
{
	struct address address;

	if (!address_read(&address, from) || contains(s->uncounted, &address))
		return false;
	*site = address_site(&address);
	return true;
}

/* The index of the site's entry, or of a free one. */
static uint32_t find_site(const struct sites *s, const struct address *site)
{
	uint32_t unused = s->used_count;

	for (uint32_t i = 0; i < s->used_count; i++) {
		const struct site *entry = &s->list[i];

		if (entry->count == 0)
			unused = i;
		else if (is_same(&entry->address, site))
			return i;
	}
	return unused;
}

uint32_t sites_count_from(const struct sites *s, const struct sockaddr *from)
{
	struct address site;
	uint32_t i;

	if (!find_site_address(s, from, &site))
		return 0;
	i = find_site(s, &site);
	return i < s->used_count ? s->list[i].count : 0;
}

int sites_enter(struct sites *s, const struct sockaddr *from)
{
	struct address site;
	uint32_t i;

	if (!find_site_address(s, from, &site))
		return SITE_NONE;
	i = find_site(s, &site);
	assert(i < s->connections_max);
	if (i == s->used_count)
		s->used_count++;
	s->list[i].address = site;
	s->list[i].count++;
	return (int)i;
}

void sites_leave(struct sites *s, int site)
{
	if (site == SITE_NONE)
		return;
	s->list[site].count--;
	while (s->used_count > 0 && s->list[s->used_count - 1].count == 0)
		s->used_count--;
}

uint32_t sites_count(const struct sites *s, int site)
{
	return site != SITE_NONE ? s->list[site].count : 1;
}
