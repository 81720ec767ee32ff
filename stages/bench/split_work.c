/* SPDX-License-Identifier: MIT */
/* WORK(x) is x_fixed or x_linked: see CMakeLists.txt. */
#include "stages/bench/split_work.h"

#include <stdio.h>
#include <stdlib.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define WORK(name) JOIN(name, WORK_STACK)

/* The frame is written to, and the compiler may not make it a loop. */
__attribute__((noinline)) uint64_t WORK(work_call)(uint32_t depth)
{
	volatile uint8_t frame[WORK_FRAME_BYTES - 64];
	uint64_t below = 0;

	frame[0] = (uint8_t)depth;
	if (depth > 1)
		below = WORK(work_call)(depth - 1);
	frame[sizeof(frame) - 1] = (uint8_t)below;
	return below + 1;
}

__attribute__((noinline)) static void WORK(format)(void)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%.3f", 1.5);

	if (length != 5)
		abort();
}

void WORK(work_begin)(struct transfer t)
{
	struct work_fibre *f = t.data;

	f->outside = t.from;
	if (f->kind == WORK_DEEP &&
	    WORK(work_call)(WORK_DEEP_BYTES / WORK_FRAME_BYTES) == 0)
		abort();
	if (f->kind == WORK_LIBC)
		WORK(format)();
	for (;;)
		f->outside = jump_fcontext(f->outside, NULL).from;
}
