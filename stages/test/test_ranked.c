/* SPDX-License-Identifier: MIT */
/*
 * Promise: ranks order events as stage.h says, and with srpt none starves; a
 * queue with ranks gives back each event once, lowest rank first, of equal
 * ranks the oldest, and refuses when full.  Many threads at once: test_queue.c.
 */
#include "stages/queue.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/stage.h"

#include <math.h>
#include <stdlib.h>

enum { EVENTS = 500 };

static const struct discipline lcfs = { .kind = DISCIPLINE_LCFS };
static const struct discipline srpt = { .kind = DISCIPLINE_SRPT, .ageing = 1 };

static struct event events[EVENTS];

static void test_newest_is_taken_first(void)
{
	struct queue *q = queue_new(EVENTS, 0, &lcfs);

	CHECK(queue_pop(q) == NULL);
	for (uint32_t i = 0; i < EVENTS; i++) {
		CHECK(queue_push(q, &events[i]));
		CHECK_NUMBER(queue_count(q), ==, i + 1);
	}
	for (uint32_t i = EVENTS; i > 0; i--)
		CHECK_NUMBER(queue_pop(q), ==, &events[i - 1]);
	CHECK(queue_pop(q) == NULL);
	CHECK_NUMBER(queue_count(q), ==, 0);
	queue_free(q);
}

/* Mixed pushes and pops, compared with a search through all waiting events. */
static void test_lowest_rank_is_first(void)
{
	struct queue *q = queue_new(EVENTS, 0, &srpt);
	bool waits[EVENTS] = { false };
	uint32_t count = 0;

	srand(1);
	for (uint32_t turn = 0; turn < 20 * EVENTS; turn++) {
		uint32_t i = (uint32_t)rand() % EVENTS;

		if (!waits[i]) {
			/* Few values, so that many are equal. */
			events[i] = (struct event){
				.born_ns = 1000 + (uint64_t)rand() % 50,
				.left_ns = (uint64_t)rand() % 50,
			};
			CHECK(queue_push(q, &events[i]));
			waits[i] = true;
			count++;
		} else {
			struct event *ev = queue_pop(q);

			for (uint32_t k = 0; k < EVENTS; k++)
				CHECK(!waits[k] ||
				      ev->born_ns + ev->left_ns <=
					      events[k].born_ns +
						      events[k].left_ns);
			CHECK(waits[ev - events]);
			waits[ev - events] = false;
			count--;
		}
		CHECK_NUMBER(queue_count(q), ==, count);
	}
	while (count-- > 0)
		CHECK(queue_pop(q) != NULL);
	queue_free(q);
}

static void test_full_ranked_queue_refuses(void)
{
	for (uint32_t slots = 1; slots < 10; slots++) {
		struct queue *q = queue_new(slots, 0, &lcfs);

		for (uint32_t i = 0; i < slots; i++)
			CHECK(queue_push(q, &events[i]));
		CHECK(!queue_push(q, &events[slots]));
		CHECK_NUMBER(queue_count(q), ==, slots);
		CHECK_NUMBER(queue_pop(q), ==, &events[slots - 1]);
		CHECK(queue_push(q, &events[slots]));
		CHECK_NUMBER(queue_pop(q), ==, &events[slots]);
		for (uint32_t i = slots - 1; i > 0; i--)
			CHECK_NUMBER(queue_pop(q), ==, &events[i - 1]);
		queue_free(q);
	}
}

static void test_equal_ranks_are_in_order(void)
{
	struct queue *q = queue_new(EVENTS, 0, &srpt);

	for (uint32_t i = 0; i < EVENTS; i++) {
		events[i] = (struct event){ .born_ns = 7 + i % 2 };
		CHECK(queue_push(q, &events[i]));
	}
	for (uint32_t i = 0; i < EVENTS; i += 2)
		CHECK_NUMBER(queue_pop(q), ==, &events[i]);
	for (uint32_t i = 1; i < EVENTS; i += 2)
		CHECK_NUMBER(queue_pop(q), ==, &events[i]);
	queue_free(q);
}

static uint64_t rank_of(double ageing, uint64_t born_ns, uint64_t left_ns)
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

	CHECK_NUMBER(discipline_rank(&d, &young, 5), <,
		     discipline_rank(&d, &old, 6));
	CHECK_NUMBER(discipline_rank(&d, &young, 0), <,
		     discipline_rank(&d, &old, UINT64_MAX));
}

