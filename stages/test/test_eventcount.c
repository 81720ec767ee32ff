/* SPDX-License-Identifier: MIT */
/*
 * Promise: a thread that sleeps on an eventcount is woken when there is work,
 * at whatever moment the work arrives.  After a lost wake-up the test hangs,
 * and the watchdog ends it.
 */
#include "stages/eventcount.h"

#include "base/test/check.h"
#include "stages/test/watchdog.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

enum { TURNS = 20000, SLEEPERS = 3 };

/* A number to be reached, and an eventcount to wait for it. */
struct goal {
	struct eventcount changed;
	_Atomic uint32_t reached;
};

static void goal_raise(struct goal *g)
{
	(void)atomic_fetch_add(&g->reached, 1);
	eventcount_wake_one(&g->changed, EVENTCOUNT_ANY);
}

static void goal_await(struct goal *g, uint32_t wanted)
{
	while (atomic_load(&g->reached) < wanted) {
		uint32_t ticket = eventcount_prepare(&g->changed);

		if (atomic_load(&g->reached) < wanted)
			(void)eventcount_wait(&g->changed, ticket,
					      EVENTCOUNT_ANY, 0);
		else
			eventcount_cancel(&g->changed);
	}
}

struct table {
	struct goal ping, pong;
};

static void *play_pong(void *arg)
{
	struct table *t = arg;

	for (uint32_t turn = 1; turn <= TURNS; turn++) {
		goal_await(&t->ping, turn);
		goal_raise(&t->pong);
	}
	return NULL;
}

static void test_ping_pong_never_hangs(void)
{
	static struct table t;
	pthread_t pong;

	CHECK(!pthread_create(&pong, NULL, play_pong, &t));
	for (uint32_t turn = 1; turn <= TURNS; turn++) {
		goal_raise(&t.ping);
		goal_await(&t.pong, turn);
	}
	(void)pthread_join(pong, NULL);
	CHECK_NUMBER(t.ping.changed.sleepers, ==, 0);
	CHECK_NUMBER(t.pong.changed.sleepers, ==, 0);
}

/* Jobs, one wake-up each, and workers that take them. */
struct jobs {
	struct eventcount arrived;
	_Atomic uint32_t waiting;
	_Atomic bool closed;
	struct goal done;
};

static bool take(struct jobs *j)
{
	uint32_t waiting = atomic_load(&j->waiting);

	while (waiting > 0)
		if (atomic_compare_exchange_weak(&j->waiting, &waiting,
						 waiting - 1))
			return true;
	return false;
}

static void *work(void *arg)
{
	struct jobs *j = arg;

	for (;;) {
		if (take(j)) {
			goal_raise(&j->done);
			continue;
		}
		uint32_t ticket = eventcount_prepare(&j->arrived);

		if (take(j)) {
			eventcount_cancel(&j->arrived);
			goal_raise(&j->done);
		} else if (atomic_load(&j->closed)) {
			eventcount_cancel(&j->arrived);
			return NULL;
		} else {
			(void)eventcount_wait(&j->arrived, ticket,
					      EVENTCOUNT_ANY, 0);
		}
	}
}

static void test_one_wake_up_for_each_job_is_enough(void)
{
	static struct jobs j;
	pthread_t threads[SLEEPERS];
	uint32_t sent = 0;

	for (uint32_t i = 0; i < SLEEPERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, &j));
	for (uint32_t turn = 0; turn < TURNS / 4; turn++) {
		/* One to four jobs, then wait until none is left. */
		for (uint32_t i = 0; i <= turn % 4; i++) {
			(void)atomic_fetch_add(&j.waiting, 1);
			eventcount_wake_one(&j.arrived, EVENTCOUNT_ANY);
			sent++;
		}
		goal_await(&j.done, sent);
	}
	atomic_store(&j.closed, true);
	eventcount_wake_all(&j.arrived, EVENTCOUNT_ANY);
	for (uint32_t i = 0; i < SLEEPERS; i++)
		(void)pthread_join(threads[i], NULL);
	CHECK_NUMBER(j.arrived.sleepers, ==, 0);
}

static void test_wakes_with_nobody_asleep_do_no_harm(void)
{
	struct eventcount ec = { 0 };

	eventcount_wake_one(&ec, EVENTCOUNT_ANY);
	eventcount_wake_all(&ec, EVENTCOUNT_ANY);
	CHECK_NUMBER(ec.sleepers, ==, 0);
	eventcount_cancel(((void)eventcount_prepare(&ec), &ec));
	CHECK_NUMBER(ec.sleepers, ==, 0);
}

