/* SPDX-License-Identifier: MIT */
#include "stages/schedule.h"

#include "stages/take.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* By simulation and measurement: docs/scheduling.md. */
#define AGEING_INITIAL 15

/* Places in the table. */
enum {
	POLICY_FLAG,
	REGIME_FLAG,
	DISCIPLINE_FLAG,
	BALANCE_FLAG,
	DISTRIBUTE_FLAG,
	STEAL_FLAG,
	POOL_FLAG,
	THRESHOLD_FLAG,
	FLAG_COUNT
};

/* In the order of the enumeration above. */
const struct flag schedule_flags[] = {
	{ "policy", "NAME", "cohort",
	  "which stage a free worker visits; see --list-policies",
	  .type = FLAG_OTHER },
	{ "regime", "exhaustive|gated|n-gated=N|time-gated=US|cutoff=US",
	  "exhaustive",
	  "how long a visit lasts: until nothing waits; for what waited at\n"
	  "its beginning; for N of those; for US microseconds; or gated, and\n"
	  "an event with more than US of work left is passed over once",
	  .type = FLAG_OTHER },
	{ "discipline", "fcfs|lcfs|stack|srpt[=AGEING]", "fcfs",
	  "which event is first: that which came first; last; last of those\n"
	  "the worker itself sent; or that with the least work left, where\n"
	  "1 ns of work is worth AGEING (15) ns of waiting",
	  .type = FLAG_OTHER },
	{ "balance", "shared|replicate[=N]|partition[=P]", "shared",
	  "one stage graph for all cores; one for each, or N of them; or the\n"
	  "stages divided among the cores, in P parts",
	  .type = FLAG_OTHER },
	{ "distribute", "round-robin|least-loaded", "round-robin",
	  "to which replica an event goes: to each in turn, or to the one\n"
	  "with the fewest under way",
	  .type = FLAG_OTHER },
	{ "steal", NULL, NULL,
	  "a replica without work takes a share of another's",
	  .type = FLAG_OTHER },
	{ "pool", "STAGE=THREADS,...|auto", NULL,
	  "threads of each stage with --policy pool-per-stage; auto: more\n"
	  "while its queue is long, fewer while they are idle",
	  .type = FLAG_OTHER },
	{ "threshold", "STAGE=LENGTH[:US],...", NULL,
	  "interrupt a visit elsewhere for this stage when more than LENGTH\n"
	  "events wait there (0: however many), or when some do that nobody\n"
	  "came for in US microseconds",
	  .type = FLAG_OTHER },
	{ 0 },
};

enum { THREADS_MAX = 1024, PARTS_MAX = 1024, AGEING_MAX = 1000000 };

#define EVENTS_MAX UINT64_C(1000000)
#define US_MAX UINT64_C(3600000000) /* an hour */

/* What --pool and --threshold may name. */
struct names {
	const char *const *stages;
	uint32_t count;
};

/* Read the value `at`, NULL if there is none.  False: it is not the flag's. */
typedef bool set_fn(struct schedule *s, const char *at, const struct names *n);

static bool set_policy(struct schedule *s, const char *at,
		       const struct names *names)
{
	(void)names;
	s->policy = policy_find(at);
	return s->policy != NULL;
}

static bool set_regime(struct schedule *s, const char *at,
		       const struct names *names)
{
	static const struct {
		const char *word;
		enum regime_kind kind;
		uint64_t most; /* 0: takes no number */
		uint64_t unit;
	} regimes[] = {
		{ "exhaustive", REGIME_EXHAUSTIVE, 0, 0 },
		{ "gated", REGIME_GATED, 0, 0 },
		{ "n-gated=", REGIME_N_GATED, EVENTS_MAX, 1 },
		{ "time-gated=", REGIME_TIME_GATED, US_MAX, 1000 },
		{ "cutoff=", REGIME_CUTOFF, US_MAX, 1000 },
	};
	uint64_t n = 0;

	(void)names;
	for (size_t i = 0; i < sizeof(regimes) / sizeof(regimes[0]); i++) {
		if (!take_word(&at, regimes[i].word))
			continue;
		if (regimes[i].most > 0 &&
		    !take_number(&at, 1, regimes[i].most, &n))
			return false;
		s->regime = (struct regime){
			.kind = regimes[i].kind,
			.limit = n * regimes[i].unit,
		};
		return take_end(at);
	}
	return false;
}

static bool set_discipline(struct schedule *s, const char *at,
			   const struct names *names)
{
	struct discipline *d = &s->discipline;

	(void)names;
	d->ageing = AGEING_INITIAL;
	if (take_word(&at, "fcfs"))
		d->kind = DISCIPLINE_FCFS;
	else if (take_word(&at, "lcfs"))
		d->kind = DISCIPLINE_LCFS;
	else if (take_word(&at, "stack"))
		d->kind = DISCIPLINE_STACK;
	else if (take_word(&at, "srpt"))
		d->kind = DISCIPLINE_SRPT;
	else
		return false;
	if (d->kind == DISCIPLINE_SRPT && take_word(&at, "=") &&
	    !take_decimal(&at, AGEING_MAX, &d->ageing))
		return false;
	return take_end(at);
}

