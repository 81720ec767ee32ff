/* SPDX-License-Identifier: MIT */
/*
 * Promises for cases without a formula: every policy and regime handles each
 * event once, a worker's own queue comes first, long events are interrupted,
 * thresholds interrupt, parts divide the stages, one worker at a time is in an
 * exclusive stage and with a key, the least loaded replica gets the next
 * request, and the same seed gives the same run.
 */
#include "stages/sim/test/trial.h"
#include "stages/test/each_policy.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

#include <string.h>

enum { REQUESTS = 20000, WARMUP = 1000 };

static const char line[] =
	"{\"size\": {\"kind\": \"exponential\", \"mean\": 100}, \"stages\": ["
	"{\"name\": \"a\", \"us_per_size\": 0.5, \"routes\": {\"b\": 1}},"
	"{\"name\": \"b\", \"us_per_size\": 0.2, \"routes\": {\"c\": 1}},"
	"{\"name\": \"c\", \"us_per_size\": 0.3}]}";

/* Two cores, 80 % load, one queue for each stage. */
static void init(struct trial *t, const char *policy)
{
	trial_init(t, line, 2, 16000);
	t->schedule.policy = policy_find(policy);
	t->config.request_count = REQUESTS;
	t->config.warmup_count = WARMUP;
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		t->schedule.pool_threads[i] = 2;
}

static double cohort(const struct trial *t, uint32_t stage)
{
	const struct sim_stage_stats *s = &t->result.stages[stage];

	return (double)s->handled_count /
	       (double)(s->visit_count - s->visit_empty_count);
}

/* Response times are at least the work, and stages see the same events. */
static void check_whole(const struct trial *t)
{
	const struct sim_stage_stats *s = t->result.stages;

	uint64_t counted = t->config.request_count - WARMUP;

	CHECK_NUMBER(t->result.request_count, ==, counted);
	for (uint64_t i = 0; i < t->result.request_count; i++) {
		const struct sim_response *r = &t->result.requests[i];

		CHECK_NUMBER((double)r->response_ns, >=, r->size * 1000 - 3);
	}
	for (uint32_t i = 0; i < t->model.stage_count; i++) {
		CHECK_NUMBER(s[i].arrived_count + 1000, >, counted);
		CHECK_NUMBER(s[i].handled_count + 1000, >, s[i].arrived_count);
		CHECK_NUMBER(s[i].handled_count, <, s[i].arrived_count + 1000);
	}
}

static void test_every_policy_and_regime(void)
{
	static const struct regime regimes[] = {
		{ REGIME_EXHAUSTIVE, 0 },      { REGIME_GATED, 0 },
		{ REGIME_N_GATED, 3 },         { REGIME_TIME_GATED, 200000 },
		{ REGIME_CUTOFF, 150 * 1000 },
	};
	static const enum discipline_kind disciplines[] = {
		DISCIPLINE_FCFS, DISCIPLINE_LCFS, DISCIPLINE_STACK,
		DISCIPLINE_SRPT, DISCIPLINE_EDF,
	};

	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (size_t i = 0;
		     i < ARRAY_SIZE(regimes) && (*p)->threads == NULL; i++)
			for (size_t d = 0; d < ARRAY_SIZE(disciplines); d++) {
				struct trial t;

				init(&t, (*p)->name);
				t.schedule.regime = regimes[i];
				t.schedule.discipline.kind = disciplines[d];
				t.schedule.discipline.ageing = 10;
				t.schedule.slice_ns = 20000;
				t.config.pause_gap_ns = 7000;
				t.config.switch_ns = 1000;
				t.config.queue_ns = 100;
				t.config.request_count = 5000;
				trial_run(&t);
				check_whole(&t);
				trial_release(&t);
			}
}

