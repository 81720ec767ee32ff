/* SPDX-License-Identifier: MIT */
/* A spread keeps its least and most value with their files. */
#include "imgops/bench/report.h"

#include "base/test/check.h"

#include <string.h>

static void test_least_and_most_keep_their_files(void)
{
	struct spread s;

	spread_init(&s, 5);
	spread_add(&s, 2, "a");
	spread_add(&s, -1, "b");
	spread_add(&s, 0.5, "c");
	spread_add(&s, 2, "d");
	spread_add(&s, -1, "e");
	spread_finish(&s);
	CHECK_NUMBER(s.count, ==, 5);
	CHECK_NUMBER(s.least, ==, -1);
	CHECK_NUMBER(s.most, ==, 2);
	/* In order of value, then path: the first and the last. */
	CHECK_TEXT(s.least_path, "b");
	CHECK_TEXT(s.most_path, "d");
	for (size_t i = 1; i < s.count; i++)
		CHECK_NUMBER(s.values[i - 1], <=, s.values[i]);
	spread_release(&s);
	CHECK(s.values == NULL);
	CHECK_NUMBER(s.count, ==, 0);
}

int main(void)
{
	test_least_and_most_keep_their_files();
	return 0;
}
