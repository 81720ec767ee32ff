/* SPDX-License-Identifier: MIT */
#include "service/hooks/hooks.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "base/take.h"
#include "base/text.h"
#include "service/hooks/protocol.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

enum {
	NAME_BYTES = SHA256_DIGEST_SIZE,
	TRIES_BYTES = 64,
	FIRST_LINE_BYTES = HOOK_URL_BYTES + 1,
	/* The helper answers within HOOK_ATTEMPT_MS, or it hangs. */
	HUNG_MS = 4 * HOOK_ATTEMPT_MS,
	FULL_SOCKET_MS = 20,
	NO_DISK_MS = 10000, /* before an event that could not be read is read */
	TURN_MS = 5000,
	LAST_ANSWERS_MS = 1000,
	TELL_MS = 1000,            /* between two lines about the disk */
	TELL_ORIGIN_MS = 60000,    /* between two lines about an origin */
	RETRY_AFTER_S_MAX = 86400, /* a receiver may not ask for more */
	JITTER_PART = 5,           /* up to a fifth is added to each pause */
};

static const char event_name[] = "event.txt";
static const char tries_name[] = "tries.txt";

/* An event in memory. */
struct event {
	uint64_t due_ns;    /* CLOCK_MONOTONIC */
	uint32_t created_s; /* since 1970 */
	uint8_t tries;      /* attempts that have failed */
	uint8_t target;     /* its index */
	uint8_t name[NAME_BYTES];
};

/* An origin that events go to, with a heap of them: the first is due first. */
struct target {
	char origin[HOOK_ORIGIN_BYTES];
	struct event *heap;
	uint32_t count, room;
	uint32_t reserved; /* room for events being put, or on their way */
	uint32_t flights;
	bool is_failing;
	uint64_t told_ns; /* when it was last told */
};

/* An event that the helper has. */
struct flight {
	struct event event;
	uint64_t number; /* 0: not in use */
	uint64_t sent_ns;
};

struct hooks {
	struct hooks_config config;
	struct entries entries;
	struct entry_folder folder, failed;
	int root, socket, control, wake;
	pthread_t thread;
	bool has_thread;
	hooks_report_fn *report;
	void *report_arg;
	_Atomic uint64_t told_ns; /* when a failure of the disk was reported */

	pthread_mutex_t lock; /* of the heaps */
	struct target targets[HOOK_ORIGINS_MAX + 1];
	uint32_t target_count;
	bool has_own; /* the first is that of config.url */

	/* Of the thread. */
	struct flight flights[HOOK_FLIGHTS_MAX];
	uint64_t last_number;
	uint32_t next_target;
	bool has_ended; /* the keeper: nobody starts a helper any more */
	uint64_t random;
	char body[HOOK_BODY_BYTES + FIRST_LINE_BYTES];

	_Atomic bool is_stopping;
	_Atomic uint64_t waiting_count, queued_count, delivered_count;
	_Atomic uint64_t attempt_count, failed_count, given_up_count;
	_Atomic uint64_t full_count, helper_starts, kept_count;
};

static __attribute__((format(printf, 3, 4))) void
tell(struct hooks *h, bool is_wrong, const char *format, ...)
{
	char text[512];
	va_list values;

	if (h->report == NULL)
		return;
	va_start(values, format);
	(void)vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	h->report(h->report_arg, is_wrong, text);
}

/* An entries_failed_fn.  Failures may be many, so only some are reported. */
static void tell_failed(void *arg, const char *file, int error)
{
	struct hooks *h = arg;
	uint64_t now_ns = clock_now_ns(), told_ns = atomic_load(&h->told_ns);

	if (now_ns - told_ns >= TELL_MS * NS_PER_MS &&
	    atomic_compare_exchange_strong(&h->told_ns, &told_ns, now_ns))
		tell(h, true, "%s (%s): %.160s in the folder of webhooks",
		     strerror(error), errno_name(error), file);
}

static uint64_t now_s(void)
{
	return clock_read_ns(CLOCK_REALTIME) / NS_PER_S;
}

static void print_name(char text[STORE_ID_BYTES], const uint8_t *name)
{
	base16_encode_update(text, NAME_BYTES, name);
	text[STORE_ID_BYTES - 1] = '\0';
}

/* False: it is no name. */
static bool read_name(uint8_t name[NAME_BYTES], const char *text)
{
	struct base16_decode_ctx base16;
	size_t count = NAME_BYTES;

	if (!store_is_sha256(text))
		return false;
	base16_decode_init(&base16);
	return base16_decode_update(&base16, &count, name, strlen(text),
				    text) == 1 &&
	       base16_decode_final(&base16) == 1;
}

/* -- The heaps; the caller holds the lock, or there is only one thread -- */

