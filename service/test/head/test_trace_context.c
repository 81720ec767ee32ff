/* SPDX-License-Identifier: MIT */
/*
 * Promises: a traceparent is read, or ignored, as W3C Trace Context (level 1)
 * says; this is tested with the cases of the standard's own tests and more.
 * What is printed can be read again, and no two spans are the same.
 */
#include "service/http/head/head.c"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

#define TRACE "12345678901234567890123456789012"
#define PARENT "1234567890123456"
#define IDS TRACE "-" PARENT

static const char *const good[] = {
	"00-" IDS "-01",
	/* Flags are a field of bits. */
	"00-" IDS "-03",
	"00-" IDS "-09",
	"00-" IDS "-ff",
	/* Future versions of the standard. */
	"cc-" IDS "-01",
	"cc-" IDS "-01-what-the-future-will-be-like",
	"cc-" IDS "-01-",
	"01-" IDS "-01",
	"fe-" IDS "-01",
};

static const char *const bad[] = {
	"",
	" ",
	"00",
	"00-",
	"00-" TRACE,
	"00-" IDS,
	"00-" IDS "-",
	/* more after it */
	"00-" IDS "-01.",
	"00-" IDS "-01-",
	"00-" IDS "-01 .",
	"00-" IDS "-01-what-the-future-will-be-like",
	"00-" IDS "-01,00-" IDS "-01",
	"cc-" IDS "-01.what-the-future-will-be-like",
	"cc-" IDS "-01,cc-" IDS "-01",
	/* version */
	"ff-" IDS "-01",
	".0-" IDS "-01",
	"0.-" IDS "-01",
	"000-" IDS "-01",
	"0000-" IDS "-01",
	"0-" IDS "-01",
	"-" IDS "-01",
	"CC-" IDS "-01",
	/* trace */
	"00-00000000000000000000000000000000-" PARENT "-01",
	"00-.2345678901234567890123456789012-" PARENT "-01",
	"00-1234567890123456789012345678901.-" PARENT "-01",
	"00-A2345678901234567890123456789012-" PARENT "-01",
	"00-123456789012345678901234567890123-" PARENT "-01",
	"00-1234567890123456789012345678901-" PARENT "-01",
	"00-" TRACE " " PARENT "-01",
	/* span */
	"00-" TRACE "-0000000000000000-01",
	"00-" TRACE "-.234567890123456-01",
	"00-" TRACE "-123456789012345.-01",
	"00-" TRACE "-123456789012345F-01",
	"00-" TRACE "-12345678901234567-01",
	"00-" TRACE "-123456789012345-01",
	/* flags */
	"00-" IDS "-.0",
	"00-" IDS "-0.",
	"00-" IDS "-0A",
	"00-" IDS "-001",
	"00-" IDS "-1",
	"cc-" IDS "-001",
	"cc-" IDS "-0",
};

static void test_valid_ones_are_read(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct trace_context c;

		CHECK(trace_context_read(&c, good[i]));
		CHECK_TEXT(c.trace_id, TRACE);
		CHECK_TEXT(c.parent_id, PARENT);
		CHECK(c.is_sampled);
	}
}

static void test_others_are_ignored(void)
{
	struct trace_context c, before;

	CHECK(trace_context_read(&c, good[0]));
	before = c;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(!trace_context_read(&c, bad[i]));
	CHECK(memcmp(&c, &before, sizeof(c)) == 0);
}

/*
 * Of the flags, only the one that says whether the caller samples is passed on.
 */
static void test_what_is_printed_is_of_version_0(void)
{
	for (unsigned int flags = 0; flags <= 0xff; flags++) {
		char value[64], text[TRACEPARENT_BYTES];
		char expected[TRACEPARENT_BYTES];
		struct trace_context c, again;

		(void)snprintf(value, sizeof(value), "42-" IDS "-%02x-more",
			       flags);
		CHECK(trace_context_read(&c, value));
		trace_context_print(text, &c);
		(void)snprintf(expected, sizeof(expected),
			       "00-" TRACE "-%s-%02x", c.span_id, flags & 1);
		CHECK_TEXT(text, expected);
		CHECK(trace_context_read(&again, text));
		CHECK_TEXT(again.parent_id, c.span_id);
		CHECK_NUMBER(again.is_sampled, ==, c.is_sampled);
	}
}

static void test_spans_differ(void)
{
	enum { SPANS = 1000 };

	static struct trace_context spans[SPANS];

	for (int i = 0; i < SPANS; i++) {
		CHECK(trace_context_read(&spans[i], good[0]));
		for (int k = 0; k < i; k++)
			CHECK(strcmp(spans[i].span_id, spans[k].span_id) != 0);
	}
}

int main(void)
{
	test_valid_ones_are_read();
	test_others_are_ignored();
	test_what_is_printed_is_of_version_0();
	test_spans_differ();
	return 0;
}
