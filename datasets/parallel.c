/* SPDX-License-Identifier: MIT */
#include "datasets/parallel.h"

#include "datasets/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct work {
	atomic_uint next;
	uint32_t count;
	parallel_fn *fn;
	void *arg;
};

static void *run(void *arg)
{
	struct work *w = arg;
	uint32_t index;

	while ((index = atomic_fetch_add(&w->next, 1)) < w->count)
		w->fn(w->arg, index);
	return NULL;
}

void parallel_run(uint32_t jobs, uint32_t count, parallel_fn *fn, void *arg)
{
	struct work w = { .count = count, .fn = fn, .arg = arg };
	pthread_t *threads = memory_new(jobs, sizeof(*threads));
	uint32_t started = 0;

	/* The caller is one of them, so it goes on even if none starts. */
	while (started + 1 < jobs &&
	       pthread_create(&threads[started], NULL, run, &w) == 0)
		started++;
	run(&w);
	for (uint32_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}
