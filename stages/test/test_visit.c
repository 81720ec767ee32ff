/* SPDX-License-Identifier: MIT */
/*
 * Promises: with one worker at a stage, waiting events are handled in the order
 * of the discipline, also where a cutoff pauses them; a stage over its
 * threshold interrupts a visit, but not an interruption; a blind worker looks
 * at no queue but by a visit, makes a whole round before it sleeps, and another
 * if somebody was to be woken meanwhile; --idle backoff rests as its numbers
 * say, and a worker that was woken visits where the event is; a policy that
 * breaks its contract is named.
 *
 * All events wait until the first one, which is held at the gate (line.h), goes
 * on.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "base/util.h"
#include "stages/flags.h"
#include "stages/test/each_policy.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"
#include "stages/visit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ITEMS = 12, SECOND_NS = 1000000000 };

static struct item items[ITEMS];

/*
 * The items in the order of their handling at each stage, and the stages in the
 * order of all handlers.
 */
static struct seen {
	uint32_t counts[LINE_STAGES];
	uint32_t numbers[LINE_STAGES][ITEMS];
	_Atomic uint32_t step_count;
	char steps[LINE_STAGES * ITEMS + 1];
} seen;

/* A stage has one worker here, so each list has one writer. */
static void look_begins(struct item *item, const struct place *place)
{
	uint32_t stage = place->index;

	seen.numbers[stage][seen.counts[stage]++] = item->number;
	seen.steps[atomic_fetch_add(&seen.step_count, 1)] =
		place->line->setup.schedule.has_thresholds ||
				place->line->setup.schedule.has_enough ?
			(char)('a' + stage) :
			' ';
	pause_ns(2000);
}

/* False: refused. */
static bool set_flag(struct schedule *s, const char *name, const char *value)
{
	struct error error;

	if (value != NULL)
		CHECK(schedule_set(s, name, value, line_names, LINE_STAGES));
	return schedule_complete(s, LINE_STAGES, 1, error.text);
}

/* Handle all items: the first one alone, so that the others wait in a queue. */
static void run(const struct schedule *schedule, uint32_t count)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct stage_stats stats = { 0 };
	struct line_setup setup = {
		.schedule = *schedule,
		.slots = ITEMS,
		.begins = look_begins,
	};
	struct line l;
	char first[16];

	(void)snprintf(first, sizeof(first), "%u", cores_cpu(cores, 0));
	cores_free(cores);
	setup.cores = cores = cores_new(first, why.text);
	(void)memset(items, 0, sizeof(items));
	(void)memset(&seen, 0, sizeof(seen));
	line_start(&l, &setup);
	atomic_store(&l.gate_is_closed, true);
	for (uint32_t i = 0; i < count; i++) {
		items[i].number = i;
		/*
		 * In seconds, so that the difference in birth times does not
		 * matter.
		 */
		items[i].event.left_ns = i * 5 % ITEMS * (uint64_t)SECOND_NS;
		items[i].event.deadline_ns = i * 7 % ITEMS / 3;
		CHECK(line_send(&l, &items[i]));
		while (stats.started_count == 0)
			stage_read(l.stages[0], &stats);
	}
	atomic_store(&l.gate_is_closed, false);
	line_await(&l, count);
	group_stop(l.group);
	CHECK_NUMBER(l.finished_count, ==, count);
	line_release(&l);
	cores_free(cores);
}

static const struct schedule *comparing;

/* Compare by the promised order at the first stage. */
static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	bool is_less = x < y;

	if (comparing->discipline.kind == DISCIPLINE_LCFS)
		is_less = x > y;
	if (comparing->discipline.kind == DISCIPLINE_SRPT)
		is_less = items[x].event.left_ns < items[y].event.left_ns;
	if (comparing->discipline.kind == DISCIPLINE_EDF &&
	    items[x].event.deadline_ns != items[y].event.deadline_ns)
		/*
		 * 0 means no deadline, so it comes last: as unsigned, 0 - 1 is
		 * the largest number.
		 */
		is_less = items[x].event.deadline_ns - 1 <
			  items[y].event.deadline_ns - 1;
	return is_less ? -1 : 1;
}

