/* SPDX-License-Identifier: MIT */
/*
 * Reports: texts about the server, made by a thread of their own, so that the
 * thread that serves connections does not wait for them.
 *
 *	reports_ask() -> connection suspended -> make() -> connection resumed
 *
 * After a report that took t of CPU time, the next one of its kind begins 99 t
 * later, or after REPORTS_PAUSE_MS if that is sooner.  So each kind takes 1 %
 * of a core, however often it is asked for.  Requests of one kind that wait at
 * the same time share one report, which is never older than any of them.  A
 * trace is for one request, because each asks for its own time span, and it is
 * large: the next trace is made when the last one has been sent.
 *
 * Ownership  A struct report_wait is the caller's, and must stay where it is
 *            while its state is REPORT_WAITS.  A result is freed by the last
 *            report_drop() of it.
 * Threads    reports_ask(), report_drop(): any, at once.  The rest: one.  The
 *            thread sleeps while no request waits.
 * Limits     REPORTS_TRACES_MAX requests for traces wait, each for up to
 *            REPORTS_WAIT_MS; of other kinds, any number (see client_hold()).
 */
#ifndef SERVICE_REPORTS_H
#define SERVICE_REPORTS_H

#include "service/http/problem.h"

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

struct MHD_Connection;
struct reports;

enum report_kind {
	REPORT_STATS,
	REPORT_METRICS,
	REPORT_HELLO, /* of /v1/live */
	REPORT_TRACE,
	REPORT_KINDS
};

struct report_query {
	enum report_kind kind;
	uint64_t since_ns, until_ns; /* of a trace */
};

enum report_state {
	REPORT_NEW,
	REPORT_WAITS,
	REPORT_MADE,
	REPORT_NO_MEMORY,
	REPORT_BUSY,  /* too many wait for a trace, or this one too long */
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
	struct report_result *result; /* of REPORT_MADE; else NULL */
	/* While it waits. */
	STAILQ_ENTRY(report_wait) link;
	struct MHD_Connection *connection;
	pthread_cond_t *changed;
	uint64_t asked_ns;
};

/* A text to be free()d; NULL: no memory.  Called by the thread alone. */
typedef char *reports_make_fn(void *arg, const struct report_query *query);

/* NULL: no memory, or no thread. */
struct reports *reports_start(reports_make_fn *make, void *arg);

/*
 * True: w->state says how it ended.  False: `connection` was suspended, and is
 * resumed when it has ended.  `connection` NULL: it has a thread of its own,
 * which waits here.
 */
bool reports_ask(struct reports *all, struct report_wait *w,
		 struct MHD_Connection *connection);

/* The reason why there is no report; PROBLEM_NONE: there is one. */
enum problem report_problem(const struct report_wait *w);

/* NULL is fine.  Also as a MHD_ContentReaderFreeCallback. */
void report_drop(void *result);

/* The server drains: make reports at once, and let no trace wait. */
void reports_hurry(struct reports *all);

/*
 * End all waits; from now on every request gets REPORT_ENDED.  NULL is fine.
 */
void reports_end(struct reports *all);

/* All results have been dropped.  NULL is fine. */
void reports_stop(struct reports *all);

#endif
