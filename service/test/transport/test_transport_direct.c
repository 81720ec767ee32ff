/* SPDX-License-Identifier: MIT */
/*
 * Promises of the transport in user-level threads: a connection whose client
 * reads nothing ends, also if its head has a fault.  On
 * one kernel thread, a client that sends requests or a body without a pause
 * does not keep others from being served, nor do clients that are refused and
 * come again.  A long head, and the requests that came with it, are read
 * correctly.  A reply that is shorter than it should be ends the connection.
 * When the transport stops to accept, clients that already wait are served, and
 * it does not wait for others that come all the time.  When connections cannot
 * be accepted, it tries again, but not at once; what it needs to wait for them,
 * it has from its start on.  A client for which there is no thread waits for
 * one.
 *
 * The rest of http/ is replaced: requests have the behaviours below.
 */
#include "base/error.h"
#include "service/direct/uthread.h"
#include "service/http/connection/clients.h"
#include "service/http/transport.h"

#include "base/test/check.h"
#include "stages/stage.h"
#include "stages/test/watchdog.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	SHORT_MS = 50,
	OPEN_MAX = 16,
	BUFFER_BYTES = 65536,
	FILLER_BYTES = 63000,
	FOLLOWERS = 200, /* requests that are sent with a long head */
};

#define HTTP " HTTP/1.1\r\nHost: x\r\n"

/* What a request does, by the first letter of its path. */
enum behaviour {
	PLAIN = 'p',
	FILLS = 'f', /* at its end, the client's buffers are full */
	AGAIN = 'a', /* at its end, the client has sent the next one */
	LARGE = 'l', /* more of its body can always be received */
	BUSY = 'b',  /* it keeps its kernel thread until all is over */
	SHORT = 's', /* the body of its reply is shorter than its head says */
};

struct request {
	struct connection *connection;
	enum behaviour how;
};

static struct cores *cores;
static struct clients *clients;
/* The client's end of the connection of AGAIN, LARGE. */
static _Atomic int greedy_fd;
static _Atomic int endless_fd = -1; /* the server's end of that of LARGE */
static _Atomic bool is_over;
static _Atomic uint32_t served_count, ended_count, pause_count;
static _Atomic uint32_t busy_count;
static _Atomic bool is_watching_refused;
/* Each client is refused, and connects again before the next is accepted. */
static _Atomic bool is_crowd;
static _Atomic int crowd_fd = -1;
static struct sockaddr_in crowd_at;

static const char again[] = "GET /again" HTTP "\r\n";

/* --- The rest of http/, and the system --- */

bool __wrap_port_admit(struct port *port, const struct sockaddr *from);
void __wrap_connection_begin(struct connection *c, const struct sockaddr *from);
void __wrap_connection_end(struct connection *c);
struct request *__wrap_request_new(struct connection *c);
bool __wrap_request_head(struct request *r, const struct request_head *head);
bool __wrap_request_piece(struct request *r, const char *data, size_t bytes);
bool __wrap_request_next(struct request *r);
void __wrap_request_end(struct connection *c, struct request *r,
			enum request_ending how);
ssize_t __real_recvfrom(int fd, void *to, size_t bytes, int flags,
			struct sockaddr *from, socklen_t *from_bytes);
ssize_t __wrap_recvfrom(int fd, void *to, size_t bytes, int flags,
			struct sockaddr *from, socklen_t *from_bytes);
int __real_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old);

ssize_t __wrap_recvfrom(int fd, void *to, size_t bytes, int flags,
			struct sockaddr *from, socklen_t *from_bytes)
{
	if (fd != endless_fd)
		return __real_recvfrom(fd, to, bytes, flags, from, from_bytes);
	memset(to, 0, bytes);
	return (ssize_t)bytes;
}

int __wrap_epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (atomic_load(&is_watching_refused)) {
		errno = ENOSPC;
		return -1;
	}
	return __real_epoll_ctl(epoll, op, fd, event);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
			   struct itimerspec *old)
{
	atomic_fetch_add(&pause_count, 1);
	return __real_timerfd_settime(fd, flags, when, old);
}

