/* SPDX-License-Identifier: MIT */
/*
 * Promise: libmicrohttpd gets a plain head for each head that was received, and
 * the body behind it, in plain chunks if it came in chunks, whatever they are
 * like, wherever the bytes are divided and however little room there is; it
 * never has to wait for bytes that are here; nothing is passed on behind a head
 * that ends the connection, or behind chunks with a fault; and what is kept of
 * requests that follow each other has a limit.
 */
#include "service/http/mhd/input.h"

#include "base/random.h"
#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES_MAX = 64 * 1024,
	HEAD_BYTES_MAX = 4096,
	BODY_BYTES_MAX = 1000,
	ROUNDS = 3000,
	NOTHING = -11,
};

/* A socket: `bytes` bytes of a text, of which `ready` have arrived. */
struct source {
	const char *text;
	size_t at, ready, bytes;
	bool gives_less; /* than there is, as a record of TLS may */
	uint64_t chance;
};

static ssize_t receive(void *arg, char *to, size_t bytes)
{
	struct source *s = arg;
	size_t most = min_u64(bytes, s->ready - s->at);

	CHECK_NUMBER(bytes, >, 0);
	if (most == 0)
		return NOTHING;
	if (s->gives_less)
		most = 1 + random_below(&s->chance, (uint32_t)most);
	memcpy(to, s->text + s->at, most);
	s->at += most;
	return (ssize_t)most;
}

/* All that is passed on for a text that arrives at once. */
static size_t pass_whole(struct input *in, const char *text, size_t bytes,
			 char *to)
{
	struct source s = { .text = text, .ready = bytes, .bytes = bytes };
	ssize_t got = input_read(in, to, BYTES_MAX,
				 &(struct input_source){ receive, &s, true });

	CHECK(got >= 0 || got == NOTHING || got == INPUT_NONE);
	CHECK_NUMBER(input_waiting(in), ==, 0);
	return got > 0 ? (size_t)got : 0;
}

static void check(const char *text, size_t bytes, const char *expected)
{
	static char to[BYTES_MAX];
	struct input *in = input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, false);
	size_t got;

	CHECK(in != NULL);
	got = pass_whole(in, text, bytes, to);
	CHECK_NUMBER(got, ==, strlen(expected));
	CHECK(memcmp(to, expected, got) == 0);
	input_free(in);
}

#define TEXT(text) text, sizeof(text) - 1
#define HOST "Host: localhost\r\n"
#define CLOSED "Host:\r\nConnection:close\r\n\r\n"

