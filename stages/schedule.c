/* SPDX-License-Identifier: MIT */
#include "stages/stage.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "stages/choices.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { SCHEDULE_CAUSE_BYTES = 48 };

/* The words of the choices that contradict others. */
#define WORD(index, word, form, number, most, factor, help, meaning)           \
	[index] = word,

static const char *const discipline_words[] = { DISCIPLINES(WORD) };
static const char *const mapping_words[] = { MAPPINGS(WORD) };
static const char *const thread_io_words[] = { THREAD_IOS(WORD) };

const struct idle idle_thesis = {
	.kind = IDLE_BACKOFF,
	.patience_misses = 2 * STAGES_MAX,
	.first_ns = NS_PER_US,
	.longest_ns = NS_PER_MS,
};

const struct idle idle_code_step = {
	.kind = IDLE_BACKOFF,
	/* A timeout counts from the next visit on. */
	.patience_misses = 1,
	.first_ns = 1,
	.longest_ns = NS_PER_MS,
	.is_linear = true,
};

const struct idle idle_code_pause = {
	.kind = IDLE_BACKOFF,
	.patience_ns = 200 * NS_PER_MS,
	.first_ns = NS_PER_MS,
	.longest_ns = 20 * NS_PER_MS,
	.is_linear = true,
};

void schedule_init(struct schedule *s)
{
	*s = (struct schedule){
		.policy = policy_find("cohort"),
		.discipline = { .ageing = SCHEDULE_AGEING,
				.follows_load = true },
		.threads = { .mapping = THREADS_N_TO_M,
			     .io = THREADS_IO_ASYNC,
			     .transfers = TRANSFERS_BY_SCHEDULER },
	};
}

static bool has_cutoff(const struct schedule *s)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		if (schedule_regime(s, i)->kind == REGIME_CUTOFF)
			return true;
	return false;
}

bool schedule_has_ranks(const struct schedule *s)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		if (discipline_has_ranks(schedule_discipline(s, i)))
			return true;
	return false;
}

bool schedule_has_pauses(const struct schedule *s)
{
	return has_cutoff(s) || (s->slice_ns > 0 && schedule_has_ranks(s));
}

static bool has_stacks(const struct schedule *s)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		if (schedule_discipline(s, i)->kind == DISCIPLINE_STACK)
			return true;
	return false;
}

/* Would events of a pool wait outside of its queue? */
static bool has_pools_beside_queues(const struct schedule *s)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		if (s->pool_threads[i] > 0 &&
		    (schedule_discipline(s, i)->kind == DISCIPLINE_STACK ||
		     schedule_sharing(s, i)->kind == SHARING_EVEN))
			return true;
	return false;
}

/*
 * Facts about a schedule.  The lowest SCHEDULE_CHOICES bits are those of
 * schedule.given.
 */
#define FACT(number) (UINT64_C(1) << (SCHEDULE_CHOICES + (number)))
#define CALLS FACT(0)
#define STAYS FACT(1)
#define ROAMS FACT(2)
#define IS_CENTRAL FACT(3)
#define IS_DIVIDED FACT(4) /* replicated or partitioned */
#define IS_PARTITIONED FACT(5)
#define HAS_STACKS FACT(6)
#define HAS_ONE_REPLICA FACT(7)
#define HAS_NO_RANKS FACT(8)
#define HAS_SLICES FACT(9)
#define IS_THREADED FACT(10)     /* user-level threads */
#define HAS_LARGE_PARTS FACT(11) /* of several cores */
#define HAS_NO_MODEL FACT(12)    /* of the threads of connections */
#define IS_1_TO_1 FACT(13)
#define IS_N_TO_1 FACT(14)
#define IS_SYNC FACT(15)
#define IS_ASYNC FACT(16)
#define NEEDS_LENGTHS FACT(17)
#define IS_BLIND FACT(18)
#define STEALS FACT(19)
#define HAS_OWN_DISCIPLINES FACT(20)
#define SHARES FACT(21) /* replicas do */
#define IS_BY_SIZE FACT(22)
#define IS_EVEN FACT(23)         /* a stage is made even */
#define IS_OUT_OF_ORDER FACT(24) /* and is not first come, first served */
#define HAS_ENOUGH FACT(25)
#define HAS_POOLS_BESIDE_QUEUES FACT(26)
#define HAS_GROWING_POOLS FACT(27)
#define BY_POLICY                                                              \
	(CALLS | STAYS | ROAMS | IS_CENTRAL | IS_THREADED | HAS_NO_MODEL |     \
	 NEEDS_LENGTHS)

