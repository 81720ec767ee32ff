/* SPDX-License-Identifier: MIT */
/*
 * Promise: values that a table of flags allows are read, and printed so that
 * they can be read again; all others are refused by a sentence that names the
 * flag, its value and its range.
 */
#include "base/options.h"

#include "base/test/check.h"
#include "base/test/scratch.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

enum { WORDS_MAX = 8 };

struct settings {
	const char *path;
	bool is_loud;
	struct flags_asked asked;
	uint32_t count;
	uint64_t pixels;
	uint64_t bytes;
	uint32_t pause_ms;
	double share, ratio;
	const char *report;
	uint64_t seed;
	const char *operand;
	uint32_t threads;
	enum { FAST, SLOW, NOT_AT_ALL } pace;
};

static const struct flag own[] = {
	{ "path", "FILE", NULL, "to read", FLAG_FIELD(struct settings, path) },
	{ "loud", NULL, NULL, "say more",
	  FLAG_FIELD(struct settings, is_loud) },
	{ "count", "N", "3", "how many", FLAG_FIELD(struct settings, count),
	  .least = 1, .most = 1000 },
	{ "pixels", "N", "1.5",
	  "in millions,\nof all pixels that there are, and of all others that "
	  "there may be:\n  first: one\n  second: another",
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
	{ "seed", "N", NULL, "of numbers", FLAG_FIELD(struct settings, seed),
	  .most = 0x1p64 },
	{ "threads", "N|auto", "auto", "to use",
	  FLAG_FIELD(struct settings, threads), .least = 1, .most = 64,
	  .zero = "auto" },
	{ "ratio", "X", NULL, "of two", FLAG_FIELD(struct settings, ratio),
	  .most = 1 },
	{ "report", "FILE", NULL, "to write",
	  FLAG_FIELD(struct settings, report), .alone = "-" },
	{ "paces", .removed = "it was removed; see --pace" },
	{ 0 },
};

static const struct flag others[] = {
	{ "colour", "red|green", NULL, "which", .type = FLAG_OTHER,
	  .repeats = true },
	FLAGS_ASKED(struct settings, asked),
	{ 0 },
};

static const struct flag_group groups[] = {
	{ .flags = own, .sources = FLAGS_IN_ENVIRONMENT | FLAGS_IN_FILE },
	{ .flags = others,
	  .sources = FLAGS_IN_ENVIRONMENT,
	  .title = "Rarely needed" },
	{ 0 },
};

static const struct flag object[] = {
	{ .name = "size",
	  .values = "N",
	  .help = "of it; there are some in loadgen/plans" },
	{ 0 },
};

static const struct flag_group key_groups[] = {
	{ .flags = object, .title = "Keys of a file" },
	{ 0 },
};

static const struct program program = {
	.name = "try",
	.summary = "try it",
	.usage = "[OPTION]...",
	.about = "Try all flags.",
	.groups = groups,
	.keys = key_groups,
	.notes = "One.\n\n.Two. See docs/scheduling.md and docs/loadgen.md.",
	.exit_status = "0 always.",
	.prefix = "TRY_",
};

static struct error error;

/* --colour must be red. */
static bool take(void *arg, const struct flag *f, const char *value,
		 struct error *why)
{
	if (f == NULL) {
		((struct settings *)arg)->operand = value;
		return true;
	}
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

	CHECK_NUMBER(strlen(line), <, sizeof(text));
	(void)strcpy(text, line);
	for (char *word = strtok(text, " "); word != NULL;
	     word = strtok(NULL, " ")) {
		CHECK_NUMBER(count, <, WORDS_MAX);
		words[count++] = word;
	}
	*s = (struct settings){ 0 };
	flags_init(own, s);
	error.text[0] = '\0';
	return flags_read(&program, words, count, take, s, &error);
}

static void test_initial_values_are_set(void)
{
	struct settings s;

	CHECK(read_line(&s, ""));
	CHECK(s.path == NULL);
	CHECK(!s.is_loud);
	CHECK_NUMBER(s.count, ==, 3);
	CHECK_NUMBER(s.pixels, ==, 1500000);
	CHECK_NUMBER(s.bytes, ==, 32 << 20);
	CHECK_NUMBER(s.pause_ms, ==, 0);
	CHECK_NUMBER(s.share, ==, 0);
	CHECK_NUMBER(s.pace, ==, SLOW);
	CHECK_NUMBER(s.threads, ==, 0);
}

static void test_both_ways_to_give_a_value(void)
{
	struct settings s;

	CHECK(read_line(&s, "--path a=b --loud --count=7 --colour red"));
	CHECK_TEXT(s.path, "a=b");
	CHECK(s.is_loud);
	CHECK_NUMBER(s.count, ==, 7);
	CHECK(read_line(&s, "--path=a=b --share 0.25 --count 9"));
	CHECK_TEXT(s.path, "a=b");
	CHECK_NUMBER(s.share, ==, 0.25);
	CHECK_NUMBER(s.count, ==, 9);
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

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct settings s;

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK(read_line(&s, cases[i].line));
		CHECK_NUMBER(s.bytes, ==, cases[i].bytes);
		CHECK_NUMBER(s.pause_ms, ==, cases[i].pause_ms);
	}
}

