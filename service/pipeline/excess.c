/* SPDX-License-Identifier: MIT */
#include "service/pipeline/excess.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MIN = 3, LIMIT_DIGITS = 10, DIGITS_MAX = 17 };
enum { DECIMALS_MAX = 28, NUMBER_BYTES = DECIMALS_MAX + 4 };

/* A unit for people, and how many of the other it has. */
struct scale {
	const char *unit;
	double size;
};

static struct scale scale_of(const struct excess *e)
{
	if (strcmp(e->unit, "pixels") == 0)
		return (struct scale){ "megapixels", 1e6 };
	if (strcmp(e->unit, "seconds") == 0)
		return (struct scale){ "s", 1 };
	if (strcmp(e->unit, "bytes") == 0 && e->limit >= 1 << 20)
		return (struct scale){ "MiB", 1 << 20 };
	if (strcmp(e->unit, "bytes") == 0 && e->limit >= 1 << 10)
		return (struct scale){ "KiB", 1 << 10 };
	return (struct scale){ e->unit, 1 };
}

/*
 * The number with so many digits, but with all of those before the point, and
 * without zeros at the end of those after it.  No exponents.
 */
static void print_number(char out[NUMBER_BYTES], double number, int digits)
{
	int first = number > 0 ? (int)floor(log10(number)) : 0;
	int decimals = digits - 1 - first;
	size_t end;

	if (decimals > DECIMALS_MAX)
		decimals = DECIMALS_MAX;
	(void)snprintf(out, NUMBER_BYTES, "%.*f", decimals > 0 ? decimals : 0,
		       number);
	if (strchr(out, '.') == NULL)
		return;
	for (end = strlen(out); out[end - 1] == '0'; end--)
		;
	out[end - (out[end - 1] == '.')] = '\0';
}

static int larger(int a, int b)
{
	return a > b ? a : b;
}

void excess_explain(char *text, size_t bytes, const struct excess *e,
		    const char *before, const char *between, const char *after)
{
	struct scale scale = scale_of(e);
	char value[NUMBER_BYTES], limit[NUMBER_BYTES];
	int digits = DIGITS_MIN;

	assert(!isnan(e->value));
	do {
		print_number(limit, e->limit / scale.size,
			     larger(digits, LIMIT_DIGITS));
		print_number(value, e->value / scale.size, digits);
	} while (e->value > e->limit && digits++ < DIGITS_MAX &&
		 atof(value) <= atof(limit));
	(void)snprintf(text, bytes, "%s%s %s%s%s %s%s", before, value,
		       scale.unit, between, limit, scale.unit, after);
}

struct excess excess_explain_memory(char *text, size_t bytes,
				    uint64_t needed_bytes, uint64_t limit_bytes)
{
	struct excess e = { (double)needed_bytes, (double)limit_bytes,
			    "bytes" };

	excess_explain(text, bytes, &e, "The upload and its results need ",
		       " of memory; --memory leaves ", " for all uploads.");
	return e;
}
