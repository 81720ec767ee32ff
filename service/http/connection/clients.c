/* SPDX-License-Identifier: MIT */
/*
 * One lock protects everything.  It is taken about five times in a request, and
 * usually held for a few instructions.  It guarantees that no client is shut
 * down for a phase that it has just left, that no socket is shut down after it
 * was closed, and that a held connection is resumed exactly once, and not
 * before it was suspended.
 *
 * The kernel counts the bytes of a transfer (TCP_INFO), and the thread below
 * reads this count every window_ms.
 *
 * When a connection must be closed for a new one, the search is cheap if some
 * have been silent for long: connections that have sent nothing are in a list,
 * oldest first, and a system call finds one.  Otherwise all slots are searched.
 * A system call is made only for a client that would be closed rather than the
 * one found until then, judging from its phase, times and address.  If it turns
 * out not to be slow, it is skipped for a while (spared_until_ns).
 */
#include "service/http/connection/clients.h"
#include "service/http/transport.h"

#include "base/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum {
	LOOK_AGAIN_MS = 250,
	/* A client is not evicted for this time while it waits for us. */
	OUR_TURN_MS = 50,
	PROGRESS_RATE = 1024,  /* bytes per s; used if there is no rate_min */
	RATE_LOOKS = 4,        /* how often a drain checks the rate of a body */
	KNOWN_RATE_MS = 1000,  /* the rate of a body is known after this time */
	STATE_ESTABLISHED = 1, /* of TCP_INFO; no header that fits has it */
	WORTH_BYTES = 4096,    /* a lower mark is not worth the system call */
};

static const uint64_t unknown_bytes = UINT64_MAX;

/* A queue: clients are added at its end. */
TAILQ_HEAD(list, client);

struct client {
	struct clients *clients; /* NULL: the slot is free */
	struct list *list;       /* the list that contains it; NULL: none */
	TAILQ_ENTRY(client) link;
	int site; /* see addresses.h */
	int fd;
	bool is_trusted; /* it is one of the configuration's `trusted` */
	bool is_plain;
	bool is_shut;
	_Atomic bool is_silent; /* see client_be_silent() */
	bool is_cut;            /* see client_cut() */
	enum client_refusal told;
	_Atomic enum client_refusal refusal; /* see client_receive() */
	enum client_phase phase;
	uint64_t since_ns;
	/* When the watching thread next checks the client. */
	uint64_t end_ns;
	bool was_late;        /* at the last check */
	uint64_t body_end_ns; /* see client_expect_until() */
	/* Bytes of a transfer, at the last check. */
	uint64_t moved_bytes;
	uint64_t body_bytes;  /* of the whole body; 0: not known */
	uint64_t rated_bytes; /* arrived_bytes() at rated_ns */
	/* The last and the next check of the rate. */
	uint64_t rated_ns, rate_look_ns;
	uint64_t request_count;
	/* In its present phase, the client is not evicted before this. */
	uint64_t spared_until_ns;
	_Atomic uint64_t received_bytes; /* bytes of the body, in CLIENT_BODY */
	/* The socket's SO_RCVLOWAT; changed under the lock. */
	_Atomic uint32_t low_water_bytes;
	/* Of a reply that is not new: bytes and time of the first check. */
	uint64_t shown_bytes, shown_ns;
	/*
	 * While the client is held: the connection to resume, or the condition
	 * to signal.
	 */
	struct connection *connection;
	pthread_cond_t *turn;
};

/* The requests of one kind that wait for their turn. */
struct gate {
	struct list held;
	uint64_t turn_ns; /* when the next one may go on */
};

struct clients {
	struct clients_config config;
	pthread_t watch;
	pthread_mutex_t lock; /* protects the members below */
	/* wake_ns is earlier now, or the thread must stop. */
	pthread_cond_t sooner;
	bool stopping;
	uint64_t wake_ns;      /* when the thread checks all clients */
	uint64_t drain_end_ns; /* 0: no drain */
	/* Time between two checks of a body's rate, in a drain. */
	uint32_t rate_look_ms;
	/*
	 * Clients that are not shut; changed under the lock, and read without
	 * it by each reply.
	 */
	_Atomic uint32_t open_count;
	uint32_t taken_count; /* slots in use */
	struct list unused;   /* free slots */
	/* Clients that, as far as is known, have not sent a byte. */
	struct list silent;
	struct gate gates[CLIENT_TURNS];
	struct clients_counts counts;
	struct sites sites;
	struct client slots[];
};

static void list_add(struct list *list, struct client *c)
{
	c->list = list;
	TAILQ_INSERT_TAIL(list, c, link);
}

/* Remove the client from the list that contains it, if any. */
static void list_remove(struct client *c)
{
	if (c->list != NULL)
		TAILQ_REMOVE(c->list, c, link);
	c->list = NULL;
}

