/* SPDX-License-Identifier: MIT */
/*
 * Promises about user-level threads of connections, in each model: all bytes of
 * transfers arrive, in both directions; a wait ends by its wake-up, whether
 * that comes before, during or after the wait; a socket that another thread
 * shuts down ends a transfer; there are never more threads than allowed; a stop
 * waits for all threads.  A thread that runs for longer than the quantum lets
 * others run, also those whose sockets have become ready.  So does one that
 * yields, or whose step does.  A large transfer by the scheduler costs one
 * switch to the thread.  All works in the sandbox.
 */
#include "base/error.h"
#include "service/direct/uthread.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/test/check.h"
#include "service/sandbox.h"
#include "stages/stage.h"
#include "stages/test/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
enum { CLIENTS = 3, REQUESTS = 2, WAKE_ROUNDS = 8000 };
#elif defined(__SANITIZE_ADDRESS__)
enum { CLIENTS = 4, REQUESTS = 3, WAKE_ROUNDS = 20000 };
#else
enum { CLIENTS = 8, REQUESTS = 8, WAKE_ROUNDS = 100000 };
#endif
enum {
	CONNECTIONS = 12, /* of each client, at once */
	BODY_BYTES_MAX = 300000,
	SEEDS = 1000, /* of bodies */
	BUFFER_BYTES = 8192,
	WAITERS = 50,
	/*
	 * On a busy machine a round of waiting takes a thousand times as long,
	 * so the rounds end after this time.
	 */
	ROUNDS_MS = 2000,
};

static const uint64_t quantum_ns = 200000;

struct model {
	const char *name;
	struct thread_model model;
};

static const struct model models[] = {
	{ "1:1 sync", { .mapping = THREADS_1_TO_1, .io = THREADS_IO_SYNC } },
	{ "n:m sync", { .mapping = THREADS_N_TO_M, .io = THREADS_IO_SYNC } },
	{ "n:m async, by thread",
	  { .mapping = THREADS_N_TO_M,
	    .io = THREADS_IO_ASYNC,
	    .transfers = TRANSFERS_BY_THREAD } },
	{ "n:m async, by scheduler",
	  { .mapping = THREADS_N_TO_M,
	    .io = THREADS_IO_ASYNC,
	    .transfers = TRANSFERS_BY_SCHEDULER } },
	{ "n:1 async, by thread",
	  { .mapping = THREADS_N_TO_1,
	    .io = THREADS_IO_ASYNC,
	    .transfers = TRANSFERS_BY_THREAD } },
	{ "n:1 async, by scheduler",
	  { .mapping = THREADS_N_TO_1,
	    .io = THREADS_IO_ASYNC,
	    .transfers = TRANSFERS_BY_SCHEDULER } },
};

static struct cores *cores;
static struct uthreads_counts before_end; /* of a thread */

static struct uthreads *start(const struct model *m, uint32_t threads_max)
{
	struct thread_model model = m->model;

	model.quantum_ns = quantum_ns;
	struct uthreads *u = uthreads_start(&(struct uthreads_config){
		.model = &model, /* copied */
		.cores = cores,
		.threads_max = threads_max,
		.buffer_bytes = BUFFER_BYTES,
	});

	CHECK(u != NULL);
	return u;
}

static struct uthreads_counts read_counts(const struct uthreads *u)
{
	struct uthreads_counts c;

	uthreads_read(u, &c);
	return c;
}

/* A pair of sockets with little room, so that large transfers block. */
static void open_pair(const struct uthreads *u, int *ours, int *theirs)
{
	int fds[2], few = 4096;

	CHECK_NUMBER(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
	for (int i = 0; i < 2; i++)
		CHECK_NUMBER(setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &few,
					sizeof(few)),
			     ==, 0);
	if (!uthreads_block(u))
		CHECK_NUMBER(fcntl(fds[0], F_SETFL, O_NONBLOCK), ==, 0);
	*ours = fds[0];
	*theirs = fds[1];
}

/* --- Transfers, and what they carry --- */

