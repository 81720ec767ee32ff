/* SPDX-License-Identifier: MIT */
/*
 * Promise: people read a rounded value, which is above the limit where it is,
 * and the limit, both with the usual unit and without exponents.
 */
#include "service/pipeline/excess.h"

#include "base/test/check.h"
#include "base/util.h"

#include <string.h>

static const struct {
	struct excess excess;
	const char *text;
} cases[] = {
	{ { 108e6, 100e6, "pixels" }, "108 megapixels > 100 megapixels" },
	{ { 16320.0 * 12240, 100e6, "pixels" },
	  "200 megapixels > 100 megapixels" },
	/* More digits where three are not above the limit. */
	{ { 16320.0 * 12240, 199e6, "pixels" },
	  "200 megapixels > 199 megapixels" },
	{ { 100000001, 100e6, "pixels" },
	  "100.000001 megapixels > 100 megapixels" },
	{ { 100.4e6, 100.3e6, "pixels" },
	  "100.4 megapixels > 100.3 megapixels" },
	{ { 64000, 63999, "pixels" },
	  "0.064 megapixels > 0.063999 megapixels" },
	{ { 4294836225, 4290e6, "pixels" },
	  "4295 megapixels > 4290 megapixels" },
	{ { 33554433, 33554432, "bytes" }, "32.000001 MiB > 32 MiB" },
	{ { 68e6, 32 << 20, "bytes" }, "64.8 MiB > 32 MiB" },
	{ { 1e11, 32 << 20, "bytes" }, "95367 MiB > 32 MiB" },
	{ { 20000, 16384, "bytes" }, "19.5 KiB > 16 KiB" },
	{ { 1001, 1000, "bytes" }, "1001 bytes > 1000 bytes" },
	{ { 12.3456, 10, "seconds" }, "12.3 s > 10 s" },
	{ { 10.0001, 10, "seconds" }, "10.0001 s > 10 s" },
	{ { 999.6, 500, "seconds" }, "1000 s > 500 s" },
	{ { 0.00005, 0.00001, "seconds" }, "0.00005 s > 0.00001 s" },
	{ { 2e-9, 1e-9, "seconds" }, "0.000000002 s > 0.000000001 s" },
	{ { 1, 0, "seconds" }, "1 s > 0 s" },
	/* Rounded to ten digits, this limit is above the value. */
	{ { 123412341161, 123412341160, "pixels" },
	  "123412.341161 megapixels > 123412.34116 megapixels" },
	{ { 65, 64, "parameters" }, "65 parameters > 64 parameters" },
	{ { 123456, 256, "header lines" },
	  "123456 header lines > 256 header lines" },
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128];

		check_case("cases[%zu]", i);
		excess_explain(text, sizeof(text), &cases[i].excess, "", " > ",
			       "");
		CHECK_TEXT(text, cases[i].text);
	}
	return 0;
}
