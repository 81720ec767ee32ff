/* SPDX-License-Identifier: MIT */
/*
 * User-level threads for connections: each connection has a thread of
 * straight-line code, which reads, works and writes.  How threads get kernel
 * threads, and what a call does that would block, is chosen by the
 * configuration (Chanda et al., "An efficient threading model to boost server
 * performance": ServLib).
 *
 *	1:1, sync    a kernel thread for each thread; sockets block
 *	n:m, sync    threads are fibres on m kernel threads, with one run queue;
 *	             when a call would block, its kernel thread leaves its
 *	             place to another one, and waits
 *	n:m, async   when a call would block, the thread leaves its kernel
 *	             thread, and epoll says when it can go on
 *	n:1, async   the same, on one kernel thread
 *
 * A fibre changes its kernel thread only where it waits or pauses.  With
 * asynchronous I/O, one that waits for more than a second gives back memory of
 * its stack.
 *
 * Transfers.  A thread gives uthread_transfer() a step, which reads or writes
 * as much as the socket takes at once.  With TRANSFERS_BY_SCHEDULER, the step
 * runs on the stack of the kernel thread each time that the socket is ready,
 * and the thread goes on when the transfer is over: a transfer of any size
 * costs one switch to the thread and one from it.  Without it, the thread is
 * woken for each step.
 *
 * A thread waits either for its socket (uthread_transfer()) or to be woken
 * (uthread_wait()), never for both.  So whoever ends its wait has it alone.
 *
 * Threads    uthreads_start() and _stop(): one.  uthread_spawn() and
 *            uthread_wake(): any, also kernel threads of others.  The rest:
 *            only the user-level thread itself.
 */
#ifndef SERVICE_UTHREAD_H
#define SERVICE_UTHREAD_H

#include "base/util.h"
#include "stages/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cores;
struct uthread;
struct uthreads;

struct uthreads_config {
	const struct thread_model *model; /* copied; see stage.h */
	/* m of n:m.  Fibres run on these cores only.  Must outlive it. */
	const struct cores *cores;
	uint32_t threads_max; /* at once */
	size_t buffer_bytes;  /* of the buffer that a step is given */
};

/* NULL: no memory, or no kernel thread. */
struct uthreads *uthreads_start(const struct uthreads_config *config);

/* All threads have ended, or end soon by themselves.  NULL is fine. */
void uthreads_stop(struct uthreads *u);

/* Do sockets block?  If not, they must have O_NONBLOCK when they are used. */
bool uthreads_block(const struct uthreads *u);

/* Are transfers continued on the stack of a kernel thread? */
bool uthreads_continue_transfers(const struct uthreads *u);

typedef void uthread_fn(void *arg);

/*
 * Start a thread, which runs fn(arg).  False: no memory, or there are
 * threads_max.
 */
MUST_CHECK bool uthread_spawn(struct uthreads *u, uthread_fn *fn, void *arg);

/*
 * Are there threads_max?  A thread that is about to end counts until it has
 * given back its stack, so for a while after its last statement.
 */
bool uthreads_are_full(struct uthreads *u);

/*
 * The thread that calls, in a step the one whose transfer it is; NULL: the
 * caller is none.
 */
struct uthread *uthread_self(void);

enum transfer_need {
	TRANSFER_DONE,
	TRANSFER_NEEDS_INPUT, /* go on when the socket can be read */
	TRANSFER_NEEDS_OUTPUT,
	TRANSFER_YIELDS, /* it can go on, but lets others run first */
};

/*
 * A step of a transfer.  It calls recv(), send() and so on until it is done or
 * they return EAGAIN (never if sockets block).  If the other side is as fast as
 * it, this could take long, so it counts its bytes, and yields.  It must not
 * wait in another way, and must not call uthread_wait(), because it may run on
 * the stack of a kernel thread; uthread_should_pause() is false there.
 * `buffer` is the kernel thread's, for use during this call.
 */
typedef enum transfer_need transfer_fn(void *arg, char *buffer, size_t bytes);

/*
 * Make sure that transfers of this descriptor can wait for it, until it is
 * closed.  False: no memory.
 */
MUST_CHECK bool uthreads_watch(struct uthreads *u, int fd);

/*
 * Returns after step() has returned TRANSFER_DONE.  If there is no memory to
 * watch the socket, it is shut down, so that the next step finds its end.
 */
void uthread_transfer(int fd, transfer_fn *step, void *arg);

/*
 * Wait until somebody has called uthread_wake() for this thread.  A call before
 * the wait counts, if it came after the last wait; several count as one.
 */
void uthread_wait(void);

/* The thread must not have ended. */
void uthread_wake(struct uthread *t);

/*
 * Has the thread that calls run for the quantum, and could others run?  False
 * outside such threads.
 */
bool uthread_should_pause(void);

/*
 * It should pause: let others run.  Afterwards this may be another kernel
 * thread.
 */
void uthread_pause(void);

/*
 * Let others run, unless the thread has waited or paused since the last call.
 * A thread that may go on and on without a wait, because its socket is always
 * ready, must call this in between.  Afterwards this may be another kernel
 * thread.
 */
void uthread_yield(void);

/*
 * The number, from 0, of the kernel thread that runs the caller.  With
 * asynchronous I/O there are as many as m; else numbers may be larger.
 * UINT32_MAX: the caller is no such thread, or each has its own.
 */
uint32_t uthread_kernel_thread(void);

/* Since the start, unless it says "now". */
struct uthreads_counts {
	uint32_t thread_count, thread_count_max; /* now; at most */
	uint32_t ready_count;                    /* now: in the run queue */
	uint32_t transferring_count;             /* now: wait for a socket */
	uint32_t waiting_count;                  /* now: in uthread_wait() */
	uint32_t kernel_thread_count;            /* now */
	uint64_t begun_count;                    /* threads */
	/* A kernel thread has entered a thread; 1:1: as begun_count. */
	uint64_t switch_count;
	uint64_t transfer_count;  /* uthread_transfer() */
	uint64_t step_count;      /* of all transfers */
	uint64_t preempted_count; /* at the end of the quantum */
};

void uthreads_read(const struct uthreads *u, struct uthreads_counts *out);

#endif