struct io {
	int fd;
	uint8_t *head; /* read or written here; NULL: a body of this seed */
	uint32_t seed;
	size_t bytes, done;
	bool is_over; /* the other end is closed, or both are shut down */
	_Atomic uint32_t blocked_count;
};

/*
 * The body of each seed is another part of these bytes, which look random.  So
 * bytes that are lost, moved or another body's are noticed.
 */
static uint8_t all_bodies[SEEDS + BODY_BYTES_MAX];

static void make_bodies(void)
{
	uint64_t random = 1;

	for (size_t i = 0; i < sizeof(all_bodies); i++)
		all_bodies[i] = (uint8_t)random_below(&random, 256);
}

static const uint8_t *body(uint32_t seed, size_t from)
{
	CHECK_NUMBER(seed, <=, SEEDS);
	return all_bodies + seed + from;
}

/* errno is read by the function that called, on the same kernel thread. */
static enum transfer_need stopped(struct io *io, enum transfer_need need)
{
	if (errno == EAGAIN) {
		atomic_fetch_add(&io->blocked_count, 1);
		return need;
	}
	CHECK(errno == ECONNRESET || errno == EPIPE);
	io->is_over = true;
	return TRANSFER_DONE;
}

static enum transfer_need read_step(void *arg, char *buffer, size_t bytes)
{
	struct io *io = arg;

	CHECK_NUMBER(bytes, ==, BUFFER_BYTES);
	while (io->done < io->bytes) {
		size_t most = io->bytes - io->done;
		ssize_t n =
			recv(io->fd, buffer, most < bytes ? most : bytes, 0);

		if (n < 0)
			return stopped(io, TRANSFER_NEEDS_INPUT);
		if (n == 0) {
			io->is_over = true;
			break;
		}
		if (io->head != NULL)
			memcpy(io->head + io->done, buffer, (size_t)n);
		else
			CHECK(memcmp(buffer, body(io->seed, io->done),
				     (size_t)n) == 0);
		io->done += (size_t)n;
	}
	return TRANSFER_DONE;
}

static enum transfer_need write_step(void *arg, char *buffer, size_t bytes)
{
	struct io *io = arg;

	while (io->done < io->bytes) {
		size_t most = io->bytes - io->done;
		size_t count = most < bytes ? most : bytes;

		memcpy(buffer, body(io->seed, io->done), count);

		ssize_t n = send(io->fd, buffer, count, MSG_NOSIGNAL);

		if (n < 0)
			return stopped(io, TRANSFER_NEEDS_OUTPUT);
		io->done += (size_t)n;
	}
	return TRANSFER_DONE;
}

/* --- Many connections --- */

struct head {
	uint32_t seed, in_bytes, out_bytes;
};

struct connection {
	struct uthreads *owner;
	int ours, theirs;
	struct head head; /* the client's */
	uint32_t request_count;
};

static _Atomic uint32_t ended_count;

static void serve(void *arg)
{
	struct connection *c = arg;
	struct head head;

	CHECK(uthread_self() != NULL);
	for (;;) {
		struct io in = { .fd = c->ours,
				 .head = (uint8_t *)&head,
				 .bytes = sizeof(head) };

		uthread_transfer(c->ours, read_step, &in);
		if (in.is_over)
			break;
		in = (struct io){ .fd = c->ours,
				  .seed = head.seed,
				  .bytes = head.in_bytes };
		uthread_transfer(c->ours, read_step, &in);
		CHECK(!in.is_over);

		struct io out = { .fd = c->ours,
				  .seed = head.seed + 1,
				  .bytes = head.out_bytes };

		uthread_transfer(c->ours, write_step, &out);
		CHECK(!out.is_over);
		CHECK_NUMBER(out.done, ==, out.bytes);
		c->request_count++;
	}
	CHECK_NUMBER(close(c->ours), ==, 0);
	atomic_fetch_add(&ended_count, 1);
}

static void send_all(int fd, const void *bytes, size_t count)
{
	const char *at = bytes;

	while (count > 0) {
		ssize_t n = send(fd, at, count, MSG_NOSIGNAL);

		CHECK_NUMBER(n, >, 0);
		at += n;
		count -= (size_t)n;
	}
}

