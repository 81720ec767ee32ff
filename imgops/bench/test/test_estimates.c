/* SPDX-License-Identifier: MIT */
/*
 * Promises: errors cover the accepted files; the machine's speed is no error;
 * estimates of too much and of too little CPU time count alike; a peak above
 * the estimate is counted.
 */
#include "imgops/bench/report.c"

#include "base/quantiles.h"
#include "base/test/check.h"

#include <math.h>
#include <string.h>

static char names[][8] = { "a", "b", "refused", "c" };
static struct file files[4];

static struct row row_of(struct file *file, double estimated_ms,
			 double estimated_bytes)
{
	/* Two passes of 5 ms each. */
	return (struct row){
		.file = file,
		.first.cost = { .cpu_ns = (uint64_t)(estimated_ms * 1e6),
				.bytes = (uint64_t)estimated_bytes },
		.peak_bytes = 1000,
		.cpu_s = { [STEP_DECODE] = 0.008, [STEP_ENCODE] = 0.002 },
	};
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 1e-6;
}

static void test_errors_of_accepted_files(void)
{
	struct row rows[] = {
		row_of(&files[0], 10, 1100),
		row_of(&files[1], 5, 999),
		row_of(&files[2], 5000, 1),
		row_of(&files[3], 12, 1000),
	};
	struct measure m = { .rows = rows, .row_count = 4, .passes = 2 };
	struct estimate_errors e;
	double median, p90;

	rows[2].first.err = IMG_ERR_CORRUPT;
	estimate_errors_init(&e, &m);
	median = quantile_between(e.cpu.values, e.cpu.count, 0.5);
	p90 = quantile_between(e.cpu.values, e.cpu.count, 0.9);
	CHECK_NUMBER(e.cpu.count, ==, 3);
	CHECK_NUMBER(e.memory.count, ==, 3);
	CHECK(is_near(e.cpu_factor, 2));
	CHECK(is_near(median, 0.2));
	CHECK(is_near(e.cpu.most, 1));
	CHECK_TEXT(e.cpu.most_path, "b");
	CHECK_NUMBER(p90, >, median);
	CHECK_NUMBER(p90, <, e.cpu.most);
	CHECK(is_near(e.memory.least, 0.999));
	CHECK(is_near(quantile_between(e.memory.values, 3, 0.5), 1));
	CHECK(is_near(e.memory.most, 1.1));
	CHECK_TEXT(e.memory.least_path, "b");
	CHECK_TEXT(e.memory.most_path, "a");
	CHECK_NUMBER(e.memory_low_count, ==, 1);
	estimate_errors_release(&e);
}

static void test_no_file_at_all(void)
{
	struct row row = { .first = { .err = IMG_ERR_UNKNOWN_FORMAT } };
	struct measure m = { .rows = &row, .row_count = 1, .passes = 1 };
	struct estimate_errors e;

	estimate_errors_init(&e, &m);
	CHECK_NUMBER(e.cpu.count, ==, 0);
	estimate_errors_release(&e);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		files[i].path = names[i];
	test_errors_of_accepted_files();
	test_no_file_at_all();
	return 0;
}