static uint64_t time_after(uint64_t now_ns, uint32_t ms)
{
	return ms > 0 ? now_ns + ms * NS_PER_MS : WAIT_NEVER_NS;
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

/* Until then a transfer needs rate_min; after it, any bytes are enough. */
static uint64_t transfer_end_ns(const struct client *c)
{
	return c->phase == CLIENT_BODY ?
		       earlier(c->body_end_ns,
			       time_after(c->since_ns,
					  c->clients->config.body_ms)) :
		       WAIT_NEVER_NS;
}

/* When to check a transfer again, if it is not late now. */
static uint64_t next_look_ns(const struct client *c, uint64_t now_ns)
{
	const struct clients_config *config = &c->clients->config;
	uint64_t end_ns = transfer_end_ns(c);

	if (c->phase == CLIENT_STREAM)
		return time_after(now_ns, config->idle_ms);
	if (now_ns >= end_ns)
		return time_after(now_ns, LOOK_AGAIN_MS);
	return earlier(end_ns, time_after(now_ns, config->rate_min > 0 ?
							  config->window_ms :
							  0));
}

static uint64_t first_look_ns(const struct client *c)
{
	const struct clients_config *config = &c->clients->config;

	switch (c->phase) {
	case CLIENT_HEAD:
		return time_after(c->since_ns, config->head_ms);
	case CLIENT_IDLE:
		return time_after(c->since_ns, config->idle_ms);
	case CLIENT_BODY:
	case CLIENT_REPLY:
	case CLIENT_STREAM:
		return next_look_ns(c, c->since_ns);
	case CLIENT_WAIT:
	case CLIENT_WORK:
	case CLIENT_HELD:
	case CLIENT_PHASES:
		break;
	}
	return WAIT_NEVER_NS;
}

/* Which of these is the socket ready for?  It respects the low-water mark. */
static short ready_for(const struct client *c, short events)
{
	struct pollfd socket = { .fd = c->fd, .events = events };

	return poll(&socket, 1, 0) > 0 ? socket.revents : 0;
}

/*
 * Does the client wait for the connection's thread to read or to write?  If the
 * client has only shut down its sending side, it does not count as waiting.  If
 * bytes wait to be read, but the socket takes none, the thread may be waiting
 * to send "100 Continue" or a refusal to a client that reads nothing.
 */
static bool is_our_turn(const struct client *c)
{
	const short both = POLLIN | POLLOUT;
	char first;

	if (c->phase == CLIENT_REPLY || c->phase == CLIENT_STREAM)
		return ready_for(c, POLLOUT) != 0;
	return (ready_for(c, both) & both) == both &&
	       recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* The bytes that the client has sent, or acknowledged. */
static uint64_t moved_bytes(const struct client *c)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0)
		return unknown_bytes;
	return c->phase == CLIENT_BODY ? info.tcpi_bytes_received :
					 info.tcpi_bytes_acked;
}

/* Bytes of the body that were read, or wait below the low-water mark. */
static uint64_t arrived_bytes(const struct client *c)
{
	uint64_t bytes = atomic_load(&c->received_bytes);
	int unread = 0;

	if (atomic_load(&c->low_water_bytes) > 1 &&
	    ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0)
		bytes += (uint64_t)unread;
	return bytes;
}

/* Caller holds the lock. */
static void set_low_water(struct client *c, uint32_t bytes)
{
	int value = (int)bytes;

	if (atomic_load(&c->low_water_bytes) == bytes)
		return;
	atomic_store(&c->low_water_bytes, bytes);
	(void)setsockopt(c->fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value));
}

/*
 * The low-water mark while `missing_bytes` of the body are missing.  It is
 * never more than these, because then the last ones would not be read.
 */
static uint32_t low_water_for(const struct client *c, uint64_t missing_bytes,
			      uint64_t wanted_bytes)
{
	uint32_t most = c->clients->config.low_water_bytes;
	uint64_t bytes = min_u64(most, min_u64(missing_bytes, wanted_bytes));

	if (bytes == 0 || !c->is_plain ||
	    atomic_load(&c->refusal) != CLIENT_WELCOME)
		return 1;
	return bytes >= WORTH_BYTES || atomic_load(&c->low_water_bytes) > 1 ?
		       (uint32_t)bytes :
		       1;
}

/* The bytes that a client must have moved since the last check. */
static uint64_t bytes_needed(const struct client *c, uint64_t now_ns)
{
	const struct clients_config *config = &c->clients->config;

	if (c->phase == CLIENT_STREAM || now_ns >= transfer_end_ns(c))
		return 1;
	return config->rate_min * config->window_ms / 1000;
}

/* Caller holds the lock.  Let a held request go on. */
static void resume_held(struct client *c)
{
	list_remove(c);
	if (c->connection != NULL)
		connection_resume(c->connection);
	else
		(void)pthread_cond_signal(c->turn);
}

