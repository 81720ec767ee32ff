/* SPDX-License-Identifier: MIT */
/*
 * One lock for all: it is held for some instructions at a time, five times a
 * request, and it is what makes sure that a client is not shut down in a phase
 * that it has just left, nor a socket after it was closed.
 *
 * The kernel counts the bytes, so that nothing has to be done for them here:
 * a transfer is looked at every window_ms, from the second time on with what
 * came through since the last.
 */
#include "service/http/clients.h"

#include "service/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { LOOK_AGAIN_MS = 250 };

static const uint64_t never_ns = UINT64_MAX;
static const uint64_t unknown_bytes = UINT64_MAX;

struct client {
	struct clients *clients; /* NULL: a free place */
	int fd;
	bool is_plain;
	bool is_shut;
	enum client_phase phase;
	uint64_t since_ns;
	uint64_t end_ns;      /* when to look at it */
	bool was_late;        /* when last looked at */
	uint64_t moved_bytes; /* of a transfer, when last looked at */
	uint64_t request_count;
};

struct clients {
	struct clients_config config;
	pthread_t watch;
	pthread_mutex_t lock;  /* of all below */
	pthread_cond_t sooner; /* wake_ns is, or it stops */
	bool stopping;
	uint64_t wake_ns;     /* when the watch looks at all of them */
	uint32_t open_count;  /* not shut */
	uint32_t taken_count; /* places */
	struct client place[];
};

static uint64_t after(uint64_t now_ns, uint32_t ms)
{
	return ms > 0 ? now_ns + ms * UINT64_C(1000000) : never_ns;
}

static bool is_transfer(const struct client *c)
{
	return c->phase == CLIENT_BODY || c->phase == CLIENT_REPLY ||
	       c->phase == CLIENT_STREAM;
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

/* When the time of a transfer is over, however much moves. */
static uint64_t transfer_end_ns(const struct client *c)
{
	return c->phase == CLIENT_BODY ?
		       after(c->since_ns, c->clients->config.body_ms) :
		       never_ns;
}

/* When to look at a transfer that goes on. */
static uint64_t next_look_ns(const struct client *c, uint64_t now_ns)
{
	const struct clients_config *config = &c->clients->config;
	uint64_t end_ns = transfer_end_ns(c);

	if (c->phase == CLIENT_STREAM)
		return after(now_ns, config->idle_ms);
	if (now_ns >= end_ns)
		return after(now_ns, LOOK_AGAIN_MS);
	return earlier(
		end_ns,
		after(now_ns, config->rate_min > 0 ? config->window_ms : 0));
}

static uint64_t first_look_ns(const struct client *c)
{
	const struct clients_config *config = &c->clients->config;

	switch (c->phase) {
	case CLIENT_HEAD:
		return after(c->since_ns, config->head_ms);
	case CLIENT_IDLE:
		return after(c->since_ns, config->idle_ms);
	case CLIENT_BODY:
	case CLIENT_REPLY:
	case CLIENT_STREAM:
		return next_look_ns(c, c->since_ns);
	case CLIENT_WORK:
	case CLIENT_PHASES:
		break;
	}
	return never_ns;
}

/*
 * Is it for the connection's thread to read or write next?  The end of what the
 * client sends is nothing to wait for: libmicrohttpd, which is told of changes
 * alone, does not notice an end that came together with the last bytes.
 */
static bool is_our_turn(const struct client *c)
{
	struct pollfd socket = { .fd = c->fd, .events = POLLOUT };
	char first;

	if (c->phase == CLIENT_REPLY || c->phase == CLIENT_STREAM)
		return poll(&socket, 1, 0) > 0;
	return recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* What the client has sent, or acknowledged. */
static uint64_t moved_bytes(const struct client *c)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
		return unknown_bytes;
	return c->phase == CLIENT_BODY ? info.tcpi_bytes_received :
					 info.tcpi_bytes_acked;
}

/* How many it must have moved since the last look. */
static uint64_t bytes_needed(const struct client *c, uint64_t now_ns)
{
	const struct clients_config *config = &c->clients->config;

	if (c->phase == CLIENT_STREAM || now_ns >= transfer_end_ns(c))
		return 1;
	return config->rate_min * config->window_ms / 1000;
}

/*
 * Caller holds the lock.  The end of an idle client leaves it what it has sent
 * in this moment, and its answer.  Who does not read loses what it has not
 * read, or it would stay in the kernel.
 */
static void shut(struct client *c)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	const char *said = c->clients->config.too_slow;
	bool is_late = c->phase == CLIENT_BODY ||
		       (c->phase == CLIENT_HEAD && c->request_count > 0);

	assert(!c->is_shut && c->phase != CLIENT_WORK);
	c->is_shut = true;
	c->end_ns = never_ns;
	c->clients->open_count--;
	if (c->phase == CLIENT_REPLY || c->phase == CLIENT_STREAM)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset));
	if (is_late && c->is_plain)
		(void)send(c->fd, said, strlen(said),
			   MSG_DONTWAIT | MSG_NOSIGNAL);
	(void)shutdown(c->fd, c->phase == CLIENT_IDLE ? SHUT_RD : SHUT_RDWR);
}

/*
 * Caller holds the lock.  Its time is over: does it get some more?  It is shut
 * when that was so twice, and we were in time, as its last bytes may have been
 * read but not yet understood: most likely when all of us have just woken up.
 */
