/* SPDX-License-Identifier: MIT */
/*
 * Promises: a client that exceeds its time in a phase is shut down, with a
 * message if its request was not complete; a client that waits for us is not,
 * nor is one that moves enough bytes.  If there is one connection too many, a
 * client that never sent a byte is closed first, then one of the address with
 * the most connections; but never one that makes progress or whose request is
 * being worked on.  Of those that have just come, those of a flood are closed,
 * whatever they send.  The connections of one address are limited.  A request
 * that is held continues when it is its turn.  A long body wakes its thread for
 * many bytes at once, and nobody waits for bytes that do not come.
 *
 * The sockets are real, because the kernel counts the bytes.  Times are short
 * where something has to end, and an hour where nothing may.
 */
#include "service/http/connection/clients.h"
#include "service/http/transport.h"

#include "base/clock.h"
#include "base/test/check.h"
#include "base/util.h"

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SHORT_MS = 50, HOUR_MS = 3600000, WAIT_MS = 60000 };
enum { BODY_BYTES = 1000000 };

static const struct clients_config patient = {
	.open_max = 16,
	.slots = 17,
	.head_ms = HOUR_MS,
	.idle_ms = HOUR_MS,
	.rate_min = 1000000,
	.window_ms = HOUR_MS,
	.refusals = { [CLIENT_TOO_SLOW] = "too slow",
		      [CLIENT_STOPPING] = "stopping" },
};

/* A connection: the server's end, which is watched, and the client's end. */
struct pair {
	int ours, theirs;
	struct client *client;
};

static void read_from(struct sockaddr_storage *from, const char *text)
{
	struct sockaddr_in *four = (struct sockaddr_in *)from;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)from;

	*from = (struct sockaddr_storage){ .ss_family = AF_INET };
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
		return;
	from->ss_family = AF_INET6;
	CHECK_NUMBER(inet_pton(AF_INET6, text, &six->sin6_addr), ==, 1);
}

/* Connect, as if from this address. */
static void connect_as(struct pair *p, struct clients *t,
		       const struct sockaddr *from)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_NUMBER(bind(listening, (struct sockaddr *)&at, bytes), ==, 0);
	CHECK_NUMBER(listen(listening, 1), ==, 0);
	CHECK_NUMBER(getsockname(listening, (struct sockaddr *)&at, &bytes), ==,
		     0);
	p->theirs = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_NUMBER(connect(p->theirs, (struct sockaddr *)&at, bytes), ==, 0);
	p->ours = accept(listening, NULL, NULL);
	CHECK_NUMBER(p->ours, >=, 0);
	(void)close(listening);
	p->client = client_add(t, p->ours, from, true);
}

/* Connect, as if from the address `text`. */
static void connect_from(struct pair *p, struct clients *t, const char *text)
{
	struct sockaddr_storage from;

	read_from(&from, text);
	connect_as(p, t, (struct sockaddr *)&from);
}

static void connect_pair(struct pair *p, struct clients *t)
{
	connect_from(p, t, "127.0.0.1");
}

static void close_pair(const struct pair *p)
{
	client_remove(p->client);
	(void)close(p->ours);
	(void)close(p->theirs);
}

/* Is our end shut down within `ms`? */
static bool is_shut(const struct pair *p, int ms)
{
	struct pollfd end = { .fd = p->ours, .events = POLLRDHUP };

	return poll(&end, 1, ms) > 0;
}

/* How regularly a test does something, on a machine that may be busy. */
struct rhythm {
	uint64_t last_ns, gap_ns_max;
};

static void rhythm_beat(struct rhythm *r)
{
	uint64_t now_ns = clock_now_ns();

	if (r->last_ns > 0 && now_ns - r->last_ns > r->gap_ns_max)
		r->gap_ns_max = now_ns - r->last_ns;
	r->last_ns = now_ns;
}

/* Was a whole period of `ms` perhaps without a beat? */
static bool rhythm_missed(struct rhythm *r, uint32_t ms)
{
	rhythm_beat(r);
	return r->gap_ns_max > ms * NS_PER_MS / 2;
}

static void check_reads(const struct pair *p, const char *text)
{
	char got[64];
	ssize_t bytes = recv(p->theirs, got, sizeof(got), MSG_WAITALL);

	CHECK_NUMBER(bytes, ==, (ssize_t)strlen(text));
	CHECK(memcmp(got, text, strlen(text)) == 0);
}

/* Write until the peer's buffers are full. */
static void fill(const struct pair *p)
{
	static const char zeros[65536];

	while (send(p->ours, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
		;
	CHECK_NUMBER(errno, ==, EAGAIN);
}

/*
 * A client that sends nothing in its first phase is shut down without a
 * message.
 */
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
	CHECK(is_shut(&idle, WAIT_MS));
	CHECK(!is_shut(&working, 0));
	close_pair(&silent);
	close_pair(&head);
	close_pair(&body);
	close_pair(&idle);
	close_pair(&working);
	clients_stop(t);
}

/* Without limits no client is shut down. */
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
	CHECK(!is_shut(&a, 10 * SHORT_MS));
	CHECK(!is_shut(&b, 0));
	CHECK(!is_shut(&c, 0));
	close_pair(&a);
	close_pair(&b);
	close_pair(&c);
	clients_stop(t);
}

/*
 * A client whose request waits for us is never shut down; its request is
 * answered.
 */
static void test_unread_bytes_are_our_fault(void)
{
	struct clients_config config = patient;
	struct pair p;
	char byte;

	config.idle_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	CHECK_NUMBER(write(p.theirs, "x", 1), ==, 1);
	client_enter(p.client, CLIENT_IDLE);
	CHECK(!is_shut(&p, 20 * SHORT_MS));
	CHECK_NUMBER(read(p.ours, &byte, 1), ==, 1);
	client_enter(p.client, CLIENT_WORK);
	CHECK(!is_shut(&p, 20 * SHORT_MS));
	client_enter(p.client, CLIENT_IDLE);
	CHECK(is_shut(&p, WAIT_MS));
	/*
	 * A request that was on its way at the time of the shutdown still gets
	 * its answer: nobody has closed the connection.
	 */
	CHECK(!client_has_closed(p.ours));
	client_enter(p.client, CLIENT_HEAD);
	client_enter(p.client, CLIENT_REPLY);
	CHECK_NUMBER(write(p.ours, "answer", 6), ==, 6);
	client_enter(p.client, CLIENT_IDLE);
	CHECK_NUMBER(shutdown(p.ours, SHUT_WR), ==, 0);
	check_reads(&p, "answer");
	CHECK_NUMBER(close(p.theirs), ==, 0);
	CHECK(is_shut(&p, WAIT_MS));
	CHECK(client_has_closed(p.ours));
	p.theirs = -1;
	close_pair(&p);
	clients_stop(t);
}

