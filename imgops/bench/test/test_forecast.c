/* SPDX-License-Identifier: MIT */
/*
 * Promises: errors are those of the accepted files; too much and too little CPU
 * time count alike; a peak above what was foretold is counted.
 */
#include "imgops/bench/forecast.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static char names[][8] = { "a", "b", "refused", "c" };
static struct file files[4];

static struct row row_of(struct file *file, double foretold_ms,
			 double foretold_bytes)
{
	/* Two passes of 5 ms each. */
	return (struct row){
		.file = file,
		.cost = { .cpu_ns = (uint64_t)(foretold_ms * 1e6),
			  .bytes = (uint64_t)foretold_bytes },
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
		row_of(&files[0], 5, 1100),
		row_of(&files[1], 2.5, 999),
		row_of(&files[2], 5000, 1),
		row_of(&files[3], 6, 1000),
	};
	struct measure m = { .rows = rows, .row_count = 4, .passes = 2 };
	struct forecast f;

	rows[2].first.err = IMG_ERR_CORRUPT;
	assert(forecast_judge(&f, &m));
	assert(f.count == 3);
	assert(is_near(f.cpu_median, log(1.2)));
	assert(is_near(f.cpu_worst, log(2)));
	assert(strcmp(f.cpu_worst_path, "b") == 0);
	assert(f.cpu_p90 > f.cpu_median && f.cpu_p90 < f.cpu_worst);
	assert(is_near(f.memory_least, 0.999));
	assert(is_near(f.memory_median, 1));
	assert(is_near(f.memory_most, 1.1));
	assert(strcmp(f.memory_least_path, "b") == 0);
	assert(strcmp(f.memory_most_path, "a") == 0);
	assert(f.memory_low_count == 1);
}

static void test_no_file_at_all(void)
{
	struct row row = { .first = { .err = IMG_ERR_NOT_JPEG } };
	struct measure m = { .rows = &row, .row_count = 1, .passes = 1 };
	struct forecast f;

	assert(forecast_judge(&f, &m));
	assert(f.count == 0);
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		files[i].path = names[i];
	test_errors_of_accepted_files();
	test_no_file_at_all();
	return 0;
}