/* Among replicas. */
static uint64_t find_sharing_facts(const struct schedule *s)
{
	uint64_t facts = 0;

	for (uint32_t i = 0; i < STAGES_MAX; i++) {
		enum sharing_kind kind = schedule_sharing(s, i)->kind;

		if (kind != SHARING_NONE)
			facts |= SHARES;
		if (kind == SHARING_EVEN)
			facts |= IS_EVEN;
		if (kind == SHARING_EVEN &&
		    schedule_discipline(s, i)->kind != DISCIPLINE_FCFS)
			facts |= IS_OUT_OF_ORDER;
	}
	return facts;
}

/* Of the threads of connections. */
static uint64_t find_thread_facts(const struct schedule *s)
{
	static const uint64_t by_mapping[] = {
		[THREADS_1_TO_1] = IS_1_TO_1,
		[THREADS_N_TO_1] = IS_N_TO_1,
		[THREADS_N_TO_M] = 0,
	};

	if (!s->policy->has_thread_model)
		return HAS_NO_MODEL;
	return by_mapping[s->threads.mapping] |
	       (s->threads.io == THREADS_IO_SYNC ? IS_SYNC : IS_ASYNC);
}

static uint64_t find_facts(const struct schedule *s, uint32_t core_count)
{
	static const uint64_t workers[] = {
		[POLICY_WORKERS_CALLER] = CALLS,
		[POLICY_WORKERS_STAY] = STAYS,
		[POLICY_WORKERS_ROAM] = ROAMS,
		[POLICY_WORKERS_FIBRES] = IS_THREADED,
	};
	uint64_t facts =
		s->given | workers[s->policy->workers] | find_thread_facts(s);

	if (s->policy->has_central_queue)
		facts |= IS_CENTRAL;
	if (s->policy->needs_lengths)
		facts |= NEEDS_LENGTHS;
	if (s->look == LOOK_BLIND)
		facts |= IS_BLIND;
	if (s->steal)
		facts |= STEALS;
	if (s->has_enough)
		facts |= HAS_ENOUGH;
	if (s->balance != BALANCE_SHARED)
		facts |= IS_DIVIDED;
	if (s->balance == BALANCE_PARTITION)
		facts |= IS_PARTITIONED;
	if (has_stacks(s))
		facts |= HAS_STACKS;
	if (has_pools_beside_queues(s))
		facts |= HAS_POOLS_BESIDE_QUEUES;
	if (s->pool_is_auto)
		facts |= HAS_GROWING_POOLS;
	if (s->rules.own_disciplines != 0)
		facts |= HAS_OWN_DISCIPLINES;
	facts |= find_sharing_facts(s);
	if (s->distribute == DISTRIBUTE_SIZE)
		facts |= IS_BY_SIZE;
	if (s->balance != BALANCE_REPLICATE || s->part_count == 1)
		facts |= HAS_ONE_REPLICA;
	if (!schedule_has_ranks(s))
		facts |= HAS_NO_RANKS;
	if (s->slice_ns > 0)
		facts |= HAS_SLICES;
	if (s->part_count < core_count)
		facts |= HAS_LARGE_PARTS;
	return facts;
}

#define GIVEN(choice) (UINT64_C(1) << SCHEDULE_##choice)

