/* SPDX-License-Identifier: MIT */
#include "service/direct/uthread.h"

#include "service/direct/uthread_kind.h"
#include "stages/threads/fibre.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

/* What a kernel thread's stack has beside calls: its thread-local variables. */
enum { LOCALS_BYTES = 64 << 10 };

static _Thread_local struct uthread *current;

/*
 * A fibre may ask on one kernel thread, switch, and ask again on another one.
 * The compiler must not remember the answer, nor where it is kept.
 */
__attribute__((noinline)) struct uthread *uthread_self(void)
{
	__asm__ volatile("" ::: "memory");
	return current;
}

__attribute__((noinline)) void uthread_set_self(struct uthread *t)
{
	__asm__ volatile("" ::: "memory");
	current = t;
}

static const struct uthread_kind *kind_of(const struct thread_model *m)
{
	return m->mapping == THREADS_1_TO_1 ? &uthread_kernel : &uthread_fibre;
}

struct uthreads *uthreads_start(const struct uthreads_config *config)
{
	const struct uthread_kind *kind = kind_of(config->model);
	struct uthreads *u;

	assert(config->threads_max >= 1 && config->buffer_bytes >= 1);
	u = kind->new (config);
	if (u == NULL)
		return NULL;
	u->kind = kind;
	u->config = *config;
	u->model = *config->model;
	u->config.model = &u->model;
	(void)pthread_attr_init(&u->attr);
	(void)pthread_attr_setstacksize(&u->attr,
					fibres_stack_bytes() + LOCALS_BYTES);
	(void)pthread_attr_setdetachstate(&u->attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_mutex_init(&u->lock, NULL);
	(void)pthread_cond_init(&u->has_none, NULL);
	if (!kind->start(u)) {
		uthreads_stop(u);
		return NULL;
	}
	return u;
}

void uthreads_stop(struct uthreads *u)
{
	if (u == NULL)
		return;
	(void)pthread_mutex_lock(&u->lock);
	while (u->thread_count > 0)
		(void)pthread_cond_wait(&u->has_none, &u->lock);
	(void)pthread_mutex_unlock(&u->lock);
	u->kind->stop(u);
	(void)pthread_cond_destroy(&u->has_none);
	(void)pthread_mutex_destroy(&u->lock);
	(void)pthread_attr_destroy(&u->attr);
	free(u);
}

bool uthreads_block(const struct uthreads *u)
{
	return u->model.mapping == THREADS_1_TO_1;
}

bool uthreads_continue_transfers(const struct uthreads *u)
{
	return u->model.io == THREADS_IO_ASYNC &&
	       u->model.transfers == TRANSFERS_BY_SCHEDULER;
}

static bool enter(struct uthreads *u)
{
	bool ok;

	(void)pthread_mutex_lock(&u->lock);
	ok = u->thread_count < u->config.threads_max;
	if (ok) {
		u->thread_count++;
		u->begun_count++;
		u->thread_count_max =
			(uint32_t)max_u64(u->thread_count_max, u->thread_count);
	}
	(void)pthread_mutex_unlock(&u->lock);
	return ok;
}

bool uthreads_are_full(struct uthreads *u)
{
	bool result;

	(void)pthread_mutex_lock(&u->lock);
	result = u->thread_count >= u->config.threads_max;
	(void)pthread_mutex_unlock(&u->lock);
	return result;
}

void uthreads_leave(struct uthreads *u)
{
	(void)pthread_mutex_lock(&u->lock);
	assert(u->thread_count > 0);
	if (--u->thread_count == 0)
		(void)pthread_cond_broadcast(&u->has_none);
	(void)pthread_mutex_unlock(&u->lock);
}

bool uthread_spawn(struct uthreads *u, uthread_fn *fn, void *arg)
{
	if (!enter(u))
		return false;
	if (u->kind->spawn(u, fn, arg))
		return true;
	(void)pthread_mutex_lock(&u->lock);
	u->begun_count--;
	(void)pthread_mutex_unlock(&u->lock);
	uthreads_leave(u);
	return false;
}

bool uthreads_watch(struct uthreads *u, int fd)
{
	return u->kind->watch == NULL || u->kind->watch(u, fd);
}

void uthread_transfer(int fd, transfer_fn *step, void *arg)
{
	struct uthread *self = uthread_self();

	assert(self != NULL);
	(void)atomic_fetch_add_explicit(&self->owner->transfer_count, 1,
					memory_order_relaxed);
	self->owner->kind->transfer(self, fd, step, arg);
}

void uthread_wait(void)
{
	struct uthread *self = uthread_self();

	assert(self != NULL);
	self->owner->kind->wait(self);
}

void uthread_wake(struct uthread *t)
{
	t->owner->kind->wake(t);
}

bool uthread_should_pause(void)
{
	struct uthread *self = uthread_self();

	return self != NULL && self->owner->kind->should_pause != NULL &&
	       self->owner->kind->should_pause(self);
}

void uthread_pause(void)
{
	struct uthread *self = uthread_self();

	self->owner->kind->pause(self);
}

void uthread_yield(void)
{
	struct uthread *self = uthread_self();

	assert(self != NULL);
	if (self->owner->kind->yield != NULL)
		self->owner->kind->yield(self);
}

uint32_t uthread_kernel_thread(void)
{
	const struct uthread *self = uthread_self();

	if (self == NULL || self->owner->kind->kernel_thread == NULL)
		return UINT32_MAX;
	return self->owner->kind->kernel_thread(self);
}

void uthreads_read(const struct uthreads *u, struct uthreads_counts *out)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&u->lock;

	(void)pthread_mutex_lock(lock);
	*out = (struct uthreads_counts){
		.thread_count = u->thread_count,
		.thread_count_max = u->thread_count_max,
		.begun_count = u->begun_count,
	};
	(void)pthread_mutex_unlock(lock);
	out->ready_count = atomic_load(&u->ready_count);
	out->transferring_count = atomic_load(&u->transferring_count);
	out->waiting_count = atomic_load(&u->waiting_count);
	out->kernel_thread_count = atomic_load(&u->kernel_thread_count);
	out->switch_count = atomic_load(&u->switch_count);
	out->transfer_count = atomic_load(&u->transfer_count);
	out->step_count = atomic_load(&u->step_count);
	out->preempted_count = atomic_load(&u->preempted_count);
}
