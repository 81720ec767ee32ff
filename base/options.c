/* SPDX-License-Identifier: MIT */
/* Flags: their fields, and how they are read from a command line. */
#include "base/options.h"

#include "base/similar.h"
#include "base/take.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { SUFFIXES_MAX = 5, FLAGS_MAX = 128 /* in all tables together */ };

static const struct {
	const char *what;
	/*
	 * In the order in which they are tried for printing; a factor of 1
	 * always fits.
	 */
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
			{ { "s", 1000 },
			  { "ms", 1 },
			  { "", 1000 },
			  { "h", 3600e3 } } },
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

/* A number above this is not exact in a double. */
static const double EXACT_MAX = 0x1p53;

/* `number` as text that read_number() takes. */
static void print_number(const struct flag *f, double number,
			 char text[FLAG_NUMBER_BYTES])
{
	uint32_t i = 0;
	double factor;

	if (f->unit == FLAG_PLAIN && is_whole(f)) {
		(void)snprintf(text, FLAG_NUMBER_BYTES, "%" PRIu64,
			       number < 0x1p64 ? (uint64_t)number : UINT64_MAX);
		return;
	}
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
	bool is_read = f->type == FLAG_REAL && f->unit == FLAG_PLAIN ?
			       take_real(&text, number) :
			       take_decimal(&text, f->most, number);

	if (!is_read)
		return false;
	for (uint32_t i = 0; i < SUFFIXES_MAX; i++) {
		const char *suffix = units[f->unit].suffixes[i].text;

		if (suffix == NULL || strcmp(suffix, text) != 0)
			continue;
		*number *= units[f->unit].suffixes[i].factor;
		/* 0 may mean "no limit", so nothing else becomes 0. */
		if (is_whole(f) && f->unit != FLAG_PLAIN)
			*number = *number > 0 ? fmax(round(*number), 1) :
						round(*number);
		return *number >= f->least && *number <= f->most &&
		       (!is_whole(f) || *number == floor(*number));
	}
	return false;
}

/* Can the flag's value, such as a seed, be too large for a double? */
static bool is_large(const struct flag *f)
{
	return f->type == FLAG_WHOLE64 && f->unit == FLAG_PLAIN &&
	       f->most > EXACT_MAX;
}

static bool read_large_number(const struct flag *f, const char *text,
			      uint64_t *number)
{
	uint64_t most = f->most < 0x1p64 ? (uint64_t)f->most : UINT64_MAX;

	return number_read_whole(text, (uint64_t)f->least, most, number);
}

/*
 * Is `text` a size with a unit that is written in another way, such as 64MB?
 * Then `meant` is what was meant, else "".
 */
static void print_meant(const struct flag *f, const char *text,
			char meant[FLAG_NUMBER_BYTES])
{
	size_t n = strspn(text, "0123456789.");
	char unit = (char)toupper((unsigned char)text[n]);
	double number;

	meant[0] = '\0';
	if (f->unit != FLAG_SIZE || n == 0 || n > 16 || unit == '\0' ||
	    strchr("GMK", unit) == NULL)
		return;
	text += n + 1;
	if (*text != '\0' && strcasecmp(text, "B") != 0 &&
	    strcasecmp(text, "iB") != 0)
		return;
	(void)snprintf(meant, FLAG_NUMBER_BYTES, "%.*s%c", (int)n, text - n - 1,
		       unit);
	if (!read_number(f, meant, &number)) /* it is out of bounds, too */
		meant[0] = '\0';
}

bool flag_refuse(const struct flag *f, const char *text, struct error *why)
{
	const char *what = units[f->unit].what;
	char meant[FLAG_NUMBER_BYTES];
	char least[FLAG_NUMBER_BYTES], most[FLAG_NUMBER_BYTES];

	if (f->most > 0) {
		if (is_whole(f) && f->unit == FLAG_PLAIN)
			what = "a whole number";
		print_number(f, f->least, least);
		print_number(f, f->most, most);
		print_meant(f, text, meant);
		error_set(why, "'%.64s' is not %s from %s to %s%s%s%s%s", text,
			  what, least, most, f->zero != NULL ? ", or " : "",
			  f->zero != NULL ? f->zero : "",
			  meant[0] != '\0' ? "; did you mean " : "", meant);
	} else {
		error_set(why, "'%.64s' is not a valid %s", text, f->values);
	}
	return false;
}