static void look_at(struct client *c, uint64_t now_ns, bool in_time)
{
	uint64_t need = bytes_needed(c, now_ns);
	uint64_t moved = is_transfer(c) ? moved_bytes(c) : 0;
	bool was_late = c->was_late && in_time;

	c->was_late = false;
	c->end_ns = after(now_ns, LOOK_AGAIN_MS);
	if (is_our_turn(c)) {
		c->moved_bytes = unknown_bytes;
		if (c->phase == CLIENT_STREAM) /* it waits for more */
			c->end_ns = next_look_ns(c, now_ns);
	} else if (is_transfer(c) && (c->moved_bytes == unknown_bytes ||
				      moved - c->moved_bytes >= need)) {
		c->end_ns = next_look_ns(c, now_ns);
		c->moved_bytes = moved;
	} else if (was_late) {
		shut(c);
	} else {
		c->was_late = true;
	}
}

/* May this one go, so that another can come? */
static bool may_go(const struct client *c)
{
	return c->clients != NULL && !c->is_shut && c->phase != CLIENT_WORK &&
	       !is_our_turn(c);
}

/* Caller holds the lock.  `but`, who has just come, stays; it may be NULL. */
static void make_room(struct clients *t, const struct client *but)
{
	struct client *oldest = NULL;

	if (t->open_count <= t->config.open_max)
		return;
	for (uint32_t i = 0; i < t->config.places; i++) {
		struct client *c = &t->place[i];

		if (c != but &&
		    (oldest == NULL || c->since_ns < oldest->since_ns) &&
		    may_go(c))
			oldest = c;
	}
	if (oldest != NULL)
		shut(oldest);
}

/* Caller holds the lock. */
static void begin(struct client *c, enum client_phase phase)
{
	struct clients *t = c->clients;

	c->phase = phase;
	c->since_ns = clock_now_ns();
	c->end_ns = first_look_ns(c);
	c->was_late = false;
	c->moved_bytes = unknown_bytes;
	if (c->end_ns < t->wake_ns) {
		t->wake_ns = c->end_ns;
		(void)pthread_cond_signal(&t->sooner);
	}
}

struct client *client_add(struct clients *t, int fd, bool is_plain)
{
	struct client *c = t->place;

	(void)pthread_mutex_lock(&t->lock);
	while (c->clients != NULL) {
		c++;
		assert(c < t->place + t->config.places);
	}
	*c = (struct client){ .clients = t, .fd = fd, .is_plain = is_plain };
	t->taken_count++;
	t->open_count++;
	begin(c, CLIENT_HEAD);
	make_room(t, c);
	(void)pthread_mutex_unlock(&t->lock);
	return c;
}

void client_remove(struct client *c)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	t->taken_count--;
	t->open_count -= !c->is_shut;
	*c = (struct client){ .clients = NULL };
	(void)pthread_mutex_unlock(&t->lock);
}

uint32_t clients_excess(struct clients *t)
{
	uint32_t excess = 0;

	(void)pthread_mutex_lock(&t->lock);
	if (t->taken_count > t->config.open_max)
		excess = t->taken_count - t->config.open_max;
	(void)pthread_mutex_unlock(&t->lock);
	return excess;
}

void client_enter(struct client *c, enum client_phase phase)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	c->request_count += phase == CLIENT_HEAD;
	if (c->is_shut && phase != CLIENT_IDLE) { /* it had sent one more */
		c->is_shut = false;
		t->open_count++;
	}
	if (!c->is_shut) {
		begin(c, phase);
		if (phase == CLIENT_IDLE)
			make_room(t, NULL);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

bool client_is_shut(const struct client *c)
{
	struct clients *t = c->clients;
	bool is_shut;

	(void)pthread_mutex_lock(&t->lock);
	is_shut = c->is_shut;
	(void)pthread_mutex_unlock(&t->lock);
	return is_shut;
}

uint64_t client_request_count(const struct client *c)
{
	return c->request_count;
}

/* Caller holds the lock. */
static void look_at_all(struct clients *t)
{
	uint64_t now_ns = clock_now_ns();
	bool in_time = now_ns < after(t->wake_ns, LOOK_AGAIN_MS);

	t->wake_ns = never_ns;
	for (uint32_t i = 0; i < t->config.places; i++) {
		struct client *c = &t->place[i];

		if (c->clients == NULL)
			continue;
		if (c->end_ns <= now_ns)
			look_at(c, now_ns, in_time);
		if (c->end_ns < t->wake_ns)
			t->wake_ns = c->end_ns;
	}
	make_room(t, NULL);
}

/* Caller holds the lock, and gets it back. */
static void sleep_until_woken(struct clients *t)
{
	if (t->wake_ns == never_ns)
		(void)pthread_cond_wait(&t->sooner, &t->lock);
	else
		(void)wait_until(&t->sooner, &t->lock, t->wake_ns);
}

static void *watch(void *arg)
{
	struct clients *t = arg;

	(void)pthread_setname_np(pthread_self(), "clients");
	(void)pthread_mutex_lock(&t->lock);
	while (!t->stopping) {
		if (clock_now_ns() >= t->wake_ns)
			look_at_all(t);
		sleep_until_woken(t);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

struct clients *clients_start(const struct clients_config *config)
{
	struct clients *t =
		calloc(1, sizeof(*t) + config->places * sizeof(struct client));

	assert(config->open_max <= config->places);
	if (t == NULL)
		return NULL;
	t->config = *config;
	t->wake_ns = never_ns;
	(void)pthread_mutex_init(&t->lock, NULL);
	wait_init(&t->sooner);
	if (pthread_create(&t->watch, NULL, watch, t) == 0)
		return t;
	(void)pthread_cond_destroy(&t->sooner);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
	return NULL;
}

void clients_stop(struct clients *t)
{
	if (t == NULL)
		return;
	(void)pthread_mutex_lock(&t->lock);
	assert(t->open_count == 0);
	t->stopping = true;
	(void)pthread_cond_signal(&t->sooner);
	(void)pthread_mutex_unlock(&t->lock);
	(void)pthread_join(t->watch, NULL);
	(void)pthread_cond_destroy(&t->sooner);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}