static void check_first_stage(const struct schedule *s)
{
	uint32_t wanted[ITEMS];

	for (uint32_t i = 0; i < ITEMS; i++)
		wanted[i] = i;
	comparing = s;
	qsort(wanted + 1, ITEMS - 1, sizeof(*wanted), compare);
	CHECK(memcmp(wanted, seen.numbers[0], sizeof(wanted)) == 0);
}

/* First come, first served at every stage. */
static void check_fcfs(void)
{
	for (uint32_t stage = 0; stage < LINE_STAGES; stage++)
		for (uint32_t i = 0; i < ITEMS; i++)
			CHECK_NUMBER(seen.numbers[stage][i], ==, i);
}

/*
 * The second stage runs the worker's own events of its first visit, last sent
 * first, except for the first item.
 */
static void check_stack(void)
{
	uint32_t last = ITEMS;

	for (uint32_t i = 0; i < ITEMS; i++) {
		uint32_t number = seen.numbers[1][i];

		if (number == 0)
			continue;
		CHECK_NUMBER(number, <, last);
		last = number;
	}
}

static void test_order_is_that_of_the_discipline(void)
{
	static const char *const disciplines[] = { NULL, "lcfs", "stack",
						   "srpt", "edf" };
	static const char *const regimes[] = { NULL, "gated", "n-gated=2",
					       "time-gated=20", "cutoff=1" };
	uint32_t stack_count = 0, count = 0;

	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (uint32_t i = 0; i < 5 * 5; i++) {
			struct schedule s;

			schedule_init(&s);
			if (!set_flag(&s, "policy", (*p)->name) ||
			    !set_flag(&s, "discipline", disciplines[i / 5]) ||
			    !set_flag(&s, "regime", regimes[i % 5]) ||
			    s.policy->workers == POLICY_WORKERS_CALLER)
				continue;
			count++;
			run(&s, ITEMS);
			check_first_stage(&s);
			if (s.discipline.kind == DISCIPLINE_FCFS &&
			    s.regime.kind != REGIME_CUTOFF)
				check_fcfs();
			if (s.discipline.kind == DISCIPLINE_STACK &&
			    (s.regime.kind == REGIME_EXHAUSTIVE ||
			     s.regime.kind == REGIME_GATED)) {
				check_stack();
				stack_count++;
			}
		}
	CHECK_NUMBER(count, >=, 80);
	CHECK_NUMBER(stack_count, >=, 8);
}

static const char *steps_of(const char *flag, const char *value)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set_flag(&s, flag, value));
	run(&s, 8);
	return seen.steps;
}

/*
 * The worker visits `a` when more than two events wait at `b`, so `b`
 * interrupts.  Handling the events of `b` makes more than one event wait at
 * `c`.  `c` does not interrupt the interruption: its events are handled after
 * the next event of `a`; and so on.
 */
static void test_threshold_interrupts_but_no_interruption(void)
{
	CHECK_TEXT(steps_of("threshold", "b=2,c=1"), "aaabbb"
						     "accc"
						     "aabbb"
						     "accc"
						     "abb"
						     "cc"
						     "dddddddd");
}

static void test_stage_long_unvisited_interrupts(void)
{
	CHECK_TEXT(steps_of("threshold", "b=0:1"), "abababababababab"
						   "cccccccc"
						   "dddddddd");
}

/*
 * A visit to `a` ends when three events wait at `b`; that of `b` lasts until
 * none does.  The full `a` holds nothing, and while `d` is full, no other stage
 * is visited.
 */