/* Make room for one event more than there are.  False: no memory. */
static bool reserve(struct target *t)
{
	uint32_t room = t->room == 0 ? 64 : 2 * t->room;
	struct event *heap;

	if (t->count + t->reserved == t->room) {
		heap = realloc(t->heap, room * sizeof(*heap));
		if (heap == NULL)
			return false;
		t->heap = heap;
		t->room = room;
	}
	t->reserved++;
	return true;
}

/* Uses room that was reserved. */
static void push(struct target *t, const struct event *e)
{
	uint32_t at = t->count++;

	assert(t->reserved > 0 && t->count <= t->room);
	t->reserved--;
	while (at > 0 && t->heap[(at - 1) / 2].due_ns > e->due_ns) {
		t->heap[at] = t->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	t->heap[at] = *e;
}

/* Take the first event; its room stays reserved. */
static struct event pop(struct target *t)
{
	struct event first = t->heap[0], last = t->heap[--t->count];
	uint32_t at = 0, child;

	t->reserved++;
	while ((child = 2 * at + 1) < t->count) {
		if (child + 1 < t->count &&
		    t->heap[child + 1].due_ns < t->heap[child].due_ns)
			child++;
		if (t->heap[child].due_ns >= last.due_ns)
			break;
		t->heap[at] = t->heap[child];
		at = child;
	}
	t->heap[at] = last;
	return first;
}

/* The target of a URL; NULL: its origin is none of them. */
static struct target *find_target(struct hooks *h, const char *url)
{
	char origin[HOOK_ORIGIN_BYTES];

	if (url[0] == '\0')
		return h->has_own ? &h->targets[0] : NULL;
	if (!hook_origin(url, origin))
		return NULL;
	for (uint32_t i = 0; i < h->target_count; i++)
		if (strcmp(h->targets[i].origin, origin) == 0)
			return &h->targets[i];
	return NULL;
}

/* -- Putting -- */

static void wake_thread(struct hooks *h)
{
	const uint64_t one = 1;

	(void)!write(h->wake, &one, sizeof(one));
}

static void hash_text(struct sha256_ctx *sha256, const char *text)
{
	/* With its NUL, so that no two lists of texts are the same bytes. */
	sha256_update(sha256, strlen(text) + 1, (const uint8_t *)text);
}

static void name_event(uint8_t name[NAME_BYTES], const struct hooks_event *e,
		       const char *url)
{
	char stamp[24];
	struct sha256_ctx sha256;

	(void)snprintf(stamp, sizeof(stamp), "%" PRIu64, e->stamp);
	sha256_init(&sha256);
	hash_text(&sha256, e->type);
	hash_text(&sha256, e->subject);
	hash_text(&sha256, stamp);
	hash_text(&sha256, url);
	sha256_digest(&sha256, NAME_BYTES, name);
}

/* The text of event.txt; the caller frees it.  NULL: no memory. */
static char *print_event(const struct hooks_event *e, const char *url)
{
	time_t now = (time_t)now_s();
	char date[32];
	struct tm tm;
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	if (out == NULL)
		return NULL;
	(void)gmtime_r(&now, &tm);
	(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	(void)fprintf(out, "%s\n", url);
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "type", e->type);
	json_add_text(&j, "timestamp", date);
	json_add_raw(&j, "data", e->data);
	json_close(&j);
	return text_close(&text, out);
}

/* False: there are as many events as there may be. */
static bool take_place(struct hooks *h)
{
	uint64_t count = atomic_load(&h->waiting_count);

	do {
		if (count >= h->config.events_max)
			return false;
	} while (!atomic_compare_exchange_weak(&h->waiting_count, &count,
					       count + 1));
	return true;
}

/* Write the event; its place and its room are reserved. */
static enum store_answer write_event(struct hooks *h, const char *name,
				     const struct hooks_event *e,
				     const char *url)
{
	char *text = print_event(e, url);
	const struct store_file file = { event_name, text,
					 text != NULL ? strlen(text) : 0 };
	enum store_answer answer = STORE_FAILED;
	bool moved;

	errno = ENOMEM;
	if (text != NULL && file.count <= sizeof(h->body))
		answer = entry_put(&h->entries, &h->folder, name, &file, 1,
				   &moved);
	else if (text != NULL)
		errno = EFBIG;
	free(text);
	return answer;
}

static bool is_there(const struct entry_folder *folder, const char *name)
{
	struct stat entry;

	return fstatat(folder->fd, name, &entry, AT_SYMLINK_NOFOLLOW) == 0;
}

/* `url` is "" for the server's own receiver. */
static enum store_answer put_for(struct hooks *h, const struct hooks_event *e,
				 const char *url)
{
	struct target *t = find_target(h, url);
	struct event event = { .due_ns = clock_now_ns(),
			       .created_s = (uint32_t)now_s() };
	char name[STORE_ID_BYTES];
	enum store_answer answer = STORE_FAILED;
	bool has_room;

	assert(t != NULL);
	event.target = (uint8_t)(t - h->targets);
	name_event(event.name, e, url);
	print_name(name, event.name);
	if (is_there(&h->folder, name))
		return STORE_OK;
	if (!take_place(h)) {
		atomic_fetch_add(&h->full_count, 1);
		errno = 0;
		return STORE_FULL;
	}
	(void)pthread_mutex_lock(&h->lock);
	has_room = reserve(t);
	(void)pthread_mutex_unlock(&h->lock);
	errno = ENOMEM;
	if (has_room)
		answer = write_event(h, name, e, url);
	(void)pthread_mutex_lock(&h->lock);
	if (answer == STORE_OK)
		push(t, &event);
	else if (has_room)
		t->reserved--;
	(void)pthread_mutex_unlock(&h->lock);
	if (answer != STORE_OK) {
		atomic_fetch_sub(&h->waiting_count, 1);
		return answer;
	}
	atomic_fetch_add(&h->queued_count, 1);
	wake_thread(h);
	return STORE_OK;
}

enum store_answer hooks_put(struct hooks *h, const struct hooks_event *e)
{
	enum store_answer answer = STORE_OK;

	if (h->has_own)
		answer = put_for(h, e, "");
	/* The flags may have changed since the ticket was made. */
	if (answer == STORE_OK && e->url != NULL && hooks_allow(h, e->url))
		answer = put_for(h, e, e->url);
	return answer;
}

uint64_t hooks_new_stamp(void)
{
	uint64_t stamp;

	/* It cannot fail: at most 256 bytes, after the system has started. */
	while (getrandom(&stamp, sizeof(stamp), 0) != (ssize_t)sizeof(stamp))
		;
	return stamp;
}

bool hooks_allow(const struct hooks *h, const char *url)
{
	char origin[HOOK_ORIGIN_BYTES];

	if (!hook_origin(url, origin))
		return false;
	for (uint32_t i = h->has_own; i < h->target_count; i++)
		if (strcmp(h->targets[i].origin, origin) == 0)
			return true;
	return false;
}

bool hooks_are_full(const struct hooks *h)
{
	return atomic_load(&h->waiting_count) >= h->config.events_max;
}

/* -- What becomes of an event; called by the thread -- */

static void print_tries(char text[TRIES_BYTES], uint32_t tries, uint64_t due_s)
{
	(void)snprintf(text, TRIES_BYTES, "%" PRIu32 " %" PRIu64 "\n", tries,
		       due_s);
}

/* The event has left the queue; its room is given back. */
static void forget(struct hooks *h, const struct event *e)
{
	(void)pthread_mutex_lock(&h->lock);
	h->targets[e->target].reserved--;
	(void)pthread_mutex_unlock(&h->lock);
	atomic_fetch_sub(&h->waiting_count, 1);
}

static void put_back(struct hooks *h, struct event *e, uint64_t due_ns)
{
	e->due_ns = due_ns;
	(void)pthread_mutex_lock(&h->lock);
	push(&h->targets[e->target], e);
	(void)pthread_mutex_unlock(&h->lock);
}

/* Move an event to failed/, or remove it if too many are there. */
static void move_to_failed(struct hooks *h, const char *name)
{
	if (atomic_load(&h->kept_count) >= h->config.events_max)
		(void)entry_remove(&h->entries, &h->folder, name);
	else if (entry_move(&h->entries, &h->folder, &h->failed, name) ==
		 STORE_OK)
		atomic_fetch_add(&h->kept_count, 1);
}

static void give_up(struct hooks *h, const struct event *e, const char *why)
{
	char name[STORE_ID_BYTES];

	print_name(name, e->name);
	move_to_failed(h, name);
	atomic_fetch_add(&h->given_up_count, 1);
	tell(h, true, "event msg_%s for %s is given up: %s", name,
	     h->targets[e->target].origin, why);
	forget(h, e);
}

/* At most one line in a while: the receiver may be away, with many events. */
static void tell_failing(struct hooks *h, struct target *t, const char *why)
{
	uint64_t now_ns = clock_now_ns();

	if (t->is_failing && now_ns < t->told_ns + TELL_ORIGIN_MS * NS_PER_MS)
		return;
	t->is_failing = true;
	t->told_ns = now_ns;
	tell(h, true,
	     "%s takes no events: %s; %" PRIu64 " events wait, and will be "
	     "tried again",
	     t->origin, why, atomic_load(&h->waiting_count));
}

/* An attempt has failed; `least_s`: the receiver asks for that pause. */
static void fail_attempt(struct hooks *h, struct event *e, uint32_t least_s,
			 const char *why)
{
	const struct hooks_schedule *s = &h->config.schedule;
	char name[STORE_ID_BYTES], text[TRIES_BYTES];
	struct store_file file = { tries_name, text, 0 };
	uint64_t pause_ms;

	atomic_fetch_add(&h->failed_count, 1);
	if (e->tries >= s->count) {
		give_up(h, e, why);
		return;
	}
	tell_failing(h, &h->targets[e->target], why);
	pause_ms = s->pause_ms[e->tries++];
	pause_ms += (uint64_t)(random_fraction(&h->random) * (double)pause_ms /
			       JITTER_PART);
	if (least_s > RETRY_AFTER_S_MAX)
		least_s = RETRY_AFTER_S_MAX;
	pause_ms = max_u64(pause_ms, least_s * UINT64_C(1000));
	print_name(name, e->name);
	print_tries(text, e->tries, now_s() + pause_ms / 1000);
	file.count = strlen(text);
	/* Otherwise, after a restart it is tried sooner and more often. */
	(void)!entry_extend(&h->entries, &h->folder, name, &file);
	put_back(h, e, clock_after_ms(pause_ms));
}

static void end_delivered(struct hooks *h, struct event *e)
{
	struct target *t = &h->targets[e->target];
	char name[STORE_ID_BYTES];

	print_name(name, e->name);
	if (t->is_failing)
		tell(h, false, "%s answers again", t->origin);
	t->is_failing = false;
	atomic_fetch_add(&h->delivered_count, 1);
	/* If it is still there, or again, it is delivered once more. */
	if (entry_drop(&h->entries, &h->folder, name) == STORE_FAILED &&
	    is_there(&h->folder, name))
		put_back(h, e, clock_after_ms(NO_DISK_MS));
	else
		forget(h, e);
}

static struct flight *find_flight(struct hooks *h, uint64_t number)
{
	for (uint32_t i = 0; i < HOOK_FLIGHTS_MAX; i++)
		if (h->flights[i].number == number)
			return &h->flights[i];
	return NULL;
}

static bool has_flights(const struct hooks *h)
{
	for (uint32_t i = 0; i < HOOK_FLIGHTS_MAX; i++)
		if (h->flights[i].number != 0)
			return true;
	return false;
}

static struct event end_flight(struct hooks *h, struct flight *f)
{
	f->number = 0;
	h->targets[f->event.target].flights--;
	return f->event;
}

static void take_answer(struct hooks *h, const struct hook_message *m)
{
	struct flight *f = m->number != 0 ? find_flight(h, m->number) : NULL;
	char why[HOOK_DETAIL_BYTES];
	struct event e;

	if (f == NULL)
		return;
	e = end_flight(h, f);
	if (m->status >= 200 && m->status <= 299) {
		end_delivered(h, &e);
		return;
	}
	if (m->status == 0)
		(void)snprintf(why, sizeof(why), "%s", m->detail);
	else
		(void)snprintf(why, sizeof(why), "it answered %" PRIu32 "%s",
			       m->status,
			       m->status >= 300 && m->status < 400 ?
				       ", and redirects are not followed" :
				       "");
	if (m->status == 410) {
		atomic_fetch_add(&h->failed_count, 1);
		give_up(h, &e, "it answered 410 (Gone)");
		return;
	}
	fail_attempt(h, &e, m->retry_after_s, why);
}

/*
 * A helper was started, or none will be: what the one before had is sent again.
 * If it has failed, perhaps because of one of these events, each has a pause.
 */
static void take_back(struct hooks *h, bool has_failed, const char *why)
{
	for (uint32_t i = 0; i < HOOK_FLIGHTS_MAX; i++) {
		struct event e;

		if (h->flights[i].number == 0)
			continue;
		e = end_flight(h, &h->flights[i]);
		if (has_failed)
			fail_attempt(h, &e, 0, why);
		else
			put_back(h, &e, clock_now_ns());
	}
}

static void take_message(struct hooks *h, const struct hook_message *m)
{
	if (m->kind == HOOK_ANSWER)
		take_answer(h, m);
	if (m->kind != HOOK_STARTED && m->kind != HOOK_NOTE)
		return;
	if (m->detail[0] != '\0')
		tell(h, m->is_wrong != 0, "%s", m->detail);
	if (m->kind == HOOK_STARTED) {
		atomic_fetch_add(&h->helper_starts, 1);
		take_back(h, m->is_wrong != 0, m->detail);
	}
}

static void receive_all(struct hooks *h)
{
	struct hook_message m;

	while (!h->has_ended) {
		switch (hook_receive(h->socket, &m, h->body)) {
		case HOOK_RECEIVED:
			take_message(h, &m);
			break;
		case HOOK_NOTHING:
			return;
		case HOOK_BAD:
			tell(h, true,
			     "the webhook helper sent something that "
			     "is not a message");
			break;
		case HOOK_END:
			h->has_ended = true;
			take_back(h, false, "");
			tell(h, true,
			     "the process that starts the webhook "
			     "helper has ended: events wait until the "
			     "server is restarted");
			break;
		}
	}
}

/* -- Sending -- */

/* Read event.txt into h->body; *bytes is its length. */
static enum store_answer read_event(struct hooks *h, const char *name,
				    size_t *bytes)
{
	uint64_t count;
	int entry, fd;
	enum store_answer answer = folder_find(h->folder.fd, name, &entry);

	if (answer != STORE_OK)
		return answer;
	answer = entry_read(entry, event_name, &fd, &count);
	folder_close(entry);
	if (answer != STORE_OK)
		return answer == STORE_NOT_FOUND ? STORE_DAMAGED : answer;
	if (count > sizeof(h->body))
		answer = STORE_DAMAGED;
	else if (!file_read_all(fd, h->body, (size_t)count))
		answer = STORE_FAILED;
	folder_close(fd);
	*bytes = (size_t)count;
	return answer;
}

/* Make the message; *body is in h->body.  False: the text is damaged. */
static bool make_message(struct hooks *h, struct hook_message *m,
			 const char *name, size_t bytes, const char **body)
{
	const char *end = memchr(h->body, '\n', bytes);
	size_t url = end != NULL ? (size_t)(end - h->body) : 0;

	if (end == NULL || url >= sizeof(m->url) || bytes - url - 1 == 0 ||
	    bytes - url - 1 > HOOK_BODY_BYTES)
		return false;
	*m = (struct hook_message){ .kind = HOOK_SEND,
				    .body_bytes = (uint32_t)(bytes - url - 1) };
	(void)snprintf(m->id, sizeof(m->id), "msg_%s", name);
	if (url == 0)
		(void)snprintf(m->url, sizeof(m->url), "%s", h->config.url);
	else
		(void)memcpy(m->url, h->body, url);
	*body = end + 1;
	return true;
}

/* Give an event to the helper. */
static void launch(struct hooks *h, struct flight *f, struct event *e)
{
	char name[STORE_ID_BYTES];
	struct hook_message m;
	const char *body;
	size_t bytes = 0;
	enum store_answer answer;

	print_name(name, e->name);
	answer = read_event(h, name, &bytes);
	if (answer == STORE_NOT_FOUND) { /* somebody has removed it */
		forget(h, e);
		return;
	}
	if (answer == STORE_FAILED) {
		tell_failed(h, name, errno);
		put_back(h, e, clock_after_ms(NO_DISK_MS));
		return;
	}
	if (answer != STORE_OK || !make_message(h, &m, name, bytes, &body)) {
		give_up(h, e, "its file is damaged");
		return;
	}
	m.number = ++h->last_number;
	if (!hook_send(h->socket, &m, body)) {
		put_back(h, e, clock_after_ms(FULL_SOCKET_MS));
		return;
	}
	atomic_fetch_add(&h->attempt_count, 1);
	h->targets[e->target].flights++;
	*f = (struct flight){ .event = *e,
			      .number = m.number,
			      .sent_ns = clock_now_ns() };
}

/*
 * Take an event that is due, of the next target that has one.  False: there is
 * none; then *wake_ns is when there will be one.
 */
static bool take_due(struct hooks *h, struct event *e, uint64_t *wake_ns)
{
	uint64_t now_ns = clock_now_ns();
	bool is_found = false;

	(void)pthread_mutex_lock(&h->lock);
	for (uint32_t i = 0; i < h->target_count && !is_found; i++) {
		struct target *t =
			&h->targets[(h->next_target + i) % h->target_count];

		if (t->count == 0 || t->flights >= HOOKS_PER_ORIGIN)
			continue;
		is_found = t->heap[0].due_ns <= now_ns;
		if (is_found)
			*e = pop(t);
		else if (t->heap[0].due_ns < *wake_ns)
			*wake_ns = t->heap[0].due_ns;
	}
	h->next_target++;
	(void)pthread_mutex_unlock(&h->lock);
	return is_found;
}

/* Returns when to look again. */
static uint64_t send_due(struct hooks *h)
{
	uint64_t wake_ns = clock_after_ms(TURN_MS);
	struct flight *f;
	struct event e;

	if (h->has_ended || atomic_load(&h->is_stopping))
		return wake_ns;
	while ((f = find_flight(h, 0)) != NULL && take_due(h, &e, &wake_ns))
		launch(h, f, &e);
	return wake_ns;
}

/* The helper does not answer any more: the keeper starts another. */
static void end_hung_helper(struct hooks *h)
{
	uint64_t now_ns = clock_now_ns();
	bool is_hung = false;

	for (uint32_t i = 0; i < HOOK_FLIGHTS_MAX; i++)
		is_hung |= h->flights[i].number != 0 &&
			   now_ns > h->flights[i].sent_ns + HUNG_MS * NS_PER_MS;
	if (!is_hung)
		return;
	for (uint32_t i = 0; i < HOOK_FLIGHTS_MAX; i++)
		h->flights[i].sent_ns = now_ns;
	keeper_replace(h->control);
}

static void wait_for_news(struct hooks *h, uint64_t wake_ns)
{
	struct pollfd waits[] = {
		{ .fd = h->has_ended ? -1 : h->socket, .events = POLLIN },
		{ .fd = h->wake, .events = POLLIN },
	};
	uint64_t now_ns = clock_now_ns(), count;
	int ms = wake_ns <= now_ns ? 0 :
				     (int)((wake_ns - now_ns) / NS_PER_MS) + 1;

	(void)poll(waits, 2, ms);
	if ((waits[1].revents & POLLIN) != 0)
		(void)!read(h->wake, &count, sizeof(count));
}

static void *run_hooks(void *arg)
{
	struct hooks *h = arg;
	uint64_t end_ns = UINT64_MAX;

	(void)pthread_setname_np(pthread_self(), "webhooks");
	for (;;) {
		uint64_t wake_ns;

		receive_all(h);
		if (atomic_load(&h->is_stopping)) {
			if (end_ns == UINT64_MAX)
				end_ns = clock_after_ms(LAST_ANSWERS_MS);
			if (!has_flights(h) || clock_now_ns() >= end_ns)
				return NULL;
		}
		end_hung_helper(h);
		wake_ns = send_due(h);
		wait_for_news(h, min_u64(wake_ns, end_ns));
	}
}

bool hooks_start(struct hooks *h, hooks_report_fn *report, void *arg)
{
	uint64_t count = atomic_load(&h->waiting_count);

	h->report = report;
	h->report_arg = arg;
	if (count > 0)
		tell(h, false,
		     "%" PRIu64 " events of an earlier run will be delivered",
		     count);
	count = atomic_load(&h->given_up_count);
	if (count > 0)
		tell(h, true,
		     "%" PRIu64 " events of an earlier run are given up: their "
		     "files are damaged, or their origins are not allowed any "
		     "more",
		     count);
	h->has_thread = pthread_create(&h->thread, NULL, run_hooks, h) == 0;
	return h->has_thread;
}

void hooks_stop(struct hooks *h)
{
	if (h == NULL || !h->has_thread)
		return;
	atomic_store(&h->is_stopping, true);
	wake_thread(h);
	(void)pthread_join(h->thread, NULL);
	h->has_thread = false;
	h->report = NULL;
}

void hooks_reload_keys(struct hooks *h)
{
	keeper_reload(h->control);
}

static uint32_t oldest_of(const struct target *t, uint32_t oldest_s)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->heap[i].created_s < oldest_s)
			oldest_s = t->heap[i].created_s;
	return oldest_s;
}

