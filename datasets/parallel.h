/* SPDX-License-Identifier: MIT */
/* Parallel: the same call for every index, by some threads. */
#ifndef DATASETS_PARALLEL_H
#define DATASETS_PARALLEL_H

#include <stdint.h>

/* Called once per index, by any thread. */
typedef void parallel_fn(void *arg, uint32_t index);

/*
 * Call `fn` for 0 .. count-1, begun in that order, from `jobs` threads, and
 * return when all have returned.
 */
void parallel_run(uint32_t jobs, uint32_t count, parallel_fn *fn, void *arg);

#endif
