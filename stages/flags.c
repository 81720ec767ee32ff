/* SPDX-License-Identifier: MIT */
#include "stages/flags.h"

#include "stages/take.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SUFFIXES_MAX = 5 };

static const struct {
	const char *what;
	/* The first that fits is printed; a factor of 1 always does. */
	struct {
		const char *text;
		double factor;
	} suffixes[SUFFIXES_MAX];
} units[] = {
	[FLAG_PLAIN] = { "a number", { { "", 1 } } },
	[FLAG_MILLIONS] = { "a number", { { "", 1e6 } } },
	[FLAG_SIZE] = { "a size",
			{ { "G", 1 << 30 },
			  { "M", 1 << 20 },
			  { "K", 1 << 10 },
			  { "B", 1 },
			  { "", 1 << 20 } } },
	[FLAG_TIME] = { "a time",
			{ { "s", 1000 }, { "ms", 1 }, { "", 1000 } } },
};

static bool is_whole(const struct flag *f)
{
	return f->type == FLAG_WHOLE32 || f->type == FLAG_WHOLE64;
}

/* The word of `words`, which are "a|b|c", at `index`. */
static const char *find_choice(const char *words, uint32_t index)
{
	while (index-- > 0) {
		words = strchr(words, '|');
		assert(words != NULL);
		words++;
	}
	return words;
}

static bool read_choice(const char *words, const char *text, uint32_t *index)
{
	size_t bytes = strlen(text);

	for (uint32_t i = 0;; i++) {
		size_t word_bytes = strcspn(words, "|");

		if (word_bytes == bytes && memcmp(words, text, bytes) == 0) {
			*index = i;
			return true;
		}
		if (words[word_bytes] == '\0')
			return false;
		words += word_bytes + 1;
	}
}

/* `number` as text that read_number() takes. */
static void print_number(const struct flag *f, double number,
			 char text[FLAG_NUMBER_BYTES])
{
	uint32_t i = 0;
	double factor;

	for (;; i++) {
		factor = units[f->unit].suffixes[i].factor;
		if (factor == 1 || f->unit == FLAG_MILLIONS ||
		    (number >= factor && fmod(number, factor) == 0))
			break;
	}
	(void)snprintf(text, FLAG_NUMBER_BYTES, "%.16g%s", number / factor,
		       units[f->unit].suffixes[i].text);
}

static bool read_number(const struct flag *f, const char *text, double *number)
{
	if (!take_decimal(&text, f->most, number))
		return false;
	for (uint32_t i = 0; i < SUFFIXES_MAX; i++) {
		const char *suffix = units[f->unit].suffixes[i].text;

		if (suffix == NULL || strcmp(suffix, text) != 0)
			continue;
		*number *= units[f->unit].suffixes[i].factor;
		if (is_whole(f) && f->unit != FLAG_PLAIN)
			*number = round(*number);
		return *number >= f->least && *number <= f->most &&
		       (!is_whole(f) || *number == floor(*number));
	}
	return false;
}

bool flag_refuse(const struct flag *f, const char *text,
		 char why[FLAG_WHY_BYTES])
{
	const char *what = units[f->unit].what;
	char least[FLAG_NUMBER_BYTES], most[FLAG_NUMBER_BYTES];

	if (f->most > 0) {
		if (is_whole(f) && f->unit == FLAG_PLAIN)
			what = "a whole number";
		print_number(f, f->least, least);
		print_number(f, f->most, most);
		(void)snprintf(why, FLAG_WHY_BYTES,
			       "'%.64s' is not %s from %s to %s", text, what,
			       least, most);
	} else {
		(void)snprintf(why, FLAG_WHY_BYTES, "'%.64s' is not a valid %s",
			       text, f->values);
	}
	return false;
}

bool flag_set(const struct flag *f, const char *text, void *to,
	      char why[FLAG_WHY_BYTES])
{
	void *field = (char *)to + f->offset;
	double number = 0;

	if (f->type == FLAG_SWITCH) {
		*(bool *)field = true;
		return true;
	}
	if (f->type == FLAG_CHOICE)
		return read_choice(f->values, text, field) ||
		       flag_refuse(f, text, why);
	if (f->type == FLAG_TEXT ? text[0] == '\0' :
				   !read_number(f, text, &number))
		return flag_refuse(f, text, why);
	switch (f->type) {
	case FLAG_TEXT:
		*(const char **)field = text;
		break;
	case FLAG_WHOLE32:
		*(uint32_t *)field = (uint32_t)number;
		break;
	case FLAG_WHOLE64:
		*(uint64_t *)field = (uint64_t)number;
		break;
	default:
		assert(f->type == FLAG_REAL);
		*(double *)field = number;
	}
	return true;
}

