/* SPDX-License-Identifier: MIT */
/* A search ends near the wanted value in few tries, on several curves. */
#include "datasets/make.c" /* for size_search_next() */

#include "base/test/check.h"

#include <math.h>
#include <stddef.h>

static double power(double x)
{
	return 3 * pow(x, 0.8);
}

/* A curve whose larger part does not depend on x. */
static double offset(double x)
{
	return 500 + x;
}

/* A curve with steps, as whole pixels cause them. */
static double steps(double x)
{
	return 10 * floor(x / 7) + 1;
}

static int tries_of(double (*curve)(double), double wanted, double first,
		    double tolerance)
{
	struct size_search s = { .wanted = wanted, .power = 0.87 };
	double x = first;

	for (int tries = 1; tries <= 30; tries++) {
		double y = curve(x);

		if (fabs(y / wanted - 1) < tolerance)
			return tries;
		x = size_search_next(&s, x, y);
		CHECK_NUMBER(x, >, 0);
		CHECK(isfinite(x));
	}
	return 31;
}

int main(void)
{
	CHECK_NUMBER(tries_of(power, 1000, 1429.3, 0.01), <=, 2);
	for (double first = 1; first < 1e6; first *= 10) {
		/*
		 * After two tries the search knows the exponent of a pure
		 * power.
		 */
		CHECK_NUMBER(tries_of(power, 1000, first, 0.01), <=, 3);
		CHECK_NUMBER(tries_of(offset, 2000, first, 0.01), <=, 9);
		CHECK_NUMBER(tries_of(steps, 1001, first, 0.02), <=, 9);
	}

	struct size_search s = { .wanted = 100, .power = 0.5 };

	size_search_next(&s, 10, 50);
	size_search_restart(&s);
	CHECK_NUMBER(s.low, ==, 0);
	CHECK_NUMBER(s.high, ==, 0);
	CHECK_NUMBER(s.last_x, ==, 0);
	CHECK_NUMBER(s.wanted, ==, 100);
	return 0;
}
