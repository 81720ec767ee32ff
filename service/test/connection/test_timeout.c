/* SPDX-License-Identifier: MIT */
/*
 * Promise: the header Request-Timeout is a decimal number of seconds, above 0
 * and up to a day, and nothing else.
 */
#include "service/http/handlers/upload_request.c"

#include "base/test/check.h"

static void test_times_are_read(void)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "1", 1000000000 },
		{ "2.5", 2500000000 },
		{ "0.001", 1000000 },
		{ "0.0000000001", 0 }, /* the upload is late at once */
		{ "86400", 86400000000000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		uint64_t ns = UINT64_MAX;

		check_case("good[%zu]: %s", i, good[i].text);
		CHECK(timeout_read(good[i].text, &ns));
		CHECK_NUMBER(ns, ==, good[i].ns);
	}
}

static void test_others_are_refused(void)
{
	static const char *const bad[] = {
		"",     " 1",  "0",       "0.0",   "-1",
		"+1",   "1s",  "1 2",     "1,5",   "1e3",
		"0x10", "inf", "nan",     "86401", "1.5.",
		"1\n",  "1;",  "86400.1", "ten",   "99999999999999999999",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t ns;

		CHECK(!timeout_read(bad[i], &ns));
	}
}

int main(void)
{
	test_times_are_read();
	test_others_are_refused();
	return 0;
}
