/* SPDX-License-Identifier: MIT */
/*
 * Promise: a request from our own page is distinguished from one of another
 * page; a host name that somebody else could let point to us is not accepted.
 */
#include "service/http/browsers.c"

#include "base/util.h"

#include <assert.h>
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
		assert(browsers_check_names(good[i], &why));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert(!browsers_check_names(bad[i], &why));
}

static void test_hosts(void)
{
	static const char names[] = "photos.example,Darkroom";
	static const struct {
		const char *host, *names;
		enum host_kind kind;
	} cases[] = {
		{ "127.0.0.1", NULL, HOST_OWN },
		{ "127.0.0.1:8080", NULL, HOST_OWN },
		{ "192.0.2.7:80", NULL, HOST_OWN },
		{ "[::1]", NULL, HOST_OWN },
		{ "[2001:db8::1]:8080", NULL, HOST_OWN },
		{ "localhost", NULL, HOST_OWN },
		{ "LocalHost:8080", NULL, HOST_OWN },
		{ "localhost.", NULL, HOST_OWN },
		{ "a.localhost:1", NULL, HOST_OWN },
		{ "photos.example", names, HOST_OWN },
		{ "PHOTOS.example.:8080", names, HOST_OWN },
		{ "darkroom:8080", names, HOST_OWN },
		{ "evil.example", "*", HOST_OWN },
		{ "", "*", HOST_OWN },
		/* A name in --listen, whose port does not matter. */
		{ "photos.lan:9999", "photos.lan:8080", HOST_OWN },

		{ "", NULL, HOST_FOREIGN },
		{ "", names, HOST_FOREIGN },
		{ ":8080", names, HOST_FOREIGN },
		{ "evil.example", NULL, HOST_FOREIGN },
		{ "evil.example:8080", names, HOST_FOREIGN },
		{ "photos.example", NULL, HOST_FOREIGN },
		{ "photos.example.evil.example", names, HOST_FOREIGN },
		{ "evilphotos.example", names, HOST_FOREIGN },
		{ "photos.example,evil", names, HOST_FOREIGN },
		{ "127.0.0.1.evil.example", NULL, HOST_FOREIGN },
		{ "localhost.evil.example", NULL, HOST_FOREIGN },
		{ "127.1", NULL, HOST_FOREIGN },
		{ "127.0.0.1:80x", NULL, HOST_FOREIGN },
		{ "127.0.0.1@evil.example", NULL, HOST_FOREIGN },
		{ "[::1", NULL, HOST_FOREIGN },
		{ "::1", NULL, HOST_FOREIGN },
		{ "[127.0.0.1]", NULL, HOST_FOREIGN },
		{ "[::1].evil.example", NULL, HOST_FOREIGN },
		{ "[]", NULL, HOST_FOREIGN },
		{ ".", names, HOST_FOREIGN },
		/* Countries can give these an address. */
		{ "ai", NULL, HOST_FOREIGN },
		{ "AI.:80", NULL, HOST_FOREIGN },
		{ "xn--p1ai", NULL, HOST_FOREIGN },
		{ "local.evil.example", NULL, HOST_FOREIGN },
		{ "evil.notlocal", NULL, HOST_FOREIGN },
		{ "evil.arpa", NULL, HOST_FOREIGN },
		{ "evil.lan", NULL, HOST_FOREIGN },
		{ "a@b.local", NULL, HOST_FOREIGN },
		{ "darkroom:80x", NULL, HOST_FOREIGN },

		{ "darkroom:8080", NULL, HOST_PRIVATE },
		{ "darkroom.:9090", NULL, HOST_PRIVATE },
		{ "my_app-darkroom-1:8080", NULL, HOST_PRIVATE },
		{ "photos", names, HOST_PRIVATE },
		{ "evillocalhost", NULL, HOST_PRIVATE },
		{ "darkroom.default.svc", NULL, HOST_PRIVATE },
		{ "darkroom.default.SVC.cluster.local.:80", NULL,
		  HOST_PRIVATE },
		{ "nas.local", names, HOST_PRIVATE },
		{ "photos.prod.internal:8080", NULL, HOST_PRIVATE },
		{ "nas.home.arpa", NULL, HOST_PRIVATE },
		{ "a.test", NULL, HOST_PRIVATE },
		{ "a.b.localhost", NULL, HOST_OWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (judge_host(cases[i].host, cases[i].names) == cases[i].kind)
			continue;
		(void)fprintf(stderr, "Host: %s\n", cases[i].host);
		assert(false);
	}
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
		assert(is_public_host(cases[i].host, cases[i].url) ==
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
		if (origin_is_foreign(cases[i].site, cases[i].origin,
				      cases[i].host) == cases[i].is_foreign)
			continue;
		(void)fprintf(stderr, "case %zu\n", i);
		assert(false);
	}
}

int main(void)
{
	test_lists_of_names();
	test_hosts();
	test_the_host_of_our_url();
	test_pages();
	return 0;
}