static void send_body(const struct connection *c, size_t from, size_t to)
{
	send_all(c->theirs, body(c->head.seed, from), to - from);
}

static void receive_body(const struct connection *c, uint8_t *buffer)
{
	size_t bytes = c->head.out_bytes;

	for (size_t i = 0; i < bytes;) {
		ssize_t n = recv(c->theirs, buffer, bytes - i, 0);

		CHECK_NUMBER(n, >, 0);
		CHECK(memcmp(buffer, body(c->head.seed + 1, i), (size_t)n) ==
		      0);
		i += (size_t)n;
	}
}

static void *run_client(void *arg)
{
	struct connection *all = arg;
	uint8_t *buffer = malloc(BODY_BYTES_MAX);
	uint64_t random = (uint64_t)all[0].theirs;

	CHECK(buffer != NULL);
	for (uint32_t r = 0; r < REQUESTS; r++) {
		for (int i = 0; i < CONNECTIONS; i++) {
			struct connection *c = &all[i];

			c->head = (struct head){
				.seed = random_below(&random, SEEDS),
				.in_bytes =
					random_below(&random, BODY_BYTES_MAX),
				.out_bytes =
					random_below(&random, BODY_BYTES_MAX),
			};
			send_all(c->theirs, &c->head, sizeof(c->head));
			send_body(c, 0, c->head.in_bytes / 2);
		}
		for (int i = 0; i < CONNECTIONS; i++)
			send_body(&all[i], all[i].head.in_bytes / 2,
				  all[i].head.in_bytes);
		for (int i = 0; i < CONNECTIONS; i++)
			receive_body(&all[i], buffer);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		CHECK_NUMBER(close(all[i].theirs), ==, 0);
	free(buffer);
	return NULL;
}

static void test_all_bytes_arrive(const struct model *m)
{
	static struct connection all[CLIENTS][CONNECTIONS];
	struct uthreads *u = start(m, CLIENTS * CONNECTIONS);
	pthread_t clients[CLIENTS];

	ended_count = 0;
	for (int i = 0; i < CLIENTS * CONNECTIONS; i++) {
		struct connection *c = &all[i / CONNECTIONS][i % CONNECTIONS];

		*c = (struct connection){ .owner = u };
		open_pair(u, &c->ours, &c->theirs);
		CHECK(uthread_spawn(u, serve, c));
	}
	for (int i = 0; i < CLIENTS; i++)
		CHECK(!pthread_create(&clients[i], NULL, run_client, all[i]));
	for (int i = 0; i < CLIENTS; i++)
		(void)pthread_join(clients[i], NULL);
	while (read_counts(u).thread_count > 0)
		(void)sched_yield();
	CHECK_NUMBER(ended_count, ==, CLIENTS * CONNECTIONS);

	struct uthreads_counts c = read_counts(u);

	CHECK_NUMBER(c.begun_count, ==, CLIENTS * CONNECTIONS);
	CHECK_NUMBER(c.thread_count_max, ==, CLIENTS * CONNECTIONS);
	CHECK_NUMBER(c.ready_count, ==, 0);
	CHECK_NUMBER(c.transferring_count, ==, 0);
	CHECK_NUMBER(c.waiting_count, ==, 0);
	CHECK_NUMBER(c.switch_count, >=, c.begun_count);
	/* Three transfers for each request, and the one that finds the end. */
	CHECK_NUMBER(c.transfer_count, ==,
		     c.begun_count + 3 * CLIENTS * CONNECTIONS * REQUESTS);
	CHECK_NUMBER(c.step_count, >=, c.transfer_count);
	for (int i = 0; i < CLIENTS * CONNECTIONS; i++)
		CHECK_NUMBER(
			all[i / CONNECTIONS][i % CONNECTIONS].request_count, ==,
			REQUESTS);
	uthreads_stop(u);
}

/* --- Waits --- */

struct waiter {
	struct uthread *_Atomic thread;
	_Atomic bool asks;     /* to be woken */
	_Atomic bool is_woken; /* before the wait returned */
	_Atomic uint32_t round_count;
	bool asks_early;             /* the wake-up comes before the wait */
	uint32_t kernel_threads_max; /* 0: not known */
};

static struct waiter waiters[WAITERS];

static void wait_often(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->thread, uthread_self());
	for (uint32_t i = 0; i < atomic_load(&w->round_count); i++) {
		atomic_store(&w->asks, true);
		while (w->asks_early && !atomic_load(&w->is_woken))
			(void)sched_yield();
		uthread_wait();
		CHECK(atomic_exchange(&w->is_woken, false));
		CHECK_NUMBER(uthread_self(), ==, w->thread);
		CHECK(uthread_kernel_thread() < w->kernel_threads_max ||
		      w->kernel_threads_max == 0);
	}
	atomic_fetch_add(&ended_count, 1);
}