/* Each time somebody looks for bytes, its thread has just received them. */
static _Atomic(struct client *) receiving;

ssize_t __real_recv(int fd, void *to, size_t bytes, int flags);
ssize_t __wrap_recv(int fd, void *to, size_t bytes, int flags);

ssize_t __wrap_recv(int fd, void *to, size_t bytes, int flags)
{
	struct client *c = atomic_load(&receiving);

	if (c != NULL && (flags & MSG_PEEK) != 0)
		client_be_silent(c, false);
	return __real_recv(fd, to, bytes, flags);
}

/*
 * If the thread waits for an idle client, the client is told at once that it is
 * shut down, whenever the thread sees it; unless a request has arrived, perhaps
 * at the same moment.
 */
static void test_a_silent_client_is_told(void)
{
	struct clients_config config = patient;
	struct pair silent, late, taken;
	char byte;

	config.idle_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&silent, t);
	client_enter(silent.client, CLIENT_IDLE);
	client_be_silent(silent.client, true);
	CHECK_NUMBER(recv(silent.theirs, &byte, 1, 0), ==, 0);
	connect_pair(&late, t);
	client_enter(late.client, CLIENT_IDLE);
	client_be_silent(late.client, true);
	client_be_silent(late.client, false);
	CHECK(is_shut(&late, WAIT_MS));
	CHECK_NUMBER(recv(late.theirs, &byte, 1, MSG_DONTWAIT), <, 0);
	connect_pair(&taken, t);
	client_enter(taken.client, CLIENT_IDLE);
	client_be_silent(taken.client, true);
	atomic_store(&receiving, taken.client);
	CHECK(is_shut(&taken, WAIT_MS));
	CHECK(client_is_shut(taken.client));
	CHECK_NUMBER(recv(taken.theirs, &byte, 1, MSG_DONTWAIT), <, 0);
	atomic_store(&receiving, NULL);
	close_pair(&silent);
	close_pair(&late);
	close_pair(&taken);
	clients_stop(t);
}

/*
 * If we write nothing, the client is not at fault.  If it reads nothing, it is.
 */
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
	CHECK(is_shut(&lazy, WAIT_MS));
	CHECK(!is_shut(&waiting, 0));
	client_remove(lazy.client);
	(void)close(lazy.ours);
	while (recv(lazy.theirs, &byte, 1, 0) > 0)
		;
	CHECK_NUMBER(errno, ==, ECONNRESET);
	(void)close(lazy.theirs);
	close_pair(&waiting);
	clients_stop(t);
}

/*
 * Bytes that wait to be read do not help a client that reads nothing: the
 * thread may be waiting to send "100 Continue", or to refuse the next request.
 * Both directions are shut, so that it goes on.
 */
static void test_who_only_sends_is_shut(void)
{
	struct clients_config config = patient;
	struct pair body, idle;

	config.window_ms = config.idle_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&body, t);
	connect_pair(&idle, t);
	fill(&body);
	fill(&idle);
	CHECK_NUMBER(write(body.theirs, "x", 1), ==, 1);
	CHECK_NUMBER(write(idle.theirs, "x", 1), ==, 1);
	client_enter(body.client, CLIENT_BODY);
	client_enter(idle.client, CLIENT_IDLE);
	CHECK(is_shut(&body, WAIT_MS));
	CHECK(is_shut(&idle, WAIT_MS));
	CHECK_NUMBER(send(body.ours, "x", 1, MSG_NOSIGNAL), <, 0);
	CHECK_NUMBER(errno, ==, EPIPE);
	CHECK_NUMBER(send(idle.ours, "x", 1, MSG_NOSIGNAL), <, 0);
	CHECK_NUMBER(errno, ==, EPIPE);
	close_pair(&body);
	close_pair(&idle);
	clients_stop(t);
}

/*
 * A stream without an end is shut when its client has read nothing for the idle
 * time.  To make room for a new client, it is shut only if its own client reads
 * too slowly.
 */
static void test_a_stream_goes_on_while_it_is_read(void)
{
	struct clients_config config = patient;
	struct pair lazy, reading, more;

	config.idle_ms = SHORT_MS;
	config.open_max = 2;
	config.slots = 3;

	struct clients *t = clients_start(&config);

	connect_pair(&reading, t);
	client_enter(reading.client, CLIENT_STREAM);
	connect_pair(&lazy, t);
	fill(&lazy);
	client_enter(lazy.client, CLIENT_STREAM);
	CHECK(is_shut(&lazy, WAIT_MS));
	CHECK(!is_shut(&reading, 0));
	close_pair(&lazy);
	connect_pair(&lazy, t);
	client_enter(lazy.client, CLIENT_STREAM);
	connect_pair(&more, t);
	CHECK(!is_shut(&reading, 0));
	CHECK(!is_shut(&lazy, 0));
	close_pair(&lazy);
	close_pair(&more);
	close_pair(&reading);
	clients_stop(t);
}

/*
 * A body that takes many windows continues until no more bytes arrive.  A busy
 * machine may keep the sender from sending for a whole window.
 */
static void test_a_steady_body_goes_on(void)
{
	struct clients_config config = patient;
	struct rhythm rhythm = { 0 };
	struct pair p;
	char byte;

	/*
	 * One byte in a window is enough, so the test passes even if the sender
	 * gets little CPU time.
	 */
	config.window_ms = 4 * SHORT_MS;
	config.rate_min = 1000 / config.window_ms;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	client_enter(p.client, CLIENT_BODY);
	for (int i = 0; i < 20 * SHORT_MS; i++) {
		CHECK_NUMBER(write(p.theirs, "x", 1), ==, 1);
		CHECK_NUMBER(read(p.ours, &byte, 1), ==, 1);
		rhythm_beat(&rhythm);
		/* While there is nothing to read. */
		if (!is_shut(&p, 1))
			continue;
		CHECK(rhythm_missed(&rhythm, config.window_ms));
		break;
	}
	CHECK(is_shut(&p, WAIT_MS));
	close_pair(&p);
	clients_stop(t);
}

