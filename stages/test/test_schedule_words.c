/* SPDX-License-Identifier: MIT */
/*
 * Promise: a schedule is written as flags that give it again, and each of their
 * values has its own explanation.
 */
#include "base/error.h"
#include "stages/flags.h"
#include "stages/test/each_policy.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES = 3, CORES = 4 };

static const char *const stages[STAGES] = { "cut", "sew", "iron" };

/* A complete schedule from "--flag value --flag ...". */
static struct schedule read_flags(const char *line)
{
	static const char prefix[] = "--";
	struct error error;
	char *text = strdup(line), *rest = text, *word;
	struct schedule s;
	bool ok;

	CHECK(text != NULL);
	schedule_init(&s);
	while ((word = strsep(&rest, " ")) != NULL) {
		const char *name = word + strlen(prefix);
		bool has_value = rest != NULL && strncmp(rest, prefix, 2) != 0;

		ok = schedule_set(&s, name,
				  has_value ? strsep(&rest, " ") : NULL, stages,
				  STAGES);
		CHECK(ok);
	}
	ok = schedule_complete(&s, STAGES, CORES, error.text);
	CHECK(ok);
	free(text);
	return s;
}

/* What schedule_print() writes for `line`; the caller frees it. */
static char *printed(const char *line)
{
	struct schedule s = read_flags(line);
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	CHECK(f != NULL);
	schedule_print(&s, stages, STAGES, f);
	(void)fclose(f);
	return text;
}

static const char *const lines[] = {
	"--policy thread-per-connection",
	"--policy color --discipline lcfs --slice 0 --balance shared",
	"--policy color --discipline edf --slice 0 --balance shared",
	"--policy cohort --regime exhaustive --look lengths "
	"--idle wake --discipline fcfs "
	"--balance shared",
	"--policy srpt --regime exhaustive --look blind --idle thesis "
	"--discipline fcfs --balance shared",
	"--policy srpt --regime exhaustive --look blind "
	"--idle code-step --discipline fcfs --balance shared",
	"--policy srpt --regime exhaustive --look blind "
	"--idle code-pause --discipline fcfs --balance shared",
	"--policy srpt --regime exhaustive --look blind "
	"--idle backoff=7:0.050:12:linear "
	"--discipline fcfs --balance shared",
	"--policy srpt --regime exhaustive --look blind "
	"--idle backoff=500us:3:12 --discipline fcfs --balance shared",
	"--policy srpt --regime exhaustive --look blind "
	"--idle backoff=64:1:0.999 --discipline fcfs --balance shared",
	"--policy mg1 --regime gated --look blind --idle backoff=250 "
	"--discipline stack "
	"--balance partition=2",
	"--policy dbr --regime n-gated=8,cut=exhaustive,iron=cutoff=40 "
	"--look lengths --idle backoff=10000 "
	"--discipline srpt=20,sew=fcfs --slice 0 "
	"--balance replicate=4 --distribute round-robin",
	"--policy srpt --regime time-gated=1500 --look blind "
	"--idle wake "
	"--discipline srpt=0.500000 --slice 0 "
	"--balance replicate=2 --distribute least-loaded",
	"--policy srpt --regime exhaustive --look lengths --idle wake "
	"--discipline fcfs "
	"--balance replicate=2 --distribute least-loaded --steal",
	"--policy color --discipline fcfs "
	"--balance replicate=2 --distribute size --steal",
	"--policy mg1 --regime exhaustive --look lengths --idle wake "
	"--discipline fcfs --balance shared --enough sew=3,iron=12",
	"--policy color --discipline fcfs "
	"--balance replicate=2,cut=shared,iron=shared "
	"--distribute least-loaded",
	"--policy cohort --regime cutoff=250 --look lengths "
	"--idle wake --discipline srpt=1000000 --slice 0 "
	"--balance shared --threshold cut=3,iron=0:900",
	"--policy pool-per-stage --discipline fcfs,cut=srpt,sew=srpt=3 "
	"--slice 7 --balance "
	"shared "
	"--pool cut=1,sew=7,iron=2",
	"--policy pool-per-stage --discipline fcfs "
	"--balance replicate=2 --distribute round-robin --pool auto",
	"--policy capriccio --resources learn --balance replicate=4 "
	"--distribute least-loaded",
	"--policy capriccio --resources ignore --balance replicate=4 "
	"--distribute round-robin",
	"--policy servlib --threads 1:1 --io sync",
	"--policy servlib --threads n:m --io sync --quantum 500",
	"--policy servlib --threads n:1 --io async --transfers thread",
	"--policy servlib --threads n:m --io async "
	"--transfers scheduler --quantum 3600000000",
};

static void test_each_flag_is_written_as_it_is_read(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		char *text = printed(lines[i]);

		CHECK_TEXT(text, lines[i]);
		free(text);
	}
}

static void test_defaults_are_written(void)
{
	char *text = printed("--policy srpt --balance replicate");

	CHECK_TEXT(text, "--policy srpt --regime exhaustive "
			 "--look lengths --idle wake "
			 "--discipline fcfs --balance replicate=4 "
			 "--distribute round-robin");
	free(text);
	text = printed("--policy capriccio");
	CHECK_TEXT(text, "--policy capriccio --resources learn "
			 "--balance replicate=4 "
			 "--distribute least-loaded");
	free(text);
}

/* The word of `flag` in the schedule `line`. */
static struct schedule_word find_word(const char *line, const char *flag)
{
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	struct schedule s = read_flags(line);
	uint32_t count = schedule_words(&s, stages, STAGES, words), i = 0;