void hooks_read_stats(struct hooks *h, struct hooks_stats *out)
{
	uint32_t now = (uint32_t)now_s(), oldest_s = now;

	(void)pthread_mutex_lock(&h->lock);
	for (uint32_t i = 0; i < h->target_count; i++)
		oldest_s = oldest_of(&h->targets[i], oldest_s);
	(void)pthread_mutex_unlock(&h->lock);
	*out = (struct hooks_stats){
		.waiting_count = atomic_load(&h->waiting_count),
		.waiting_max = h->config.events_max,
		.oldest_ns = (now - oldest_s) * NS_PER_S,
		.queued_count = atomic_load(&h->queued_count),
		.delivered_count = atomic_load(&h->delivered_count),
		.attempt_count = atomic_load(&h->attempt_count),
		.failed_count = atomic_load(&h->failed_count),
		.given_up_count = atomic_load(&h->given_up_count),
		.full_count = atomic_load(&h->full_count),
		.helper_starts = atomic_load(&h->helper_starts),
		.kept_count = atomic_load(&h->kept_count),
	};
}

/* -- Opening -- */

/* What tries.txt says, if it is there. */
static void read_tries(int entry, struct event *e)
{
	char text[TRIES_BYTES] = "";
	const char *at = text;
	uint64_t bytes, tries, due_s, now = now_s();
	int fd;

	if (entry_read(entry, tries_name, &fd, &bytes) != STORE_OK)
		return;
	if (bytes < sizeof(text) &&
	    read(fd, text, (size_t)bytes) == (ssize_t)bytes &&
	    take_number(&at, 0, HOOKS_STEPS_MAX, &tries) &&
	    take_word(&at, " ") && take_number(&at, 0, UINT32_MAX, &due_s)) {
		e->tries = (uint8_t)tries;
		/* The time of day may have jumped. */
		if (due_s > now)
			e->due_ns +=
				min_u64(due_s - now, 2 * RETRY_AFTER_S_MAX) *
				NS_PER_S;
	}
	folder_close(fd);
}

