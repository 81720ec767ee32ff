/* SPDX-License-Identifier: MIT */
/*
 * Promises: charges are counted to the byte, also by several threads at once,
 * and never exceed the limit; a request that can never fit is distinguished
 * from one that does not fit now; a refused charge changes nothing.
 *
 * An estimate grows with the body's size, follows the memory of recent
 * pictures, and is a valid number after any of them.
 *
 * Retry-After is the number of uploads inside, divided by the recent rate of
 * departures.  It is sensible before any upload has ended, after idle time and
 * when nothing moves; it is within 1 .. 60, and differs between clients that
 * are refused together.
 */
#include "service/pipeline/budget.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

enum { LIMIT = 1000, THREADS = 4, ROUNDS = 100000 };

static void check(const struct budget *b, uint64_t used, uint64_t peak,
		  uint64_t refused)
{
	struct budget_stats s;

	budget_read(b, &s);
	assert(s.limit_bytes == LIMIT && s.used_bytes == used);
	assert(s.peak_bytes == peak && s.refused_count == refused);
}

static void test_charges_add_up(void)
{
	struct budget b;

	budget_init(&b, LIMIT);

	struct charge one = { &b, 0 }, two = { &b, 0 };

	assert(budget_charge(&one, 600) == BUDGET_OK);
	assert(budget_charge(&two, 400) == BUDGET_OK);
	check(&b, 1000, 1000, 0);
	assert(budget_charge(&one, 601) == BUDGET_FULL && one.bytes == 600);
	assert(budget_charge(&one, 1001) == BUDGET_NEVER && one.bytes == 600);
	check(&b, 1000, 1000, 2);
	assert(budget_charge(&one, 100) == BUDGET_OK && one.bytes == 100);
	check(&b, 500, 1000, 2);
	assert(budget_charge(&two, 900) == BUDGET_OK);
	budget_lower(&two, 950); /* it is lower already */
	check(&b, 1000, 1000, 2);
	budget_lower(&two, 5);
	budget_lower(&one, 0);
	check(&b, 5, 1000, 2);
	budget_lower(&two, 0);
	check(&b, 0, 1000, 2);
}

static void test_a_charge_of_nothing_has_no_budget(void)
{
	struct charge none = { 0 };

	budget_lower(&none, 0);
	assert(none.bytes == 0);
}

static void test_all_numbers_are_safe(void)
{
	struct budget b;

	budget_init(&b, UINT64_MAX);

	struct charge one = { &b, 0 }, two = { &b, 0 };

	assert(budget_charge(&one, UINT64_MAX - 1) == BUDGET_OK);
	assert(budget_charge(&two, 2) == BUDGET_FULL);
	assert(budget_charge(&two, UINT64_MAX) == BUDGET_FULL);
	assert(budget_charge(&two, 1) == BUDGET_OK);
	budget_lower(&one, 0);
	budget_lower(&two, 0);
	assert(b.used_bytes == 0);
}

struct job {
	struct budget *budget;
	uint64_t seed;
	uint64_t refused_count;
};

/*
 * Each thread has two charges, which can exceed the limit even without other
 * threads.
 */
static void *charge_at_random(void *arg)
{
	struct job *job = arg;
	struct charge charges[2] = { { job->budget, 0 }, { job->budget, 0 } };

	for (int i = 0; i < ROUNDS; i++) {
		struct charge *c = &charges[i % 2];
		uint64_t before = c->bytes, bytes;

		job->seed = job->seed * 6364136223846793005u + 1;
		bytes = (job->seed >> 40) % (LIMIT * 2 / 3);
		switch (budget_charge(c, bytes)) {
		case BUDGET_OK:
			assert(c->bytes == bytes);
			break;
		case BUDGET_FULL:
			assert(c->bytes == before);
			job->refused_count++;
			break;
		case BUDGET_NEVER:
			assert(false);
		}
		assert(atomic_load(&job->budget->used_bytes) <= LIMIT);
	}
	budget_lower(&charges[0], 0);
	budget_lower(&charges[1], 0);
	return NULL;
}

static void test_threads_never_pass_the_limit(void)
{
	struct budget b;
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	struct budget_stats s;
	uint64_t refused = 0;

	budget_init(&b, LIMIT);
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ &b, (uint64_t)i, 0 };
		int failed = pthread_create(&threads[i], NULL, charge_at_random,
					    &jobs[i]);

		assert(failed == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		(void)pthread_join(threads[i], NULL);
		refused += jobs[i].refused_count;
	}
	budget_read(&b, &s);
	assert(s.used_bytes == 0 && s.refused_count == refused);
	assert(refused > 0 && s.peak_bytes <= LIMIT && s.peak_bytes > 600);
}

static void learn_often(struct memory_estimate *m, uint64_t body,
			uint64_t picture)
{
	for (int i = 0; i < 100; i++)
		memory_estimate_learn(m, body, picture);
}

static bool is_about(uint64_t a, uint64_t b)
{
	return a <= b + b / 50 + 64 && b <= a + a / 50 + 64;
}

static void test_follows_the_last_pictures(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	assert(memory_estimate_bytes(&m, 1 << 20) > 1 << 20);
	learn_often(&m, 1 << 20, 10 << 20);
	assert(is_about(memory_estimate_bytes(&m, 1 << 20), 10 << 20));
	assert(is_about(memory_estimate_bytes(&m, 1 << 10), 10 << 10));
	learn_often(&m, 4 << 20, 2 << 20);
	assert(is_about(memory_estimate_bytes(&m, 4 << 20), 2 << 20));
	assert(memory_estimate_bytes(&m, 0) == 0);
}