static void test_full_stages_hold_those_before_them(void)
{
	CHECK_TEXT(steps_of("enough", "a=1,b=3"), "aaabbbcccddd"
						  "aaabbbcccddd"
						  "aabbccdd");
	CHECK_TEXT(steps_of("enough", "d=1"), "aaaaaaaabbbbbbbb"
					      "cdcdcdcdcdcdcdcd");
}

static uint32_t count_nothing(const struct visit_station *s)
{
	(void)s;
	return 0;
}

static struct event *pop_nothing(struct visit_station *s)
{
	(void)s;
	return NULL;
}

static void ignore_turn(struct visitor *v, uint32_t from, uint32_t to,
			uint64_t gap_ns)
{
	(void)v;
	(void)from;
	(void)to;
	(void)gap_ns;
}

/* A visitor of the line's stages, without threads. */
struct sole {
	uint64_t state[128];
	struct visit_station stations[LINE_STAGES];
	struct schedule schedule;
	struct visit_part part;
	struct visit_group group;
	struct visitor visitor;
};

static void sole_init(struct sole *s, const struct visit_access *access)
{
	*s = (struct sole){ .part = { .open_count = 0 } };
	schedule_init(&s->schedule);
	s->group = (struct visit_group){ .schedule = &s->schedule,
					 .part_count = 1,
					 .parts = &s->part };
	s->visitor = (struct visitor){ .access = access,
				       .group = &s->group,
				       .station_count = LINE_STAGES,
				       .policy_state = s->state };
	for (uint32_t i = 0; i < LINE_STAGES; i++) {
		visit_station_init(&s->stations[i], &s->schedule, i, 0);
		s->visitor.stations[i] = &s->stations[i];
	}
	visitor_init(&s->visitor);
}

static uint32_t wake_count; /* of the one worker */

static uint32_t count_wakes(const struct visitor *v)
{
	(void)v;
	return wake_count;
}

static uint32_t read_no_totals(const struct visitor *v,
			       const struct visit_station *s,
			       struct measure_totals *out)
{
	(void)v;
	(void)s;
	*out = (struct measure_totals){ 0 };
	return 1;
}

/*
 * Each visit finds nothing.  A visitor that looks at a queue would call a
 * function that there is not.
 */
static const struct visit_access blind_access = {
	.epoch = count_wakes,
	.pop = pop_nothing,
	.turn = ignore_turn,
	.read_totals = read_no_totals,
};

/* False: the policy's workers cannot be blind. */
static bool sole_init_blind(struct sole *s, const struct policy *p,
			    const char *idle)
{
	sole_init(s, &blind_access);
	if (p->workers != POLICY_WORKERS_ROAM || p->has_central_queue ||
	    p->needs_lengths)
		return false;
	CHECK_NUMBER(p->state_bytes, <=, sizeof(s->state));
	CHECK(set_flag(&s->schedule, "policy", p->name));
	CHECK(set_flag(&s->schedule, "look", "blind"));
	return set_flag(&s->schedule, "idle", idle);
}

/* Visits until the next rest, each of which takes 1 us.  Returns how many. */
static uint32_t visits_to_rest(struct sole *s, uint64_t *now_ns)
{
	uint32_t visits = 0;
	enum visit_step step;

	while ((step = visitor_step(&s->visitor, *now_ns)) != VISIT_REST) {
		visits += step == VISIT_OVER;
		*now_ns += step == VISIT_SWITCH ? 1000 : 0;
	}
	return visits;
}

/* It rests as soon as it was at each station, which is not sooner. */
static void expect_round(struct sole *s)
{
	uint32_t seen_stations = 0, before = 0;
	enum visit_step step;

	while ((step = visitor_step(&s->visitor, 1000)) != VISIT_REST) {
		if (step != VISIT_OVER)
			continue;
		before = seen_stations;
		seen_stations |= 1u << s->visitor.visit.stage;
	}
	CHECK_NUMBER(seen_stations, ==, (1u << LINE_STAGES) - 1);
	CHECK_NUMBER(before, !=, seen_stations);
	CHECK_NUMBER(s->visitor.rest_ns, ==, 0);
}