/* Choices that contradict each other, and why. */
static const struct {
	uint64_t facts; /* the line counts if all are true */
	const char *what, *why;
} senseless[] = {
	{ CALLS | GIVEN(REGIME), "--regime", "it visits no stages" },
	{ CALLS | GIVEN(LOOK), "--look", "it has no queues" },
	{ CALLS | GIVEN(IDLE), "--idle", "it has no workers" },
	{ CALLS | GIVEN(DISCIPLINE), "--discipline", "it has no queues" },
	{ CALLS | HAS_SLICES, "--slice", "it has no queues" },
	{ CALLS | IS_DIVIDED, "--balance", "it has no workers" },
	{ CALLS | GIVEN(DISTRIBUTE), "--distribute", "it has no queues" },
	{ CALLS | GIVEN(STEAL), "--steal", "it has no queues" },
	{ CALLS | GIVEN(POOL), "--pool", "it has no workers" },
	{ CALLS | GIVEN(THRESHOLD), "--threshold", "it has no queues" },
	{ STAYS | GIVEN(REGIME), "--regime", "its threads stay at a stage" },
	{ STAYS | GIVEN(LOOK), "--look", "its threads stay at a stage" },
	{ STAYS | GIVEN(IDLE), "--idle", "its threads stay at a stage" },
	{ STAYS | HAS_STACKS, "--discipline stack",
	  "its threads send to stages that others visit" },
	{ STAYS | IS_PARTITIONED, "--balance partition",
	  "its threads belong to stages already" },
	{ STAYS | GIVEN(STEAL), "--steal", "its threads stay at a stage" },
	{ STAYS | GIVEN(THRESHOLD), "--threshold",
	  "its threads stay at a stage" },
	{ ROAMS | HAS_GROWING_POOLS, "--pool auto",
	  "only pools of kernel threads grow" },
	{ ROAMS | HAS_POOLS_BESIDE_QUEUES,
	  "--discipline stack or --balance even of a stage in --pool",
	  "its events wait for a thread in the queue" },
	{ IS_CENTRAL | GIVEN(REGIME), "--regime", "a visit is one event" },
	{ IS_CENTRAL | GIVEN(LOOK), "--look",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | GIVEN(IDLE), "--idle",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | HAS_STACKS, "--discipline stack",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | HAS_OWN_DISCIPLINES, "--discipline of one stage",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | IS_PARTITIONED, "--balance partition",
	  "a stage is visited wherever its event is taken" },
	{ IS_CENTRAL | GIVEN(POOL), "--pool",
	  "it has one queue for all stages" },
	{ IS_CENTRAL | GIVEN(THRESHOLD), "--threshold",
	  "a visit is one event" },
	{ NEEDS_LENGTHS | IS_BLIND, "--look blind",
	  "it chooses by the lengths of the queues" },
	{ IS_BLIND | STEALS, "--steal",
	  "a thief takes from the longest queue, which it does not see" },
	{ CALLS | GIVEN(RESOURCES), "--resources",
	  "the kernel chooses among its threads" },
	{ STAYS | GIVEN(RESOURCES), "--resources",
	  "the kernel chooses among its threads" },
	{ ROAMS | GIVEN(RESOURCES), "--resources",
	  "it chooses among stages, not threads" },
	{ IS_THREADED | GIVEN(REGIME), "--regime", "it visits no stages" },
	{ IS_THREADED | GIVEN(LOOK), "--look", "it visits no stages" },
	{ IS_THREADED | GIVEN(IDLE), "--idle", "it visits no stages" },
	{ IS_THREADED | GIVEN(DISCIPLINE), "--discipline",
	  "its threads come first come, first served at each place" },
	{ IS_THREADED | GIVEN(SLICE), "--slice",
	  "its threads go on until they block" },
	{ IS_THREADED | IS_PARTITIONED, "--balance partition",
	  "a thread runs all stages of its event" },
	{ IS_THREADED | HAS_LARGE_PARTS,
	  "--balance with fewer replicas than cores",
	  "one kernel thread runs all threads of a replica" },
	{ IS_THREADED | GIVEN(STEAL), "--steal", "a thread stays on its core" },
	{ IS_THREADED | GIVEN(POOL), "--pool", "it has one thread per core" },
	{ IS_THREADED | GIVEN(THRESHOLD), "--threshold",
	  "it visits no stages" },
	{ HAS_NO_MODEL | GIVEN(THREADS), "--threads",
	  "only servlib runs the threads of connections itself" },
	{ HAS_NO_MODEL | GIVEN(IO), "--io",
	  "only servlib reads and writes by itself" },
	{ HAS_NO_MODEL | GIVEN(TRANSFERS), "--transfers",
	  "only servlib reads and writes by itself" },
	{ HAS_NO_MODEL | GIVEN(QUANTUM), "--quantum",
	  "only servlib lets the threads of connections take turns" },
	{ IS_1_TO_1 | IS_ASYNC, "--io async",
	  "a kernel thread has nothing else to do" },
	{ IS_1_TO_1 | GIVEN(TRANSFERS), "--transfers",
	  "the kernel wakes the thread itself for each piece" },
	{ IS_1_TO_1 | GIVEN(QUANTUM), "--quantum",
	  "the kernel lets its threads take turns already" },
	{ IS_N_TO_1 | IS_SYNC, "--io sync",
	  "while one connection waits, all others would" },
	{ IS_SYNC | GIVEN(TRANSFERS), "--transfers",
	  "a thread waits in the call for each piece" },
	{ HAS_ONE_REPLICA | GIVEN(DISTRIBUTE), "--distribute",
	  "there is no other to choose" },
	{ HAS_ONE_REPLICA | GIVEN(STEAL), "--steal",
	  "there is no other to take from" },
	{ STAYS | SHARES, "--balance even or STAGE=shared",
	  "its threads belong to a replica and a stage" },
	{ IS_THREADED | SHARES, "--balance even or STAGE=shared",
	  "a thread runs all stages of its event" },
	{ HAS_ONE_REPLICA | SHARES, "--balance even or STAGE=shared",
	  "there is no other to share with" },
	{ IS_BY_SIZE | SHARES, "--balance even or STAGE=shared",
	  "a replica is for its own sizes" },
	{ IS_CENTRAL | IS_EVEN, "--balance even",
	  "it has one queue for all stages" },
	{ CALLS | HAS_ENOUGH, "--enough", "it has no queues" },
	{ STAYS | HAS_ENOUGH, "--enough", "its threads stay at a stage" },
	{ IS_CENTRAL | HAS_ENOUGH, "--enough",
	  "it has one queue for all stages" },
	{ IS_THREADED | HAS_ENOUGH, "--enough", "it visits no stages" },
	{ IS_BLIND | HAS_ENOUGH, "--enough",
	  "a worker learns only by a visit how many events wait" },
	{ IS_EVEN | IS_OUT_OF_ORDER, "--balance even",
	  "what is moved keeps the order of arrival" },
	{ HAS_NO_RANKS | HAS_SLICES, "--slice",
	  "no event comes before one that has begun" },
};

