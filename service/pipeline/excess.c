/* SPDX-License-Identifier: MIT */
#include "service/pipeline/excess.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MIN = 3, LIMIT_DIGITS = 10, DIGITS_MAX = 17, NUMBER_BYTES = 32 };

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

/* All digits before the point, so that there is no exponent after them. */
static void print_number(char out[NUMBER_BYTES], double number, int digits)
{
	int whole = number < 10 ? 1 : 1 + (int)floor(log10(number));

	(void)snprintf(out, NUMBER_BYTES, "%.*g",
		       digits > whole ? digits : whole, number);
}

void excess_explain(char *text, size_t bytes, const struct excess *e,
		    const char *before, const char *between, const char *after)
{
	struct scale scale = scale_of(e);
	char value[NUMBER_BYTES], limit[NUMBER_BYTES];
	int digits = DIGITS_MIN;

	assert(!isnan(e->value));
	print_number(limit, e->limit / scale.size, LIMIT_DIGITS);
	do {
		print_number(value, e->value / scale.size, digits);
	} while (e->value > e->limit && digits++ < DIGITS_MAX &&
		 atof(value) <= atof(limit));
	(void)snprintf(text, bytes, "%s%s %s%s%s %s%s", before, value,
		       scale.unit, between, limit, scale.unit, after);
}