static bool set_balance(struct schedule *s, const char *at,
			const struct names *names)
{
	uint64_t parts = 0;

	(void)names;
	if (take_word(&at, "shared"))
		s->balance = BALANCE_SHARED;
	else if (take_word(&at, "replicate"))
		s->balance = BALANCE_REPLICATE;
	else if (take_word(&at, "partition"))
		s->balance = BALANCE_PARTITION;
	else
		return false;
	if (s->balance != BALANCE_SHARED && take_word(&at, "=") &&
	    !take_number(&at, 1, PARTS_MAX, &parts))
		return false;
	s->part_count = (uint32_t)parts;
	return take_end(at);
}

static bool set_distribute(struct schedule *s, const char *at,
			   const struct names *names)
{
	(void)names;
	if (take_word(&at, "round-robin"))
		s->distribute = DISTRIBUTE_ROUND_ROBIN;
	else if (take_word(&at, "least-loaded"))
		s->distribute = DISTRIBUTE_LEAST_LOADED;
	else
		return false;
	return take_end(at);
}

static bool set_steal(struct schedule *s, const char *at,
		      const struct names *names)
{
	(void)at;
	(void)names;
	s->steal = true;
	return true;
}

/* What is behind "STAGE=". */
typedef bool entry_fn(struct schedule *s, const char **at, uint32_t stage);

/* Entries with a comma between two; a stage has one at most. */
static bool set_entries(struct schedule *s, const char *at,
			const struct names *names, entry_fn *set_entry)
{
	uint32_t stage, seen = 0; /* bit i: stage i */

	do {
		if (!take_name(&at, names->stages, names->count, &stage) ||
		    (seen >> stage & 1) || !set_entry(s, &at, stage))
			return false;
		seen |= UINT32_C(1) << stage;
	} while (take_word(&at, ","));
	return take_end(at);
}

static bool set_pool_entry(struct schedule *s, const char **at, uint32_t stage)
{
	uint64_t threads;

	if (!take_number(at, 1, THREADS_MAX, &threads))
		return false;
	s->pool_threads[stage] = (uint32_t)threads;
	return true;
}

static bool set_pool(struct schedule *s, const char *at,
		     const struct names *names)
{
	s->pool_is_auto = strcmp(at, "auto") == 0;
	return s->pool_is_auto || set_entries(s, at, names, set_pool_entry);
}

static bool set_threshold_entry(struct schedule *s, const char **at,
				uint32_t stage)
{
	uint64_t length, us = 0;

	if (!take_number(at, 0, EVENTS_MAX, &length) ||
	    (take_word(at, ":") && !take_number(at, 1, US_MAX, &us)))
		return false;
	s->thresholds[stage] = (struct threshold){
		.queued_count = (uint32_t)length,
		.unvisited_ns = us * 1000,
	};
	return length > 0 || us > 0;
}

static bool set_threshold(struct schedule *s, const char *at,
			  const struct names *names)
{
	s->has_thresholds = true;
	return set_entries(s, at, names, set_threshold_entry);
}

static set_fn *const set_fns[FLAG_COUNT] = {
	[POLICY_FLAG] = set_policy,
	[REGIME_FLAG] = set_regime,
	[DISCIPLINE_FLAG] = set_discipline,
	[BALANCE_FLAG] = set_balance,
	[DISTRIBUTE_FLAG] = set_distribute,
	[STEAL_FLAG] = set_steal,
	[POOL_FLAG] = set_pool,
	[THRESHOLD_FLAG] = set_threshold,
};

void schedule_init(struct schedule *s)
{
	*s = (struct schedule){
		.policy = &policy_cohort,
		.discipline.ageing = AGEING_INITIAL,
	};
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		s->pool_threads[i] = 1;
}

bool schedule_set(struct schedule *s, const char *name, const char *text,
		  const char *const *stages, uint32_t stage_count)
{
	struct names names = { .stages = stages, .count = stage_count };
	uint32_t flag = 0;

	assert(stage_count <= STAGES_MAX);
	while (flag < FLAG_COUNT &&
	       strcmp(schedule_flags[flag].name, name) != 0)
		flag++;
	assert(flag < FLAG_COUNT);
	if ((text == NULL) != (schedule_flags[flag].values == NULL) ||
	    !set_fns[flag](s, text, &names))
		return false;
	s->given |= 1u << flag;
	return true;
}

