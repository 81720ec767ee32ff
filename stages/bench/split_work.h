/* SPDX-License-Identifier: MIT */
/*
 * Work on a stack, compiled twice from split_work.c: for a stack of fixed size,
 * and with -fsplit-stack for a stack of linked chunks.
 */
#ifndef STAGES_BENCH_SPLIT_WORK_H
#define STAGES_BENCH_SPLIT_WORK_H

#include <stdint.h>

/* From boost/context/detail/fcontext.hpp, which is C++. */
struct transfer {
	void *from; /* the context that was left */
	void *data;
};
extern struct transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *top, uint64_t bytes,
			   void (*begin)(struct transfer));

/* What a fibre does before it pauses for the first time. */
enum work_kind {
	WORK_NOTHING,
	WORK_DEEP, /* calls to a depth of 32 KiB, and returns */
	WORK_LIBC, /* formats a number by snprintf() */
	WORK_KINDS
};

/* Bytes of a frame of work_call_*(), about. */
enum { WORK_FRAME_BYTES = 256, WORK_DEEP_BYTES = 32 << 10 };

struct work_fibre {
	void *context; /* where it is paused */
	void *outside; /* where it was continued */
	enum work_kind kind;
	void *chunks[10]; /* of libgcc, for linked chunks */
	void *outside_chunks[10];
	void *stack; /* fixed: its lowest byte */
};

/* Calls itself to this depth; returns the depth. */
uint64_t work_call_fixed(uint32_t depth);
uint64_t work_call_linked(uint32_t depth);

/* Begin a fibre, whose address is in `t.data`: does its work, then pauses. */
void work_begin_fixed(struct transfer t);
void work_begin_linked(struct transfer t);

#endif
