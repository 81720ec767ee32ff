/* SPDX-License-Identifier: MIT */
/*
 * Promise: a browser's request is known for one of our own page, or of another;
 * and a name that somebody else could have point here is no name of ours.
 */
#include "service/http/auth.c"

#include "base/util.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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
		assert(origin_check_names(good[i], &why));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert(!origin_check_names(bad[i], &why));
}

static void test_hosts(void)
{
	static const char names[] = "photos.example,Darkroom";
	static const struct {
		const char *host, *names;
		bool is_good;
	} cases[] = {
		{ "127.0.0.1", NULL, true },
		{ "127.0.0.1:8080", NULL, true },
		{ "192.0.2.7:80", NULL, true },
		{ "[::1]", NULL, true },
		{ "[2001:db8::1]:8080", NULL, true },
		{ "localhost", NULL, true },
		{ "LocalHost:8080", NULL, true },
		{ "localhost.", NULL, true },
		{ "a.localhost:1", NULL, true },
		{ "photos.example", names, true },
		{ "PHOTOS.example.:8080", names, true },
		{ "darkroom:8080", names, true },
		{ "evil.example", "*", true },
		{ "", "*", true },
		/* Of --listen, whose port does not count. */
		{ "photos.lan:9999", "photos.lan:8080", true },

		{ "", NULL, false },
		{ "", names, false },
		{ ":8080", names, false },
		{ "evil.example", NULL, false },
		{ "evil.example:8080", names, false },
		{ "photos.example", NULL, false },
		{ "photos.example.evil.example", names, false },
		{ "evilphotos.example", names, false },
		{ "photos.example,evil", names, false },
		{ "photos", names, false },
		{ "127.0.0.1.evil.example", NULL, false },
		{ "localhost.evil.example", NULL, false },
		{ "evillocalhost", NULL, false },
		{ "127.1", NULL, false },
		{ "127.0.0.1:80x", NULL, false },
		{ "127.0.0.1@evil.example", NULL, false },
		{ "[::1", NULL, false },
		{ "::1", NULL, false },
		{ "[127.0.0.1]", NULL, false },
		{ "[::1].evil.example", NULL, false },
		{ "[]", NULL, false },
		{ ".", names, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (origin_host_is_good(cases[i].host, cases[i].names) ==
		    cases[i].is_good)
			continue;
		(void)fprintf(stderr, "Host: %s\n", cases[i].host);
		assert(false);
	}
}

static void test_pages(void)
{
	static const char host[] = "127.0.0.1:8080";
	static const struct {
		const char *site, *origin, *host;
		bool is_foreign;
	} cases[] = {
		{ NULL, NULL, host, false }, /* no browser */
		{ NULL, NULL, NULL, false },
		{ "same-origin", "http://127.0.0.1:8080", host, false },
		{ "none", NULL, host, false }, /* typed by a person */
		{ NULL, "http://127.0.0.1:8080", host, false },
		{ NULL, "HTTP://LOCALHOST:8080", "localhost:8080", false },
		/* By a proxy with another name. */
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
	test_pages();
	return 0;
}
