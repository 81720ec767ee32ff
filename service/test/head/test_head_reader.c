/* SPDX-License-Identifier: MIT */
/*
 * Promise: a head is split in the same way wherever its bytes are divided; what
 * two parsers may read differently is not exact; and a head that cannot be
 * served is refused as soon as that is known.  The target of the fuzzer, which
 * also asks another parser, is run with each head and each division.
 */
#include "service/http/fuzz/fuzz_head.c"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>

enum { TEXT_BYTES = 512 };

static struct head_reader h;
static char text[TEXT_BYTES];

static enum head_event read_text(const char *head, size_t bytes)
{
	CHECK_NUMBER(bytes, <=, sizeof(text));
	return read_input(&h, text, (const uint8_t *)head, bytes, bytes);
}

/* The same as by the fuzzer, for each division of the head. */
static void divide(const char *head, size_t bytes)
{
	uint8_t data[SPLIT_BYTES + TEXT_BYTES];

	CHECK_NUMBER(bytes, <=, TEXT_BYTES);
	memcpy(data + SPLIT_BYTES, head, bytes);
	for (size_t first = 0; first <= bytes; first++) {
		data[0] = (uint8_t)first;
		data[1] = (uint8_t)(first >> 8);
		(void)LLVMFuzzerTestOneInput(data, SPLIT_BYTES + bytes);
	}
}

#define HEAD(text) text, sizeof(text) - 1
#define LINE "GET /a?b HTTP/1.1\r\n"

static void test_a_head_is_split(void)
{
	static const char head[] =
		"\r\nPOST /a?b HTTP/1.1\r\nHost: x\r\n"
		"content-length:\t12 \t\r\nEmpty:\r\n\r\nbody";

	CHECK_NUMBER(read_text(HEAD(head)), ==, HEAD_COMPLETE);
	CHECK(h.head.is_exact);
	CHECK_NUMBER(h.length_bytes, ==, 12);
	CHECK(!h.is_head);
	CHECK(!h.is_http_1_0);
	CHECK_TEXT(h.head.method, "POST");
	CHECK_TEXT(h.head.target, "/a?b");
	CHECK_TEXT(h.head.version, "HTTP/1.1");
	CHECK_NUMBER(h.head.field_count, ==, 3);
	CHECK_TEXT(h.head.fields[0].name, "Host");
	CHECK_TEXT(h.head.fields[1].value, "12");
	CHECK_TEXT(h.head.fields[2].value, "");
	CHECK_TEXT(text + h.end, "body");
	/* The line before it does not count. */
	CHECK_NUMBER(h.head.bytes, ==, sizeof(head) - 1 - 2 - 4);
	divide(HEAD(head));
}

/* Wherever it is, and whatever the header (RFC 9110, 5.5). */
static void test_white_space_around_a_value_is_removed(void)
{
	static const char *const values[] = {
		"x y", " x y", "x y ", "\tx y\t", " \t x y \t ",
	};
	char head[TEXT_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		(void)snprintf(head, sizeof(head),
			       LINE "Any:%s\r\nEmpty: \t \r\nNone:\r\n\r\n",
			       values[i]);
		CHECK_NUMBER(read_text(head, strlen(head)), ==, HEAD_COMPLETE);
		CHECK(h.head.is_exact);
		CHECK_NUMBER(h.head.field_count, ==, 3);
		CHECK_TEXT(h.head.fields[0].value, "x y");
		CHECK_TEXT(h.head.fields[1].value, "");
		CHECK_TEXT(h.head.fields[2].value, "");
		divide(head, strlen(head));
	}
	/* Not inside of a line, and not together with a lone CR. */
	CHECK_NUMBER(read_text(HEAD(LINE "X: a \r \r\n\r\n")), ==,
		     HEAD_COMPLETE);
	CHECK(!h.head.is_exact);
}

static void expects(bool is_expected, const char *fields)
{
	char head[TEXT_BYTES];

	(void)snprintf(head, sizeof(head), LINE "%sContent-Length: 1\r\n\r\n",
		       fields);
	CHECK_NUMBER(read_text(head, strlen(head)), ==, HEAD_COMPLETE);
	CHECK_NUMBER(head_expects_continue(&h), ==, is_expected);
}

static void test_expect_is_a_list(void)
{
	expects(true, "Expect: 100-Continue\r\n");
	expects(true, "Expect: 100-continue \t\r\n");
	expects(true, "Expect:\r\nExpect: , 100-continue\r\n");
	expects(false, "");
	expects(false, "Expect:\r\n");
	expects(false, "Expect: , \r\n");
	expects(false, "Expect: 100-continued\r\n");
}