static void test_a_blind_worker_makes_rounds(void)
{
	struct sole s;
	uint32_t policy_count = 0;

	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		if (!sole_init_blind(&s, *p, "wake"))
			continue;
		policy_count++;
		for (uint32_t round = 0; round < 5; round++) {
			expect_round(&s);
			CHECK(!visitor_has_work(&s.visitor));
			wake_count++;
			CHECK(visitor_has_work(&s.visitor));
			visitor_woken(&s.visitor);
		}
		/* Somebody was to be woken in the middle of the round. */
		CHECK_NUMBER(visitor_step(&s.visitor, 1000), ==, VISIT_SWITCH);
		wake_count++;
		expect_round(&s);
		CHECK(visitor_has_work(&s.visitor));
		expect_round(&s);
		CHECK(!visitor_has_work(&s.visitor));
	}
	CHECK_NUMBER(policy_count, >=, 4);
}

/* So many visits before the first rest, and one before each other one. */
static void expect_rests(const char *idle, uint32_t first_visits,
			 const uint64_t *rests_ns, uint32_t count)
{
	uint64_t now_ns = 5000000000;
	struct sole s;

	CHECK(sole_init_blind(&s, policy_find("srpt"), idle));
	/* From the beginning, and once more after it was woken. */
	for (uint32_t search = 0; search < 2; search++) {
		for (uint32_t i = 0; i < count; i++) {
			CHECK_NUMBER(visits_to_rest(&s, &now_ns), ==,
				     i == 0 ? first_visits : 1);
			CHECK_NUMBER(s.visitor.rest_ns, ==, rests_ns[i]);
			CHECK(s.visitor.rest_at == s.visitor.visit.station);
			now_ns += s.visitor.rest_ns;
		}
		visitor_woken(&s.visitor);
	}
}

