/* SPDX-License-Identifier: MIT */
#include "loadgen/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* strtod() takes spaces, signs, words and hexadecimal numbers as well. */
bool number_take(const char **text, double *out)
{
	size_t length = strspn(*text, "0123456789.eE+-");
	char *end;
	double value;

	if (strspn(*text, "0123456789.") == 0)
		return false;
	value = strtod(*text, &end);
	if (end == *text || end > *text + length || !isfinite(value))
		return false;
	*text = end;
	*out = value;
	return true;
}

bool number_read(const char *text, double min, double max, double *out)
{
	double value;

	if (!number_take(&text, &value) || *text != '\0' || value < min ||
	    value > max)
		return false;
	*out = value;
	return true;
}

bool number_read_whole(const char *text, uint64_t min, uint64_t max,
		       uint64_t *out)
{
	size_t length = strspn(text, "0123456789");
	uint64_t value;

	errno = 0;
	value = strtoull(text, NULL, 10);
	if (length == 0 || text[length] != '\0' || errno != 0 || value < min ||
	    value > max)
		return false;
	*out = value;
	return true;
}
