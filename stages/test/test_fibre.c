/* SPDX-License-Identifier: MIT */
/* Fibres: pauses, other threads, limits, stacks. */
#include "stages/threads/fibre.h"

#include "base/util.h"

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>

enum { FIBRES = 4, PAUSES = 10000, RUNS = 200000, DEEP_BYTES = 20000 };

struct counter {
	struct fibre *fibre;
	uint32_t pauses_left, sum;
};

static void count_down(void *arg)
{
	struct counter *c = arg;
	uint32_t own = 0; /* this variable is on the fibre's stack */

	for (; c->pauses_left > 0; c->pauses_left--) {
		own++;
		fibre_pause(c->fibre);
	}
	c->sum = own;
}

static void test_returns_at_once(struct fibres *set)
{
	struct counter c = { .fibre = fibres_take(set), .sum = 1 };

	assert(fibre_run(c.fibre, count_down, &c));
	assert(c.sum == 0);
	fibres_give(set, c.fibre);
}

static void test_set_is_bounded(struct fibres *set)
{
	struct fibre *taken[FIBRES];

	for (uint32_t i = 0; i < FIBRES; i++) {
		taken[i] = fibres_take(set);
		assert(taken[i] != NULL);
	}
	assert(fibres_take(set) == NULL);
	for (uint32_t i = 0; i < FIBRES; i++)
		fibres_give(set, taken[i]);
}

/* Two fibres at once: each continues where it was left. */
static void test_two_take_turns(struct fibres *set)
{
	struct counter a = { fibres_take(set), 3, 0 };
	struct counter b = { fibres_take(set), 5, 0 };

	assert(!fibre_run(a.fibre, count_down, &a));
	assert(!fibre_run(b.fibre, count_down, &b));
	for (uint32_t i = 0; i < 2; i++) {
		assert(!fibre_resume(a.fibre));
		assert(!fibre_resume(b.fibre));
	}
	assert(fibre_resume(a.fibre) && a.sum == 3);
	assert(!fibre_resume(b.fibre) && !fibre_resume(b.fibre));
	assert(fibre_resume(b.fibre) && b.sum == 5);
	fibres_give(set, a.fibre);
	fibres_give(set, b.fibre);
}

struct baton {
	pthread_barrier_t turn;
	struct counter counter;
	bool has_returned;
};

static void *resume_in_turn(void *arg)
{
	struct baton *b = arg;

	for (;;) {
		(void)pthread_barrier_wait(&b->turn);
		if (!b->has_returned)
			b->has_returned = fibre_resume(b->counter.fibre);
		bool is_over = b->has_returned;

		(void)pthread_barrier_wait(&b->turn);
		(void)pthread_barrier_wait(&b->turn);
		if (is_over || b->has_returned)
			return NULL;
	}
}

/* Two threads take turns: each continues what the other has left paused. */
static void test_other_threads_continue(struct fibres *set)
{
	struct baton b = { .counter = { fibres_take(set), PAUSES, 0 } };
	pthread_t thread;

	(void)pthread_barrier_init(&b.turn, NULL, 2);
	b.has_returned = fibre_run(b.counter.fibre, count_down, &b.counter);
	assert(!b.has_returned);
	assert(pthread_create(&thread, NULL, resume_in_turn, &b) == 0);
	for (bool is_over = false; !is_over;) {
		(void)pthread_barrier_wait(&b.turn);
		(void)pthread_barrier_wait(&b.turn);
		if (!b.has_returned)
			b.has_returned = fibre_resume(b.counter.fibre);
		is_over = b.has_returned;
		(void)pthread_barrier_wait(&b.turn);
	}
	assert(pthread_join(thread, NULL) == 0);
	assert(b.counter.sum == PAUSES);
	(void)pthread_barrier_destroy(&b.turn);
	fibres_give(set, b.counter.fibre);
}

struct jump {
	struct fibre *fibre;
	jmp_buf failed;
	bool has_failed;
};

/* Leave by longjmp(), as libjpeg's errors do. */
static void fail_after_pause(void *arg)
{
	struct jump *j = arg;

	if (setjmp(j->failed) == 0) {
		fibre_pause(j->fibre);
		longjmp(j->failed, 1);
	}
	j->has_failed = true;
}

static void test_longjmp_after_pause(struct fibres *set)
{
	struct jump j = { .fibre = fibres_take(set) };

	assert(!fibre_run(j.fibre, fail_after_pause, &j));
	assert(fibre_resume(j.fibre));
	assert(j.has_failed);
	fibres_give(set, j.fibre);
}

static void use_stack(void *arg)
{
	volatile char bytes[DEEP_BYTES];

	for (uint32_t i = 0; i < DEEP_BYTES; i++)
		bytes[i] = 1;
	*(char *)arg = bytes[DEEP_BYTES - 1];
}

static void test_use_is_told(struct fibres *set)
{
	struct fibre *f = fibres_take(set);
	char sum = 0;

	assert(fibres_stack_bytes_used(set) < DEEP_BYTES);
	assert(fibre_run(f, use_stack, &sum));
	assert(fibres_stack_bytes_used(set) >= DEEP_BYTES);
	assert(fibres_stack_bytes_used(set) <= fibres_stack_bytes());
	fibres_give(set, f);
}

/* ThreadSanitizer once ran out of its own stacks. */
static void test_many_runs(struct fibres *set)
{
	struct counter c = { .fibre = fibres_take(set) };

	for (uint32_t i = 0; i < RUNS; i++)
		assert(fibre_run(c.fibre, count_down, &c));
	fibres_give(set, c.fibre);
}

int main(void)
{
	struct fibres *set = fibres_new(FIBRES);

	assert(set != NULL);
	test_returns_at_once(set);
	test_set_is_bounded(set);
	test_two_take_turns(set);
	test_longjmp_after_pause(set);
	test_use_is_told(set);
	test_other_threads_continue(set);
	test_many_runs(set);
	fibres_free(set);
	fibres_free(NULL);
	return 0;
}