/* A body that is past its time continues while bytes move, at any rate. */
static void test_a_silent_body_ends_in_time(void)
{
	struct clients_config config = patient;
	struct rhythm rhythm = { 0 };
	struct pair silent, moving;

	config.rate_min = 0;
	config.body_ms = 10 * SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&moving, t);
	client_enter(moving.client, CLIENT_BODY);
	connect_pair(&silent, t);
	client_enter(silent.client, CLIENT_BODY);
	while (!is_shut(&silent, 1)) {
		char byte = 'x';

		rhythm_beat(&rhythm);
		if (is_shut(&moving, 0))
			break;
		CHECK_NUMBER(send(moving.theirs, &byte, 1, MSG_NOSIGNAL), ==,
			     1);
		CHECK_NUMBER(read(moving.ours, &byte, 1), >=, 0);
	}
	CHECK(!is_shut(&moving, 0) || rhythm_missed(&rhythm, config.body_ms));
	check_reads(&silent, "too slow");
	CHECK(is_shut(&moving, WAIT_MS));
	close_pair(&silent);
	close_pair(&moving);
	clients_stop(t);
}

static void test_the_slowest_goes_for_a_new_one(void)
{
	struct clients_config config = patient;
	struct pair working, asked, idle, young, last;

	config.open_max = 3;
	config.slots = 4;

	struct clients *t = clients_start(&config);

	connect_pair(&working, t);
	client_enter(working.client, CLIENT_WORK);
	connect_pair(&asked, t);
	client_enter(asked.client, CLIENT_IDLE);
	CHECK_NUMBER(write(asked.theirs, "x", 1), ==, 1);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&young, t);
	CHECK(is_shut(&idle, WAIT_MS));
	CHECK(!is_shut(&working, 0));
	CHECK(!is_shut(&asked, 0));
	CHECK(!is_shut(&young, 0));
	close_pair(&idle);

	/*
	 * While all requests are in work, one more client is admitted.  As soon
	 * as a client is idle, one is closed.
	 */
	client_enter(asked.client, CLIENT_WORK);
	client_enter(young.client, CLIENT_WORK);
	connect_pair(&last, t);
	CHECK(!is_shut(&young, 0));
	CHECK(!is_shut(&last, 0));
	client_enter(asked.client, CLIENT_REPLY);
	client_enter(working.client, CLIENT_IDLE);
	CHECK(is_shut(&last, WAIT_MS));
	CHECK(!is_shut(&working, 0));
	CHECK(!is_shut(&asked, 0));
	close_pair(&last);
	close_pair(&young);
	close_pair(&asked);
	close_pair(&working);
	clients_stop(t);
}

static struct clients *start_small(uint32_t open_max, uint32_t fresh_ms)
{
	struct clients_config config = patient;
	char why[NETWORKS_WHY_BYTES];

	config.open_max = open_max;
	config.slots = open_max + 4;
	config.fresh_ms = fresh_ms;
	CHECK(networks_read(&config.trusted, "10.0.0.0/8", why));
	return clients_start(&config);
}

static uint64_t evicted(struct clients *t)
{
	struct clients_counts counts;

	clients_read_counts(t, &counts);
	return counts.evicted_count;
}

/*
 * A client that never sent a byte is closed first, even after any number of new
 * clients, and even if the other clients have been slow for long.
 */
static void test_who_never_sent_a_byte_goes_first(void)
{
	struct clients *t = start_small(3, 0);
	struct pair body, idle, begun, silent[5];

	connect_pair(&body, t);
	client_enter(body.client, CLIENT_BODY);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&silent[0], t);
	for (int i = 1; i < 5; i++) {
		connect_pair(&silent[i], t);
		CHECK(is_shut(&silent[i - 1], 0));
		CHECK(!is_shut(&silent[i], 0));
		close_pair(&silent[i - 1]);
	}
	CHECK_NUMBER(evicted(t), ==, 4);
	/*
	 * After its first byte it ranks with the others: the client that has
	 * waited longest is closed.
	 */
	CHECK_NUMBER(write(silent[4].theirs, "G", 1), ==, 1);
	connect_pair(&begun, t);
	CHECK(is_shut(&body, 0));
	CHECK(!is_shut(&idle, 0));
	CHECK(!is_shut(&silent[4], 0));
	CHECK(!is_shut(&begun, 0));
	close_pair(&silent[4]);
	close_pair(&begun);
	close_pair(&idle);
	close_pair(&body);
	clients_stop(t);
}

/*
 * The first byte of a new client may be on its way, so other clients are closed
 * first, if there are any.  If there are none, there is room for some more.
 */
static void test_who_has_just_come_has_time(void)
{
	struct clients *t = start_small(2, HOUR_MS);
	struct pair idle, young[5];

	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&young[0], t);
	connect_pair(&young[1], t);
	CHECK(is_shut(&idle, 0));
	CHECK_NUMBER(evicted(t), ==, 1);
	connect_pair(&young[2], t);
	connect_pair(&young[3], t);
	CHECK_NUMBER(evicted(t), ==, 1);
	close_pair(&idle);
	connect_pair(&young[4], t);
	CHECK(is_shut(&young[0], 0));
	CHECK_NUMBER(evicted(t), ==, 2);
	for (int i = 0; i < 5; i++)
		close_pair(&young[i]);
	clients_stop(t);
}

/*
 * Who has just begun a request has time to send the rest of its head, and then
 * its body: it may wait for "100 Continue".  Only if there are many more than
 * there should be, one of them is closed, whatever it has sent: the oldest.
 */