/* Caller holds the lock. */
static void send_refusal(struct client *c)
{
	enum client_refusal refusal = atomic_load(&c->refusal);
	const char *text;

	if (refusal == CLIENT_WELCOME)
		refusal = CLIENT_TOO_SLOW;
	text = c->clients->config.refusals[refusal];
	if (send(c->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		c->told = refusal;
}

/*
 * Caller holds the lock.  If an idle client has sent a request at this moment,
 * it is still read and answered; unless it leaves replies unread, because then
 * the thread may be waiting to send another one.  If it has certainly sent
 * nothing, it learns so at once: the thread may be busy, and the client should
 * not send a request before the thread notices the end.
 */
static void shut_idle(struct client *c)
{
	char first;

	if (ready_for(c, POLLOUT) == 0) {
		(void)shutdown(c->fd, SHUT_RDWR);
		return;
	}
	(void)shutdown(c->fd, SHUT_RD);
	/*
	 * In this order, because the thread says that it may receive bytes
	 * before it takes them from the socket.
	 */
	if (recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) <= 0 &&
	    atomic_load(&c->is_silent))
		(void)shutdown(c->fd, SHUT_WR);
}

/*
 * Caller holds the lock.  Shut the socket down.  If the client waits for
 * memory, its wait ends when it is seen that the client is gone.  If the client
 * was getting a reply, a reset makes the kernel drop the bytes that the client
 * has not read.
 */
static void shut_client(struct client *c)
{
	static const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	bool is_late = c->phase == CLIENT_BODY ||
		       (c->phase == CLIENT_HEAD && c->request_count > 0);

	assert(!c->is_shut && c->phase != CLIENT_WORK);
	c->is_shut = true;
	c->end_ns = WAIT_NEVER_NS;
	c->clients->open_count--;
	if (c->phase == CLIENT_REPLY || c->phase == CLIENT_STREAM)
		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &reset,
				 sizeof(reset));
	if (is_late && c->is_plain)
		send_refusal(c);
	if (c->phase == CLIENT_IDLE)
		shut_idle(c);
	else
		(void)shutdown(c->fd, SHUT_RDWR);
	if (c->phase == CLIENT_HELD)
		resume_held(c);
	else
		list_remove(c);
}

/*
 * Caller holds the lock.  A body is refused by the connection's thread, at its
 * next piece; if none arrives soon, the client is shut down.  In other phases
 * it is shut down now.
 */
static void refuse_client(struct client *c, enum client_refusal refusal,
			  uint64_t now_ns)
{
	if (c->phase != CLIENT_BODY) {
		shut_client(c);
		return;
	}
	atomic_store(&c->refusal, refusal);
	set_low_water(c, 1); /* the next byte is the next piece */
	c->end_ns = time_after(now_ns, LOOK_AGAIN_MS);
}

/*
 * In a drain: will the body be complete in time if it goes on at `slack` times
 * its rate since the last check?
 */
static bool will_be_complete(const struct client *c, uint64_t now_ns,
			     double slack)
{
	uint64_t end_ns = c->clients->drain_end_ns;
	uint64_t received = arrived_bytes(c);
	double left, got;

	left = (double)c->body_bytes - (double)received;
	/* Fewer: the thread has read bytes that it has not reported yet. */
	got = received > c->rated_bytes ? (double)(received - c->rated_bytes) :
					  0;
	return left * (double)(now_ns - c->rated_ns) <=
	       got * (double)(end_ns - now_ns) * slack;
}

/*
 * At the beginning of a drain: will the body be late if it goes on at its mean
 * rate?
 */
static bool is_hopeless(const struct client *c, uint64_t now_ns)
{
	return c->body_bytes > 0 &&
	       now_ns >= time_after(c->since_ns, KNOWN_RATE_MS) &&
	       !will_be_complete(c, now_ns, 2);
}

/*
 * No check is needed at the end of the drain: then clients_drain() is called
 * again, and refuses all bodies.
 */
static void set_next_rate_look(struct client *c, uint64_t look_ns)
{
	c->rate_look_ns =
		look_ns < c->clients->drain_end_ns ? look_ns : WAIT_NEVER_NS;
}

/* Caller holds the lock. */
static void set_rate_look(struct client *c, uint64_t now_ns)
{
	c->rated_ns = now_ns;
	c->rated_bytes = arrived_bytes(c);
	set_next_rate_look(c, time_after(now_ns, c->clients->rate_look_ms));
}

/*
 * Caller holds the lock, during a drain.  If this check is late, or received
 * bytes were not read yet, the rate is unknown, and the client is checked again
 * soon.
 */
