/* SPDX-License-Identifier: MIT */
#include "service/store/remote/remote.h"

#include "base/clock.h"
#include "base/file.h"
#include "service/store/kind.h"
#include "service/store/remote/protocol.h"
#include "service/store/remote/unknown.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	TICK_MS = 1000,   /* between two probes */
	SILENT_MS = 3000, /* a probe without an answer: not available */
	/*
	 * After this number of ticks without an answer of any kind, the
	 * helper hangs and is replaced.  A probe is answered within SILENT_MS.
	 * Ticks and not a time: if all processes were stopped, none of them
	 * hangs.
	 */
	HUNG_TICKS = 10,
	HUNG_START_TICKS = 60, /* before its first answer: it reads its cache */
	TURN_MS = 250,  /* between two attempts to send to a full socket */
	SEND_US = 1000, /* time to wait for room in it; with the lock held */
	PATIENCE_MS = 5000, /* not available for longer: calls wait briefly */
	BRIEF_MS = 1000,
	LAST_ANSWER_MS = 500, /* the helper knows the deadline: wait longer */
	PROBE_NUMBER = 0,
	/* After this number of helpers has failed, a request is given up. */
	FAILURES_MAX = 3,
	NAME_BYTES = 600,
};

/* Of struct store_figures, those that are counted. */
#define FIGURES_COUNTED (offsetof(struct store_figures, now) / sizeof(uint64_t))

/* A request that waits for its answer; in the stack of its caller. */
struct call {
	LIST_ENTRY(call) link;
	struct message request;
	int fd; /* sent with it; -1: none */
	bool is_sent, is_done;
	uint32_t failures; /* helpers that failed after it was sent to them */
	pthread_cond_t done;
	struct message answer;
	int answer_fd;       /* the caller's; -1: none */
	uint64_t answer_end; /* READ: where its file ends, in the package */
};

struct remote {
	struct store store; /* first: see remote_of() */
	int socket, control;
	pthread_t receiver;
	bool has_receiver;
	_Atomic bool is_stopping;

	pthread_mutex_t lock; /* of all below */
	LIST_HEAD(, call) calls;
	uint64_t last_number;
	bool is_abandoned;
	bool has_ended;     /* the keeper: there will be no answers */
	bool is_state_told; /* the log has a line about it */
	uint64_t unavailable_since_ns;  /* 0: available */
	char why[MESSAGE_DETAIL_BYTES]; /* it is not available */
	uint64_t probed_ns;             /* of a probe without an answer; or 0 */
	uint32_t silent_ticks;          /* since the helper's last answer */
	bool has_answered;              /* this helper */
	uint64_t helper_starts;
	struct store_figures before, now; /* of earlier helpers, of this one */
	struct unknown unknown;

	char name[NAME_BYTES]; /* of the store, for the log; never changes */
};

static struct remote *remote_of(struct store *s)
{
	return container_of(s, struct remote, store);
}

static void report(struct remote *r, bool is_wrong, const char *text)
{
	const struct store *s = &r->store;

	if (s->report != NULL && text[0] != '\0')
		s->report(s->report_arg, is_wrong, text);
}

/* Caller holds the lock, here and in the next functions. */
static void send_call(struct remote *r, struct call *c)
{
	c->is_sent = message_send(r->socket, &c->request, c->fd);
}

/* If the socket is full, the rest is tried again in the next turn. */
static void send_unsent(struct remote *r)
{
	struct call *c;

	LIST_FOREACH(c, &r->calls, link)
	{
		if (!c->is_sent && !c->is_done)
			send_call(r, c);
		if (!c->is_sent && !c->is_done)
			return;
	}
}

/*
 * `why` is NULL if it is available.  True: the state has changed, or it is the
 * first, so the log must be told.
 */
static bool set_available(struct remote *r, const char *why)
{
	bool was = r->unavailable_since_ns == 0;
	bool is_news = was != (why == NULL) || !r->is_state_told;

	if (was != (why == NULL))
		r->unavailable_since_ns = why == NULL ? 0 : clock_now_ns();
	(void)snprintf(r->why, sizeof(r->why), "%s", why != NULL ? why : "");
	r->is_state_told = true;
	return is_news;
}