static void test_a_new_phase_has_time(void)
{
	struct clients *t = start_small(3, HOUR_MS);
	struct pair head, body, resumed, silent, others[5];
	struct pair *const oldest[] = { &head, &body, &resumed, &silent };

	connect_pair(&head, t);
	client_enter(head.client, CLIENT_HEAD);
	connect_pair(&body, t);
	client_enter(body.client, CLIENT_HEAD);
	client_enter(body.client, CLIENT_BODY);
	connect_pair(&resumed, t);
	client_enter(resumed.client, CLIENT_WAIT);
	CHECK(client_end_wait(resumed.client, BODY_BYTES));
	connect_pair(&silent, t);
	connect_pair(&others[0], t);
	CHECK_NUMBER(evicted(t), ==, 0);
	for (uint64_t i = 0; i < 4; i++) {
		connect_pair(&others[i + 1], t);
		CHECK(is_shut(oldest[i], 0));
		CHECK_NUMBER(evicted(t), ==, i + 1);
		close_pair(oldest[i]);
	}
	for (int i = 0; i < 5; i++)
		close_pair(&others[i]);
	clients_stop(t);
}

/* What the connections of a flood send, each as little as it can. */
enum flood {
	FLOOD_EMPTY,
	FLOOD_BYTE,
	FLOOD_HEAD,
	FLOOD_BODY,
	FLOOD_REPLY, /* a request, whose reply they do not read */
	FLOODS
};

static void connect_flood(struct pair *p, struct clients *t, const char *from,
			  enum flood kind)
{
	char byte;

	connect_from(p, t, from);
	if (kind != FLOOD_EMPTY)
		CHECK(write(p->theirs, "P", 1) == 1 &&
		      read(p->ours, &byte, 1) == 1);
	if (kind >= FLOOD_HEAD)
		client_enter(p->client, CLIENT_HEAD);
	if (kind == FLOOD_REPLY) {
		client_enter(p->client, CLIENT_WORK);
		fill(p);
		client_enter(p->client, CLIENT_REPLY);
	}
	if (kind == FLOOD_BODY) {
		client_enter(p->client, CLIENT_BODY);
		(void)client_receive(p->client, 3);
	}
}

/*
 * A flood from addresses that have more connections than others closes its own,
 * although another client has come before it and sent nothing yet.
 */
static void test_a_flood_ends_itself(enum flood kind)
{
	static const char *const from[] = { "192.0.2.2", "192.0.2.3" };
	struct clients *t = start_small(3, HOUR_MS);
	struct pair silent, body, flood[20];

	connect_from(&silent, t, "192.0.2.1");
	connect_from(&body, t, "192.0.2.4");
	client_enter(body.client, CLIENT_BODY);
	for (int i = 0; i < 20; i++) {
		connect_flood(&flood[i], t, from[i % 2], kind);
		if (i < 3)
			continue;
		CHECK(is_shut(&flood[i - 3], 0));
		CHECK_NUMBER(evicted(t), ==, (uint64_t)i - 2);
		close_pair(&flood[i - 3]);
	}
	CHECK(!is_shut(&silent, 0));
	CHECK(!is_shut(&body, 0));
	for (int i = 17; i < 20; i++)
		close_pair(&flood[i]);
	close_pair(&silent);
	close_pair(&body);
	clients_stop(t);
}

/*
 * If all connections of a flood seem to come from different clients, as behind
 * a proxy, the next one ends the oldest, whatever both have sent.
 */
static void test_all_kinds_have_the_same_time(enum flood kind)
{
	struct clients *t = start_small(3, HOUR_MS);
	struct pair silent, flood[8];

	connect_flood(&flood[0], t, "10.0.0.1", kind);
	connect_from(&silent, t, "10.0.0.1");
	for (int i = 1; i < 5; i++)
		connect_flood(&flood[i], t, "10.0.0.1", kind);
	CHECK(is_shut(&flood[0], 0));
	CHECK(!is_shut(&silent, 0));
	close_pair(&flood[0]);
	connect_flood(&flood[5], t, "10.0.0.1", kind);
	CHECK(is_shut(&silent, 0));
	CHECK_NUMBER(evicted(t), ==, 2);
	close_pair(&silent);
	for (int i = 1; i < 6; i++)
		close_pair(&flood[i]);
	clients_stop(t);
}

/* Clients that wait for memory are not closed for those of a flood. */
static void test_who_waits_outlasts_a_flood(enum flood kind)
{
	struct clients *t = start_small(3, HOUR_MS);
	struct pair waiting[3], flood[20];

	for (int i = 0; i < 3; i++) {
		connect_pair(&waiting[i], t);
		client_enter(waiting[i].client, CLIENT_WAIT);
	}
	for (int i = 0; i < 20; i++) {
		connect_flood(&flood[i], t, "10.0.0.1", kind);
		if (i < 2)
			continue;
		CHECK(is_shut(&flood[i - 2], 0));
		close_pair(&flood[i - 2]);
	}
	for (int i = 0; i < 3; i++) {
		CHECK(!is_shut(&waiting[i], 0));
		close_pair(&waiting[i]);
	}
	close_pair(&flood[18]);
	close_pair(&flood[19]);
	clients_stop(t);
}

/*
 * All have time when the last one comes.  When that is over one of them is
 * closed, although no time limit ends and nobody else can come: there might be
 * no free slot.
 */
static void test_the_time_of_a_new_phase_ends(void)
{
	struct clients_config config = patient;
	struct clients *t;
	struct pair bodies[3];
	uint64_t end_ns = clock_now_ns() + UINT64_C(60000000000);

	config.open_max = 2;
	config.slots = 4;
	config.fresh_ms = 300;
	config.head_ms = config.body_ms = config.idle_ms = 0;
	config.rate_min = 0;
	t = clients_start(&config);
	for (int i = 0; i < 3; i++) {
		connect_pair(&bodies[i], t);
		client_enter(bodies[i].client, CLIENT_HEAD);
		client_enter(bodies[i].client, CLIENT_BODY);
	}
	while (evicted(t) == 0 && clock_now_ns() < end_ns)
		(void)poll(NULL, 0, 10);
	CHECK_NUMBER(evicted(t), ==, 1);
	for (int i = 0; i < 3; i++)
		close_pair(&bodies[i]);
	clients_stop(t);
}

static void begin_body(struct pair *p, uint64_t bytes)
{
	client_enter(p->client, CLIENT_BODY);
	client_receive(p->client, bytes);
}