static void test_stack_goes_before_the_queue(void)
{
	struct trial queue, stack;

	/*
	 * With srpt a worker takes an event from its stack at once, so events
	 * do not wait there.
	 */
	init(&stack, "srpt");
	stack.schedule.discipline.kind = DISCIPLINE_STACK;
	stack.schedule.regime = (struct regime){ REGIME_N_GATED, 1 };
	trial_run(&stack);
	CHECK_NUMBER(stack.result.stages[2].wait_ns, ==, 0);
	trial_release(&stack);

	/*
	 * In a cohort of several events, the stack gives the last one first, so
	 * requests end in another order.
	 */
	init(&queue, "cohort");
	init(&stack, "cohort");
	stack.schedule.discipline.kind = DISCIPLINE_STACK;
	trial_run(&queue);
	trial_run(&stack);
	CHECK(memcmp(queue.result.requests, stack.result.requests,
		     queue.result.request_count *
			     sizeof(*queue.result.requests)) != 0);
	trial_release(&queue);
	trial_release(&stack);
}

/* Two kinds of requests, by their deadlines: 2 and 20 ms; 95 % load. */
static void run_deadlines(struct trial *t, enum discipline_kind kind)
{
	static const char urgent_or_not[] =
		"{\"deadline_us\": {\"kind\": \"quantiles\", \"points\":"
		" [[0, 2000], [0.5, 2001], [0.501, 20000], [1, 20001]]},"
		"\"stages\": [{\"name\": \"a\", \"service_us\":"
		" {\"kind\": \"exponential\", \"mean\": 100}}]}";

	trial_init(t, urgent_or_not, 1, 9500);
	t->schedule.discipline.kind = kind;
	t->config.request_count = REQUESTS;
	t->config.warmup_count = WARMUP;
	trial_run(t);
}

static uint64_t late_count(const struct trial *t)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < t->result.request_count; i++)
		count += t->result.requests[i].is_late;
	return count;
}

/* The requests are the same: those with more time wait for urgent ones. */
static void test_edf_makes_fewer_late(void)
{
	struct trial fcfs, edf;

	run_deadlines(&fcfs, DISCIPLINE_FCFS);
	run_deadlines(&edf, DISCIPLINE_EDF);
	CHECK_NUMBER(late_count(&fcfs), >, 1000);
	CHECK_NUMBER(10 * late_count(&edf), <, late_count(&fcfs));
	trial_release(&fcfs);
	trial_release(&edf);
}

/* Mean response of those whose work is up to the cutoff. */
static double short_response_ns(const struct trial *t)
{
	double sum = 0, count = 0;

	for (uint64_t i = 0; i < t->result.request_count; i++)
		if (t->result.requests[i].size <= 200) {
			sum += (double)t->result.requests[i].response_ns;
			count++;
		}
	return sum / count;
}

static void test_cutoff_lets_short_events_go_first(void)
{
	struct trial gated, cutoff;

	init(&gated, "cohort");
	init(&cutoff, "cohort");
	gated.schedule.regime = (struct regime){ REGIME_GATED, 0 };
	cutoff.schedule.regime = (struct regime){ REGIME_CUTOFF, 50 * 1000 };
	cutoff.config.pause_gap_ns = 10000;
	trial_run(&gated);
	trial_run(&cutoff);
	CHECK_NUMBER(short_response_ns(&cutoff), <,
		     0.95 * short_response_ns(&gated));
	trial_release(&gated);
	trial_release(&cutoff);
}

/*
 * Of 50 clients at most 50 requests are in one visit, which is 5 ms of work; so
 * a request of 1 ms, which needs five turns, waits for about six visits,
 * however many short ones arrive.
 */
static void test_cutoff_starves_nobody(void)
{
	struct trial t;
	uint64_t most_ns = 0;

	trial_init(&t,
		   "{\"stages\": [{\"name\": \"a\", \"service_us\": "
		   "{\"kind\": \"exponential\", \"mean\": 100}}]}",
		   1, 0);
	t.schedule.regime = (struct regime){ REGIME_CUTOFF, 200 * 1000 };
	t.config.pause_gap_ns = 10000;
	t.config.client_count = 50;
	t.config.request_count = REQUESTS;
	t.config.warmup_count = WARMUP;
	trial_run(&t);
	for (uint64_t i = 0; i < t.result.request_count; i++)
		if (t.result.requests[i].response_ns > most_ns)
			most_ns = t.result.requests[i].response_ns;
	CHECK_NUMBER(most_ns, <, 50 * 1000 * 1000);
	trial_release(&t);
}

