/* SPDX-License-Identifier: MIT */
/* Fibres: pauses, other threads, limits, stacks. */
#include "stages/threads/fibre.h"

#include "base/test/check.h"
#include "base/util.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

	CHECK(fibre_run(c.fibre, count_down, &c));
	CHECK_NUMBER(c.sum, ==, 0);
	fibres_give(set, c.fibre);
}

static void test_set_is_bounded(struct fibres *set)
{
	struct fibre *taken[FIBRES];

	for (uint32_t i = 0; i < FIBRES; i++) {
		taken[i] = fibres_take(set);
		CHECK(taken[i] != NULL);
	}
	CHECK(fibres_take(set) == NULL);
	for (uint32_t i = 0; i < FIBRES; i++)
		fibres_give(set, taken[i]);
}

/* Two fibres at once: each continues where it was left. */
static void test_two_take_turns(struct fibres *set)
{
	struct counter a = { fibres_take(set), 3, 0 };
	struct counter b = { fibres_take(set), 5, 0 };

	CHECK(!fibre_run(a.fibre, count_down, &a));
	CHECK(!fibre_run(b.fibre, count_down, &b));
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(!fibre_resume(a.fibre));
		CHECK(!fibre_resume(b.fibre));
	}
	CHECK(fibre_resume(a.fibre));
	CHECK_NUMBER(a.sum, ==, 3);
	CHECK(!fibre_resume(b.fibre));
	CHECK(!fibre_resume(b.fibre));
	CHECK(fibre_resume(b.fibre));
	CHECK_NUMBER(b.sum, ==, 5);
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
	CHECK(!b.has_returned);
	CHECK_NUMBER(pthread_create(&thread, NULL, resume_in_turn, &b), ==, 0);
	for (bool is_over = false; !is_over;) {
		(void)pthread_barrier_wait(&b.turn);
		(void)pthread_barrier_wait(&b.turn);
		if (!b.has_returned)
			b.has_returned = fibre_resume(b.counter.fibre);
		is_over = b.has_returned;
		(void)pthread_barrier_wait(&b.turn);
	}
	CHECK_NUMBER(pthread_join(thread, NULL), ==, 0);
	CHECK_NUMBER(b.counter.sum, ==, PAUSES);
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

	CHECK(!fibre_run(j.fibre, fail_after_pause, &j));
	CHECK(fibre_resume(j.fibre));
	CHECK(j.has_failed);
	fibres_give(set, j.fibre);
}

/* --- Memory of free stacks. --- */

enum { BURST = 4 * FIBRES_WARM_MAX, PAGE_BYTES_MIN = 4096 };

struct deep {
	struct fibre *fibre;
	uintptr_t lowest; /* address of its lowest variable */
};

static void pause_after_deep_call(void *arg)
{
	struct deep *d = arg;
	volatile char bytes[DEEP_BYTES];

	for (uint32_t i = 0; i < DEEP_BYTES; i++)
		bytes[i] = 1;
	d->lowest = (uintptr_t)bytes;
	fibre_pause(d->fibre);
	CHECK_NUMBER(bytes[0], ==, 1);
	CHECK_NUMBER(bytes[DEEP_BYTES - 1], ==, 1);
}

/* Of the pages that are wholly in the variable. */
static uint32_t count_resident(const struct deep *d)
{
	uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (d->lowest / page_bytes + 1) * page_bytes;
	uintptr_t end = (d->lowest + DEEP_BYTES) / page_bytes * page_bytes;
	unsigned char are_resident[DEEP_BYTES / PAGE_BYTES_MIN + 1];
	uint32_t count = 0;

	CHECK_NUMBER(end, >, begin);
	CHECK_NUMBER(mincore((void *)begin, end - begin, are_resident), ==, 0);
	for (uintptr_t i = 0; i < (end - begin) / page_bytes; i++)
		count += are_resident[i] & 1;
	return count;
}

static void test_few_free_stacks_keep_memory(void)
{
	struct fibres *set =
		fibres_new(&(struct fibre_stacks){ .count = BURST });
	struct deep all[BURST];
	uint32_t resident_count = 0;

	CHECK(set != NULL);
	for (uint32_t i = 0; i < BURST; i++) {
		all[i].fibre = fibres_take(set);
		CHECK(!fibre_run(all[i].fibre, pause_after_deep_call, &all[i]));
		CHECK_NUMBER(count_resident(&all[i]), >, 0);
	}
	for (uint32_t i = 0; i < BURST; i++) {
		CHECK(fibre_resume(all[i].fibre));
		fibres_give(set, all[i].fibre);
	}
	for (uint32_t i = 0; i < BURST; i++)
		resident_count += count_resident(&all[i]) > 0;
	CHECK_NUMBER(resident_count, <=, FIBRES_WARM_MAX);
	/* All can be used again, those with memory first. */
	for (uint32_t i = 0; i < BURST; i++) {
		struct fibre *f = fibres_take(set);
		uint32_t k = 0;

		while (all[k].fibre != f)
			k++;
		CHECK_NUMBER((count_resident(&all[k]) > 0), ==,
			     (i < resident_count));
		CHECK(!fibre_run(f, pause_after_deep_call, &all[k]));
	}
	for (uint32_t i = 0; i < BURST; i++) {
		CHECK(fibre_resume(all[i].fibre));
		fibres_give(set, all[i].fibre);
	}
	fibres_free(set);
}

