/* SPDX-License-Identifier: MIT */
/*
 * Promises: a blind worker pays for each visit, whether it finds events or not,
 * so the response time of one client follows from the policy's order of visits;
 * backoff adds its pauses, each twice as long as the one before, but none while
 * its patience lasts; an event that arrives where a worker rests wakes it, and
 * is visited; and nothing is left behind.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/flags.h"
#include "stages/sim/test/trial.h"
#include "stages/test/each_policy.h"

enum { STAGES = 4, REQUESTS = 300 };

#define US UINT64_C(1000)
#define SERVICE_NS (100 * US) /* of each stage */
#define SWITCH_NS (7 * US)

static const char line[] =
	"{\"stages\": ["
	"{\"name\": \"a\", \"service_us\": 100, \"routes\": {\"b\": 1}},"
	"{\"name\": \"b\", \"service_us\": 100, \"routes\": {\"c\": 1}},"
	"{\"name\": \"c\", \"service_us\": 100, \"routes\": {\"d\": 1}},"
	"{\"name\": \"d\", \"service_us\": 100}]}";

static const char *const names[STAGES] = { "a", "b", "c", "d" };

static void begin(struct trial *t, const char *policy, enum look look,
		  uint64_t longest_ns)
{
	trial_init(t, line, 1, 0);
	t->schedule.policy = policy_find(policy);
	t->schedule.look = look;
	t->schedule.idle = (struct idle){
		.kind = longest_ns > 0 ? IDLE_BACKOFF : IDLE_WAKE,
		.first_ns = 10 * US,
		.longest_ns = longest_ns,
	};
	t->config.client_count = 1;
	t->config.request_count = REQUESTS;
	t->config.warmup_count = 100;
	t->config.switch_ns = SWITCH_NS;
}

static uint64_t visits_of(const struct trial *t, bool only_empty)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < STAGES; i++)
		sum += only_empty ? t->result.stages[i].visit_empty_count :
				    t->result.stages[i].visit_count;
	return sum;
}

/* The counts may begin and end inside a request. */
static void assert_near(uint64_t visits, uint64_t wanted)
{
	CHECK_NUMBER(visits, <=, wanted + 10);
	CHECK_NUMBER(wanted, <=, visits + 10);
}

/*
 * Each request takes so many visits, of which four find it, and so much time of
 * rest.
 */
static void expect(const char *policy, enum look look, uint64_t longest_ns,
		   uint64_t visits, uint64_t rest_ns)
{
	uint64_t response_ns =
		STAGES * SERVICE_NS + visits * SWITCH_NS + rest_ns;
	struct trial t;

	begin(&t, policy, look, longest_ns);
	trial_run(&t);
	CHECK_NUMBER(t.result.request_count, >, 0);
	for (uint64_t i = 0; i < t.result.request_count; i++)
		CHECK_NUMBER(t.result.requests[i].response_ns, ==, response_ns);
	assert_near(visits_of(&t, false), visits * t.result.finished_count);
	assert_near(visits_of(&t, true),
		    (visits - STAGES) * t.result.finished_count);
	trial_release(&t);
}

/*
 * Cohort's wave visits the stages 0 1 2 3 2 1.  Each request is handled on the
 * way to 3.  The next one waits at 0, so on the way back the wave finds nothing
 * at 2 and 1.
 */
static void test_cohort_goes_back_in_vain(void)
{
	expect("cohort", LOOK_LENGTHS, 0, 4, 0);
	expect("cohort", LOOK_BLIND, 0, 6, 0);
	expect("cohort", LOOK_BLIND, 10 * US, 6, (10 + 10) * US);
	expect("cohort", LOOK_BLIND, 1000 * US, 6, (10 + 20) * US);
}

/* After each event it begins again at the end: 3210 321 32 3. */
static void test_srpt_works_its_way_back(void)
{
	expect("srpt", LOOK_LENGTHS, 0, 4, 0);
	expect("srpt", LOOK_BLIND, 0, 10, 0);
	expect("srpt", LOOK_BLIND, 25 * US, 10,
	       (10 + 20 + 25 + 10 + 20 + 10) * US);
	expect("srpt", LOOK_BLIND, 1000 * US, 10,
	       (10 + 20 + 40 + 10 + 20 + 10) * US);
}