/* Store `number` in a field of the type of `f`. */
static void set_number(const struct flag *f, double number, void *field)
{
	if (f->type == FLAG_WHOLE32)
		*(uint32_t *)field = (uint32_t)number;
	else if (f->type == FLAG_WHOLE64)
		*(uint64_t *)field = (uint64_t)number;
	else
		*(double *)field = number;
}

bool flag_set(const struct flag *f, const char *text, void *to,
	      struct error *why)
{
	void *field = (char *)to + f->offset;
	double number;

	if (f->type == FLAG_SWITCH) {
		*(bool *)field = true;
		return true;
	}
	if (f->type == FLAG_CHOICE)
		return read_choice(f->values, text, field) ||
		       flag_refuse(f, text, why);
	if (f->type == FLAG_TEXT && text[0] != '\0') {
		*(const char **)field = text;
		return true;
	}
	if (f->zero != NULL && strcmp(text, f->zero) == 0) {
		set_number(f, 0, field);
		return true;
	}
	if (is_large(f))
		return read_large_number(f, text, field) ||
		       flag_refuse(f, text, why);
	if (f->type == FLAG_TEXT || !read_number(f, text, &number))
		return flag_refuse(f, text, why);
	assert(is_whole(f) || f->type == FLAG_REAL);
	set_number(f, number, field);
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
	if (f->type == FLAG_WHOLE64 && f->unit == FLAG_PLAIN) {
		(void)snprintf(text, FLAG_NUMBER_BYTES, "%" PRIu64,
			       *(const uint64_t *)field);
		return;
	}
	if (f->type == FLAG_WHOLE32)
		number = *(const uint32_t *)field;
	else if (f->type == FLAG_WHOLE64)
		number = (double)*(const uint64_t *)field;
	else
		number = *(const double *)field;
	assert(is_whole(f) || f->type == FLAG_REAL);
	if (f->zero != NULL && number == 0)
		(void)snprintf(text, FLAG_NUMBER_BYTES, "%s", f->zero);
	else
		print_number(f, number, text);
}

/* Where a flag was found among the groups. */
struct found {
	const struct flag *flag; /* NULL: there is none */
	uint32_t number;         /* number among the flags of all groups */
};

/* `name` is `bytes` long, without a NUL. */
static struct found find(const struct flag_group *groups, const char *name,
			 size_t bytes)
{
	uint32_t number = 0;

	for (; groups->flags != NULL; groups++)
		for (const struct flag *f = groups->flags; f->name != NULL;
		     f++, number++)
			if (strlen(f->name) == bytes &&
			    memcmp(f->name, name, bytes) == 0)
				return (struct found){ f, number };
	return (struct found){ NULL, 0 };
}

/* The flag whose name begins with `name`, if there is only one. */
static struct found find_abbreviated(const struct flag_group *groups,
				     const char *name, size_t bytes)
{
	struct found only = { NULL, 0 };
	uint32_t number = 0;

	for (; groups->flags != NULL; groups++)
		for (const struct flag *f = groups->flags; f->name != NULL;
		     f++, number++) {
			if (f->is_hidden || f->removed != NULL ||
			    strncmp(f->name, name, bytes) != 0)
				continue;
			if (only.flag != NULL)
				return (struct found){ NULL, 0 };
			only = (struct found){ f, number };
		}
	return only;
}

const struct flag *flags_find(const struct flag_group *groups, const char *name)
{
	return find(groups, name, strlen(name)).flag;
}

const char *flags_meant(const struct flag_group *groups, unsigned source,
			const char *name)
{
	struct similar s = similar_begin(name);

	for (; groups->flags != NULL; groups++) {
		if ((groups->sources & source) != source)
			continue;
		for (const struct flag *f = groups->flags; f->name != NULL; f++)
			if (!f->is_hidden && f->removed == NULL)
				similar_try(&s, f->name, f->name);
	}
	return s.meant;
}

