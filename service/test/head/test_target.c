/* SPDX-License-Identifier: MIT */
/*
 * Promise: a target is a path with a query, or http://HOST before them, which
 * is then read without its beginning (RFC 9112, 3.2); its host takes the place
 * of the header Host.  Any other target is not valid.
 */
#include "service/http/head/head.c"

#include "base/test/check.h"
#include "base/util.h"

/* Read a target; the caller frees r->arguments. */
static struct findings read_text(struct request *r, const char *text)
{
	static const struct http_field fields[] = { { "host", "header" } };
	static char target[256];
	static struct connection connection;
	static struct request_head head;
	struct findings f = { .parent = NULL };

	CHECK_NUMBER(strlen(text), <, sizeof(target));
	(void)strcpy(target, text);
	head = (struct request_head){
		.target = target,
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};
	*r = (struct request){ .head = &head, .connection = &connection };
	read_target(r, &f);
	return f;
}

static const struct {
	const char *target, *host, *path;
	const char *arguments; /* each in brackets */
} good[] = {
	{ "/", "header", "/", "" },
	{ "/a%20b?w=1&h=2", "header", "/a b", "[w=1][h=2]" },
	{ "//x/y", "header", "//x/y", "" },
	{ "/http://x/", "header", "/http://x/", "" },
	{ "/?", "header", "/", "" },
	{ "/?&w=100", "header", "/", "[w=100]" },
	{ "/?w=1&&q=7&", "header", "/", "[w=1][q=7]" },
	{ "http://x/", "x", "/", "" },
	{ "http://x", "x", "/", "" },
	{ "http://x?w=1", "x", "/", "[w=1]" },
	{ "HTTP://Photos.Example:8080/v1/process?w=1", "Photos.Example:8080",
	  "/v1/process", "[w=1]" },
	{ "http://[::1]:80//a?b=http://c/", "[::1]:80", "//a",
	  "[b=http://c/]" },
	{ "http://x:/%2f?/", "x:", "//", "[/=]" },
};

static void test_good_ones_are_read(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct request r;
		struct findings f = read_text(&r, good[i].target);
		char got[128] = "";

		check_case("good[%zu]: %s", i, good[i].target);
		CHECK_NUMBER(f.target_bytes, ==, strlen(good[i].target));
		CHECK(!f.is_other_scheme);
		CHECK(!f.lacks_memory);
		CHECK_TEXT(r.host, good[i].host);
		CHECK_TEXT(r.path, good[i].path);
		for (uint32_t k = 0; k < r.argument_count; k++) {
			const char *value = r.arguments[k].value;

			(void)snprintf(got + strlen(got),
				       sizeof(got) - strlen(got), "[%s=%s]",
				       r.arguments[k].name,
				       value != NULL ? value : "");
		}
		CHECK_TEXT(got, good[i].arguments);
		free(r.arguments);
	}
}

static void test_others_are_not_valid(void)
{
	static const char *const bad[] = {
		"",
		"*",
		"?w=1",
		"a",
		"x:80",
		"healthz",
		"http:/x/",
		"http://",
		"http:///a",
		"http://?a",
		"http://:80/",
		"http://u@x/",
		"http://u:p@x/",
		"http://x\\y/",
		"http://x#y",
		"ftp://x/",
		"http://x /",
		"http://x/a b",
		"/a\tb",
		"/%00",
		"http://x/%00",
		"http://x?%00",
		"//\x7f",
		"http//x/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct request r;

		CHECK_NUMBER(read_text(&r, bad[i]).target_bytes, ==, 0);
		free(r.arguments);
	}
}

/* https:// needs TLS: see RFC 9110, 7.4. */
static void test_the_scheme_is_that_of_the_connection(void)
{
	struct request r;

	CHECK(read_text(&r, "https://x/").is_other_scheme);
	CHECK_TEXT(r.host, "x");
	CHECK_TEXT(r.path, "/");
	CHECK(!read_text(&r, "http://x/").is_other_scheme);
}

int main(void)
{
	test_good_ones_are_read();
	test_others_are_not_valid();
	test_the_scheme_is_that_of_the_connection();
	return 0;
}