/* The request line is reported before the rest has arrived. */
static void test_the_target_comes_first(void)
{
	memcpy(text, LINE, sizeof(LINE) - 1);
	head_reader_begin(&h);
	CHECK_NUMBER(head_read(&h, text, sizeof(LINE) - 2), ==, HEAD_MORE);
	CHECK_NUMBER(head_read(&h, text, sizeof(LINE) - 1), ==, HEAD_TARGET);
	CHECK_NUMBER(head_read(&h, text, sizeof(LINE) - 1), ==, HEAD_MORE);
}

static void test_ambiguous_heads_are_not_exact(void)
{
	static const struct {
		const char *text;
		size_t bytes;
	} heads[] = {
		{ HEAD("GET /a HTTP/1.1\nHost: x\r\n\r\n") },
		{ HEAD(LINE "Host: x\n\r\n") },
		{ HEAD(LINE "Host: x\r\n\n") },
		{ HEAD(LINE "Host: x\n\n") },
		{ HEAD(LINE "Host: x\0\n\r\n") },
		{ HEAD(LINE "Host: x\0y\r\n\r\n") },
		{ HEAD(LINE "X: a\r\n b\r\n\r\n") },
		{ HEAD(LINE "X: a\r\n\tb: c\r\n\r\n") },
		{ HEAD(LINE "\0: a\r\n\r\n") },
		{ HEAD("GET  /a HTTP/1.1\r\n\r\n") },
		{ HEAD("GET\0 /a HTTP/1.1\r\n\r\n") },
		{ HEAD("GET /a\0b HTTP/1.1\r\n\r\n") },
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		check_case("heads[%zu]: %s", i, heads[i].text);
		CHECK_NUMBER(read_text(heads[i].text, heads[i].bytes), ==,
			     HEAD_COMPLETE);
		CHECK(!h.head.is_exact);
		divide(heads[i].text, heads[i].bytes);
	}
}

static void refused_bytes(enum head_fault fault, const char *head, size_t bytes)
{
	CHECK_NUMBER(read_text(head, bytes), ==, HEAD_COMPLETE);
	CHECK_NUMBER(h.head.fault, ==, fault);
	CHECK_NUMBER(h.length_bytes, ==, 0);
	CHECK(h.head.method != NULL);
	CHECK(h.head.target != NULL);
	divide(head, bytes);
}

static void refused(enum head_fault fault, const char *head)
{
	refused_bytes(fault, head, strlen(head));
}

static void test_some_heads_are_refused(void)
{
	refused(HEAD_MALFORMED, "GET /\r\n");
	refused(HEAD_MALFORMED, "GET \r\n");
	refused(HEAD_MALFORMED, "GET / HTTP/1.1 \r\n");
	refused(HEAD_MALFORMED, "GET / http/1.1\r\n");
	refused(HEAD_UNKNOWN_VERSION, "GET / HTTP/0.9\r\n");
	refused(HEAD_UNKNOWN_VERSION, "GET / HTTP/2.0\r\n");
	refused(HEAD_MALFORMED, LINE "no colon\r\n");
	refused(HEAD_WRONG_LENGTH, LINE "Content-Length: x\r\n\r\n");
	refused(HEAD_WRONG_LENGTH, LINE "Content-Length: 5 5\r\n\r\n");
	refused(HEAD_WRONG_LENGTH, LINE "Content-Length: \r\n\r\n");
	refused(HEAD_LARGE_LENGTH,
		LINE "Content-Length: 18446744073709551616\r\n\r\n");
	refused(HEAD_LARGE_LENGTH,
		LINE "Content-Length: 9223372036854775808\r\n\r\n");
	refused(HEAD_MALFORMED, "GET\r\n");
	refused(HEAD_MALFORMED, " GET / HTTP/1.1\r\n");
}

/* Nor is it an empty line, nor a reply to a HEAD that came before. */
static void test_a_nul_is_no_end(void)
{
	CHECK_NUMBER(read_text(HEAD("HEAD / HTTP/1.1\r\n\r\n")), ==,
		     HEAD_COMPLETE);
	CHECK(h.is_head);
	refused_bytes(HEAD_MALFORMED, HEAD("\0\r\n" LINE "\r\n"));
	CHECK(!h.is_head);
	refused_bytes(HEAD_MALFORMED, HEAD("\0 x\r\n" LINE "\r\n"));
	CHECK_NUMBER(read_text(HEAD("\0" LINE "\r\n")), ==, HEAD_COMPLETE);
	CHECK(!h.head.is_exact);
	CHECK_TEXT(h.head.method, "\1GET");
	refused_bytes(HEAD_MALFORMED, HEAD(LINE "\0\n"));
	refused_bytes(HEAD_MALFORMED, HEAD(LINE ":\n"));
	refused_bytes(HEAD_MALFORMED, HEAD(LINE "X: a\r\n:\nY: b\r\n\r\n"));
}

