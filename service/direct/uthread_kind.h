/* SPDX-License-Identifier: MIT */
/*
 * Kinds of user-level threads: what uthread.c, which counts the threads, needs
 * from a file that gives them kernel threads.
 */
#ifndef SERVICE_UTHREAD_KIND_H
#define SERVICE_UTHREAD_KIND_H

#include "service/direct/uthread.h"

#include <pthread.h>

struct uthread_kind;

/* Each kind has a structure of its own that begins with this. */
struct uthreads {
	const struct uthread_kind *kind;
	struct uthreads_config config;
	struct thread_model model; /* config.model is this */

	pthread_attr_t attr; /* for kernel threads, which are detached */

	pthread_mutex_t lock;
	/* No thread is left; or no kernel thread, when there is no thread. */
	pthread_cond_t has_none;
	/* Protected by the lock: see struct uthreads_counts. */
	uint32_t thread_count, thread_count_max;
	uint64_t begun_count;

	/* The same; any thread may change them. */
	_Atomic uint32_t ready_count, transferring_count, waiting_count;
	_Atomic uint32_t kernel_thread_count;
	_Atomic uint64_t switch_count, transfer_count, step_count;
	_Atomic uint64_t preempted_count;
};

/*
 * Of uthread.wake.  A thread that waits changes RUNS to WAITS.  One who wakes
 * it sets WOKEN, and lets it go on if it was WAITS.  If the wake-up came first,
 * the change to WAITS fails, and the thread goes on without it.
 */
enum { UTHREAD_RUNS, UTHREAD_WAITS, UTHREAD_WOKEN };

/* Each kind has a structure of its own that begins with this. */
struct uthread {
	struct uthreads *owner;
	uthread_fn *fn;
	void *arg;
	_Atomic uint32_t wake;
};

/* Functions without a comment are those of uthread.h. */
struct uthread_kind {
	/* uthread.c fills in counts, lock and configuration. */
	struct uthreads *(*new)(const struct uthreads_config *config);
	/* False: no kernel thread; then stop() is called. */
	bool (*start)(struct uthreads *u);
	/* There are no threads.  Afterwards `u` is freed. */
	void (*stop)(struct uthreads *u);
	/* The new thread is counted already. */
	bool (*spawn)(struct uthreads *u, uthread_fn *fn, void *arg);
	void (*transfer)(struct uthread *self, int fd, transfer_fn *step,
			 void *arg);
	void (*wait)(struct uthread *self);
	void (*wake)(struct uthread *t);
	/* These three are NULL if the kernel lets its threads take turns. */
	bool (*should_pause)(struct uthread *self);
	void (*pause)(struct uthread *self);
	void (*yield)(struct uthread *self);
	/* NULL: a transfer can wait for any descriptor. */
	bool (*watch)(struct uthreads *u, int fd);
	/* NULL: there may be any number. */
	uint32_t (*kernel_thread)(const struct uthread *self);
};

extern const struct uthread_kind uthread_kernel; /* 1:1 */
extern const struct uthread_kind uthread_fibre;  /* n:m, n:1 */

/* The calling kernel thread has entered this thread, or left it (NULL). */
void uthread_set_self(struct uthread *t);

/* A thread has ended, or could not be started. */
void uthreads_leave(struct uthreads *u);

#endif
