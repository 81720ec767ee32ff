/* SPDX-License-Identifier: MIT */
/*
 * One lock protects everything; it is not held while a frame is made.  A
 * connection is suspended and resumed with the lock held, so that it is resumed
 * exactly once each time, and not before it was suspended.  If the client of a
 * suspended connection disconnects, this is noticed only when the next frame is
 * written.
 */
#include "service/http/handlers/watch/viewers.h"

#include "service/http/transport.h"

#include "base/clock.h"
#include "service/wait.h"

#include <assert.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const uint64_t interval_ns = VIEWERS_INTERVAL_MS * NS_PER_MS;

/*
 * A text, and the number of references to it: from viewers, and from `newest`.
 */
struct viewer_message {
	uint32_t holder_count;
	size_t bytes;
	char *text;
};

struct viewer {
	struct viewers *all; /* NULL: the slot is free */
	struct connection *connection;
	bool is_suspended;
	/*
	 * The message that is being read; NULL: the last one was read
	 * completely.
	 */
	struct viewer_message *message;
	size_t read_bytes;   /* bytes of `message` that were read */
	uint64_t seen_count; /* made_count when it got its last frame */
};

struct viewers {
	viewers_frame_fn *frame;
	void *arg;
	pthread_t maker;
	pthread_mutex_t lock;  /* protects the members below */
	pthread_cond_t wanted; /* a viewer was added, or the server stops */
	pthread_cond_t made;   /* there is a new frame, or the streams end */
	bool is_ended, is_stopping;
	uint32_t viewer_count;
	uint64_t made_count;
	uint64_t next_ns; /* when the next frame is due */
	/* The newest frame; NULL: none, or no viewers. */
	struct viewer_message *newest;
	struct viewer slots[VIEWERS_MAX];
};

/* NULL: no memory, and `text` is still the caller's. */
static struct viewer_message *message_new(char *text)
{
	struct viewer_message *m = malloc(sizeof(*m));

	if (m != NULL)
		*m = (struct viewer_message){ 1, strlen(text), text };
	return m;
}

/* Caller holds the lock.  NULL is fine. */
static void message_drop(struct viewer_message *m)
{
	if (m == NULL || --m->holder_count > 0)
		return;
	free(m->text);
	free(m);
}

/*
 * Caller holds the lock.  Wake all viewers: there is a frame to read, or the
 * stream ends.
 */
static void wake_all(struct viewers *all)
{
	for (uint32_t i = 0; i < VIEWERS_MAX; i++) {
		struct viewer *v = &all->slots[i];

		if (!v->is_suspended)
			continue;
		v->is_suspended = false;
		connection_resume(v->connection);
	}
	(void)pthread_cond_broadcast(&all->made);
}

/* Caller holds the lock, which is released meanwhile.  False: no memory. */
static bool make_frame(struct viewers *all, bool is_first)
{
	char *text;
	struct viewer_message *m = NULL;

	(void)pthread_mutex_unlock(&all->lock);
	text = all->frame(all->arg, is_first);
	if (text != NULL)
		m = message_new(text);
	if (m == NULL)
		free(text);
	(void)pthread_mutex_lock(&all->lock);
	if (m == NULL)
		return false;
	message_drop(all->newest);
	all->newest = m;
	all->made_count++;
	wake_all(all);
	return true;
}

/*
 * Make frames while there are viewers.  Caller holds the lock; it is released
 * meanwhile.
 */
static void make_frames(struct viewers *all)
{
	bool is_first = true;

	while (!all->is_stopping && all->viewer_count > 0) {
		uint64_t now_ns = clock_now_ns();

		if (now_ns < all->next_ns) {
			(void)wait_until(&all->wanted, &all->lock,
					 all->next_ns);
			continue;
		}
		if (make_frame(all, is_first))
			is_first = false;
		all->next_ns += interval_ns;
		/*
		 * True if there were no viewers for a while, or the process had
		 * no CPU.
		 */
		if (all->next_ns <= now_ns)
			all->next_ns = now_ns + interval_ns;
	}
	message_drop(all->newest);
	all->newest = NULL;
}