/* Wakes those that ask, once for each time. */
static void *wake_them(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;
	uint64_t end_ns = clock_after_ms(ROUNDS_MS);

	while (atomic_load(&ended_count) < WAITERS) {
		bool is_last = clock_now_ns() > end_ns;

		for (uint32_t i = 0; i < WAITERS; i++) {
			struct waiter *w = &waiters[i];

			if (is_last)
				atomic_store(&w->round_count, 1);
			if (!atomic_exchange(&w->asks, false))
				continue;
			if (random_below(&random, 4) == 0)
				(void)sched_yield();
			atomic_store(&w->is_woken, true);
			uthread_wake(w->thread);
		}
		(void)sched_yield();
	}
	return NULL;
}

/* 0: not known. */
static uint32_t kernel_threads_max(const struct model *m)
{
	if (m->model.io == THREADS_IO_SYNC)
		return 0;
	return m->model.mapping == THREADS_N_TO_1 ? 1 : cores_count(cores);
}

static void test_no_wake_up_is_lost(const struct model *m)
{
	struct uthreads *u = start(m, WAITERS);
	static uint64_t seeds[2] = { 1, 2 };
	pthread_t wakers[2];

	ended_count = 0;
	for (int i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){
			.round_count = WAKE_ROUNDS / WAITERS,
			.asks_early = i % 4 == 0,
			.kernel_threads_max = kernel_threads_max(m),
		};
		CHECK(uthread_spawn(u, wait_often, &waiters[i]));
	}
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&wakers[i], NULL, wake_them, &seeds[i]));
	for (int i = 0; i < 2; i++)
		(void)pthread_join(wakers[i], NULL);
	uthreads_stop(u);
	CHECK_NUMBER(ended_count, ==, WAITERS);
}

/* All kernel threads fall asleep in between. */
static void test_wake_up_after_the_wait(const struct model *m)
{
	struct uthreads *u = start(m, 1);
	struct waiter *w = &waiters[0];
	uint64_t end_ns = clock_after_ms(ROUNDS_MS);

	ended_count = 0;
	*w = (struct waiter){ .round_count = WAKE_ROUNDS / 10 };
	CHECK(uthread_spawn(u, wait_often, w));
	for (uint32_t i = 0; i < w->round_count; i++) {
		if (clock_now_ns() > end_ns)
			atomic_store(&w->round_count, i + 1); /* the last */
		while (!atomic_load(&w->asks) ||
		       read_counts(u).waiting_count == 0)
			(void)sched_yield();
		atomic_store(&w->asks, false);
		atomic_store(&w->is_woken, true);
		uthread_wake(w->thread);
	}
	uthreads_stop(u);
	CHECK_NUMBER(ended_count, ==, 1);
}

static void wait_twice(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->thread, uthread_self());
	while (!atomic_load(&w->is_woken))
		(void)sched_yield();
	uthread_wait();
	atomic_store(&w->asks, true);
	uthread_wait();
	atomic_fetch_add(&ended_count, 1);
}

