/* SPDX-License-Identifier: MIT */
/*
 * Promise: a queue gives back each event once, in the order of its discipline,
 * and refuses when full without losing any.
 */
#include "stages/queue.h"

#include "stages/stage.h"
#include "stages/test/watchdog.h"

#include "base/test/check.h"
#include "base/util.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const struct discipline fcfs = { .kind = DISCIPLINE_FCFS };
static const struct discipline disciplines[] = {
	{ .kind = DISCIPLINE_FCFS },  { .kind = DISCIPLINE_LCFS },
	{ .kind = DISCIPLINE_STACK }, { .kind = DISCIPLINE_SRPT, .ageing = 1 },
	{ .kind = DISCIPLINE_EDF },
};

#ifdef __SANITIZE_THREAD__
enum { EVENTS = 2000 }; /* it sees a race at once, and takes long */
#else
enum { EVENTS = 10000 };
#endif

enum {
	THREADS = 3,    /* threads of each kind */
	SLOTS_FEW = 16, /* senders often find it full */
	/* Senders never find it full: they push at full speed. */
	SLOTS_MANY = THREADS * EVENTS,
};

struct item {
	struct event event; /* must be the first member */
	uint32_t sender, number;
	_Atomic uint32_t popped_count;
};

struct shared {
	struct queue *queue;
	bool is_fcfs; /* then the events of one sender come in order */
	pthread_barrier_t start;
	_Atomic uint32_t popped_count;
	struct item items[THREADS][EVENTS];
};

struct sender {
	struct shared *shared;
	uint32_t number;
};

static struct item *item_of(struct event *ev)
{
	return (struct item *)ev;
}

static void test_gives_back_oldest_first(void)
{
	struct item items[5] = { 0 };
	struct queue *q = queue_new(5, 0, &fcfs);

	CHECK(queue_pop(q) == NULL);
	for (uint32_t round = 0; round < 100; round++) {
		for (uint32_t i = 0; i < 5; i++) {
			CHECK(queue_push(q, &items[i].event));
			CHECK_NUMBER(queue_count(q), ==, i + 1);
		}
		for (uint32_t i = 0; i < 5; i++)
			CHECK_NUMBER(queue_pop(q), ==, &items[i].event);
		CHECK_NUMBER(queue_count(q), ==, 0);
		CHECK(queue_pop(q) == NULL);
	}
	queue_free(q);
}

static void test_full_queue_refuses_and_loses_nothing(void)
{
	static struct item items[300];

	for (uint32_t slots = 1; slots <= 100; slots++) {
		struct queue *q = queue_new(slots, 0, &fcfs);
		uint32_t held = 0;

		while (queue_push(q, &items[held].event))
			held++;
		CHECK_NUMBER(held, >=, slots);
		CHECK_NUMBER(held, <, 2 * slots + 3);
		CHECK_NUMBER(queue_count(q), ==, held);
		CHECK(!queue_push(q, &items[held].event));

		/*
		 * The queue can be used again: it has a slot for each event
		 * that left.
		 */
		CHECK_NUMBER(queue_pop(q), ==, &items[0].event);
		CHECK(queue_push(q, &items[held].event));
		CHECK(!queue_push(q, &items[held + 1].event));
		for (uint32_t i = 1; i <= held; i++)
			CHECK_NUMBER(queue_pop(q), ==, &items[i].event);
		CHECK(queue_pop(q) == NULL);
		queue_free(q);
	}
}

