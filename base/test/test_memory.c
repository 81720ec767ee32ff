/* SPDX-License-Identifier: MIT */
/*
 * Promises: a pool's blocks do not overlap and are used again; it never keeps
 * more than its limit, and nothing after a trim; it never maps more than its
 * other limit; any threads may share a pool; if there is no memory, a request
 * gets NULL.
 */
#include "base/memory.h"

#include "base/random.h"
#include "base/test/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A number that looks random and depends on `n` alone. */
static uint32_t scramble(uint32_t n)
{
	uint64_t state = n;

	return (uint32_t)random_next(&state);
}

static void *take(struct memory_pool *pool, size_t bytes)
{
	const struct memory *m = memory_pool_memory(pool);

	return m->alloc(m->arg, bytes);
}

static void give(struct memory_pool *pool, void *block)
{
	const struct memory *m = memory_pool_memory(pool);

	m->free(m->arg, block);
}

static struct memory_pool_stats stats_of(struct memory_pool *pool)
{
	struct memory_pool_stats s;

	memory_pool_read(pool, &s);
	return s;
}

static void test_blocks_lie_apart_and_waste_little(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);
	uint8_t *blocks[200];
	size_t sizes[ARRAY_SIZE(blocks)];
	size_t count = 0;

	for (size_t bytes = 0; bytes < (48 << 20) && count < ARRAY_SIZE(blocks);
	     bytes += 1 + bytes / 3 + scramble((uint32_t)count) % 100) {
		uint64_t before = stats_of(pool).live_bytes;
		uint8_t *block = take(pool, bytes);

		CHECK(block != NULL);
		CHECK_NUMBER((uintptr_t)block % 64, ==, 0);
		memset(block, (int)count, bytes);

		uint64_t taken = stats_of(pool).live_bytes - before;

		CHECK_NUMBER(taken, >=, bytes + 64);
		CHECK_NUMBER(taken, <=, (bytes + 64 + 4096) * 5 / 4);
		blocks[count] = block;
		sizes[count++] = bytes;
	}
	CHECK_NUMBER(count, >, 30);
	for (size_t i = 0; i < count; i++) {
		if (sizes[i] > 0)
			CHECK(blocks[i][0] == i &&
			      blocks[i][sizes[i] - 1] == i);
		give(pool, blocks[i]);
	}
	CHECK_NUMBER(stats_of(pool).live_bytes, ==, 0);
	CHECK_NUMBER(stats_of(pool).kept_count, ==, count);
	memory_pool_free(pool);
}

static void test_the_charges_of_several_requests_have_a_bound(void)
{
	for (size_t bytes = 1; bytes < 200000; bytes += 61)
		for (size_t count = 1; count <= 24; count += 23) {
			size_t most = memory_pool_charges_max(bytes, count);

			CHECK_NUMBER(memory_pool_charge(bytes / count) * count,
				     <=, most);
			CHECK_NUMBER(memory_pool_charge(bytes) +
					     (count - 1) *
						     memory_pool_charge(0),
				     <=, most);
			CHECK_NUMBER(most, <=,
				     bytes + bytes / 4 + count * 5200);
		}
}

static void test_a_freed_block_is_used_again(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);
	void *first = take(pool, 1000000);

	give(pool, first);
	/* It serves smaller requests, but not one for less than half. */
	for (size_t bytes = 1000000; bytes > 550000; bytes -= 50000) {
		void *again = take(pool, bytes);

		CHECK_NUMBER(again, ==, first);
		give(pool, again);
	}
	void *small = take(pool, 450000);
	void *large = take(pool, 1300000);

	CHECK_NUMBER(small, !=, first);
	CHECK_NUMBER(large, !=, first);
	CHECK_NUMBER(stats_of(pool).mapped_count, ==, 3);
	CHECK_NUMBER(stats_of(pool).live_bytes_peak, ==,
		     stats_of(pool).live_bytes);
	give(pool, small);
	give(pool, large);
	memory_pool_free(pool);
}

static void test_keeps_no_more_than_the_limit(void)
{
	struct memory_pool *pool = memory_pool_new(10 << 20, SIZE_MAX);
	void *blocks[20];
	struct memory_pool_stats s;

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		blocks[i] = take(pool, (i % 2 + 1) << 20);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		give(pool, blocks[i]);
		CHECK_NUMBER(stats_of(pool).kept_bytes, <=, 10 << 20);
	}
	s = stats_of(pool);
	CHECK_NUMBER(s.live_count, ==, 0);
	CHECK_NUMBER(s.live_bytes, ==, 0);
	CHECK_NUMBER(s.kept_bytes, >, 6 << 20);
	/* The blocks that were freed last are still kept. */
	CHECK_NUMBER(take(pool, 2 << 20), ==, blocks[19]);
	CHECK_NUMBER(take(pool, 1 << 20), ==, blocks[18]);
	CHECK_NUMBER(stats_of(pool).mapped_count, ==, ARRAY_SIZE(blocks));
	give(pool, blocks[18]);
	give(pool, blocks[19]);

	/* Larger than the limit: not kept. */
	give(pool, take(pool, 20 << 20));
	CHECK_NUMBER(stats_of(pool).kept_bytes, <=, 10 << 20);
	memory_pool_trim(pool);
	s = stats_of(pool);
	CHECK_NUMBER(s.kept_bytes, ==, 0);
	CHECK_NUMBER(s.kept_count, ==, 0);
	memory_pool_free(pool);
}

