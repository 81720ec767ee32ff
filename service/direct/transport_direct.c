/* SPDX-License-Identifier: MIT */
/*
 * The transport over sockets of our own: each connection has a user-level
 * thread, and one more thread accepts them.
 *
 * accept4() is called as a system call, because http/mhd/interpose.c replaces
 * the function by one that sleeps.
 */
#include "service/direct/direct.h"

#include "service/http/connection/listen.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* While there is no room for another connection. */
enum { PAUSE_MS = 5 };

static void set_blocking(int fd, bool blocks)
{
	int on = !blocks;

	(void)ioctl(fd, FIONBIO, &on);
}

static bool blocks(const struct io_thread *t)
{
	return uthreads_block(t->config.uthreads);
}

/* NULL: no memory. */
static struct direct_connection *connection_new(struct io_thread *t, int fd)
{
	struct direct_connection *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	if (!wire_init(&c->wire, fd, blocks(t), t->tls)) {
		free(c);
		return NULL;
	}
	c->base = (struct connection){
		.transport = &transport_direct,
		.port = t->config.port,
		.io_thread = t->config.index,
		.fd = fd,
		.tls = c->wire.session,
	};
	c->io_thread = t;
	c->reply.fd = -1;
	head_reader_init(&c->reader, t->config.connection_bytes);
	return c;
}