static void send_probe(struct remote *r)
{
	const struct message probe = {
		.kind = MESSAGE_PROBE,
		.number = PROBE_NUMBER,
		.deadline_ns = clock_after_ms(SILENT_MS),
	};

	if (r->probed_ns == 0 && message_send(r->socket, &probe, -1))
		r->probed_ns = clock_now_ns();
}

static void add_figures(struct store_figures *to,
			const struct store_figures *from)
{
	uint64_t *sum = (uint64_t *)to;
	const uint64_t *more = (const uint64_t *)from;

	for (size_t i = 0; i < FIGURES_COUNTED; i++)
		sum[i] += more[i];
}

_Static_assert(sizeof(struct store_figures) ==
		       FIGURES_COUNTED * sizeof(uint64_t) +
			       sizeof(struct store_gauges),
	       "figures are an array of numbers");

static void end_call(struct call *c, const struct message *answer, int fd)
{
	c->answer = *answer;
	c->answer_fd = fd;
	c->is_done = true;
	(void)pthread_cond_signal(&c->done);
}

/*
 * The helper that had these requests was replaced, or has failed.  A request
 * that lets helpers fail must not keep the store from the others.
 */
static void take_back(struct remote *r, bool has_failed)
{
	static const struct message given_up = {
		.kind = MESSAGE_ANSWER,
		.answer = STORE_UNAVAILABLE,
		.detail = "the store helper failed three times while this "
			  "request waited for it",
	};
	struct call *c;

	LIST_FOREACH(c, &r->calls, link)
	{
		if (!c->is_sent || c->is_done)
			continue;
		c->is_sent = false;
		if (has_failed && ++c->failures >= FAILURES_MAX)
			end_call(c, &given_up, -1);
	}
}

/*
 * A helper was started: requests of the one before it have no answer.  If that
 * one has failed, the store is not available until this one answers.
 */
static void begin_helper(struct remote *r, const struct message *m)
{
	add_figures(&r->before, &r->now);
	r->now = (struct store_figures){ .now = r->now.now };
	r->helper_starts++;
	r->probed_ns = 0;
	r->silent_ticks = 0;
	r->has_answered = false;
	take_back(r, m->answer != STORE_OK);
	send_unsent(r);
	if (m->answer != STORE_OK)
		(void)set_available(r, m->detail);
	send_probe(r);
}

/*
 * What an answer says about the store.  Only a probe says that it is not
 * available: the time of another request may have been too short.  A copy of
 * the cache says nothing: the helper gives it without the store.
 */
static bool learn(struct remote *r, const struct message *m)
{
	if (m->is_copy)
		return false;
	if (m->answer == STORE_OK || m->answer == STORE_NOT_FOUND)
		return set_available(r, NULL);
	if (m->number != PROBE_NUMBER)
		return false;
	return set_available(r, m->detail[0] != '\0' ? m->detail :
						       "no reason is known");
}

/* True: the log must be told of the state. */
static bool take_answer(struct remote *r, const struct message *m, int fd)
{
	struct call *c = LIST_FIRST(&r->calls);

	r->now = m->figures;
	r->silent_ticks = 0;
	r->has_answered = true;
	if (m->number == PROBE_NUMBER)
		r->probed_ns = 0;
	while (c != NULL && (c->is_done || c->request.number != m->number))
		c = LIST_NEXT(c, link);
	if (c == NULL && fd >= 0)
		(void)close(fd);
	if (c != NULL)
		end_call(c, m, fd);
	return (c != NULL || m->number == PROBE_NUMBER) && learn(r, m);
}

static void report_state(struct remote *r, const char *why)
{
	char text[NAME_BYTES + MESSAGE_DETAIL_BYTES + 32];

	if (why[0] != '\0')
		(void)snprintf(text, sizeof(text),
			       "store: %s cannot be used: %s", r->name, why);
	else
		(void)snprintf(text, sizeof(text), "store: %s answers",
			       r->name);
	report(r, why[0] != '\0', text);
}

