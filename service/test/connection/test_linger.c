/* SPDX-License-Identifier: MIT */
/*
 * Promises: a client that still sends when its connection is over can read its
 * reply and the end of the connection, without a reset.  A client that sends
 * too much, or nothing for too long, or for too long in all, is closed.  If
 * there is one too many, the oldest is closed.
 */
#include "service/http/connection/linger.h"

#include "base/clock.h"
#include "base/test/check.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOUR_MS = 3600000, SHORT_MS = 50, WAIT_MS = 60000, QUIET_MS = 200 };

static const struct linger_config patient = {
	.count_max = 2,
	.silent_ms = HOUR_MS,
	.total_ms = HOUR_MS,
	.bytes_max = UINT64_C(1) << 40,
};

/* Returns the client's end; the server's lingers.  *ours: its descriptor. */
static int add_kept_client(struct linger_list *l, int *ours)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t bytes = sizeof(at);
	int listening = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_NUMBER(bind(listening, (struct sockaddr *)&at, bytes), ==, 0);
	CHECK_NUMBER(listen(listening, 1), ==, 0);
	CHECK_NUMBER(getsockname(listening, (struct sockaddr *)&at, &bytes), ==,
		     0);
	CHECK_NUMBER(connect(client, (struct sockaddr *)&at, bytes), ==, 0);
	*ours = accept(listening, NULL, NULL);
	CHECK_NUMBER(*ours, >=, 0);
	CHECK_NUMBER(write(*ours, "reply", 5), ==, 5);
	CHECK(linger_add(l, *ours));
	CHECK_NUMBER(close(listening), ==, 0);
	return client;
}

static int add_client(struct linger_list *l)
{
	int ours, client = add_kept_client(l, &ours);

	CHECK_NUMBER(close(ours), ==, 0);
	return client;
}

/* The client can send more, and all of it is read. */
static void send_much(int client)
{
	static const char zeros[1 << 20];

	for (int i = 0; i < 16; i++)
		CHECK_NUMBER(send(client, zeros, sizeof(zeros), MSG_NOSIGNAL),
			     >, 0);
}

/* Is the server's end closed?  Then sending fails. */
static void check_is_closed(int client)
{
	static const char zeros[4096];

	for (int ms = 0; ms < WAIT_MS; ms++) {
		if (send(client, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0) {
			CHECK(errno == EPIPE || errno == ECONNRESET);
			(void)close(client);
			return;
		}
		(void)usleep(1000);
	}
	CHECK(false);
}

static void check_count(struct linger_list *l, uint32_t count)
{
	for (int ms = 0; ms < WAIT_MS && linger_count(l) != count; ms++)
		(void)usleep(1000);
	CHECK_NUMBER(linger_count(l), ==, count);
}

static void test_who_still_sends_reads_the_reply(void)
{
	struct linger_list *l = linger_start(&patient);
	int client = add_client(l);
	char reply[8];

	send_much(client);
	CHECK_NUMBER(recv(client, reply, sizeof(reply), MSG_WAITALL), ==, 5);
	CHECK(memcmp(reply, "reply", 5) == 0);
	CHECK_NUMBER(linger_count(l), ==, 1);
	CHECK_NUMBER(close(client), ==, 0);
	check_count(l, 0);
	linger_stop(l);
	linger_stop(NULL);
}

static void test_the_oldest_goes_for_one_too_many(void)
{
	struct linger_list *l = linger_start(&patient);
	int first = add_client(l), second, third;

	(void)usleep(1000);
	second = add_client(l);
	(void)usleep(1000);
	third = add_client(l);
	check_is_closed(first);
	CHECK_NUMBER(linger_count(l), ==, 2);
	send_much(second);
	send_much(third);
	linger_stop(l);
	check_is_closed(second);
	check_is_closed(third);
}

static void test_each_limit_ends_it(void)
{
	struct linger_config config = patient;
	struct linger_list *l;
	int client;

	config.silent_ms = SHORT_MS;
	l = linger_start(&config);
	client = add_client(l);
	check_count(l, 0);
	check_is_closed(client);
	linger_stop(l);

	config = patient;
	config.total_ms = SHORT_MS;
	l = linger_start(&config);
	check_is_closed(add_client(l)); /* although it sends all the time */
	linger_stop(l);

	config = patient;
	config.bytes_max = 1 << 20;
	l = linger_start(&config);
	check_is_closed(add_client(l));
	linger_stop(l);
}

/* A descriptor that is closed late must not keep the thread busy. */
static void test_late_close_costs_no_cpu(void)
{
	struct linger_list *l = linger_start(&patient);
	int ours, client = add_kept_client(l, &ours);
	uint64_t before_ns;

	CHECK_NUMBER(close(client), ==, 0);
	check_count(l, 0);
	before_ns = clock_cpu_ns();
	(void)usleep(QUIET_MS * 1000);
	CHECK_NUMBER(clock_cpu_ns() - before_ns, <, QUIET_MS * NS_PER_MS / 40);
	CHECK_NUMBER(close(ours), ==, 0);
	linger_stop(l);
}

int main(void)
{
	test_who_still_sends_reads_the_reply();
	test_the_oldest_goes_for_one_too_many();
	test_each_limit_ends_it();
	test_late_close_costs_no_cpu();
	return 0;
}
