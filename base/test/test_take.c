/* SPDX-License-Identifier: MIT */
/* What is taken is complete and within its bounds; nothing else is a number. */
#include "base/take.h"
#include "base/test/check.h"

#include <stddef.h>
#include <string.h>

static bool number_is(const char *text, uint64_t most, uint64_t n,
		      const char *rest)
{
	uint64_t out = 0;

	return take_number(&text, 1, most, &out) && out == n &&
	       strcmp(text, rest) == 0;
}

static void test_numbers(void)
{
	uint64_t out;

	CHECK(number_is("1", 1, 1, ""));
	CHECK(number_is("0012,x", 12, 12, ",x"));
	CHECK(number_is("7.5", 10, 7, ".5"));
	CHECK(number_is("18446744073709551615", UINT64_MAX, UINT64_MAX, ""));
	static const char *const bad[] = { "",
					   "x",
					   " 1",
					   "+1",
					   "-1",
					   "0x",
					   "0",
					   "11",
					   "18446744073709551617",
					   "99999999999999999999999" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *at = bad[i];

		CHECK(!take_number(&at, 1, 10, &out));
	}
	const char *at = "18446744073709551616";

	CHECK(!take_number(&at, 0, UINT64_MAX, &out));
}

static bool decimal_is(const char *text, double n, const char *rest)
{
	double out = -1;

	return take_decimal(&text, 100, &out) && out == n &&
	       strcmp(text, rest) == 0;
}

static void test_decimals(void)
{
	CHECK(decimal_is("0", 0, ""));
	CHECK(decimal_is("20", 20, ""));
	CHECK(decimal_is("0.25,", 0.25, ","));
	CHECK(decimal_is("100.0", 100, ""));
	static const char *const bad[] = { "",    "x",     "-1",  "+1",
					   ".5",  "inf",   "nan", "1e1",
					   "0x1", "100.1", " 1",  "1e400",
					   "5." };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *at = bad[i];
		double out;

		CHECK(!take_decimal(&at, 100, &out));
	}
}

static void test_words(void)
{
	const char *at = "gated=5";

	CHECK(!take_word(&at, "gates"));
	CHECK_TEXT(at, "gated=5");
	CHECK(!take_word(&at, "gated=50"));
	CHECK(take_word(&at, "gated"));
	CHECK(take_word(&at, "=5"));
	CHECK(take_end(at));
	CHECK(!take_word(&at, "x"));
}

static void test_names(void)
{
	static const char *const names[] = { "scale", "scales", "blur" };
	const char *at = "scales=blur=";
	uint32_t index;

	CHECK(take_name(&at, names, 3, &index));
	CHECK_NUMBER(index, ==, 1);
	CHECK(take_name(&at, names, 3, &index));
	CHECK_NUMBER(index, ==, 2);
	CHECK(take_end(at));
	CHECK(!take_name(&at, names, 3, &index));
	at = "blur";
	CHECK(!take_name(&at, names, 3, &index));
	at = "blur=";
	CHECK(!take_name(&at, names, 2, &index));
	at = "blur=";
	CHECK(!take_name(&at, NULL, 0, &index));
}

static void expect(const char *text, double value)
{
	double out;

	CHECK(number_read(text, 0, 1e300, &out));
	CHECK_NUMBER(out, ==, value);
}

static void test_real(void)
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

static void test_not_real(void)
{
	static const char *const texts[] = {
		"",     "x",     ".",   "-1",  "+1",    " 1",  "1 ",
		"1,5",  "1.2.3", "1e",  "e1",  "1e999", "inf", "nan",
		"0x10", "0x1p3", "1-2", "1:2", "--",    "1\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		double out = 7;

		CHECK(!number_read(texts[i], -1e300, 1e300, &out));
		CHECK_NUMBER(out, ==, 7);
	}
}

static void test_range(void)
{
	double out;

	CHECK(number_read("0.001", 0.001, 5, &out));
	CHECK(number_read("5", 0.001, 5, &out));
	CHECK(!number_read("0.0009", 0.001, 5, &out));
	CHECK(!number_read("5.0001", 0.001, 5, &out));
}

/* The text after a number is left to the caller. */
static void test_reals_are_taken(void)
{
	const char *text = "1.5:2e1s";
	double out;

	CHECK(take_real(&text, &out));
	CHECK_NUMBER(out, ==, 1.5);
	CHECK_TEXT(text, ":2e1s");
	CHECK(!take_real(&text, &out));
	CHECK_NUMBER(out, ==, 1.5);
	CHECK_TEXT(text, ":2e1s");
	text++;
	CHECK(take_real(&text, &out));
	CHECK_NUMBER(out, ==, 20);
	CHECK_TEXT(text, "s");
}

static void test_whole(void)
{
	static const char *const texts[] = {
		"",   "x",   "-1",  "+1",   " 1",
		"1 ", "1.0", "1e3", "0x10", "18446744073709551616",
	};
	uint64_t out;

	CHECK(number_read_whole("18446744073709551615", 0, UINT64_MAX, &out));
	CHECK_NUMBER(out, ==, UINT64_MAX);
	CHECK(number_read_whole("010", 10, 10, &out));
	CHECK_NUMBER(out, ==, 10);
	CHECK(!number_read_whole("9", 10, 20, &out));
	CHECK_NUMBER(out, ==, 10);
	CHECK(!number_read_whole("21", 10, 20, &out));
	CHECK_NUMBER(out, ==, 10);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK(!number_read_whole(texts[i], 0, UINT64_MAX, &out));
	CHECK_NUMBER(out, ==, 10);
}

int main(void)
{
	test_numbers();
	test_decimals();
	test_words();
	test_names();
	test_real();
	test_not_real();
	test_range();
	test_reals_are_taken();
	test_whole();
	return 0;
}