/*
 * A client that has moved enough bytes stays; the new one is admitted if there
 * is room, or else it waits.
 */
static void test_who_makes_progress_stays(void)
{
	const uint64_t plenty = patient.rate_min * (HOUR_MS / 1000);
	struct clients *t = start_small(2, 0);
	struct pair body, other, idle, young;

	connect_pair(&body, t);
	begin_body(&body, plenty);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&other, t);
	CHECK(is_shut(&idle, 0));
	CHECK(!is_shut(&body, 0));
	close_pair(&idle);
	begin_body(&other, plenty);
	connect_pair(&young, t);
	CHECK(!is_shut(&body, 0));
	CHECK(!is_shut(&other, 0));
	CHECK(!is_shut(&young, 0));
	CHECK_NUMBER(clients_excess(t), ==, 1);
	/* The bytes of the last body do not count for the next one. */
	client_enter(young.client, CLIENT_WORK);
	begin_body(&body, 0);
	client_enter(young.client, CLIENT_IDLE);
	CHECK(is_shut(&body, 0));
	CHECK(!is_shut(&young, 0));
	close_pair(&young);
	close_pair(&other);
	close_pair(&body);
	clients_stop(t);
}

/*
 * A client that waits for memory has no time limit, although its body is in the
 * socket.  It goes only when no other one without progress is left, and then
 * the one that came last.
 */
static void test_who_waits_for_memory_goes_late(void)
{
	struct clients_config config = patient;
	struct pair first, second, idle, young, last;

	config.open_max = 3;
	config.slots = 8;
	config.window_ms = config.body_ms = SHORT_MS;

	struct clients *t = clients_start(&config);

	connect_pair(&first, t);
	client_enter(first.client, CLIENT_WAIT);
	connect_pair(&second, t);
	client_enter(second.client, CLIENT_WAIT);
	CHECK_NUMBER(write(second.theirs, "x", 1), ==, 1);
	connect_pair(&idle, t);
	client_enter(idle.client, CLIENT_IDLE);
	connect_pair(&young, t);
	CHECK(is_shut(&idle, 0));
	CHECK(!is_shut(&first, 10 * SHORT_MS));
	CHECK(!is_shut(&second, 0));
	CHECK_NUMBER(write(young.theirs, "G", 1), ==, 1);
	client_enter(young.client, CLIENT_WORK);
	connect_pair(&last, t);
	CHECK(is_shut(&second, 0));
	CHECK(!is_shut(&first, 0));
	CHECK(!is_shut(&last, 0));
	CHECK_NUMBER(evicted(t), ==, 2);
	CHECK(!client_end_wait(second.client, BODY_BYTES));
	CHECK(client_is_shut(second.client));
	/* From now on it is late, as any body. */
	CHECK(client_end_wait(first.client, BODY_BYTES));
	check_reads(&first, "too slow");
	close_pair(&first);
	close_pair(&second);
	close_pair(&idle);
	close_pair(&young);
	close_pair(&last);
	clients_stop(t);
}

/*
 * The address `old` has one connection, idle for longest; `crowd` has two.  A
 * new client comes: is the connection of `old` closed, or one of `crowd`?
 */
static void check_goes(const char *old, const char *crowd, bool old_goes)
{
	struct clients *t = start_small(3, 0);
	struct pair a, b, c, more;

	connect_from(&a, t, old);
	client_enter(a.client, CLIENT_IDLE);
	connect_from(&b, t, crowd);
	client_enter(b.client, CLIENT_IDLE);
	connect_from(&c, t, crowd);
	client_enter(c.client, CLIENT_IDLE);
	connect_from(&more, t, "203.0.113.9");
	CHECK_NUMBER(is_shut(&a, 0), ==, old_goes);
	CHECK_NUMBER(is_shut(&b, 0), ==, !old_goes);
	CHECK(!is_shut(&c, 0));
	CHECK(!is_shut(&more, 0));
	close_pair(&a);
	close_pair(&b);
	close_pair(&c);
	close_pair(&more);
	clients_stop(t);
}

/*
 * The address of a trusted proxy is an exception, because it has many clients.
 */
static void test_the_address_with_the_most_goes_before_others(void)
{
	check_goes("192.0.2.1", "192.0.2.2", false);
	check_goes("2001:db8::1", "2001:db8:0:1::1", false);
	check_goes("192.0.2.1", "10.1.2.3", true);
	check_goes("192.0.2.1", "::ffff:10.1.2.3", true);
}

static bool admits(struct clients *t, const char *text)
{
	struct sockaddr_storage from;

	read_from(&from, text);
	return clients_admit(t, (struct sockaddr *)&from);
}

static void test_an_address_has_so_many(void)
{
	struct clients_config config = patient;
	struct clients_counts counts;
	struct pair four[2], late, six[2], proxy[3];
	char why[NETWORKS_WHY_BYTES];

	config.per_address_max = 2;
	CHECK(networks_read(&config.trusted, "10.0.0.0/8,2001:db8:9::/48",
			    why));

	struct clients *t = clients_start(&config);

	connect_from(&four[0], t, "192.0.2.1");
	CHECK(admits(t, "192.0.2.1"));
	connect_from(&four[1], t, "::ffff:192.0.2.1");
	CHECK(!admits(t, "192.0.2.1"));
	CHECK(!admits(t, "::ffff:192.0.2.1"));
	CHECK(admits(t, "192.0.2.2"));
	connect_from(&six[0], t, "2001:db8:0:1::1");
	connect_from(&six[1], t, "2001:db8:0:1:ffff::2");
	CHECK(!admits(t, "2001:db8:0:1::3"));
	CHECK(admits(t, "2001:db8:0:2::1"));
	for (int i = 0; i < 3; i++) {
		connect_from(&proxy[i], t,
			     i == 0 ? "10.9.9.9" : "2001:db8:9:7::1");
		CHECK(admits(t, "10.9.9.9"));
		CHECK(admits(t, "2001:db8:9:7::1"));
	}
	clients_read_counts(t, &counts);
	CHECK_NUMBER(counts.refused_count, ==, 3);
	/* Both were admitted at once, and there was room for one. */
	CHECK(!client_is_shut(four[1].client));
	connect_from(&late, t, "192.0.2.1");
	CHECK(client_is_shut(late.client));
	clients_read_counts(t, &counts);
	CHECK_NUMBER(counts.refused_count, ==, 4);
	close_pair(&late);
	close_pair(&four[0]);
	CHECK(admits(t, "192.0.2.1"));
	CHECK(!admits(t, "2001:db8:0:1::3"));
	close_pair(&four[1]);
	close_pair(&six[0]);
	close_pair(&six[1]);
	for (int i = 0; i < 3; i++)
		close_pair(&proxy[i]);
	CHECK(admits(t, "2001:db8:0:1::3"));
	clients_stop(t);
}