/* The old connection is reset, so that its port is free at once. */
static void come_again(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct linger at_once = { .l_onoff = 1 };

	/* The server may refuse the client before it knows its socket. */
	(void)pthread_mutex_lock(&lock);
	int old_fd = crowd_fd;

	crowd_fd = -1;
	if (atomic_load(&is_crowd)) {
		crowd_fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK_NUMBER(connect(crowd_fd,
				     (const struct sockaddr *)&crowd_at,
				     sizeof(crowd_at)),
			     ==, 0);
	}
	if (old_fd >= 0) {
		CHECK_NUMBER(setsockopt(old_fd, SOL_SOCKET, SO_LINGER, &at_once,
					sizeof(at_once)),
			     ==, 0);
		CHECK_NUMBER(close(old_fd), ==, 0);
	}
	(void)pthread_mutex_unlock(&lock);
}

bool __wrap_port_admit(struct port *port, const struct sockaddr *from)
{
	(void)port;
	(void)from;
	if (!atomic_load(&is_crowd))
		return true;
	atomic_store(&is_crowd, !atomic_load(&is_over));
	come_again();
	return false;
}

void __wrap_connection_begin(struct connection *c, const struct sockaddr *from)
{
	c->client = client_add(clients, c->fd, from, true);
}

void __wrap_connection_end(struct connection *c)
{
	(void)client_remove(c->client);
	if (c->fd == endless_fd)
		endless_fd = -1;
	atomic_fetch_add(&ended_count, 1);
}

struct request *__wrap_request_new(struct connection *c)
{
	struct request *r = malloc(sizeof(*r));

	CHECK(r != NULL);
	*r = (struct request){ .connection = c };
	client_enter(c->client, CLIENT_HEAD);
	return r;
}

bool __wrap_request_head(struct request *r, const struct request_head *head)
{
	const char *filler =
		http_field_find(head->fields, head->field_count, "X-Filler");

	if (head->fault != HEAD_FINE)
		return __wrap_request_next(r);
	r->how = (enum behaviour)head->target[1];
	CHECK_TEXT(head->fields[0].name, "Host");
	CHECK_TEXT(head->fields[0].value, "x");
	CHECK(filler == NULL || strspn(filler, "a") == FILLER_BYTES);
	if (r->how == LARGE)
		endless_fd = r->connection->fd;
	client_enter(r->connection->client, CLIENT_BODY);
	return true;
}

bool __wrap_request_piece(struct request *r, const char *data, size_t bytes)
{
	(void)data;
	(void)bytes;
	CHECK_NUMBER(r->how, ==, LARGE);
	return !atomic_load(&is_over);
}

static ssize_t read_two_bytes(void *arg, uint64_t at, char *to,
			      size_t bytes_max)
{
	(void)arg;
	if (at > 0)
		return REPLY_END;
	CHECK_NUMBER(bytes_max, >=, 2);
	memcpy(to, "ok", 2);
	return 2;
}

bool __wrap_request_next(struct request *r)
{
	struct reply reply;

	if (r->how == BUSY) {
		atomic_fetch_add(&busy_count, 1);
		while (!atomic_load(&is_over))
			(void)usleep(1000);
	}
	client_enter(r->connection->client, CLIENT_REPLY);
	reply_init(&reply);
	reply.status = STATUS_OK;
	if (r->how == SHORT) {
		reply.kind = REPLY_READ;
		reply.read = read_two_bytes;
		reply.read_bytes = reply.bytes = 3;
	} else {
		reply_add_piece(&reply, "ok", 2);
	}
	return r->connection->transport->send(r->connection, &reply);
}

/* Write until the client's buffers are full, and stay so. */
static void fill(int fd)
{
	static const char zeros[BUFFER_BYTES];
	uint32_t count;

	do {
		count = 0;
		while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT) > 0)
			count++;
		while (send(fd, zeros, 1, MSG_DONTWAIT) > 0)
			count++;
		CHECK_NUMBER(errno, ==, EAGAIN);
		(void)usleep(SHORT_MS * 1000);
	} while (count > 0);
}