/* Read what is in memory of an event.  NULL: it has no receiver. */
static struct target *read_old(struct hooks *h, int entry, struct event *e)
{
	char line[FIRST_LINE_BYTES];
	char *end = NULL;
	uint64_t bytes;
	struct stat file;
	ssize_t count;
	struct target *t;
	int fd;

	if (entry_read(entry, event_name, &fd, &bytes) != STORE_OK)
		return NULL;
	count = read(fd, line, sizeof(line));
	if (count > 0)
		end = memchr(line, '\n', (size_t)count);
	e->due_ns = clock_now_ns();
	if (fstat(fd, &file) == 0)
		e->created_s = (uint32_t)file.st_mtime;
	folder_close(fd);
	if (end == NULL)
		return NULL;
	*end = '\0';
	t = find_target(h, line);
	if (t != NULL)
		e->target = (uint8_t)(t - h->targets);
	read_tries(entry, e);
	return t;
}

/* False: no memory. */
static bool take_old(struct hooks *h, const char *name)
{
	struct event e = { .tries = 0 };
	struct target *t;
	int entry;

	if (!read_name(e.name, name))
		return true;
	entry = folder_open(h->folder.fd, name);
	t = entry >= 0 ? read_old(h, entry, &e) : NULL;
	folder_close(entry);
	if (t == NULL) {
		move_to_failed(h, name);
		atomic_fetch_add(&h->given_up_count, 1);
		return true;
	}
	if (!reserve(t))
		return false;
	push(t, &e);
	atomic_fetch_add(&h->waiting_count, 1);
	return true;
}

