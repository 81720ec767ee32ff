/* SPDX-License-Identifier: MIT */
#include "base/take.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool take_word(const char **at, const char *word)
{
	size_t bytes = strlen(word);

	if (strncmp(*at, word, bytes) != 0)
		return false;
	*at += bytes;
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool take_number(const char **at, uint64_t least, uint64_t most, uint64_t *out)
{
	uint64_t n = 0;

	if (!is_digit(**at))
		return false;
	for (; is_digit(**at); (*at)++) {
		uint64_t digit = (uint64_t)(**at - '0');

		if (digit > most || n > (most - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*out = n;
	return n >= least;
}

bool take_decimal(const char **at, double most, double *out)
{
	const char *c = *at;
	char *end;

	/*
	 * Check by hand: strtod() also accepts signs, exponents and infinity.
	 */
	while (is_digit(*c))
		c++;
	if (c == *at)
		return false;
	if (c[0] == '.' && is_digit(c[1]))
		for (c++; is_digit(*c);)
			c++;
	*out = strtod(*at, &end);
	*at = c;
	return end == c && *out <= most;
}

/*
 * Checks by hand, because strtod() also accepts spaces, signs, words and
 * hexadecimal numbers.
 */
bool take_real(const char **at, double *out)
{
	size_t length = strspn(*at, "0123456789.eE+-");
	char *end;
	double value;

	if (strspn(*at, "0123456789.") == 0)
		return false;
	value = strtod(*at, &end);
	if (end == *at || end > *at + length || !isfinite(value))
		return false;
	*at = end;
	*out = value;
	return true;
}

bool take_name(const char **at, const char *const *names, uint32_t count,
	       uint32_t *index)
{
	const char *begin = *at;

	for (*index = 0; *index < count; (*index)++) {
		*at = begin;
		if (take_word(at, names[*index]) && take_word(at, "="))
			return true;
	}
	return false;
}

bool take_end(const char *at)
{
	return *at == '\0';
}

bool number_read(const char *text, double min, double max, double *out)
{
	double value;

	if (!take_real(&text, &value) || *text != '\0' || value < min ||
	    value > max)
		return false;
	*out = value;
	return true;
}

bool number_read_whole(const char *text, uint64_t min, uint64_t max,
		       uint64_t *out)
{
	uint64_t value;

	if (!take_number(&text, min, max, &value) || *text != '\0')
		return false;
	*out = value;
	return true;
}
