/* SPDX-License-Identifier: MIT */
/*
 * Fibres: a fibre is a stack on which a function runs.  The function can be
 * paused in its middle and continued later, by any thread.
 *
 *	fibre_run(f, fn, arg) -> fn ... fibre_pause(f) -> returns false
 *	fibre_resume(f)       -> ... fn goes on, ends  -> returns true
 *
 * A fibre keeps nothing but its stack.  After a pause the function may run on
 * another thread, so across a pause it must not hold a lock or rely on a
 * thread-local variable (such as errno) or on the thread's number.  setjmp()
 * and longjmp() within one fibre work.
 *
 * All stacks are mapped at once.  Below each are 64 KiB that cannot be
 * accessed, its guard: if a function needs more stack, the program ends.
 * Before Linux 6.13, there are guards for 16,384 stacks of a program, because
 * each takes two of the mappings that a process may have; a set has no stack
 * without a guard, unless it is asked for that.  A page takes memory when it is
 * first used.  Free fibres keep it, because they will soon be used again, but
 * at most FIBRES_WARM_MAX of a set: so after many fibres were in use at once,
 * the memory of nearly all is given back.
 *
 * Switching is done by the two functions of Boost.Context that have a C ABI or,
 * without Boost, by ucontext(3), which makes system calls.
 *
 * Ownership  A set owns its fibres.  All must be given back before
 *            fibres_free().
 * Threads    Any number of threads may use a set at the same time; one thread
 *            at a time may use a fibre.
 * Limits     The number of fibres and the size of a stack never grow.
 */
#ifndef STAGES_FIBRE_H
#define STAGES_FIBRE_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fibre;
struct fibres;

/* Free fibres of a set that keep the memory that they have used. */
enum { FIBRES_WARM_MAX = 32 };

typedef void fibre_fn(void *arg);

enum { FIBRE_STACK_BYTES = 64 << 10 }; /* unless the set says otherwise */

struct fibre_stacks {
	uint32_t count; /* 1 or more */
	/*
	 * 0: FIBRE_STACK_BYTES.  Whole pages, and 16 KiB or more, are given.  A
	 * build with AddressSanitizer or ThreadSanitizer gives eight times as
	 * much.
	 */
	size_t stack_bytes;
	/* True: `count` stacks, even if some have no guard. */
	bool may_lack_guards;
};

/* NULL: no memory, or no guards. */
struct fibres *fibres_new(const struct fibre_stacks *config);

/* For how many more stacks the process can have guards. */
uint32_t fibres_guards_left(void);

/* Those that were asked for, or fewer for want of guards. */
uint32_t fibres_count(const struct fibres *set);

/* NULL is fine. */
void fibres_free(struct fibres *set);

/* Take a fibre that runs nothing.  NULL: all are in use. */
struct fibre *fibres_take(struct fibres *set);

/* False: all were in use, a moment ago. */
bool fibres_has_free(const struct fibres *set);

/* Has its function returned, or did it never run? */
bool fibre_is_new(const struct fibre *f);

/*
 * Give back a fibre whose function has returned, or that never ran.  Makes a
 * system call if FIBRES_WARM_MAX others are free.
 */
void fibres_give(struct fibres *set, struct fibre *f);

/*
 * Run fn(arg) on the fibre's stack.  True: it has returned.  False: it has
 * paused, and fibre_resume() continues it.
 */
MUST_CHECK bool fibre_run(struct fibre *f, fibre_fn *fn, void *arg);
MUST_CHECK bool fibre_resume(struct fibre *f);

/*
 * Called on the fibre's stack: return to the caller of fibre_run() or
 * fibre_resume().
 */
void fibre_pause(struct fibre *f);

/*
 * The paused fibre will soon be continued: fetch what that needs into the
 * cache.  `stack`: also of its stack, which is found by reading the fibre.
 */
void fibre_fetch(const struct fibre *f, bool stack);

/*
 * The paused fibre may stay paused for long: give back the memory that its
 * stack took when calls were deeper than now.  Makes a system call.
 */
void fibre_trim(struct fibre *f);

/* The size of a stack by default, in this build. */
size_t fibres_stack_bytes(void);

#endif