static void test_several_wake_ups_count_as_one(const struct model *m)
{
	struct uthreads *u = start(m, 1);
	struct waiter *w = &waiters[0];

	ended_count = 0;
	*w = (struct waiter){ .is_woken = false };
	CHECK(uthread_spawn(u, wait_twice, w));
	while (atomic_load(&w->thread) == NULL)
		(void)sched_yield();
	for (int i = 0; i < 3; i++)
		uthread_wake(w->thread);
	atomic_store(&w->is_woken, true);
	while (!atomic_load(&w->asks) || read_counts(u).waiting_count == 0)
		(void)sched_yield();
	CHECK_NUMBER(ended_count, ==, 0);
	uthread_wake(w->thread);
	uthreads_stop(u);
	CHECK_NUMBER(ended_count, ==, 1);
}

/* --- Sockets that are shut down --- */

struct one {
	struct uthreads *owner;
	struct io io;
	transfer_fn *step;
};

static void transfer_one(void *arg)
{
	struct one *o = arg;

	uthread_transfer(o->io.fd, o->step, &o->io);
	CHECK_NUMBER(close(o->io.fd), ==, 0);
}

static void test_shut_down_ends_transfer(const struct model *m,
					 transfer_fn *step)
{
	static struct one all[WAITERS];
	struct uthreads *u = start(m, WAITERS);
	int theirs[WAITERS];

	for (int i = 0; i < WAITERS; i++) {
		all[i] = (struct one){ .step = step,
				       .io.bytes = BODY_BYTES_MAX };
		open_pair(u, &all[i].io.fd, &theirs[i]);
		CHECK(uthread_spawn(u, transfer_one, &all[i]));
	}
	while (read_counts(u).transferring_count < WAITERS)
		(void)sched_yield();
	for (int i = 0; i < WAITERS; i++)
		CHECK_NUMBER(shutdown(all[i].io.fd, SHUT_RDWR), ==, 0);
	uthreads_stop(u);
	for (int i = 0; i < WAITERS; i++) {
		CHECK(all[i].io.is_over);
		CHECK_NUMBER(close(theirs[i]), ==, 0);
	}
}

/* --- Limits and the end --- */

static void wait_once(void *arg)
{
	atomic_store((struct uthread * _Atomic *)arg, uthread_self());
	uthread_wait();
	atomic_fetch_add(&ended_count, 1);
}

static void *wake_late(void *arg)
{
	struct uthread *_Atomic *threads = arg;

	for (int i = 0; i < WAITERS; i++)
		uthread_wake(threads[i]);
	return NULL;
}

static void test_limit_and_stop(const struct model *m)
{
	static struct uthread *_Atomic threads[WAITERS + 1];
	struct uthreads *u = start(m, WAITERS);
	pthread_t waker;

	ended_count = 0;
	for (int i = 0; i < WAITERS; i++) {
		threads[i] = NULL;
		CHECK(uthread_spawn(u, wait_once, &threads[i]));
	}
	CHECK(!uthread_spawn(u, wait_once, &threads[WAITERS]));
	CHECK_NUMBER(read_counts(u).begun_count, ==, WAITERS);
	while (read_counts(u).waiting_count < WAITERS)
		(void)sched_yield();
	CHECK(!uthread_spawn(u, wait_once, &threads[WAITERS]));
	uthread_wake(threads[0]);
	/* The ended thread's place is free soon. */
	while (!uthread_spawn(u, wait_once, &threads[0]))
		(void)sched_yield();
	while (ended_count == 0 || read_counts(u).waiting_count < WAITERS)
		(void)sched_yield();
	CHECK(!pthread_create(&waker, NULL, wake_late, threads));
	uthreads_stop(u); /* waits for them */
	CHECK_NUMBER(ended_count, ==, WAITERS + 1);
	(void)pthread_join(waker, NULL);
}

static void spawn_other(void *arg)
{
	struct uthreads *u = arg;

	if (atomic_fetch_add(&ended_count, 1) < WAITERS)
		CHECK(uthread_spawn(u, spawn_other, u));
}

static void test_threads_spawn_threads(const struct model *m)
{
	struct uthreads *u = start(m, WAITERS + 1);

	ended_count = 0;
	CHECK(uthread_spawn(u, spawn_other, u));
	while (ended_count <= WAITERS)
		(void)sched_yield();
	uthreads_stop(u);
	CHECK_NUMBER(ended_count, ==, WAITERS + 1);
}

/* --- The quantum --- */