/* Take the events of an earlier run.  False: errno. */
static bool take_all_old(struct hooks *h)
{
	DIR *list = folder_list(h->root, h->failed.name);
	const char *name;
	bool is_good = list != NULL;

	while (is_good && (name = folder_next(list)) != NULL)
		if (store_is_sha256(name))
			atomic_fetch_add(&h->kept_count, 1);
	if (list != NULL)
		(void)closedir(list);
	list = is_good ? folder_list(h->root, h->folder.name) : NULL;
	is_good = list != NULL;
	while (is_good && (name = folder_next(list)) != NULL)
		is_good = take_old(h, name);
	if (list != NULL)
		(void)closedir(list);
	return is_good;
}

static bool make_folder(int root, const char *name, struct entry_folder *f)
{
	if (mkdirat(root, name, 0777) != 0 && errno != EEXIST)
		return false;
	(void)snprintf(f->name, sizeof(f->name), "%s", name);
	f->fd = folder_open(root, name);
	return f->fd >= 0;
}

/* False: errno says why, or *text. */
static bool open_folders(struct hooks *h, const char **text)
{
	if (mkdir(h->config.path, 0777) != 0 && errno != EEXIST)
		return false;
	h->root = folder_open(AT_FDCWD, h->config.path);
	if (h->root < 0)
		return false;
	if (flock(h->root, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EWOULDBLOCK)
			*text = "is in use by another server";
		return false;
	}
	if (mkdirat(h->root, "tmp", 0777) != 0 && errno != EEXIST)
		return false;
	return make_folder(h->root, "events", &h->folder) &&
	       make_folder(h->root, "failed", &h->failed) &&
	       entries_open(&h->entries, h->root, 0) && take_all_old(h);
}

