/* SPDX-License-Identifier: MIT */
/*
 * Promise: when the system refuses a kernel thread, an epoll instance or the
 * watching of a socket, a start or a spawn says so, a transfer ends as if its
 * connection had ended, and threads that run go on.
 */
#include "base/error.h"
#include "service/direct/uthread.h"

#include "base/test/check.h"
#include "stages/stage.h"
#include "stages/test/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_eventfd(unsigned first, int flags);
int __wrap_eventfd(unsigned first, int flags);
int __real_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);

enum call { CALL_THREAD, CALL_EPOLL, CALL_EVENTFD, CALL_CTL, CALLS };

/* So many calls succeed, then one fails; negative: none fails. */
static _Atomic int left[CALLS];

static bool fails(enum call c, int error)
{
	if (atomic_fetch_sub(&left[c], 1) != 0)
		return false;
	errno = error;
	return true;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg)
{
	if (fails(CALL_THREAD, EAGAIN))
		return EAGAIN;
	return __real_pthread_create(thread, attr, run, arg);
}

int __wrap_epoll_create1(int flags)
{
	return fails(CALL_EPOLL, EMFILE) ? -1 : __real_epoll_create1(flags);
}

int __wrap_eventfd(unsigned first, int flags)
{
	return fails(CALL_EVENTFD, EMFILE) ? -1 : __real_eventfd(first, flags);
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	return fails(CALL_CTL, ENOSPC) ? -1 :
					 __real_epoll_ctl(epoll, op, fd, event);
}

/* Of the calls from now on, number `at` of these fails. */
static void let_fail(enum call c, int at)
{
	for (int i = 0; i < CALLS; i++)
		left[i] = -1;
	left[c] = at;
}

static struct cores *one_core;

static struct uthreads *start(enum thread_mapping mapping, enum thread_io io)
{
	const struct thread_model model = { .mapping = mapping, .io = io };

	return uthreads_start(&(struct uthreads_config){
		.model = &model,
		.cores = one_core,
		.threads_max = 4,
		.buffer_bytes = 16,
	});
}

static struct uthreads_counts read_counts(const struct uthreads *u)
{
	struct uthreads_counts c;

	uthreads_read(u, &c);
	return c;
}

static void test_start_fails(void)
{
	let_fail(CALL_THREAD, 0);
	CHECK(start(THREADS_N_TO_M, THREADS_IO_ASYNC) == NULL);
	let_fail(CALL_THREAD, 0);
	CHECK(start(THREADS_N_TO_M, THREADS_IO_SYNC) == NULL);
	let_fail(CALL_EPOLL, 0);
	CHECK(start(THREADS_N_TO_M, THREADS_IO_ASYNC) == NULL);
	let_fail(CALL_EVENTFD, 0);
	CHECK(start(THREADS_N_TO_1, THREADS_IO_ASYNC) == NULL);
	let_fail(CALL_CTL, 0);
	CHECK(start(THREADS_N_TO_1, THREADS_IO_ASYNC) == NULL);
}

static void count_up(void *arg)
{
	(void)atomic_fetch_add((_Atomic int *)arg, 1);
}

static void test_spawn_fails(void)
{
	struct uthreads *u = start(THREADS_1_TO_1, THREADS_IO_SYNC);
	_Atomic int count = 0;

	CHECK(u != NULL);
	let_fail(CALL_THREAD, 0);
	CHECK(!uthread_spawn(u, count_up, &count));
	struct uthreads_counts c = read_counts(u);

	CHECK_NUMBER(c.begun_count, ==, 0);
	CHECK_NUMBER(c.thread_count, ==, 0);
	CHECK_NUMBER(c.kernel_thread_count, ==, 0);
	CHECK_NUMBER(c.switch_count, ==, 0);
	CHECK(uthread_spawn(u, count_up, &count));
	uthreads_stop(u);
	CHECK_NUMBER(count, ==, 1);
}

struct reader {
	int ours, theirs;
	ssize_t result;
};

static enum transfer_need read_byte(void *arg, char *buffer, size_t bytes)
{
	struct reader *r = arg;

	r->result = recv(r->ours, buffer, bytes > 0, 0);
	return r->result < 0 ? TRANSFER_NEEDS_INPUT : TRANSFER_DONE;
}

static void read_one(void *arg)
{
	struct reader *r = arg;

	uthread_transfer(r->ours, read_byte, r);
}

static void open_pair(struct reader *r)
{
	int fds[2];

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
		     ==, 0);
	*r = (struct reader){ .ours = fds[0], .theirs = fds[1] };
}

static void close_pair(const struct reader *r)
{
	CHECK_NUMBER(close(r->ours), ==, 0);
	CHECK_NUMBER(close(r->theirs), ==, 0);
}

static void test_socket_is_not_watched(void)
{
	struct uthreads *u = start(THREADS_N_TO_1, THREADS_IO_ASYNC);
	struct reader r;

	CHECK(u != NULL);
	open_pair(&r);
	let_fail(CALL_CTL, 0);
	CHECK(uthread_spawn(u, read_one, &r));
	uthreads_stop(u);
	CHECK_NUMBER(r.result, ==, 0); /* the end */
	close_pair(&r);
}

/* Without a second kernel thread, the first one keeps its place. */
static void test_place_is_kept(void)
{
	struct uthreads *u = start(THREADS_N_TO_M, THREADS_IO_SYNC);
	_Atomic int count = 0;
	struct reader r;

	CHECK(u != NULL);
	open_pair(&r);
	let_fail(CALL_THREAD, 0);
	CHECK(uthread_spawn(u, read_one, &r));
	while (read_counts(u).transferring_count == 0)
		(void)sched_yield();
	CHECK(uthread_spawn(u, count_up, &count));
	CHECK_NUMBER(read_counts(u).ready_count, ==, 1);
	CHECK_NUMBER(send(r.theirs, "x", 1, 0), ==, 1);
	while (read_counts(u).thread_count > 0)
		(void)sched_yield();
	CHECK_NUMBER(r.result, ==, 1);
	CHECK_NUMBER(count, ==, 1);
	close_pair(&r);
	CHECK_NUMBER(read_counts(u).kernel_thread_count, ==, 1);

	/* Now there is one, so both run. */
	open_pair(&r);
	CHECK(uthread_spawn(u, read_one, &r));
	while (read_counts(u).transferring_count == 0)
		(void)sched_yield();
	CHECK(uthread_spawn(u, count_up, &count));
	while (count < 2)
		(void)sched_yield();
	CHECK_NUMBER(read_counts(u).kernel_thread_count, ==, 2);
	CHECK_NUMBER(send(r.theirs, "x", 1, 0), ==, 1);
	uthreads_stop(u);
	CHECK_NUMBER(r.result, ==, 1);
	close_pair(&r);
}

int main(void)
{
	struct error why;
	char list[16];
	struct cores *all = cores_new(NULL, why.text);

	watchdog_start();
	CHECK(all != NULL);
	(void)snprintf(list, sizeof(list), "%u", cores_cpu(all, 0));
	one_core = cores_new(list, why.text);
	CHECK(one_core != NULL);
	cores_free(all);
	test_start_fails();
	test_spawn_fails();
	test_socket_is_not_watched();
	test_place_is_kept();
	cores_free(one_core);
	return 0;
}