enum spinning { SPIN_PAUSES, SPIN_YIELDS, SPIN_YIELDS_IN_STEP };

struct spinner {
	_Atomic bool has_begun;
	_Atomic bool *is_over;
	enum spinning how;
};

static enum transfer_need spin_step(void *arg, char *buffer, size_t bytes)
{
	struct spinner *s = arg;

	(void)buffer;
	(void)bytes;
	atomic_store(&s->has_begun, true);
	return atomic_load(s->is_over) ? TRANSFER_DONE : TRANSFER_YIELDS;
}

/* Until another thread has run. */
static void spin(void *arg)
{
	struct spinner *s = arg;

	if (s->how == SPIN_YIELDS_IN_STEP) {
		uthread_transfer(-1, spin_step, s);
		return;
	}
	atomic_store(&s->has_begun, true);
	while (!atomic_load(s->is_over))
		if (s->how == SPIN_YIELDS)
			uthread_yield();
		else if (uthread_should_pause())
			uthread_pause();
}

static void end_spinners(void *arg)
{
	atomic_store((_Atomic bool *)arg, true);
}

/* Enough spinners for all kernel threads; it would hang if they ran on. */
static void test_others_run(const struct model *m, enum spinning how)
{
	static struct spinner spinners[WAITERS];
	static _Atomic bool is_over;
	struct uthreads *u = start(m, WAITERS + 1);
	uint32_t count =
		cores_count(cores) < WAITERS ? cores_count(cores) : WAITERS;

	is_over = false;
	for (uint32_t i = 0; i < count; i++) {
		spinners[i] =
			(struct spinner){ .is_over = &is_over, .how = how };
		CHECK(uthread_spawn(u, spin, &spinners[i]));
	}
	for (uint32_t i = 0; i < count; i++)
		while (!atomic_load(&spinners[i].has_begun))
			(void)sched_yield();
	CHECK(uthread_spawn(u, end_spinners, &is_over));
	while (read_counts(u).thread_count > 0)
		(void)sched_yield();
	CHECK_NUMBER(
		(read_counts(u).preempted_count > 0), ==,
		(m->model.mapping != THREADS_1_TO_1 && how == SPIN_PAUSES));
	CHECK_NUMBER(read_counts(u).transferring_count, ==, 0);
	uthreads_stop(u);
}

struct reader {
	struct io io;
	uint8_t byte;
	_Atomic bool is_over;
};

static void read_byte(void *arg)
{
	struct reader *r = arg;

	uthread_transfer(r->io.fd, read_step, &r->io);
	CHECK_NUMBER(r->byte, ==, 'x');
	atomic_store(&r->is_over, true);
}

/* As before, but what can run is found only by looking at sockets. */
static void test_others_read(const struct model *m, enum spinning how)
{
	static struct spinner spinners[WAITERS];
	static struct reader r;
	struct uthreads *u = start(m, WAITERS + 1);
	uint32_t count =
		cores_count(cores) < WAITERS ? cores_count(cores) : WAITERS;
	int theirs;

	r = (struct reader){ .io = { .head = &r.byte, .bytes = 1 } };
	open_pair(u, &r.io.fd, &theirs);
	CHECK(uthread_spawn(u, read_byte, &r));
	while (read_counts(u).transferring_count == 0)
		(void)sched_yield();
	for (uint32_t i = 0; i < count; i++) {
		spinners[i] =
			(struct spinner){ .is_over = &r.is_over, .how = how };
		CHECK(uthread_spawn(u, spin, &spinners[i]));
	}
	for (uint32_t i = 0; i < count; i++)
		while (!atomic_load(&spinners[i].has_begun))
			(void)sched_yield();
	send_all(theirs, "x", 1);
	uthreads_stop(u);
	CHECK_NUMBER(close(r.io.fd), ==, 0);
	CHECK_NUMBER(close(theirs), ==, 0);
}

static void pause_once(void *arg)
{
	(void)arg;
	uthread_pause();
}

