/* SPDX-License-Identifier: MIT */
#include "loadgen/steps.h"

#include "loadgen/number.h"

enum { NUMBER_COUNT = 4 };

/* Of a step: what decimal fractions lose in binary. */
static const double rounding = 1e-6;
static const double number_min = 0.001;
static const double number_max = 1e6;

/* Decimal numbers parted by ':', and nothing else. */
static bool parse_numbers(const char *text, double numbers[NUMBER_COUNT])
{
	for (int i = 0; i < NUMBER_COUNT; i++) {
		if (!number_take(&text, &numbers[i]) ||
		    *text != (i < NUMBER_COUNT - 1 ? ':' : '\0') ||
		    numbers[i] < number_min || numbers[i] > number_max)
			return false;
		text++;
	}
	return true;
}

static double steps_between(const struct steps *s)
{
	return (s->to_per_s - s->from_per_s) / s->by_per_s + rounding;
}

bool steps_parse(struct steps *s, const char *text, struct error *error)
{
	double numbers[NUMBER_COUNT];
	struct steps parsed;

	if (!parse_numbers(text, numbers)) {
		error_set(error,
			  "'%s': not FROM:TO:BY:SECONDS, each a number from "
			  "0.001 to 1000000",
			  text);
		return false;
	}
	parsed = (struct steps){ numbers[0], numbers[1], numbers[2],
				 numbers[3] };
	if (parsed.to_per_s < parsed.from_per_s ||
	    steps_between(&parsed) >= STEPS_MAX) {
		error_set(error, "'%s': not 1 to %d steps", text, STEPS_MAX);
		return false;
	}
	*s = parsed;
	return true;
}

int steps_count(const struct steps *s)
{
	return (int)steps_between(s) + 1;
}

double steps_rate_per_s(const struct steps *s, int i)
{
	return s->from_per_s + i * s->by_per_s;
}
