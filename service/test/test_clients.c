/* SPDX-License-Identifier: MIT */
/*
 * Promises: a client that is over its time in a phase is shut down, with a word
 * where it did not get its request out; one that we keep waiting is not, nor
 * one that moves enough bytes; for one too many, the one longest in its phase
 * goes, but never one whose request is being worked on.
 *
 * The sockets are real, as it is the kernel that counts bytes.  Times are short
 * where something has to end, and an hour where nothing may.
 */
#include "service/http/clients.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SHORT_MS = 50, HOUR_MS = 3600000, WAIT_MS = 60000 };

static const struct clients_config patient = {
	.open_max = 16,
	.places = 17,
	.head_ms = HOUR_MS,
	.idle_ms = HOUR_MS,
	.rate_min = 1000000,
	.window_ms = HOUR_MS,
	.too_slow = "too slow",
};

/* A connection: the server's end, which is watched, and the client's. */
struct pair {
	int ours, theirs;
	struct client *client;
};

static void connect_pair(struct pair *p, struct clients *t)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert(bind(listening, (struct sockaddr *)&at, bytes) == 0);
	assert(listen(listening, 1) == 0);
	assert(getsockname(listening, (struct sockaddr *)&at, &bytes) == 0);
	p->theirs = socket(AF_INET, SOCK_STREAM, 0);
	assert(connect(p->theirs, (struct sockaddr *)&at, bytes) == 0);
	p->ours = accept(listening, NULL, NULL);
	assert(p->ours >= 0);
	(void)close(listening);
	p->client = client_add(t, p->ours, true);
}

static void close_pair(const struct pair *p)
{
	client_remove(p->client);
	(void)close(p->ours);
	(void)close(p->theirs);
}

/* Is our end shut down, within `ms`? */
static bool is_shut(const struct pair *p, int ms)
{
	struct pollfd end = { .fd = p->ours, .events = POLLRDHUP };

	return poll(&end, 1, ms) > 0;
}

static void check_reads(const struct pair *p, const char *text)
{
	char got[64];
	ssize_t bytes = recv(p->theirs, got, sizeof(got), MSG_WAITALL);

	assert(bytes == (ssize_t)strlen(text));
	assert(memcmp(got, text, strlen(text)) == 0);
}

/* What is written until the peer takes no more. */
static void fill(const struct pair *p)
{
	static const char zeros[65536];

	while (send(p->ours, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
		;
	assert(errno == EAGAIN);
}

/* A client that says nothing in its first phase is told nothing either. */
static void test_each_phase_ends(void)
{
	struct clients_config config = patient;
	struct pair silent, head, body, idle, working;

	config.head_ms = config.idle_ms = config.window_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&working, t);
	client_enter(working.client, CLIENT_WORK);
	connect_pair(&silent, t);
	connect_pair(&head, t);
	client_enter(head.client, CLIENT_HEAD);
	connect_pair(&body, t);
	client_enter(body.client, CLIENT_BODY);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	check_reads(&head, "too slow");
	check_reads(&body, "too slow");
	check_reads(&silent, "");
	assert(is_shut(&idle, WAIT_MS) && !is_shut(&working, 0));
	close_pair(&silent);
	close_pair(&head);
	close_pair(&body);
	close_pair(&idle);
	close_pair(&working);
	clients_stop(t);
}

/* Also while the watch sleeps for a longer time. */
static void test_no_limit_is_no_limit(void)
{
	struct clients_config config = patient;
	struct pair a, b, c;

	config.head_ms = config.idle_ms = 0;
	config.rate_min = 0;
	config.window_ms = 1;

	struct clients *t = clients_start(&config);

	connect_pair(&a, t);
	connect_pair(&b, t);
	client_enter(b.client, CLIENT_IDLE);
	connect_pair(&c, t);
	client_enter(c.client, CLIENT_BODY);
	assert(!is_shut(&a, 10 * SHORT_MS));
	assert(!is_shut(&b, 0) && !is_shut(&c, 0));
	close_pair(&a);
	close_pair(&b);
	close_pair(&c);
	clients_stop(t);
}

/* Its request waits for us, however long that takes; and is answered. */
static void test_unread_bytes_are_our_fault(void)
{
	struct clients_config config = patient;
	struct pair p;
	char byte;

	config.idle_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	assert(write(p.theirs, "x", 1) == 1);
	client_enter(p.client, CLIENT_IDLE);
	assert(!is_shut(&p, 20 * SHORT_MS));
	assert(read(p.ours, &byte, 1) == 1);
	client_enter(p.client, CLIENT_WORK);
	assert(!is_shut(&p, 20 * SHORT_MS));
	client_enter(p.client, CLIENT_IDLE);
	assert(is_shut(&p, WAIT_MS));
	/* What crossed the end on its way still gets its answer. */
	client_enter(p.client, CLIENT_HEAD);
	client_enter(p.client, CLIENT_REPLY);
	assert(write(p.ours, "answer", 6) == 6);
	client_enter(p.client, CLIENT_IDLE);
	assert(shutdown(p.ours, SHUT_WR) == 0);
	check_reads(&p, "answer");
	close_pair(&p);
	clients_stop(t);
}

/* Nothing is written: not the client's fault.  Nothing is read: it is. */
static void test_who_reads_nothing_is_reset(void)
{
	struct clients_config config = patient;
	struct pair lazy, waiting;
	char byte;

	config.window_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&lazy, t);
	connect_pair(&waiting, t);
	client_enter(waiting.client, CLIENT_REPLY);
	fill(&lazy);
	client_enter(lazy.client, CLIENT_REPLY);
	assert(is_shut(&lazy, WAIT_MS) && !is_shut(&waiting, 0));
	client_remove(lazy.client);
	(void)close(lazy.ours);
	while (recv(lazy.theirs, &byte, 1, 0) > 0)
		;
	assert(errno == ECONNRESET);
	(void)close(lazy.theirs);
	close_pair(&waiting);
	clients_stop(t);
}

