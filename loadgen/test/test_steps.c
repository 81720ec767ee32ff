/* SPDX-License-Identifier: MIT */
/* Steps are those that were written, the last one included. */
#include "loadgen/steps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void expect(const char *text, int count, double last_per_s,
		   double duration_s)
{
	struct steps s;
	struct error error;

	assert(steps_parse(&s, text, &error));
	assert(steps_count(&s) == count);
	assert(fabs(steps_rate_per_s(&s, count - 1) / last_per_s - 1) < 1e-9);
	assert(s.duration_s == duration_s);
}

static void test_good(void)
{
	expect("10:100:10:30", 10, 100, 30);
	expect("10:105:10:30", 10, 100, 30);
	expect("5:5:1:0.5", 1, 5, 0.5);
	expect("5:6:9:0.5", 1, 5, 0.5);
	expect("0.1:0.3:0.1:1", 3, 0.3, 1); /* 0.1 + 2 * 0.1 > 0.3 */
	expect("1:1000:1:1", 1000, 1000, 1);
}

static void expect_error(const char *text, const char *part)
{
	struct steps s = { .from_per_s = 7 };
	struct error error;

	assert(!steps_parse(&s, text, &error));
	assert(strstr(error.text, text) != NULL);
	assert(strstr(error.text, part) != NULL);
	assert(s.from_per_s == 7);
}

static void test_bad(void)
{
	expect_error("", "FROM:TO:BY:SECONDS");
	expect_error("10", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1:1:", "FROM:TO:BY:SECONDS");
	expect_error("10:20::1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:0:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:-1:1", "FROM:TO:BY:SECONDS");
	expect_error("10:20:1:1x", "FROM:TO:BY:SECONDS");
	expect_error("10:2000001:1:1", "FROM:TO:BY:SECONDS");
	expect_error("10: 20:1:1", "FROM:TO:BY:SECONDS");
	expect_error("20:10:1:1", "not 1 to 1000 steps");
	expect_error("1:1001:1:1", "not 1 to 1000 steps");
	expect_error("1:1000000:0.001:1", "not 1 to 1000 steps");
}

int main(void)
{
	test_good();
	test_bad();
	return 0;
}