void flag_print(const struct flag *f, const void *from,
		char text[FLAG_NUMBER_BYTES])
{
	const void *field = (const char *)from + f->offset;
	double number;

	if (f->type == FLAG_CHOICE) {
		const char *word =
			find_choice(f->values, *(const uint32_t *)field);

		(void)snprintf(text, FLAG_NUMBER_BYTES, "%.*s",
			       (int)strcspn(word, "|"), word);
		return;
	}
	if (f->type == FLAG_WHOLE32)
		number = *(const uint32_t *)field;
	else if (f->type == FLAG_WHOLE64)
		number = (double)*(const uint64_t *)field;
	else
		number = *(const double *)field;
	assert(is_whole(f) || f->type == FLAG_REAL);
	print_number(f, number, text);
}

/* Of `bytes`; it need not end there. */
static const struct flag *find(const struct flag *const *tables,
			       const char *name, size_t bytes)
{
	for (; *tables != NULL; tables++)
		for (const struct flag *f = *tables; f->name != NULL; f++)
			if (strlen(f->name) == bytes &&
			    memcmp(f->name, name, bytes) == 0)
				return f;
	return NULL;
}

const struct flag *flags_find(const struct flag *const *tables,
			      const char *name)
{
	return find(tables, name, strlen(name));
}

/* Take the flag at words[*at], and its value if that stands behind it. */
static bool read_flag(const struct flag *const *tables, char *const *words,
		      uint32_t count, uint32_t *at, flag_take_fn *take,
		      void *arg, char error[FLAGS_ERROR_BYTES])
{
	const char *name = words[*at], *value = strchr(name, '=');
	const struct flag *f = NULL;
	char why[FLAG_WHY_BYTES];

	if (take_word(&name, "--"))
		f = find(tables, name, strcspn(name, "="));
	if (f == NULL) {
		(void)snprintf(error, FLAGS_ERROR_BYTES,
			       "there is no option '%s'", words[*at]);
		return false;
	}
	if (value != NULL)
		value++;
	else if (f->values != NULL && *at + 1 < count)
		value = words[++*at];
	if (value == NULL && f->values != NULL)
		(void)snprintf(error, FLAGS_ERROR_BYTES,
			       "--%s needs a value: %s", f->name, f->values);
	else if (value != NULL && f->values == NULL)
		(void)snprintf(error, FLAGS_ERROR_BYTES, "--%s takes no value",
			       f->name);
	else if (!take(arg, f, value, why))
		(void)snprintf(error, FLAGS_ERROR_BYTES, "--%s: %s", f->name,
			       why);
	else
		return true;
	return false;
}

bool flags_read(const struct flag *const *tables, char *const *words,
		uint32_t count, flag_take_fn *take, void *arg,
		char error[FLAGS_ERROR_BYTES])
{
	for (uint32_t at = 0; at < count; at++)
		if (!read_flag(tables, words, count, &at, take, arg, error))
			return false;
	return true;
}

void flags_init(const struct flag *table, void *to)
{
	char why[FLAG_WHY_BYTES];

	for (const struct flag *f = table; f->name != NULL; f++) {
		bool ok =
			f->initial == NULL || flag_set(f, f->initial, to, why);

		assert(ok);
		(void)ok;
	}
}

void flags_print_help(const struct flag *table, FILE *out)
{
	for (const struct flag *f = table; f->name != NULL; f++) {
		(void)fprintf(out, "  --%s%s%s", f->name,
			      f->values != NULL ? " " : "",
			      f->values != NULL ? f->values : "");
		if (f->initial != NULL)
			(void)fprintf(out, "   (default %s)", f->initial);
		(void)fputs("\n      ", out);
		for (const char *c = f->help; *c != '\0'; c++) {
			(void)fputc(*c, out);
			if (*c == '\n')
				(void)fputs("      ", out);
		}
		(void)fputc('\n', out);
	}
}