static void test_heads_are_plain(void)
{
	check(TEXT("\r\nPOST /a?b=%00 HTTP/1.1\r\nX: y\r\n" HOST
		   "content-length:\t05 \t\r\n\r\nhello"),
	      "P / HTTP/1.1\r\nHost:\r\nContent-Length:5\r\n\r\nhello");
	check(TEXT("HEAD /a HTTP/1.9\r\n" HOST "Connection: x, Close\r\n\r\n"),
	      "HEAD / HTTP/1.1\r\nHost:\r\nConnection:close\r\n\r\n");
	check(TEXT("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
	      "P / HTTP/1.0\r\nConnection:keep-alive\r\n\r\n");
	/* Who has begun to send the body does not wait for "100 Continue". */
	check(TEXT("PUT / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		   "Expect: 100-Continue\r\n\r\n"),
	      "P / HTTP/1.1\r\nHost:\r\nContent-Length:5\r\n"
	      "Expect:100-continue\r\n\r\n");
	check(TEXT("PUT / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		   "Expect: 100-continue\r\n\r\nh"),
	      "P / HTTP/1.1\r\nHost:\r\nContent-Length:5\r\n\r\nh");
	check(TEXT("GET / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n"),
	      "P / HTTP/1.1\r\nHost:\r\n\r\n");
}

#define CHUNKED "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
#define PLAIN_CHUNKED "P / HTTP/1.1\r\nHost:\r\nTransfer-Encoding:chunked\r\n"

static void test_chunks_are_plain(void)
{
	check(TEXT(CHUNKED "\r\n0\r\n\r\n"), PLAIN_CHUNKED "\r\n0\r\n\r\n");
	check(TEXT(CHUNKED "\r\n00A;x=\"y\"\r\n0123456789\r\n1\r\nx\r\n"
			   "000;z\r\nHost: other\r\nX: y\r\n\r\n"
			   "GET / HTTP/1.1\r\n" HOST "\r\n"),
	      PLAIN_CHUNKED "\r\na\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n"
			    "P / HTTP/1.1\r\nHost:\r\n\r\n");
	check(TEXT(CHUNKED "Expect: 100-continue\r\n\r\n"),
	      PLAIN_CHUNKED "Expect:100-continue\r\n\r\n");
	check(TEXT(CHUNKED "Expect: 100-continue\r\n\r\n1"),
	      PLAIN_CHUNKED "\r\n");
	check(TEXT(CHUNKED "Connection: close\r\n\r\n0\r\n\r\n"),
	      PLAIN_CHUNKED "Connection:close\r\n\r\n0\r\n\r\n");
}

/* What is wrong is in the head, and the body ends before it. */
static void check_fault(const char *text, size_t bytes, const char *expected,
			enum chunk_fault fault)
{
	static char to[BYTES_MAX];
	struct input *in = input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, false);
	const char *after = "0\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n";
	size_t got;

	CHECK(in != NULL);
	got = pass_whole(in, text, bytes, to);
	got += pass_whole(in, after, strlen(after), to + got);
	CHECK_NUMBER(got, ==, strlen(expected));
	CHECK(memcmp(to, expected, got) == 0);
	CHECK(input_head(in)->chunks.is_over);
	CHECK_NUMBER(input_head(in)->chunks.fault, ==, fault);
	CHECK(input_head(in)->is_last);
	input_free(in);
}

static void test_nothing_follows_bad_chunks(void)
{
	check_fault(TEXT(CHUNKED "\r\nx"), PLAIN_CHUNKED "\r\n0\r\n\r\n",
		    CHUNKS_BAD_SIZE);
	check_fault(TEXT(CHUNKED "\r\n5\r\nhello\r\n-1\r\n"),
		    PLAIN_CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n",
		    CHUNKS_BAD_SIZE);
	check_fault(TEXT(CHUNKED "\r\n5\r\nhello, world\r\n"),
		    PLAIN_CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n",
		    CHUNKS_BAD_DATA_END);
	check_fault(TEXT(CHUNKED "\r\n5\r\nhello\rx"),
		    PLAIN_CHUNKED "\r\n5\r\nhello\r\n0\r\n\r\n",
		    CHUNKS_BAD_DATA_END);
	check_fault(TEXT(CHUNKED "\r\n0\r\nX\r\n"),
		    PLAIN_CHUNKED "\r\n0\r\n\r\n", CHUNKS_BAD_TRAILER);
	check_fault(TEXT(CHUNKED "\r\n3e9\r\nx"), PLAIN_CHUNKED "\r\n0\r\n\r\n",
		    CHUNKS_TOO_LARGE);
}

/* Nor is a body that nobody reads, or whose length two might read otherwise. */
static void test_nothing_follows_the_last_head(void)
{
#define NEXT "GET /next HTTP/1.1\r\n" HOST "\r\n"
	static const struct {
		const char *text;
		size_t bytes;
	} heads[] = {
		{ TEXT("x\r\n" NEXT) },
		{ TEXT("GET / HTTP/2.0\r\n" HOST "\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\nno colon\r\n\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\n" HOST "\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST HOST "\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\nX: a\0b\r\n" HOST "\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\nX: a\r\n b\r\n" HOST "\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST "Content-Length: x\r\n\r\n"
		       "hello" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST
		       "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"
		       "hello" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		       "Transfer-Encoding: chunked\r\n\r\nhello" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST
		       "Transfer-Encoding: gzip, chunked\r\n\r\n" NEXT) },
		{ TEXT("GET / HTTP/1.1\r\n" HOST
		       "Transfer-Encoding: chunked\r\n"
		       "Transfer-Encoding: chunked\r\n\r\n" NEXT) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		check(heads[i].text, heads[i].bytes, "P / HTTP/1.1\r\n" CLOSED);
	check(TEXT("HEAD / HTTP/3.0\r\n" NEXT), "HEAD / HTTP/1.1\r\n" CLOSED);
}

/* `bytes` of a body that looks like heads. */
static size_t add_bytes(char *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = "G / HTTP/1.1\r\nHost:\r\n\r\n"[i % 23];
	return bytes;
}

/* A body in chunks; some have a fault. */
static size_t add_chunks(char *to, uint64_t *chance)
{
	static const char *const behind[] = { "", "", ";a=\"b\"", "", "", " " };
	static const char *const ends[] = {
		"0\r\n\r\n",
		"00;x\r\nHost: y\r\nX:\r\n\r\n",
		"0\r\n\r\n",
		"0\r\nX\r\n\r\n",
	};
	size_t at = 0;

	for (uint32_t i = random_below(chance, 5); i > 0; i--) {
		size_t bytes = 1 + random_below(chance, 150);

		at += (size_t)sprintf(
			to + at, "%0*zx%s\r\n", (int)random_below(chance, 5),
			bytes,
			behind[random_below(chance, ARRAY_SIZE(behind))]);
		at += add_bytes(to + at, bytes);
		at += (size_t)sprintf(to + at, "%s",
				      random_below(chance, 30) == 0 ? "\n" :
								      "\r\n");
	}
	return at +
	       (size_t)sprintf(to + at, "%s",
			       ends[random_below(chance, ARRAY_SIZE(ends))]);
}

/* A head of the next request, and its body. */
static size_t add_request(char *to, uint64_t *chance, bool may_end)
{
	static const char *const lines[] = {
		"G / HTTP/1.1\r\nHost:\r\n",
		"\r\n\nGET /healthz HTTP/1.1\r\n" HOST,
		"POST /?w=8 HTTP/1.1\r\nhost: x\r\nConnection:keep-alive\r\n",
		"HEAD / HTTP/1.1\r\nHost:\r\nConnection:close\r\n",
		"G / HTTP/1.0\r\nConnection:keep-alive\r\n",
		"G / HTTP/1.0\r\n",
		/* The last one. */
		"x\n",
		"G / HTTP/1.1\n",
		"GET / HTTP/1.1\r\nX: y\n",
	};
	const size_t others = 3;
	size_t at, body = random_below(chance, 3) == 0 ?
				  0 :
				  random_below(chance, 300);
	size_t count = ARRAY_SIZE(lines) - (may_end ? 0 : others);

	at = (size_t)sprintf(to, "%s",
			     lines[random_below(chance, (uint32_t)count)]);
	if (body > 0 && random_below(chance, 3) == 0) {
		at += (size_t)sprintf(to + at,
				      "Transfer-Encoding:chunked\r\n\r\n");
		return at + add_chunks(to + at, chance);
	}
	if (body > 0)
		at += (size_t)sprintf(to + at, "Content-Length:%zu\r\n", body);
	at += (size_t)sprintf(to + at, "\r\n");
	return at + add_bytes(to + at, body);
}

/*
 * The same is passed on as of the whole text.  What is not passed on, for lack
 * of room, is known: then all the room was used, or the socket still has it.
 */
static void pass_parts(const char *text, size_t bytes, const char *expected,
		       size_t count, uint64_t chance)
{
	bool may_stop = random_below(&chance, 2) == 0;
	struct input *in = input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, may_stop);
	struct source s = { .text = text, .bytes = bytes, .chance = chance };
	struct input_source from = { receive, &s, true };
	char to[1024];
	size_t at = 0;

	CHECK(in != NULL);
	s.gives_less = !may_stop && random_below(&chance, 2) == 0;
	from.is_drained = !s.gives_less;
	while (at < count) {
		size_t room = 1 + random_below(&chance, sizeof(to));
		ssize_t got;

		if (random_below(&chance, 3) > 0)
			s.ready += random_below(
				&chance,
				1 + (uint32_t)min_u64(400, bytes - s.ready));
		if (random_below(&chance, 200) == 0)
			s.ready = bytes;
		got = input_read(in, to, room, &from);
		CHECK(got > 0 || got == NOTHING || got == INPUT_NONE);
		if (got > 0) {
			CHECK_NUMBER((size_t)got, <=, count - at);
			CHECK(memcmp(to, expected + at, (size_t)got) == 0);
			at += (size_t)got;
		}
		if (got < (ssize_t)room)
			CHECK(input_waiting(in) == 0 &&
			      (may_stop || s.at == s.ready || at == count));
	}
	input_free(in);
}

static void test_the_same_is_passed_on_in_parts(void)
{
	static char text[BYTES_MAX], expected[BYTES_MAX];
	uint64_t chance = 1;

	for (int i = 0; i < ROUNDS; i++) {
		struct input *in =
			input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, false);
		uint32_t requests = 1 + random_below(&chance, 8);
		size_t bytes = 0, count;

		CHECK(in != NULL);
		for (uint32_t k = 0; k < requests; k++)
			bytes += add_request(text + bytes, &chance,
					     k + 1 == requests);
		count = pass_whole(in, text, bytes, expected);
		input_free(in);
		pass_parts(text, bytes, expected, count, random_next(&chance));
	}
}

/* Each request finds its own head. */
static void test_heads_are_kept_in_their_order(void)
{
	static const char text[] = "GET /1 HTTP/1.1\r\n" HOST "\r\n"
				   "GET /2 HTTP/1.1\r\n" HOST "\r\n"
				   "GET /3 HTTP/1.1\r\n";
	static char to[BYTES_MAX];
	struct input *in = input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, false);

	CHECK(in != NULL);
	CHECK(input_head(in) == NULL);
	(void)pass_whole(in, TEXT(text), to);
	CHECK_TEXT(input_head(in)->target, "/1");
	input_drop_head(in);
	CHECK_TEXT(input_head(in)->target, "/2");
	CHECK_NUMBER(input_head(in)->field_count, ==, 1);
	CHECK_NUMBER(input_head(in)->fault, ==, HEAD_FINE);
	input_drop_head(in);
	/* The third is not complete, so its request cannot be over. */
	CHECK(input_head(in) != NULL);
	input_drop_head(in);
	CHECK(input_head(in) != NULL);
	input_free(in);
}

/* Any number is fine if the client waits for the replies. */
static void test_what_is_kept_has_a_limit(void)
{
	static const char head[] = "GET /1 HTTP/1.1\r\n" HOST "\r\n";
	static char to[BYTES_MAX];
	struct input *in = input_new(HEAD_BYTES_MAX, BODY_BYTES_MAX, false);
	int kept = 0;

	CHECK(in != NULL);
	for (int i = 0; i < 1000; i++) {
		CHECK_NUMBER(pass_whole(in, TEXT(head), to), >, 0);
		input_drop_head(in);
	}
	while (pass_whole(in, TEXT(head), to) > 0)
		kept++;
	CHECK_NUMBER(kept, >, 2);
	CHECK_NUMBER(kept * sizeof(head), <, HEAD_BYTES_MAX);
	for (int i = 0; i < kept; i++) {
		CHECK_NUMBER(input_head(in)->fault, ==, HEAD_FINE);
		CHECK_NUMBER(input_head(in)->is_last, ==, (i == kept - 1));
		input_drop_head(in);
	}
	CHECK(input_head(in) == NULL);
	input_free(in);
}

int main(void)
{
	test_heads_are_plain();
	test_chunks_are_plain();
	test_nothing_follows_bad_chunks();
	test_nothing_follows_the_last_head();
	test_the_same_is_passed_on_in_parts();
	test_heads_are_kept_in_their_order();
	test_what_is_kept_has_a_limit();
	return 0;
}