static void be_greedy(void)
{
	char bytes[4096];

	while (recv(greedy_fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	CHECK(send(greedy_fd, again, sizeof(again) - 1, MSG_NOSIGNAL) > 0 ||
	      atomic_load(&is_over));
}

void __wrap_request_end(struct connection *c, struct request *r,
			enum request_ending how)
{
	if (r->how == FILLS) {
		client_enter(c->client, CLIENT_WORK); /* without a limit */
		fill(c->fd);
	}
	if (how == ENDED_SENT) {
		atomic_fetch_add(&served_count, 1);
		client_enter(c->client, CLIENT_IDLE);
	}
	if (r->how == AGAIN && !atomic_load(&is_over))
		be_greedy();
	free(r);
}

/* --- A server, and clients --- */

static const struct thread_model models[] = {
	{ .mapping = THREADS_1_TO_1, .io = THREADS_IO_SYNC },
	{ .mapping = THREADS_N_TO_M, .io = THREADS_IO_SYNC },
	{ .mapping = THREADS_N_TO_M,
	  .io = THREADS_IO_ASYNC,
	  .transfers = TRANSFERS_BY_SCHEDULER },
	{ .mapping = THREADS_N_TO_1,
	  .io = THREADS_IO_ASYNC,
	  .transfers = TRANSFERS_BY_THREAD },
	{ .mapping = THREADS_N_TO_1,
	  .io = THREADS_IO_ASYNC,
	  .transfers = TRANSFERS_BY_SCHEDULER },
};

struct server {
	struct uthreads *uthreads;
	struct io_thread *io;
	int fd; /* listens there */
	struct sockaddr_in at;
};

/* False: the transport could not be started. */
static bool try_start(struct server *s, const struct thread_model *m,
		      uint32_t client_ms)
{
	socklen_t bytes = sizeof(s->at);

	served_count = ended_count = pause_count = busy_count = 0;
	is_over = false;
	clients = clients_start(&(struct clients_config){
		.open_max = OPEN_MAX,
		.slots = clients_slots(OPEN_MAX),
		.head_ms = client_ms,
		.idle_ms = client_ms,
		.rate_min = client_ms > 0 ? 1000 : 0,
		.window_ms = client_ms,
		.refusals = { [CLIENT_TOO_SLOW] = "too slow" },
	});
	s->uthreads = uthreads_start(&(struct uthreads_config){
		.model = m,
		.cores = cores,
		.threads_max = OPEN_MAX,
		.buffer_bytes = BUFFER_BYTES,
	});
	CHECK(clients != NULL);
	CHECK(s->uthreads != NULL);
	s->at = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_NUMBER(bind(s->fd, (struct sockaddr *)&s->at, bytes), ==, 0);
	CHECK_NUMBER(listen(s->fd, OPEN_MAX), ==, 0);
	CHECK_NUMBER(getsockname(s->fd, (struct sockaddr *)&s->at, &bytes), ==,
		     0);
	atomic_store(&is_watching_refused, client_ms == UINT32_MAX);
	s->io = transport_direct.start(&(struct io_thread_config){
		.listen_fd = s->fd,
		.uthreads = s->uthreads,
		.connections_max = OPEN_MAX,
		.connection_bytes = BUFFER_BYTES,
	});
	atomic_store(&is_watching_refused, false);
	return s->io != NULL;
}

static void stop(struct server *s)
{
	transport_direct.stop(s->io);
	uthreads_stop(s->uthreads);
	clients_stop(clients);
}

/* Connect, and send this. */
static int ask(const struct server *s, const char *text)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), few = 4096;

	CHECK_NUMBER(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)),
		     ==, 0);
	CHECK_NUMBER(
		connect(fd, (const struct sockaddr *)&s->at, sizeof(s->at)), ==,
		0);
	CHECK_NUMBER(send(fd, text, strlen(text), 0), ==,
		     (ssize_t)strlen(text));
	return fd;
}

static void read_reply(int fd)
{
	char text[16];

	CHECK_NUMBER(recv(fd, text, sizeof(text), MSG_WAITALL), ==,
		     sizeof(text));
	CHECK(memcmp(text, "HTTP/1.1 200 OK\r", sizeof(text)) == 0);
}

/* --- Promises --- */

static void test_a_refused_client_that_reads_nothing(struct server *s)
{
	/* Refused with its request line, and after it. */
	int first = ask(s, "GET /fill" HTTP "\r\nGET / HTTP/9.9\r\n\r\n");
	int second = ask(s, "GET /fill" HTTP "\r\nGET /" HTTP "x\r\n\r\n");

	while (atomic_load(&ended_count) < 2)
		(void)usleep(1000);
	CHECK_NUMBER(close(first), ==, 0);
	CHECK_NUMBER(close(second), ==, 0);
}