/*
 * A stream without an end is shut when nothing of it was read for the time of
 * an idle client, and for a new client only if it is behind.
 */
static void test_a_stream_goes_on_while_it_is_read(void)
{
	struct clients_config config = patient;
	struct pair lazy, reading, more;

	config.idle_ms = SHORT_MS;
	config.open_max = 2;
	config.places = 3;

	struct clients *t = clients_start(&config);

	connect_pair(&reading, t);
	client_enter(reading.client, CLIENT_STREAM);
	connect_pair(&lazy, t);
	fill(&lazy);
	client_enter(lazy.client, CLIENT_STREAM);
	assert(is_shut(&lazy, WAIT_MS) && !is_shut(&reading, 0));
	close_pair(&lazy);
	connect_pair(&lazy, t);
	client_enter(lazy.client, CLIENT_STREAM);
	connect_pair(&more, t);
	assert(!is_shut(&reading, 0) && !is_shut(&lazy, 0));
	close_pair(&lazy);
	close_pair(&more);
	close_pair(&reading);
	clients_stop(t);
}

/* A body that takes many windows goes on, until no more comes. */
static void test_a_steady_body_goes_on(void)
{
	struct clients_config config = patient;
	struct pair p;
	char byte;

	/* One byte in a window will do, so that the sender may be starved. */
	config.window_ms = 4 * SHORT_MS;
	config.rate_min = 1000 / config.window_ms;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	client_enter(p.client, CLIENT_BODY);
	for (int i = 0; i < 20 * SHORT_MS; i++) {
		assert(write(p.theirs, "x", 1) == 1);
		assert(read(p.ours, &byte, 1) == 1);
		assert(!is_shut(&p, 1)); /* while nothing is there to read */
	}
	assert(is_shut(&p, WAIT_MS));
	close_pair(&p);
	clients_stop(t);
}

/* Behind its time a body goes on while anything moves, at no rate at all. */
static void test_a_silent_body_ends_in_time(void)
{
	struct clients_config config = patient;
	struct pair silent, moving;

	config.rate_min = 0;
	config.body_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&moving, t);
	client_enter(moving.client, CLIENT_BODY);
	connect_pair(&silent, t);
	client_enter(silent.client, CLIENT_BODY);
	while (!is_shut(&silent, 1)) {
		char byte = 'x';

		assert(write(moving.theirs, &byte, 1) == 1);
		assert(read(moving.ours, &byte, 1) == 1);
	}
	assert(!is_shut(&moving, 0));
	check_reads(&silent, "too slow");
	assert(is_shut(&moving, WAIT_MS));
	close_pair(&silent);
	close_pair(&moving);
	clients_stop(t);
}

static void test_the_slowest_goes_for_a_new_one(void)
{
	struct clients_config config = patient;
	struct pair working, asked, idle, young, last;

	config.open_max = 3;
	config.places = 4;

	struct clients *t = clients_start(&config);

	connect_pair(&working, t);
	client_enter(working.client, CLIENT_WORK);
	connect_pair(&asked, t);
	client_enter(asked.client, CLIENT_IDLE);
	assert(write(asked.theirs, "x", 1) == 1);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&young, t);
	assert(is_shut(&idle, WAIT_MS));
	assert(!is_shut(&working, 0) && !is_shut(&asked, 0));
	assert(!is_shut(&young, 0));
	close_pair(&idle);

	/* All have work: one more comes in, until one has none. */
	client_enter(asked.client, CLIENT_WORK);
	client_enter(young.client, CLIENT_WORK);
	connect_pair(&last, t);
	assert(!is_shut(&young, 0) && !is_shut(&last, 0));
	client_enter(asked.client, CLIENT_REPLY);
	client_enter(working.client, CLIENT_IDLE);
	assert(is_shut(&last, WAIT_MS));
	assert(!is_shut(&working, 0) && !is_shut(&asked, 0));
	close_pair(&last);
	close_pair(&young);
	close_pair(&asked);
	close_pair(&working);
	clients_stop(t);
}

static void test_requests_are_counted(void)
{
	struct clients *t = clients_start(&patient);
	struct pair p;

	connect_pair(&p, t);
	assert(client_request_count(p.client) == 0);
	client_enter(p.client, CLIENT_HEAD);
	client_enter(p.client, CLIENT_BODY);
	client_enter(p.client, CLIENT_IDLE);
	client_enter(p.client, CLIENT_HEAD);
	assert(client_request_count(p.client) == 2);
	close_pair(&p);
	clients_stop(t);
	clients_stop(NULL);
}

int main(void)
{
	test_each_phase_ends();
	test_no_limit_is_no_limit();
	test_unread_bytes_are_our_fault();
	test_who_reads_nothing_is_reset();
	test_a_stream_goes_on_while_it_is_read();
	test_a_steady_body_goes_on();
	test_a_silent_body_ends_in_time();
	test_the_slowest_goes_for_a_new_one();
	test_requests_are_counted();
	return 0;
}