/* An address of another kind has no site, either, but is in no network. */
static void test_only_the_networks_are_trusted(void)
{
	static const struct sockaddr other = { .sa_family = AF_UNIX };
	struct clients *t = start_small(3, 0);
	struct pair proxy, outside, local;

	connect_from(&proxy, t, "10.1.2.3");
	connect_from(&outside, t, "192.0.2.1");
	connect_as(&local, t, &other);
	CHECK(client_is_trusted(proxy.client));
	CHECK(!client_is_trusted(outside.client));
	CHECK(!client_is_trusted(local.client));
	close_pair(&local);
	close_pair(&outside);
	close_pair(&proxy);
	clients_stop(t);
}

/* A connection with a thread that asks for its turn. */
struct asker {
	struct pair pair;
	pthread_t thread;
	_Atomic bool goes_on;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	client_enter(a->pair.client, CLIENT_WORK);
	CHECK(client_hold(a->pair.client, CLIENT_TURN_OTHER, NULL));
	atomic_store(&a->goes_on, true);
	return NULL;
}

/* Waits until `held_count` requests were held, this one included. */
static void begin_to_ask(struct asker *a, struct clients *t,
			 uint64_t held_count)
{
	struct clients_counts counts = { 0 };

	connect_pair(&a->pair, t);
	client_enter(a->pair.client, CLIENT_HEAD);
	atomic_store(&a->goes_on, false);
	CHECK_NUMBER(pthread_create(&a->thread, NULL, ask, a), ==, 0);
	while (counts.held_count < held_count)
		clients_read_counts(t, &counts);
}

static void end_asker(struct asker *a)
{
	CHECK_NUMBER(pthread_join(a->thread, NULL), ==, 0);
	CHECK(atomic_load(&a->goes_on));
	close_pair(&a->pair);
}

static void test_everybody_gets_a_turn(void)
{
	struct clients_config config = patient;
	struct asker askers[8];

	config.turn_ms[CLIENT_TURN_OTHER] = SHORT_MS / 5;
	config.turns_at_once = 1;

	struct clients *t = clients_start(&config);

	for (int i = 0; i < 8; i++)
		begin_to_ask(&askers[i], t, 0);
	for (int i = 0; i < 8; i++)
		end_asker(&askers[i]);
	clients_stop(t);
}

/*
 * A client whose request is held may be closed for a new client.  The end of
 * holding resumes all requests.
 */
static void test_who_is_held_may_go(void)
{
	struct clients_config config = patient;
	struct asker first, longest, other;
	struct pair more;

	config.turn_ms[CLIENT_TURN_OTHER] = HOUR_MS;
	config.turns_at_once = 0;
	config.open_max = 2;
	config.slots = 5;

	struct clients *t = clients_start(&config);

	begin_to_ask(&first, t, 0);
	end_asker(&first);
	begin_to_ask(&longest, t, 1);
	begin_to_ask(&other, t, 2);
	CHECK(!is_shut(&longest.pair, 0));
	connect_pair(&more, t);
	CHECK(is_shut(&longest.pair, 0));
	end_asker(&longest);
	CHECK(!is_shut(&other.pair, 0));
	CHECK(!atomic_load(&other.goes_on));
	clients_end_holding(t);
	end_asker(&other);
	begin_to_ask(&other, t, 0);
	end_asker(&other);
	close_pair(&more);
	clients_stop(t);
	clients_end_holding(NULL);
}

static void expect_body(struct pair *p, struct clients *t)
{
	connect_pair(p, t);
	client_enter(p->client, CLIENT_HEAD);
	client_enter(p->client, CLIENT_BODY);
	client_expect(p->client, BODY_BYTES);
}

/* Wait `ms`, then report that one byte was received: is the body refused? */
static bool is_refused(const struct pair *p, int ms)
{
	(void)usleep((useconds_t)ms * 1000);
	return client_receive(p->client, 1) == CLIENT_STOPPING;
}

/*
 * Of `bytes` that arrive evenly within `ms` from `begun_ns` on: those that are
 * still to come.  A busy machine then calls seldom, for more bytes at once.
 */
static int to_come(int bytes, uint64_t begun_ns, int ms)
{
	uint64_t passed_ms = (clock_now_ns() - begun_ns) / 1000000;

	return passed_ms < (uint64_t)ms ?
		       bytes - (int)((uint64_t)bytes * passed_ms /
				     (uint64_t)ms) :
		       0;
}

/*
 * A body that would not be complete in time at its rate is refused at its next
 * piece; if no piece arrives, the client is shut down with a message.  A body
 * that is fast enough continues, and so does a client without a body.
 */
static void test_a_drain_ends_slow_bodies(void)
{
	struct clients *t = clients_start(&patient);
	struct pair silent, slow, good, asking;
	bool is_slow = false;
	int left = 2000; /* bytes left of `good` */
	uint64_t begun_ns;

	expect_body(&silent, t);
	expect_body(&slow, t);
	expect_body(&good, t);
	connect_pair(&asking, t);
	client_enter(asking.client, CLIENT_BODY);
	CHECK_NUMBER(client_receive(good.client, BODY_BYTES - 2000), ==,
		     CLIENT_WELCOME);
	begun_ns = clock_now_ns();
	clients_drain(t, WAIT_MS / 10);
	while (!is_shut(&silent, 0) || !is_slow) {
		int after = to_come(2000, begun_ns, WAIT_MS / 20);

		is_slow = is_refused(&slow, 1) || is_slow;
		CHECK_NUMBER(
			client_receive(good.client, (uint64_t)(left - after)),
			==, CLIENT_WELCOME);
		left = after;
	}
	CHECK(!is_shut(&good, 0));
	CHECK(!is_shut(&asking, 0));
	check_reads(&silent, "stopping");
	CHECK_NUMBER(client_told(silent.client), ==, CLIENT_STOPPING);
	CHECK(is_slow);
	close_pair(&silent);
	close_pair(&slow);
	close_pair(&good);
	close_pair(&asking);
	clients_stop(t);
}

