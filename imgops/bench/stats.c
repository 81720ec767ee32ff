/* SPDX-License-Identifier: MIT */
#include "imgops/bench/stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct value *x = a;
	const struct value *y = b;

	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return strcmp(x->path, y->path);
}

void values_sort(struct value *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare);
}

double values_quantile(const struct value *values, size_t count, double q)
{
	double place = q * (double)(count - 1);
	size_t below = (size_t)place;
	double part = place - (double)below;

	assert(count > 0 && q >= 0 && q <= 1);
	if (part == 0)
		return values[below].value;
	return values[below].value +
	       part * (values[below + 1].value - values[below].value);
}
