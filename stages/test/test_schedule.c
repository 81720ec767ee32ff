/* SPDX-License-Identifier: MIT */
/*
 * Promises: flags are read as the table says; invalid values are refused;
 * combinations without a meaning are refused by a sentence that names the flag,
 * but defaults never are.
 */
#include "base/error.h"
#include "stages/flags.h"
#include "stages/test/each_policy.h"

#include "base/test/check.h"
#include "base/util.h"

#include <stdio.h>
#include <string.h>

enum { STAGES = 4, CORES = 8 };

static const char *const stages[STAGES] = { "decode", "scale", "blur",
					    "encode" };

static bool set(struct schedule *s, const char *name, const char *text)
{
	return schedule_set(s, name, text, stages, STAGES);
}

/*
 * Set flags as on a command line, "--policy srpt --steal", and complete them.
 * False: `error` says why.
 */
static bool complete(struct schedule *s, const char *line, struct error *error)
{
	char words[256];
	char *rest = words;
	char *word;

	schedule_init(s);
	(void)snprintf(words, sizeof(words), "%s", line);
	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		CHECK(strncmp(word, "--", 2) == 0);
		const char *value = strcmp(word, "--steal") == 0 ?
					    NULL :
					    strtok_r(rest, " ", &rest);

		CHECK(set(s, word + 2, value));
	}
	return schedule_complete(s, STAGES, CORES, error->text);
}

static void test_initial_values_are_the_defaults(void)
{
	struct schedule s, defaults;

	schedule_init(&s);
	schedule_init(&defaults);
	for (const struct flag *f = schedule_flags; f->name != NULL; f++) {
		CHECK(f->help != NULL);
		CHECK_NUMBER(s.given, ==, (1u << (f - schedule_flags)) - 1);
		s.given |= 1u << (f - schedule_flags);
		if (f->initial != NULL)
			CHECK(set(&s, f->name, f->initial));
	}
	CHECK_NUMBER(s.policy, ==, policy_find("cohort"));
	CHECK_NUMBER(s.policy, ==, defaults.policy);
	CHECK_NUMBER(s.regime.kind, ==, REGIME_EXHAUSTIVE);
	CHECK_NUMBER(s.regime.kind, ==, defaults.regime.kind);
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_FCFS);
	CHECK_NUMBER(s.discipline.kind, ==, defaults.discipline.kind);
	CHECK_NUMBER(s.balance, ==, BALANCE_SHARED);
	CHECK_NUMBER(s.balance, ==, defaults.balance);
	CHECK_NUMBER(s.distribute, ==, DISTRIBUTE_ROUND_ROBIN);
	CHECK_NUMBER(s.distribute, ==, defaults.distribute);
	CHECK(!s.steal);
	CHECK(!s.pool_is_auto);
	CHECK(!s.has_thresholds);
	CHECK_NUMBER(s.threads.mapping, ==, THREADS_N_TO_M);
	CHECK_NUMBER(s.threads.mapping, ==, defaults.threads.mapping);
	CHECK_NUMBER(s.threads.io, ==, THREADS_IO_ASYNC);
	CHECK_NUMBER(s.threads.io, ==, defaults.threads.io);
	CHECK_NUMBER(s.threads.transfers, ==, TRANSFERS_BY_SCHEDULER);
	CHECK_NUMBER(s.threads.transfers, ==, defaults.threads.transfers);
	CHECK_NUMBER(s.threads.quantum_ns, ==, 0);
	CHECK_NUMBER(defaults.threads.quantum_ns, ==, 0);
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		CHECK_NUMBER(s.pool_threads[i], ==, 0);
}

static void test_every_policy_is_a_value(void)
{
	struct schedule s;

	schedule_init(&s);
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		CHECK(set(&s, "policy", (*p)->name));
		CHECK_NUMBER(s.policy, ==, *p);
	}
}

static void test_regimes_are_read(void)
{
	static const struct {
		const char *text;
		struct regime regime;
	} cases[] = {
		{ "n-gated=5", { REGIME_N_GATED, 5 } },
		{ "time-gated=700", { REGIME_TIME_GATED, 700000 } },
		{ "cutoff=2500", { REGIME_CUTOFF, 2500000 } },
		{ "gated", { REGIME_GATED, 0 } },
		{ "exhaustive", { REGIME_EXHAUSTIVE, 0 } },
	};
	struct schedule s;

	schedule_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check_case("cases[%zu]: %s", i, cases[i].text);
		CHECK(set(&s, "regime", cases[i].text));
		CHECK_NUMBER(s.regime.kind, ==, cases[i].regime.kind);
		CHECK_NUMBER(s.regime.limit, ==, cases[i].regime.limit);
	}
}

