/* SPDX-License-Identifier: MIT */
/*
 * Promise: a list of networks is read correctly, or refused with the item that
 * is wrong; an address in the list is found in each of its forms.
 */
#include "service/http/connection/addresses.c"

#include "base/test/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

union peer {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

static union peer peer(const char *text)
{
	union peer from = { .six = { .sin6_family = AF_INET6 } };

	if (inet_pton(AF_INET6, text, &from.six.sin6_addr) != 1) {
		from.four.sin_family = AF_INET;
		CHECK_NUMBER(inet_pton(AF_INET, text, &from.four.sin_addr), ==,
			     1);
	}
	return from;
}

static struct address address(const char *text)
{
	union peer from = peer(text);
	struct address a;

	CHECK(address_read(&a, &from.any));
	return a;
}

static bool is_in(const char *list, const char *text)
{
	union peer from = peer(text);
	struct networks n;
	char why[NETWORKS_WHY_BYTES];

	CHECK(networks_read(&n, list, why));
	return networks_contain(&n, &from.any);
}

static void test_addresses_are_found(void)
{
	const char *list = "10.0.0.0/8,192.0.2.7,2001:db8::/33,::1";

	CHECK(is_in(list, "10.255.0.1"));
	CHECK(!is_in(list, "11.0.0.0"));
	CHECK(is_in(list, "::ffff:10.0.0.1"));
	CHECK(!is_in(list, "::ffff:9.0.0.1"));
	CHECK(is_in(list, "192.0.2.7"));
	CHECK(!is_in(list, "192.0.2.6"));
	CHECK(is_in(list, "2001:db8:7fff::1"));
	CHECK(!is_in(list, "2001:db8:8000::1"));
	CHECK(is_in(list, "::1"));
	CHECK(!is_in(list, "::2"));
	CHECK(is_in("::ffff:10.0.0.0/104", "10.1.1.1"));
	CHECK(is_in("0.0.0.0/0", "192.0.2.1"));
	CHECK(!is_in("0.0.0.0/0", "::1"));
	CHECK(is_in("::/0", "::1"));
	CHECK(!is_in("::/0", "192.0.2.1"));
	CHECK(!is_in("none", "127.0.0.1"));
}

static void check_refused(const char *list, const char *word)
{
	struct networks n;
	char why[NETWORKS_WHY_BYTES] = "";

	CHECK(!networks_read(&n, list, why));
	CHECK_PART(why, word);
}

static void test_other_lists_are_refused(void)
{
	char many[NETWORKS_MAX * 8 + 16] = "10.0.0.1";

	check_refused("", "none");
	check_refused(",10.0.0.1", "comma");
	check_refused("10.0.0.1,", "comma");
	check_refused("none,10.0.0.1", "'none' is not");
	check_refused("proxy.example", "'proxy.example' is not");
	check_refused("10.0.0.1, ::1", "' ::1' is not");
	check_refused("10.0.0", "'10.0.0' is not");
	check_refused("10.0.0.0/33", "0 to 32");
	check_refused("10.0.0.0/", "0 to 32");
	check_refused("10.0.0.0/+8", "0 to 32");
	check_refused("10.0.0.0/8/8", "0 to 32");
	check_refused("::/129", "0 to 128");
	check_refused("10.0.0.1/8", "the network is 10.0.0.0/8");
	check_refused("2001:db8::1/64", "the network is 2001:db8::/64");
	for (int i = 0; i < NETWORKS_MAX; i++)
		(void)strcat(many, ",::1");
	check_refused(many, "more than 64");
}

static void check_site(const char *text, const char *other, bool is_same)
{
	struct address a = address(text), b = address(other);

	a = address_site(&a);
	b = address_site(&b);
	CHECK_NUMBER((memcmp(&a, &b, sizeof(a)) == 0), ==, is_same);
}

static void test_sites(void)
{
	check_site("192.0.2.1", "::ffff:192.0.2.1", true);
	check_site("192.0.2.1", "192.0.2.2", false);
	check_site("2001:db8::1", "2001:db8::ffff:0:0:1", true);
	check_site("2001:db8::1", "2001:db8:0:1::1", false);
}

static void test_only_ip_addresses_are_found(void)
{
	struct sockaddr other = { .sa_family = AF_UNIX };
	struct networks all;
	char why[NETWORKS_WHY_BYTES];

	CHECK(networks_read(&all, "0.0.0.0/0,::/0", why));
	CHECK(!networks_contain(&all, &other));
}

int main(void)
{
	test_addresses_are_found();
	test_only_ip_addresses_are_found();
	test_other_lists_are_refused();
	test_sites();
	return 0;
}
