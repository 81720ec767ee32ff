/* SPDX-License-Identifier: MIT */
#include "service/pipeline/buffers.h"

#include "base/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Memory is trimmed after this time without buffers_touch(). */
enum { IDLE_MS = 1000 };

struct buffers {
	struct memory_pool *pool;
	pthread_t trimmer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Both are written under the lock; `touched` is read without it. */
	_Atomic bool touched; /* since the trimmer cleared it */
	bool stopping;
};

/* Sleep until there is work.  False: stopping.  Caller holds the lock. */
static bool wait_for_touch(struct buffers *b)
{
	while (!b->touched && !b->stopping)
		(void)pthread_cond_wait(&b->changed, &b->lock);
	return !b->stopping;
}

/* Sleep for IDLE_MS, less if stopping.  Caller holds the lock. */
static void wait_until_idle_or_stop(struct buffers *b)
{
	uint64_t end_ns = clock_after_ms(IDLE_MS);

	while (!b->stopping && wait_until(&b->changed, &b->lock, end_ns))
		;
}

static void *trim_when_idle(void *arg)
{
	struct buffers *b = arg;

	(void)pthread_setname_np(pthread_self(), "trim");
	(void)pthread_mutex_lock(&b->lock);
	while (wait_for_touch(b)) {
		while (b->touched && !b->stopping) {
			b->touched = false;
			wait_until_idle_or_stop(b);
		}
		(void)pthread_mutex_unlock(&b->lock);
		memory_pool_trim(b->pool);
		(void)pthread_mutex_lock(&b->lock);
	}
	(void)pthread_mutex_unlock(&b->lock);
	return NULL;
}

struct buffers *buffers_new(size_t kept_bytes_max, size_t bytes_max)
{
	struct buffers *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	(void)pthread_mutex_init(&b->lock, NULL);
	wait_init(&b->changed);
	b->pool = memory_pool_new(kept_bytes_max, bytes_max);
	if (b->pool != NULL &&
	    pthread_create(&b->trimmer, NULL, trim_when_idle, b) == 0)
		return b;
	memory_pool_free(b->pool);
	free(b);
	return NULL;
}

const struct memory *buffers_memory(const struct buffers *b)
{
	return memory_pool_memory(b->pool);
}

void buffers_touch(struct buffers *b)
{
	if (atomic_load_explicit(&b->touched, memory_order_relaxed))
		return;
	(void)pthread_mutex_lock(&b->lock);
	b->touched = true;
	(void)pthread_cond_signal(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
}

void buffers_read(const struct buffers *b, struct memory_pool_stats *out)
{
	memory_pool_read(b->pool, out);
}

void buffers_free(struct buffers *b)
{
	if (b == NULL)
		return;
	(void)pthread_mutex_lock(&b->lock);
	b->stopping = true;
	(void)pthread_cond_signal(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
	(void)pthread_join(b->trimmer, NULL);
	memory_pool_free(b->pool);
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
}