static void check_rate(struct client *c, uint64_t now_ns, bool in_time)
{
	c->end_ns = next_look_ns(c, now_ns);
	if (!in_time || is_our_turn(c)) {
		set_next_rate_look(c, time_after(now_ns, LOOK_AGAIN_MS));
		return;
	}
	if (c->body_bytes > 0 && now_ns < c->clients->drain_end_ns &&
	    !will_be_complete(c, now_ns, 1))
		refuse_client(c, CLIENT_STOPPING, now_ns);
	set_rate_look(c, now_ns);
}

/*
 * Caller holds the lock.  The client's time is over: refuse it or give it more
 * time.  It is refused only if it was late at two checks and the second check
 * was in time.  The reason: its last bytes may have been read but not yet
 * processed, especially if the whole process was stopped and has just been
 * continued.
 */
static void check_time(struct client *c, uint64_t now_ns, bool in_time)
{
	uint64_t need = bytes_needed(c, now_ns);
	uint64_t moved = is_transfer(c) ? moved_bytes(c) : 0;
	bool was_late = c->was_late && in_time;

	c->was_late = false;
	c->end_ns = time_after(now_ns, LOOK_AGAIN_MS);
	/* The request is refused at its next byte. */
	if (c->phase == CLIENT_BODY && now_ns >= transfer_end_ns(c))
		set_low_water(c, 1);
	if (is_our_turn(c)) {
		c->moved_bytes = unknown_bytes;
		/* The client waits for the next frame. */
		if (c->phase == CLIENT_STREAM)
			c->end_ns = next_look_ns(c, now_ns);
	} else if (is_transfer(c) && (c->moved_bytes == unknown_bytes ||
				      moved - c->moved_bytes >= need)) {
		c->end_ns = next_look_ns(c, now_ns);
		c->moved_bytes = moved;
	} else if (was_late) {
		refuse_client(c, CLIENT_TOO_SLOW, now_ns);
	} else {
		c->was_late = true;
	}
}

/* Caller holds the lock. */
static void check_client(struct client *c, uint64_t now_ns, bool in_time)
{
	if (atomic_load(&c->refusal) != CLIENT_WELCOME) {
		c->end_ns = time_after(now_ns, LOOK_AGAIN_MS);
		if (!is_our_turn(c))
			shut_client(c);
		return;
	}
	if (c->phase != CLIENT_BODY || now_ns < c->rate_look_ns)
		check_time(c, now_ns, in_time);
	else
		check_rate(c, now_ns, in_time);
	if (c->phase == CLIENT_BODY && !c->is_shut)
		c->end_ns = earlier(c->end_ns, c->rate_look_ns);
}

/* The time that `bytes` may take. */
static uint64_t transfer_ns(const struct clients *t, uint64_t bytes)
{
	/* Times 1e9 does not overflow. */
	const uint64_t most = UINT64_C(1) << 33;
	uint64_t rate =
		t->config.rate_min > 0 ? t->config.rate_min : PROGRESS_RATE;

	return (bytes < most ? bytes : most) * 1000000000 / rate;
}

static uint64_t grace_end_ns(const struct client *c, uint64_t since_ns)
{
	return since_ns + c->clients->config.fresh_ms * NS_PER_MS;
}

/*
 * Has a transfer moved enough bytes for its time?  Called rarely.  Of a reply
 * that has just begun this is not known: what the client's system has received
 * so far, it would also receive if nobody reads it.
 */
static bool makes_progress(struct client *c, uint64_t now_ns)
{
	const struct clients *t = c->clients;
	uint64_t end_ns;

	if (c->phase == CLIENT_BODY) {
		end_ns = c->since_ns + transfer_ns(t, arrived_bytes(c));
	} else if (now_ns < grace_end_ns(c, c->since_ns)) {
		return false;
	} else if (c->shown_ns == 0) {
		c->shown_ns = now_ns;
		c->shown_bytes = moved_bytes(c);
		end_ns = grace_end_ns(c, now_ns);
	} else {
		end_ns = c->shown_ns +
			 transfer_ns(t, moved_bytes(c) - c->shown_bytes);
	}
	c->spared_until_ns =
		earlier(end_ns, time_after(now_ns, t->config.window_ms));
	return now_ns < end_ns;
}

/* May this client be closed for a new connection? */
static bool may_evict(struct client *c, uint64_t now_ns)
{
	if (c->phase == CLIENT_HELD || c->phase == CLIENT_WAIT)
		return true;
	if (is_our_turn(c)) {
		c->spared_until_ns = time_after(now_ns, OUR_TURN_MS);
		return false;
	}
	return !is_transfer(c) || !makes_progress(c, now_ns);
}

/* Caller holds the lock.  Has the client ever sent a byte? */
static bool has_sent(const struct client *c)
{
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	return getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
	       info.tcpi_bytes_received > 0;
}

/*
 * Caller holds the lock.  The oldest client that came before `before_ns` and
 * has sent nothing, but not `but`.  NULL: there is none.
 */
