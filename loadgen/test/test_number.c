/* SPDX-License-Identifier: MIT */
/* Numbers are read as written, and nothing else is a number. */
#include "loadgen/number.h"

#include <assert.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))

static void expect(const char *text, double value)
{
	double out;

	assert(number_read(text, 0, 1e300, &out));
	assert(out == value);
}

static void test_decimal(void)
{
	expect("0", 0);
	expect("007", 7);
	expect("12.5", 12.5);
	expect(".5", 0.5);
	expect("5.", 5);
	expect("1e3", 1000);
	expect("2.5E-1", 0.25);
	expect("1e+2", 100);
}

static void test_not_decimal(void)
{
	static const char *const texts[] = {
		"",     "x",     ".",   "-1",  "+1",    " 1",  "1 ",
		"1,5",  "1.2.3", "1e",  "e1",  "1e999", "inf", "nan",
		"0x10", "0x1p3", "1-2", "1:2", "--",    "1\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		double out = 7;

		assert(!number_read(texts[i], -1e300, 1e300, &out));
		assert(out == 7);
	}
}

static void test_range(void)
{
	double out;

	assert(number_read("0.001", 0.001, 5, &out));
	assert(number_read("5", 0.001, 5, &out));
	assert(!number_read("0.0009", 0.001, 5, &out));
	assert(!number_read("5.0001", 0.001, 5, &out));
}

/* What follows a number is left to the caller. */
static void test_take(void)
{
	const char *text = "1.5:2e1s";
	double out;

	assert(number_take(&text, &out) && out == 1.5);
	assert(strcmp(text, ":2e1s") == 0);
	assert(!number_take(&text, &out) && out == 1.5);
	assert(strcmp(text, ":2e1s") == 0);
	text++;
	assert(number_take(&text, &out) && out == 20);
	assert(strcmp(text, "s") == 0);
}

static void test_whole(void)
{
	static const char *const texts[] = {
		"",   "x",   "-1",  "+1",   " 1",
		"1 ", "1.0", "1e3", "0x10", "18446744073709551616",
	};
	uint64_t out;

	assert(number_read_whole("18446744073709551615", 0, UINT64_MAX, &out));
	assert(out == UINT64_MAX);
	assert(number_read_whole("010", 10, 10, &out) && out == 10);
	assert(!number_read_whole("9", 10, 20, &out) && out == 10);
	assert(!number_read_whole("21", 10, 20, &out) && out == 10);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert(!number_read_whole(texts[i], 0, UINT64_MAX, &out));
	assert(out == 10);
}

int main(void)
{
	test_decimal();
	test_not_decimal();
	test_range();
	test_take();
	test_whole();
	return 0;
}