/* A command line being read. */
struct line {
	const struct program *program;
	char *const *words;
	uint32_t count, at;
	bool is_seen[FLAGS_MAX]; /* indexed by `number` of struct found */
	bool has_ended;          /* only operands follow */
	flag_take_fn *take;
	void *arg;
	struct error *error;
};

static struct found find_word(const struct line *l, const char *word)
{
	const struct flag_group *groups = l->program->groups;
	struct found found;
	size_t bytes;

	if (strcmp(word, "-h") == 0)
		return find(groups, "help", strlen("help"));
	if (!take_word(&word, "--"))
		return (struct found){ NULL, 0 };
	bytes = strcspn(word, "=");
	found = find(groups, word, bytes);
	if (found.flag == NULL && l->program->follows_getopt && bytes > 0)
		found = find_abbreviated(groups, word, bytes);
	return found;
}

/* There is no flag `word`.  Returns false. */
static bool refuse_word(const struct line *l, const char *word)
{
	size_t bytes = strcspn(word, "=");
	char name[SIMILAR_BYTES_MAX + 1];
	const char *meant;

	(void)snprintf(name, sizeof(name), "%.*s",
		       (int)(bytes < sizeof(name) ? bytes : sizeof(name)),
		       word);
	meant = flags_meant(l->program->groups, 0, name + strspn(name, "-"));
	if (meant == NULL)
		return error_fail(l->error, "there is no option '%s'", word);
	return error_fail(l->error,
			  "there is no option '%s'; did you mean '--%s'?", word,
			  meant);
}

/* Is the word after words[at] the value of the flag `f`? */
static bool has_value_next(const struct line *l, const struct flag *f)
{
	return f->values != NULL && l->at + 1 < l->count &&
	       (f->alone == NULL || strncmp(l->words[l->at + 1], "--", 2) != 0);
}

/* Take the flag at words[at], and its value if that is the next word. */
static bool read_flag(struct line *l)
{
	const char *word = l->words[l->at], *value = strchr(word, '=');
	struct found found = find_word(l, word);
	const struct flag *f = found.flag;
	struct error why;

	if (f == NULL)
		return refuse_word(l, word);
	assert(found.number < FLAGS_MAX);
	if (value != NULL)
		value++;
	else if (has_value_next(l, f))
		value = l->words[++l->at];
	else
		value = f->alone;
	if (f->removed != NULL)
		error_set(l->error, "--%s: %s", f->name, f->removed);
	else if (value == NULL && f->values != NULL)
		error_set(l->error, "--%s needs a value: %s", f->name,
			  f->values);
	else if (value != NULL && f->values == NULL)
		error_set(l->error, "--%s takes no value", f->name);
	else if (l->is_seen[found.number] && !f->repeats &&
		 !l->program->follows_getopt)
		error_set(l->error, "--%s is given twice", f->name);
	else if (!l->take(l->arg, f, value, &why))
		error_set(l->error, "--%s: %s", f->name, why.text);
	else
		return l->is_seen[found.number] = true;
	return false;
}

static bool is_operand(const struct line *l, const char *word)
{
	return l->program->operand != NULL &&
	       (l->has_ended || word[0] != '-' || word[1] == '\0');
}

static bool read_word(struct line *l)
{
	const char *word = l->words[l->at];

	if (is_operand(l, word))
		return l->take(l->arg, NULL, word, l->error);
	if (l->program->operand != NULL && strcmp(word, "--") == 0)
		return l->has_ended = true;
	return read_flag(l);
}

bool flags_read(const struct program *p, char *const *words, uint32_t count,
		flag_take_fn *take, void *arg, struct error *error)
{
	struct line l = {
		.program = p,
		.words = words,
		.count = count,
		.take = take,
		.arg = arg,
		.error = error,
	};

	for (; l.at < count; l.at++)
		if (!read_word(&l))
			return false;
	return true;
}

void flags_init(const struct flag *table, void *to)
{
	struct error why;

	for (const struct flag *f = table; f->name != NULL; f++) {
		bool ok = f->initial == NULL || f->type == FLAG_OTHER ||
			  flag_set(f, f->initial, to, &why);

		assert(ok);
		(void)ok;
	}
}