static struct client *find_silent(struct clients *t, const struct client *but,
				  uint64_t before_ns)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&t->silent)) != NULL && c != but &&
	       c->since_ns < before_ns) {
		if (!has_sent(c))
			return c;
		list_remove(c);
	}
	return NULL;
}

static uint32_t connections_of(const struct client *c)
{
	return sites_count(&c->clients->sites, c->site);
}

/*
 * In which order clients without progress are closed.  A client in a new phase
 * has grace: it learns of the phase from us, or must send the next packet.
 */
enum rank { RANK_LATE, RANK_GRACE, RANK_WAITS };

static enum rank rank_of(const struct client *c, uint64_t now_ns)
{
	if (c->phase == CLIENT_WAIT)
		return RANK_WAITS;
	return (c->phase == CLIENT_HEAD || is_transfer(c)) &&
			       now_ns < grace_end_ns(c, c->since_ns) ?
		       RANK_GRACE :
		       RANK_LATE;
}

/* Should `a` be closed rather than `b`, if both may be closed? */
static bool is_evicted_first(const struct client *a, const struct client *b,
			     uint64_t now_ns)
{
	uint32_t of_a = connections_of(a), of_b = connections_of(b);
	enum rank rank = rank_of(a, now_ns), other = rank_of(b, now_ns);

	if (rank != other)
		return rank < other;
	if (of_a != of_b)
		return of_a > of_b;
	return rank == RANK_WAITS ? a->since_ns > b->since_ns :
				    a->since_ns < b->since_ns;
}

/*
 * Caller holds the lock.  The client to close among those that make no
 * progress, but not `but`.  NULL: there is none.
 */
static struct client *find_slow(struct clients *t, const struct client *but,
				uint64_t now_ns)
{
	struct client *found = NULL;

	for (uint32_t i = 0; i < t->config.slots; i++) {
		struct client *c = &t->slots[i];

		if (c->clients == NULL || c->is_shut || c == but ||
		    c->phase == CLIENT_WORK || now_ns < c->spared_until_ns)
			continue;
		if ((found == NULL || is_evicted_first(c, found, now_ns)) &&
		    may_evict(c, now_ns))
			found = c;
	}
	return found;
}

/*
 * Caller holds the lock.  Are more than half of the slots beyond open_max used?
 */
static bool is_crowded(const struct clients *t)
{
	return t->open_count - t->config.open_max >
	       (t->config.slots - t->config.open_max) / 2;
}

/*
 * Caller holds the lock.  Those that have grace now may be slow soon, and
 * without a free slot no new connection would cause another look.
 */
static void look_again(struct clients *t, uint64_t now_ns)
{
	uint64_t again_ns = time_after(now_ns, LOOK_AGAIN_MS);

	if (again_ns < t->wake_ns) {
		t->wake_ns = again_ns;
		(void)pthread_cond_signal(&t->sooner);
	}
}

/*
 * May the client that ranks first be closed although it is not crowded?  While
 * somebody has grace, the new client included, no client that waits for us is
 * closed: either the former is late soon, or it becomes crowded.
 */
static bool may_go(const struct client *c, const struct client *newest,
		   uint64_t now_ns)
{
	switch (rank_of(c, now_ns)) {
	case RANK_LATE:
		return true;
	case RANK_GRACE:
		return false;
	case RANK_WAITS:
		return newest == NULL || rank_of(newest, now_ns) != RANK_GRACE;
	}
	abort();
}

/* Caller holds the lock.  The one to close, but not `but`; NULL: none yet. */
static struct client *find_to_close(struct clients *t, const struct client *but,
				    uint64_t now_ns)
{
	uint64_t fresh_ns = t->config.fresh_ms * NS_PER_MS;
	struct client *c =
		find_silent(t, but, now_ns > fresh_ns ? now_ns - fresh_ns : 0);

	if (c != NULL)
		return c;
	c = find_slow(t, but, now_ns);
	return c == NULL || (but != NULL && is_crowded(t)) ||
			       may_go(c, but, now_ns) ?
		       c :
		       NULL;
}

/*
 * Caller holds the lock.  Close one, but not `but`, the new client; it may be
 * NULL.  If there are still too many, the watch looks again.
 */
static void evict_if_full(struct clients *t, const struct client *but)
{
	uint64_t now_ns;
	struct client *c;

	if (t->open_count <= t->config.open_max)
		return;
	now_ns = clock_now_ns();
	c = find_to_close(t, but, now_ns);
	if (c != NULL) {
		t->counts.evicted_count++;
		shut_client(c);
	}
	if (t->open_count > t->config.open_max)
		look_again(t, now_ns);
}

/* Caller holds the lock. */
static void wake_for(const struct client *c)
{
	struct clients *t = c->clients;

	if (c->end_ns < t->wake_ns) {
		t->wake_ns = c->end_ns;
		(void)pthread_cond_signal(&t->sooner);
	}
}

