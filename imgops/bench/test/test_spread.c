/* SPDX-License-Identifier: MIT */
/* A spread keeps its least and most value with their files. */
#include "imgops/bench/report.h"

#include <assert.h>
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
	assert(s.count == 5 && s.least == -1 && s.most == 2);
	/* In order of value, then path: the first and the last. */
	assert(strcmp(s.least_path, "b") == 0);
	assert(strcmp(s.most_path, "d") == 0);
	for (size_t i = 1; i < s.count; i++)
		assert(s.values[i - 1] <= s.values[i]);
	spread_release(&s);
	assert(s.values == NULL && s.count == 0);
}

int main(void)
{
	test_least_and_most_keep_their_files();
	return 0;
}
