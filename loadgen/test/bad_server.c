/* SPDX-License-Identifier: MIT */
#include "loadgen/test/bad_server.h"

#include "base/test/check.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES_MAX = 1000, SLOW_BYTES = 20000, RECEIVE_BYTES = 32 << 10 };

static const char good_reply[] =
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

struct visit {
	struct bad_server *server;
	int fd;
	pthread_t thread;
};

static void pause_us(long us)
{
	struct timespec pause = { .tv_nsec = us * 1000 };

	nanosleep(&pause, NULL);
}

/*
 * Read the head one byte at a time, so that no byte of the body is read.
 * False: the client has closed.
 */
static bool read_head(int fd, char head[HEAD_BYTES_MAX])
{
	for (size_t i = 0; recv(fd, head + i, 1, 0) == 1; i++) {
		CHECK_NUMBER(i + 1, <, HEAD_BYTES_MAX);
		head[i + 1] = '\0';
		if (i >= 3 && strcmp(head + i - 3, "\r\n\r\n") == 0)
			return true;
	}
	return false;
}

static size_t find_body_size(const char *head)
{
	static const char name[] = "\r\nContent-Length: ";
	const char *found = strstr(head, name);

	CHECK(found != NULL);
	return strtoul(found + strlen(name), NULL, 10);
}

/* False: the client has closed without sending the body. */
static bool read_body(int fd, struct server_body *body, bool slowly)
{
	size_t have = 0;

	body->bytes = malloc(body->size_bytes + 1);
	CHECK(body->bytes != NULL);
	while (have < body->size_bytes) {
		size_t wanted = body->size_bytes - have;
		ssize_t count;

		if (slowly && wanted > SLOW_BYTES)
			wanted = SLOW_BYTES;
		if (slowly)
			pause_us(100);
		count = recv(fd, body->bytes + have, wanted, 0);
		if (count <= 0) {
			free(body->bytes);
			body->bytes = NULL;
			return false;
		}
		have += (size_t)count;
	}
	return true;
}

static void write_text(int fd, const char *text, bool slowly, int flags)
{
	size_t size = strlen(text);
	size_t step = slowly ? 1 : size;

	for (size_t sent = 0; sent < size; sent += step) {
		/*
		 * The client may close the connection before it has read all.
		 */
		if (send(fd, text + sent, step, MSG_NOSIGNAL | flags) !=
		    (ssize_t)step)
			return;
		if (slowly)
			pause_us(100);
	}
}

static struct server_body *begin(struct bad_server *s, bool *bad)
{
	struct server_body *body;

	pthread_mutex_lock(&s->lock);
	CHECK_NUMBER(s->request_count, <, SERVER_BODIES_MAX);
	*bad = s->request_count % 2 == 0;
	body = &s->bodies[s->request_count++];
	pthread_mutex_unlock(&s->lock);
	return body;
}

/* False: close the connection. */
static bool end(int fd, enum bad_end how)
{
	struct linger reset = { .l_onoff = 1 };
	char byte;

	if (how == BAD_END_WAITS)
		while (recv(fd, &byte, 1, 0) == 1)
			;
	if (how == BAD_END_RESETS)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return how == BAD_END_KEEPS;
}

static bool answer(struct bad_server *s, int fd, const char *head)
{
	static const struct misdeed good = { .reply = good_reply };
	bool bad;
	struct server_body *body = begin(s, &bad);
	const struct misdeed *m = bad ? &s->misdeed : &good;

	CHECK(strncmp(head, "POST / HTTP/1.1\r\nHost: 127.0.0.1:", 33) == 0);
	CHECK_PART(head, "\r\nContent-Type: image/jpeg\r\n");
	body->size_bytes = find_body_size(head);
	if (m->early != NULL)
		write_text(fd, m->early, false, 0);
	if (!m->leaves_body && !read_body(fd, body, m->reads_slowly))
		return false;
	if (m->reply != NULL)
		write_text(fd, m->reply, m->writes_slowly,
			   m->end == BAD_END_CLOSES ? MSG_MORE : 0);
	return end(fd, m->end);
}

static void *serve(void *arg)
{
	struct visit *v = arg;
	char head[HEAD_BYTES_MAX];

	while (read_head(v->fd, head) && answer(v->server, v->fd, head))
		;
	close(v->fd);
	return NULL;
}

static void *accept_all(void *arg)
{
	struct bad_server *s = arg;
	struct visit visits[BAD_SERVER_CONNECTIONS_MAX];
	int yes = 1;
	int fd;

	while ((fd = accept(s->port, NULL, NULL)) >= 0) {
		struct visit *v = &visits[s->connection_count];

		CHECK_NUMBER(s->connection_count, <,
			     BAD_SERVER_CONNECTIONS_MAX);
		s->connection_count++;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
		*v = (struct visit){ .server = s, .fd = fd };
		CHECK_NUMBER(pthread_create(&v->thread, NULL, serve, v), ==, 0);
	}
	for (unsigned i = 0; i < s->connection_count; i++)
		pthread_join(visits[i].thread, NULL);
	return NULL;
}

void bad_server_start(struct bad_server *s)
{
	int bytes = RECEIVE_BYTES;

	s->port = dead_port_open(true, s->url);
	if (s->misdeed.reads_slowly || s->misdeed.leaves_body)
		setsockopt(s->port, SOL_SOCKET, SO_RCVBUF, &bytes,
			   sizeof(bytes));
	CHECK_NUMBER(pthread_mutex_init(&s->lock, NULL), ==, 0);
	CHECK_NUMBER(pthread_create(&s->thread, NULL, accept_all, s), ==, 0);
}

void bad_server_stop(struct bad_server *s)
{
	shutdown(s->port, SHUT_RDWR); /* ends accept() */
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	close(s->port);
}

void bad_server_release(struct bad_server *s)
{
	for (unsigned i = 0; i < s->request_count; i++)
		free(s->bodies[i].bytes);
}