/*
 * A small upload with a giant picture changes the estimate for the next ones
 * only a little.
 */
static void test_one_alone_changes_little(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	learn_often(&m, 1 << 20, 4 << 20);
	memory_estimate_learn(&m, 665, UINT64_C(1) << 40);
	assert(memory_estimate_bytes(&m, 1 << 20) < 8 << 20);
	learn_often(&m, 1 << 20, 4 << 20);
	memory_estimate_learn(&m, UINT64_C(1) << 40, 4 << 20);
	assert(memory_estimate_bytes(&m, 1 << 20) > 2 << 20);
}

/* A few large bodies count more than the same number of small ones. */
static void test_small_bodies_do_not_spoil_it(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	for (int i = 0; i < 100; i++) {
		memory_estimate_learn(&m, 4 << 20, 8 << 20);
		memory_estimate_learn(&m, 100, 300000);
	}
	assert(memory_estimate_bytes(&m, 4 << 20) < 10 << 20);
}

static void test_extremes_are_numbers(void)
{
	struct memory_estimate m;

	memory_estimate_init(&m);
	learn_often(&m, 0, 0);
	assert(memory_estimate_bytes(&m, UINT32_MAX) < UINT64_C(1) << 40);
	learn_often(&m, 0, UINT64_C(1) << 40);
	assert(memory_estimate_bytes(&m, 1 << 10) > 0);
}

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

enum { ANSWERS = 240 };

/* The clock of a machine that has run for days. */
static const uint64_t start_ns = 86400 * SECOND * 3 + 123456789;

/*
 * Uploads end evenly, with this rate and for this time.  Returns the time at
 * the end.
 */
static uint64_t run(struct departures *d, uint64_t from_ns, uint32_t per_s,
		    uint32_t seconds)
{
	for (uint32_t i = 0; i < per_s * seconds; i++)
		departures_count(d, from_ns + i * SECOND / per_s);
	return from_ns + seconds * SECOND;
}

/* All answers are between `s` and twice `s`, and both of these values occur. */
static bool answers(struct departures *d, uint32_t inside, uint64_t now_ns,
		    uint32_t s)
{
	bool least = false, most = false;

	for (int i = 0; i < ANSWERS; i++) {
		uint32_t answer = departures_retry_after_s(d, inside, now_ns);

		if (answer < s || answer > 2 * s)
			return false;
		least = least || answer == s;
		most = most || answer == 2 * s;
	}
	return least && most;
}

static void test_goes_by_the_rate_of_late(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 30);
	assert(answers(&d, 1, now, 1));
	assert(answers(&d, 750, now, 8));
	/*
	 * Departures become ten times slower; after some seconds only the new
	 * rate counts.
	 */
	now = run(&d, now, 10, 10);
	assert(answers(&d, 75, now, 8));
	now = run(&d, now, 1000, 10);
	assert(answers(&d, 7500, now, 8));
}

static void test_nothing_is_known_at_start(void)
{
	struct departures d = { 0 };

	assert(answers(&d, 0, start_ns, 1));
	departures_begin(&d, start_ns);
	assert(answers(&d, 256, start_ns, 1));
	assert(answers(&d, 64, start_ns + 50 * MS, 4));
}

/* After an idle hour, a burst of uploads does not find the server slow. */
static void test_idle_time_does_not_count(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10) + 3600 * SECOND;
	departures_begin(&d, now);
	now = run(&d, now, 100, 1);
	assert(answers(&d, 250, now, 3));
}

static void test_a_standstill_counts(void)
{
	struct departures d = { 0 };
	uint64_t now;

	departures_begin(&d, start_ns);
	now = run(&d, start_ns, 100, 10);
	assert(answers(&d, 50, now, 1));
	/*
	 * As the recent departures get older, fewer of them count, and the time
	 * grows.
	 */
	assert(departures_retry_after_s(&d, 50, now + 7 * SECOND) >= 2);
	assert(answers(&d, 50, now + 60 * SECOND, 30));
	/* Any number of uploads, after any time. */
	assert(answers(&d, UINT32_MAX, now + 1000000 * SECOND, 30));
}

/* The ends of a burst are separated by seconds of other work. */
static void test_bursts_are_averaged(void)
{
	struct departures d = { 0 };
	uint64_t now = start_ns;

	departures_begin(&d, now);
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 100; j++)
			departures_count(&d, now);
		now += 2 * SECOND;
		uint32_t s = departures_retry_after_s(&d, 250, now);

		assert(s >= 3 && s <= 2 * 9);
	}
}

int main(void)
{
	test_charges_add_up();
	test_a_charge_of_nothing_has_no_budget();
	test_all_numbers_are_safe();
	test_threads_never_pass_the_limit();
	test_follows_the_last_pictures();
	test_one_alone_changes_little();
	test_small_bodies_do_not_spoil_it();
	test_extremes_are_numbers();
	test_goes_by_the_rate_of_late();
	test_nothing_is_known_at_start();
	test_idle_time_does_not_count();
	test_a_standstill_counts();
	test_bursts_are_averaged();
	return 0;
}
