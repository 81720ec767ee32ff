/* SPDX-License-Identifier: MIT */
/*
 * 1:1: a user-level thread is a kernel thread.  It waits for its wake-up by a
 * futex, which is uthread.wake itself.
 */
#include "service/direct/uthread_kind.h"

#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct kernel_thread {
	struct uthread base; /* must be the first member */
	char buffer[];
};

static struct uthreads *kernel_new(const struct uthreads_config *config)
{
	(void)config;
	return calloc(1, sizeof(struct uthreads));
}

static bool kernel_start(struct uthreads *u)
{
	(void)u; /* each thread gets its own */
	return true;
}

static void kernel_stop(struct uthreads *u)
{
	(void)u;
}

static void *kernel_main(void *arg)
{
	struct kernel_thread *t = arg;
	struct uthreads *u = t->base.owner;

	(void)pthread_setname_np(pthread_self(), "direct");
	uthread_set_self(&t->base);
	t->base.fn(t->base.arg);
	free(t);
	(void)atomic_fetch_sub(&u->kernel_thread_count, 1);
	uthreads_leave(u);
	return NULL;
}

static bool kernel_spawn(struct uthreads *u, uthread_fn *fn, void *arg)
{
	struct kernel_thread *t = malloc(sizeof(*t) + u->config.buffer_bytes);
	pthread_t thread;

	(void)atomic_fetch_add(&u->kernel_thread_count, 1);
	(void)atomic_fetch_add(&u->switch_count, 1);
	if (t != NULL) {
		t->base = (struct uthread){ .owner = u, .fn = fn, .arg = arg };
		if (pthread_create(&thread, &u->attr, kernel_main, t) == 0)
			return true;
	}
	free(t);
	(void)atomic_fetch_sub(&u->switch_count, 1);
	(void)atomic_fetch_sub(&u->kernel_thread_count, 1);
	return false;
}

/*
 * The socket blocks, so mostly there is one step.  But a record of TLS may have
 * no data, and at the end the listening socket does not block.
 */
static void kernel_transfer(struct uthread *self, int fd, transfer_fn *step,
			    void *arg)
{
	struct uthreads *u = self->owner;
	struct kernel_thread *t = (struct kernel_thread *)self;

	(void)atomic_fetch_add(&u->transferring_count, 1);
	for (;;) {
		(void)atomic_fetch_add_explicit(&u->step_count, 1,
						memory_order_relaxed);
		enum transfer_need need =
			step(arg, t->buffer, u->config.buffer_bytes);

		if (need == TRANSFER_DONE)
			break;
		if (need == TRANSFER_YIELDS)
			continue;
		struct pollfd p = {
			.fd = fd,
			.events =
				need == TRANSFER_NEEDS_INPUT ? POLLIN : POLLOUT,
		};

		(void)poll(&p, 1, -1);
	}
	(void)atomic_fetch_sub(&u->transferring_count, 1);
}

static void kernel_wait(struct uthread *self)
{
	uint32_t wake = UTHREAD_RUNS;

	(void)atomic_fetch_add(&self->owner->waiting_count, 1);
	if (atomic_compare_exchange_strong(&self->wake, &wake, UTHREAD_WAITS))
		while (atomic_load(&self->wake) == UTHREAD_WAITS)
			(void)syscall(SYS_futex, &self->wake,
				      FUTEX_WAIT_PRIVATE, UTHREAD_WAITS, NULL);
	(void)atomic_exchange(&self->wake, UTHREAD_RUNS);
	(void)atomic_fetch_sub(&self->owner->waiting_count, 1);
}

/*
 * The thread may have seen the exchange and ended before the system call, which
 * then finds nobody.
 */
static void kernel_wake(struct uthread *t)
{
	if (atomic_exchange(&t->wake, UTHREAD_WOKEN) == UTHREAD_WAITS)
		(void)syscall(SYS_futex, &t->wake, FUTEX_WAKE_PRIVATE, 1);
}

const struct uthread_kind uthread_kernel = {
	.new = kernel_new,
	.start = kernel_start,
	.stop = kernel_stop,
	.spawn = kernel_spawn,
	.transfer = kernel_transfer,
	.wait = kernel_wait,
	.wake = kernel_wake,
};
