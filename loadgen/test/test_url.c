/* SPDX-License-Identifier: MIT */
/* URLs: their parts, and those that are refused. */
#include "loadgen/url.h"

#include <assert.h>
#include <string.h>

static void expect(const char *text, const char *host, const char *port,
		   const char *authority, const char *target)
{
	struct url url;
	struct error error;

	assert(url_parse(&url, text, &error));
	assert(strcmp(url.host, host) == 0);
	assert(strcmp(url.port, port) == 0);
	assert(strcmp(url.authority, authority) == 0);
	assert(strcmp(url.target, target) == 0);
	url_release(&url);
}

static void test_parts(void)
{
	expect("http://h", "h", "80", "h", "/");
	expect("HTTP://h:8080/", "h", "8080", "h:8080", "/");
	expect("http://h:65535?w=1&h=2", "h", "65535", "h:65535", "/?w=1&h=2");
	expect("http://a.b/c/d%20e?f=/#g", "a.b", "80", "a.b", "/c/d%20e?f=/");
	expect("http://h/#g", "h", "80", "h", "/");
	expect("http://[::1]:9/x", "::1", "9", "[::1]:9", "/x");
}

static void expect_error(const char *text, const char *part)
{
	struct url url = { 0 };
	struct error error;

	assert(!url_parse(&url, text, &error));
	assert(strstr(error.text, text) != NULL);
	assert(strstr(error.text, part) != NULL);
	assert(url.host == NULL);
}

static void test_refused(void)
{
	expect_error("https://h/", "only plain HTTP");
	expect_error("ftp://h/", "http://");
	expect_error("h:80", "http://");
	expect_error("", "http://");
	expect_error("http://", "malformed");
	expect_error("http:///x", "malformed");
	expect_error("http://h:0/", "malformed");
	expect_error("http://h:65536/", "malformed");
	expect_error("http://h/a b", "malformed");
	expect_error("http://h/a\r\nX: y", "malformed");
	expect_error("http://u:p@h/", "user name");
}

static void test_resolve(void)
{
	struct url url;
	struct error error;
	struct addrinfo *addresses;

	assert(url_parse(&url, "http://127.0.0.1:9/", &error));
	addresses = url_resolve(&url, &error);
	assert(addresses != NULL && addresses->ai_next == NULL);
	freeaddrinfo(addresses);
	url_release(&url);

	/* Too long for a name: no resolver is asked. */
	assert(url_parse(&url,
			 "http://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/",
			 &error));
	assert(url_resolve(&url, &error) == NULL);
	assert(strstr(error.text, "cannot find the host aaa") != NULL);
	url_release(&url);
}

int main(void)
{
	test_parts();
	test_refused();
	test_resolve();
	return 0;
}