/* The regime of a stage, if a program has these flags. */
static void check_regime(const struct schedule *s, uint32_t stage,
			 enum regime_kind kind, uint64_t limit)
{
	CHECK_NUMBER(schedule_regime(s, stage)->kind, ==, kind);
	CHECK_NUMBER(schedule_regime(s, stage)->limit, ==, limit);
}

static void test_a_stage_may_have_its_own_regime(void)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set(&s, "regime", "gated,blur=n-gated=5,decode=cutoff=7"));
	check_regime(&s, 0, REGIME_CUTOFF, 7000);
	check_regime(&s, 1, REGIME_GATED, 0);
	check_regime(&s, 2, REGIME_N_GATED, 5);
	CHECK(schedule_has_pauses(&s));
	/* Of a stage only: the others keep theirs. */
	CHECK(set(&s, "regime", "decode=exhaustive"));
	check_regime(&s, 0, REGIME_EXHAUSTIVE, 0);
	check_regime(&s, 1, REGIME_GATED, 0);
	check_regime(&s, 2, REGIME_N_GATED, 5);
	CHECK(!schedule_has_pauses(&s));
	/* Of all: none keeps its own. */
	CHECK(set(&s, "regime", "time-gated=9"));
	for (uint32_t i = 0; i < STAGES; i++)
		check_regime(&s, i, REGIME_TIME_GATED, 9000);
	CHECK(!schedule_set(&s, "regime", "decode=gated", NULL, 0));
}

static void test_a_stage_may_have_its_own_discipline(void)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(!schedule_has_ranks(&s));
	CHECK(set(&s, "discipline", "blur=srpt=5"));
	CHECK_NUMBER(schedule_discipline(&s, 1), ==, &s.discipline);
	CHECK_NUMBER(schedule_discipline(&s, 2)->kind, ==, DISCIPLINE_SRPT);
	CHECK_NUMBER(schedule_discipline(&s, 2)->ageing, ==, 5);
	CHECK(!schedule_discipline(&s, 2)->follows_load);
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_FCFS);
	CHECK(schedule_has_ranks(&s));
	CHECK(set(&s, "slice", "9"));
	CHECK(schedule_has_pauses(&s));
	CHECK(set(&s, "discipline", "stack"));
	CHECK_NUMBER(schedule_discipline(&s, 2), ==, &s.discipline);
	CHECK(!schedule_has_pauses(&s));
}

/* What a graph says of stages is no flag: it gives way to the policy. */
static void test_rules_of_a_graph_give_way(void)
{
	struct error error;
	struct schedule s;

	schedule_init(&s);
	s.rules.own_regimes = s.rules.own_disciplines = 1;
	s.rules.disciplines[0].kind = DISCIPLINE_STACK;
	s.policy = policy_find("color");
	CHECK(schedule_complete(&s, STAGES, CORES, error.text));
	CHECK_NUMBER(schedule_discipline(&s, 0)->kind, ==, DISCIPLINE_FCFS);
}

static const char *help_of(const char *name)
{
	const struct flag *f = schedule_flags;

	while (strcmp(f->name, name) != 0)
		f++;
	return f->help;
}

static void test_looks_and_idling_are_read(void)
{
	struct schedule s;

	schedule_init(&s);
	CHECK_NUMBER(s.look, ==, LOOK_LENGTHS);
	CHECK_NUMBER(s.idle.kind, ==, IDLE_WAKE);
	CHECK(set(&s, "look", "blind"));
	CHECK_NUMBER(s.look, ==, LOOK_BLIND);
	CHECK(set(&s, "look", "lengths"));
	CHECK_NUMBER(s.look, ==, LOOK_LENGTHS);
	CHECK(set(&s, "idle", "wake"));
	CHECK_NUMBER(s.idle.kind, ==, IDLE_WAKE);
	CHECK(!set(&s, "look", ""));
	CHECK(!set(&s, "look", "blind=1"));
	CHECK(!set(&s, "idle", "wake=1"));
}

static void expect_rests(const char *value, const struct idle *wanted)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set(&s, "idle", value));
	CHECK_NUMBER(s.idle.kind, ==, wanted->kind);
	CHECK_NUMBER(s.idle.patience_misses, ==, wanted->patience_misses);
	CHECK_NUMBER(s.idle.patience_ns, ==, wanted->patience_ns);
	CHECK_NUMBER(s.idle.first_ns, ==, wanted->first_ns);
	CHECK_NUMBER(s.idle.longest_ns, ==, wanted->longest_ns);
	CHECK_NUMBER(s.idle.is_linear, ==, wanted->is_linear);
}

/* The help says in numbers what each of these words means. */
static void expect_rests_in_help(const char *word, const char *value,
				 const struct idle *wanted)
{
	char line[64];

	(void)snprintf(line, sizeof(line), "\n  %s: %s: ", word, value);
	CHECK_PART(help_of("idle"), line);
	expect_rests(word, wanted);
	expect_rests(value, wanted);
}