/* The flags that a line of `senseless` is about, such as "--policy color". */
static void name_cause(char text[SCHEDULE_CAUSE_BYTES], uint64_t facts,
		       const struct schedule *s)
{
	if ((facts & BY_POLICY) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--policy %s",
			       s->policy->name);
	else if ((facts & (IS_1_TO_1 | IS_N_TO_1)) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--threads %s",
			       mapping_words[s->threads.mapping]);
	else if ((facts & IS_SYNC) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--io %s",
			       thread_io_words[s->threads.io]);
	else if ((facts & HAS_NO_RANKS) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--discipline %s",
			       discipline_words[s->discipline.kind]);
	else if ((facts & IS_BLIND) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--look blind");
	else if ((facts & IS_OUT_OF_ORDER) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES,
			       "a discipline other than fcfs");
	else if ((facts & IS_BY_SIZE) != 0)
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "--distribute size");
	else
		(void)snprintf(text, SCHEDULE_CAUSE_BYTES, "one replica");
}

/*
 * The defaults of a policy with a scheduler for each core.  A thread never
 * leaves its core, so it begins where the fewest are.
 */
static void spread_fibres(struct schedule *s)
{
	if ((s->given & GIVEN(BALANCE)) == 0 && s->balance == BALANCE_SHARED) {
		s->balance = BALANCE_REPLICATE;
		s->part_count = 0;
	}
	if ((s->given & GIVEN(DISTRIBUTE)) == 0 &&
	    s->balance == BALANCE_REPLICATE)
		s->distribute = DISTRIBUTE_LEAST_LOADED;
}