/* A pause that was asked for is one, also if nobody can run any more. */
static void test_a_pause_is_a_pause(const struct model *m)
{
	struct uthreads *u = start(m, 1);

	CHECK(uthread_spawn(u, pause_once, NULL));
	while (read_counts(u).thread_count > 0)
		(void)sched_yield();
	CHECK_NUMBER(read_counts(u).switch_count, ==, 2);
	CHECK_NUMBER(read_counts(u).preempted_count, ==, 1);
	uthreads_stop(u);
}

static void yield_twice(void *arg)
{
	uthread_yield();
	uthreads_read(arg, &before_end);
	uthread_yield();
	uthread_yield();
}

/* A thread that has just come need not yield. */
static void test_yields_cost_little(const struct model *m)
{
	struct uthreads *u = start(m, 1);
	bool is_fibre = m->model.mapping != THREADS_1_TO_1;

	CHECK(uthread_spawn(u, yield_twice, u));
	while (read_counts(u).thread_count > 0)
		(void)sched_yield();
	CHECK_NUMBER(before_end.switch_count, ==, 1);
	CHECK_NUMBER(read_counts(u).switch_count, ==, (is_fibre ? 3 : 1));
	uthreads_stop(u);
}

/* --- Switches of a transfer --- */

enum { DRIBBLES = 200, DRIBBLE_BYTES = 1000 };

static void read_dribbles(void *arg)
{
	struct one *o = arg;

	uthread_transfer(o->io.fd, read_step, &o->io);
	uthreads_read(o->owner, &before_end);
}

static void test_switches_of_large_transfer(const struct model *m)
{
	struct uthreads *u = start(m, 1);
	struct one o = { .owner = u,
			 .io.seed = 1,
			 .io.bytes = DRIBBLES * DRIBBLE_BYTES };
	int theirs;

	open_pair(u, &o.io.fd, &theirs);
	CHECK(uthread_spawn(u, read_dribbles, &o));
	for (uint32_t i = 0; i < DRIBBLES; i++) {
		/* All was read, and the thread waits again. */
		while (!uthreads_block(u) &&
		       (atomic_load(&o.io.blocked_count) <= i ||
			read_counts(u).transferring_count == 0))
			(void)sched_yield();
		send_all(theirs, body(1, i * DRIBBLE_BYTES), DRIBBLE_BYTES);
	}
	uthreads_stop(u);
	CHECK_NUMBER(o.io.done, ==, o.io.bytes);
	CHECK_NUMBER(before_end.transfer_count, ==, 1);
	if (m->model.io == THREADS_IO_SYNC) {
		CHECK_NUMBER(before_end.switch_count, ==,
			     1); /* the beginning */
	} else if (m->model.transfers == TRANSFERS_BY_SCHEDULER) {
		CHECK_NUMBER(before_end.switch_count, ==, 2);
		CHECK_NUMBER(before_end.step_count, >, DRIBBLES);
	} else {
		CHECK_NUMBER(before_end.switch_count, >, DRIBBLES);
		CHECK_NUMBER(before_end.step_count, ==,
			     before_end.switch_count);
	}
	CHECK_NUMBER(close(o.io.fd), ==, 0);
	CHECK_NUMBER(close(theirs), ==, 0);
}

/* What is there already costs no switch. */
static void test_ready_transfer_needs_no_switch(const struct model *m)
{
	struct uthreads *u = start(m, 1);
	struct one o = { .owner = u, .io.seed = 1, .io.bytes = 3 };
	int theirs;

	open_pair(u, &o.io.fd, &theirs);
	send_all(theirs, body(1, 0), o.io.bytes);
	CHECK(uthread_spawn(u, read_dribbles, &o));
	uthreads_stop(u);
	CHECK_NUMBER(before_end.switch_count, ==, 1);
	CHECK_NUMBER(before_end.step_count, ==, 1);
	CHECK_NUMBER(close(o.io.fd), ==, 0);
	CHECK_NUMBER(close(theirs), ==, 0);
}

/* --- Within a step --- */

struct inside {
	struct uthread *thread, *in_step;
	bool is_second;
	int fd;
};

/* A step does not pause, even after its quantum. */
static enum transfer_need look_inside(void *arg, char *buffer, size_t bytes)
{
	struct inside *i = arg;
	uint64_t end_ns = clock_now_ns() + 3 * quantum_ns;

