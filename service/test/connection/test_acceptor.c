/* SPDX-License-Identifier: MIT */
/*
 * Promises: each connection goes to the I/O thread that has the fewest; there
 * are never more than connections_max, and the next one is accepted when one
 * has ended; connections that were refused or lost do not count; without a free
 * descriptor a client waits, and the acceptor sleeps meanwhile; nothing is
 * accepted after the stop.
 *
 * The test plays the I/O threads: it begins and ends connections itself.
 */
#include "service/http/connection/acceptor.h"

#include "base/test/check.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, CLIENTS_MAX = 64, QUIET_MS = 100 };

/* The connections that the acceptor has given to I/O threads. */
struct gifts {
	pthread_mutex_t lock;
	pthread_cond_t more;
	uint32_t count;
	struct gift {
		uint32_t thread;
		int fd;
	} list[CLIENTS_MAX];
	bool refuses;
	uint32_t refused_count;
};

struct fixture {
	struct gifts gifts;
	struct acceptor *acceptor;
	struct sockaddr_in at;
	int clients[CLIENTS_MAX];
	uint32_t client_count;
};

/* An acceptor_give_fn. */
static bool give(void *arg, uint32_t thread, int fd,
		 const struct sockaddr *from, socklen_t bytes)
{
	struct gifts *g = arg;
	bool is_taken;

	CHECK_NUMBER(from->sa_family, ==, AF_INET);
	CHECK_NUMBER(bytes, ==, sizeof(struct sockaddr_in));
	(void)pthread_mutex_lock(&g->lock);
	is_taken = !g->refuses;
	if (is_taken)
		g->list[g->count++] = (struct gift){ thread, fd };
	else
		g->refused_count++;
	(void)pthread_cond_signal(&g->more);
	(void)pthread_mutex_unlock(&g->lock);
	if (!is_taken)
		(void)close(fd);
	return is_taken;
}

static void begin(struct fixture *f, uint32_t connections_max)
{
	socklen_t bytes = sizeof(f->at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*f = (struct fixture){ .gifts = { PTHREAD_MUTEX_INITIALIZER,
					  PTHREAD_COND_INITIALIZER } };
	f->at.sin_family = AF_INET;
	f->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_NUMBER(bind(fd, (struct sockaddr *)&f->at, bytes), ==, 0);
	CHECK_NUMBER(listen(fd, CLIENTS_MAX), ==, 0);
	CHECK_NUMBER(getsockname(fd, (struct sockaddr *)&f->at, &bytes), ==, 0);
	f->acceptor = acceptor_new(&(struct acceptor_config){
		.fd = fd,
		.thread_count = THREADS,
		.connections_max = connections_max,
		.give = give,
		.arg = &f->gifts,
	});
	CHECK(f->acceptor != NULL);
	CHECK(acceptor_start(f->acceptor));
}

static void end(struct fixture *f)
{
	acceptor_stop(f->acceptor);
	acceptor_stop(f->acceptor);
	acceptor_free(f->acceptor);
	for (uint32_t i = 0; i < f->client_count; i++)
		(void)close(f->clients[i]);
}

static void connect_clients(struct fixture *f, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		CHECK_NUMBER(
			connect(fd, (struct sockaddr *)&f->at, sizeof(f->at)),
			==, 0);
		f->clients[f->client_count++] = fd;
	}
}

static void wait_for(struct fixture *f, const uint32_t *counter, uint32_t count)
{
	struct gifts *g = &f->gifts;

	(void)pthread_mutex_lock(&g->lock);
	while (*counter < count)
		(void)pthread_cond_wait(&g->more, &g->lock);
	CHECK_NUMBER(*counter, ==, count);
	(void)pthread_mutex_unlock(&g->lock);
}

/* Exactly `count` connections were given away, and no more follow. */
static void expect_given(struct fixture *f, uint32_t count)
{
	wait_for(f, &f->gifts.count, count);
	(void)poll(NULL, 0, QUIET_MS);
	wait_for(f, &f->gifts.count, count);
}

static void begin_gift(struct fixture *f, uint32_t i)
{
	const struct gift *g = &f->gifts.list[i];

	acceptor_begin(f->acceptor, g->thread, g->fd);
}

static void end_gift(struct fixture *f, uint32_t i)
{
	const struct gift *g = &f->gifts.list[i];

	(void)close(g->fd);
	acceptor_end(f->acceptor, g->thread);
}

/* Count the connections of each I/O thread, from number `first` on. */
static void count_each(const struct fixture *f, uint32_t first,
		       uint32_t counts[THREADS])
{
	for (uint32_t i = 0; i < THREADS; i++)
		counts[i] = 0;
	for (uint32_t i = first; i < f->gifts.count; i++)
		counts[f->gifts.list[i].thread]++;
}