static void test_rests_are_read(void)
{
	static const char *const refused_values[] = {
		"backoff=0",
		"backoff=",
		"backoff=1:2",
		"backoff=1:0:2",
		"backoff=1:2:0",
		"backoff=1:2:3:",
		"backoff=1:2:3:4",
		"backoff=1:2:3:doubling",
		"backoff=-1:2:3",
		"backoff=1000001:2:3",
		"backoff=1ms:2:3",
		"backoff=1:0.0001:3",
		"backoff=:2:3",
		"backoff=3600000001us:2:3",
		"backoff=1:2:3:linea",
		"thesis=1",
		"code",
	};
	struct schedule s;

	expect_rests("backoff", &idle_thesis);
	expect_rests("backoff=250", &(struct idle){ IDLE_BACKOFF, 64, 0, 1000,
						    250000, false });
	expect_rests(
		"backoff=0:10:10000",
		&(struct idle){ IDLE_BACKOFF, 0, 0, 10000, 10000000, false });
	expect_rests("backoff=70us:0.5:3.25:linear",
		     &(struct idle){ IDLE_BACKOFF, 0, 70000, 500, 3250, true });
	expect_rests_in_help("thesis", "backoff=64:1:1000", &idle_thesis);
	expect_rests_in_help("code-step", "backoff=1:0.001:1000:linear",
			     &idle_code_step);
	expect_rests_in_help("code-pause", "backoff=200000us:1000:20000:linear",
			     &idle_code_pause);
	schedule_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(refused_values); i++)
		CHECK(!set(&s, "idle", refused_values[i]));
}

static void test_disciplines_are_read(void)
{
	struct schedule s;
	char ageing[48];

	schedule_init(&s);
	CHECK(set(&s, "discipline", "srpt=0.5"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_SRPT);
	CHECK_NUMBER(s.discipline.ageing, ==, 0.5);
	CHECK(!s.discipline.follows_load);
	CHECK(set(&s, "discipline", "srpt"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_SRPT);
	/* The help names the ageing. */
	CHECK(s.discipline.follows_load);
	(void)snprintf(ageing, sizeof(ageing), "without AGEING, %g,",
		       s.discipline.ageing);
	CHECK_PART(help_of("discipline"), ageing);
	CHECK(set(&s, "discipline", "edf"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_EDF);
	CHECK(set(&s, "discipline", "lcfs"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_LCFS);
	CHECK(set(&s, "discipline", "stack"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_STACK);
	CHECK(set(&s, "discipline", "fcfs"));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_FCFS);
}

static void test_lists_are_read(void)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set(&s, "pool", "blur=7,decode=2"));
	CHECK_NUMBER(s.pool_threads[0], ==, 2);
	CHECK_NUMBER(s.pool_threads[1], ==, 0);
	CHECK_NUMBER(s.pool_threads[2], ==, 7);
	CHECK_NUMBER(s.pool_threads[3], ==, 0);
	CHECK(set(&s, "pool", "auto"));
	CHECK(s.pool_is_auto);
	CHECK(set(&s, "pool", "encode=3"));
	CHECK(!s.pool_is_auto);
	CHECK_NUMBER(s.pool_threads[0], ==, 2);
	CHECK_NUMBER(s.pool_threads[3], ==, 3);

	CHECK(set(&s, "threshold", "decode=8,blur=16:500"));
	CHECK(s.has_thresholds);
	CHECK(set(&s, "threshold", "encode=0:20"));
	CHECK_NUMBER(s.thresholds[0].queued_count, ==, 8);
	CHECK_NUMBER(s.thresholds[0].unvisited_ns, ==, 0);
	CHECK_NUMBER(s.thresholds[1].queued_count, ==, 0);
	CHECK_NUMBER(s.thresholds[1].unvisited_ns, ==, 0);
	CHECK_NUMBER(s.thresholds[2].queued_count, ==, 16);
	CHECK_NUMBER(s.thresholds[2].unvisited_ns, ==, 500000);
	CHECK_NUMBER(s.thresholds[3].queued_count, ==, 0);
	CHECK_NUMBER(s.thresholds[3].unvisited_ns, ==, 20000);
}

static void test_thread_models_are_read(void)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set(&s, "threads", "1:1"));
	CHECK_NUMBER(s.threads.mapping, ==, THREADS_1_TO_1);
	CHECK(set(&s, "threads", "n:1"));
	CHECK_NUMBER(s.threads.mapping, ==, THREADS_N_TO_1);
	CHECK(set(&s, "threads", "n:m"));
	CHECK_NUMBER(s.threads.mapping, ==, THREADS_N_TO_M);
	CHECK(set(&s, "io", "sync"));
	CHECK_NUMBER(s.threads.io, ==, THREADS_IO_SYNC);
	CHECK(set(&s, "io", "async"));
	CHECK_NUMBER(s.threads.io, ==, THREADS_IO_ASYNC);
	CHECK(set(&s, "transfers", "thread"));
	CHECK_NUMBER(s.threads.transfers, ==, TRANSFERS_BY_THREAD);
	CHECK(set(&s, "transfers", "scheduler"));
	CHECK_NUMBER(s.threads.transfers, ==, TRANSFERS_BY_SCHEDULER);
	CHECK(set(&s, "quantum", "250"));
	CHECK_NUMBER(s.threads.quantum_ns, ==, 250000);
	CHECK(set(&s, "quantum", "0"));
	CHECK_NUMBER(s.threads.quantum_ns, ==, 0);
}

