/* SPDX-License-Identifier: MIT */
#include "service/pipeline/buffers.h"

#include "service/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { IDLE_MS = 1000 }; /* without a touch: idle */

struct buffers {
	struct img_pool *pool;
	pthread_t trimmer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Written under the lock, but `touched` is looked at without. */
	_Atomic bool touched; /* since the trimmer looked */
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
static void wait_a_while(struct buffers *b)
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
			wait_a_while(b);
		}
		(void)pthread_mutex_unlock(&b->lock);
		img_pool_trim(b->pool);
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
	b->pool = img_pool_new(kept_bytes_max);
	if (b->pool != NULL)
		img_pool_limit(b->pool, bytes_max);
	if (b->pool != NULL &&
	    pthread_create(&b->trimmer, NULL, trim_when_idle, b) == 0)
		return b;
	img_pool_free(b->pool);
	free(b);
	return NULL;
}

const struct img_memory *buffers_memory(const struct buffers *b)
{
	return img_pool_memory(b->pool);
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

void buffers_read(const struct buffers *b, struct img_pool_stats *out)
{
	img_pool_read(b->pool, out);
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
	img_pool_free(b->pool);
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
}