static void test_thresholds_interrupt(void)
{
	struct trial calm, nervous;

	init(&calm, "cohort");
	init(&nervous, "cohort");
	nervous.schedule.has_thresholds = true;
	nervous.schedule.thresholds[2].queued_count = 1;
	trial_run(&calm);
	trial_run(&nervous);
	check_whole(&nervous);
	CHECK_NUMBER(nervous.result.stages[2].queued_mean, <,
		     0.8 * calm.result.stages[2].queued_mean);
	CHECK_NUMBER(nervous.result.stages[2].visit_count, >,
		     calm.result.stages[2].visit_count);
	trial_release(&calm);
	trial_release(&nervous);
}

/*
 * Three requests come at once, and then none for 20 ms.  No event waits for 5
 * ms, so no stage interrupts another one, although none was visited for longer.
 */
static void test_quiet_times_are_not_late(void)
{
	static const double gaps_s[] = { 1e-6, 1e-6, 0.02 };
	struct trial t[2];

	for (int i = 0; i < 2; i++) {
		trial_init(&t[i], line, 1, 150);
		t[i].schedule.policy = policy_find("cohort");
		t[i].schedule.has_thresholds = i == 1;
		for (uint32_t k = 0; k < 3; k++)
			t[i].schedule.thresholds[k].unvisited_ns = i * 5000000;
		t[i].config.gaps_s = gaps_s;
		t[i].config.gap_count = ARRAY_SIZE(gaps_s);
		t[i].config.request_count = 3000;
		t[i].config.warmup_count = 0;
		trial_run(&t[i]);
	}
	for (uint32_t k = 0; k < 3; k++)
		CHECK_NUMBER(t[0].result.stages[k].visit_count, ==,
			     t[1].result.stages[k].visit_count);
	trial_release(&t[0]);
	trial_release(&t[1]);
}

static void test_gates_bound_the_cohort(void)
{
	struct trial t;

	init(&t, "cohort");
	t.schedule.regime = (struct regime){ REGIME_N_GATED, 1 };
	trial_run(&t);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_NUMBER(cohort(&t, i), ==, 1);
	trial_release(&t);

	/* The limit also holds for visits of a thief. */
	init(&t, "cohort");
	t.schedule.regime = (struct regime){ REGIME_N_GATED, 1 };
	t.schedule.balance = BALANCE_REPLICATE;
	t.schedule.part_count = 2;
	t.schedule.steal = true;
	trial_run(&t);
	CHECK_NUMBER(t.result.stolen_count, >, 0);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_NUMBER(cohort(&t, i), ==, 1);
	trial_release(&t);

	init(&t, "cohort");
	trial_run(&t);
	CHECK_NUMBER(cohort(&t, 1), >, 1.2);
	trial_release(&t);
}

/* Core 0 has stage a, core 1 the others, and core 2 nothing to do. */
static void test_partitions_divide_the_stages(void)
{
	struct trial t;

	init(&t, "cohort");
	t.schedule.balance = BALANCE_PARTITION;
	t.schedule.part_count = 3;
	t.config.core_count = 3;
	t.config.parts[1] = t.config.parts[2] = 1;
	t.config.switch_ns = 1000;
	trial_run(&t);
	check_whole(&t);
	CHECK_NUMBER(t.result.stages[0].switch_count, ==, 0);
	CHECK_NUMBER(t.result.stages[1].switch_count, >, 0);
	trial_release(&t);
}

static void test_balances_are_of_the_right_order(void)
{
	struct trial t[4];
	double response_s[4];

	for (int i = 0; i < 4; i++) {
		init(&t[i], "srpt");
		t[i].config.core_count = 8;
		t[i].config.rate_per_s = 64000;
		t[i].schedule.balance =
			i == 0 ? BALANCE_SHARED : BALANCE_REPLICATE;
		t[i].schedule.part_count = i == 0 ? 1 : 8;
	}
	t[1].schedule.steal = true;
	t[2].schedule.distribute = DISTRIBUTE_LEAST_LOADED;
	for (int i = 0; i < 4; i++) {
		trial_run(&t[i]);
		response_s[i] = trial_response_s(&t[i]);
		CHECK_NUMBER((t[i].result.stolen_count > 0), ==, (i == 1));
		trial_release(&t[i]);
	}
	/* Shared and stealing, least loaded, round robin. */
	CHECK_NUMBER(response_s[0], <, 1.2 * response_s[1]);
	CHECK_NUMBER(response_s[1], <, response_s[2]);
	CHECK_NUMBER(response_s[2], <, 0.8 * response_s[3]);
}