/* False: the transport stops, or there are connections_max of them. */
static bool list_connection(struct direct_connection *c)
{
	struct io_thread *t = c->io_thread;
	bool has_room;

	(void)pthread_mutex_lock(&t->lock);
	has_room = !atomic_load(&t->stopping) &&
		   t->connection_count < t->config.connections_max;
	if (has_room) {
		LIST_INSERT_HEAD(&t->connections, c, link);
		t->connection_count++;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return has_room;
}

static void free_connection(struct direct_connection *c)
{
	wire_release(&c->wire);
	head_reader_release(&c->reader);
	free(c->input);
	(void)close(c->base.fd);
	free(c);
}

void direct_connection_end(struct direct_connection *c)
{
	struct io_thread *t = c->io_thread;

	(void)pthread_mutex_lock(&t->lock);
	LIST_REMOVE(c, link);
	(void)pthread_mutex_unlock(&t->lock);
	connection_end(&c->base);
	free_connection(c);
	(void)pthread_mutex_lock(&t->lock);
	t->connection_count--;
	(void)pthread_cond_signal(&t->ended);
	(void)pthread_mutex_unlock(&t->lock);
}

static void begin_connection(struct io_thread *t, int fd,
			     const struct sockaddr *from)
{
	struct direct_connection *c = NULL;
	int on = 1;

	if (port_admit(t->config.port, from))
		c = connection_new(t, fd);
	if (c == NULL) {
		(void)close(fd);
		return;
	}
	if (!list_connection(c)) {
		free_connection(c);
		return;
	}
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	connection_begin(&c->base, from);
	if (!uthread_spawn(t->config.uthreads, connection_serve, c))
		direct_connection_end(c);
}

/*
 * After an error that may last, such as a lack of descriptors, trying again at
 * once would only use the CPU.
 */
static bool may_last(int error)
{
	return error != EINTR && error != ECONNABORTED && error != EAGAIN;
}

static int accept_one(const struct io_thread *t, struct sockaddr_storage *from)
{
	socklen_t bytes = sizeof(*from);

	return (int)syscall(SYS_accept4, t->config.listen_fd, from, &bytes,
			    SOCK_CLOEXEC | (blocks(t) ? 0 : SOCK_NONBLOCK));
}

/* A transfer_fn: accept a connection. */
static enum transfer_need step_accept(void *arg, char *buffer, size_t bytes)
{
	struct io_thread *t = arg;

	(void)buffer;
	(void)bytes;
	t->accepted_fd = accept_one(t, &t->from);
	if (t->accepted_fd < 0 && errno == EAGAIN && !atomic_load(&t->refusing))
		return TRANSFER_NEEDS_INPUT;
	t->must_pause = t->accepted_fd < 0 && may_last(errno) &&
			!atomic_load(&t->refusing);
	return TRANSFER_DONE;
}

/* A transfer_fn: wait for the timer. */
static enum transfer_need step_pause(void *arg, char *buffer, size_t bytes)
{
	const struct io_thread *t = arg;
	uint64_t count;

	(void)buffer;
	(void)bytes;
	return read(t->pause_fd, &count, sizeof(count)) < 0 && errno == EAGAIN ?
		       TRANSFER_NEEDS_INPUT :
		       TRANSFER_DONE;
}

static void pause_accepting(struct io_thread *t)
{
	const struct itimerspec after = {
		.it_value.tv_nsec = PAUSE_MS * 1000000,
	};

	(void)timerfd_settime(t->pause_fd, 0, &after, NULL);
	uthread_transfer(t->pause_fd, step_pause, t);
}

/*
 * The thread of a connection that is not counted any more may not have ended
 * yet, so threads count, too.
 */
static bool is_full(struct io_thread *t)
{
	bool result;

	(void)pthread_mutex_lock(&t->lock);
	result = t->connection_count >= t->config.connections_max;
	(void)pthread_mutex_unlock(&t->lock);
	return result || uthreads_are_full(t->config.uthreads);
}

/* An uthread_fn. */
static void accept_all(void *arg)
{
	struct io_thread *t = arg;

	while (!atomic_load(&t->refusing)) {
		t->must_pause = is_full(t);
		t->accepted_fd = -1;
		if (!t->must_pause)
			uthread_transfer(t->wait_fd, step_accept, t);
		if (t->accepted_fd >= 0)
			begin_connection(t, t->accepted_fd,
					 (const struct sockaddr *)&t->from);
		else if (t->must_pause)
			pause_accepting(t);
		/* Clients may come as fast as they are accepted. */
		uthread_yield();
	}
	(void)pthread_mutex_lock(&t->lock);
	t->is_accepting = false;
	(void)pthread_cond_signal(&t->ended);
	(void)pthread_mutex_unlock(&t->lock);
}

static void io_thread_free(struct io_thread *t)
{
	if (t->pause_fd >= 0)
		(void)close(t->pause_fd);
	if (t->wait_fd >= 0 && t->wait_fd != t->config.listen_fd)
		(void)close(t->wait_fd);
	if (t->stop_fd >= 0)
		(void)close(t->stop_fd);
	wire_tls_free(t->tls);
	(void)pthread_cond_destroy(&t->ended);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}

/* False: no memory, or no descriptor. */
static bool open_wait(struct io_thread *t)
{
	struct epoll_event input = { .events = EPOLLIN };

	if (!t->config.is_shared) {
		set_blocking(t->config.listen_fd, blocks(t));
		t->wait_fd = t->config.listen_fd;
		return true;
	}
	/* Others that have it must not find a socket that blocks. */
	set_blocking(t->config.listen_fd, false);
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	return t->stop_fd >= 0 && t->wait_fd >= 0 &&
	       epoll_ctl(t->wait_fd, EPOLL_CTL_ADD, t->stop_fd, &input) == 0 &&
	       epoll_ctl(t->wait_fd, EPOLL_CTL_ADD, t->config.listen_fd,
			 &input) == 0;
}

/* False: no memory, no descriptor, or no thread. */
static bool begin_accepting(struct io_thread *t)
{
	if (t->config.has_tls) {
		t->tls = wire_tls_new();
		if (t->tls == NULL)
			return false;
	}
	t->pause_fd = timerfd_create(
		CLOCK_MONOTONIC, TFD_CLOEXEC | (blocks(t) ? 0 : TFD_NONBLOCK));
	if (t->pause_fd < 0)
		return false;
	if (!open_wait(t) || !uthreads_watch(t->config.uthreads, t->pause_fd) ||
	    !uthreads_watch(t->config.uthreads, t->wait_fd))
		return false;
	t->is_accepting = uthread_spawn(t->config.uthreads, accept_all, t);
	return t->is_accepting;
}

static struct io_thread *direct_start(const struct io_thread_config *config)
{
	struct io_thread *t = calloc(1, sizeof(*t));

	assert(config->uthreads != NULL && config->listen_fd >= 0);
	if (t == NULL)
		return NULL;
	t->config = *config;
	t->pause_fd = t->wait_fd = t->stop_fd = -1;
	LIST_INIT(&t->connections);
	(void)pthread_mutex_init(&t->lock, NULL);
	(void)pthread_cond_init(&t->ended, NULL);
	if (begin_accepting(t))
		return t;
	io_thread_free(t);
	return NULL;
}

/*
 * The system resets the connections that wait to be accepted when the listening
 * socket is shut down, although their clients may have sent requests.  While
 * all kernel threads run steps, the accepting thread waits for its turn, so the
 * caller accepts them: those that wait now, because others may come as fast.
 * If the accepting thread takes the last room meanwhile, list_connection() or
 * uthread_spawn() fails, and the client is lost as the others that do not fit.
 */
static void accept_rest(struct io_thread *t)
{
	struct sockaddr_storage from;
	int fd = 0;

	set_blocking(t->config.listen_fd, false);
	for (int i = 0; i < LISTEN_BACKLOG && fd >= 0 && !is_full(t); i++) {
		fd = accept_one(t, &from);
		if (fd >= 0)
			begin_connection(t, fd, (struct sockaddr *)&from);
	}
}

static int direct_stop_accepting(struct io_thread *t)
{
	const uint64_t one = 1;
	int fd = t->config.listen_fd;

	atomic_store(&t->refusing, true);
	if (t->config.is_shared) {
		(void)!write(t->stop_fd, &one, sizeof(one));
		return fd;
	}
	accept_rest(t);
	(void)shutdown(fd, SHUT_RDWR);
	return fd;
}

/* Nothing is received or sent any more, so each thread ends soon. */
static void shut_all(struct io_thread *t)
{
	struct direct_connection *c;

	(void)pthread_mutex_lock(&t->lock);
	atomic_store(&t->stopping, true);
	LIST_FOREACH(c, &t->connections, link)
	(void)shutdown(c->base.fd, SHUT_RDWR);
	while (t->connection_count > 0 || t->is_accepting)
		(void)pthread_cond_wait(&t->ended, &t->lock);
	(void)pthread_mutex_unlock(&t->lock);
}

static void direct_stop(struct io_thread *t)
{
	bool owns_socket = !atomic_load(&t->refusing);

	if (owns_socket)
		(void)direct_stop_accepting(t);
	shut_all(t);
	if (owns_socket)
		(void)close(t->config.listen_fd);
	io_thread_free(t);
}

const struct transport transport_direct = {
	.start = direct_start,
	.stop_accepting = direct_stop_accepting,
	.stop = direct_stop,
	.suspend = direct_suspend,
	.resume = direct_resume,
	.send = direct_send,
};