static void test_a_choice_is_one_of_its_words(void)
{
	struct settings s;

	CHECK(read_line(&s, "--pace fast"));
	CHECK_NUMBER(s.pace, ==, FAST);
	CHECK(read_line(&s, "--pace=not-at-all"));
	CHECK_NUMBER(s.pace, ==, NOT_AT_ALL);
}

static void test_faults_are_named(void)
{
	struct settings s;
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
		{ "--bytes 5m", "2G; did you mean 5M" },
		{ "--bytes 1.5MB", "2G; did you mean 1.5M" },
		{ "--bytes 64KiB", "2G; did you mean 64K" },
		{ "--bytes 64MBB", "'64MBB' is not a size from 1B to 2G" },
		{ "--bytes MB", "'MB'" },
		{ "--pause 61s", "--pause: '61s' is not a time from 0ms to "
				 "60s" },
		{ "--pause 1M", "'1M'" },
		{ "--share 0.6",
		  "--share: '0.6' is not a number from 0 to 0.5" },
		{ "--threads 0",
		  "--threads: '0' is not a whole number from 1 to 64, or "
		  "auto" },
		{ "--threads aut", "'aut'" },
		{ "--pace faster",
		  "--pace: 'faster' is not a valid fast|slow|not-at-all" },
		{ "--pace fas", "'fas'" },
		{ "--pace=", "''" },
		{ "--pace fast|slow", "'fast|slow'" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK(!read_line(&s, cases[i][0]));
		CHECK_PART(error.text, cases[i][1]);
	}
}

/* For what is no unit at all, or out of bounds. */
static void test_no_size_is_proposed(void)
{
	static const char *const lines[] = { "--bytes 64MBB", "--bytes 2049M",
					     "--bytes 3g", "--bytes 5GiB" };
	struct settings s;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		CHECK(!read_line(&s, lines[i]));
		CHECK(strstr(error.text, "did you mean") == NULL);
	}
}

/* What was probably meant is named, if it may be given there. */
static void test_typing_errors_are_understood(void)
{
	static const char *const lines[][2] = {
		{ "--colur red", "'--colur'; did you mean '--colour'?" },
		{ "--counts=1", "'--counts=1'; did you mean '--count'?" },
		{ "count 1", "'count'; did you mean '--count'?" },
		{ "-pce fast", "'-pce'; did you mean '--pace'?" },
		{ "--versoin", "'--versoin'; did you mean '--version'?" },
	};
	static char path[] = "TRY_PATHS=x", colour[] = "TRY_COLUR=red";
	struct settings s;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		CHECK(!read_line(&s, lines[i][0]));
		CHECK_PART(error.text, lines[i][1]);
	}
	/* Not a hidden flag, and not one that was removed. */
	CHECK(!read_line(&s, "--mann"));
	CHECK_TEXT(error.text, "there is no option '--mann'");
	CHECK(!flags_read_environment(&program, (char *[]){ path, NULL }, take,
				      &s, &error));
	CHECK_PART(error.text, "variable; did you mean TRY_PATH?");
	CHECK(!flags_read_environment(&program, (char *[]){ colour, NULL },
				      take, &s, &error));
	CHECK_PART(error.text, "did you mean TRY_COLOUR?");
}