/* What is true of a schedule: flags given, by place, and more. */
enum {
	CALLS = 1 << FLAG_COUNT,
	STAYS = CALLS << 1,
	ROAMS = CALLS << 2,
	IS_CENTRAL = CALLS << 3,
	IS_DIVIDED = CALLS << 4, /* replicated or partitioned */
	IS_PARTITIONED = CALLS << 5,
	HAS_STACKS = CALLS << 6,
	HAS_ONE_REPLICA = CALLS << 7,
	BY_POLICY = CALLS | STAYS | ROAMS | IS_CENTRAL,
};

static uint32_t find_facts(const struct schedule *s)
{
	static const uint32_t workers[] = {
		[POLICY_WORKERS_CALLER] = CALLS,
		[POLICY_WORKERS_STAY] = STAYS,
		[POLICY_WORKERS_ROAM] = ROAMS,
	};
	uint32_t facts = s->given | workers[s->policy->workers];

	if (s->policy->has_central_queue)
		facts |= IS_CENTRAL;
	if (s->balance != BALANCE_SHARED)
		facts |= IS_DIVIDED;
	if (s->balance == BALANCE_PARTITION)
		facts |= IS_PARTITIONED;
	if (s->discipline.kind == DISCIPLINE_STACK)
		facts |= HAS_STACKS;
	if (s->balance != BALANCE_REPLICATE || s->part_count == 1)
		facts |= HAS_ONE_REPLICA;
	return facts;
}

#define GIVEN(flag) (1u << flag##_FLAG)

/* What makes no sense together, and why. */
static const struct {
	uint32_t facts; /* all of them are true */
	const char *what, *why;
} senseless[] = {
	{ CALLS | GIVEN(REGIME), "--regime", "it visits no stages" },
	{ CALLS | GIVEN(DISCIPLINE), "--discipline", "it has no queues" },
	{ CALLS | IS_DIVIDED, "--balance", "it has no workers" },
	{ CALLS | GIVEN(DISTRIBUTE), "--distribute", "it has no queues" },
	{ CALLS | GIVEN(STEAL), "--steal", "it has no queues" },
	{ CALLS | GIVEN(POOL), "--pool", "it has no workers" },
	{ CALLS | GIVEN(THRESHOLD), "--threshold", "it has no queues" },
	{ STAYS | GIVEN(REGIME), "--regime", "its threads stay at a stage" },
	{ STAYS | HAS_STACKS, "--discipline stack",
	  "its threads send to stages that others visit" },
	{ STAYS | IS_PARTITIONED, "--balance partition",
	  "its threads belong to stages already" },
	{ STAYS | GIVEN(STEAL), "--steal", "its threads stay at a stage" },
	{ STAYS | GIVEN(THRESHOLD), "--threshold",
	  "its threads stay at a stage" },
	{ ROAMS | GIVEN(POOL), "--pool", "it has one thread per core" },
	{ IS_CENTRAL | GIVEN(REGIME), "--regime", "a visit is one event" },
	{ IS_CENTRAL | HAS_STACKS, "--discipline stack",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | IS_PARTITIONED, "--balance partition",
	  "a stage is visited wherever its event is taken" },
	{ IS_CENTRAL | GIVEN(THRESHOLD), "--threshold",
	  "a visit is one event" },
	{ HAS_ONE_REPLICA | GIVEN(DISTRIBUTE), "--distribute",
	  "there is no other to choose" },
	{ HAS_ONE_REPLICA | GIVEN(STEAL), "--steal",
	  "there is no other to take from" },
};

bool schedule_complete(struct schedule *s, uint32_t stage_count,
		       uint32_t core_count, char error[SCHEDULE_ERROR_BYTES])
{
	bool is_partitioned = s->balance == BALANCE_PARTITION;
	uint32_t most = core_count;

	assert(stage_count >= 1 && core_count >= 1);
	if (is_partitioned && stage_count < most)
		most = stage_count;
	if (s->balance == BALANCE_SHARED)
		s->part_count = 1;
	else if (s->part_count == 0)
		s->part_count = most;

	uint32_t facts = find_facts(s);

	for (size_t i = 0; i < sizeof(senseless) / sizeof(senseless[0]); i++) {
		if ((senseless[i].facts & ~facts) != 0)
			continue;
		bool by_policy = (senseless[i].facts & BY_POLICY) != 0;

		(void)snprintf(
			error, SCHEDULE_ERROR_BYTES,
			"%s makes no sense with %s%s: %s", senseless[i].what,
			by_policy ? "--policy " : "one replica",
			by_policy ? s->policy->name : "", senseless[i].why);
		return false;
	}
	if (s->part_count <= most)
		return true;
	(void)snprintf(error, SCHEDULE_ERROR_BYTES,
		       "--balance asks for %u %s, but there are %u %s",
		       s->part_count, is_partitioned ? "parts" : "replicas",
		       most, most < core_count ? "stages" : "cores");
	return false;
}
