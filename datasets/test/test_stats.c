/* SPDX-License-Identifier: MIT */
/* Summaries and the table show the right figures for the counted files. */
int stats_main(int argc, char **argv);
#define main stats_main
#include "datasets/stats.c"

#include "base/test/check.h"
#undef main

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_summary(void)
{
	double sizes[] = { 50, 10, 40, 20, 30, 100, 60, 90, 70, 80 };
	struct size_summary s = sizes_summarise(sizes, 10);

	CHECK_NUMBER(s.count, ==, 10);
	CHECK_NUMBER(s.total, ==, 550);
	CHECK_NUMBER(s.mean, ==, 55);
	CHECK_NUMBER(s.min, ==, 10);
	CHECK_NUMBER(s.max, ==, 100);
	CHECK_NUMBER(s.median, ==, 50);
	CHECK_NUMBER(s.p90, ==, 90);
	CHECK_NUMBER(s.p99, ==, 100);
}

static void test_table(void)
{
	struct table t = { 0 };
	struct jpeg_facts f = { .width = 1000,
				.height = 500,
				.sampling = "4:2:0" };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint64_t i = 1; i <= 9; i++) {
		f.progressive = i <= 3;
		f.exif = i <= 4;
		f.orientation = i == 1 ? 6 : i == 2 ? 1 : 0;
		f.icc_bytes = i == 5 ? 600 : 0;
		f.sampling = i == 9 ? "grey" : "4:2:0";
		table_add(&t, i * 1000, &f);
	}
	table_add(&t, 4200000, NULL); /* no JPEG */
	CHECK(out != NULL);
	table_print(&t, out);
	fclose(out);
	table_release(&t);

	CHECK_PART(text, "Files                            10");
	CHECK_PART(text, "Total                4.25 megabytes");
	CHECK_PART(text, "Minimum               1.0 kilobytes");
	CHECK_PART(text, "Maximum              4.20 megabytes");
	CHECK_PART(text, "Mean                424.5 kilobytes");
	CHECK_PART(text, "Median                5.0 kilobytes");
	CHECK_PART(text, "90th percentile       9.0 kilobytes    623.2 kil");
	CHECK_PART(text, "Mean                          0.500\n");
	CHECK_PART(text, "Of 9 JPEGs");
	CHECK_PART(text, "Progressive               3  33.3 %");
	CHECK_PART(text, "grey                      1  11.1 %");
	CHECK_PART(text, "4:2:0                     8  88.9 %");
	CHECK_PART(text, "EXIF                      4  44.4 %");
	CHECK_PART(text, "  turned                  1  11.1 %");
	CHECK_PART(text, "ICC profile               1  11.1 %");
	CHECK_PART(text, "\n1 files are no JPEGs");
	CHECK(!strstr(text, "4:1:1"));
	free(text);
}

int main(void)
{
	test_summary();
	test_table();
	return 0;
}
