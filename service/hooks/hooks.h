/* SPDX-License-Identifier: MIT */
/*
 * Hooks: events that receivers get by webhooks, in a queue on the disk.  Each
 * event is an entry (entries.h) for one receiver:
 *
 *	DIR/events/NAME/event.txt    a line with the receiver's URL, which is
 *	                             empty for the server's own; the body
 *	DIR/events/NAME/tries.txt    attempts that failed, and when the next
 *	                             one is due
 *	DIR/failed/NAME/             events that were given up
 *	DIR/tmp/                     entries being made or removed
 *
 *	hooks_put() -> events/ -> helper -> 2xx: removed
 *	                  ^------- else, after a pause; after the last: failed/
 *
 * A thread gives events that are due to the helper `darkroom-webhook`
 * (protocol.h), and removes those that were delivered.  If a process ends
 * between delivery and removal, the event is delivered again: each is delivered
 * at least once, always with the same id, "msg_NAME".
 *
 * Each receiver (an origin) has a heap of its own in memory, and at most
 * HOOKS_PER_ORIGIN events on their way, so that one that is slow or away does
 * not keep others waiting.  Bodies are on the disk until they are sent.
 *
 * Threads    One thread calls hooks_open(), hooks_start(), hooks_stop() and
 *            hooks_close().  Any number may call the others at the same time.
 * Errors     After STORE_FAILED and STORE_FULL, errno says why; 0: there are
 *            `events_max` events.
 * Memory     Up to 100 bytes for each event.
 */
#ifndef SERVICE_HOOKS_H
#define SERVICE_HOOKS_H

#include "service/keeper.h"
#include "service/store/entries.h"

enum { HOOKS_STEPS_MAX = 32, HOOKS_PER_ORIGIN = 8 };

/* The pauses before the second attempt, the third, ... */
struct hooks_schedule {
	uint64_t pause_ms[HOOKS_STEPS_MAX];
	uint32_t count;
};

/* Read TIME,... such as "5s,5m,30m,2h".  False: `why`. */
MUST_CHECK bool hooks_read_schedule(struct hooks_schedule *s, const char *text,
				    struct error *why);

struct hooks_config {
	const char *path;    /* the folder */
	const char *url;     /* that gets all events; NULL: none */
	const char *allowed; /* origins of other URLs, ORIGIN,...; NULL: none */
	const char *key_file;
	uint32_t events_max;
	struct hooks_schedule schedule;
	const char *program; /* of the helper; NULL: beside this program */
};

struct hooks;

/* Called by any thread with a sentence for the log. */
typedef void hooks_report_fn(void *arg, bool is_wrong, const char *text);

struct hooks_stats {
	uint64_t waiting_count; /* events in the queue now */
	uint64_t waiting_max;   /* that it may have */
	uint64_t oldest_ns;     /* age of the oldest; 0: there is none */
	uint64_t queued_count;  /* since the start, as those below */
	uint64_t delivered_count;
	uint64_t attempt_count;
	uint64_t failed_count; /* attempts that failed */
	uint64_t given_up_count;
	uint64_t full_count; /* events that had no room */
	uint64_t helper_starts;
	uint64_t kept_count; /* events in failed/ now */
};

/* As remote_check_flags(). */
MUST_CHECK enum keeper_result hooks_check_flags(const struct hooks_config *c,
						struct error *error);

/*
 * Open the queue, whose folder is made if its parent exists, and start the
 * keeper of the helper.  Call it before there are threads and a sandbox.
 * Texts of `c` must outlive it.  NULL: `error` says why.
 */
struct hooks *hooks_open(const struct hooks_config *c, struct error *error);
void hooks_close(struct hooks *h); /* NULL is fine */

/* Start the thread; after the sandbox was entered.  False: no thread. */
MUST_CHECK bool hooks_start(struct hooks *h, hooks_report_fn *report,
			    void *arg);

/*
 * End it, after the answers to what is on its way, but at most a second.
 * Nothing is reported any more.  NULL is fine.
 */
void hooks_stop(struct hooks *h);

/* Read the keys of signatures again; the report tells the result. */
void hooks_reload_keys(struct hooks *h);

/* May a ticket name this URL? */
bool hooks_allow(const struct hooks *h, const char *url);

/* Would the next event have no room? */
bool hooks_are_full(const struct hooks *h);

struct hooks_event {
	const char *type; /* such as "image.stored" */
	/*
	 * What the name is made of: an event of the same type, subject and
	 * stamp for the same receiver is the same event.  If it is still in the
	 * queue, it is not put there again.
	 */
	const char *subject;
	uint64_t stamp;
	const char *url;  /* gets it, too, if allowed; NULL: none */
	const char *data; /* a JSON object */
};

/* A stamp that no other event has. */
uint64_t hooks_new_stamp(void);

/*
 * Put an event into the queue, for each of its receivers.  After
 * STORE_OK it survives a crash or power loss.
 */
MUST_CHECK enum store_answer hooks_put(struct hooks *h,
				       const struct hooks_event *e);

void hooks_read_stats(struct hooks *h, struct hooks_stats *out);

#endif
