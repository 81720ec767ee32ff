/* SPDX-License-Identifier: MIT */
/*
 * Why one thread accepts for all:
 *
 * - If all I/O threads wait for one listening socket, as in libmicrohttpd's
 *   thread pool, the kernel wakes all of them for each connection, and the
 *   first ones take nearly all: of 64 connections, two of four threads had 61.
 *   The pool also divides the limit of connections among its threads, and its
 *   version 0.9.75 may abort the program when it stops listening under load.
 * - With a listening socket for each (SO_REUSEPORT), the kernel chooses by a
 *   hash, without regard to how many connections a thread has or may have.
 *   Then a client can wait although there is room, and another process can
 *   listen at the same port without an error.
 *
 * The connections of an I/O thread are those that were given to it and are
 * neither over nor lost (see acceptor_give_fn).  A loss is not reported.  But
 * connections begin in the order in which they were given, so when one begins,
 * all those given before it have begun or were lost.
 */
#include "service/http/connection/acceptor.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FULL_LOOK_MS = 5 }; /* time between two checks for room */

/* All counts since the start, modulo 2^32. */
struct io_load {
	uint32_t given_count;           /* used by the acceptor's thread */
	_Atomic uint32_t settled_count; /* of these: have begun or were lost */
	_Atomic uint32_t begun_count;
	_Atomic uint32_t ended_count;
};

struct acceptor {
	struct acceptor_config config;
	int wake_fd;
	pthread_t thread;
	bool is_running; /* used by the thread that starts and stops it */
	_Atomic bool stopping;
	uint32_t last; /* the I/O thread that got the last connection */
	struct io_load loads[ACCEPTOR_THREADS_MAX];
	/*
	 * By descriptor: given_count of the I/O thread, this connection
	 * included.
	 */
	_Atomic uint32_t orders[ACCEPTOR_FDS];
};

/*
 * The reads are in this order because acceptor_begin() counts a connection as
 * begun before it counts it as settled.  So the result may be too high for a
 * moment, but never too low.
 */
static uint32_t connections_of(struct io_load *l)
{
	uint32_t coming = l->given_count - atomic_load(&l->settled_count);
	uint32_t begun = atomic_load(&l->begun_count);

	return coming + begun - atomic_load(&l->ended_count);
}

/*
 * The I/O thread with the fewest connections; if several have the fewest, the
 * next of them in turn.  False: there are connections_max already.
 */
static bool find_thread(struct acceptor *a, uint32_t *thread)
{
	uint32_t count = a->config.thread_count;
	uint32_t total = 0, fewest = UINT32_MAX;

	for (uint32_t n = 1; n <= count; n++) {
		uint32_t i = (a->last + n) % count;
		uint32_t connections = connections_of(&a->loads[i]);

		total += connections;
		if (connections < fewest) {
			fewest = connections;
			*thread = i;
		}
	}
	return total < a->config.connections_max;
}

static void give_connection(struct acceptor *a, uint32_t thread, int fd,
			    const struct sockaddr *from, socklen_t bytes)
{
	struct io_load *l = &a->loads[thread];

	if (fd >= ACCEPTOR_FDS) {
		(void)close(fd);
		return;
	}
	a->last = thread;
	l->given_count++;
	atomic_store(&a->orders[fd], l->given_count);
	if (!a->config.give(a->config.arg, thread, fd, from, bytes))
		l->given_count--;
}

/*
 * True: try again at once; there may be more clients.  *has_room becomes false
 * if the system has no descriptor or no memory for the client that waits.
 */
static bool accept_one(struct acceptor *a, uint32_t thread, bool *has_room)
{
	struct sockaddr_storage from = { 0 };
	socklen_t bytes = sizeof(from);
	int fd = accept4(a->config.fd, (struct sockaddr *)&from, &bytes,
			 SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		*has_room = errno == EAGAIN;
		return errno == EINTR || errno == ECONNABORTED;
	}
	give_connection(a, thread, fd, (struct sockaddr *)&from, bytes);
	return true;
}

static void *run_acceptor(void *arg)
{
	struct acceptor *a = arg;

	(void)pthread_setname_np(pthread_self(), "acceptor");
	while (!atomic_load(&a->stopping)) {
		uint32_t thread = 0;
		bool has_room = find_thread(a, &thread);
		struct pollfd fds[] = {
			{ .fd = a->wake_fd, .events = POLLIN },
			{ .fd = a->config.fd, .events = POLLIN },
		};

		if (has_room && accept_one(a, thread, &has_room))
			continue;
		(void)poll(fds, has_room ? 2 : 1, has_room ? -1 : FULL_LOOK_MS);
	}
	return NULL;
}

struct acceptor *acceptor_new(const struct acceptor_config *config)
{
	struct acceptor *a = calloc(1, sizeof(*a));

	assert(config->thread_count >= 1 &&
	       config->thread_count <= ACCEPTOR_THREADS_MAX);
	if (a == NULL) {
		(void)close(config->fd);
		return NULL;
	}
	a->config = *config;
	a->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake_fd >= 0)
		return a;
	acceptor_stop(a);
	free(a);
	return NULL;
}

bool acceptor_start(struct acceptor *a)
{
	a->is_running = pthread_create(&a->thread, NULL, run_acceptor, a) == 0;
	return a->is_running;
}

void acceptor_begin(struct acceptor *a, uint32_t thread, int fd)
{
	struct io_load *l = &a->loads[thread];

	assert(fd >= 0 && fd < ACCEPTOR_FDS);
	atomic_fetch_add(&l->begun_count, 1);
	atomic_store(&l->settled_count, atomic_load(&a->orders[fd]));
}

void acceptor_end(struct acceptor *a, uint32_t thread)
{
	atomic_fetch_add(&a->loads[thread].ended_count, 1);
}

void acceptor_stop(struct acceptor *a)
{
	const uint64_t one = 1;

	if (a == NULL || a->config.fd < 0)
		return;
	if (a->is_running) {
		atomic_store(&a->stopping, true);
		(void)!write(a->wake_fd, &one, sizeof(one));
		(void)pthread_join(a->thread, NULL);
	}
	(void)close(a->config.fd);
	a->config.fd = -1;
}

void acceptor_free(struct acceptor *a)
{
	if (a == NULL)
		return;
	assert(a->config.fd < 0);
	(void)close(a->wake_fd);
	free(a);
}
