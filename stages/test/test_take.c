/* SPDX-License-Identifier: MIT */
/* Promise: what is taken is whole and within its bounds, and nothing else. */
#include "stages/take.h"

#include <assert.h>
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

	assert(number_is("1", 1, 1, ""));
	assert(number_is("0012,x", 12, 12, ",x"));
	assert(number_is("7.5", 10, 7, ".5"));
	assert(number_is("18446744073709551615", UINT64_MAX, UINT64_MAX, ""));
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

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *at = bad[i];

		assert(!take_number(&at, 1, 10, &out));
	}
	const char *at = "18446744073709551616";

	assert(!take_number(&at, 0, UINT64_MAX, &out));
}

static bool decimal_is(const char *text, double n, const char *rest)
{
	double out = -1;

	return take_decimal(&text, 100, &out) && out == n &&
	       strcmp(text, rest) == 0;
}

static void test_decimals(void)
{
	assert(decimal_is("0", 0, ""));
	assert(decimal_is("20", 20, ""));
	assert(decimal_is("0.25,", 0.25, ","));
	assert(decimal_is("100.0", 100, ""));
	static const char *const bad[] = { "",    "x",     "-1",  "+1",
					   ".5",  "inf",   "nan", "1e1",
					   "0x1", "100.1", " 1",  "1e400",
					   "5." };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *at = bad[i];
		double out;

		assert(!take_decimal(&at, 100, &out));
	}
}

static void test_words(void)
{
	const char *at = "gated=5";

	assert(!take_word(&at, "gates"));
	assert(strcmp(at, "gated=5") == 0);
	assert(!take_word(&at, "gated=50"));
	assert(take_word(&at, "gated"));
	assert(take_word(&at, "=5"));
	assert(take_end(at));
	assert(!take_word(&at, "x"));
}

static void test_names(void)
{
	static const char *const names[] = { "scale", "scales", "blur" };
	const char *at = "scales=blur=";
	uint32_t index;

	assert(take_name(&at, names, 3, &index) && index == 1);
	assert(take_name(&at, names, 3, &index) && index == 2);
	assert(take_end(at));
	assert(!take_name(&at, names, 3, &index));
	at = "blur";
	assert(!take_name(&at, names, 3, &index));
	at = "blur=";
	assert(!take_name(&at, names, 2, &index));
	at = "blur=";
	assert(!take_name(&at, NULL, 0, &index));
}

int main(void)
{
	test_numbers();
	test_decimals();
	test_words();
	test_names();
	return 0;
}