static void test_greed(struct server *s, const char *text)
{
	int fds[2] = { ask(s, "GET /p" HTTP "\r\n"), -1 };

	read_reply(fds[0]); /* it is accepted, and waits */
	greedy_fd = ask(s, "");
	CHECK_NUMBER(send(greedy_fd, text, strlen(text), 0), >, 0);
	while (atomic_load(&served_count) < 2 && text == again)
		(void)usleep(1000);
	fds[1] = ask(s, "GET /p" HTTP "\r\n");
	read_reply(fds[1]);
	CHECK_NUMBER(close(fds[0]), ==, 0);
	CHECK_NUMBER(close(fds[1]), ==, 0);
	atomic_store(&is_over, true);
	CHECK_NUMBER(shutdown(greedy_fd, SHUT_RDWR), ==, 0);
	while (atomic_load(&ended_count) < 3)
		(void)usleep(1000);
	CHECK_NUMBER(close(greedy_fd), ==, 0);
}

/* The head is longer than what is received at once; empty lines before it. */
static void test_a_long_head(const struct server *s)
{
	static char text[BUFFER_BYTES + FOLLOWERS * sizeof(again)];
	size_t at = 1000;
	char *replies = text;
	int fd;

	for (size_t i = 0; i < at; i += 2)
		memcpy(text + i, "\r\n", 2);
	at += (size_t)sprintf(text + at, "GET /p" HTTP "X-Filler: ");
	memset(text + at, 'a', FILLER_BYTES);
	at += FILLER_BYTES;
	at += (size_t)sprintf(text + at, "\r\n\r\n");
	for (int i = 0; i < FOLLOWERS; i++)
		at += (size_t)sprintf(
			text + at, "GET /p" HTTP "%s\r\n",
			i < FOLLOWERS - 1 ? "" : "Connection: close\r\n");
	fd = ask(s, text);
	at = 0;
	for (ssize_t got = 1; got > 0; at += (size_t)got)
		got = recv(fd, text + at, sizeof(text) - 1 - at, 0);
	text[at] = '\0';
	for (int i = 0; i <= FOLLOWERS; i++) {
		replies = strstr(replies, "HTTP/1.1 200 OK\r\n");
		CHECK(replies != NULL);
		replies++;
	}
	CHECK(strstr(replies, "HTTP/1.1") == NULL);
	CHECK_NUMBER(close(fd), ==, 0);
}

/* Otherwise the client would take the next reply for the rest of this one. */
static void test_a_short_reply_is_the_last(const struct server *s)
{
	int fd = ask(s, "GET /short" HTTP "\r\n");
	char text[1024];
	size_t at = 0;

	for (ssize_t got = 1; got > 0; at += (size_t)got)
		got = recv(fd, text + at, sizeof(text) - at, 0);
	CHECK_NUMBER(at, >, 2);
	CHECK(memcmp(text + at - 2, "ok", 2) == 0);
	CHECK_NUMBER(close(fd), ==, 0);
}

/* The server has time for the client that has closed its connection. */
static void test_a_crowd_that_is_refused(struct server *s)
{
	int fd = ask(s, "GET /p" HTTP "\r\n");

	read_reply(fd);
	crowd_at = s->at;
	atomic_store(&is_crowd, true);
	come_again();
	CHECK_NUMBER(close(fd), ==, 0);
	while (atomic_load(&ended_count) < 1)
		(void)usleep(1000);
	atomic_store(&is_over, true);
	while (atomic_load(&is_crowd))
		(void)usleep(1000);
}

/* While no kernel thread is free to accept, the server accepts no more. */
static void test_a_client_that_waits_is_accepted(const struct thread_model *m)
{
	uint32_t count = m->mapping == THREADS_N_TO_M ? cores_count(cores) : 1;
	struct server s;
	int fds[OPEN_MAX], last;

	CHECK(try_start(&s, m, 0));
	CHECK_NUMBER(count, <, OPEN_MAX);
	for (uint32_t i = 0; i < count; i++)
		fds[i] = ask(&s, "GET /busy" HTTP "\r\n");
	while (atomic_load(&busy_count) < count)
		(void)usleep(1000);
	last = ask(&s, "GET /p" HTTP "\r\n");
	CHECK_NUMBER(transport_direct.stop_accepting(s.io), ==, s.fd);
	atomic_store(&is_over, true);
	read_reply(last);
	stop(&s);
	for (uint32_t i = 0; i < count; i++)
		CHECK_NUMBER(close(fds[i]), ==, 0);
	CHECK_NUMBER(close(last), ==, 0);
	CHECK_NUMBER(close(s.fd), ==, 0);
}