/* The keys of a file, and of an object in it. */
static void test_typing_errors_in_files_are_understood(void)
{
	static const char *const keys[][2] = {
		{ "counts", "counts: there is no such key; did you mean "
			    "'count'?" },
		{ "Count", "did you mean 'count'?" },
		{ "version", "version: there is no such key; --version cannot "
			     "be in a file" },
		{ "colur", "colur: there is no such key" },
	};
	struct settings s = { 0 };
	struct scratch scratch;
	char path[SCRATCH_PATH_BYTES], text[64];
	struct cJSON *file;

	scratch_init(&scratch);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		file = NULL;
		(void)snprintf(text, sizeof(text), "{\"%s\": 1}", keys[i][0]);
		scratch_write(&scratch, "file", text, strlen(text));
		CHECK(!flags_read_file(&program,
				       scratch_path(&scratch, "file", path),
				       &file, take, &s, &error));
		CHECK_PART(error.text, keys[i][1]);
		cJSON_Delete(file);
	}
	/* --colour may not be given there. */
	CHECK(strstr(error.text, "colour") == NULL);
	scratch_release(&scratch);
	file = cJSON_Parse("{\"pixls\": 2}");
	CHECK(!flags_read_object(own, file, &s, &error));
	CHECK_TEXT(error.text, "pixls: there is no such key; did you mean "
			       "'pixels'?");
	cJSON_Delete(file);
}

/* Keys that are names of a set which the program knows only as it runs. */
static void test_keys_are_names(void)
{
	static const char *const names[] = { "north", "south" };
	static const char *const wrong[][2] = {
		{ "[1]", "it must be an object" },
		{ "3", "it must be an object" },
		{ "{\"south\": 1, \"nroth\": 2}",
		  "'nroth' is no pole; did you mean 'north'?" },
		{ "{\"east\": 1}",
		  "'east' is no pole; there are north, south" },
		{ "{\"\": 1}", "'' is no pole; there are north, south" },
		{ "{\"south\": 1, \"south\": 1}", "'south' is there twice" },
	};
	static const char *const right[] = { "{}", "{\"south\": [null]}" };
	struct cJSON *keys;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		keys = cJSON_Parse(wrong[i][0]);
		CHECK(keys != NULL);
		CHECK(!flags_check_names(keys, names, 2, "pole", &error));
		CHECK_TEXT(error.text, wrong[i][1]);
		cJSON_Delete(keys);
	}
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		keys = cJSON_Parse(right[i]);
		CHECK(flags_check_names(keys, names, 2, "pole", &error));
		cJSON_Delete(keys);
	}
	CHECK(flags_check_names(NULL, names, 2, "pole", &error));
}

static void test_a_flag_is_given_once(void)
{
	static const char *const cases[][2] = {
		{ "--count 7 --count 8", "--count is given twice" },
		{ "--count 7 --loud --count=7", "--count is given twice" },
		{ "--loud --loud", "--loud is given twice" },
		{ "--help -h", "--help is given twice" },
	};
	struct settings s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK(!read_line(&s, cases[i][0]));
		CHECK_TEXT(error.text, cases[i][1]);
	}
	/* A value that looks like a flag is a value. */
	CHECK(read_line(&s, "--path --count --count 7"));
	CHECK_NUMBER(s.count, ==, 7);
	CHECK(read_line(&s, "--colour red --colour red"));
}