/*
 * A body that was received for long enough has a known rate.  If this is too
 * slow, the body is refused at once.  Other bodies are refused only at the end.
 */
static void test_a_drain_ends_hopeless_bodies_at_once(void)
{
	struct clients *t = clients_start(&patient);
	struct pair old, young;

	expect_body(&old, t);
	CHECK_NUMBER(client_receive(old.client, 1), ==, CLIENT_WELCOME);
	(void)usleep(1100 * 1000);
	expect_body(&young, t);
	clients_drain(t, HOUR_MS / 60);
	CHECK(is_refused(&old, 0));
	CHECK(!is_refused(&young, 0));
	CHECK(is_shut(&old, WAIT_MS));
	CHECK(!is_shut(&young, 0));
	clients_drain(t, 0);
	CHECK(is_refused(&young, 0));
	CHECK(is_shut(&young, WAIT_MS));
	close_pair(&old);
	close_pair(&young);
	clients_stop(t);
}

enum { LOW_WATER = 4096 };

static bool is_readable(const struct pair *p)
{
	struct pollfd end = { .fd = p->ours, .events = POLLIN };

	return poll(&end, 1, 0) > 0;
}

static void send_bytes(const struct pair *p, size_t count)
{
	static const char zeros[2 * LOW_WATER];

	CHECK_NUMBER(send(p->theirs, zeros, count, 0), ==, (ssize_t)count);
}

/* Read `count` bytes, which are there, and gather the next ones. */
static enum client_refusal receive(const struct pair *p, size_t count)
{
	char bytes[2 * LOW_WATER];
	ssize_t got = recv(p->ours, bytes, count, MSG_DONTWAIT);
	enum client_refusal refusal = client_receive(p->client, count);

	CHECK_NUMBER(got, ==, (ssize_t)count);
	client_gather(p->client, UINT64_MAX);
	return refusal;
}

/* A client whose thread is woken when this number of bytes has arrived. */
static struct clients *start_with_mark(struct pair *p, uint32_t bytes)
{
	struct clients_config config = patient;
	struct clients *t;

	config.low_water_bytes = bytes;
	t = clients_start(&config);
	connect_pair(p, t);
	return t;
}

/*
 * While much of a body is missing, a few bytes wake nobody.  The last byte
 * always does, and so does the next request.
 */
static void test_a_thread_is_woken_for_many_bytes(void)
{
	struct pair p;
	struct clients *t = start_with_mark(&p, LOW_WATER);

	client_enter(p.client, CLIENT_BODY);
	client_expect(p.client, 1 + 2 * LOW_WATER + 10);
	send_bytes(&p, 1);
	CHECK(is_readable(&p)); /* the first bytes, which may be refused */
	(void)receive(&p, 1);
	send_bytes(&p, LOW_WATER - 1);
	CHECK(!is_readable(&p));
	send_bytes(&p, 1);
	CHECK(is_readable(&p));
	(void)receive(&p, LOW_WATER);
	send_bytes(&p, LOW_WATER + 9);
	CHECK(is_readable(&p));
	(void)receive(&p, LOW_WATER + 8);
	CHECK(!is_readable(&p)); /* one byte waits, and one is missing */
	send_bytes(&p, 1);
	CHECK(is_readable(&p));
	(void)receive(&p, 2);
	send_bytes(&p, 1);
	CHECK(is_readable(&p));
	close_pair(&p);
	clients_stop(t);
}

/* A piece that comes before the end of the wait is not missing any more. */
static void test_a_piece_after_a_wait_counts(void)
{
	struct pair p;
	struct clients *t = start_with_mark(&p, LOW_WATER);

	client_enter(p.client, CLIENT_WAIT);
	(void)client_receive(p.client, 1000);
	CHECK(client_end_wait(p.client, 1000 + LOW_WATER));
	client_gather(p.client, UINT64_MAX);
	send_bytes(&p, LOW_WATER);
	CHECK(is_readable(&p));
	(void)receive(&p, LOW_WATER - 1);
	CHECK(is_readable(&p)); /* the last byte */
	close_pair(&p);
	clients_stop(t);
}

/*
 * The thread is woken by the next byte when the time of a body is over, which
 * may be a time of this request.
 */
static void test_a_late_body_is_not_gathered(bool has_own_time)
{
	struct clients_config config = patient;
	struct rhythm rhythm = { 0 };
	struct pair p;

	config.body_ms = has_own_time ? HOUR_MS : 10 * SHORT_MS;
	config.low_water_bytes = LOW_WATER;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	client_enter(p.client, CLIENT_BODY);
	client_expect(p.client, BODY_BYTES);
	if (has_own_time)
		client_expect_until(p.client, clock_after_ms(SHORT_MS));
	client_gather(p.client, UINT64_MAX);
	while (!is_readable(&p)) {
		(void)usleep(10000);
		send_bytes(&p, 1); /* never enough to reach the mark */
		rhythm_beat(&rhythm);
	}
	CHECK(!is_shut(&p, 0) || rhythm_missed(&rhythm, 10 * SHORT_MS));
	close_pair(&p);
	clients_stop(t);
}

/* A caller that wants fewer bytes gets them. */
static void test_so_many_bytes_are_gathered_as_are_wanted(void)
{
	struct pair p;
	struct clients *t = start_with_mark(&p, 2 * LOW_WATER);

	client_enter(p.client, CLIENT_BODY);
	client_expect(p.client, BODY_BYTES);
	client_gather(p.client, LOW_WATER);
	send_bytes(&p, LOW_WATER - 1);
	CHECK(!is_readable(&p));
	send_bytes(&p, 1);
	CHECK(is_readable(&p));
	close_pair(&p);
	clients_stop(t);
}