	while (i < count && strcmp(words[i].flag, flag) != 0)
		i++;
	CHECK_NUMBER(i, <, count);
	return words[i];
}

/* Check that the meaning is at least a sentence. */
static void check_meaning(const struct schedule_word *w)
{
	size_t bytes = strlen(w->meaning);

	CHECK_NUMBER(bytes, >, 20);
	CHECK_NUMBER(w->meaning[bytes - 1], ==, '.');
	CHECK(strpbrk(w->meaning, "\n\"\\") == NULL);
}

/* "n-gated=N" -> "n-gated=2" */
static void make_value(const char *form, size_t bytes, char to[64])
{
	size_t word = strcspn(form, "[=|");

	CHECK_NUMBER(word, <, 32);
	(void)snprintf(to, 64, "%.*s%s", (int)word, form,
		       word < bytes ? "=2" : "");
}

/* Check each value that --help names for `flag`, after the flags `rest`. */
static void check_values(const char *flag, const char *rest)
{
	const struct flag_group groups[] = { { .flags = schedule_flags },
					     { 0 } };
	const char *form = flags_find(groups, flag)->values;
	const char *seen[8];
	uint32_t seen_count = 0;

	for (;;) {
		size_t bytes = strcspn(form, "|");
		char value[64], line[128];
		struct schedule_word w;

		make_value(form, bytes, value);
		(void)snprintf(line, sizeof(line), "%s --%s %s", rest, flag,
			       value);
		w = find_word(line, flag);
		CHECK_TEXT(w.value, value);
		check_meaning(&w);
		for (uint32_t i = 0; i < seen_count; i++)
			CHECK(strcmp(w.meaning, seen[i]) != 0);
		CHECK_NUMBER(seen_count, <, 8);
		seen[seen_count++] = w.meaning;
		if (form[bytes] == '\0')
			break;
		form += bytes + 1;
	}
	CHECK_NUMBER(seen_count, >=, 2);
}

static void test_each_value_has_words_of_its_own(void)
{
	check_values("regime", "--policy cohort");
	check_values("discipline", "--policy cohort");
	check_values("balance", "--policy cohort");
	check_values("distribute", "--policy cohort --balance replicate");
	check_values("threads", "--policy servlib");
	check_values("io", "--policy servlib");
	check_values("transfers", "--policy servlib");
}

static void test_each_policy_brings_its_words(void)
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		char line[64];
		struct schedule_word w;

		(void)snprintf(line, sizeof(line), "--policy %s", (*p)->name);
		w = find_word(line, "policy");
		CHECK_TEXT(w.value, (*p)->name);
		CHECK_NUMBER(w.meaning, ==, (*p)->meaning);
		check_meaning(&w);
	}
}

static void test_what_may_be_added_has_words(void)
{
	static const struct {
		const char *line, *flag, *value;
	} cases[] = {
		{ "--balance replicate=2 --steal", "steal", "" },
		{ "--policy pool-per-stage --pool auto", "pool", "auto" },
		{ "--policy pool-per-stage --pool sew=3", "pool",
		  "cut=1,sew=3,iron=1" },
		{ "--policy dbr --pool sew=3", "pool", "sew=3" },
		{ "--policy dbr --pool iron=2,cut=1", "pool", "cut=1,iron=2" },
		{ "--threshold iron=4:5", "threshold", "iron=4:5" },
		{ "--regime iron=gated", "regime", "exhaustive,iron=gated" },
		{ "--discipline lcfs,cut=edf", "discipline", "lcfs,cut=edf" },
		{ "--balance replicate,sew=shared", "balance",
		  "replicate=4,sew=shared" },
		{ "--balance even,sew=shared,iron=even=9", "balance",
		  "even=4,sew=shared,iron=even=9" },
		{ "--policy servlib --quantum 7", "quantum", "7" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schedule_word w =
			find_word(cases[i].line, cases[i].flag);

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK_TEXT(w.value, cases[i].value);
		check_meaning(&w);
	}
}

/* The longest possible values fit. */
static void test_all_stages_have_room(void)
{
	static const char *names[STAGES_MAX];
	struct schedule_word words[SCHEDULE_WORDS_MAX];
	struct schedule s;

	schedule_init(&s);
	s.part_count = 1;
	s.has_thresholds = true;
	s.rules.own_regimes = UINT32_MAX;
	for (uint32_t i = 0; i < STAGES_MAX; i++) {
		names[i] = "decompress";
		s.thresholds[i] = (struct threshold){ 1000000, 3600000000000 };
		s.rules.regimes[i] =
			(struct regime){ REGIME_TIME_GATED, 3600000000000 };
	}
	CHECK_NUMBER(schedule_words(&s, names, STAGES_MAX, words), ==, 7);
	CHECK_NUMBER(strlen(words[1].value), ==,
		     strlen("exhaustive") +
			     STAGES_MAX * strlen(",decompress=time-gated="
						 "3600000000"));
	CHECK_NUMBER(strlen(words[6].value), ==,
		     STAGES_MAX * strlen("decompress=1000000:3600000000,") - 1);
}

static void test_a_schedule_of_most_flags_has_room(void)
{
	struct schedule_word w = find_word(
		"--policy cohort --discipline srpt --balance replicate --steal "
		"--pool cut=2 --threshold iron=3 --enough iron=4",
		"enough");

	CHECK_TEXT(w.value, "iron=4");
}

int main(void)
{
	test_a_schedule_of_most_flags_has_room();
	test_each_flag_is_written_as_it_is_read();
	test_defaults_are_written();
	test_each_value_has_words_of_its_own();
	test_each_policy_brings_its_words();
	test_what_may_be_added_has_words();
	test_all_stages_have_room();
	return 0;
}
