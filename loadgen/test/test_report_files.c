/* SPDX-License-Identifier: MIT */
/* CSV rows follow RFC 4180; the percentiles are HdrHistogram's text. */
#include "loadgen/report/report.h"

#include "base/test/check.h"

#include <stdlib.h>
#include <string.h>

static void expect_row(const struct result *r, const char *path,
		       const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	csv_write_row(out, r, path);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, expected);
	free(text);
}

static void test_names(void)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	csv_write_names(out);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, "intended_s,start_s,sent_s,end_s,file,status,error,"
			 "uploaded_bytes,reply_bytes,response_ms,size_class,"
			 "target,megapixels,unloaded_ms\r\n");
	free(text);
}

static void test_rows(void)
{
	struct result r = {
		.status = 200,
		.target = "/?w=9",
		.uploaded_bytes = 60000,
		.reply_bytes = 7,
		.response_ns = 1234567,
		.started_ns = 2000000000,
		.sent_ns = 2100000000,
		.ended_ns = 2101234567,
	};

	expect_row(&r, "a.jpg",
		   ",2.000000,2.100000,2.101235,a.jpg,200,,60000,7,1.234567,"
		   "50-200 KB,/?w=9,,\r\n");
	r.megapixels = 0.048;
	r.unloaded_ns = 500000;
	expect_row(&r, "a.jpg",
		   ",2.000000,2.100000,2.101235,a.jpg,200,,60000,7,1.234567,"
		   "50-200 KB,/?w=9,0.048000,0.500000\r\n");
	r.megapixels = 0;
	r.unloaded_ns = 0;
	r.scheduled = true; /* at the very beginning */
	r.sent_ns = 0;
	expect_row(&r, "a.jpg",
		   "0.000000,2.000000,,2.101235,a.jpg,200,,60000,7,1.234567,"
		   "50-200 KB,/?w=9,,\r\n");
}

static void test_errors(void)
{
	struct result r = { .error = "Reset, by peer",
			    .target = "/?w=9",
			    .ended_ns = 1000 };

	expect_row(&r, "a.jpg",
		   ",,,0.000001,a.jpg,,\"Reset, by peer\",0,0,,< 50 "
		   "KB,/?w=9,,\r\n");
}

static void test_quotes(void)
{
	struct result r = { .error = "e", .target = "/?w=9", .ended_ns = 1000 };

	expect_row(
		&r, "a \"b\".jpg",
		",,,0.000001,\"a \"\"b\"\".jpg\",,e,0,0,,< 50 KB,/?w=9,,\r\n");
	expect_row(&r, "a\nb.jpg",
		   ",,,0.000001,\"a\nb.jpg\",,e,0,0,,< 50 KB,/?w=9,,\r\n");
	expect_row(&r, "\"",
		   ",,,0.000001,\"\"\"\",,e,0,0,,< 50 KB,/?w=9,,\r\n");
	expect_row(&r, "a;b 'c'",
		   ",,,0.000001,a;b 'c',,e,0,0,,< 50 KB,/?w=9,,\r\n");
}

static void expect_text(unsigned count, const char *expected)
{
	struct samples s = { 0 };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	for (unsigned ms = count; ms > 0; ms--) {
		CHECK(samples_reserve(&s));
		samples_add(&s, ms * 1e6);
	}
	CHECK(percentiles_write(out, &s));
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_TEXT(text, expected);
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

	CHECK(full != NULL);
	CHECK(!percentiles_write(full, &s));
	fclose(full);
}

int main(void)
{
	test_names();
	test_rows();
	test_errors();
	test_quotes();
	test_text();
	test_nothing();
	test_says_when_it_is_not_written();
	return 0;
}