static void test_a_value_may_be_left_out(void)
{
	static const char *const cases[][2] = {
		{ "--report a --loud", "a" },  { "--report=a --loud", "a" },
		{ "--report --loud", "-" },    { "--loud --report", "-" },
		{ "--loud --report - ", "-" }, { "--loud --report=--x", "--x" },
	};
	struct settings s;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK(read_line(&s, cases[i][0]));
		CHECK(s.is_loud);
		CHECK_TEXT(s.report, cases[i][1]);
	}
	CHECK(!read_line(&s, "--report="));
	CHECK(read_line(&s, "--loud"));
	CHECK(s.report == NULL);
}

static void test_h_is_help(void)
{
	struct settings s;

	CHECK(read_line(&s, "-h"));
	CHECK(s.asked.help);
	CHECK(!read_line(&s, "-h=1"));
	CHECK(!read_line(&s, "-help"));
}

static void test_a_refused_value_changes_nothing(void)
{
	struct settings s;

	CHECK(!read_line(&s, "--count 5000"));
	CHECK_NUMBER(s.count, ==, 3);
	CHECK(!read_line(&s, "--count 7 --pace faster"));
	CHECK_NUMBER(s.count, ==, 7);
	CHECK_NUMBER(s.pace, ==, SLOW);
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
		/* 0 may mean "no limit". */
		{ "--pause 0.4ms", "pause", "1ms" },
		{ "--share 0.1", "share", "0.1" },
		{ "--pace slow", "pace", "slow" },
		{ "--pace not-at-all", "pace", "not-at-all" },
		{ "--threads auto", "threads", "auto" },
		{ "--threads 64", "threads", "64" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[FLAG_NUMBER_BYTES];
		struct settings s;

		CHECK(read_line(&s, cases[i][0]));
		flag_print(flags_find(groups, cases[i][1]), &s, text);
		CHECK_TEXT(text, cases[i][2]);
	}
}

/* Returns the text that `p` prints for `asked`. */
static char *answer_of(const struct program *p, struct flags_asked asked)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	CHECK(f != NULL);
	CHECK(program_answer(p, &asked, "abc123", f));
	(void)fclose(f);
	return text;
}

static char *answer(struct flags_asked asked)
{
	return answer_of(&program, asked);
}

static void test_help_has_every_flag(void)
{
	char *text = answer((struct flags_asked){ .help = true });

	for (const struct flag *flag = own; flag->name != NULL; flag++) {
		char line[64];

		if (flag->removed != NULL)
			continue;
		(void)snprintf(line, sizeof(line), "  --%s%s%s", flag->name,
			       flag->values != NULL ? " " : "\n",
			       flag->values != NULL ? flag->values : "");
		CHECK_PART(text, line);
	}
	CHECK_NUMBER(strstr(text, "Usage: try [OPTION]...\nTry all flags.\n"),
		     ==, text);
	CHECK_PART(text, "--bytes SIZE   (default 32M)\n"
			 "      of memory\n");
	CHECK_PART(text, "\nRarely needed:\n\n  --colour");
	CHECK(strstr(text, "--man") == NULL);
	CHECK_PART(text, "\nKeys of a file:\n\n  size N\n      of it; ");
	/* This program is not installed, so paths are those of the sources. */
	CHECK_PART(text, "\nOne.\n\n.Two. See docs/scheduling.md and");
	free(text);
}

/* No line is longer than a terminal; items of a list stay apart. */
static void test_help_is_wrapped(void)
{
	char *text = answer((struct flags_asked){ .help = true });

	CHECK_PART(text, "\n      in millions, of all pixels that there are, "
			 "and of all others that there\n"
			 "      may be:\n"
			 "        first: one\n"
			 "        second: another\n");
	for (const char *line = text; *line != '\0';
	     line += strcspn(line, "\n") + 1)
		CHECK_NUMBER(strcspn(line, "\n"), <=, 79);
	free(text);
}