static void take_message(struct remote *r, const struct message *m, int fd)
{
	char why[MESSAGE_DETAIL_BYTES];
	uint64_t cache_error = 0;
	bool has_changed = false, has_lost = false;

	(void)pthread_mutex_lock(&r->lock);
	if (m->kind == MESSAGE_ANSWER &&
	    m->figures.cache_failures > r->now.cache_failures)
		cache_error = m->figures.now.cache_error;
	if (m->kind == MESSAGE_ANSWER)
		has_lost = m->figures.now.lacks_conditions >
			   r->now.now.lacks_conditions;
	if (m->kind == MESSAGE_ANSWER)
		has_changed = take_answer(r, m, fd);
	else if (fd >= 0)
		(void)close(fd);
	if (m->kind == MESSAGE_STARTED)
		begin_helper(r, m);
	(void)strcpy(why, r->why);
	(void)pthread_mutex_unlock(&r->lock);
	if (has_changed)
		report_state(r, why);
	if (cache_error != 0)
		store_tell_failure(&r->store,
				   "an image could not be kept in the folder "
				   "of --store-cache: %s (%s)",
				   strerror((int)cache_error),
				   errno_name((int)cache_error));
	if (has_lost)
		report(r, true,
		       "store: it has no conditional writes (If-Match): if "
		       "several servers change one image in the same moment, "
		       "variants that were added can be lost");
	if (m->kind == MESSAGE_STARTED || m->kind == MESSAGE_NOTE)
		report(r, m->answer != STORE_OK, m->detail);
}

/* The keeper has ended, so nobody starts a helper any more. */
static void end_answers(struct remote *r)
{
	static const char why[] =
		"the process that starts its helper has ended; restart the "
		"server";
	struct call *c;

	if (atomic_load(&r->is_stopping))
		return;
	(void)pthread_mutex_lock(&r->lock);
	r->has_ended = true;
	(void)set_available(r, why);
	LIST_FOREACH(c, &r->calls, link)
	(void)pthread_cond_signal(&c->done);
	(void)pthread_mutex_unlock(&r->lock);
	report_state(r, why);
}

/* Caller holds the lock. */
static bool is_hung(struct remote *r)
{
	if (++r->silent_ticks <
	    (r->has_answered ? HUNG_TICKS : HUNG_START_TICKS))
		return false;
	r->silent_ticks = 0;
	return true;
}

/* Once per tick. */
static void look_around(struct remote *r)
{
	bool is_new, must_replace;

	(void)pthread_mutex_lock(&r->lock);
	is_new = r->probed_ns > 0 &&
		 clock_now_ns() > r->probed_ns + SILENT_MS * NS_PER_MS &&
		 set_available(r, "its helper is silent");
	if (r->probed_ns > 0 &&
	    clock_now_ns() > r->probed_ns + 2 * SILENT_MS * NS_PER_MS)
		r->probed_ns = 0; /* the probe was lost: send another */
	send_probe(r);
	must_replace = is_hung(r);
	(void)pthread_mutex_unlock(&r->lock);
	if (is_new)
		report_state(r, "its helper is silent");
	if (must_replace)
		keeper_replace(r->control);
}

/* False: there will be no more. */
static bool receive_message(struct remote *r)
{
	struct message m;
	int fd;

	switch (message_receive(r->socket, &m, &fd)) {
	case MESSAGE_OK:
		take_message(r, &m, fd);
		break;
	case MESSAGE_BAD:
		report(r, true,
		       "the store helper sent something that is not a message");
		break;
	case MESSAGE_END:
		end_answers(r);
		return false;
	}
	return true;
}