static void share(struct trial *t, uint32_t stages)
{
	t->schedule.balance = BALANCE_REPLICATE;
	t->schedule.part_count = t->config.core_count;
	t->schedule.rules.own_sharings = stages;
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		t->schedule.rules.sharings[i].kind = SHARING_ALL;
}

/* Each request takes exactly as long. */
static void test_replicas_that_share_all_are_one(void)
{
	struct trial t[2];

	for (int i = 0; i < 2; i++) {
		init(&t[i], "srpt");
		if (i == 1)
			share(&t[i], 7);
		trial_run(&t[i]);
	}
	for (uint64_t i = 0; i < t[0].result.request_count; i++)
		CHECK_NUMBER(t[0].result.requests[i].response_ns, ==,
			     t[1].result.requests[i].response_ns);
	trial_release(&t[0]);
	trial_release(&t[1]);
}

/*
 * Worked out by hand, in us: two replicas share a; each event stays at b on the
 * core that has handled it at a.
 *
 *	core 0   a of 0: 0 .. 10,  b: .. 40, a of 2: .. 50,  b: .. 80
 *	core 1   a of 1: 1 .. 11,  b: .. 41, a of 3: .. 51,  b: .. 81
 */
static void test_after_a_shared_stage_events_stay_on_their_core(void)
{
	static const double gaps_s[] = { 0, 1e-6, 1e-6, 1e-6 };
	static const uint64_t responses_us[] = { 40, 40, 78, 78 };
	struct trial t;

	trial_init(&t,
		   "{\"stages\": ["
		   "{\"name\": \"a\", \"service_us\": 10,"
		   " \"routes\": {\"b\": 1}},"
		   "{\"name\": \"b\", \"service_us\": 30}]}",
		   2, 0);
	t.schedule.policy = policy_find("srpt");
	t.schedule.regime = (struct regime){ REGIME_N_GATED, 1 };
	share(&t, 1);
	t.config.gaps_s = gaps_s;
	t.config.gap_count = ARRAY_SIZE(gaps_s);
	t.config.request_count = ARRAY_SIZE(responses_us);
	t.config.warmup_count = 0;
	trial_run(&t);
	for (size_t i = 0; i < ARRAY_SIZE(responses_us); i++)
		CHECK_NUMBER(t.result.requests[i].response_ns, ==,
			     responses_us[i] * 1000);
	trial_release(&t);
}

/*
 * Worked out by hand, in us: core 0 sends all four to b in its replica.  Core 1
 * takes its share, one, when two wait, and again when it has done that.
 *
 *	core 0   a of all: 0 .. 40, b of 1: .. 70, b of 3: .. 100
 *	core 1   b of 0: 20 .. 50, b of 2: .. 80
 */
static void test_an_even_stage_gives_others_their_share(void)
{
	static const uint64_t responses_us[] = { 50, 70, 80, 100 };
	struct trial t;

	trial_init(&t,
		   "{\"stages\": ["
		   "{\"name\": \"a\", \"service_us\": 10,"
		   " \"type\": \"exclusive\", \"routes\": {\"b\": 1}},"
		   "{\"name\": \"b\", \"service_us\": 30}]}",
		   2, 0);
	t.schedule.policy = policy_find("srpt");
	share(&t, 3);
	t.schedule.rules.sharings[1] =
		(struct sharing){ SHARING_EVEN, SCHEDULE_EVEN_BELOW };
	t.config.client_count = ARRAY_SIZE(responses_us);
	t.config.request_count = ARRAY_SIZE(responses_us);
	t.config.warmup_count = 0;
	trial_run(&t);
	for (size_t i = 0; i < ARRAY_SIZE(responses_us); i++)
		CHECK_NUMBER(t.result.requests[i].response_ns, ==,
			     responses_us[i] * 1000);
	trial_release(&t);
}