/* Threads of the kernel block by themselves, so --io may be left out. */
static void test_io_follows_threads(void)
{
	static const struct {
		const char *line;
		enum thread_io io;
	} cases[] = {
		{ "--policy servlib", THREADS_IO_ASYNC },
		{ "--policy servlib --threads n:1", THREADS_IO_ASYNC },
		{ "--policy servlib --threads n:m --io sync", THREADS_IO_SYNC },
		{ "--policy servlib --threads 1:1", THREADS_IO_SYNC },
		{ "--policy servlib --threads 1:1 --io sync", THREADS_IO_SYNC },
		{ "--threads 1:1 --policy servlib --threads n:m",
		  THREADS_IO_ASYNC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error;
		struct schedule s;

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK(complete(&s, cases[i].line, &error));
		CHECK_NUMBER(s.threads.io, ==, cases[i].io);
	}
}

static const char *const nonsense[][2] = {
	{ "policy", "" },
	{ "policy", "cohorts" },
	{ "regime", "" },
	{ "regime", "gate" },
	{ "regime", "gated=" },
	{ "regime", "gated=0" },
	{ "regime", "exhaustive " },
	{ "regime", "n-gated" },
	{ "regime", "n-gated=" },
	{ "regime", "n-gated=0" },
	{ "regime", "n-gated=5x" },
	{ "regime", "n-gated=-5" },
	{ "regime", "n-gated=4294967296" },
	{ "regime", "time-gated=0" },
	{ "regime", "time-gated=18446744073709551616" },
	{ "regime", "cutoff=" },
	{ "regime", "gated,gated" },
	{ "regime", "gated," },
	{ "regime", "decode=" },
	{ "regime", "decode=n-gated" },
	{ "regime", "decode=gated,exhaustive" },
	{ "regime", "decode=gated,decode=gated" },
	{ "regime", "gated,cook=gated" },
	{ "discipline", "sjf" },
	{ "discipline", "fcfs=1" },
	{ "discipline", "srpt=" },
	{ "discipline", "srpt=-1" },
	{ "discipline", "srpt=nan" },
	{ "discipline", "srpt=1e400" },
	{ "discipline", "srpt=20x" },
	{ "discipline", "edf=1" },
	{ "discipline", "fcfs,lcfs" },
	{ "discipline", "decode=fcfs,srpt=3" },
	{ "discipline", "decode=srpt=" },
	{ "balance", "shared=1" },
	{ "balance", "replicate=0" },
	{ "balance", "replicate2" },
	{ "balance", "partition=" },
	{ "balance", "partition=1x" },
	{ "balance", "decode=shared=2" },
	{ "balance", "decode=partition" },
	{ "balance", "replicate,decode=shared,decode=shared" },
	{ "balance", "replicate,cook=shared" },
	{ "balance", "even=0" },
	{ "balance", "even=1000001" },
	{ "balance", "replicate,decode=even=" },
	{ "distribute", "random" },
	{ "distribute", "round-robin,least-loaded" },
	{ "steal", "yes" },
	{ "pool", "" },
	{ "pool", "auto,decode=1" },
	{ "pool", "decode" },
	{ "pool", "decode=" },
	{ "pool", "decode=0" },
	{ "pool", "decode=100000" },
	{ "pool", "decode=1," },
	{ "pool", "decode=1,,blur=1" },
	{ "pool", "decode=1 blur=1" },
	{ "pool", "cook=1" },
	{ "pool", "blur=1,scale=2,blur=2" },
	{ "threshold", "auto" },
	{ "threshold", "decode=0" },
	{ "threshold", "decode=:5" },
	{ "threshold", "decode=5:" },
	{ "threshold", "decode=5:0" },
	{ "threshold", "decode=5:6:7" },
	{ "threshold", "decode=5,decode=6" },
	{ "enough", "4" },
	{ "enough", "decode=0" },
	{ "enough", "decode=1000001" },
	{ "enough", "decode=1,decode=2" },
	{ "threads", "" },
	{ "threads", "1" },
	{ "threads", "1:n" },
	{ "threads", "n:m=2" },
	{ "threads", "n:1:1" },
	{ "io", "async " },
	{ "io", "blocking" },
	{ "transfers", "threads" },
	{ "quantum", "" },
	{ "quantum", "-1" },
	{ "quantum", "1.5" },
	{ "quantum", "4000000000" },
	{ "quantum", "1ms" },
};

static void test_replicas_may_share_a_stage(void)
{
	struct error error;
	struct schedule s;

	CHECK(complete(&s, "--balance replicate=2,blur=shared", &error));
	for (uint32_t i = 0; i < STAGES; i++)
		CHECK_NUMBER(schedule_sharing(&s, i)->kind, ==,
			     (i == 2 ? SHARING_ALL : SHARING_NONE));
	CHECK_NUMBER(s.part_count, ==, 2);
	CHECK(set(&s, "balance", "decode=shared,blur=replicate"));
	CHECK_NUMBER(schedule_sharing(&s, 0)->kind, ==, SHARING_ALL);
	CHECK_NUMBER(schedule_sharing(&s, 2)->kind, ==, SHARING_NONE);
	CHECK_NUMBER(s.part_count, ==, 2);
	CHECK(set(&s, "balance", "replicate"));
	CHECK_NUMBER(schedule_sharing(&s, 0)->kind, ==, SHARING_NONE);
	CHECK(set(&s, "balance", "even,decode=shared,blur=even=7"));
	CHECK_NUMBER(s.balance, ==, BALANCE_REPLICATE);
	CHECK_NUMBER(s.part_count, ==, 0);
	CHECK_NUMBER(schedule_sharing(&s, 0)->even_below, ==, 0);
	CHECK_NUMBER(schedule_sharing(&s, 1)->even_below, ==, 4);
	CHECK_NUMBER(schedule_sharing(&s, 2)->even_below, ==, 7);
}

static void test_sharings_of_a_graph_give_way(void)
{
	struct error error;
	struct schedule s;

	schedule_init(&s);
	s.rules.own_sharings = s.rules.default_sharings = 1;
	s.rules.sharings[0].kind = SHARING_ALL;
	CHECK(set(&s, "balance", "replicate=2"));
	CHECK(schedule_complete(&s, STAGES, CORES, error.text));
	CHECK_NUMBER(schedule_sharing(&s, 0)->kind, ==, SHARING_ALL);
	CHECK(set(&s, "distribute", "size"));
	CHECK(schedule_complete(&s, STAGES, CORES, error.text));
	CHECK_NUMBER(schedule_sharing(&s, 0)->kind, ==, SHARING_NONE);
	/* A flag is no default. */
	CHECK(set(&s, "balance", "replicate=2,decode=shared"));
	CHECK(!schedule_complete(&s, STAGES, CORES, error.text));
}

/* As MaintainOrder, which BalanceLoad sets (Larus and Parkes). */
static void test_even_stages_are_in_order(void)
{
	struct error error;
	struct schedule s;

	schedule_init(&s);
	s.discipline.kind = DISCIPLINE_SRPT; /* a program's default */
	CHECK(set(&s, "balance", "even"));
	CHECK(schedule_complete(&s, STAGES, CORES, error.text));
	CHECK_NUMBER(s.discipline.kind, ==, DISCIPLINE_FCFS);
	CHECK(complete(&s,
		       "--balance replicate,blur=even "
		       "--discipline srpt,blur=fcfs",
		       &error));
}

static void test_nonsense_is_no_value(void)
{
	struct schedule s;

	schedule_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++)
		CHECK(!set(&s, nonsense[i][0], nonsense[i][1]));
	CHECK(!set(&s, "policy", NULL));
	CHECK(!set(&s, "pool", NULL));
	CHECK_NUMBER(s.given, ==, 0);
	CHECK(!s.steal);
	CHECK(!schedule_set(&s, "pool", "decode=1", NULL, 0));
	CHECK(!schedule_set(&s, "threshold", "decode=1", NULL, 0));
	CHECK(schedule_set(&s, "pool", "auto", NULL, 0));
}