static void add_target(struct hooks *h, const char *origin)
{
	(void)snprintf(h->targets[h->target_count++].origin, HOOK_ORIGIN_BYTES,
		       "%s", origin);
}

/* The flags were checked; see hooks_check_url() and hooks_check_origins(). */
static void list_targets(struct hooks *h)
{
	const char *at = h->config.allowed;
	char origin[HOOK_ORIGIN_BYTES];

	if (h->config.url != NULL && hook_origin(h->config.url, origin)) {
		h->has_own = true;
		add_target(h, origin);
	}
	while (at != NULL && h->target_count <= HOOK_ORIGINS_MAX &&
	       hook_next_origin(&at, origin))
		add_target(h, origin);
}

static struct hooks *hooks_new(const struct hooks_config *c)
{
	struct hooks *h = calloc(1, sizeof(*h));

	if (h == NULL)
		return NULL;
	h->config = *c;
	h->root = h->socket = h->control = h->entries.tmp = -1;
	h->folder.fd = h->failed.fd = -1;
	h->entries.failed = tell_failed;
	h->entries.failed_arg = h;
	h->random = hooks_new_stamp();
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&h->lock, NULL);
	list_targets(h);
	return h;
}

/* A keeper_tell_fn. */
static void tell_server(int socket, bool is_start, bool is_wrong,
			const char *detail)
{
	struct hook_message m = { .kind = is_start ? HOOK_STARTED : HOOK_NOTE,
				  .is_wrong = is_wrong };

	(void)snprintf(m.detail, sizeof(m.detail), "%s", detail);
	/* If the socket is full or closed, the server has other problems. */
	if (!hook_send(socket, &m, NULL))
		return;
}