/*
 * Worked out by hand, in us, for one core: when two wait at b, it leaves a.
 *
 *	a of 0, 1: 0 .. 20, b: .. 50, .. 80
 *	a of 2, 3: .. 100, b: .. 130, .. 160
 */
static void test_a_full_stage_holds_those_before_it(void)
{
	static const uint64_t responses_us[2][4] = { { 70, 100, 130, 160 },
						     { 50, 80, 130, 160 } };

	for (int i = 0; i < 2; i++) {
		struct trial t;

		trial_init(&t,
			   "{\"stages\": ["
			   "{\"name\": \"a\", \"service_us\": 10,"
			   " \"routes\": {\"b\": 1}},"
			   "{\"name\": \"b\", \"service_us\": 30}]}",
			   1, 0);
		t.schedule.has_enough = i == 1;
		t.schedule.enough[1] = 2;
		t.config.client_count = 4;
		t.config.request_count = 4;
		t.config.warmup_count = 0;
		trial_run(&t);
		for (size_t k = 0; k < 4; k++)
			CHECK_NUMBER(t.result.requests[k].response_ns, ==,
				     responses_us[i][k] * 1000);
		trial_release(&t);
	}
}

struct responses {
	double mean_ns;
	uint64_t longest_ns;
};

/* Of requests from this size on, but below the end. */
static struct responses responses_of(const struct trial *t, double size,
				     double end)
{
	struct responses all = { 0 };
	uint64_t count = 0;

	for (uint64_t i = 0; i < t->result.request_count; i++) {
		const struct sim_response *r = &t->result.requests[i];

		if (r->size < size || r->size >= end)
			continue;
		count++;
		all.mean_ns += (double)r->response_ns;
		if (r->response_ns > all.longest_ns)
			all.longest_ns = r->response_ns;
	}
	CHECK_NUMBER(count, >, 0);
	all.mean_ns /= (double)count;
	return all;
}

/*
 * One request in 100 has half of the work, in one step of 98 ms or more.  The
 * others never wait for it, because their core does not take it.  The core of
 * the large ones takes small ones first, if it may steal.
 */
static void test_small_never_wait_for_large(void)
{
	static const char graph[] =
		"{\"size\": {\"kind\": \"quantiles\", \"points\":"
		" [[0, 1], [0.99, 1.01], [0.990001, 98], [1, 100]]},"
		"\"stages\": [{\"name\": \"a\", \"us_per_size\": 1000}]}";
	struct responses small[3], large[3];

	for (int i = 0; i < 3; i++) {
		struct trial t;

		trial_init(&t, graph, 2, 700);
		t.config.request_count = 100000;
		t.schedule.balance = BALANCE_REPLICATE;
		t.schedule.part_count = 2;
		t.schedule.distribute =
			i == 0 ? DISTRIBUTE_LEAST_LOADED : DISTRIBUTE_SIZE;
		t.schedule.steal = i == 2;
		trial_run(&t);
		small[i] = responses_of(&t, 1, 2);
		large[i] = responses_of(&t, 98, 101);
		CHECK_NUMBER((t.result.stolen_count > 0), ==, (i == 2));
		trial_release(&t);
	}
	CHECK_NUMBER(small[0].longest_ns, >, 98 * NS_PER_MS);
	CHECK_NUMBER(small[1].longest_ns, <, 40 * NS_PER_MS);
	CHECK_NUMBER(small[2].longest_ns, <, 40 * NS_PER_MS);
	CHECK_NUMBER(small[2].mean_ns, <, 0.9 * small[1].mean_ns);
	CHECK_NUMBER(large[2].mean_ns, >, large[1].mean_ns);
}

/* Two clients on two cores wait for nobody. */
static void test_closed_loop(void)
{
	struct trial t;

	init(&t, "cohort");
	t.config.rate_per_s = 0;
	t.config.client_count = 2;
	trial_run(&t);
	check_whole(&t);
	double span_s = (double)t.result.span_ns / 1e9;
	double per_s = (double)t.result.finished_count / span_s;

	CHECK_NUMBER(per_s, >, 2 / 100e-6 * 0.95);
	CHECK_NUMBER(per_s, <, 2 / 100e-6 * 1.05);
	trial_release(&t);
}

