/* SPDX-License-Identifier: MIT */
/* Rows are as RFC 4180 has them, whatever a file is called. */
#include "loadgen/csv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void expect_row(const struct result *r, const char *path,
		       const char *expected)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	csv_write_row(out, r, path);
	assert(fclose(out) == 0);
	assert(strcmp(text, expected) == 0);
	free(text);
}

static void test_names(void)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert(out != NULL);
	csv_write_names(out);
	assert(fclose(out) == 0);
	assert(strcmp(text, "intended_s,start_s,sent_s,end_s,file,status,error,"
			    "uploaded_bytes,reply_bytes,response_ms,size_class,"
			    "target\r\n") == 0);
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
		   "50-200 KB,/?w=9\r\n");
	r.scheduled = true; /* at the very beginning */
	r.sent_ns = 0;
	expect_row(&r, "a.jpg",
		   "0.000000,2.000000,,2.101235,a.jpg,200,,60000,7,1.234567,"
		   "50-200 KB,/?w=9\r\n");
}

static void test_errors(void)
{
	struct result r = { .error = "Reset, by peer",
			    .target = "/?w=9",
			    .ended_ns = 1000 };

	expect_row(
		&r, "a.jpg",
		",,,0.000001,a.jpg,,\"Reset, by peer\",0,0,,< 50 KB,/?w=9\r\n");
}

static void test_quotes(void)
{
	struct result r = { .error = "e", .target = "/?w=9", .ended_ns = 1000 };

	expect_row(&r, "a \"b\".jpg",
		   ",,,0.000001,\"a \"\"b\"\".jpg\",,e,0,0,,< 50 KB,/?w=9\r\n");
	expect_row(&r, "a\nb.jpg",
		   ",,,0.000001,\"a\nb.jpg\",,e,0,0,,< 50 KB,/?w=9\r\n");
	expect_row(&r, "\"", ",,,0.000001,\"\"\"\",,e,0,0,,< 50 KB,/?w=9\r\n");
	expect_row(&r, "a;b 'c'",
		   ",,,0.000001,a;b 'c',,e,0,0,,< 50 KB,/?w=9\r\n");
}

int main(void)
{
	test_names();
	test_rows();
	test_errors();
	test_quotes();
	return 0;
}