/* Caller holds the lock. */
static void begin_body(struct client *c)
{
	c->body_bytes = 0;
	c->rated_bytes = 0;
	c->rated_ns = c->since_ns;
	c->rate_look_ns = WAIT_NEVER_NS;
	if (c->clients->drain_end_ns > 0)
		set_rate_look(c, c->since_ns);
	c->end_ns = earlier(c->end_ns, c->rate_look_ns);
}

/* Caller holds the lock. */
static void begin_phase(struct client *c, enum client_phase phase)
{
	c->phase = phase;
	c->since_ns = clock_now_ns();
	c->end_ns = first_look_ns(c);
	c->was_late = false;
	c->moved_bytes = unknown_bytes;
	c->spared_until_ns = 0;
	c->shown_ns = 0;
	atomic_store(&c->is_silent, false);
	set_low_water(c, 1);
	atomic_store_explicit(&c->received_bytes, 0, memory_order_relaxed);
	atomic_store(&c->refusal, CLIENT_WELCOME);
	if (phase == CLIENT_HEAD)
		c->body_end_ns = WAIT_NEVER_NS;
	if (phase == CLIENT_BODY)
		begin_body(c);
	wake_for(c);
}

bool clients_admit(struct clients *t, const struct sockaddr *from)
{
	uint32_t max = t->config.per_address_max;
	bool is_full;

	if (max == 0)
		return true;
	(void)pthread_mutex_lock(&t->lock);
	is_full = sites_count_from(&t->sites, from) >= max;
	t->counts.refused_count += is_full;
	(void)pthread_mutex_unlock(&t->lock);
	return !is_full;
}

/*
 * Caller holds the lock.  Does the site of the client now have too many
 * connections?  Others may have come since clients_admit().
 */
static bool is_one_too_many(const struct client *c)
{
	uint32_t max = c->clients->config.per_address_max;

	return max > 0 && connections_of(c) > max;
}

struct client *client_add(struct clients *t, int fd,
			  const struct sockaddr *from, bool is_plain)
{
	struct client *c;

	(void)pthread_mutex_lock(&t->lock);
	c = TAILQ_FIRST(&t->unused);
	assert(c != NULL);
	list_remove(c);
	*c = (struct client){
		.clients = t,
		.fd = fd,
		.is_trusted = networks_contain(&t->config.trusted, from),
		.is_plain = is_plain,
		.low_water_bytes = 1,
	};
	c->site = sites_enter(&t->sites, from);
	list_add(&t->silent, c);
	t->taken_count++;
	t->open_count++;
	begin_phase(c, CLIENT_HEAD);
	if (is_one_too_many(c)) {
		t->counts.refused_count++;
		shut_client(c);
	}
	evict_if_full(t, c);
	(void)pthread_mutex_unlock(&t->lock);
	return c;
}

void client_cut(struct client *c)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	c->is_cut = true;
	(void)pthread_mutex_unlock(&t->lock);
}

/*
 * Caller holds the lock.  The last reply was sent: may the client still be
 * sending a request?  In CLIENT_HEAD, the transport itself has refused the
 * head.
 */
