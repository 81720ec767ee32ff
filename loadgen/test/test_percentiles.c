/* SPDX-License-Identifier: MIT */
/* The text is HdrHistogram's, to the column. */
#include "loadgen/percentiles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void expect_text(unsigned count, const char *expected)
{
	struct samples s = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	for (unsigned ms = count; ms > 0; ms--) {
		assert(samples_reserve(&s));
		samples_add(&s, ms * 1e6);
	}
	assert(percentiles_write(out, &s));
	assert(fclose(out) == 0);
	assert(strcmp(text, expected) == 0);
	free(text);
	samples_release(&s);
}

static void test_text(void)
{
	expect_text(
		4,
		"       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
		"       1.000 0.000000000000          1           1.00\n"
		"       1.000 0.100000000000          1           1.11\n"
		"       1.000 0.200000000000          1           1.25\n"
		"       2.000 0.300000000000          2           1.43\n"
		"       2.000 0.400000000000          2           1.67\n"
		"       2.000 0.500000000000          2           2.00\n"
		"       3.000 0.550000000000          3           2.22\n"
		"       3.000 0.600000000000          3           2.50\n"
		"       3.000 0.650000000000          3           2.86\n"
		"       3.000 0.700000000000          3           3.33\n"
		"       3.000 0.750000000000          3           4.00\n"
		"       4.000 1.000000000000          4\n"
		"#[Mean    =        2.500, StdDeviation   =        1.118]\n"
		"#[Max     =        4.000, Total count    =            4]\n");
}

static void test_nothing(void)
{
	expect_text(
		0,
		"       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
		"#[Mean    =        0.000, StdDeviation   =        0.000]\n"
		"#[Max     =        0.000, Total count    =            0]\n");
}

static void test_says_when_it_is_not_written(void)
{
	struct samples s = { 0 };
	FILE *full = fopen("/dev/full", "w");

	assert(full != NULL);
	assert(!percentiles_write(full, &s));
	fclose(full);
}

int main(void)
{
	test_text();
	test_nothing();
	test_says_when_it_is_not_written();
	return 0;
}
