/* SPDX-License-Identifier: MIT */
/*
 * Promises: what is charged is counted to the byte, by any threads at once, and
 * never more than the limit; what can never fit is told apart from what does
 * not fit now; a refused charge is as before.
 */
#include "service/pipeline/budget.h"

#include <assert.h>
#include <pthread.h>

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

/* Two charges each, which may be over the limit without other threads. */
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

int main(void)
{
	test_charges_add_up();
	test_a_charge_of_nothing_has_no_budget();
	test_all_numbers_are_safe();
	test_threads_never_pass_the_limit();
	return 0;
}
