/* SPDX-License-Identifier: MIT */
/*
 * Promises: If-Match is compared first and strictly, then If-None-Match, and
 * nothing matches an image that is not there; a range is read as RFC 9110
 * defines it, and never goes beyond the file, whatever the numbers; a header
 * that is not a range we support is ignored.
 */
#include "service/http/handlers/images/conditions.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stddef.h>

static void check(const char *text, uint64_t file_bytes, enum range_kind kind,
		  uint64_t offset, uint64_t count)
{
	struct range part = { 0, 0 };

	CHECK_NUMBER(range_read(text, file_bytes, &part), ==, kind);
	if (kind == RANGE_PART)
		CHECK(part.offset == offset && part.count == count);
}

static void test_parts(void)
{
	check("bytes=0-0", 10, RANGE_PART, 0, 1);
	check("bytes=0-9", 10, RANGE_PART, 0, 10);
	check("bytes=9-9", 10, RANGE_PART, 9, 1);
	check("Bytes= 3-5", 10, RANGE_PART, 3, 3);
	check("bytes=3-", 10, RANGE_PART, 3, 7);
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

static enum condition condition_of(const char *match, const char *none_match,
				   const char *etag)
{
	const struct http_field fields[] = {
		{ match != NULL ? "if-match" : "A", match },
		{ none_match != NULL ? "if-none-match" : "B", none_match },
	};
	const struct request_head head = {
		.fields = fields,
		.field_count = ARRAY_SIZE(fields),
	};

	CHECK_NUMBER(conditions_exist(&head), ==,
		     (match != NULL || none_match != NULL));
	return conditions_check(&head, etag);
}

static const struct {
	const char *match, *none_match, *etag;
	enum condition condition;
} conditions[] = {
	{ NULL, NULL, "\"a\"", CONDITION_HOLDS },
	{ "\"a\"", NULL, "\"a\"", CONDITION_HOLDS },
	{ "*", NULL, "\"a\"", CONDITION_HOLDS },
	{ "\"b\"", NULL, "\"a\"", CONDITION_UNLIKE },
	{ "W/\"a\"", NULL, "\"a\"", CONDITION_UNLIKE },
	{ "", NULL, "\"a\"", CONDITION_UNLIKE },
	{ NULL, "\"b\"", "\"a\"", CONDITION_HOLDS },
	{ NULL, "", "\"a\"", CONDITION_HOLDS },
	{ NULL, "W/\"a\"", "\"a\"", CONDITION_KNOWN },
	{ NULL, "*", "\"a\"", CONDITION_KNOWN },
	{ "\"a\"", "\"a\"", "\"a\"", CONDITION_KNOWN },
	{ "\"b\"", "\"a\"", "\"a\"", CONDITION_UNLIKE },
	/* An image whose tag is not known, and none. */
	{ "*", "\"a\"", "", CONDITION_HOLDS },
	{ "\"a\"", NULL, "", CONDITION_UNLIKE },
	{ NULL, "*", "", CONDITION_KNOWN },
	{ "*", NULL, NULL, CONDITION_UNLIKE },
	{ NULL, "*", NULL, CONDITION_HOLDS },
};

static void test_conditions(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
		CHECK_NUMBER(condition_of(conditions[i].match,
					  conditions[i].none_match,
					  conditions[i].etag),
			     ==, conditions[i].condition);
}

int main(void)
{
	test_conditions();
	test_parts();
	test_none();
	test_all();
	return 0;
}
