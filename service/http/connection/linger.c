/* SPDX-License-Identifier: MIT */
/*
 * The thread waits for all sockets with one epoll descriptor.  The data of an
 * event is the index of a slot, or count_max for the event that wakes the
 * thread.
 *
 * The kernel discards the bytes (MSG_TRUNC), without a copy.
 */
#include "service/http/connection/linger.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	EVENTS_MAX = 64,
	PIECE_BYTES = 64 * 1024,
	LOOK_MS = 250, /* times are checked this often */
};

struct slot {
	int fd;              /* -1: free */
	uint64_t begin_ns;   /* when it was added */
	uint64_t last_ns;    /* when bytes arrived */
	uint64_t bytes_left; /* how many bytes the client may still send */
};

struct linger_list {
	struct linger_config config;
	int epoll_fd, wake_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the members below */
	bool stopping;
	uint32_t count; /* slots in use */
	struct slot slots[];
};

/*
 * Caller holds the lock.  The caller of linger_add() may not have closed its
 * own descriptor yet.  Then closing this one would leave the socket in the
 * epoll set, and its events would keep the thread busy.
 */
static void close_slot(struct linger_list *l, struct slot *s)
{
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	(void)close(s->fd);
	s->fd = -1;
	l->count--;
}

/* Caller holds the lock.  At least one slot is in use. */
static struct slot *find_oldest(struct linger_list *l)
{
	struct slot *oldest = NULL;

	for (uint32_t i = 0; i < l->config.count_max; i++) {
		struct slot *s = &l->slots[i];

		if (s->fd >= 0 &&
		    (oldest == NULL || s->begin_ns < oldest->begin_ns))
			oldest = s;
	}
	return oldest;
}

/* Caller holds the lock. */
static struct slot *take_slot(struct linger_list *l)
{
	struct slot *s = l->slots;

	if (l->count == l->config.count_max) {
		s = find_oldest(l);
		close_slot(l, s);
	}
	while (s->fd >= 0)
		s++;
	return s;
}

void linger_end_oldest(struct linger_list *l)
{
	(void)pthread_mutex_lock(&l->lock);
	if (l->count > 0)
		close_slot(l, find_oldest(l));
	(void)pthread_mutex_unlock(&l->lock);
}

static void wake_thread(struct linger_list *l)
{
	const uint64_t one = 1;

	(void)!write(l->wake_fd, &one, sizeof(one));
}

bool linger_add(struct linger_list *l, int fd)
{
	uint64_t now_ns = clock_now_ns();
	int own_fd = dup(fd);

	if (own_fd < 0)
		return false;
	/* With TLS, libmicrohttpd does not do this. */
	(void)shutdown(own_fd, SHUT_WR);
	(void)pthread_mutex_lock(&l->lock);

	struct slot *s = take_slot(l);
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLRDHUP,
		.data.u32 = (uint32_t)(s - l->slots),
	};
	bool ok = epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, own_fd, &event) == 0;

	if (ok) {
		*s = (struct slot){ .fd = own_fd,
				    .begin_ns = now_ns,
				    .last_ns = now_ns,
				    .bytes_left = l->config.bytes_max };
		l->count++;
		/* Without sockets the thread sleeps for ever, so wake it. */
		if (l->count == 1)
			wake_thread(l);
	} else {
		(void)close(own_fd);
	}
	(void)pthread_mutex_unlock(&l->lock);
	return ok;
}

uint32_t linger_count(struct linger_list *l)
{
	(void)pthread_mutex_lock(&l->lock);

	uint32_t count = l->count;

	(void)pthread_mutex_unlock(&l->lock);
	return count;
}

/* Caller holds the lock.  Bytes have arrived, or the client has closed. */
static void discard_input(struct linger_list *l, struct slot *s)
{
	static char piece[PIECE_BYTES]; /* never written to */
	ssize_t bytes;

	/* The event may belong to a socket that had this slot before. */
	if (s->fd < 0)
		return;
	bytes = recv(s->fd, piece, sizeof(piece), MSG_DONTWAIT | MSG_TRUNC);
	if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (bytes <= 0 || (uint64_t)bytes >= s->bytes_left) {
		close_slot(l, s);
		return;
	}
	s->bytes_left -= (uint64_t)bytes;
	s->last_ns = clock_now_ns();
}

/* Caller holds the lock.  Close the sockets whose time is over. */
static void close_late(struct linger_list *l)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t silent_ns = l->config.silent_ms * NS_PER_MS;
	uint64_t total_ns = l->config.total_ms * NS_PER_MS;

	for (uint32_t i = 0; l->count > 0 && i < l->config.count_max; i++) {
		struct slot *s = &l->slots[i];

		if (s->fd >= 0 && (now_ns >= s->last_ns + silent_ns ||
				   now_ns >= s->begin_ns + total_ns))
			close_slot(l, s);
	}
}

static void handle_events(struct linger_list *l,
			  const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		uint32_t index = events[i].data.u32;
		uint64_t wakes;

		if (index == l->config.count_max) {
			(void)!read(l->wake_fd, &wakes, sizeof(wakes));
			continue;
		}
		/*
		 * The lock is taken for each event, so that other threads can
		 * add sockets in between.
		 */
		(void)pthread_mutex_lock(&l->lock);
		discard_input(l, &l->slots[index]);
		(void)pthread_mutex_unlock(&l->lock);
	}
}

static void *run_linger(void *arg)
{
	struct linger_list *l = arg;
	uint64_t look_ns = 0;
	bool stopping = false;

	(void)pthread_setname_np(pthread_self(), "linger");
	while (!stopping) {
		struct epoll_event events[EVENTS_MAX];
		int wait_ms = linger_count(l) > 0 ? LOOK_MS : -1;
		int count =
			epoll_wait(l->epoll_fd, events, EVENTS_MAX, wait_ms);

		handle_events(l, events, count);
		(void)pthread_mutex_lock(&l->lock);
		if (clock_now_ns() >= look_ns) {
			close_late(l);
			look_ns = clock_after_ms(LOOK_MS);
		}
		stopping = l->stopping;
		(void)pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

/* False: no descriptors. */
static bool open_files(struct linger_list *l)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u32 = l->config.count_max,
	};

	l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return l->wake_fd >= 0 && l->epoll_fd >= 0 &&
	       epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &event) == 0;
}

static void free_list(struct linger_list *l)
{
	if (l->epoll_fd >= 0)
		(void)close(l->epoll_fd);
	if (l->wake_fd >= 0)
		(void)close(l->wake_fd);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
}

struct linger_list *linger_start(const struct linger_config *config)
{
	struct linger_list *l =
		calloc(1, sizeof(*l) + config->count_max * sizeof(struct slot));

	if (l == NULL)
		return NULL;
	l->config = *config;
	(void)pthread_mutex_init(&l->lock, NULL);
	for (uint32_t i = 0; i < config->count_max; i++)
		l->slots[i].fd = -1;
	if (open_files(l) &&
	    pthread_create(&l->thread, NULL, run_linger, l) == 0)
		return l;
	free_list(l);
	return NULL;
}

void linger_stop(struct linger_list *l)
{
	if (l == NULL)
		return;
	(void)pthread_mutex_lock(&l->lock);
	l->stopping = true;
	(void)pthread_mutex_unlock(&l->lock);
	wake_thread(l);
	(void)pthread_join(l->thread, NULL);
	for (uint32_t i = 0; i < l->config.count_max; i++)
		if (l->slots[i].fd >= 0)
			close_slot(l, &l->slots[i]);
	free_list(l);
}