static void test_rests_are_as_long_as_the_rule_says(void)
{
	static const uint64_t thesis[] = { 1000,   2000,   4000,    8000,
					   16000,  32000,  64000,   128000,
					   256000, 512000, 1000000, 1000000,
					   1000000 };
	static const uint64_t steps[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const uint64_t first_day[] = { 10000, 20000, 40000, 50000,
					      50000 };
	static const uint64_t linear[] = { 700, 1400, 2100, 2500, 2500 };
	uint64_t pauses[25];

	for (uint32_t i = 0; i < 25; i++)
		pauses[i] = (i < 20 ? i + 1 : 20) * UINT64_C(1000000);
	expect_rests("thesis", 65, thesis, ARRAY_SIZE(thesis));
	/* A timeout counts from the next visit on. */
	expect_rests("code-step", 2, steps, ARRAY_SIZE(steps));
	/* 200 ms from the end of the first visit in vain. */
	expect_rests("code-pause", 200001, pauses, ARRAY_SIZE(pauses));
	expect_rests("backoff=0:10:50", 1, first_day, ARRAY_SIZE(first_day));
	expect_rests("backoff=3:0.7:2.5:linear", 4, linear, ARRAY_SIZE(linear));
	expect_rests("backoff=0:1:0.25", 1, &(uint64_t){ 250 }, 1);
}

/* A million steps of 1 ns, and the numbers stay right after that. */
static void test_the_longest_rest_stays(void)
{
	uint64_t now_ns = 0;
	struct sole s;

	CHECK(sole_init_blind(&s, policy_find("dbr"), "code-step"));
	for (uint64_t i = 1; i <= 1100000; i++) {
		(void)visits_to_rest(&s, &now_ns);
		CHECK_NUMBER(s.visitor.rest_ns, ==, i < 1000000 ? i : 1000000);
	}
}

/* A worker that sees the queues does not look at them again and again. */
static void test_patience_is_for_the_blind(void)
{
	static const struct visit_access access = {
		.queued_count = count_nothing,
		.passed_count = count_nothing,
		.pop = pop_nothing,
		.turn = ignore_turn,
	};
	uint64_t now_ns = 0;
	struct sole s;

	sole_init(&s, &access);
	CHECK(set_flag(&s.schedule, "idle", "thesis"));
	for (uint64_t rest_ns = 1000; rest_ns <= 8000; rest_ns *= 2) {
		CHECK_NUMBER(visits_to_rest(&s, &now_ns), ==, 0);
		CHECK_NUMBER(s.visitor.rest_ns, ==, rest_ns);
	}
}

/* SRPT would go on to another station. */
static void test_a_woken_worker_visits_where_it_rested(void)
{
	uint64_t now_ns = 0;
	struct sole s;

	CHECK(sole_init_blind(&s, policy_find("srpt"), "backoff=1:10:50"));
	for (uint32_t i = 0; i < 6; i++) {
		const struct visit_station *at;

		(void)visits_to_rest(&s, &now_ns);
		at = s.visitor.rest_at;
		visitor_woken(&s.visitor);
		CHECK_NUMBER(visitor_step(&s.visitor, now_ns), ==,
			     VISIT_SWITCH);
		CHECK(s.visitor.visit.station == at);
		CHECK_NUMBER(visitor_step(&s.visitor, now_ns), ==, VISIT_OVER);
		/* And only once. */
		CHECK_NUMBER(visitor_step(&s.visitor, now_ns), ==,
			     VISIT_SWITCH);
		CHECK(s.visitor.visit.station != at);
	}
}

static uint32_t count_one(const struct visit_station *s)
{
	(void)s;
	return 1;
}

static uint32_t pick_none(void *state, const struct group_view *view)
{
	(void)state;
	(void)view;
	return POLICY_IDLE;
}

static uint32_t pick_too_far(void *state, const struct group_view *view)
{
	(void)state;
	return view->stage_count;
}

/* What a process writes that asks such a policy, which ends it. */
static void expect_mistake(policy_pick_fn *pick, const char *text)
{
	static const struct visit_access access = {
		.queued_count = count_one,
		.passed_count = count_nothing,
		.pop = pop_nothing,
		.turn = ignore_turn,
	};
	const struct policy mine = { .name = "mine", .pick = pick };
	char found[256] = "";
	int ends[2], status;
	struct sole s;
	pid_t child;
	FILE *in;

	CHECK_NUMBER(pipe(ends), ==, 0);
	child = fork();
	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		sole_init(&s, &access);
		s.schedule.policy = &mine;
		(void)visitor_step(&s.visitor, 1000);
		_exit(0);
	}
	(void)close(ends[1]);
	in = fdopen(ends[0], "r");
	CHECK(in != NULL);
	while (strstr(found, text) == NULL &&
	       fgets(found, sizeof(found), in) != NULL)
		(void)fprintf(stderr, "expected: %s", found);
	CHECK_PART(found, text);
	(void)fclose(in);
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
}

/* In servers and the simulator, too, which have no each_policy(). */
static void test_a_policy_with_a_mistake_is_named(void)
{
	expect_mistake(pick_none,
		       "policy 'mine' breaks the contract of stages/policy.h: "
		       "pick() returns POLICY_IDLE, but a stage has events\n");
	expect_mistake(pick_too_far,
		       "policy 'mine' breaks the contract of stages/policy.h: "
		       "pick() returns a stage that there is not\n");
}

int main(void)
{
	/* First, while this process has one thread: it forks. */
	test_a_policy_with_a_mistake_is_named();
	watchdog_start();
	test_a_blind_worker_makes_rounds();
	test_rests_are_as_long_as_the_rule_says();
	test_the_longest_rest_stays();
	test_patience_is_for_the_blind();
	test_a_woken_worker_visits_where_it_rested();
	test_order_is_that_of_the_discipline();
	test_threshold_interrupts_but_no_interruption();
	test_full_stages_hold_those_before_them();
	test_stage_long_unvisited_interrupts();
	return 0;
}
