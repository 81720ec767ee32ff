/* SPDX-License-Identifier: MIT */
/*
 * Promise: a quantile is at least the value of its rank, and at most 1/8 above
 * it; nothing that was added is lost.
 */
#include "base/histogram.h"

#include "base/test/check.h"
#include "base/util.h"

#include <pthread.h>
#include <stdlib.h>

enum { VALUES = 20001, THREADS = 4, ADDS = 50000 };

static const uint64_t limit = UINT64_C(1) << 48;

/* The value that a histogram reports after it was given only `value`. */
static uint64_t read_back(uint64_t value)
{
	struct histogram h = { 0 };
	struct histogram_copy copy = { 0 };

	histogram_add(&h, value);
	histogram_read(&h, &copy);
	CHECK_NUMBER(copy.count, ==, 1);
	return histogram_quantile(&copy, 1);
}

static void check_value(uint64_t value)
{
	uint64_t taken_for = read_back(value);

	CHECK_NUMBER(taken_for, >=, value);
	CHECK_NUMBER(taken_for - value, <=, value / 8);
}

static void test_values_keep_within_an_eighth(void)
{
	for (uint64_t value = 0; value < 5000; value++)
		check_value(value);
	for (uint64_t power = 8; power < limit; power *= 2)
		for (uint64_t step = 0; step < 8; step++) {
			uint64_t first = power + step * (power / 8);

			check_value(first - 1);
			check_value(first);
			check_value(first + 1);
		}
	check_value(limit - 1);
}

static void test_buckets_meet_without_gap(void)
{
	uint64_t value = 0;
	uint32_t buckets = 0;

	for (; value < limit; value = read_back(value) + 1)
		buckets++;
	CHECK_NUMBER(value, ==, limit);
	CHECK_NUMBER(buckets, ==, HISTOGRAM_BUCKETS);
}

static void test_counts_to_powers_of_two_are_exact(void)
{
	struct histogram h = { 0 };
	struct histogram_copy copy = { 0 };

	for (uint32_t bits = 1; bits < 48; bits++) {
		histogram_add(&h, (UINT64_C(1) << bits) - 1);
		histogram_add(&h, UINT64_C(1) << bits);
	}
	histogram_read(&h, &copy);
	CHECK_NUMBER(histogram_count_to(&copy, 0), ==, 0);
	for (uint32_t bits = 1; bits < 48; bits++)
		CHECK_NUMBER(histogram_count_to(&copy, bits), ==, 2 * bits - 1);
	CHECK_NUMBER(histogram_count_to(&copy, 48), ==, copy.count);
}

static void test_huge_values_are_in_the_last(void)
{
	CHECK_NUMBER(read_back(limit), ==, limit - 1);
	CHECK_NUMBER(read_back(limit * 8 + 12345), ==, limit - 1);
	CHECK_NUMBER(read_back(UINT64_MAX), ==, limit - 1);
}

static void test_empty_has_no_quantiles(void)
{
	static const struct histogram_copy empty;

	CHECK_NUMBER(histogram_quantile(&empty, 0), ==, 0);
	CHECK_NUMBER(histogram_quantile(&empty, 1), ==, 0);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void test_quantiles_are_those_of_the_sorted_values(void)
{
	static const struct {
		double q;
		uint32_t rank;
	} cases[] = {
		{ 0, 0 },         { 0.00001, 0 },     { 0.25, 5000 },
		{ 0.5, 10000 },   { 0.9, 18000 },     { 0.99, 19800 },
		{ 0.999, 19980 }, { 0.99999, 20000 }, { 1, 20000 },
	};
	static uint64_t values[VALUES];
	static struct histogram h;
	struct histogram_copy copy = { 0 };

	srand48(1);
	for (uint32_t i = 0; i < VALUES; i++) {
		values[i] = (uint64_t)lrand48() >> (lrand48() % 31);
		histogram_add(&h, values[i]);
	}
	qsort(values, VALUES, sizeof(*values), by_value);
	histogram_read(&h, &copy);
	CHECK_NUMBER(copy.count, ==, VALUES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t exact = values[cases[i].rank];
		uint64_t found = histogram_quantile(&copy, cases[i].q);

		check_case("cases[%zu]", i);
		CHECK_NUMBER(found, >=, exact);
		CHECK_NUMBER(found - exact, <=, exact / 8);
	}
}

static void test_copies_sum_up(void)
{
	struct histogram small = { 0 }, large = { 0 };
	struct histogram_copy both = { 0 };

	for (uint32_t i = 0; i < 30; i++)
		histogram_add(&small, 1);
	for (uint32_t i = 0; i < 10; i++)
		histogram_add(&large, 7);
	histogram_read(&small, &both);
	histogram_read(&large, &both);
	CHECK_NUMBER(both.count, ==, 40);
	CHECK_NUMBER(histogram_quantile(&both, 0.75), ==, 1);
	CHECK_NUMBER(histogram_quantile(&both, 0.76), ==, 7);
}

static void *add_many(void *arg)
{
	for (uint64_t i = 0; i < ADDS; i++)
		histogram_add(arg, i % 10);
	return NULL;
}

static void test_threads_lose_nothing(void)
{
	static struct histogram h;
	struct histogram_copy copy = { 0 };
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, add_many, &h));
	for (uint32_t i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	histogram_read(&h, &copy);
	CHECK_NUMBER(copy.count, ==, THREADS * ADDS);
	for (uint32_t value = 0; value < 8; value++)
		CHECK_NUMBER(copy.counts[value], ==, THREADS * ADDS / 10);
}

int main(void)
{
	test_values_keep_within_an_eighth();
	test_buckets_meet_without_gap();
	test_counts_to_powers_of_two_are_exact();
	test_huge_values_are_in_the_last();
	test_empty_has_no_quantiles();
	test_quantiles_are_those_of_the_sorted_values();
	test_copies_sum_up();
	test_threads_lose_nothing();
	return 0;
}