/*
 * The helper's program and command line; `path` and `allow` are the places for
 * texts.  False: there is no program.
 */
static bool describe_helper(struct keeper_config *k,
			    const struct hooks_config *c, char path[PATH_MAX],
			    char **allow, struct error *error)
{
	char origin[HOOK_ORIGIN_BYTES] = "";
	size_t count = 2;

	*k = (struct keeper_config){
		.helper = "the webhook helper",
		.keys = "keys of webhooks",
		.process = "webhook-keeper",
		.tell = tell_server,
		.program = c->program != NULL ? c->program : path,
		.arguments = { "darkroom-webhook", "serve" },
	};
	*allow = NULL;
	if (c->program == NULL &&
	    !file_beside_program(path, "darkroom-webhook"))
		return error_fail(error,
				  "the program darkroom-webhook is not beside "
				  "this program: it is needed for webhooks");
	if (c->url != NULL && !hook_origin(c->url, origin))
		return error_fail(error, "'%s' is no URL", c->url);
	if (asprintf(allow, "%s%s%s", origin,
		     c->url != NULL && c->allowed != NULL ? "," : "",
		     c->allowed != NULL ? c->allowed : "") < 0) {
		*allow = NULL;
		return error_fail(error, "no memory");
	}
	k->arguments[count++] = "--key-file";
	k->arguments[count++] = c->key_file;
	k->arguments[count++] = "--allow";
	k->arguments[count++] = *allow;
	k->arguments[count] = "--keep-keys";
	return true;
}

