/* SPDX-License-Identifier: MIT */
/*
 * One connection, without a struct client.  With one, these cases would depend
 * on the kernel's timing.
 */
#include "loadgen/client/connection.h"

#include "base/test/check.h"
#include "loadgen/test/server.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char good_reply[] =
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

static const struct request empty_request = {
	.target = "/",
	.content_type = "text/plain",
};

/* More than a socket accepts at once. */
enum { BODY_BYTES = 16 << 20 };

struct bench {
	struct url url;
	char authority[2];
	struct sockaddr_in ports[2];
	struct addrinfo addresses[2]; /* the ports, one after the other */
	int epoll_fd;
	struct connection connection;
};

static void bench_init(struct bench *b, const int ports[2])
{
	b->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	CHECK_NUMBER(b->epoll_fd, >=, 0);
	strcpy(b->authority, "h");
	b->url = (struct url){ .authority = b->authority };
	for (int i = 0; i < 2; i++) {
		socklen_t size = sizeof(b->ports[i]);

		CHECK_NUMBER(getsockname(ports[i],
					 (struct sockaddr *)&b->ports[i],
					 &size),
			     ==, 0);
		b->addresses[i] = (struct addrinfo){
			.ai_family = AF_INET,
			.ai_addr = (struct sockaddr *)&b->ports[i],
			.ai_addrlen = size,
			.ai_next = i == 0 ? &b->addresses[1] : NULL,
		};
	}
	connection_init(&b->connection, &b->url, b->addresses, NULL,
			b->epoll_fd, false);
}

static void bench_release(struct bench *b)
{
	connection_release(&b->connection);
	close(b->epoll_fd);
}

/*
 * Run until the request has ended or, if `until_started` is true, has started.
 */
static bool run(struct bench *b, bool in_flight, bool until_started)
{
	struct epoll_event event;

	while (in_flight && !(until_started && b->connection.started_ns != 0))
		if (epoll_wait(b->epoll_fd, &event, 1, -1) == 1)
			in_flight = connection_continue(&b->connection,
							event.events);
	return in_flight;
}

static void test_next_address_is_tried(void)
{
	char url[SERVER_URL_BYTES];
	int dead = dead_port_open(false, url);
	int listening = dead_port_open(true, url);
	struct bench b;

	bench_init(&b, (const int[]){ dead, listening });
	CHECK(run(&b, connection_begin(&b.connection, &empty_request), true));
	connection_break(&b.connection, "enough");
	/* The next request first tries the address that worked. */
	close(listening);
	CHECK(!run(&b, connection_begin(&b.connection, &empty_request), false));
	CHECK_TEXT(b.connection.error, "Connection refused");
	/* Then it tries all of them again. */
	CHECK_NUMBER(b.connection.address, ==, b.addresses);
	bench_release(&b);
	close(dead);
}

/* Wait until the client's socket sees the close or reset. */
static void wait_for(int fd, short events)
{
	struct pollfd wanted = { .fd = fd, .events = events };

	CHECK_NUMBER(poll(&wanted, 1, -1), ==, 1);
}

static void answer(int server, const char *reply)
{
	ssize_t size = (ssize_t)strlen(reply);

	CHECK_NUMBER(write(server, reply, (size_t)size), ==, size);
}

/* Sending fails, but the reply can still be read. */
static void test_refusal_is_read_when_sending_fails(void)
{
	static const char reply[] = "HTTP/1.1 413 Too Large\r\n"
				    "Content-Length: 0\r\n\r\n";
	struct request request = {
		.target = "/",
		.content_type = "text/plain",
		.body = calloc(1, BODY_BYTES),
		.body_bytes = BODY_BYTES,
	};
	char url[SERVER_URL_BYTES];
	int listening = dead_port_open(true, url);
	struct bench b;
	int server;

	CHECK(request.body != NULL);
	bench_init(&b, (const int[]){ listening, listening });
	CHECK(run(&b, connection_begin(&b.connection, &request), true));
	server = accept(listening, NULL, NULL);
	CHECK_NUMBER(server, >=, 0);
	answer(server, reply);
	close(server); /* this resets, because the body was not read */
	wait_for(b.connection.fd, 0);
	CHECK(!connection_continue(&b.connection, EPOLLOUT));
	CHECK_NUMBER(connection_describe(&b.connection, 0).status, ==, 413);
	CHECK(b.connection.error == NULL);
	CHECK_NUMBER(b.connection.sent_ns, ==, 0);
	CHECK_NUMBER(b.connection.fd, <, 0);
	bench_release(&b);
	close(listening);
	free((char *)request.body);
}

/* Returns the server's side of a connection that is kept after a request. */
static int run_one(struct bench *b, int listening)
{
	int server;

	CHECK(run(b, connection_begin(&b->connection, &empty_request), true));
	server = accept(listening, NULL, NULL);
	CHECK_NUMBER(server, >=, 0);
	answer(server, good_reply);
	CHECK(!run(b, true, false));
	CHECK(b->connection.error == NULL);
	CHECK_NUMBER(b->connection.fd, >=, 0);
	return server;
}

/* Bytes that come before a request is sent are not its reply. */
static void test_stray_bytes_break_the_next_request(void)
{
	char url[SERVER_URL_BYTES];
	int listening = dead_port_open(true, url);
	struct bench b;
	int server;

	bench_init(&b, (const int[]){ listening, listening });
	server = run_one(&b, listening);
	answer(server, good_reply);
	wait_for(b.connection.fd, POLLIN);
	CHECK(!connection_begin(&b.connection, &empty_request));
	CHECK_TEXT(b.connection.error, "Bytes beyond the last reply");
	CHECK_NUMBER(b.connection.fd, <, 0);
	close(server);
	bench_release(&b);
	close(listening);
}

static void test_connection_closed_while_idle_is_replaced(void)
{
	char url[SERVER_URL_BYTES];
	int listening = dead_port_open(true, url);
	struct bench b;

	bench_init(&b, (const int[]){ listening, listening });
	for (int i = 0; i < 3; i++) {
		close(run_one(&b, listening));
		wait_for(b.connection.fd, POLLIN);
	}
	bench_release(&b);
	close(listening);
}

int main(void)
{
	test_next_address_is_tried();
	test_refusal_is_read_when_sending_fails();
	test_stray_bytes_break_the_next_request();
	test_connection_closed_while_idle_is_replaced();
	return 0;
}