/* --- Guards. --- */

/* More than the guards that have mappings of their own: see fibre.h. */
enum { MANY = 16384 + 2 };

/* Use a page of stack for each of `arg`, and one more. */
static void use_pages(void *arg)
{
	uint32_t *left = arg;
	volatile char bytes[PAGE_BYTES_MIN] = { 1 };

	if ((*left)-- > 0)
		use_pages(arg);
	bytes[1] = bytes[0];
}

/* Does a function that needs so much stack end its process? */
static bool ends_process(struct fibre *f, size_t bytes)
{
	uint32_t pages = (uint32_t)(bytes / PAGE_BYTES_MIN);
	int status;
	pid_t child = fork();

	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)close(STDERR_FILENO); /* a sanitizer's report */
		(void)!fibre_run(f, use_pages, &pages);
		_exit(0);
	}
	CHECK_NUMBER(waitpid(child, &status, 0), ==, child);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Linux 6.13 or later: guards need no mappings. */
static bool linux_has_light_guards(void)
{
	const int guard_install = 102;
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	bool has = madvise(page, bytes, guard_install) == 0;

	(void)munmap(page, bytes);
	return has;
}

static bool has_guard(struct fibre *f)
{
	return ends_process(f, fibres_stack_bytes());
}

static void take_all(struct fibres *set, struct fibre *all[])
{
	for (uint32_t i = 0; i < fibres_count(set); i++) {
		all[i] = fibres_take(set);
		CHECK(all[i] != NULL);
	}
	CHECK(fibres_take(set) == NULL);
}

static void give_all(struct fibres *set, struct fibre *all[])
{
	for (uint32_t i = 0; i < fibres_count(set); i++)
		fibres_give(set, all[i]);
	fibres_free(set);
}

/* All stacks have a guard, however many there are; see test_older_linux(). */
static void test_each_of_many_has_a_guard(void)
{
	static struct fibre *all[MANY];
	struct fibres *set =
		fibres_new(&(struct fibre_stacks){ .count = MANY });

	CHECK(set != NULL);
	if (linux_has_light_guards())
		CHECK_NUMBER(fibres_count(set), ==, MANY);
	take_all(set, all);
	CHECK(has_guard(all[0]));
	CHECK(has_guard(all[fibres_count(set) - 1]));
	give_all(set, all);
}

/* The linker puts this in place of madvise(): see CMakeLists.txt. */
int __real_madvise(void *from, size_t bytes, int advice);
int __wrap_madvise(void *from, size_t bytes, int advice);

static bool is_older_linux;

int __wrap_madvise(void *from, size_t bytes, int advice)
{
	enum { GUARD_INSTALL = 102 };

	if (!is_older_linux || advice != GUARD_INSTALL)
		return __real_madvise(from, bytes, advice);
	errno = EINVAL;
	return -1;
}

/* There are fewer guards: so there are fewer stacks, or some have no guard. */
static void test_older_linux(void)
{
	static struct fibre *all[MANY], *more[MANY];
	const struct fibre_stacks many = { .count = MANY };
	const struct fibre_stacks any = { .count = MANY,
					  .may_lack_guards = true };
	struct fibres *set, *other;

	is_older_linux = true;
	set = fibres_new(&many);
	CHECK(set != NULL);
	CHECK_NUMBER(fibres_count(set), <, MANY);
	CHECK_NUMBER(fibres_count(set), >, MANY / 2);
	CHECK(fibres_new(&many) == NULL); /* all guards are taken */
	other = fibres_new(&any);
	CHECK(other != NULL);
	CHECK_NUMBER(fibres_count(other), ==, MANY);
	take_all(set, all);
	CHECK(has_guard(all[0]));
	CHECK(has_guard(all[fibres_count(set) - 1]));
	take_all(other, more);
	give_all(other, more);
	give_all(set, all);
	set = fibres_new(&many); /* they are free again */
	CHECK(set != NULL);
	fibres_free(set);
	is_older_linux = false;
}

static void test_larger_stack(void)
{
	const size_t bytes = 256 << 10;
	struct fibres *set = fibres_new(
		&(struct fibre_stacks){ .count = 1, .stack_bytes = bytes });
	struct fibre *f = fibres_take(set);

	CHECK(!ends_process(f, bytes / 2));
	/* A sanitizer's build has eight times as much. */
	CHECK(ends_process(f, HAS_SANITIZERS ? 8 * bytes : bytes));
	fibres_give(set, f);
	fibres_free(set);
}

/* ThreadSanitizer once ran out of its own stacks. */
static void test_many_runs(struct fibres *set)
{
	struct counter c = { .fibre = fibres_take(set) };

	for (uint32_t i = 0; i < RUNS; i++)
		CHECK(fibre_run(c.fibre, count_down, &c));
	fibres_give(set, c.fibre);
}

int main(void)
{
	struct fibres *set =
		fibres_new(&(struct fibre_stacks){ .count = FIBRES });

	CHECK(set != NULL);
	test_each_of_many_has_a_guard();
	test_older_linux();
	test_larger_stack();
	test_returns_at_once(set);
	test_set_is_bounded(set);
	test_two_take_turns(set);
	test_longjmp_after_pause(set);
	test_other_threads_continue(set);
	test_few_free_stacks_keep_memory();
	test_many_runs(set);
	fibres_free(set);
	fibres_free(NULL);
	return 0;
}
