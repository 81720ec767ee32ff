/* SPDX-License-Identifier: MIT */
#include "stages/bench/work.h"

#include "stages/group.h"

enum { TRIALS = 30, TRIAL_STEPS = 200000, LINE_BYTES = 64 };

void work_compute(uint64_t step_count)
{
	uint64_t x = step_count;

	/* Each step needs the last one, and the compiler may leave none out. */
	while (step_count-- > 0) {
		x = x * UINT64_C(6364136223846793005) + 1;
		__asm__ volatile("" : "+r"(x));
	}
}

void work_touch(unsigned char *memory, uint64_t size_bytes)
{
	for (uint64_t i = 0; i < size_bytes; i += LINE_BYTES)
		memory[i]++;
}

double work_measure_speed(void)
{
	uint64_t least_ns = UINT64_MAX;

	/* The fastest trial is the one that nobody disturbed. */
	for (int i = 0; i < TRIALS; i++) {
		uint64_t start_ns = group_now_ns();

		work_compute(TRIAL_STEPS);
		uint64_t ns = group_now_ns() - start_ns;

		least_ns = ns < least_ns ? ns : least_ns;
	}
	return (double)TRIAL_STEPS / (double)least_ns;
}
