/* SPDX-License-Identifier: MIT */
/*
 * Promises: a range is read as RFC 9110 defines it, and never goes beyond the
 * file, whatever the numbers; a header that is not a range we support is
 * ignored.
 */
#include "service/http/images/images.c"

#include "base/util.h"

#include <assert.h>
#include <stddef.h>

static void check(const char *text, uint64_t file_bytes, enum range_kind kind,
		  uint64_t offset, uint64_t count)
{
	struct range part = { 0, 0 };

	assert(range_read(text, file_bytes, &part) == kind);
	if (kind == RANGE_PART)
		assert(part.offset == offset && part.count == count);
}

static void test_parts(void)
{
	check("bytes=0-0", 10, RANGE_PART, 0, 1);
	check("bytes=0-9", 10, RANGE_PART, 0, 10);
	check("bytes=9-9", 10, RANGE_PART, 9, 1);
	check("Bytes= 3-5 ", 10, RANGE_PART, 3, 3);
	check("bytes=3-", 10, RANGE_PART, 3, 7);
	check("bytes=3- ", 10, RANGE_PART, 3, 7);
	check("bytes=3-10", 10, RANGE_PART, 3, 7);
	check("bytes=3-99999999999999999999999", 10, RANGE_PART, 3, 7);
	check("bytes=-1", 10, RANGE_PART, 9, 1);
	check("bytes=-11", 10, RANGE_PART, 0, 10);
}

static void test_none(void)
{
	check("bytes=10-", 10, RANGE_NONE, 0, 0);
	check("bytes=10-20", 10, RANGE_NONE, 0, 0);
	check("bytes=18446744073709551616-", 10, RANGE_NONE, 0, 0);
	check("bytes=-0", 10, RANGE_NONE, 0, 0);
	check("bytes=0-", 0, RANGE_NONE, 0, 0);
	check("bytes=-5", 0, RANGE_NONE, 0, 0);
}

static void test_all(void)
{
	static const char *const texts[] = {
		"",           "bytes",         "bytes=",
		"bytes=-",    "bytes=5",       "bytes=5-4",
		"bytes=a-4",  "bytes=1-2,4-5", "bytes=1-2 x",
		"octets=1-2", "bytes=--1",     "bytes=+1-2",
		"bytes=-1-2", "bytes=1--2",
	};

	check(NULL, 10, RANGE_ALL, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		check(texts[i], 10, RANGE_ALL, 0, 0);
}

static void test_etags(void)
{
	assert(etag_is_listed("\"a\"", "\"a\""));
	assert(etag_is_listed("W/\"a\"", "\"a\""));
	assert(etag_is_listed("\"b\", \"c,d\" ,W/\"a\"", "\"a\""));
	assert(etag_is_listed(" *", "\"a\""));
	assert(!etag_is_listed(NULL, "\"a\""));
	assert(!etag_is_listed("", "\"a\""));
	assert(!etag_is_listed("\"aa\"", "\"a\""));
	assert(!etag_is_listed("a", "\"a\""));
	assert(!etag_is_listed("\"", "\"a\""));
	assert(!etag_is_listed("\"b\" x, \"a\"", "\"a\""));
	assert(!etag_is_listed("\"x, \"a\"", "\"a\""));
}

int main(void)
{
	test_parts();
	test_none();
	test_all();
	test_etags();
	return 0;
}