static void test_version_names_the_commit(void)
{
	char *text = answer((struct flags_asked){ .version = true });

	CHECK(strncmp(text, "try ", 4) == 0);
	CHECK_PART(text, " (commit abc123)\n");
	free(text);
}

static void test_man_page_is_roff(void)
{
	char *text = answer((struct flags_asked){ .man = true });

	CHECK(strncmp(text, ".TH TRY 1 ", 10) == 0);
	CHECK_PART(text, "\n.SH NAME\ntry \\- try it\n");
	CHECK_PART(text, "\n.TP\n\\fB\\-\\-bytes\\fR \\fISIZE\\fR\nof "
			 "memory\n.br\nDefault: 32M\n");
	CHECK_PART(text, "\n.SS Rarely needed\n");
	CHECK_PART(text, "\n.br\nfirst: one\n");
	CHECK_PART(text, "\nOne.\n.PP\n\\&.Two. See /");
	CHECK_PART(text, "/doc/darkroom/scheduling.md and /");
	CHECK_PART(text, "/doc/darkroom\\-loadgen/loadgen.md.\n");
	CHECK_PART(text, "\n.SH FILE FORMAT\n.SS Keys of a file\n.TP\n"
			 "\\fBsize\\fR \\fIN\\fR\nof it; ");
	CHECK_PART(text, "share/darkroom/plans\n");
	CHECK_PART(text, "\n.SH ENVIRONMENT\n");
	CHECK_PART(text, "TRY_PATH for \\-\\-path");
	CHECK(strstr(text, "completion") == NULL);
	free(text);
}

/*
 * The page of "try again" is try-again(1), as git-commit(1) is of "git commit".
 */
static void test_man_page_of_a_command(void)
{
	struct program command = program;
	char *text;

	command.name = "try again";
	text = answer_of(&command, (struct flags_asked){ .man = true });
	CHECK(strncmp(text, ".TH TRY-AGAIN 1 ", 16) == 0);
	CHECK_PART(text, "\n.SH NAME\ntry\\-again \\- try it\n");
	CHECK_PART(text, "\n.SH SYNOPSIS\n.B try again\n");
	free(text);
}

static void test_completion_offers_flags_and_words(void)
{
	char *text = answer((struct flags_asked){ .completion = true });

	CHECK_PART(text, "--pace)\n\t\t_darkroom_offer \"$word\" '' "
			 "'fast slow not-at-all '");
	CHECK_PART(text, "--path)\n\t\t_darkroom_offer \"$word\" '-f' "
			 "''");
	CHECK_PART(text, "'--path --loud --count ");
	CHECK_PART(text, "\ncomplete -F _try try\n");
	free(text);
}

/* The completion of a command is chosen by the first word. */
static void test_completion_of_a_command(void)
{
	struct program command = program;
	char *text;

	command.name = "try again";
	text = answer_of(&command, (struct flags_asked){ .completion = true });
	CHECK_PART(text, "\n_try_again()\n{\n");
	CHECK_PART(text, "\n_try_or_again()\n{\n\tif [ "
			 "\"${COMP_WORDS[1]}\" = again ] && [ "
			 "\"$COMP_CWORD\" -gt 1 ]; then\n"
			 "\t\t_try_again\n\telse\n\t\t_try\n");
	CHECK_PART(text, "\ncomplete -F _try_or_again try\n");
	free(text);
}

static void test_nothing_asked(void)
{
	struct flags_asked asked = { 0 };

	CHECK(!program_answer(&program, &asked, "abc123", stdout));
}

/* Read the words by a program that has operands and follows getopt_long(). */
static bool read_as_getopt(struct settings *s, const char *const *words,
			   uint32_t count)
{
	struct program getopt = program;

	getopt.follows_getopt = true;
	getopt.operand = "FILE";
	*s = (struct settings){ 0 };
	flags_init(own, s);
	return flags_read(&getopt, (char *const *)words, count, take, s,
			  &error);
}

