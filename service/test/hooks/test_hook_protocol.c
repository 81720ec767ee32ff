/* SPDX-License-Identifier: MIT */
/*
 * Origins of webhooks are read strictly, messages that are none are refused,
 * and signatures are those of Standard Webhooks.
 */
#include "service/hooks/helper/secrets.h"
#include "service/hooks/protocol.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
	const char *url, *origin; /* NULL: it is no URL */
} origin_rows[] = {
	{ "http://a", "http://a" },
	{ "HTTPS://Shop.Example:443/A?b#", NULL },
	{ "HTTPS://Shop.Example:443/A?b", "https://shop.example" },
	{ "https://shop.example:80", "https://shop.example:80" },
	{ "http://shop.example:080/", "http://shop.example" },
	{ "http://shop.example?a=b", "http://shop.example" },
	{ "http://10.0.0.1:81/x", "http://10.0.0.1:81" },
	{ "http://[::1]:81/x", "http://[::1]:81" },
	{ "http://[FE80::1]/", "http://[fe80::1]" },
	{ "http://a_b-c.d/", "http://a_b-c.d" },
	{ "http://", NULL },
	{ "http:///x", NULL },
	{ "http://:80/", NULL },
	{ "http://a:/", NULL },
	{ "http://a:0/", NULL },
	{ "http://a:65536/", NULL },
	{ "http://a:99999999999999999999/", NULL },
	{ "http://a:8x/", NULL },
	{ "http://a:80:80/", NULL },
	{ "http://user@a/", NULL },
	{ "http://a@b/", NULL },
	{ "http://a\\b/", NULL },
	{ "http://a b/", NULL },
	{ "http://a/\n", NULL },
	{ "http://a/\x7f", NULL },
	{ "http://\xc3\xa4/", NULL },
	{ "http://.a/", NULL },
	{ "http://-a/", NULL },
	{ "http://a%2fb/", NULL },
	{ "http://[::1/", NULL },
	{ "http://[]/", NULL },
	{ "http://[::1]x/", NULL },
	{ "http://[g]/", NULL },
	{ "//a/", NULL },
	{ "ftp://a/", NULL },
	{ "file:///etc/passwd", NULL },
	{ "", NULL },
};

static void test_origins(void)
{
	char origin[HOOK_ORIGIN_BYTES], url[HOOK_URL_BYTES + 2];

	for (size_t i = 0; i < ARRAY_SIZE(origin_rows); i++) {
		check_case("%s", origin_rows[i].url);
		CHECK_NUMBER(hook_origin(origin_rows[i].url, origin), ==,
			     origin_rows[i].origin != NULL);
		if (origin_rows[i].origin != NULL)
			CHECK_TEXT(origin, origin_rows[i].origin);
	}
	check_case("%s", "after the table");
	(void)memset(url, 'x', sizeof(url));
	(void)memcpy(url, "http://a/", 9);
	url[HOOK_URL_BYTES - 1] = '\0';
	CHECK(hook_origin(url, origin));
	url[HOOK_URL_BYTES - 1] = 'x';
	url[HOOK_URL_BYTES] = '\0';
	CHECK(!hook_origin(url, origin));
	(void)memset(url, 'x', HOOK_ORIGIN_BYTES + 8);
	(void)memcpy(url, "http://", 7);
	url[HOOK_ORIGIN_BYTES + 8] = '\0';
	CHECK(!hook_origin(url, origin));
}

static void test_lists(void)
{
	static const struct {
		const char *list;
		bool is_good;
	} rows[] = {
		{ "http://a", true },
		{ "http://a,https://b:81", true },
		{ "", false },
		{ "http://a,", false },
		{ ",http://a", false },
		{ "http://a,,http://b", false },
		{ "http://a/", false },
		{ "http://A", false },
		{ "http://a:80", false },
		{ "http://a?", false },
		{ "*", false },
	};
	const char *why;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		check_case("%s", rows[i].list);
		CHECK_NUMBER(hook_check_origins(rows[i].list, &why), ==,
			     rows[i].is_good);
	}
	check_case("%s", "after the table");
}

static void test_messages(void)
{
	static char body[HOOK_BODY_BYTES], got[HOOK_BODY_BYTES];
	struct hook_message m = { .kind = HOOK_SEND,
				  .number = 7,
				  .body_bytes = HOOK_BODY_BYTES,
				  .id = "msg_1",
				  .url = "http://a" },
			    r, bad;
	int ends[2];

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), ==, 0);
	(void)memset(body, 'b', sizeof(body));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_NOTHING);
	CHECK(hook_send(ends[0], &m, body));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_RECEIVED);
	CHECK_NUMBER(r.number, ==, 7);
	CHECK_NUMBER(memcmp(body, got, sizeof(body)), ==, 0);

	bad = r;
	bad.body_bytes = 1; /* but it has none */
	CHECK_NUMBER(send(ends[0], &bad, sizeof(bad), 0), ==, sizeof(bad));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_BAD);
	bad.body_bytes = 0;
	(void)memset(bad.url, 'x', sizeof(bad.url));
	CHECK_NUMBER(send(ends[0], &bad, sizeof(bad), 0), ==, sizeof(bad));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_BAD);
	bad = m;
	bad.body_bytes = 0;
	bad.version = HOOK_VERSION + 1;
	CHECK_NUMBER(send(ends[0], &bad, sizeof(bad), 0), ==, sizeof(bad));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_BAD);
	bad.version = HOOK_VERSION;
	bad.kind = HOOK_KINDS;
	CHECK_NUMBER(send(ends[0], &bad, sizeof(bad), 0), ==, sizeof(bad));
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_BAD);
	CHECK_NUMBER(send(ends[0], "x", 1, 0), ==, 1);
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_BAD);

	(void)close(ends[0]);
	CHECK_NUMBER(hook_receive(ends[1], &r, got), ==, HOOK_END);
	(void)close(ends[1]);
}

/* The example of the specification. */
static void test_signatures(void)
{
	static const char key[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n";
	static const char body[] = "{\"test\": 2432232314}";
	static const char right[] =
		"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
	char text[sizeof(key) * 2], signature[SECRETS_SIGNATURE_BYTES];
	struct secrets s;
	struct error error;

	CHECK(secrets_read(&s, key, &error));
	secrets_sign(&s, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body,
		     strlen(body), signature);
	CHECK_TEXT(signature, right);
	(void)snprintf(text, sizeof(text), "%s%s", key, key);
	CHECK(secrets_read(&s, text, &error));
	CHECK_NUMBER(s.count, ==, 2);
	secrets_sign(&s, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body,
		     strlen(body), signature);
	CHECK_NUMBER(strlen(signature), ==, 2 * strlen(right) + 1);
	CHECK_NUMBER(strncmp(signature, right, strlen(right)), ==, 0);
	CHECK_TEXT(signature + strlen(right) + 1, right);
}

int main(void)
{
	test_origins();
	test_lists();
	test_messages();
	test_signatures();
	return EXIT_SUCCESS;
}
