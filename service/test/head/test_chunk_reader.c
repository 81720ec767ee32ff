/* SPDX-License-Identifier: MIT */
/*
 * Promise: a body in chunks is read in the same way wherever its bytes are
 * divided; framing that two parsers may read differently is refused; and a
 * client cannot send without end what is no part of the body.  The target of
 * the fuzzer, which also asks another parser, is run with each text and each
 * division.
 */
#include "service/http/fuzz/fuzz_chunks.c"

#include "base/test/check.h"

#include <stdio.h>

enum { TEXT_BYTES = 512 };

/* The same as by the fuzzer, for each division. */
static void divide(const char *body, size_t bytes)
{
	uint8_t data[SPLIT_BYTES + TEXT_BYTES];

	CHECK_NUMBER(bytes, <=, TEXT_BYTES);
	memcpy(data + SPLIT_BYTES, body, bytes);
	for (size_t first = 0; first <= bytes; first++) {
		data[0] = (uint8_t)first;
		data[1] = (uint8_t)(first >> 8);
		(void)LLVMFuzzerTestOneInput(data, SPLIT_BYTES + bytes);
	}
}

#define TEXT(text) text, sizeof(text) - 1

/* `body` is `expected`, and `rest` bytes are behind it. */
static void accepted(const char *body, size_t bytes, const char *expected,
		     size_t rest)
{
	struct found_body f;

	decode(&f, (const uint8_t *)body, bytes, bytes);
	CHECK(f.is_complete);
	CHECK_NUMBER(f.count, ==, strlen(expected));
	CHECK(memcmp(f.bytes, expected, f.count) == 0);
	CHECK_NUMBER(f.end, ==, bytes - rest);
	free(f.bytes);
	divide(body, bytes);
}

static void test_bodies_are_read(void)
{
	accepted(TEXT("0\r\n\r\n"), "", 0);
	accepted(TEXT("5\r\nhello\r\n0\r\n\r\n"), "hello", 0);
	accepted(TEXT("5\r\nhello\r\n0\r\n\r\n0\r\n\r\n"), "hello", 5);
	accepted(TEXT("5\r\nhello\r\n2\r\n, \r\n0005\r\nworld\r\n000\r\n\r\n"),
		 "hello, world", 0);
	accepted(TEXT("a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n"),
		 "01234567890123456789", 0);
	accepted(TEXT("0000000000000001\r\nx\r\n0\r\n\r\n"), "x", 0);
	accepted(TEXT("4\r\n\r\n\r\n\r\n0\r\n\r\n"), "\r\n\r\n", 0);
}

static void test_extensions_and_trailers_are_forgotten(void)
{
	accepted(
		TEXT("1;a=b\r\nx\r\n1;a=\"b;\\\"c\" ; d\t\r\ny\r\n0;e\r\n\r\n"),
		"xy", 0);
	accepted(TEXT("1;\r\nx\r\n0\r\nContent-MD5: abc\r\nX:\r\n\r\nGET"), "x",
		 3);
	accepted(TEXT("0\r\nX: \t \xc3\xa4\r\n\r\n"), "", 0);
}

static void refused(enum chunk_fault fault, const char *body, size_t bytes)
{
	struct found_body f;

	decode(&f, (const uint8_t *)body, bytes, bytes);
	CHECK(f.reader.is_over);
	CHECK_NUMBER(f.reader.fault, ==, fault);
	CHECK_NUMBER(strlen(chunk_fault_text(fault)) > 0, ==,
		     (fault != CHUNKS_TOO_LARGE));
	free(f.bytes);
	if (bytes <= TEXT_BYTES)
		divide(body, bytes);
}