/* Defaults that depend on other choices. */
static void set_defaults(struct schedule *s, uint32_t core_count)
{
	bool stays = s->policy->workers == POLICY_WORKERS_STAY;

	if (s->policy->workers == POLICY_WORKERS_FIBRES && core_count > 1)
		spread_fibres(s);
	if (s->threads.mapping == THREADS_1_TO_1 && (s->given & GIVEN(IO)) == 0)
		s->threads.io = THREADS_IO_SYNC;
	if ((s->policy->workers != POLICY_WORKERS_ROAM ||
	     s->policy->has_central_queue) &&
	    (s->given & GIVEN(REGIME)) == 0)
		s->rules.own_regimes = 0;
	if (s->policy->has_central_queue && (s->given & GIVEN(DISCIPLINE)) == 0)
		s->rules.own_disciplines = 0;
	if ((find_sharing_facts(s) & IS_OUT_OF_ORDER) != 0 &&
	    (s->given & GIVEN(DISCIPLINE)) == 0) {
		s->discipline.kind = DISCIPLINE_FCFS;
		s->rules.own_disciplines = 0;
	}
	if (stays || (s->given & GIVEN(POOL)) == 0) {
		s->pool_is_auto = s->pool_is_auto && stays;
		for (uint32_t i = 0; i < STAGES_MAX; i++)
			if (!stays || s->pool_threads[i] == 0)
				s->pool_threads[i] = stays;
	}
}

/* False: `error` says which number is out of its range. */
static bool check_range(double number, double least, double most,
			const char *what, const char *unit, struct error *error)
{
	return (number >= least && number <= most) ||
	       error_fail(error, "%s is %.15g, but it must be %.15g to %.15g%s",
			  what, number, least, most, unit);
}

/* The limits that flags have, in the units of struct schedule. */
#define NS_MAX (US_MAX * NS_PER_US)

static bool check_rests(const struct idle *idle, struct error *error)
{
	return check_range((double)idle->longest_ns, 1, NS_MAX,
			   "the longest pause of --idle backoff", " ns",
			   error) &&
	       check_range((double)idle->first_ns, 1, NS_MAX,
			   "the first pause of --idle backoff", " ns", error) &&
	       check_range(idle->patience_misses, 0, COUNT_MAX,
			   "the patience of --idle backoff", " visits",
			   error) &&
	       check_range((double)idle->patience_ns, 0, NS_MAX,
			   "the patience of --idle backoff", " ns", error);
}

static bool check_regime(const struct regime *r, struct error *error)
{
	static const struct {
		double most;
		const char *what, *unit;
	} regimes[] = {
		[REGIME_EXHAUSTIVE] = { 0, NULL, NULL },
		[REGIME_GATED] = { 0, NULL, NULL },
		[REGIME_N_GATED] = { COUNT_MAX, "the limit of --regime n-gated",
				     " events" },
		[REGIME_TIME_GATED] = { NS_MAX,
					"the limit of --regime time-gated",
					" ns" },
		[REGIME_CUTOFF] = { NS_MAX, "the limit of --regime cutoff",
				    " ns" },
	};

	return regimes[r->kind].what == NULL ||
	       check_range((double)r->limit, 1, regimes[r->kind].most,
			   regimes[r->kind].what, regimes[r->kind].unit, error);
}

static bool check_visits(const struct schedule *s, struct error *error)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		if ((schedule_sharing(s, i)->kind == SHARING_EVEN &&
		     !check_range(schedule_sharing(s, i)->even_below, 1,
				  COUNT_MAX, "the limit of --balance even",
				  " events", error)) ||
		    !check_regime(schedule_regime(s, i), error) ||
		    !check_range(schedule_discipline(s, i)->ageing, 0,
				 AGEING_MAX, "the ageing of --discipline", "",
				 error))
			return false;
	return s->idle.kind != IDLE_BACKOFF || check_rests(&s->idle, error);
}

