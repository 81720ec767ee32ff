/* SPDX-License-Identifier: MIT */
/*
 * Reports: texts about the server.  A separate thread makes them, so that the
 * thread that serves connections does not wait for them.
 *
 *	reports_ask() -> connection suspended -> make() -> connection resumed
 *
 * After a report that took t of CPU time, the next one of its kind begins no
 * earlier than 99 t later, or REPORTS_PAUSE_MS later if that is shorter.  So a
 * kind whose reports take up to 30 ms uses at most 1 % of a core, however often
 * it is asked for.  Requests of one kind that wait at the same time share one
 * report, which is made after the last of them came.  A trace is not shared,
 * because each request asks for its own time span.  Traces are large, so the
 * next trace is made only when the last one has been sent.
 *
 * Ownership  The caller owns a struct report_wait, which must not move in
 *            memory while its state is REPORT_WAITS.  The last report_drop() of
 *            a result frees it.
 * Threads    Any number of threads may call reports_ask() and report_drop() at
 *            the same time; one thread calls the others.  The reports' own
 *            thread sleeps while no request waits.
 * Limits     At most REPORTS_TRACES_MAX requests for traces wait, each for up
 *            to REPORTS_WAIT_MS.  Any number may wait for other kinds;
 *            client_hold() limits their rate.
 */
#ifndef SERVICE_REPORTS_H
#define SERVICE_REPORTS_H

#include "service/http/reply/problem.h"
#include "service/http/transport.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum {
	REPORTS_PAUSE_MS = 3000,
	REPORTS_WAIT_MS = 5000,
	REPORTS_TRACES_MAX = 4,
};

struct reports;

enum report_kind {
	REPORT_STATS,
	REPORT_METRICS,
	REPORT_HELLO, /* the greeting of /v1/live */
	REPORT_TRACE,
	REPORT_BLOCKING, /* the blocking graph */
	REPORT_KINDS
};

struct report_query {
	enum report_kind kind;
	uint64_t since_ns, until_ns; /* time span of a trace */
};

enum report_state {
	REPORT_NEW,
	REPORT_WAITS,
	REPORT_MADE,
	REPORT_NO_MEMORY,
	/* Too many wait for a trace, or this one has waited too long. */
	REPORT_BUSY,
	REPORT_ENDED, /* the server stops */
};

struct report_result {
	struct reports *all;
	enum report_kind kind;
	_Atomic uint32_t holder_count;
	size_t bytes;
	char *text;
};

struct report_wait {
	struct report_query query;    /* set by the caller */
	enum report_state state;      /* REPORT_NEW at first */
	struct report_result *result; /* if REPORT_MADE; otherwise NULL */
	/* Used while it waits. */
	STAILQ_ENTRY(report_wait) link;
	struct connection *connection;
	pthread_cond_t *changed;
	uint64_t asked_ns;
};

/*
 * Makes a text, to be freed by free(); NULL: no memory.  Called only by the
 * reports' thread.
 */
typedef char *reports_make_fn(void *arg, const struct report_query *query);

/* NULL: no memory, or no thread. */
struct reports *reports_start(reports_make_fn *make, void *arg);

/*
 * Ask for a report.  True: the wait has ended, and w->state says how.  False:
 * `connection` was suspended, and is resumed when the wait has ended.  If
 * `connection` is NULL, the connection has a thread of its own, which waits
 * here.
 */
bool reports_ask(struct reports *all, struct report_wait *w,
		 struct connection *connection);

/* The reason why there is no report; PROBLEM_NONE: there is one. */
enum problem report_problem(const struct report_wait *w);

/* `result` may be NULL.  Can be the release() of a reply. */
void report_drop(void *result);

/* The server drains: make reports at once, and let no trace wait. */
void reports_hurry(struct reports *all);

/*
 * End all waits; from now on every request gets REPORT_ENDED.  NULL is fine.
 */
void reports_end(struct reports *all);

/* Call it when all results have been dropped.  `all` may be NULL. */
void reports_stop(struct reports *all);

#endif