static void test_last_come_is_first(void)
{
	struct discipline d = { .kind = DISCIPLINE_LCFS };
	struct event old = { .born_ns = 1, .left_ns = 9 };
	struct event young = { .born_ns = 2, .left_ns = 1 };

	CHECK_NUMBER(discipline_rank(&d, &young, 6), <,
		     discipline_rank(&d, &old, 5));
	CHECK_NUMBER(discipline_rank(&d, &young, UINT64_MAX), <,
		     discipline_rank(&d, &old, 0));
}

static void test_srpt_prefers_less_work(void)
{
	CHECK_NUMBER(rank_of(20, 1000, 10), <, rank_of(20, 1000, 11));
	/* A younger event too, if its work makes up for its age. */
	CHECK_NUMBER(rank_of(20, 1199, 0), <, rank_of(20, 1000, 10));
}

static void test_srpt_without_ageing_is_by_birth(void)
{
	CHECK_NUMBER(rank_of(0, 1000, 1000000), <, rank_of(0, 1001, 1));
	CHECK_NUMBER(rank_of(0, 1000, UINT64_MAX), ==, 1000);
}

static void test_srpt_has_no_patience_with_an_overrun(void)
{
	const struct discipline d = { .kind = DISCIPLINE_SRPT,
				      .ageing = 20,
				      .follows_load = true };
	struct event wrong = { .born_ns = 1000,
			       .left_ns = 100,
			       .patience_ns = 50 };
	struct event small = { .born_ns = 2000,
			       .left_ns = 10,
			       .patience_ns = 1000 };

	event_has_run(&wrong, 90);
	CHECK_NUMBER(wrong.left_ns, ==, 10);
	CHECK_NUMBER(wrong.overrun_ns, ==, 0);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), <,
		     discipline_rank(&d, &small, 0));
	event_has_run(&wrong, 40);
	CHECK_NUMBER(wrong.left_ns, ==, 0);
	CHECK_NUMBER(wrong.overrun_ns, ==, 30);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), <,
		     discipline_rank(&d, &small, 0));
	event_has_run(&wrong, 50);
	CHECK_NUMBER(wrong.left_ns, ==, 0);
	CHECK_NUMBER(wrong.overrun_ns, ==, 80);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), >,
		     discipline_rank(&d, &small, 0));
	/* However long it goes on, the rank is a number. */
	event_has_run(&wrong, UINT64_MAX / 2);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), ==, UINT64_MAX);
}

/* Ordinary errors of a prediction cost no rank: twice is nothing unusual. */
static void test_a_small_overrun_costs_no_rank(void)
{
	const struct discipline d = { .kind = DISCIPLINE_SRPT, .ageing = 20 };
	struct event ev = { .born_ns = 1000 };

	event_predict(&ev, 100);
	event_has_run(&ev, 200);
	CHECK_NUMBER(ev.left_ns, ==, 0);
	CHECK_NUMBER(discipline_rank(&d, &ev, 0), ==, 1000);
	event_has_run(&ev, 10);
	CHECK_NUMBER(discipline_rank(&d, &ev, 0), ==, 1000 + 20 * 10);
	event_predict(&ev, 30);
	CHECK_NUMBER(discipline_rank(&d, &ev, 0), ==, 1000 + 20 * 30);
}

static void test_a_new_prediction_has_no_patience(void)
{
	const struct discipline d = { .kind = DISCIPLINE_SRPT,
				      .ageing = 20,
				      .follows_load = true };
	struct event wrong = { .born_ns = 1000,
			       .left_ns = 10,
			       .overrun_ns = 5,
			       .patience_ns = 50 };

	event_predict_again(&wrong, 100);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), ==, 1000 + 20 * 100);
	event_has_run(&wrong, 90);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), ==, 1000 + 20 * 10);
	event_has_run(&wrong, 15);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), ==, 1000 + 20 * 5);
	event_predict(&wrong, 10); /* of the next stage */
	event_has_run(&wrong, 11);
	CHECK_NUMBER(discipline_rank(&d, &wrong, 0), ==, 1000 + 20 * 1);
}