static void test_sizes_are_plain(void)
{
	static const char *const sizes[] = {
		"",
		"\r\n",
		"+5",
		"-5",
		"0x5",
		"5h",
		" 5",
		"\t5",
		"5 ",
		"5\t",
		"5 ;a",
		"5,",
		"x",
		";a",
		"5.0",
		"\v5",
		"5\v",
		"\n5",
		"5\n",
		"\xb5",
		"_5",
		"5_0",
		"00000000000000001",
		"10000000000000005",
		"fffffffffffffffff",
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char body[64];
		int bytes = snprintf(body, sizeof(body),
				     "%s\r\nhello\r\n0\r\n\r\n", sizes[i]);

		check_case("%s", sizes[i]);
		refused(CHUNKS_BAD_SIZE, body, (size_t)bytes);
	}
	refused(CHUNKS_BAD_SIZE, TEXT("\0"
				      "5\r\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_SIZE, TEXT("5\0\r\nhello\r\n0\r\n\r\n"));
	/* The line of a chunk that is not the first. */
	refused(CHUNKS_BAD_SIZE, TEXT("1\r\nx\r\n\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_SIZE, TEXT("1\r\nx\r\n+0\r\n\r\n"));
}

static void test_lines_end_with_cr_and_lf(void)
{
	refused(CHUNKS_BAD_SIZE, TEXT("5\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5\rhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5\r\rhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5;a\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5;a\rb\r\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5;a=\"\n\"\r\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5;\0\r\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_LINE, TEXT("5;a\x7f\r\nhello\r\n0\r\n\r\n"));
	refused(CHUNKS_BAD_DATA_END, TEXT("5\r\nhello\n0\r\n\r\n"));
	refused(CHUNKS_BAD_DATA_END, TEXT("5\r\nhello\r0\r\n\r\n"));
	refused(CHUNKS_BAD_DATA_END, TEXT("5\r\nhello0\r\n\r\n"));
	refused(CHUNKS_BAD_DATA_END, TEXT("5\r\nhello, world\r\n0\r\n\r\n"));
}

static void test_trailers_are_header_lines(void)
{
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX : y\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\n X: y\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX: y\r\n z\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\n: y\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX: y\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX: y\rz\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nX: \0\r\n\r\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\n\n"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\n\rX"));
	refused(CHUNKS_BAD_TRAILER, TEXT("0\r\nGET / HTTP/1.1\r\n\r\n"));
}

/* A chunk is refused before its first byte. */
static void test_the_body_has_a_limit(void)
{
	struct found_body f;

	decode(&f, (const uint8_t *)TEXT("4e20\r\nx"), 7);
	CHECK_NUMBER(f.reader.left_bytes, ==, BODY_BYTES_MAX - 1);
	free(f.bytes);
	refused(CHUNKS_TOO_LARGE, TEXT("4e21\r\nx"));
	refused(CHUNKS_TOO_LARGE, TEXT("1\r\nx\r\n4e20\r\n"));
	refused(CHUNKS_TOO_LARGE, TEXT("1\r\nx\r\nffffffffffffffff\r\n"));
	decode(&f, (const uint8_t *)TEXT("1\r\nx\r\n4e20\r\n"), 12);
	CHECK_NUMBER(f.reader.wanted_bytes, ==, BODY_BYTES_MAX + 1);
	CHECK_NUMBER(f.count, ==, 1);
	free(f.bytes);
}

/* `part` without an end is refused, after at most `most` bytes. */
static void limited(enum chunk_fault fault, const char *begin, const char *part,
		    size_t most)
{
	struct chunk_reader c;
	char bytes[TEXT_BYTES];
	size_t used, count = strlen(begin), sum = 0;

	chunk_reader_init(&c, UINT64_MAX);
	memcpy(bytes, begin, count);
	do {
		(void)chunks_decode(&c, bytes, count, &used);
		sum += used;
		CHECK_NUMBER(sum, <=, most);
		count = strlen(part);
		memcpy(bytes, part, count);
	} while (!c.is_over);
	CHECK_NUMBER(c.fault, ==, fault);
}

static void test_what_is_no_body_has_a_limit(void)
{
	limited(CHUNKS_MANY_EXTENSIONS, "1;", "x", CHUNK_LINE_BYTES + 1);
	limited(CHUNKS_MANY_TRAILERS, "0\r\n", "X: y\r\n",
		CHUNK_TRAILER_BYTES + 4);
	limited(CHUNKS_MANY_TRAILERS, "0\r\nX:", "y", CHUNK_TRAILER_BYTES + 4);
	/* Small chunks with extensions, each of which is short. */
	limited(CHUNKS_MANY_EXTENSIONS, "",
		"1;0123456789012345678901234567890123456789\r\nx\r\n",
		3 * CHUNK_EXCESS_BYTES);
}

/* Without extensions, chunks may be as small as they can be. */
static void test_small_chunks_have_no_limit(void)
{
	struct chunk_reader c;
	size_t used;

	chunk_reader_init(&c, UINT64_MAX);
	for (int i = 0; i < 100000; i++) {
		char chunk[] = "0001;a=b\r\nx\r\n";

		CHECK_NUMBER(chunks_decode(&c, chunk, sizeof(chunk) - 1, &used),
			     ==, 1);
	}
	CHECK_NUMBER(c.bytes, ==, 100000);
	CHECK(!c.is_over);
}

int main(void)
{
	test_bodies_are_read();
	test_extensions_and_trailers_are_forgotten();
	test_sizes_are_plain();
	test_lines_end_with_cr_and_lf();
	test_trailers_are_header_lines();
	test_the_body_has_a_limit();
	test_what_is_no_body_has_a_limit();
	test_small_chunks_have_no_limit();
	return 0;
}