static void test_gaps_are_as_given(void)
{
	static const double gaps_s[] = { 0.001, 0.003 };
	struct trial t;

	init(&t, "cohort");
	t.config.rate_per_s = 0;
	t.config.gaps_s = gaps_s;
	t.config.gap_count = 2;
	trial_run(&t);
	/* The span is the sum of all counted gaps except the last one. */
	uint64_t pairs = (REQUESTS - WARMUP) / 2;

	CHECK(t.result.span_ns == pairs * 4000000 - 1000000 ||
	      t.result.span_ns == pairs * 4000000 - 3000000);
	trial_release(&t);
}

static void test_same_seed_same_run(void)
{
	struct trial a, b;

	init(&a, "cohort");
	init(&b, "cohort");
	trial_run(&a);
	trial_run(&b);
	CHECK_NUMBER(a.result.request_count, ==, REQUESTS - WARMUP);
	for (uint64_t i = 0; i < a.result.request_count; i++)
		CHECK_NUMBER(a.result.requests[i].response_ns, ==,
			     b.result.requests[i].response_ns);
	trial_release(&a);
	trial_release(&b);
}

/* Until when the last event ran at each stage, by lane. */
enum { TYPED_STAGES = 3, LANES = 4 };
static uint64_t ran_until_ns[TYPED_STAGES][LANES];
static uint32_t together_count; /* at the shared stage */

/*
 * Events come in the order of their ends.  One lane is enough for an exclusive
 * stage, and one of each worker for a stage with keys.
 */
static void watch_lanes(void *arg, const struct span *span)
{
	uint32_t lane = span->stage == 2 ? span->number % LANES : 0;
	uint64_t *until_ns = &ran_until_ns[span->stage][lane];

	(void)arg;
	if (span->kind != SPAN_EVENT)
		return;
	if (span->stage == 0)
		together_count += span->start_ns < *until_ns;
	else
		CHECK_NUMBER(span->start_ns, >=, *until_ns);
	*until_ns = span->end_ns;
}

/* `shares`: there are replicas, which share the stages b and c. */
static void check_types(const struct policy *p, bool shares)
{
	static const char graph[] =
		"{\"stages\": ["
		"{\"name\": \"a\", \"service_us\": 50, \"routes\": {\"b\": 1}},"
		"{\"name\": \"b\", \"service_us\": 10, \"routes\": {\"c\": 1},"
		" \"type\": \"exclusive\"},"
		"{\"name\": \"c\", \"service_us\": 60,"
		" \"type\": \"partitioned\"}]}";
	struct trial t;

	memset(ran_until_ns, 0, sizeof(ran_until_ns));
	together_count = 0;
	trial_init(&t, graph, LANES, 25000);
	t.schedule.policy = p;
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		t.schedule.pool_threads[i] = LANES;
	if (shares)
		share(&t, 6);
	t.config.request_count = REQUESTS;
	t.config.warmup_count = WARMUP;
	t.config.watch = watch_lanes;
	trial_run(&t);
	check_whole(&t);
	CHECK_NUMBER(together_count, >, REQUESTS / 10);
	trial_release(&t);
}

static void test_types_of_stages(void)
{
	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++) {
		if ((*p)->workers != POLICY_WORKERS_FIBRES)
			check_types(*p, false);
		if ((*p)->workers == POLICY_WORKERS_ROAM)
			check_types(*p, true);
	}
}

int main(void)
{
	test_every_policy_and_regime();
	test_types_of_stages();
	test_stack_goes_before_the_queue();
	test_edf_makes_fewer_late();
	test_cutoff_lets_short_events_go_first();
	test_cutoff_starves_nobody();
	test_thresholds_interrupt();
	test_quiet_times_are_not_late();
	test_gates_bound_the_cohort();
	test_partitions_divide_the_stages();
	test_balances_are_of_the_right_order();
	test_replicas_that_share_all_are_one();
	test_after_a_shared_stage_events_stay_on_their_core();
	test_an_even_stage_gives_others_their_share();
	test_a_full_stage_holds_those_before_it();
	test_small_never_wait_for_large();
	test_closed_loop();
	test_gaps_are_as_given();
	test_same_seed_same_run();
	return 0;
}
