/* SPDX-License-Identifier: MIT */
/*
 * Promise: what a table says is read, printed so that it can be read again, and
 * all else refused by a sentence that names the flag, its value and its range.
 */
#include "stages/flags.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 8 };

struct settings {
	const char *path;
	bool is_loud;
	uint32_t count;
	uint64_t pixels;
	uint64_t bytes;
	uint32_t pause_ms;
	double share;
	enum { FAST, SLOW, NOT_AT_ALL } pace;
};

static const struct flag own[] = {
	{ "path", "FILE", NULL, "to read", FLAG_FIELD(struct settings, path) },
	{ "loud", NULL, NULL, "say more",
	  FLAG_FIELD(struct settings, is_loud) },
	{ "count", "N", "3", "so many", FLAG_FIELD(struct settings, count),
	  .least = 1, .most = 1000 },
	{ "pixels", "N", "1.5", "in millions,\nof all",
	  FLAG_FIELD(struct settings, pixels), .unit = FLAG_MILLIONS,
	  .least = 1e6, .most = 9e6 },
	{ "bytes", "SIZE", "32M", "of memory",
	  FLAG_FIELD(struct settings, bytes), .unit = FLAG_SIZE, .least = 1,
	  .most = UINT64_C(2) << 30 },
	{ "pause", "TIME", "0", "between two",
	  FLAG_FIELD(struct settings, pause_ms), .unit = FLAG_TIME,
	  .most = 60000 },
	{ "share", "X", NULL, "of all", FLAG_FIELD(struct settings, share),
	  .most = 0.5 },
	{ "pace", "fast|slow|not-at-all", "slow", "to go at",
	  FLAG_CHOICE_FIELD(struct settings, pace) },
	{ 0 },
};

static const struct flag others[] = {
	{ "colour", "red|green", NULL, "which", .type = FLAG_OTHER },
	{ 0 },
};

static const struct flag *const tables[] = { own, others, NULL };

static char error[FLAGS_ERROR_BYTES];

/* --colour must be red. */
static bool take(void *arg, const struct flag *f, const char *value,
		 char why[FLAG_WHY_BYTES])
{
	if (f->type != FLAG_OTHER)
		return flag_set(f, value, arg, why);
	return strcmp(value, "red") == 0 || flag_refuse(f, value, why);
}

/* `line` is split at blanks, as a shell would. */
static bool read_line(struct settings *s, const char *line)
{
	static char text[256];
	char *words[WORDS_MAX];
	uint32_t count = 0;

	assert(strlen(line) < sizeof(text));
	(void)strcpy(text, line);
	for (char *word = strtok(text, " "); word != NULL;
	     word = strtok(NULL, " ")) {
		assert(count < WORDS_MAX);
		words[count++] = word;
	}
	*s = (struct settings){ 0 };
	flags_init(own, s);
	error[0] = '\0';
	return flags_read(tables, words, count, take, s, error);
}

static void test_initial_values_are_set(void)
{
	struct settings s;

	assert(read_line(&s, ""));
	assert(s.path == NULL && !s.is_loud && s.count == 3);
	assert(s.pixels == 1500000 && s.bytes == 32 << 20);
	assert(s.pause_ms == 0 && s.share == 0 && s.pace == SLOW);
}

static void test_both_ways_to_give_a_value(void)
{
	struct settings s;

	assert(read_line(&s, "--path a=b --loud --count=7 --colour red"));
	assert(strcmp(s.path, "a=b") == 0 && s.is_loud && s.count == 7);
	assert(read_line(&s, "--path=a=b --share 0.25 --count 8 --count 9"));
	assert(strcmp(s.path, "a=b") == 0 && s.share == 0.25 && s.count == 9);
}

