/* SPDX-License-Identifier: MIT */
/*
 * Promises: with one worker at a stage, waiting events are handled in the order
 * of the discipline, also where a cutoff pauses them; a stage over its
 * threshold interrupts a visit, but not an interruption; a blind worker that is
 * woken makes a whole round before it rests again; a policy that breaks its
 * contract is named.
 *
 * All events wait until the first one, which is held at the gate (line.h), goes
 * on.
 */
#include "base/error.h"
#include "base/test/check.h"
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
		place->line->setup.schedule.has_thresholds ?
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

static const char *steps_of(const char *threshold)
{
	struct schedule s;

	schedule_init(&s);
	CHECK(set_flag(&s, "threshold", threshold));
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
	CHECK_TEXT(steps_of("b=2,c=1"), "aaabbb"
					"accc"
					"aabbb"
					"accc"
					"abb"
					"cc"
					"dddddddd");
}

static void test_stage_long_unvisited_interrupts(void)
{
	CHECK_TEXT(steps_of("b=0:1"), "abababababababab"
				      "cccccccc"
				      "dddddddd");
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
	uint64_t state[64];
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
		s->stations[i].stage = i;
		s->visitor.stations[i] = &s->stations[i];
	}
	visitor_init(&s->visitor);
}

/* Other workers are always faster: each visit finds nothing. */
static void test_a_woken_blind_worker_makes_a_round(void)
{
	static const struct visit_access access = {
		.queued_count = count_nothing,
		.passed_count = count_nothing,
		.pop = pop_nothing,
		.turn = ignore_turn,
	};
	struct sole s;

	sole_init(&s, &access);
	CHECK_NUMBER(s.schedule.policy->state_bytes, <=, sizeof(s.state));
	CHECK(set_flag(&s.schedule, "look", "blind"));
	for (uint32_t rest = 0; rest < 5; rest++) {
		uint32_t visits = 0;
		enum visit_step step;

		while ((step = visitor_step(&s.visitor, 1000)) != VISIT_REST)
			visits += step == VISIT_OVER;
		CHECK_NUMBER(visits, ==, 2 * LINE_STAGES);
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
	test_a_woken_blind_worker_makes_a_round();
	test_order_is_that_of_the_discipline();
	test_threshold_interrupts_but_no_interruption();
	test_stage_long_unvisited_interrupts();
	return 0;
}