static void *receive(void *arg)
{
	struct remote *r = arg;
	struct pollfd wait = { .fd = r->socket, .events = POLLIN };
	uint64_t tick_ns = 0;

	while (!atomic_load(&r->is_stopping)) {
		if (clock_now_ns() >= tick_ns) {
			look_around(r);
			tick_ns = clock_after_ms(TICK_MS);
		}
		if (poll(&wait, 1, TURN_MS) == 1 && !receive_message(r))
			break;
		(void)pthread_mutex_lock(&r->lock);
		send_unsent(r);
		(void)pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

/* Wait until the answer comes.  False: it did not come by `end_ns`. */
static bool wait_for_answer(struct remote *r, struct call *c, uint64_t end_ns)
{
	uint64_t late_ns = end_ns + LAST_ANSWER_MS * NS_PER_MS;
	const struct timespec end = clock_timespec(late_ns);
	int result = 0;

	while (!c->is_done && !r->is_abandoned && !r->has_ended &&
	       result != ETIMEDOUT)
		result = pthread_cond_timedwait(&c->done, &r->lock, &end);
	return c->is_done;
}

/*
 * When a call must have its answer.  While there is no hope, calls wait only
 * briefly, so that uploads that cannot be stored do not take all slots.
 */
static uint64_t end_of(const struct remote *r, uint64_t deadline_ns)
{
	uint64_t longest_ns = clock_after_ms(REMOTE_WAIT_MS);
	uint64_t since_ns = r->unavailable_since_ns;

	if (since_ns > 0 && clock_now_ns() > since_ns + PATIENCE_MS * NS_PER_MS)
		longest_ns = clock_after_ms(BRIEF_MS);
	return deadline_ns > 0 ? min_u64(deadline_ns, longest_ns) : longest_ns;
}

static void init_condition(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;

	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(c, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

/* The call has no answer.  Caller holds the lock. */
static void explain_silence(const struct remote *r, struct error *why)
{
	if (r->unavailable_since_ns > 0)
		error_set(why, "%s", r->why);
	else
		error_set(why, "the store did not answer in time");
}

/*
 * Send a request, and wait for its answer.  `c->request` is set but for its
 * number; its deadline is that of the caller, or 0.  Afterwards c->answer_fd is
 * the caller's.
 */
static enum store_answer call_helper(struct remote *r, struct call *c,
				     struct error *why)
{
	c->answer_fd = -1;
	if (c->request.deadline_ns > 0 &&
	    clock_now_ns() >= c->request.deadline_ns) {
		error_set(why, "no time was left to ask the store");
		return STORE_UNAVAILABLE;
	}
	init_condition(&c->done);
	(void)pthread_mutex_lock(&r->lock);
	c->request.number = ++r->last_number;
	c->request.deadline_ns = end_of(r, c->request.deadline_ns);
	LIST_INSERT_HEAD(&r->calls, c, link);
	if (!r->is_abandoned && !r->has_ended)
		send_call(r, c);
	if (!wait_for_answer(r, c, c->request.deadline_ns))
		explain_silence(r, why);
	LIST_REMOVE(c, link);
	(void)pthread_mutex_unlock(&r->lock);
	(void)pthread_cond_destroy(&c->done);

	if (!c->is_done)
		return STORE_UNAVAILABLE;
	if (c->answer.answer != STORE_OK && c->answer.answer != STORE_NOT_FOUND)
		error_set(why, "%s", c->answer.detail);
	return (enum store_answer)c->answer.answer;
}

static struct call new_call(enum message_kind kind, const char *id,
			    uint64_t deadline_ns)
{
	struct call c = { .fd = -1,
			  .request = { .kind = kind,
				       .deadline_ns = deadline_ns } };

	(void)snprintf(c.request.id, sizeof(c.request.id), "%s", id);
	return c;
}

static void close_answer(struct call *c)
{
	if (c->answer_fd >= 0)
		(void)close(c->answer_fd);
	c->answer_fd = -1;
}

static void forget_unknown(struct remote *r, const char *id)
{
	(void)pthread_mutex_lock(&r->lock);
	unknown_forget(&r->unknown, id);
	(void)pthread_mutex_unlock(&r->lock);
}

static enum store_answer remote_put(struct store *s, const char *id,
				    const struct store_file *files,
				    uint32_t file_count, const char *version,
				    uint64_t deadline_ns, bool *is_same,
				    struct error *why)
{
	struct call c = new_call(MESSAGE_PUT, id, deadline_ns);
	enum store_answer answer = STORE_FAILED;
	struct package package;

	c.request.must_be_new = version != NULL && version[0] == '\0';
	if (version != NULL)
		(void)snprintf(c.request.etag, sizeof(c.request.etag), "%s",
			       version);
	c.fd = memfd_create("package", MFD_CLOEXEC);
	if (c.fd >= 0 && package_write(c.fd, files, file_count, &package)) {
		c.request.bytes = package.bytes;
		forget_unknown(remote_of(s), id);
		answer = call_helper(remote_of(s), &c, why);
		forget_unknown(remote_of(s), id);
		*is_same = answer == STORE_OK && c.answer.is_same != 0;
		close_answer(&c);
	}
	folder_close(c.fd);
	return answer;
}

/* Ask for bytes of a package.  STORE_OK: c->answer_fd is a file. */
static enum store_answer read_bytes(struct store *s, struct call *c,
				    uint64_t from, uint64_t bytes,
				    bool is_fresh, struct error *why)
{
	enum store_answer answer;
	struct stat file;

	c->request.from = from;
	c->request.bytes = bytes;
	c->request.is_fresh = is_fresh;
	answer = call_helper(remote_of(s), c, why);
	if (answer == STORE_OK && c->answer_fd < 0) {
		error_set(why, "the server has no file descriptor left");
		return STORE_FAILED;
	}
	if (answer == STORE_OK &&
	    (fstat(c->answer_fd, &file) != 0 || !S_ISREG(file.st_mode)))
		answer = STORE_DAMAGED;
	if (answer == STORE_OK)
		c->answer_end = c->answer.from + (uint64_t)file.st_size;
	if (answer != STORE_OK)
		close_answer(c);
	return answer;
}

/* Is the answer's file the begin of a package, or all of it? */
static bool open_package(struct store_image *image, const struct call *c)
{
	uint64_t end = c->answer_end;
	char head[PACKAGE_INDEX_BYTES_MAX];
	ssize_t count = pread(c->answer_fd, head, sizeof(head), 0);

	if (count < 0 || c->answer.from != 0 ||
	    package_read_index(&image->index, head, (size_t)count) !=
		    STORE_OK ||
	    image->index.bytes != c->answer.bytes ||
	    end < min_u64(image->index.bytes, PACKAGE_HEAD_BYTES))
		return false;
	image->fd = c->answer_fd;
	image->is_package = true;
	image->is_copy = c->answer.is_copy;
	image->here_bytes = end;
	(void)memcpy(image->version, c->answer.etag, sizeof(image->version));
	return true;
}

/* The store was asked, and what it said of `id` may be remembered. */
static void learn_unknown(struct remote *r, const char *id, uint64_t ticket,
			  enum store_answer answer)
{
	if (answer != STORE_NOT_FOUND)
		return;
	(void)pthread_mutex_lock(&r->lock);
	unknown_end(&r->unknown, id, ticket, clock_now_ns());
	(void)pthread_mutex_unlock(&r->lock);
}

static enum store_answer remote_find(struct store *s, const char *id,
				     bool is_fresh, uint64_t deadline_ns,
				     struct store_image *image,
				     struct error *why)
{
	struct remote *r = remote_of(s);
	struct call c = new_call(MESSAGE_READ, id, deadline_ns);
	enum store_answer answer;
	uint64_t ticket = 0;
	bool is_unknown;

	(void)pthread_mutex_lock(&r->lock);
	is_unknown = unknown_has(&r->unknown, id, clock_now_ns());
	if (!is_unknown)
		ticket = unknown_begin(&r->unknown, id);
	(void)pthread_mutex_unlock(&r->lock);
	if (is_unknown)
		return STORE_NOT_FOUND;
	answer = read_bytes(s, &c, 0, PACKAGE_HEAD_BYTES, is_fresh, why);
	learn_unknown(r, id, ticket, answer);
	if (answer != STORE_OK || open_package(image, &c))
		return answer;
	close_answer(&c);
	return STORE_DAMAGED;
}

static enum store_answer remote_fetch(struct store *s, const char *id,
				      uint64_t from, uint64_t bytes,
				      bool is_fresh, uint64_t deadline_ns,
				      struct store_part *part,
				      struct error *why)
{
	struct call c = new_call(MESSAGE_READ, id, deadline_ns);
	enum store_answer answer =
		read_bytes(s, &c, from, bytes, is_fresh, why);

	if (answer != STORE_OK)
		return answer;
	if (c.answer.from > from || c.answer_end < from + bytes) {
		close_answer(&c);
		return STORE_DAMAGED;
	}
	*part = (struct store_part){ .fd = c.answer_fd,
				     .is_fetched = !c.answer.is_copy,
				     .offset = from - c.answer.from,
				     .bytes = bytes };
	return STORE_OK;
}

/* Read the lines of the answer.  False: they are no list. */
static bool read_list(const struct call *c, const struct list_query *q,
		      struct list_page *out)
{
	FILE *lines = fdopen(dup(c->answer_fd), "r");
	char id[STORE_ID_BYTES];
	uint64_t seconds;
	bool is_good = lines != NULL && fseek(lines, 0, SEEK_SET) == 0;
	int fields = EOF;

	for (uint32_t i = 0; is_good && i < q->limit; i++) {
		fields = fscanf(lines, "%64s %" SCNu64, id, &seconds);
		if (fields == EOF)
			break;
		is_good = fields == 2 && store_is_key(id);
		if (!is_good)
			break;
		if (store_is_id(id))
			list_add(out, q, id, seconds);
		/* An original stands behind its image. */
		(void)memcpy(out->next, id, STORE_ID_BYTES);
	}
	if (lines != NULL)
		(void)fclose(lines);
	return is_good;
}

static enum store_answer remote_list(struct store *s,
				     const struct list_query *q,
				     uint64_t deadline_ns,
				     struct list_page *out, struct error *why)
{
	struct call c = new_call(MESSAGE_LIST, q->after, deadline_ns);
	enum store_answer answer;

	c.request.bytes = q->limit;
	(void)snprintf(c.request.detail, sizeof(c.request.detail), "%s",
		       q->prefix);
	out->count = 0;
	(void)memcpy(out->next, q->after, sizeof(out->next));
	answer = call_helper(remote_of(s), &c, why);
	if (answer == STORE_OK && (c.answer_fd < 0 || !read_list(&c, q, out))) {
		error_set(why, "the list could not be read");
		answer = STORE_FAILED;
	}
	if (answer == STORE_OK && c.answer.from == 0)
		out->next[0] = '\0';
	close_answer(&c);
	return answer;
}

static enum store_answer remote_remove(struct store *s, const char *id,
				       uint64_t deadline_ns, struct error *why)
{
	struct call c = new_call(MESSAGE_DELETE, id, deadline_ns);
	enum store_answer answer = call_helper(remote_of(s), &c, why);

	close_answer(&c);
	return answer;
}

static enum store_answer remote_look(struct store *s, struct error *why)
{
	struct remote *r = remote_of(s);
	bool is_available;

	(void)pthread_mutex_lock(&r->lock);
	is_available = r->unavailable_since_ns == 0;
	error_set(why, "%s", r->why);
	(void)pthread_mutex_unlock(&r->lock);
	return is_available ? STORE_OK : STORE_UNAVAILABLE;
}

/* Start the receiver. */
static bool remote_start(struct store *s)
{
	struct remote *r = remote_of(s);

	r->has_receiver = pthread_create(&r->receiver, NULL, receive, r) == 0;
	return r->has_receiver;
}

static void remote_stats(struct store *s, struct store_stats *out)
{
	struct remote *r = remote_of(s);

	(void)pthread_mutex_lock(&r->lock);
	out->remote = (struct remote_stats){
		.is_remote = true,
		.is_available = r->unavailable_since_ns == 0,
		.unavailable_ns =
			r->unavailable_since_ns == 0 ?
				0 :
				clock_now_ns() - r->unavailable_since_ns,
		.helper_starts = r->helper_starts,
		.sums = r->now,
	};
	(void)strcpy(out->remote.why, r->why);
	add_figures(&out->remote.sums, &r->before);
	(void)pthread_mutex_unlock(&r->lock);
}

static void remote_abandon(struct store *s)
{
	struct remote *r = remote_of(s);
	struct call *c;

	(void)pthread_mutex_lock(&r->lock);
	r->is_abandoned = true;
	LIST_FOREACH(c, &r->calls, link)
	(void)pthread_cond_signal(&c->done);
	(void)pthread_mutex_unlock(&r->lock);
}

static void remote_stop(struct store *s)
{
	struct remote *r = remote_of(s);

	atomic_store(&r->is_stopping, true);
	if (r->has_receiver)
		(void)pthread_join(r->receiver, NULL);
	r->has_receiver = false;
}

static void remote_free(struct store *s)
{
	struct remote *r = remote_of(s);

	remote_stop(s);
	if (r->control >= 0)
		(void)close(r->control);
	if (r->socket >= 0)
		(void)close(r->socket);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

static const struct store_kind remote_kind = {
	.is_remote = true,
	.put = remote_put,
	.find = remote_find,
	.fetch = remote_fetch,
	.list = remote_list,
	.remove = remote_remove,
	.look = remote_look,
	.start = remote_start,
	.stats = remote_stats,
	.abandon = remote_abandon,
	.stop = remote_stop,
	.free = remote_free,
};

static const char scheme[] = "s3://";

bool remote_is_url(const char *text)
{
	return strncmp(text, scheme, sizeof(scheme) - 1) == 0;
}

/* Copy `count` characters of a set.  False: others, or too many, or none. */
static bool copy_part(char *out, size_t out_bytes, const char *from,
		      size_t count, const char *set)
{
	if (count == 0 || count >= out_bytes || strspn(from, set) < count)
		return false;
	(void)memcpy(out, from, count);
	out[count] = '\0';
	return true;
}

#define LETTERS                                                                \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

bool remote_read_url(struct remote_config *out, const char *url,
		     struct error *error)
{
	const char *bucket = url + sizeof(scheme) - 1;
	size_t bucket_bytes = strcspn(bucket, "/"), prefix_bytes;
	const char *prefix = bucket + bucket_bytes;

	if (!copy_part(out->bucket, sizeof(out->bucket), bucket, bucket_bytes,
		       LETTERS))
		return error_fail(error,
				  "after s3:// comes a bucket: 1 to %d of "
				  "a-z, A-Z, 0-9, '.', '_' and '-'",
				  REMOTE_BUCKET_BYTES - 1);
	out->prefix[0] = '\0';
	prefix += *prefix == '/';
	prefix_bytes = strlen(prefix);
	if (prefix_bytes > 0 && prefix[prefix_bytes - 1] == '/')
		prefix_bytes--;
	if (prefix_bytes == 0)
		return *prefix == '\0' ||
		       error_fail(error, "its prefix is empty");
	if (prefix[0] == '/' || strstr(prefix, "//") != NULL ||
	    store_has_dots(prefix) ||
	    !copy_part(out->prefix, sizeof(out->prefix), prefix, prefix_bytes,
		       LETTERS "/"))
		return error_fail(error,
				  "a prefix has at most %d of a-z, A-Z, 0-9, "
				  "'.', '_', '-' and single '/', and no part "
				  "is '.' or '..'",
				  REMOTE_PREFIX_BYTES - 1);
	return true;
}

/* The helper's command line; texts of `c`, `quota` and this program. */
static void list_arguments(struct keeper_config *k,
			   const struct remote_config *c, const char *quota)
{
	const struct {
		const char *flag, *value; /* NULL: leave it out */
	} all[] = {
		{ "--bucket", c->bucket },
		{ "--prefix", c->prefix[0] != '\0' ? c->prefix : NULL },
		{ "--endpoint", c->endpoint },
		{ "--region", c->region },
		{ "--credentials-file", c->credentials_file },
		{ "--cache", c->cache },
		{ "--cache-quota", c->cache != NULL ? quota : NULL },
	};
	size_t count = 2; /* the second is the command */

	k->arguments[0] = "darkroom-store";
	k->arguments[1] = "serve";
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].value == NULL)
			continue;
		k->arguments[count++] = all[i].flag;
		k->arguments[count++] = all[i].value;
	}
	if (c->uses_path_style)
		k->arguments[count++] = "--path-style";
	k->arguments[count++] = "--keep-keys";
	k->arguments[count] = NULL;
}

_Static_assert((int)KEEPER_DETAIL_BYTES <= (int)MESSAGE_DETAIL_BYTES,
	       "a message has room for the keeper's sentences");

/* A keeper_tell_fn. */
static void tell(int socket, bool is_start, bool is_wrong, const char *detail)
{
	struct message m = { .kind = is_start ? MESSAGE_STARTED : MESSAGE_NOTE,
			     .answer = is_wrong ? STORE_FAILED : STORE_OK };

	(void)snprintf(m.detail, sizeof(m.detail), "%s", detail);
	/* If the socket is full or closed, the server has other problems. */
	if (!message_send(socket, &m, -1))
		return;
}

/* The helper's program; `path` is the place for it.  False: there is none. */
static bool set_program(struct keeper_config *k, const struct remote_config *c,
			char path[PATH_MAX], struct error *error)
{
	k->helper = "the store helper";
	k->keys = "keys of the store";
	k->process = "store-keeper";
	k->tell = tell;
	k->program = c->program;
	if (k->program == NULL && !file_beside_program(path, "darkroom-store"))
		return error_fail(error,
				  "the program darkroom-store is not beside "
				  "this program: it is needed for s3://");
	if (k->program == NULL)
		k->program = path;
	return true;
}

enum keeper_result remote_check_flags(const struct remote_config *c,
				      struct error *error)
{
	struct remote_config without_cache = *c;
	struct keeper_config keeper;
	char path[PATH_MAX];

	without_cache.cache = NULL;
	if (!set_program(&keeper, c, path, error))
		return KEEPER_FAILED;
	list_arguments(&keeper, &without_cache, NULL);
	return keeper_check_flags(&keeper, error);
}

void remote_forget_keys(void)
{
	static const char prefix[] = "AWS_";

	for (char **at = environ; *at != NULL;) {
		char *value = strchr(*at, '=');
		char name[64];

		if (strncmp(*at, prefix, sizeof(prefix) - 1) != 0 ||
		    value == NULL || value - *at >= (ptrdiff_t)sizeof(name)) {
			at++;
			continue;
		}
		(void)memcpy(name, *at, (size_t)(value - *at));
		name[value - *at] = '\0';
		explicit_bzero(value + 1, strlen(value + 1));
		(void)unsetenv(name); /* the next one takes its place */
	}
}

static bool start_keeper(struct remote *r, const struct remote_config *c,
			 struct error *error)
{
	struct keeper_config keeper;
	char path[PATH_MAX], quota[32];
	const struct timeval send = { .tv_usec = SEND_US };

	if (!set_program(&keeper, c, path, error))
		return false;
	(void)snprintf(quota, sizeof(quota), "%" PRIu64 "B",
		       c->cache_quota_bytes);
	list_arguments(&keeper, c, quota);
	if (!keeper_start(&keeper, &r->socket, &r->control, error))
		return false;
	remote_forget_keys();
	return setsockopt(r->socket, SOL_SOCKET, SO_SNDTIMEO, &send,
			  sizeof(send)) == 0 ||
	       error_fail(error, "%s", strerror(errno));
}

bool remote_check_cache(const char *path, struct error *error)
{
	char *copy = strdup(path);
	const char *at = copy;

	if (copy != NULL && access(path, F_OK) != 0 && errno == ENOENT)
		at = dirname(copy);
	if (copy != NULL && access(at, R_OK | W_OK | X_OK) == 0) {
		free(copy);
		return true;
	}
	file_explain(error, path, "", errno);
	free(copy);
	return false;
}

struct store *remote_open(const struct remote_config *c, struct error *error)
{
	struct remote *r = calloc(1, sizeof(*r));

	if (r == NULL) {
		error_set(error, "no memory");
		return NULL;
	}
	r->socket = r->control = -1;
	(void)set_available(r, "it has not answered yet");
	r->is_state_told = false;
	(void)snprintf(r->name, sizeof(r->name), "%s%s%s%s%s%.200s", scheme,
		       c->bucket, c->prefix[0] != '\0' ? "/" : "", c->prefix,
		       c->endpoint != NULL ? " at " : "",
		       c->endpoint != NULL ? c->endpoint : "");
	(void)pthread_mutex_init(&r->lock, NULL);
	error_set(error, "no memory");
	if (store_init(&r->store, &remote_kind, NULL) &&
	    start_keeper(r, c, error))
		return &r->store;
	store_close(&r->store);
	return NULL;
}

void remote_reload_keys(struct store *s)
{
	if (s->kind->is_remote)
		keeper_reload(remote_of(s)->control);
}