static bool may_still_send(const struct client *c)
{
	char first;
	ssize_t unread;

	if (c->is_shut)
		return false;
	unread = recv(c->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
	return unread > 0 || (unread < 0 && errno == EAGAIN &&
			      (c->is_cut || c->phase == CLIENT_HEAD));
}

bool client_is_trusted(const struct client *c)
{
	return c->is_trusted;
}

bool client_remove(struct client *c)
{
	struct clients *t = c->clients;
	bool still_sends;

	(void)pthread_mutex_lock(&t->lock);
	still_sends = may_still_send(c);
	assert(c->phase != CLIENT_HELD || c->list == NULL);
	list_remove(c);
	sites_leave(&t->sites, c->site);
	t->taken_count--;
	t->open_count -= !c->is_shut;
	*c = (struct client){ .clients = NULL };
	list_add(&t->unused, c);
	(void)pthread_mutex_unlock(&t->lock);
	return still_sends;
}

void clients_read_counts(struct clients *t, struct clients_counts *out)
{
	(void)pthread_mutex_lock(&t->lock);
	*out = t->counts;
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

bool clients_are_too_many(struct clients *t)
{
	return atomic_load(&t->open_count) > t->config.open_max;
}

void client_enter(struct client *c, enum client_phase phase)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	c->request_count += phase == CLIENT_HEAD;
	list_remove(c); /* from the list of clients that have sent nothing */
	/* Its request had already arrived when it was shut down. */
	if (c->is_shut && phase != CLIENT_IDLE) {
		c->is_shut = false;
		t->open_count++;
	}
	if (!c->is_shut) {
		begin_phase(c, phase);
		if (phase == CLIENT_IDLE)
			evict_if_full(t, NULL);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

void client_expect(struct client *c, uint64_t body_bytes)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	c->body_bytes = body_bytes;
	(void)pthread_mutex_unlock(&t->lock);
}

void client_expect_until(struct client *c, uint64_t end_ns)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	if (!c->is_shut) {
		c->body_end_ns = end_ns;
		c->end_ns = earlier(c->end_ns, transfer_end_ns(c));
		wake_for(c);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

bool client_end_wait(struct client *c, uint64_t body_bytes)
{
	struct clients *t = c->clients;
	uint64_t received;
	bool goes_on;

	(void)pthread_mutex_lock(&t->lock);
	goes_on = !c->is_shut;
	if (goes_on) {
		received = atomic_load(&c->received_bytes);
		begin_phase(c, CLIENT_BODY);
		c->body_bytes = body_bytes;
		atomic_store(&c->received_bytes, received);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return goes_on;
}

enum client_refusal client_receive(struct client *c, uint64_t bytes)
{
	(void)atomic_fetch_add_explicit(&c->received_bytes, bytes,
					memory_order_relaxed);
	return atomic_load(&c->refusal);
}

void client_gather(struct client *c, uint64_t wanted_bytes)
{
	struct clients *t = c->clients;
	uint64_t received = atomic_load(&c->received_bytes);
	uint64_t missing =
		c->body_bytes > received ? c->body_bytes - received : 0;

	if (low_water_for(c, missing, wanted_bytes) ==
	    atomic_load(&c->low_water_bytes))
		return;
	(void)pthread_mutex_lock(&t->lock);
	if (!c->is_shut)
		set_low_water(c, low_water_for(c, missing, wanted_bytes));
	(void)pthread_mutex_unlock(&t->lock);
}

enum client_refusal client_told(const struct client *c)
{
	struct clients *t = c->clients;
	enum client_refusal told;

	(void)pthread_mutex_lock(&t->lock);
	told = c->told;
	(void)pthread_mutex_unlock(&t->lock);
	return told;
}

void clients_drain(struct clients *t, uint32_t limit_ms)
{
	uint64_t now_ns = clock_now_ns();

	(void)pthread_mutex_lock(&t->lock);
	t->drain_end_ns = now_ns + limit_ms * NS_PER_MS;
	t->rate_look_ms = limit_ms / RATE_LOOKS;
	if (t->rate_look_ms < LOOK_AGAIN_MS)
		t->rate_look_ms = LOOK_AGAIN_MS;
	for (uint32_t i = 0; i < t->config.slots; i++) {
		struct client *c = &t->slots[i];

		if (c->clients == NULL || c->is_shut || c->phase != CLIENT_BODY)
			continue;
		if (limit_ms == 0 || is_hopeless(c, now_ns))
			refuse_client(c, CLIENT_STOPPING, now_ns);
		set_rate_look(c, now_ns);
		c->end_ns = earlier(c->end_ns, c->rate_look_ns);
		wake_for(c);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

/* Caller holds the lock.  True: a request of this kind may go on now. */
static bool take_turn(struct clients *t, enum client_turn kind, uint64_t now_ns)
{
	uint64_t step_ns = t->config.turn_ms[kind] * NS_PER_MS;
	uint64_t unused_ns = t->config.turns_at_once * step_ns;
	struct gate *gate = &t->gates[kind];

	if (now_ns < gate->turn_ns)
		return false;
	if (now_ns - gate->turn_ns > unused_ns)
		gate->turn_ns = now_ns - unused_ns;
	gate->turn_ns += step_ns;
	return true;
}

/* Caller holds the lock, which is released while it waits. */
static void hold_request(struct client *c, enum client_turn kind,
			 struct connection *connection)
{
	struct clients *t = c->clients;
	struct gate *gate = &t->gates[kind];
	pthread_cond_t turn = PTHREAD_COND_INITIALIZER;

	t->counts.held_count++;
	c->connection = connection;
	c->turn = &turn;
	begin_phase(c, CLIENT_HELD);
	if (TAILQ_FIRST(&gate->held) == NULL)
		(void)pthread_cond_signal(&t->sooner);
	list_add(&gate->held, c);
	if (connection != NULL)
		connection_suspend(connection);
	evict_if_full(t, NULL);
	while (connection == NULL && c->list != NULL)
		(void)pthread_cond_wait(&turn, &t->lock);
	(void)pthread_cond_destroy(&turn);
}

bool client_hold(struct client *c, enum client_turn kind,
		 struct connection *connection)
{
	struct clients *t = c->clients;
	bool goes_on;

	(void)pthread_mutex_lock(&t->lock);
	assert(c->phase == CLIENT_WORK && c->list == NULL);
	goes_on = t->config.turn_ms[kind] == 0 ||
		  (TAILQ_FIRST(&t->gates[kind].held) == NULL &&
		   take_turn(t, kind, clock_now_ns()));
	if (!goes_on)
		hold_request(c, kind, connection);
	(void)pthread_mutex_unlock(&t->lock);
	return goes_on || connection == NULL;
}

/* Caller holds the lock. */
static void give_turns(struct clients *t)
{
	uint64_t now_ns = clock_now_ns();

	for (int kind = 0; kind < CLIENT_TURNS; kind++) {
		const struct list *held = &t->gates[kind].held;

		while (TAILQ_FIRST(held) != NULL &&
		       (t->config.turn_ms[kind] == 0 ||
			take_turn(t, (enum client_turn)kind, now_ns))) {
			struct client *c = TAILQ_FIRST(held);

			begin_phase(c, CLIENT_WORK);
			resume_held(c);
		}
	}
}

void clients_end_holding(struct clients *t)
{
	if (t == NULL)
		return;
	(void)pthread_mutex_lock(&t->lock);
	for (int kind = 0; kind < CLIENT_TURNS; kind++)
		t->config.turn_ms[kind] = 0;
	give_turns(t);
	(void)pthread_mutex_unlock(&t->lock);
}

void client_give_way(struct client *c)
{
	struct clients *t = c->clients;

	(void)pthread_mutex_lock(&t->lock);
	if (c->phase == CLIENT_BODY && !c->is_shut &&
	    atomic_load(&c->refusal) == CLIENT_WELCOME) {
		refuse_client(c, CLIENT_TOO_SLOW, clock_now_ns());
		wake_for(c);
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

void client_be_silent(struct client *c, bool is_silent)
{
	atomic_store(&c->is_silent, is_silent);
}

bool client_has_closed(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };
	struct tcp_info info = { 0 };
	socklen_t bytes = sizeof(info);

	/* The end may be our own: see shut_idle(). */
	return poll(&end, 1, 0) > 0 &&
	       (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 ||
		info.tcpi_state != STATE_ESTABLISHED);
}

uint64_t client_request_count(const struct client *c)
{
	return c->request_count;
}

/* Caller holds the lock. */
static void check_all(struct clients *t)
{
	uint64_t now_ns = clock_now_ns();
	bool in_time = now_ns < time_after(t->wake_ns, LOOK_AGAIN_MS);

	t->wake_ns = WAIT_NEVER_NS;
	for (uint32_t i = 0; i < t->config.slots; i++) {
		struct client *c = &t->slots[i];

		if (c->clients == NULL)
			continue;
		if (c->end_ns <= now_ns)
			check_client(c, now_ns, in_time);
		if (c->end_ns < t->wake_ns)
			t->wake_ns = c->end_ns;
	}
	evict_if_full(t, NULL);
}

/* Caller holds the lock, which is released while it sleeps. */
static void sleep_until_woken(struct clients *t)
{
	uint64_t wake_ns = t->wake_ns;

	for (int kind = 0; kind < CLIENT_TURNS; kind++)
		if (TAILQ_FIRST(&t->gates[kind].held) != NULL)
			wake_ns = earlier(wake_ns, t->gates[kind].turn_ns);
	(void)wait_until(&t->sooner, &t->lock, wake_ns);
}

static void *run_watch(void *arg)
{
	struct clients *t = arg;

	(void)pthread_setname_np(pthread_self(), "clients");
	(void)pthread_mutex_lock(&t->lock);
	while (!t->stopping) {
		if (clock_now_ns() >= t->wake_ns)
			check_all(t);
		give_turns(t);
		sleep_until_woken(t);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void clients_free(struct clients *t)
{
	sites_release(&t->sites);
	free(t);
}

struct clients *clients_start(const struct clients_config *config)
{
	struct clients *t =
		calloc(1, sizeof(*t) + config->slots * sizeof(struct client));

	assert(config->open_max <= config->slots);
	if (t == NULL)
		return NULL;
	t->config = *config;
	t->wake_ns = WAIT_NEVER_NS;
	TAILQ_INIT(&t->unused);
	TAILQ_INIT(&t->silent);
	for (int kind = 0; kind < CLIENT_TURNS; kind++)
		TAILQ_INIT(&t->gates[kind].held);
	for (uint32_t i = 0; i < config->slots; i++)
		list_add(&t->unused, &t->slots[i]);
	(void)pthread_mutex_init(&t->lock, NULL);
	wait_init(&t->sooner);
	if (sites_init(&t->sites, config->slots, &t->config.trusted) &&
	    pthread_create(&t->watch, NULL, run_watch, t) == 0)
		return t;
	(void)pthread_cond_destroy(&t->sooner);
	(void)pthread_mutex_destroy(&t->lock);
	clients_free(t);
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
	clients_free(t);
}
