/* SPDX-License-Identifier: MIT */
/*
 * Minute: for each second of the last minute, how uploads were answered, how
 * long that took, and how full the server was.
 *
 *	each reply to an upload -> [second] [second] ... -> /v1/live
 *
 * Entries are written when replies are sent, so an idle server does nothing,
 * and a new viewer sees the last minute.  A second without a reply to an upload
 * and without a reader has no entry.
 *
 * Threads    One thread calls minute_init() before all other calls, and
 *            minute_release() after them.  Any number may call the others at
 *            the same time.
 * Memory     about 190 KB.
 * Units      A second is a number: whole seconds of CLOCK_MONOTONIC.
 */
#ifndef SERVICE_MINUTE_H
#define SERVICE_MINUTE_H

#include "base/histogram.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	MINUTE_SECONDS = 60,
	MINUTE_RECENT_SECONDS = 5,
	/*
	 * A few more than a minute, for seconds that begin, end or are being
	 * read.
	 */
	MINUTE_KEPT = 64,
};

/* Replies to uploads, by status. */
struct minute_replies {
	uint64_t ok_count;           /* 2xx */
	uint64_t client_error_count; /* 4xx */
	uint64_t server_error_count; /* 5xx */
};

/* How full the server was, at one time. */
struct minute_gauges {
	uint64_t at_ns; /* 0: not read */
	uint64_t cpu_ns;
	uint64_t memory_used_bytes;
	uint32_t in_flight_count;
};

typedef void minute_gauges_fn(void *arg, struct minute_gauges *out);

/* `times` are those of 2xx replies, from the head to the reply. */
struct minute_second {
	uint64_t second;
	struct minute_replies replies;
	struct histogram_copy times;
	uint64_t time_ns_max;
	struct minute_gauges gauges; /* read early in the second */
	/* CPU seconds per second, until the next second; < 0: not known. */
	double cores;
};

/*
 * Counts of the last MINUTE_RECENT_SECONDS and of the current second until now.
 */
struct minute_recent {
	double duration_s; /* 0: the server has just started */
	struct minute_replies replies;
	struct histogram_copy times;
	uint64_t time_ns_max;
};

struct minute {
	minute_gauges_fn *read_gauges; /* see minute_init() */
	void *arg;
	uint64_t start_ns;
	pthread_mutex_t lock; /* protects the members below */
	struct minute_slot {
		uint64_t second; /* 0: never used */
		struct minute_replies replies;
		struct histogram times;
		uint64_t time_ns_max;
		struct minute_gauges gauges;
	} slots[MINUTE_KEPT]; /* the index is second % MINUTE_KEPT */
};

/* `read_gauges` is called at most once a second, by any thread. */
void minute_init(struct minute *m, minute_gauges_fn *read_gauges, void *arg,
		 uint64_t now_ns);
void minute_release(struct minute *m);

/* Count an upload that was answered with `status`, `took_ns` after its head. */
void minute_count(struct minute *m, uint64_t now_ns, unsigned int status,
		  uint64_t took_ns);

/* Read the gauges of this second, if they were not read yet. */
void minute_look(struct minute *m, uint64_t now_ns);

/*
 * The first of the last `count` complete seconds; not before the server's
 * start.
 */
uint64_t minute_first(const struct minute *m, uint64_t now_ns, uint32_t count);

/* False: the second has no entry, or no longer has one. */
bool minute_read(struct minute *m, uint64_t second, struct minute_second *out);

void minute_read_recent(struct minute *m, uint64_t now_ns,
			struct minute_recent *out);

#endif