static void test_all_threads_get_as_many(void)
{
	struct fixture f;
	uint32_t counts[THREADS];

	begin(&f, CLIENTS_MAX);
	connect_clients(&f, 40);
	expect_given(&f, 40);
	count_each(&f, 0, counts);
	for (uint32_t i = 0; i < THREADS; i++)
		CHECK_NUMBER(counts[i], ==, 40 / THREADS);
	end(&f);
}

static void test_the_thread_with_the_fewest_gets_the_next(void)
{
	struct fixture f;
	uint32_t counts[THREADS];

	begin(&f, CLIENTS_MAX);
	connect_clients(&f, 20);
	expect_given(&f, 20);
	for (uint32_t i = 0; i < 20; i++)
		begin_gift(&f, i);
	for (uint32_t i = 0; i < 20; i++)
		if (f.gifts.list[i].thread == 2)
			end_gift(&f, i);
	connect_clients(&f, 5);
	expect_given(&f, 25);
	count_each(&f, 20, counts);
	CHECK_NUMBER(counts[2], ==, 5);
	end(&f);
}

static void test_a_full_server_lets_clients_wait(void)
{
	struct fixture f;

	begin(&f, 6);
	connect_clients(&f, 9);
	expect_given(&f, 6);
	for (uint32_t i = 0; i < 6; i++)
		begin_gift(&f, i);
	expect_given(&f, 6);
	end_gift(&f, 3);
	expect_given(&f, 7);
	begin_gift(&f, 6);
	end_gift(&f, 6);
	end_gift(&f, 0);
	expect_given(&f, 9);
	end(&f);
}

static void test_refused_ones_take_no_room(void)
{
	struct fixture f;

	begin(&f, 2);
	f.gifts.refuses = true;
	connect_clients(&f, 10);
	wait_for(&f, &f.gifts.refused_count, 10);
	(void)pthread_mutex_lock(&f.gifts.lock);
	f.gifts.refuses = false;
	(void)pthread_mutex_unlock(&f.gifts.lock);
	connect_clients(&f, 3);
	expect_given(&f, 2);
	end(&f);
}

/* The first connection of each thread is lost, and the second one begins. */
static void test_lost_ones_take_no_room_for_long(void)
{
	struct fixture f;

	begin(&f, 2 * THREADS);
	connect_clients(&f, 3 * THREADS);
	expect_given(&f, 2 * THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		(void)close(f.gifts.list[i].fd);
	for (uint32_t i = THREADS; i < 2 * THREADS; i++)
		begin_gift(&f, i);
	expect_given(&f, 3 * THREADS);
	end(&f);
}

static void test_nothing_is_accepted_after_the_stop(void)
{
	struct fixture f;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	begin(&f, CLIENTS_MAX);
	connect_clients(&f, 3);
	expect_given(&f, 3);
	acceptor_stop(f.acceptor);
	CHECK_NUMBER(connect(fd, (struct sockaddr *)&f.at, sizeof(f.at)), !=,
		     0);
	for (uint32_t i = 0; i < 3; i++)
		begin_gift(&f, i);
	for (uint32_t i = 0; i < 3; i++)
		end_gift(&f, i);
	(void)close(fd);
	end(&f);
}

static void test_client_waits_for_a_descriptor(void)
{
	struct fixture f;
	struct rlimit before, none;
	clock_t used;

	begin(&f, CLIENTS_MAX);
	CHECK_NUMBER(getrlimit(RLIMIT_NOFILE, &before), ==, 0);
	none = before;
	none.rlim_cur = 3; /* the client's socket exists already */
	f.clients[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	f.client_count = 1;
	CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &none), ==, 0);
	CHECK_NUMBER(
		connect(f.clients[0], (struct sockaddr *)&f.at, sizeof(f.at)),
		==, 0);
	used = clock();
	(void)poll(NULL, 0, QUIET_MS);
	used = clock() - used;
	CHECK_NUMBER(used, <, CLOCKS_PER_SEC * QUIET_MS / 10000);
	CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &before), ==, 0);
	expect_given(&f, 1);
	begin_gift(&f, 0);
	end_gift(&f, 0);
	end(&f);
}

int main(void)
{
	test_all_threads_get_as_many();
	test_the_thread_with_the_fewest_gets_the_next();
	test_a_full_server_lets_clients_wait();
	test_refused_ones_take_no_room();
	test_lost_ones_take_no_room_for_long();
	test_nothing_is_accepted_after_the_stop();
	test_client_waits_for_a_descriptor();
	return 0;
}
