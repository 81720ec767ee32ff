/* SPDX-License-Identifier: MIT */
/*
 * Fibres: stacks of their own on which a function runs, so that it can be left
 * in its middle and continued later, by any thread.
 *
 *	fibre_run(f, fn, arg) -> fn ... fibre_pause(f) -> returns false
 *	fibre_resume(f)       -> ... fn goes on, ends  -> returns true
 *
 * A stack is all that a fibre keeps.  Between two pauses the function may run
 * on different threads, so across a pause it holds no lock, relies on no
 * thread-local variable (errno is one) and on no thread's number.  setjmp() and
 * longjmp() within one fibre work.
 *
 * The stacks are mapped at once, with 64 KiB below each that end the program
 * when a function needs more.  A page takes memory when it is first used.
 *
 * Switching is done by Boost.Context's two functions with a C ABI, or by
 * ucontext(3), which makes two system calls, where Boost is not there.
 *
 * Ownership  A set owns its fibres.  All must be given back before
 *            fibres_free().
 * Threads    A set: any number at once.  A fibre: one at a time.
 * Limits     The number of fibres, and the bytes of a stack, never grow.
 */
#ifndef STAGES_FIBRE_H
#define STAGES_FIBRE_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fibre;
struct fibres;

typedef void fibre_fn(void *arg);

/* A set of `count` (1 or more) fibres.  NULL: no memory. */
struct fibres *fibres_new(uint32_t count);

/* NULL is fine. */
void fibres_free(struct fibres *set);

/* A fibre that runs nothing.  NULL: all are taken. */
struct fibre *fibres_take(struct fibres *set);

/* Give back a fibre whose function has returned, or that never ran. */
void fibres_give(struct fibres *set, struct fibre *f);

/*
 * Run fn(arg) on the fibre's stack.  True: it has returned.  False: it has
 * paused, and fibre_resume() continues it.
 */
MUST_CHECK bool fibre_run(struct fibre *f, fibre_fn *fn, void *arg);
MUST_CHECK bool fibre_resume(struct fibre *f);

/* Called on the fibre's stack: go back to who ran or resumed it. */
void fibre_pause(struct fibre *f);

/* Bytes of a stack; and the most that one of the set has ever used. */
size_t fibres_stack_bytes(void);
size_t fibres_stack_bytes_used(const struct fibres *set);

#endif
