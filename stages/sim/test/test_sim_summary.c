/* SPDX-License-Identifier: MIT */
/*
 * Promise: quantiles are nearest-rank, a report has none of too few requests,
 * and each size is in one class.
 */
#include "stages/sim/report.c"

#include "base/test/check.h"

#include <math.h>
#include <string.h>

enum { REQUESTS = 1000 };

static struct sim_response requests[REQUESTS];
static const struct sim_result result = { .request_count = REQUESTS,
					  .requests = requests };

/* Sizes 1 .. 1000; a request of size n took n * 10 ns; not in order. */
static void fill(void)
{
	for (uint64_t i = 0; i < REQUESTS; i++) {
		uint64_t n = i * 377 % REQUESTS + 1;

		requests[i] = (struct sim_response){
			.size = (double)n,
			.response_ns = n * 10,
		};
	}
}

/* Both reports of 999 requests have a p90, and no p99. */
static void test_too_few(void)
{
	const struct sim_result few = { .request_count = REQUESTS - 1,
					.requests = requests };
	struct summary s;
	struct json j;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	fill();
	summary_all(&few, &s);
	CHECK(isnan(s.p99_ns));
	CHECK(!isnan(s.p90_ns));
	print_summary(out, "all", &s);
	json_begin(&j, out, JSON_INDENTED);
	json_open_object(&j, NULL);
	add_summary(&j, &s);
	json_close(&j);
	CHECK_NUMBER(fclose(out), ==, 0);
	CHECK_PART(text, "0.009          -      0.010\n");
	CHECK_PART(text, "\"p99\":\tnull");
	free(text);
}

static void test_all_requests(void)
{
	struct summary s;

	fill();
	summary_all(&result, &s);
	CHECK_NUMBER(s.count, ==, 1000);
	CHECK_NUMBER(s.p50_ns, ==, 5000);
	CHECK_NUMBER(s.p90_ns, ==, 9000);
	CHECK_NUMBER(s.p99_ns, ==, 9900);
	CHECK_NUMBER(s.max_ns, ==, 10000);
	CHECK_NUMBER(fabs(s.mean_ns - 5005), <, 1e-6);
}

static void test_classes_of_sizes(void)
{
	struct size_classes classes;
	struct summary s;

	fill();
	summary_classify(&result, &classes);
	CHECK_NUMBER(classes.bound_count, ==, 3);
	CHECK_NUMBER(classes.bounds[0], ==, 500);
	CHECK_NUMBER(classes.bounds[1], ==, 900);
	CHECK_NUMBER(classes.bounds[2], ==, 990);
	summary_class(&result, &classes, 0, &s);
	CHECK_NUMBER(s.count, ==, 499);
	CHECK_NUMBER(s.max_ns, ==, 4990);
	summary_class(&result, &classes, 1, &s);
	CHECK_NUMBER(s.count, ==, 400);
	CHECK_NUMBER(s.p50_ns, ==, 6990);
	CHECK_NUMBER(s.max_ns, ==, 8990);
	summary_class(&result, &classes, 3, &s);
	CHECK_NUMBER(s.count, ==, 11);
	CHECK_NUMBER(s.max_ns, ==, 10000);
	CHECK_NUMBER(s.p50_ns, ==, 9950);
	CHECK(isnan(s.p90_ns));
	CHECK(isnan(s.p99_ns));
}

static void test_interval_of_the_mean(void)
{
	/* If all batches have the same mean, the interval has no width. */
	for (uint64_t i = 0; i < REQUESTS; i++)
		requests[i].response_ns = i % 2 == 0 ? 90 : 110;
	CHECK_NUMBER(summary_confidence_ns(&result), <, 1e-6);
	for (uint64_t i = 0; i < REQUESTS; i++)
		requests[i].response_ns = i / 50 % 2 == 0 ? 90 : 110;
	/* Deviation 10.26 over 20 batches: 2.093 * 10.26 / sqrt(20). */
	CHECK_NUMBER(fabs(summary_confidence_ns(&result) - 4.80), <, 0.01);
}

static void test_classes_without_requests_are_left_out(void)
{
	struct size_classes classes;

	for (uint64_t i = 0; i < REQUESTS; i++)
		requests[i].size = i % 20 == 0 ? 5 : 1;
	summary_classify(&result, &classes);
	CHECK_NUMBER(classes.bound_count, ==, 1);
	CHECK_NUMBER(classes.bounds[0], ==, 5);
	for (uint64_t i = 0; i < REQUESTS; i++)
		requests[i].size = 7;
	summary_classify(&result, &classes);
	CHECK_NUMBER(classes.bound_count, ==, 0);
}

static void test_no_requests(void)
{
	const struct sim_result none = { .requests = requests };
	struct summary s;

	summary_all(&none, &s);
	CHECK_NUMBER(s.count, ==, 0);
	CHECK(isnan(s.mean_ns));
	CHECK(isnan(s.max_ns));
}

int main(void)
{
	test_all_requests();
	test_too_few();
	test_classes_of_sizes();
	test_interval_of_the_mean();
	test_classes_without_requests_are_left_out();
	test_no_requests();
	return 0;
}
