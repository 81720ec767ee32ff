/* SPDX-License-Identifier: MIT */
/*
 * Promise: ranks order events as discipline.h says; with srpt nothing starves.
 */
#include "stages/discipline.h"

#include "stages/stage.h"

#include <assert.h>
#include <math.h>

static uint64_t srpt_rank(double ageing, uint64_t born_ns, uint64_t left_ns)
{
	struct discipline d = { .kind = DISCIPLINE_SRPT, .ageing = ageing };
	struct event ev = { .born_ns = born_ns, .left_ns = left_ns };

	return discipline_rank(&d, &ev, 0);
}

static void test_first_come_is_first(enum discipline_kind kind)
{
	struct discipline d = { .kind = kind };
	struct event old = { .born_ns = 1, .left_ns = 9 };
	struct event young = { .born_ns = 2, .left_ns = 1 };

	assert(discipline_rank(&d, &young, 5) < discipline_rank(&d, &old, 6));
	assert(discipline_rank(&d, &young, 0) <
	       discipline_rank(&d, &old, UINT64_MAX));
}

static void test_last_come_is_first(void)
{
	struct discipline d = { .kind = DISCIPLINE_LCFS };
	struct event old = { .born_ns = 1, .left_ns = 9 };
	struct event young = { .born_ns = 2, .left_ns = 1 };

	assert(discipline_rank(&d, &young, 6) < discipline_rank(&d, &old, 5));
	assert(discipline_rank(&d, &young, UINT64_MAX) <
	       discipline_rank(&d, &old, 0));
}

static void test_srpt_prefers_less_work(void)
{
	assert(srpt_rank(20, 1000, 10) < srpt_rank(20, 1000, 11));
	/* A younger one too, if it is that much shorter. */
	assert(srpt_rank(20, 1199, 0) < srpt_rank(20, 1000, 10));
}

static void test_srpt_without_ageing_is_by_birth(void)
{
	assert(srpt_rank(0, 1000, 1000000) < srpt_rank(0, 1001, 1));
	assert(srpt_rank(0, 1000, UINT64_MAX) == 1000);
}

/* Never overtaken by an event born after b + ageing * L. */
static void test_srpt_bounds_overtaking(void)
{
	static const double ageings[] = { 0, 0.5, 1, 20, 1000 };
	static const uint64_t lefts_ns[] = { 0, 1, 999, 20000000, 4000000000 };
	enum {
		AGEINGS = sizeof(ageings) / sizeof(ageings[0]),
		LEFTS = sizeof(lefts_ns) / sizeof(lefts_ns[0])
	};
	const uint64_t born_ns = UINT64_C(90000000000000); /* up for a day */

	for (uint32_t a = 0; a < AGEINGS; a++)
		for (uint32_t l = 0; l < LEFTS; l++) {
			double bound_ns = ageings[a] * (double)lefts_ns[l];
			uint64_t rank =
				srpt_rank(ageings[a], born_ns, lefts_ns[l]);

			for (uint32_t s = 0; s < LEFTS; s++)
				assert(rank <
				       srpt_rank(ageings[a],
						 born_ns + 1 +
							 (uint64_t)bound_ns,
						 lefts_ns[s]));
		}
}

static void test_srpt_saturates(void)
{
	assert(srpt_rank(20, 1, UINT64_MAX) == UINT64_MAX);
	assert(srpt_rank(1, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert(srpt_rank(1, UINT64_MAX - 5, 6) == UINT64_MAX);
	assert(srpt_rank(1, UINT64_MAX - 5, 4) == UINT64_MAX - 1);
	assert(srpt_rank(0x1p60, 1000, 16) == UINT64_MAX);
	assert(srpt_rank(INFINITY, 1000, 1) == UINT64_MAX);
}

int main(void)
{
	test_first_come_is_first(DISCIPLINE_FCFS);
	test_first_come_is_first(DISCIPLINE_STACK);
	test_last_come_is_first();
	test_srpt_prefers_less_work();
	test_srpt_without_ageing_is_by_birth();
	test_srpt_bounds_overtaking();
	test_srpt_saturates();
	return 0;
}