static bool check_stage_numbers(const struct schedule *s, uint32_t stage_count,
				struct error *error)
{
	for (uint32_t i = 0; i < stage_count; i++) {
		const struct threshold *t = &s->thresholds[i];
		char what[64];

		(void)snprintf(what, sizeof(what), "--pool of stage %u", i + 1);
		if (!s->pool_is_auto &&
		    !check_range(s->pool_threads[i], 0, THREADS_MAX, what,
				 " threads", error))
			return false;
		(void)snprintf(what, sizeof(what), "--threshold of stage %u",
			       i + 1);
		if (s->has_thresholds &&
		    (!check_range(t->queued_count, 0, COUNT_MAX, what,
				  " events", error) ||
		     !check_range((double)t->unvisited_ns, 0, NS_MAX, what,
				  " ns", error)))
			return false;
		(void)snprintf(what, sizeof(what), "--enough of stage %u",
			       i + 1);
		if (s->has_enough && !check_range(s->enough[i], 0, COUNT_MAX,
						  what, " events", error))
			return false;
	}
	return true;
}

/* Programs set members themselves; what flags read is always in range. */
static bool check_ranges(const struct schedule *s, uint32_t stage_count,
			 struct error *error)
{
	return check_visits(s, error) &&
	       check_range((double)s->slice_ns, 0, NS_MAX, "--slice", " ns",
			   error) &&
	       check_range((double)s->threads.quantum_ns, 0, NS_MAX,
			   "--quantum", " ns", error) &&
	       check_stage_numbers(s, stage_count, error);
}

/* Returns the first line of `senseless` that is true, or the table's length. */
static size_t find_senseless(const struct schedule *s, uint32_t core_count)
{
	uint64_t facts = find_facts(s, core_count);
	size_t i = 0;

	while (i < ARRAY_SIZE(senseless) && (senseless[i].facts & ~facts) != 0)
		i++;
	return i;
}

/*
 * Of the default sharings, keep each that makes sense: `defaults` were left out
 * while other defaults were set.
 */
static void add_sharings(struct schedule *s, uint32_t defaults,
			 uint32_t core_count)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++) {
		uint32_t stage = UINT32_C(1) << i;

		s->rules.own_sharings |= defaults & stage;
		if ((defaults & stage) != 0 &&
		    find_senseless(s, core_count) < ARRAY_SIZE(senseless))
			s->rules.own_sharings &= ~stage;
	}
}

static bool check_sense(const struct schedule *s, uint32_t core_count,
			struct error *error)
{
	size_t i = find_senseless(s, core_count);
	char cause[SCHEDULE_CAUSE_BYTES];

	if (i == ARRAY_SIZE(senseless))
		return true;
	name_cause(cause, senseless[i].facts, s);
	return error_fail(error, "%s makes no sense with %s: %s",
			  senseless[i].what, cause, senseless[i].why);
}

static bool complete(struct schedule *s, uint32_t stage_count,
		     uint32_t core_count, struct error *error)
{
	bool is_partitioned = s->balance == BALANCE_PARTITION;
	uint32_t defaults = s->rules.own_sharings & s->rules.default_sharings;
	uint32_t most = core_count;

	assert(stage_count >= 1 && stage_count <= STAGES_MAX);
	assert(core_count >= 1 && s->policy != NULL);
	s->rules.own_sharings &= ~defaults;
	set_defaults(s, core_count);
	if (is_partitioned && stage_count < most)
		most = stage_count;
	if (s->balance == BALANCE_SHARED)
		s->part_count = 1;
	else if (s->part_count == 0)
		s->part_count = most;
	add_sharings(s, defaults, core_count);
	if (!check_sense(s, core_count, error) ||
	    !check_ranges(s, stage_count, error))
		return false;
	return s->part_count <= most ||
	       error_fail(error,
			  "--balance asks for %u %s, but there are %u %s",
			  s->part_count, is_partitioned ? "parts" : "replicas",
			  most, most < core_count ? "stages" : "cores");
}

bool schedule_complete(struct schedule *s, uint32_t stage_count,
		       uint32_t core_count, char why[STAGES_WHY_BYTES])
{
	struct error error;

	_Static_assert(sizeof(error.text) <= STAGES_WHY_BYTES, "it is cut");
	if (complete(s, stage_count, core_count, &error))
		return true;
	(void)memcpy(why, error.text, sizeof(error.text));
	return false;
}