static void test_maps_little_more_than_is_ever_in_use(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);
	struct memory_pool_stats s;

	/* No request fits into a block that was freed before. */
	for (size_t bytes = 1 << 20; bytes <= 256 << 20; bytes *= 4)
		give(pool, take(pool, bytes));
	for (size_t bytes = 256 << 20; bytes >= 1 << 10; bytes /= 8) {
		void *first = take(pool, bytes);
		void *second = take(pool, bytes);

		s = stats_of(pool);
		CHECK_NUMBER(s.live_bytes + s.kept_bytes, <=,
			     s.live_bytes_peak + (4 << 20));
		give(pool, first);
		give(pool, second);
	}
	/* A trim resets the largest amount that was in use. */
	memory_pool_trim(pool);
	give(pool, take(pool, 60 << 20));

	void *blocks[6];

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		blocks[i] = take(pool, 10 << 20);
	CHECK_NUMBER(stats_of(pool).kept_bytes, ==, 0);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		give(pool, blocks[i]);
	memory_pool_free(pool);
}

/*
 * Requests of all sizes in any order succeed up to the guaranteed amount, and
 * never exceed the limit.
 */
static void test_limit_holds_and_so_does_what_it_promises(void)
{
	const size_t limit = 8 << 20;
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, limit);
	void *blocks[16] = { NULL };
	size_t counted = 0, refused_count = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		void **place = &blocks[scramble(i) % ARRAY_SIZE(blocks)];
		size_t bytes = scramble(~i) % (1 << (10 + i % 13));
		size_t more = memory_pool_charge(bytes);

		counted -= memory_pool_block_charge(*place);
		if (*place != NULL)
			give(pool, *place);
		*place = take(pool, bytes);
		CHECK(*place == NULL ||
		      memory_pool_block_charge(*place) == more);
		if (*place == NULL) {
			CHECK_NUMBER(counted + more, >,
				     memory_pool_guaranteed(limit));
			refused_count++;
		}
		counted += memory_pool_block_charge(*place);

		struct memory_pool_stats s = stats_of(pool);

		CHECK_NUMBER(s.live_bytes, >=, counted);
		CHECK_NUMBER(s.live_bytes + s.kept_bytes, <=, limit);
	}
	CHECK_NUMBER(refused_count, >, 0);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (blocks[i] != NULL)
			give(pool, blocks[i]);
	memory_pool_free(pool);
}

static void test_no_fault_in_the_steady_state(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);
	struct rusage before, after;

	for (int round = 0; round < 100; round++) {
		void *blocks[8];

		if (round == 1)
			(void)getrusage(RUSAGE_THREAD, &before);
		for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
			size_t bytes = (size_t)20000 << i;

			blocks[i] = take(pool, bytes);
			memset(blocks[i], round, bytes);
		}
		for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
			give(pool, blocks[i]);
	}
	(void)getrusage(RUSAGE_THREAD, &after);
	CHECK_NUMBER(stats_of(pool).mapped_count, ==, 8);
/* ThreadSanitizer causes more page faults: it maps shadow memory each time. */
#ifndef __SANITIZE_THREAD__
	CHECK_NUMBER(after.ru_minflt - before.ru_minflt, <, 100);
#endif
	memory_pool_free(pool);
}

static void test_no_memory_is_null(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);

	CHECK(take(pool, SIZE_MAX) == NULL);
	CHECK(take(pool, SIZE_MAX - 64) == NULL);
	CHECK(take(pool, (size_t)1 << 40) == NULL);
	/* Together more than the address space. */
	void *blocks[200];
	size_t count = 0;

	while (count < ARRAY_SIZE(blocks) &&
	       (blocks[count] = take(pool, ((size_t)1 << 40) - 64)) != NULL)
		count++;
	CHECK_NUMBER(count, <, ARRAY_SIZE(blocks));
	CHECK_NUMBER(stats_of(pool).live_count, ==, count);
	while (count > 0)
		give(pool, blocks[--count]);
	memory_pool_free(pool);
}