/* The accepting thread has no kernel thread, so only the caller accepts. */
static void test_a_crowd_does_not_prevent_a_stop(const struct thread_model *m)
{
	uint32_t count = m->mapping == THREADS_N_TO_M ? cores_count(cores) : 1;
	struct server s;
	int fds[OPEN_MAX];

	CHECK(try_start(&s, m, 0));
	CHECK_NUMBER(count, <, OPEN_MAX);
	for (uint32_t i = 0; i < count; i++)
		fds[i] = ask(&s, "GET /busy" HTTP "\r\n");
	while (atomic_load(&busy_count) < count)
		(void)usleep(1000);
	crowd_at = s.at;
	atomic_store(&is_crowd, true);
	come_again();
	CHECK_NUMBER(transport_direct.stop_accepting(s.io), ==, s.fd);
	CHECK(atomic_load(&is_crowd));
	atomic_store(&is_crowd, false);
	come_again();
	atomic_store(&is_over, true);
	stop(&s);
	for (uint32_t i = 0; i < count; i++)
		CHECK_NUMBER(close(fds[i]), ==, 0);
	CHECK_NUMBER(close(s.fd), ==, 0);
}

static void test_accepting_is_tried_again(struct server *s)
{
	/* From now on, each call fails. */
	CHECK_NUMBER(shutdown(s->fd, SHUT_RDWR), ==, 0);
	while (atomic_load(&pause_count) < 3)
		(void)usleep(1000);
}

/* One thread accepts, so there is one connection less than threads. */
static void test_a_client_waits_for_a_thread(struct server *s)
{
	int fds[OPEN_MAX];
	char byte;

	for (int i = 0; i < OPEN_MAX - 1; i++) {
		fds[i] = ask(s, "GET /p" HTTP "\r\n");
		read_reply(fds[i]);
	}
	fds[OPEN_MAX - 1] = ask(s, "GET /p" HTTP "\r\n");
	while (atomic_load(&pause_count) == 0)
		(void)usleep(1000);
	(void)usleep(SHORT_MS * 1000);
	CHECK_NUMBER(recv(fds[OPEN_MAX - 1], &byte, 1, MSG_DONTWAIT), <, 0);
	CHECK_NUMBER(errno, ==, EAGAIN);
	CHECK_NUMBER(close(fds[0]), ==, 0);
	read_reply(fds[OPEN_MAX - 1]);
	for (int i = 1; i < OPEN_MAX; i++)
		CHECK_NUMBER(close(fds[i]), ==, 0);
}

static void test_no_memory_to_watch(const struct thread_model *m)
{
	struct server s;

	CHECK(!try_start(&s, m, UINT32_MAX));
	CHECK_NUMBER(close(s.fd), ==, 0);
	uthreads_stop(s.uthreads);
	clients_stop(clients);
}

static void test_model(const struct thread_model *m)
{
	struct server s;

	CHECK(try_start(&s, m, SHORT_MS));
	test_a_refused_client_that_reads_nothing(&s);
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_greed(&s, again);
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_greed(&s, "GET /large" HTTP
		       "Content-Length: 1000000000000000000\r\n\r\n");
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_a_crowd_that_is_refused(&s);
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_accepting_is_tried_again(&s);
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_a_client_waits_for_a_thread(&s);
	stop(&s);
	CHECK(try_start(&s, m, 0));
	test_a_long_head(&s);
	test_a_short_reply_is_the_last(&s);
	stop(&s);
	test_a_client_that_waits_is_accepted(m);
	if (m->mapping != THREADS_1_TO_1)
		test_a_crowd_does_not_prevent_a_stop(m);
	if (m->io == THREADS_IO_ASYNC)
		test_no_memory_to_watch(m);
}

int main(void)
{
	struct error why;

	watchdog_start();
	cores = cores_new(NULL, why.text);
	CHECK(cores != NULL);
	for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
		(void)fprintf(stderr, "model %zu\n", i);
		test_model(&models[i]);
	}
	cores_free(cores);
	return 0;
}