static void test_defaults_are_complete_with_every_policy(void)
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		struct error error;
		struct schedule s;

		schedule_init(&s);
		CHECK(set(&s, "policy", (*p)->name));
		CHECK(schedule_complete(&s, 1, 1, error.text));
		CHECK_NUMBER(s.part_count, ==, 1);
	}
}

static void test_parts_follow_cores_and_stages(void)
{
	static const struct {
		const char *line;
		uint32_t part_count; /* 0: refused */
	} cases[] = {
		{ "--balance shared", 1 },
		{ "--balance replicate", CORES },
		{ "--balance replicate=3", 3 },
		{ "--balance replicate=8", 8 },
		{ "--balance replicate=9", 0 },
		{ "--balance partition", STAGES },
		{ "--balance partition=4", 4 },
		{ "--balance partition=5", 0 },
		{ "--balance replicate=3 --balance shared", 1 },
		{ "--balance partition=5 --balance replicate", CORES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error error = { "" };
		struct schedule s;
		bool ok = complete(&s, cases[i].line, &error);

		check_case("cases[%zu]: %s", i, cases[i].line);
		CHECK_NUMBER(ok, ==, (cases[i].part_count > 0));
		if (ok)
			CHECK_NUMBER(s.part_count, ==, cases[i].part_count);
		else
			CHECK_PART(error.text, "--balance");
	}
	struct error error;
	struct schedule s;

	schedule_init(&s);
	CHECK(set(&s, "balance", "partition=3"));
	CHECK(!schedule_complete(&s, STAGES, 2, error.text));
	schedule_init(&s);
	CHECK(set(&s, "balance", "partition"));
	CHECK(schedule_complete(&s, STAGES, 2, error.text));
	CHECK_NUMBER(s.part_count, ==, 2);
}

static void refused(const struct schedule *s, const char *text)
{
	struct schedule copy = *s;
	struct error error = { "" };

	CHECK(!schedule_complete(&copy, STAGES, CORES, error.text));
	CHECK_TEXT(error.text, text);
}

static void accepted(const struct schedule *s)
{
	struct schedule copy = *s;
	struct error error;

	CHECK(schedule_complete(&copy, STAGES, CORES, error.text));
}

/* Members that a program sets itself have the ranges of flags. */
static void test_times_and_counts_have_ranges(void)
{
	struct schedule defaults, s;

	schedule_init(&defaults);
	s = defaults;
	s.regime = (struct regime){ REGIME_N_GATED, 0 };
	refused(&s, "the limit of --regime n-gated is 0, but it must be 1 to "
		    "1000000 events");
	s.regime.limit = 1000001;
	refused(&s, "the limit of --regime n-gated is 1000001, but it must be "
		    "1 to 1000000 events");
	s.regime.limit = 1000000;
	accepted(&s);
	s.regime = (struct regime){ REGIME_TIME_GATED, 0 };
	refused(&s, "the limit of --regime time-gated is 0, but it must be 1 "
		    "to 3600000000000 ns");
	s.regime.kind = REGIME_CUTOFF;
	refused(&s, "the limit of --regime cutoff is 0, but it must be 1 to "
		    "3600000000000 ns");
	s.regime.kind = REGIME_GATED;
	accepted(&s);
	s.idle.kind = IDLE_BACKOFF;
	refused(&s, "the longest pause of --idle backoff is 0, but it must be "
		    "1 to 3600000000000 ns");
	s.idle.longest_ns = 1;
	refused(&s, "the first pause of --idle backoff is 0, but it must be 1 "
		    "to 3600000000000 ns");
	s.idle.first_ns = 1;
	accepted(&s);
	s.idle.patience_misses = 1000001;
	refused(&s, "the patience of --idle backoff is 1000001, but it must be "
		    "0 to 1000000 visits");
	s.idle.patience_misses = 0;
	s.idle.patience_ns = UINT64_C(3600000000001);
	refused(&s, "the patience of --idle backoff is 3600000000001, but it "
		    "must be 0 to 3600000000000 ns");
	s = defaults;
	s.slice_ns = UINT64_C(3600000000001);
	s.discipline.kind = DISCIPLINE_SRPT;
	refused(&s, "--slice is 3600000000001, but it must be 0 to "
		    "3600000000000 ns");
	s.slice_ns = 0;
	s.discipline.ageing = -1;
	refused(&s, "the ageing of --discipline is -1, but it must be 0 to "
		    "1000000");
}

static void test_numbers_of_stages_have_ranges(void)
{
	struct schedule s;

	schedule_init(&s);
	s.pool_threads[2] = 1025; /* not given, so it has no pools */
	s.thresholds[1].queued_count = 1000001;
	accepted(&s);
	s.has_thresholds = true;
	refused(&s, "--threshold of stage 2 is 1000001, but it must be 0 to "
		    "1000000 events");
	s.thresholds[1] = (struct threshold){ 1, UINT64_C(3600000000001) };
	refused(&s, "--threshold of stage 2 is 3600000000001, but it must be "
		    "0 to 3600000000000 ns");
	s.has_thresholds = false;
	s.enough[3] = 1000001;
	accepted(&s);
	s.has_enough = true;
	refused(&s, "--enough of stage 4 is 1000001, but it must be 0 to "
		    "1000000 events");
	s.has_enough = false;
	s.policy = policy_find("pool-per-stage");
	s.pool_threads[2] = 1025;
	refused(&s, "--pool of stage 3 is 1025, but it must be 0 to 1024 "
		    "threads");
	s.pool_is_auto = true;
	accepted(&s);
}

/* Flags that make no sense: the flag at fault, and the line. */
struct senseless {
	const char *fault, *line;
};

static void expect_senseless(const struct senseless cases[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct error error = { "" };
		struct schedule s;

		CHECK(!complete(&s, cases[i].line, &error));
		CHECK(strncmp(error.text, cases[i].fault,
			      strlen(cases[i].fault)) == 0);
		CHECK_PART(error.text, ": "); /* the reason follows */
	}
}

static const struct senseless not_of_workers[] = {
	{ "--regime", "--policy thread-per-connection "
		      "--regime exhaustive" },
	{ "--discipline", "--policy thread-per-connection "
			  "--discipline fcfs" },
	{ "--balance", "--policy thread-per-connection "
		       "--balance replicate" },
	{ "--distribute", "--policy thread-per-connection "
			  "--distribute round-robin" },
	{ "--steal", "--policy thread-per-connection --steal" },
	{ "--pool", "--policy thread-per-connection --pool auto" },
	{ "--threshold", "--policy thread-per-connection "
			 "--threshold blur=1" },
	{ "--regime", "--policy pool-per-stage --regime gated" },
	{ "--threshold", "--policy pool-per-stage --threshold blur=1" },
	{ "--steal", "--policy pool-per-stage --balance replicate --steal" },
	{ "--balance partition",
	  "--policy pool-per-stage --balance partition" },
	{ "--discipline stack", "--policy pool-per-stage --discipline stack" },
	{ "--pool auto", "--policy mg1 --pool auto" },
	{ "--pool", "--policy color --pool decode=1" },
	{ "--discipline stack or --balance even of a stage in --pool",
	  "--policy cohort --discipline fcfs,blur=stack --pool "
	  "blur=1" },
	{ "--discipline stack or --balance even of a stage in --pool",
	  "--policy cohort --balance replicate=2,blur=even --pool "
	  "blur=1" },
	{ "--regime", "--policy color --regime n-gated=1" },
	{ "--threshold", "--policy color --threshold blur=1" },
	{ "--discipline stack", "--policy color --discipline stack" },
	{ "--discipline of one stage",
	  "--policy color --discipline lcfs,blur=srpt" },
	{ "--balance partition", "--policy color --balance partition" },
	{ "--distribute", "--distribute least-loaded" },
	{ "--distribute", "--balance partition --distribute round-robin" },
	{ "--steal", "--balance replicate=1 --steal" },
	{ "--steal", "--policy dbr --steal" },
	{ "--balance even or STAGE=shared", "--balance blur=shared" },
	{ "--balance even or STAGE=shared",
	  "--balance replicate=1,blur=shared" },
	{ "--balance even or STAGE=shared", "--balance partition,blur=shared" },
	{ "--balance even or STAGE=shared",
	  "--policy pool-per-stage --balance replicate,blur=shared" },
	{ "--balance even or STAGE=shared makes no sense with "
	  "--distribute "
	  "size",
	  "--balance replicate,blur=shared --distribute size" },
	{ "--balance even", "--policy color --balance even" },
	{ "--balance even makes no sense with a discipline other than "
	  "fcfs",
	  "--balance even --discipline stack" },
	{ "--balance even makes no sense with a discipline other than "
	  "fcfs",
	  "--balance replicate,blur=even --discipline fcfs,blur=lcfs" },
	{ "--enough", "--policy thread-per-connection --enough blur=1" },
	{ "--enough", "--policy pool-per-stage --enough blur=1" },
	{ "--enough", "--policy color --enough blur=1" },
	{ "--enough makes no sense with --look blind: a worker learns "
	  "only by a visit",
	  "--enough blur=1 --look blind" },
	{ "--steal makes no sense with --look blind: a thief takes "
	  "from the longest queue, which it does not see",
	  "--policy dbr --balance replicate --steal --look blind" },
};

static void test_what_workers_do_not_do_is_refused(void)
{
	expect_senseless(not_of_workers, ARRAY_SIZE(not_of_workers));
}

static void test_what_user_level_threads_do_not_do_is_refused(void)
{
	static const struct senseless cases[] = {
		{ "--regime", "--policy capriccio --regime exhaustive" },
		{ "--discipline", "--policy capriccio --discipline srpt" },
		{ "--slice", "--policy capriccio --slice 1000" },
		{ "--balance", "--policy capriccio --balance shared" },
		{ "--balance", "--policy capriccio --balance replicate=7" },
		{ "--balance", "--policy capriccio --balance partition=8" },
		{ "--balance even or STAGE=shared",
		  "--policy capriccio --balance replicate,blur=shared" },
		{ "--steal", "--policy capriccio --steal" },
		{ "--pool", "--policy capriccio --pool auto" },
		{ "--threshold", "--policy capriccio --threshold blur=1" },
		{ "--enough", "--policy capriccio --enough blur=1" },
		{ "--enough", "--policy servlib --enough blur=1" },
		{ "--regime", "--policy servlib --regime gated" },
		{ "--discipline", "--policy servlib --discipline srpt" },
		{ "--slice", "--policy servlib --slice 1000" },
		{ "--balance", "--policy servlib --balance replicate" },
		{ "--distribute", "--policy servlib --distribute round-robin" },
		{ "--steal", "--policy servlib --steal" },
		{ "--pool", "--policy servlib --pool auto" },
		{ "--threshold", "--policy servlib --threshold blur=1" },
		{ "--resources", "--policy servlib --resources learn" },
	};

	expect_senseless(cases, ARRAY_SIZE(cases));
}

static void test_flags_of_another_model_are_refused(void)
{
	static const struct senseless cases[] = {
		{ "--resources", "--policy cohort --resources learn" },
		{ "--resources", "--policy color --resources ignore" },
		{ "--resources", "--policy pool-per-stage --resources ignore" },
		{ "--resources",
		  "--policy thread-per-connection --resources ignore" },
		{ "--threads", "--threads n:m" },
		{ "--threads", "--policy capriccio --threads n:1" },
		{ "--threads", "--policy thread-per-connection --threads 1:1" },
		{ "--io", "--policy color --io async" },
		{ "--transfers", "--policy pool-per-stage --transfers thread" },
		{ "--quantum", "--policy thread-per-connection --quantum 9" },
		{ "--quantum", "--policy capriccio --quantum 0" },
		{ "--io async makes no sense with --threads 1:1",
		  "--policy servlib --threads 1:1 --io async" },
		{ "--io sync makes no sense with --threads n:1",
		  "--policy servlib --threads n:1 --io sync" },
		{ "--transfers makes no sense with --threads 1:1",
		  "--policy servlib --threads 1:1 --transfers scheduler" },
		{ "--quantum makes no sense with --threads 1:1",
		  "--policy servlib --threads 1:1 --quantum 100" },
		{ "--transfers makes no sense with --io sync",
		  "--policy servlib --io sync --transfers scheduler" },
	};

	expect_senseless(cases, ARRAY_SIZE(cases));
}

static void test_a_policy_that_needs_lengths_is_not_blind(void)
{
	struct policy mine = *policy_find("srpt");
	struct error error = { "" };
	struct schedule s;

	mine.name = "mine";
	mine.needs_lengths = true;
	schedule_init(&s);
	s.policy = &mine;
	CHECK(set(&s, "look", "lengths"));
	CHECK(set(&s, "idle", "backoff"));
	CHECK(schedule_complete(&s, STAGES, CORES, error.text));
	CHECK(set(&s, "look", "blind"));
	CHECK(!schedule_complete(&s, STAGES, CORES, error.text));
	CHECK_TEXT(error.text,
		   "--look blind makes no sense with --policy mine: "
		   "it chooses by the lengths of the queues");
}

static void test_what_makes_sense_is_taken(void)
{
	static const char *const lines[] = {
		"",
		"--regime cutoff=500 --discipline stack --threshold blur=9:99",
		"--policy mg1 --balance partition=2 --regime gated",
		"--policy dbr --balance replicate --distribute least-loaded "
		"--steal --discipline srpt",
		"--policy pool-per-stage --pool auto --discipline srpt=3 "
		"--balance replicate=2 --distribute least-loaded",
		"--policy color --discipline lcfs --balance replicate --steal",
		"--policy thread-per-connection --balance shared",
		"--policy capriccio --distribute least-loaded",
		"--policy capriccio --resources ignore",
		"--policy capriccio --balance replicate=8",
		"--policy servlib --threads 1:1 --io sync",
		"--policy servlib --threads n:1 --io async --quantum 5000",
		"--policy servlib --io sync --quantum 1",
		"--policy servlib --transfers thread --balance shared",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct error error;
		struct schedule s;

		CHECK(complete(&s, lines[i], &error));
	}
}

int main(void)
{
	test_initial_values_are_the_defaults();
	test_every_policy_is_a_value();
	test_regimes_are_read();
	test_a_stage_may_have_its_own_regime();
	test_a_stage_may_have_its_own_discipline();
	test_rules_of_a_graph_give_way();
	test_looks_and_idling_are_read();
	test_rests_are_read();
	test_disciplines_are_read();
	test_lists_are_read();
	test_thread_models_are_read();
	test_io_follows_threads();
	test_replicas_may_share_a_stage();
	test_sharings_of_a_graph_give_way();
	test_even_stages_are_in_order();
	test_nonsense_is_no_value();
	test_defaults_are_complete_with_every_policy();
	test_parts_follow_cores_and_stages();
	test_times_and_counts_have_ranges();
	test_numbers_of_stages_have_ranges();
	test_what_workers_do_not_do_is_refused();
	test_what_user_level_threads_do_not_do_is_refused();
	test_flags_of_another_model_are_refused();
	test_a_policy_that_needs_lengths_is_not_blind();
	test_what_makes_sense_is_taken();
	return 0;
}