static void test_getopt_rules(void)
{
	const char *const last_wins[] = { "--count", "7", "a", "--count=8",
					  "--loud" };
	const char *const short_name[] = { "--cou=7", "b", "-" };
	const char *const ended[] = { "--", "--count" };
	const char *const ambiguous[] = { "--p", "x" };
	const char *const unknown[] = { "-x" };
	struct settings s;

	CHECK(read_as_getopt(&s, last_wins, 5));
	CHECK_NUMBER(s.count, ==, 8);
	CHECK(s.is_loud);
	CHECK_TEXT(s.operand, "a");
	CHECK(read_as_getopt(&s, short_name, 3));
	CHECK_NUMBER(s.count, ==, 7);
	CHECK_TEXT(s.operand, "-");
	CHECK(read_as_getopt(&s, ended, 2));
	CHECK_NUMBER(s.count, ==, 3);
	CHECK_TEXT(s.operand, "--count");
	CHECK(!read_as_getopt(&s, ambiguous, 2));
	CHECK_TEXT(error.text, "there is no option '--p'");
	CHECK(!read_as_getopt(&s, unknown, 1));
}

/* Numbers of 64 bits, which a double cannot hold, are read exactly. */
static void test_large_numbers_are_exact(void)
{
	struct settings s;
	char text[FLAG_NUMBER_BYTES];

	CHECK(read_line(&s, "--seed 18446744073709551615"));
	CHECK_NUMBER(s.seed, ==, UINT64_MAX);
	flag_print(flags_find(groups, "seed"), &s, text);
	CHECK_TEXT(text, "18446744073709551615");
	CHECK(!read_line(&s, "--seed 18446744073709551616"));
	CHECK_PART(error.text, "from 0 to 18446744073709551615");
	CHECK(!read_line(&s, "--seed 1.5"));
	CHECK(read_line(&s, "--ratio 2.5e-3"));
	CHECK_NUMBER(s.ratio, ==, 2.5e-3);
	CHECK(!read_line(&s, "--count 1e2"));
}

static void test_a_removed_flag_is_refused(void)
{
	static char variable[] = "TRY_PACES=fast";
	const char *const shorter[] = { "--pac", "fast" };
	const struct flags_asked lists[] = { { .help = true },
					     { .man = true },
					     { .completion = true } };
	struct settings s;

	CHECK(!read_line(&s, "--paces"));
	CHECK_TEXT(error.text, "--paces: it was removed; see --pace");
	CHECK(!read_line(&s, "--paces fast"));
	CHECK(!read_line(&s, "--paces=1"));
	CHECK(!flags_read_environment(&program, (char *[]){ variable, NULL },
				      take, &s, &error));
	CHECK_TEXT(error.text, "TRY_PACES: it was removed; see --pace");
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		char *text = answer(lists[i]);

		CHECK(strstr(text, "paces") == NULL);
		free(text);
	}
	CHECK(read_as_getopt(&s, shorter, 2));
	CHECK_NUMBER(s.pace, ==, FAST);
}

int main(void)
{
	test_initial_values_are_set();
	test_both_ways_to_give_a_value();
	test_units_are_understood();
	test_a_choice_is_one_of_its_words();
	test_faults_are_named();
	test_no_size_is_proposed();
	test_typing_errors_are_understood();
	test_typing_errors_in_files_are_understood();
	test_keys_are_names();
	test_a_flag_is_given_once();
	test_a_value_may_be_left_out();
	test_h_is_help();
	test_a_refused_value_changes_nothing();
	test_values_are_printed_as_they_can_be_given();
	test_help_has_every_flag();
	test_help_is_wrapped();
	test_version_names_the_commit();
	test_man_page_is_roff();
	test_man_page_of_a_command();
	test_completion_offers_flags_and_words();
	test_completion_of_a_command();
	test_nothing_asked();
	test_getopt_rules();
	test_large_numbers_are_exact();
	test_a_removed_flag_is_refused();
	return 0;
}