static void *run_viewers(void *arg)
{
	struct viewers *all = arg;

	(void)pthread_setname_np(pthread_self(), "viewers");
	(void)pthread_mutex_lock(&all->lock);
	while (!all->is_stopping) {
		if (all->viewer_count > 0)
			make_frames(all);
		else
			(void)pthread_cond_wait(&all->wanted, &all->lock);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

struct viewers *viewers_start(viewers_frame_fn *frame, void *arg)
{
	struct viewers *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->frame = frame;
	all->arg = arg;
	(void)pthread_mutex_init(&all->lock, NULL);
	wait_init(&all->wanted);
	wait_init(&all->made);
	if (pthread_create(&all->maker, NULL, run_viewers, all) == 0)
		return all;
	(void)pthread_cond_destroy(&all->made);
	(void)pthread_cond_destroy(&all->wanted);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
	return NULL;
}

/* Caller holds the lock. */
static enum viewers_entry enter_viewer(struct viewers *all,
				       struct viewer_message *hello,
				       struct connection *connection,
				       struct viewer **viewer)
{
	struct viewer *v = all->slots;

	if (all->is_ended)
		return VIEWERS_ENDED;
	if (all->viewer_count == VIEWERS_MAX)
		return VIEWERS_FULL;
	while (v->all != NULL)
		v++;
	*v = (struct viewer){
		.all = all,
		.connection = connection,
		.message = hello,
		.seen_count = all->made_count,
	};
	all->viewer_count++;
	(void)pthread_cond_signal(&all->wanted);
	*viewer = v;
	return VIEWERS_ENTERED;
}

enum viewers_entry viewer_add(struct viewers *all, char *hello,
			      struct connection *connection,
			      struct viewer **viewer)
{
	struct viewer_message *m = message_new(hello);
	enum viewers_entry entry;

	if (m == NULL)
		return VIEWERS_NO_MEMORY;
	(void)pthread_mutex_lock(&all->lock);
	entry = enter_viewer(all, m, connection, viewer);
	(void)pthread_mutex_unlock(&all->lock);
	if (entry != VIEWERS_ENTERED)
		free(m);
	return entry;
}

/* Caller holds the lock.  Take the newest frame, if it is a new one. */
static void take_newest(struct viewer *v)
{
	struct viewers *all = v->all;

	if (all->newest == NULL || v->seen_count == all->made_count)
		return;
	v->message = all->newest;
	v->message->holder_count++;
	v->read_bytes = 0;
	v->seen_count = all->made_count;
}

/*
 * Caller holds the lock, which is released while this waits.  True: there is a
 * message, or the stream ends.  False: the connection is suspended.
 */
static bool wait_for_message(struct viewer *v)
{
	struct viewers *all = v->all;

	for (;;) {
		if (v->message == NULL)
			take_newest(v);
		if (v->message != NULL || all->is_ended)
			return true;
		if (v->connection != NULL) {
			v->is_suspended = true;
			connection_suspend(v->connection);
			return false;
		}
		(void)pthread_cond_wait(&all->made, &all->lock);
	}
}

/* Caller holds the lock. */
static ssize_t copy_message(struct viewer *v, char *to, size_t bytes_max)
{
	struct viewer_message *m = v->message;
	size_t bytes = m->bytes - v->read_bytes;

	if (bytes > bytes_max)
		bytes = bytes_max;
	memcpy(to, m->text + v->read_bytes, bytes);
	v->read_bytes += bytes;
	if (v->read_bytes == m->bytes) {
		v->message = NULL;
		message_drop(m);
	}
	return (ssize_t)bytes;
}

ssize_t viewer_read(struct viewer *v, char *to, size_t bytes_max)
{
	struct viewers *all = v->all;
	ssize_t bytes = 0;

	(void)pthread_mutex_lock(&all->lock);
	if (wait_for_message(v))
		bytes = v->message != NULL ? copy_message(v, to, bytes_max) :
					     -1;
	(void)pthread_mutex_unlock(&all->lock);
	return bytes;
}

void viewer_remove(struct viewer *v)
{
	struct viewers *all = v->all;

	(void)pthread_mutex_lock(&all->lock);
	assert(!v->is_suspended);
	message_drop(v->message);
	*v = (struct viewer){ .all = NULL };
	all->viewer_count--;
	(void)pthread_mutex_unlock(&all->lock);
}

uint32_t viewers_count(struct viewers *all)
{
	uint32_t count;

	(void)pthread_mutex_lock(&all->lock);
	count = all->viewer_count;
	(void)pthread_mutex_unlock(&all->lock);
	return count;
}

void viewers_end(struct viewers *all)
{
	if (all == NULL)
		return;
	(void)pthread_mutex_lock(&all->lock);
	all->is_ended = true;
	wake_all(all);
	(void)pthread_mutex_unlock(&all->lock);
}

void viewers_stop(struct viewers *all)
{
	if (all == NULL)
		return;
	(void)pthread_mutex_lock(&all->lock);
	assert(all->viewer_count == 0);
	all->is_stopping = true;
	(void)pthread_cond_signal(&all->wanted);
	(void)pthread_mutex_unlock(&all->lock);
	(void)pthread_join(all->maker, NULL);
	(void)pthread_cond_destroy(&all->made);
	(void)pthread_cond_destroy(&all->wanted);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
}