static void test_units_are_understood(void)
{
	static const struct {
		const char *line;
		uint64_t bytes;
		uint32_t pause_ms;
	} cases[] = {
		{ "--bytes 2G --pause 1.5s", UINT64_C(2) << 30, 1500 },
		{ "--bytes 1.5G --pause 250ms", UINT64_C(3) << 29, 250 },
		{ "--bytes 64M --pause 60", 64 << 20, 60000 },
		{ "--bytes 64 --pause 0", 64 << 20, 0 },
		{ "--bytes 3K --pause 0s", 3 << 10, 0 },
		{ "--bytes 100B --pause 0.5", 100, 500 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings s;

		assert(read_line(&s, cases[i].line));
		assert(s.bytes == cases[i].bytes);
		assert(s.pause_ms == cases[i].pause_ms);
	}
}

static void test_a_choice_is_one_of_its_words(void)
{
	struct settings s;

	assert(read_line(&s, "--pace fast") && s.pace == FAST);
	assert(read_line(&s, "--pace=not-at-all") && s.pace == NOT_AT_ALL);
}

static void test_faults_are_named(void)
{
	static const char *const cases[][2] = {
		{ "--colur red", "there is no option '--colur'" },
		{ "--coun 1", "'--coun'" },
		{ "--counts 1", "'--counts'" },
		{ "count 1", "'count'" },
		{ "-count 1", "'-count'" },
		{ "--", "'--'" },
		{ "--count", "--count needs a value: N" },
		{ "--loud=yes", "--loud takes no value" },
		{ "--path=", "--path: '' is not a valid FILE" },
		{ "--colour blue",
		  "--colour: 'blue' is not a valid red|green" },
		{ "--count 0",
		  "--count: '0' is not a whole number from 1 to 1000" },
		{ "--count 1001", "'1001'" },
		{ "--count 1.5", "'1.5'" },
		{ "--count -1", "'-1'" },
		{ "--count 1x", "'1x'" },
		{ "--count=", "''" },
		{ "--count 99999999999999999999", "9999' is not" },
		{ "--pixels 0.9",
		  "--pixels: '0.9' is not a number from 1 to 9" },
		{ "--bytes 2049M", "--bytes: '2049M' is not a size from 1B "
				   "to 2G" },
		{ "--bytes 0", "'0'" },
		{ "--bytes 5T", "'5T'" },
		{ "--bytes 5m", "'5m'" },
		{ "--pause 61s", "--pause: '61s' is not a time from 0ms to "
				 "60s" },
		{ "--pause 1M", "'1M'" },
		{ "--share 0.6",
		  "--share: '0.6' is not a number from 0 to 0.5" },
		{ "--pace faster",
		  "--pace: 'faster' is not a valid fast|slow|not-at-all" },
		{ "--pace fas", "'fas'" },
		{ "--pace=", "''" },
		{ "--pace fast|slow", "'fast|slow'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings s;

		assert(!read_line(&s, cases[i][0]));
		assert(strstr(error, cases[i][1]) != NULL);
	}
}

static void test_a_refused_value_changes_nothing(void)
{
	struct settings s;

	assert(!read_line(&s, "--count 7 --count 5000"));
	assert(s.count == 7);
}

static void test_values_are_printed_as_they_can_be_given(void)
{
	static const char *const cases[][3] = {
		{ "--count 12", "count", "12" },
		{ "--pixels 2.25", "pixels", "2.25" },
		{ "--bytes 2048", "bytes", "2G" },
		{ "--bytes 1.5G", "bytes", "1536M" },
		{ "--bytes 1025K", "bytes", "1025K" },
		{ "--bytes 1025B", "bytes", "1025B" },
		{ "--pause 2000ms", "pause", "2s" },
		{ "--pause 2.001", "pause", "2001ms" },
		{ "--pause 0", "pause", "0ms" },
		{ "--share 0.1", "share", "0.1" },
		{ "--pace slow", "pace", "slow" },
		{ "--pace not-at-all", "pace", "not-at-all" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[FLAG_NUMBER_BYTES];
		struct settings s;

		assert(read_line(&s, cases[i][0]));
		flag_print(flags_find(tables, cases[i][1]), &s, text);
		assert(strcmp(text, cases[i][2]) == 0);
	}
}

static void test_help_has_every_flag(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert(f != NULL);
	flags_print_help(own, f);
	(void)fclose(f);
	for (const struct flag *flag = own; flag->name != NULL; flag++) {
		char line[64];

		(void)snprintf(line, sizeof(line), "  --%s%s%s", flag->name,
			       flag->values != NULL ? " " : "\n",
			       flag->values != NULL ? flag->values : "");
		assert(strstr(text, line) != NULL);
	}
	assert(strstr(text, "--bytes SIZE   (default 32M)\n"
			    "      of memory\n") != NULL);
	assert(strstr(text, "      in millions,\n      of all\n") != NULL);
	free(text);
}

int main(void)
{
	test_initial_values_are_set();
	test_both_ways_to_give_a_value();
	test_units_are_understood();
	test_a_choice_is_one_of_its_words();
	test_faults_are_named();
	test_a_refused_value_changes_nothing();
	test_values_are_printed_as_they_can_be_given();
	test_help_has_every_flag();
	return 0;
}