enum keeper_result hooks_check_flags(const struct hooks_config *c,
				     struct error *error)
{
	struct keeper_config k;
	char path[PATH_MAX], *allow;
	enum keeper_result result = KEEPER_FAILED;

	if (describe_helper(&k, c, path, &allow, error))
		result = keeper_check_flags(&k, error);
	free(allow);
	return result;
}

static bool start_keeper(struct hooks *h, struct error *error)
{
	struct keeper_config k;
	char path[PATH_MAX], *allow;
	bool is_good = describe_helper(&k, &h->config, path, &allow, error) &&
		       keeper_start(&k, &h->socket, &h->control, error);

	free(allow);
	return is_good;
}

struct hooks *hooks_open(const struct hooks_config *c, struct error *error)
{
	struct hooks *h = hooks_new(c);
	const char *text = NULL;

	error_set(error, "%s", strerror(ENOMEM));
	if (h == NULL)
		return NULL;
	errno = EMFILE;
	if (h->wake >= 0 && open_folders(h, &text)) {
		if (start_keeper(h, error))
			return h;
	} else if (text != NULL) {
		error_set(error, "%s: %s", c->path, text);
	} else {
		file_explain(error, c->path, "", errno);
	}
	hooks_close(h);
	return NULL;
}

void hooks_close(struct hooks *h)
{
	if (h == NULL)
		return;
	hooks_stop(h);
	for (int i = 0; i < 7; i++) {
		int fd = (const int[]){ h->control,   h->socket,
					h->wake,      h->folder.fd,
					h->failed.fd, h->entries.tmp,
					h->root }[i];

		if (fd >= 0)
			(void)close(fd);
	}
	for (uint32_t i = 0; i < h->target_count; i++)
		free(h->targets[i].heap);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

/* -- Flags -- */

/* A number with one of the units ms, s, m and h. */
static bool take_time(const char **at, uint64_t *ms)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {
		{ "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }
	};

	if (!take_number(at, 0, 1000000, ms))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (take_word(at, units[i].unit)) {
			*ms *= units[i].ms;
			return *ms <= UINT64_C(48) * 3600000;
		}
	return false;
}

bool hooks_read_schedule(struct hooks_schedule *s, const char *text,
			 struct error *why)
{
	s->count = 0;
	do {
		if (s->count == HOOKS_STEPS_MAX ||
		    !take_time(&text, &s->pause_ms[s->count]))
			return error_fail(why,
					  "give up to %d times of at most 48h "
					  "such as 5s,5m,2h, with the units "
					  "ms, s, m and h",
					  HOOKS_STEPS_MAX);
		s->count++;
	} while (take_word(&text, ","));
	return take_end(text) ||
	       error_fail(why, "'%s': there must be a comma between two times",
			  text);
}
