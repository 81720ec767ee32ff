/* SPDX-License-Identifier: MIT */
/*
 * Promise: a request from our own page is distinguished from one of another
 * page; a host name that somebody else could let point to us is not accepted.
 */
#include "service/http/head/browsers.c"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>

static void test_lists_of_names(void)
{
	static const char *const good[] = { "a", "*", "Photos.example",
					    "a,b-c.example,under_score", "a." };
	static const char *const bad[] = {
		"",     ",",   "a,",  ",a",       "a,,b",  "a b",     "a, b",
		"a:80", "*,a", "*.a", "http://a", "[::1]", "\xc3\xa4"
	};
	const char *why;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(browsers_check_names(good[i], &why));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!browsers_check_names(bad[i], &why));
}

static void test_lists_of_origins(void)
{
	static const char *const good[] = {
		"https://shop.example",
		"*",
		"http://a,https://b.example:8443",
		"http://a:443",
		"http://[::1]:8080",
		"http://192.0.2.7",
		"capacitor://localhost",
		"chrome-extension://abcdefghijklmnop",
	};
	static const char *const bad[] = {
		"",
		",",
		"null",
		"shop.example",
		"https://shop.example,",
		"https://shop.example, https://b.example",
		"https://shop.example/",
		"https://shop.example/a",
		"https://user@shop.example",
		"https://Shop.example",
		"HTTPS://shop.example",
		"https://shop.example:443",
		"http://shop.example:80",
		"https://shop.example:x",
		"https://shop.example:",
		"https://shop.example:0",
		"https://shop.example:0443",
		"https://shop.example:65536",
		"https://[::1]:",
		"https://",
		"://shop.example",
		"1a://shop.example",
		"https://*.shop.example",
		"*,https://shop.example",
	};
	const char *why;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		CHECK(browsers_check_origins(good[i], &why));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!browsers_check_origins(bad[i], &why));
}

static void test_an_origin_is_one_of_the_list(void)
{
	static const char list[] = "https://shop.example,http://a:8080";

	CHECK(is_listed_origin("https://shop.example", list));
	CHECK(is_listed_origin("http://a:8080", list));
	CHECK(!is_listed_origin("https://shop.example.evil", list));
	CHECK(!is_listed_origin("https://shop.exampl", list));
	CHECK(!is_listed_origin("http://shop.example", list));
	CHECK(!is_listed_origin("http://a", list));
	CHECK(!is_listed_origin("https://shop.example,http://a:8080", list));
	CHECK(!is_listed_origin("null", list));
	CHECK(!is_listed_origin("", list));
}

static const char names[] = "photos.example,Darkroom";

struct host_case {
	const char *host, *names;
};

static void expect_hosts(enum host_kind kind, const struct host_case *cases,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (judge_host(cases[i].host, cases[i].names) == kind)
			continue;
		(void)fprintf(stderr, "Host: %s\n", cases[i].host);
		CHECK(false);
	}
}

static void test_own_hosts(void)
{
	static const struct host_case cases[] = {
		{ "127.0.0.1", NULL },
		{ "127.0.0.1:8080", NULL },
		{ "192.0.2.7:80", NULL },
		{ "[::1]", NULL },
		{ "[2001:db8::1]:8080", NULL },
		{ "localhost", NULL },
		{ "LocalHost:8080", NULL },
		{ "localhost.", NULL },
		{ "a.localhost:1", NULL },
		{ "a.b.localhost", NULL },
		{ "photos.example", names },
		{ "PHOTOS.example.:8080", names },
		{ "darkroom:8080", names },
		{ "evil.example", "*" },
		{ "", "*" },
		/* A name in --listen, whose port does not matter. */
		{ "photos.lan:9999", "photos.lan:8080" },
	};

	expect_hosts(HOST_OWN, cases, ARRAY_SIZE(cases));
}