/* The mark of a body that is not read to its end does not stay. */
static void test_the_mark_ends_with_the_body(void)
{
	struct pair p;
	struct clients *t = start_with_mark(&p, LOW_WATER);

	client_enter(p.client, CLIENT_BODY);
	client_expect(p.client, BODY_BYTES);
	client_gather(p.client, UINT64_MAX);
	send_bytes(&p, 1);
	CHECK(!is_readable(&p));
	client_enter(p.client, CLIENT_WORK);
	CHECK(is_readable(&p));
	close_pair(&p);
	clients_stop(t);
}

/*
 * Bytes below the mark are not our fault: a client that sends no more is late.
 * It is refused as soon as its thread, which is woken, has read them.
 */
static void test_below_the_mark_a_client_is_late(void)
{
	struct clients_config config = patient;
	struct pair p;

	config.window_ms = SHORT_MS;
	config.low_water_bytes = LOW_WATER;

	struct clients *t = clients_start(&config);

	connect_pair(&p, t);
	client_enter(p.client, CLIENT_BODY);
	client_expect(p.client, BODY_BYTES);
	client_gather(p.client, UINT64_MAX);
	send_bytes(&p, 9);
	while (!is_readable(&p))
		(void)usleep(1000);
	CHECK_NUMBER(receive(&p, 9), ==, CLIENT_TOO_SLOW);
	CHECK(is_shut(&p, WAIT_MS));
	close_pair(&p);
	clients_stop(t);
}

/* Bytes below the mark count as progress. */
static void test_bytes_below_the_mark_count(void)
{
	struct clients_config config = patient;

	config.open_max = 1;
	config.slots = 3;
	config.rate_min = 1;
	config.low_water_bytes = LOW_WATER;

	struct clients *t = clients_start(&config);
	struct pair moving, young;

	connect_pair(&moving, t);
	client_enter(moving.client, CLIENT_BODY);
	client_expect(moving.client, BODY_BYTES);
	client_gather(moving.client, UINT64_MAX);
	send_bytes(&moving, LOW_WATER / 2);
	(void)usleep(SHORT_MS * 1000);
	connect_pair(&young, t);
	CHECK(!is_shut(&moving, 0));
	close_pair(&young);
	close_pair(&moving);
	clients_stop(t);
}

/* A held connection, which is resumed while the clients are changed. */
struct held {
	struct connection base;
	struct clients *clients;
	_Atomic bool are_too_many, is_resumed;
};

static void suspend(struct connection *c)
{
	(void)c;
}

static void resume(struct connection *c)
{
	struct held *h = container_of(c, struct held, base);

	atomic_store(&h->are_too_many, clients_are_too_many(h->clients));
	atomic_store(&h->is_resumed, true);
}

/*
 * Each reply asks whether there are too many: it waits for nobody, not even for
 * a call that changes clients at this moment.
 */
static void test_a_reply_does_not_wait_for_others(void)
{
	static const struct transport transport = { .suspend = suspend,
						    .resume = resume };
	struct clients_config config = patient;
	struct asker first;
	struct pair p, more;

	config.turn_ms[CLIENT_TURN_OTHER] = HOUR_MS;
	config.turns_at_once = 0;
	config.open_max = 1;
	config.slots = 5;

	struct clients *t = clients_start(&config);
	struct held held = { .base.transport = &transport, .clients = t };

	CHECK(!clients_are_too_many(t));
	begin_to_ask(&first, t, 0);
	end_asker(&first);
	connect_pair(&p, t);
	client_enter(p.client, CLIENT_HEAD);
	client_enter(p.client, CLIENT_WORK);
	CHECK(!client_hold(p.client, CLIENT_TURN_OTHER, &held.base));
	(void)alarm(WAIT_MS / 1000);
	connect_pair(&more, t); /* one is closed for it: the held one */
	(void)alarm(0);
	CHECK(atomic_load(&held.is_resumed));
	CHECK(!atomic_load(&held.are_too_many));
	close_pair(&p);
	close_pair(&more);
	clients_stop(t);
}

static void test_requests_are_counted(void)
{
	struct clients *t = clients_start(&patient);
	struct pair p;

	connect_pair(&p, t);
	CHECK_NUMBER(client_request_count(p.client), ==, 0);
	client_enter(p.client, CLIENT_HEAD);
	client_enter(p.client, CLIENT_BODY);
	client_enter(p.client, CLIENT_IDLE);
	client_enter(p.client, CLIENT_HEAD);
	CHECK_NUMBER(client_request_count(p.client), ==, 2);
	close_pair(&p);
	clients_stop(t);
	clients_stop(NULL);
}

int main(void)
{
	test_each_phase_ends();
	test_no_limit_is_no_limit();
	test_unread_bytes_are_our_fault();
	test_a_silent_client_is_told();
	test_who_reads_nothing_is_reset();
	test_who_only_sends_is_shut();
	test_a_stream_goes_on_while_it_is_read();
	test_a_steady_body_goes_on();
	test_a_silent_body_ends_in_time();
	test_the_slowest_goes_for_a_new_one();
	test_who_never_sent_a_byte_goes_first();
	test_who_has_just_come_has_time();
	test_a_new_phase_has_time();
	for (int kind = 0; kind < FLOODS; kind++) {
		test_a_flood_ends_itself((enum flood)kind);
		test_all_kinds_have_the_same_time((enum flood)kind);
		test_who_waits_outlasts_a_flood((enum flood)kind);
	}
	test_the_time_of_a_new_phase_ends();
	test_who_makes_progress_stays();
	test_who_waits_for_memory_goes_late();
	test_the_address_with_the_most_goes_before_others();
	test_an_address_has_so_many();
	test_only_the_networks_are_trusted();
	test_everybody_gets_a_turn();
	test_who_is_held_may_go();
	test_a_drain_ends_slow_bodies();
	test_a_drain_ends_hopeless_bodies_at_once();
	test_a_thread_is_woken_for_many_bytes();
	test_a_piece_after_a_wait_counts();
	test_a_late_body_is_not_gathered(false);
	test_a_late_body_is_not_gathered(true);
	test_so_many_bytes_are_gathered_as_are_wanted();
	test_the_mark_ends_with_the_body();
	test_below_the_mark_a_client_is_late();
	test_bytes_below_the_mark_count();
	test_a_reply_does_not_wait_for_others();
	test_requests_are_counted();
	return 0;
}