static void test_edf_is_by_deadline(void)
{
	const struct discipline d = { .kind = DISCIPLINE_EDF };
	struct event soon = { .deadline_ns = 50, .born_ns = 9, .left_ns = 40 };
	struct event later = { .deadline_ns = 51, .born_ns = 1, .left_ns = 1 };
	struct event none = { .born_ns = 1, .left_ns = 1 };

	CHECK(discipline_has_ranks(&d));
	CHECK_NUMBER(discipline_rank(&d, &soon, 7), <,
		     discipline_rank(&d, &later, 6));
	CHECK_NUMBER(discipline_rank(&d, &later, 7), <,
		     discipline_rank(&d, &none, 6));
	/* Work that was done does not change it. */
	event_has_run(&soon, 30);
	CHECK_NUMBER(discipline_rank(&d, &soon, 7), ==, 50);
}

/* Equal deadlines, and events without one, in the order of arrival. */
static void test_edf_order_of_a_queue(void)
{
	static const uint64_t deadlines_ns[] = { 0, 30, 10, 30, 0, 20, 10 };
	static const uint32_t order[] = { 2, 6, 5, 1, 3, 0, 4 };
	const struct discipline d = { .kind = DISCIPLINE_EDF };
	struct queue *q = queue_new(ARRAY_SIZE(order), 1, &d);
	struct event *ev;

	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
		events[i] = (struct event){ .deadline_ns = deadlines_ns[i] };
		CHECK(queue_push(q, &events[i]));
	}
	CHECK_NUMBER(queue_first_rank(q), ==, 10);
	/* One that was paused is again before those that came after it. */
	ev = queue_pop(q);
	CHECK_NUMBER(ev, ==, &events[order[0]]);
	queue_return(q, ev);
	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++)
		CHECK_NUMBER(queue_pop(q), ==, &events[order[i]]);
	queue_free(q);
}

/* Never overtaken by an event born after b + ageing * L. */
static void test_srpt_bounds_overtaking(void)
{
	static const double ageings[] = { 0, 0.5, 1, 20, 1000 };
	static const uint64_t lefts_ns[] = { 0, 1, 999, 20000000, 4000000000 };
	enum { AGEINGS = ARRAY_SIZE(ageings), LEFTS = ARRAY_SIZE(lefts_ns) };
	const uint64_t born_ns = UINT64_C(90000000000000); /* up for a day */

	for (uint32_t a = 0; a < AGEINGS; a++)
		for (uint32_t l = 0; l < LEFTS; l++) {
			double bound_ns = ageings[a] * (double)lefts_ns[l];
			uint64_t rank =
				rank_of(ageings[a], born_ns, lefts_ns[l]);

			for (uint32_t s = 0; s < LEFTS; s++)
				CHECK_NUMBER(rank, <,
					     rank_of(ageings[a],
						     born_ns + 1 +
							     (uint64_t)bound_ns,
						     lefts_ns[s]));
		}
}

static void test_srpt_saturates(void)
{
	CHECK_NUMBER(rank_of(20, 1, UINT64_MAX), ==, UINT64_MAX);
	CHECK_NUMBER(rank_of(1, UINT64_MAX, UINT64_MAX), ==, UINT64_MAX);
	CHECK_NUMBER(rank_of(1, UINT64_MAX - 5, 6), ==, UINT64_MAX);
	CHECK_NUMBER(rank_of(1, UINT64_MAX - 5, 4), ==, UINT64_MAX - 1);
	CHECK_NUMBER(rank_of(0x1p60, 1000, 16), ==, UINT64_MAX);
	CHECK_NUMBER(rank_of(INFINITY, 1000, 1), ==, UINT64_MAX);
}

int main(void)
{
	test_first_come_is_first(DISCIPLINE_FCFS);
	test_first_come_is_first(DISCIPLINE_STACK);
	test_last_come_is_first();
	test_srpt_prefers_less_work();
	test_srpt_without_ageing_is_by_birth();
	test_srpt_has_no_patience_with_an_overrun();
	test_a_small_overrun_costs_no_rank();
	test_a_new_prediction_has_no_patience();
	test_srpt_bounds_overtaking();
	test_srpt_saturates();
	test_edf_is_by_deadline();
	test_edf_order_of_a_queue();
	test_newest_is_taken_first();
	test_lowest_rank_is_first();
	test_full_ranked_queue_refuses();
	test_equal_ranks_are_in_order();
	return 0;
}