/* The lines and the table of fields together have a limit. */
static void test_large_heads_are_refused(void)
{
	static char large[HEAD_BYTES_MAX];
	size_t at = sizeof(LINE) - 1;

	memset(large, 'a', sizeof(large));
	head_reader_begin(&h);
	CHECK_NUMBER(head_read(&h, large, sizeof(large) - 1), ==, HEAD_MORE);
	CHECK_NUMBER(head_read(&h, large, sizeof(large)), ==, HEAD_TARGET);
	CHECK_NUMBER(head_read(&h, large, sizeof(large)), ==, HEAD_COMPLETE);
	CHECK_NUMBER(h.head.fault, ==, HEAD_LONG_LINE);
	memcpy(large, LINE, at);
	for (; at < sizeof(large) / 8; at += 4)
		memcpy(large + at, "x:\r\n", 4);
	head_reader_begin(&h);
	CHECK_NUMBER(head_read(&h, large, sizeof(large) / 8), ==, HEAD_TARGET);
	CHECK_NUMBER(head_read(&h, large, sizeof(large) / 8), ==,
		     HEAD_COMPLETE);
	CHECK_NUMBER(h.head.fault, ==, HEAD_TOO_LARGE);
	CHECK_TEXT(h.head.target, "/a?b");
}

/* Does the body of a head with these fields come in chunks? */
static bool comes_in_chunks(const char *before, const char *fields,
			    const char *after)
{
	char head[TEXT_BYTES];
	int bytes = snprintf(head, sizeof(head), LINE "%s%s%s\r\n", before,
			     fields, after);

	CHECK_NUMBER(read_text(head, (size_t)bytes), ==, HEAD_COMPLETE);
	CHECK_NUMBER(h.head.fault, ==, HEAD_FINE);
	divide(head, (size_t)bytes);
	return h.head.is_chunked;
}

/* What another reader could take for another coding, or for none, does not. */
static void test_chunks_are_announced_plainly(void)
{
	static const char *const others[] = {
		"Transfer-Encoding: Chunked\r\n",
		"Transfer-Encoding: CHUNKED\r\n",
		"Transfer-Encoding: chunked \r\n",
		"Transfer-Encoding: chunked\t\r\n",
		"Transfer-Encoding:  chunked\r\n",
		"Transfer-Encoding:\tchunked\r\n",
		"Transfer-Encoding: \tchunked\r\n",
		"Transfer-Encoding : chunked\r\n",
		"Transfer-Encoding:\r\n chunked\r\n",
		"Transfer-Encoding: chunked\r\n \r\n",
		"Transfer-Encoding: chunked\n",
		"Transfer-Encoding:\r\n",
		"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: chunkedx\r\n",
		"Transfer-Encoding: \"chunked\"\r\n",
		"Transfer-Encoding: chunked;x\r\n",
		"Transfer-Encoding: chunked,\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: chunked, chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n",
		"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Content-Length:\r\nTransfer-Encoding: chunked\r\n",
		"Transfer_Encoding: chunked\r\n",
		"X-Transfer-Encoding: chunked\r\n",
	};
	static const char old[] = "P / HTTP/1.0\r\n"
				  "Transfer-Encoding: chunked\r\n\r\n";

	CHECK(comes_in_chunks("", "Transfer-Encoding: chunked\r\n", ""));
	CHECK(comes_in_chunks("", "Transfer-Encoding:chunked\r\n", "X: y\r\n"));
	CHECK(comes_in_chunks("X: y\r\n", "transfer-encoding: chunked\r\n",
			      ""));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		check_case("%s", others[i]);
		CHECK(!comes_in_chunks("", others[i], ""));
		CHECK(!comes_in_chunks("", others[i], "X: y\r\n"));
		CHECK(!comes_in_chunks("X: y\r\n", others[i], ""));
	}
	check_case("%s", "HTTP/1.0");
	CHECK_NUMBER(read_text(HEAD(old)), ==, HEAD_COMPLETE);
	CHECK(!h.head.is_chunked);
}

int main(void)
{
	head_reader_init(&h, HEAD_BYTES_MAX);
	test_a_head_is_split();
	test_the_target_comes_first();
	test_ambiguous_heads_are_not_exact();
	test_some_heads_are_refused();
	test_a_nul_is_no_end();
	test_large_heads_are_refused();
	test_white_space_around_a_value_is_removed();
	test_expect_is_a_list();
	test_chunks_are_announced_plainly();
	head_reader_release(&h);
	return 0;
}
