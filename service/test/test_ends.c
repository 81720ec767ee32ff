/* SPDX-License-Identifier: MIT */
/*
 * Promises: what was promised is found until it is settled, why it was broken
 * after that, and of those no more than ENDS_MAX.
 */
#include "service/http/ends.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct ends *ends;

static struct promise promise_of(uint64_t number)
{
	struct promise p = { .id = "" };

	(void)snprintf(p.id, sizeof(p.id), "%064" PRIx64, number);
	return p;
}

static enum promise_state find(uint64_t number, enum problem *problem)
{
	struct promise p = promise_of(number);

	*problem = PROBLEM_NONE;
	return ends_find(ends, p.id, problem);
}

static void test_kept_and_broken(void)
{
	struct promise a = promise_of(1), b = promise_of(2), c = promise_of(3);
	enum problem problem;

	assert(find(1, &problem) == PROMISE_NONE);
	ends_promise(ends, &a);
	ends_promise(ends, &b);
	ends_promise(ends, &c);
	assert(find(1, &problem) == PROMISE_MADE);
	ends_settle(ends, &b, PROBLEM_STORE_FULL); /* of the middle */
	assert(find(2, &problem) == PROMISE_BROKEN &&
	       problem == PROBLEM_STORE_FULL);
	ends_settle(ends, &c, PROBLEM_NONE);
	assert(find(3, &problem) == PROMISE_NONE);
	assert(find(1, &problem) == PROMISE_MADE);
	ends_settle(ends, &a, PROBLEM_NONE);
	assert(find(1, &problem) == PROMISE_NONE);
	assert(find(2, &problem) == PROMISE_BROKEN);
}

static void test_two_of_one_id(void)
{
	struct promise a = promise_of(1), b = promise_of(1);
	enum problem problem;

	ends_promise(ends, &a);
	ends_promise(ends, &b);
	ends_settle(ends, &a, PROBLEM_STORE_FULL);
	assert(find(1, &problem) == PROMISE_MADE);
	ends_settle(ends, &b, PROBLEM_STORE_FAILED);
	assert(find(1, &problem) == PROMISE_BROKEN &&
	       problem == PROBLEM_STORE_FAILED);
}

static void test_oldest_are_forgotten(void)
{
	enum problem problem;

	for (uint64_t i = 0; i < ENDS_MAX + 10; i++) {
		struct promise p = promise_of(100 + i);

		ends_promise(ends, &p);
		ends_settle(ends, &p, PROBLEM_STORE_FULL);
	}
	assert(find(100 + 9, &problem) == PROMISE_NONE);
	assert(find(100 + 10, &problem) == PROMISE_BROKEN);
	assert(find(100 + ENDS_MAX + 9, &problem) == PROMISE_BROKEN);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_kept_and_broken,
		test_two_of_one_id,
		test_oldest_are_forgotten,
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		ends = malloc(sizeof(*ends));
		assert(ends != NULL);
		ends_init(ends);
		tests[i]();
		ends_release(ends);
		free(ends);
	}
	return 0;
}