/* One stage: an event that arrives where the worker rests wakes it. */
static void test_an_event_ends_the_rest(void)
{
	static const char one[] =
		"{\"stages\": [{\"name\": \"a\", \"service_us\": 100}]}";
	static const double gaps_s[] = { 0.01 };
	struct trial t;

	for (int look = LOOK_LENGTHS; look <= LOOK_BLIND; look++) {
		trial_init(&t, one, 1, 0);
		t.schedule.look = (enum look)look;
		t.schedule.idle = (struct idle){
			.kind = IDLE_BACKOFF,
			.first_ns = 10 * US,
			.longest_ns = 5000000 * US,
		};
		t.config.gaps_s = gaps_s;
		t.config.gap_count = 1;
		t.config.request_count = REQUESTS;
		t.config.warmup_count = 10;
		trial_run(&t);
		for (uint64_t i = 0; i < t.result.request_count; i++)
			CHECK_NUMBER(t.result.requests[i].response_ns, ==,
				     SERVICE_NS);
		trial_release(&t);
	}
}

/* The rest is at the last stage, so an event at the first waits for its end. */
static void test_an_event_elsewhere_waits(void)
{
	static const double gaps_s[] = { 0.1 };
	struct trial t;
	double least_s = 1e-9 * (STAGES * SERVICE_NS + 4 * SWITCH_NS);

	begin(&t, "srpt", LOOK_LENGTHS, 64000 * US);
	t.config.client_count = 0;
	t.config.gaps_s = gaps_s;
	t.config.gap_count = 1;
	trial_run(&t);
	CHECK_NUMBER(trial_response_s(&t), >, least_s + 0.01);
	trial_release(&t);
}

/*
 * A schedule of many workers, by a number below CHOICES.  False: the policy may
 * not be blind.
 */
static bool choose(struct trial *t, const struct policy *p, uint32_t choice)
{
	static const char *const balances[] = { "shared", "replicate",
						"partition" };
	uint32_t balance = choice / 2 % 3;
	struct error error;
	struct schedule *s = &t->schedule;

	schedule_init(s);
	CHECK(schedule_set(s, "policy", p->name, names, STAGES));
	CHECK(schedule_set(s, "look", "blind", names, STAGES));
	CHECK(schedule_set(s, "idle", choice % 2 ? "backoff" : "wake", names,
			   STAGES));
	CHECK(schedule_set(s, "balance", balances[balance], names, STAGES));
	t->config.switch_ns = choice % 4 < 2 ? SWITCH_NS : 0;
	return schedule_complete(s, STAGES, 4, error.text);
}

/* Many workers and clients, under all policies that may be blind. */
static void test_all_requests_end(void)
{
	enum { CHOICES = 12 };
	struct trial t;

	for (const struct policy *const *p = policy_list(); each_policy(*p);
	     p++)
		for (uint32_t i = 0; i < CHOICES; i++) {
			bool may_be_blind =
				(*p)->workers == POLICY_WORKERS_ROAM &&
				!(*p)->has_central_queue &&
				!(*p)->needs_lengths;

			trial_init(&t, line, 4, 0);
			t.config.client_count = 9;
			t.config.warmup_count = 0;
			t.config.request_count = REQUESTS;
			for (uint32_t s = 0; s < STAGES; s++)
				t.config.parts[s] = s;
			CHECK_NUMBER(choose(&t, *p, i), ==, may_be_blind);
			if (!may_be_blind) {
				model_release(&t.model);
				continue;
			}
			trial_run(&t);
			CHECK_NUMBER(t.result.request_count, ==, REQUESTS);
			trial_release(&t);
		}
}

int main(void)
{
	test_cohort_goes_back_in_vain();
	test_srpt_works_its_way_back();
	test_an_event_ends_the_rest();
	test_an_event_elsewhere_waits();
	test_all_requests_end();
	return 0;
}