static void test_nobody_sleeps_after_a_wake_up_since_prepare(void)
{
	struct eventcount ec = { 0 };
	uint32_t ticket = eventcount_prepare(&ec);

	eventcount_wake_one(&ec, EVENTCOUNT_ANY);
	(void)eventcount_wait(&ec, ticket, EVENTCOUNT_ANY,
			      0); /* or the watchdog ends the test */
	CHECK_NUMBER(ec.sleepers, ==, 0);
}

/* A sleeper with a bit of its own, and how often it woke. */
struct bit_sleeper {
	struct eventcount *ec;
	uint32_t mask;
	_Atomic bool is_due;
	_Atomic bool ends;
	_Atomic uint32_t served_count;
};

static void *sleep_for_bit(void *arg)
{
	struct bit_sleeper *s = arg;

	while (!atomic_load(&s->ends)) {
		uint32_t ticket = eventcount_prepare(s->ec);

		if (atomic_exchange(&s->is_due, false)) {
			eventcount_cancel(s->ec);
			(void)atomic_fetch_add(&s->served_count, 1);
		} else if (atomic_load(&s->ends)) {
			eventcount_cancel(s->ec);
		} else {
			(void)eventcount_wait(s->ec, ticket, s->mask, 0);
		}
	}
	return NULL;
}

/* All sleepers share an eventcount, but each job is for one of them only. */
static void test_wake_up_reaches_whom_it_is_for(void)
{
	static struct eventcount ec;
	static struct bit_sleeper sleepers[SLEEPERS];
	pthread_t threads[SLEEPERS];

	for (uint32_t i = 0; i < SLEEPERS; i++) {
		sleepers[i].ec = &ec;
		sleepers[i].mask = UINT32_C(1) << i;
		CHECK(!pthread_create(&threads[i], NULL, sleep_for_bit,
				      &sleepers[i]));
	}
	for (uint32_t turn = 0; turn < TURNS / 4; turn++) {
		struct bit_sleeper *s = &sleepers[turn % SLEEPERS];
		uint32_t served = atomic_load(&s->served_count);

		/*
		 * In half of the turns all sleepers sleep before the wake-up;
		 * in the other half they race with it.
		 */
		while (turn % 2 == 0 && atomic_load(&ec.sleepers) < SLEEPERS)
			(void)sched_yield();
		atomic_store(&s->is_due, true);
		eventcount_wake_one(&ec, s->mask);
		while (atomic_load(&s->served_count) == served)
			(void)sched_yield();
	}
	for (uint32_t i = 0; i < SLEEPERS; i++)
		atomic_store(&sleepers[i].ends, true);
	eventcount_wake_all(&ec, EVENTCOUNT_ANY);
	for (uint32_t i = 0; i < SLEEPERS; i++)
		(void)pthread_join(threads[i], NULL);
	CHECK_NUMBER(ec.sleepers, ==, 0);
}

static void *wake_after_a_while(void *arg)
{
	struct eventcount *ec = arg;

	while (atomic_load(&ec->sleepers) == 0)
		(void)sched_yield();
	eventcount_wake_one(ec, 2); /* a wake-up for another sleeper */
	eventcount_wake_one(ec, 1);
	return NULL;
}

static void test_patience_ends_and_a_wake_up_is_not_late(void)
{
	struct eventcount ec = { 0 };
	pthread_t waker;
	uint32_t ticket = eventcount_prepare(&ec);

	CHECK(!eventcount_wait(&ec, ticket, 1, 1000000));
	CHECK_NUMBER(ec.sleepers, ==, 0);
	/* The epoch has changed: the call returns at once, and is not late. */
	ticket = eventcount_prepare(&ec);
	eventcount_wake_one(&ec, 1);
	CHECK(eventcount_wait(&ec, ticket, 1, 1));
	/* Longer than the watchdog's patience. */
	CHECK(!pthread_create(&waker, NULL, wake_after_a_while, &ec));
	ticket = eventcount_prepare(&ec);
	CHECK(eventcount_wait(&ec, ticket, 1, UINT64_C(1) << 38));
	(void)pthread_join(waker, NULL);
	CHECK_NUMBER(ec.sleepers, ==, 0);
}

int main(void)
{
	watchdog_start();
	test_wake_up_reaches_whom_it_is_for();
	test_patience_ends_and_a_wake_up_is_not_late();
	test_wakes_with_nobody_asleep_do_no_harm();
	test_nobody_sleeps_after_a_wake_up_since_prepare();
	test_ping_pong_never_hangs();
	test_one_wake_up_for_each_job_is_enough();
	return 0;
}