static void test_order_is_that_of_the_discipline(void)
{
	static const uint32_t left_ns[4] = { 30, 10, 40, 20 };
	static const uint32_t wanted[][4] = {
		{ 0, 1, 2, 3 }, /* in the order of `disciplines` */
		{ 3, 2, 1, 0 }, { 0, 1, 2, 3 }, { 1, 3, 0, 2 }, { 2, 0, 3, 1 },
	};

	for (uint32_t d = 0; d < ARRAY_SIZE(disciplines); d++) {
		struct item items[4] = { 0 };
		struct queue *q = queue_new(4, 0, &disciplines[d]);

		for (uint32_t i = 0; i < 4; i++) {
			items[i].event.left_ns = left_ns[i];
			items[i].event.deadline_ns = 100 - left_ns[i];
			CHECK(queue_push(q, &items[i].event));
		}
		for (uint32_t i = 0; i < 4; i++)
			CHECK_NUMBER(queue_pop(q), ==,
				     &items[wanted[d][i]].event);
		CHECK(queue_pop(q) == NULL);
		queue_free(q);
	}
}

static void test_free_accepts_null(void)
{
	queue_free(NULL);
}

static void *push_all(void *arg)
{
	struct sender *s = arg;

	(void)pthread_barrier_wait(&s->shared->start);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct item *item = &s->shared->items[s->number][i];

		/*
		 * Written here and read by the thread that pops;
		 * ThreadSanitizer checks the order.
		 */
		item->sender = s->number;
		item->number = i;
		while (!queue_push(s->shared->queue, &item->event))
			(void)sched_yield();
	}
	return NULL;
}

static void *pop_some(void *arg)
{
	struct shared *shared = arg;
	uint32_t next[THREADS] = { 0 };

	(void)pthread_barrier_wait(&shared->start);
	while (atomic_load(&shared->popped_count) < THREADS * EVENTS) {
		struct event *ev = queue_pop(shared->queue);

		if (ev == NULL) {
			(void)sched_yield();
			continue;
		}
		struct item *item = item_of(ev);

		/* One consumer gets the events of one sender in their order. */
		CHECK(!shared->is_fcfs || item->number >= next[item->sender]);
		next[item->sender] = item->number + 1;
		CHECK_NUMBER(atomic_fetch_add(&item->popped_count, 1), ==, 0);
		(void)atomic_fetch_add(&shared->popped_count, 1);
	}
	return NULL;
}

static void test_many_threads_get_each_event_once(const struct discipline *d,
						  uint32_t slots,
						  uint32_t consumers)
{
	static struct shared shared;
	struct sender senders[THREADS];
	pthread_t threads[2 * THREADS];

	shared = (struct shared){
		.queue = queue_new(slots, 0, d),
		.is_fcfs = d->kind == DISCIPLINE_FCFS ||
			   d->kind == DISCIPLINE_STACK,
	};
	CHECK(!pthread_barrier_init(&shared.start, NULL, THREADS + consumers));
	for (uint32_t i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){ &shared, i };
		CHECK(!pthread_create(&threads[i], NULL, push_all,
				      &senders[i]));
	}
	for (uint32_t i = 0; i < consumers; i++)
		CHECK(!pthread_create(&threads[THREADS + i], NULL, pop_some,
				      &shared));
	for (uint32_t i = 0; i < THREADS + consumers; i++)
		(void)pthread_join(threads[i], NULL);
	for (uint32_t s = 0; s < THREADS; s++)
		for (uint32_t i = 0; i < EVENTS; i++)
			CHECK_NUMBER(shared.items[s][i].popped_count, ==, 1);
	CHECK_NUMBER(queue_count(shared.queue), ==, 0);
	queue_free(shared.queue);
	(void)pthread_barrier_destroy(&shared.start);
}

int main(void)
{
	watchdog_start();
	test_gives_back_oldest_first();
	test_full_queue_refuses_and_loses_nothing();
	test_free_accepts_null();
	test_order_is_that_of_the_discipline();
	for (uint32_t consumers = 1; consumers <= THREADS; consumers++)
		for (uint32_t d = 0; d < ARRAY_SIZE(disciplines); d++) {
			test_many_threads_get_each_event_once(
				&disciplines[d], SLOTS_FEW, consumers);
			test_many_threads_get_each_event_once(
				&disciplines[d], SLOTS_MANY, consumers);
		}
	return 0;
}