static void test_foreign_hosts(void)
{
	static const struct host_case cases[] = {
		{ "", NULL },
		{ "", names },
		{ ":8080", names },
		{ "evil.example", NULL },
		{ "evil.example:8080", names },
		{ "photos.example", NULL },
		{ "photos.example.evil.example", names },
		{ "evilphotos.example", names },
		{ "photos.example,evil", names },
		{ "127.0.0.1.evil.example", NULL },
		{ "localhost.evil.example", NULL },
		{ "127.1", NULL },
		{ "127.0.0.1:80x", NULL },
		{ "127.0.0.1@evil.example", NULL },
		{ "[::1", NULL },
		{ "::1", NULL },
		{ "[127.0.0.1]", NULL },
		{ "[::1].evil.example", NULL },
		{ "[]", NULL },
		{ ".", names },
		{ "a@b.local", NULL },
		{ "darkroom:80x", NULL },
	};

	expect_hosts(HOST_FOREIGN, cases, ARRAY_SIZE(cases));
}

/* Countries can give the short ones an address. */
static void test_public_names_are_foreign(void)
{
	static const struct host_case cases[] = {
		{ "ai", NULL },
		{ "AI.:80", NULL },
		{ "xn--p1ai", NULL },
		{ "local.evil.example", NULL },
		{ "evil.notlocal", NULL },
		{ "evil.arpa", NULL },
		{ "evil.lan", NULL },
	};

	expect_hosts(HOST_FOREIGN, cases, ARRAY_SIZE(cases));
}

static void test_private_hosts(void)
{
	static const struct host_case cases[] = {
		{ "darkroom:8080", NULL },
		{ "darkroom.:9090", NULL },
		{ "my_app-darkroom-1:8080", NULL },
		{ "photos", names },
		{ "evillocalhost", NULL },
		{ "darkroom.default.svc", NULL },
		{ "darkroom.default.SVC.cluster.local.:80", NULL },
		{ "nas.local", names },
		{ "photos.prod.internal:8080", NULL },
		{ "nas.home.arpa", NULL },
		{ "a.test", NULL },
	};

	expect_hosts(HOST_PRIVATE, cases, ARRAY_SIZE(cases));
}

static void test_the_host_of_our_url(void)
{
	static const struct {
		const char *host, *url;
		bool is_ours;
	} cases[] = {
		{ "photos.example", "https://photos.example/app", true },
		{ "PHOTOS.example.:80", "https://photos.example:8443", true },
		{ "[2001:db8::1]", "http://[2001:db8::1]:8080/", true },
		{ "evil.example", "https://photos.example/app", false },
		{ "app", "https://photos.example/app", false },
		{ "photos.example", NULL, false },
		/* Only paths. */
		{ "app", "/app", false },
		{ "b", "/a://b", false },
		{ "", "/a://b", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_NUMBER(is_public_host(cases[i].host, cases[i].url), ==,
			     cases[i].is_ours);
}

static void test_pages(void)
{
	static const char host[] = "127.0.0.1:8080";
	static const struct {
		const char *site, *origin, *host;
		bool is_foreign;
	} cases[] = {
		{ NULL, NULL, host, false }, /* not a browser */
		{ NULL, NULL, NULL, false },
		{ "same-origin", "http://127.0.0.1:8080", host, false },
		{ "none", NULL, host, false }, /* typed by a person */
		{ NULL, "http://127.0.0.1:8080", host, false },
		{ NULL, "HTTP://LOCALHOST:8080", "localhost:8080", false },
		/* Through a proxy with another name. */
		{ "same-origin", "https://photos.example", host, false },

		{ "cross-site", NULL, host, true },
		{ "same-site", NULL, host, true },
		{ "cross-site", "http://127.0.0.1:8080", host, true },
		{ "", NULL, host, true },
		{ "what-may-come", NULL, host, true },
		{ NULL, "http://evil.example", host, true },
		{ NULL, "http://127.0.0.1:8081", host, true },
		{ NULL, "http://127.0.0.1", host, true },
		{ NULL, "null", host, true },
		{ NULL, "", host, true },
		{ NULL, "http://127.0.0.1:8080", NULL, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", i, cases[i].site);
		if (origin_is_foreign(cases[i].site, cases[i].origin,
				      cases[i].host) == cases[i].is_foreign)
			continue;
		(void)fprintf(stderr, "case %zu\n", i);
		CHECK(false);
	}
}

int main(void)
{
	test_lists_of_names();
	test_lists_of_origins();
	test_an_origin_is_one_of_the_list();
	test_own_hosts();
	test_foreign_hosts();
	test_public_names_are_foreign();
	test_private_hosts();
	test_the_host_of_our_url();
	test_pages();
	return 0;
}