	(void)bytes;
	i->in_step = uthread_self();
	buffer[0] = 'x';
	while (clock_now_ns() < end_ns)
		CHECK(!uthread_should_pause());
	CHECK_NUMBER(buffer[0], ==, 'x');
	if (i->is_second)
		return TRANSFER_DONE;
	i->is_second = true;
	uthread_wake(i->thread);
	return TRANSFER_NEEDS_OUTPUT; /* ready at once */
}

static void transfer_inside(void *arg)
{
	struct inside *i = arg;

	i->thread = uthread_self();
	uthread_transfer(i->fd, look_inside, i);
	CHECK_NUMBER(i->in_step, ==, uthread_self());
	CHECK(i->is_second);
	uthread_wait(); /* was woken by the step */
	atomic_fetch_add(&ended_count, 1);
}

static void test_steps(const struct model *m)
{
	static struct inside all[4];
	struct uthreads *u = start(m, 4);
	int theirs[4];

	ended_count = 0;
	for (int i = 0; i < 4; i++) {
		all[i] = (struct inside){ .is_second = false };
		open_pair(u, &all[i].fd, &theirs[i]);
		CHECK(uthread_spawn(u, transfer_inside, &all[i]));
	}
	uthreads_stop(u);
	CHECK_NUMBER(ended_count, ==, 4);
	for (int i = 0; i < 4; i++)
		CHECK(close(all[i].fd) == 0 && close(theirs[i]) == 0);
}

static void test_model(const struct model *m)
{
	(void)fprintf(stderr, "%s\n", m->name);
	uthreads_stop(start(m, 1));
	test_all_bytes_arrive(m);
	test_no_wake_up_is_lost(m);
	test_wake_up_after_the_wait(m);
	test_several_wake_ups_count_as_one(m);
	test_shut_down_ends_transfer(m, read_step);
	test_shut_down_ends_transfer(m, write_step);
	test_limit_and_stop(m);
	test_threads_spawn_threads(m);
	for (enum spinning how = 0; how <= SPIN_YIELDS_IN_STEP; how++) {
		test_others_run(m, how);
		test_others_read(m, how);
	}
	if (m->model.mapping != THREADS_1_TO_1)
		test_a_pause_is_a_pause(m);
	test_yields_cost_little(m);
	test_switches_of_large_transfer(m);
	test_ready_transfer_needs_no_switch(m);
	test_steps(m);
}

/* --- The sandbox of the program, which it enters after the start --- */

static void test_in_sandbox(void)
{
	static struct connection all[ARRAY_SIZE(models)][CONNECTIONS];
	static const char *const no_folders[] = { NULL };
	struct uthreads *sets[ARRAY_SIZE(models)];
	struct sandbox sandbox;

	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		sets[i] = start(&models[i], CONNECTIONS);
		for (int j = 0; j < CONNECTIONS; j++) {
			struct connection *c = &all[i][j];

			*c = (struct connection){ .owner = sets[i] };
			open_pair(sets[i], &c->ours, &c->theirs);
		}
	}
	sandbox_enter(&sandbox, no_folders, false);
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		/* They make kernel threads where the model wants more. */
		for (int j = 0; j < CONNECTIONS; j++)
			CHECK(uthread_spawn(sets[i], serve, &all[i][j]));
		while (read_counts(sets[i]).transferring_count < CONNECTIONS)
			(void)sched_yield();
		(void)run_client(all[i]);
		uthreads_stop(sets[i]);
		for (int j = 0; j < CONNECTIONS; j++)
			CHECK_NUMBER(all[i][j].request_count, ==, REQUESTS);
	}
}

int main(void)
{
	struct error why;

	watchdog_start();
	make_bodies();
	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	CHECK(!uthread_should_pause());
	CHECK_NUMBER(uthread_kernel_thread(), ==, UINT32_MAX);
	CHECK(uthread_self() == NULL);
	uthreads_stop(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		test_model(&models[i]);
	test_in_sandbox(); /* it cannot be left */
	cores_free(cores);
	return 0;
}
