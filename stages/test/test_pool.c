/* SPDX-License-Identifier: MIT */
/*
 * Promise: a pool grows by one thread at a time while its queue is long, and
 * shrinks from its last thread while they are idle, down to one; no event is
 * lost meanwhile.
 */
#include "base/error.h"
#include "base/test/check.h"
#include "stages/worker.c"
#include "stages/flags.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

enum { THREADS = 3, ITEMS = 200 };

#define LONG UINT32_C(1000) /* a queue that is certainly long */
/* A time after which another thread may be added. */
#define LATER UINT64_C(50000000)

static struct item items[ITEMS];

static uint32_t active_count(struct station *s)
{
	return atomic_load(&s->pool.active_count);
}

static struct station new_station(uint32_t active)
{
	return (struct station){
		.pool = {
			.active_count = active,
			.thread_count = THREADS,
			.is_auto = true,
		},
	};
}

static void test_grows_while_queue_is_long(void)
{
	struct station s = new_station(1);
	uint64_t now_ns = LATER;

	pool_grow(&s.pool, 1, now_ns);
	CHECK_NUMBER(active_count(&s), ==, 1);
	pool_grow(&s.pool, LONG, now_ns);
	CHECK_NUMBER(active_count(&s), ==, 2);
	/*
	 * The pool does not grow again at once; nor does it if the sender has
	 * read the clock earlier.
	 */
	pool_grow(&s.pool, LONG, now_ns + 1);
	pool_grow(&s.pool, LONG, now_ns - 1);
	CHECK_NUMBER(active_count(&s), ==, 2);
	pool_grow(&s.pool, LONG, now_ns += LATER);
	CHECK_NUMBER(active_count(&s), ==, THREADS);
	pool_grow(&s.pool, LONG, now_ns += LATER);
	CHECK_NUMBER(active_count(&s), ==, THREADS);
}

static void test_shrinks_from_the_last_to_one(void)
{
	struct station s = new_station(THREADS);

	for (uint32_t i = 0; i + 1 < THREADS; i++)
		pool_shrink(&s.pool, i);
	CHECK_NUMBER(active_count(&s), ==, THREADS);
	for (uint32_t i = THREADS; i-- > 0;)
		pool_shrink(&s.pool, i);
	CHECK_NUMBER(active_count(&s), ==, 1);
}

static struct station *first_station(const struct line *l)
{
	return l->group->stages[0]->stations[0];
}

static void send_one(struct line *l, uint32_t *sent)
{
	CHECK_NUMBER(*sent, <, ITEMS);
	items[*sent] = (struct item){ 0 };
	CHECK(line_send(l, &items[(*sent)++]));
}

/* Handlers are held, so the queue is long until all threads are in one. */
static void grow(struct line *l, uint32_t *sent)
{
	struct station *s = first_station(l);
	struct stage_stats stats;
	uint64_t started;

	stage_read(l->stages[0], &stats);
	started = stats.started_count;
	atomic_store(&l->gate_is_closed, true);
	while (active_count(s) < s->pool.thread_count ||
	       stats.started_count - started < s->pool.thread_count) {
		send_one(l, sent);
		pause_ns(10000000);
		stage_read(l->stages[0], &stats);
	}
	stage_read(l->stages[0], &stats);
	CHECK_NUMBER(stats.pool_threads, ==, s->pool.thread_count);
	atomic_store(&l->gate_is_closed, false);
	line_await(l, *sent);
}

static void test_grows_and_shrinks_again_and_again(void)
{
	struct error why;
	struct cores *cores = cores_new(NULL, why.text);
	struct line_setup setup = { .cores = cores, .slots = ITEMS };
	struct line l;
	uint32_t sent = 0;
	struct stage_stats stats;
	struct error error;

	schedule_init(&setup.schedule);
	CHECK(schedule_set(&setup.schedule, "policy", "pool-per-stage", NULL,
			   0));
	CHECK(schedule_set(&setup.schedule, "pool", "auto", NULL, 0));
	CHECK(schedule_complete(&setup.schedule, LINE_STAGES,
				cores_count(cores), error.text));
	line_start(&l, &setup);
	CHECK_NUMBER(active_count(first_station(&l)), ==, 1);
	CHECK_NUMBER(first_station(&l)->pool.thread_count, >, 1);
	for (uint32_t round = 0; round < 2; round++) {
		grow(&l, &sent);
		/*
		 * Send events from time to time while the pool shrinks to one
		 * thread.
		 */
		while (active_count(first_station(&l)) > 1) {
			pause_ns(POOL_PATIENCE_NS * 11 / 10);
			send_one(&l, &sent);
			line_await(&l, sent);
		}
		stage_read(l.stages[0], &stats);
		CHECK_NUMBER(stats.pool_threads, ==, 1);
		send_one(&l, &sent);
		line_await(&l, sent);
	}
	group_stop(l.group);
	CHECK_NUMBER(l.finished_count, ==, sent);
	line_release(&l);
	cores_free(cores);
}

int main(void)
{
	watchdog_start();
	test_grows_while_queue_is_long();
	test_shrinks_from_the_last_to_one();
	test_grows_and_shrinks_again_and_again();
	return 0;
}
