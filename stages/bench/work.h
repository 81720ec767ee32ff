/* SPDX-License-Identifier: MIT */
/*
 * Work: what a synthetic handler does, so much computing and so much memory.
 *
 * Computing is a number of steps, not a time: a handler that loses its core for
 * a while has as much left to do as before; and what a cold cache costs comes
 * on top.
 *
 * Threads    Any, at once.
 */
#ifndef STAGES_BENCH_WORK_H
#define STAGES_BENCH_WORK_H

#include <stdint.h>

/* Steps that one core makes in a nanosecond; takes some milliseconds. */
double work_measure_speed(void);

void work_compute(uint64_t step_count);

/* Read and write each cache line once. */
void work_touch(unsigned char *memory, uint64_t size_bytes);

#endif