/* Run `misuse` in a child process, which must be ended by an assertion. */
static void must_abort(void (*misuse)(void))
{
	int status;
	pid_t child = fork();

	CHECK_NUMBER(child, >=, 0);
	if (child == 0) {
		(void)freopen("/dev/null", "w", stderr);
		(void)signal(SIGABRT, SIG_DFL);
		misuse();
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	CHECK(WIFSIGNALED(status));
	CHECK_NUMBER(WTERMSIG(status), ==, SIGABRT);
}

static void free_twice(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);
	void *block = take(pool, 100);

	give(pool, block);
	give(pool, block);
}

static void free_to_another(void)
{
	struct memory_pool *a = memory_pool_new(SIZE_MAX, SIZE_MAX);
	struct memory_pool *b = memory_pool_new(SIZE_MAX, SIZE_MAX);

	give(b, take(a, 100));
}

static void forget_a_block(void)
{
	struct memory_pool *pool = memory_pool_new(SIZE_MAX, SIZE_MAX);

	(void)take(pool, 100);
	memory_pool_free(pool);
}

static void test_misuse_is_caught(void)
{
	must_abort(free_twice);
	must_abort(free_to_another);
	must_abort(forget_a_block);
}

enum { THREADS = 4, ROUNDS = 5000, SHELF = 16 };

/* Threads put blocks here, and any thread takes any of them and frees it. */
struct shelf {
	struct memory_pool *pool;
	pthread_mutex_t lock;
	uint32_t *blocks[SHELF]; /* words: length, then its number */
};

/*
 * All words are written and compared; with a sanitizer, which makes that slow,
 * one of each 64 bytes, since blocks begin at multiples of them.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { WORDS_STEP = 64 / sizeof(uint32_t) };
#else
enum { WORDS_STEP = 1 };
#endif

static void fill(uint32_t *block, uint32_t words, uint32_t number)
{
	block[0] = words;
	for (uint32_t i = 1; i < words; i += WORDS_STEP)
		block[i] = number;
	block[words - 1] = number;
}

static void check_filled(const uint32_t *block)
{
	uint32_t words = block[0];

	for (uint32_t i = 1; i < words; i += WORDS_STEP)
		CHECK_NUMBER(block[i], ==, block[words - 1]);
}

static void *swap_blocks(void *arg)
{
	static _Atomic uint32_t next_thread;
	struct shelf *s = arg;
	uint32_t number = next_thread++ * ROUNDS;

	for (uint32_t i = 0; i < ROUNDS; i++, number++) {
		uint32_t words = 2 + scramble(number) % 20000;
		uint32_t place = scramble(~number) % SHELF;
		uint32_t *mine = take(s->pool, words * sizeof(uint32_t));

		CHECK(mine != NULL);
		fill(mine, words, number);
		(void)pthread_mutex_lock(&s->lock);
		uint32_t *other = s->blocks[place];

		s->blocks[place] = mine;
		(void)pthread_mutex_unlock(&s->lock);
		if (other != NULL) {
			check_filled(other);
			give(s->pool, other);
		}
		if (i % 1000 == 999)
			memory_pool_trim(s->pool);
	}
	return NULL;
}

static void test_threads_share_a_pool(void)
{
	struct shelf s = { .pool = memory_pool_new(256 << 10, SIZE_MAX) };
	pthread_t threads[THREADS];
	struct memory_pool_stats stats;

	(void)pthread_mutex_init(&s.lock, NULL);
	for (int i = 0; i < THREADS; i++) {
		int failed = pthread_create(&threads[i], NULL, swap_blocks, &s);

		CHECK_NUMBER(failed, ==, 0);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	for (int i = 0; i < SHELF; i++)
		if (s.blocks[i] != NULL)
			give(s.pool, s.blocks[i]);
	stats = stats_of(s.pool);
	CHECK_NUMBER(stats.live_count, ==, 0);
	CHECK_NUMBER(stats.live_bytes, ==, 0);
	CHECK_NUMBER(stats.kept_bytes, <=, 256 << 10);
	CHECK_NUMBER(stats.mapped_count, <, THREADS * ROUNDS);
	memory_pool_free(s.pool);
	(void)pthread_mutex_destroy(&s.lock);
}

int main(void)
{
	test_blocks_lie_apart_and_waste_little();
	test_the_charges_of_several_requests_have_a_bound();
	test_a_freed_block_is_used_again();
	test_keeps_no_more_than_the_limit();
	test_maps_little_more_than_is_ever_in_use();
	test_limit_holds_and_so_does_what_it_promises();
	test_no_fault_in_the_steady_state();
	test_no_memory_is_null();
	test_misuse_is_caught();
	test_threads_share_a_pool();
	return 0;
}
