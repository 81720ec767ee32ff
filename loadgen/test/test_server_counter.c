/* SPDX-License-Identifier: MIT */
/* A counter is the sum of its samples, and of no others. */
#include "loadgen/report/server_counter.h"

#include "base/test/check.h"

static const char text[] = "# HELP a_total a_total 7\n"
			   "# TYPE a_total counter\n"
			   "a_total 1.5e+01\n"
			   "a_total_bytes 100\n"
			   "b_total{x=\"} \\\" 9\",y=\"2\"} 3\n"
			   "b_total{x=\"other\"}\t4 1395066363000\n"
			   "b_total {x=\"1\"} 100\n"
			   "broken_total{x=\"1\n"
			   "empty_total\n"
			   "blank_total \n"
			   "5\n"
			   "nan_total NaN\n"
			   "zero_total 0\n"
			   "last_total 8";

static void expect(const char *name, double value)
{
	double sum;

	CHECK(server_counter_sum(text, name, &sum));
	CHECK_NUMBER(sum, ==, value);
}

static void expect_none(const char *name)
{
	double sum;

	CHECK(!server_counter_sum(text, name, &sum));
}

int main(void)
{
	expect("a_total", 15);
	expect("b_total", 7);
	expect("zero_total", 0);
	expect("last_total", 8);
	expect_none("a_tot");
	expect_none("total");
	expect_none("broken_total");
	expect_none("empty_total");
	expect_none("blank_total");
	expect_none("nan_total");
	expect_none("c_total");
	return 0;
}
