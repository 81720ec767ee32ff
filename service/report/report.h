/* SPDX-License-Identifier: MIT */
/*
 * Reports: what the server says of itself.
 *
 *	GET /stats, SIGUSR1     figures of the process, of uploads, stages and
 *	GET /metrics            workers, each a row of figures.def
 *	GET /v1/live            a text/event-stream: each viewer gets one event
 *	                        `hello`, then all get the same events `frame`
 *	GET /trace, --trace     what the workers did, as Chrome's trace events
 *	GET /v1/blocking-graph  where threads of uploads block, and what they
 *	                        use from each of these points to the next
 *
 * docs/http-api.md describes each member.  A text that is returned is the
 * caller's, for free(); NULL: no memory.  The pipeline may run meanwhile.
 *
 * Threads    Any number, except where a part below says one.
 */
#ifndef SERVICE_REPORT_H
#define SERVICE_REPORT_H

#include "service/direct/uthread.h"
#include "service/http/handlers/watch/minute.h"
#include "service/pipeline/pipeline.h"
#include "service/sandbox.h"

#include "stages/stats.h"
#include "stages/tally.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>

struct http_report;

/*
 * Where the figures come from.  Files in /proc are opened by stats_init() and
 * stay open, because the sandbox does not allow opening them later.
 */
struct stats_source {
	const struct pipeline *pipeline; /* set before the first reading */
	const struct pipeline_config *config;
	const struct sandbox *sandbox;
	struct store *store;         /* NULL: none */
	struct inbox *inbox;         /* NULL: none */
	struct hooks *hooks;         /* NULL: none */
	const struct packer *packer; /* set before the first reading, too */
	const char *commit;          /* of the sources; NULL: unknown */
	uint32_t io_threads;         /* set before the first reading, too */
	/* The threads of connections, as io_threads; NULL: none. */
	const struct uthreads *uthreads;
	uint64_t start_ns;        /* CLOCK_MONOTONIC */
	uint64_t started_unix_ns; /* the time of day at start_ns */

	pthread_mutex_t lock; /* protects the members below */
	int status_fd;        /* /proc/self/status; -1: not available */
	DIR *files;           /* /proc/self/fd; NULL: not available */
	/* Recent rates, and the counts that they were computed from. */
	struct measure measures[PIPELINE_STAGES];
	struct stage_view recent[PIPELINE_STAGES];
};

/*
 * One thread calls these two, the first before the sandbox is entered.
 * `config` and `sandbox` must outlive `source`.
 */
void stats_init(struct stats_source *source,
		const struct pipeline_config *config,
		const struct sandbox *sandbox);
void stats_release(struct stats_source *source);

/* The JSON of /stats; as tables; and the text of /metrics. */
char *stats_json(struct stats_source *source);
void stats_print(struct stats_source *source, FILE *to);
char *metrics_text(struct stats_source *source, const struct http_report *http);

/*
 * Live.
 *
 * Memory     125 KiB for each worker, besides its trace.
 * Threads    Any number may call live_hello(); one calls the others.
 */
struct live;

/*
 * source->pipeline is set; `source` and the pipeline must outlive the result.
 * NULL: no memory.
 */
struct live *live_new(const struct stats_source *source);

/* NULL is fine. */
void live_free(struct live *l);

/* Each returns one whole event. */
char *live_hello(const struct live *l, struct minute *m);

/*
 * `is_first`: nobody watched before this frame, so recent figures start again.
 */
char *live_frame(struct live *l, struct minute *m, bool is_first);

/*
 * Trace: a JSON array of events, which Perfetto and chrome://tracing open even
 * if its end is missing.
 *
 * A worker is shown as a thread.  A visit is a slice named after its stage;
 * inside it lies one slice for each event, named after the stage and the
 * request's number.  Arrows connect the events of a request, including those of
 * its variants, in order of time: their bind_id is the request's number.
 * (Separate flow events of types s, t and f are not used: if two slices start
 * at the same time, such an event does not say to which of them it belongs.)
 *
 * Threads    One.
 * Limits     A worker's ring keeps its last TRACE_SPANS spans.
 */
struct trace_file;

/*
 * Start a thread that writes the trace of a whole run to `to`, and empties the
 * workers' rings ten times a second.  This takes over `to`; if it fails, it
 * closes `to`.  NULL: no memory or no thread.
 */
struct trace_file *trace_file_start(FILE *to, const struct pipeline *p);

/*
 * Write the last visits and close the file.  The pipeline may have stopped
 * before.  *missed_count spans are missing in the file: they were overwritten
 * before they were read, or there was no memory for them.  False: the file
 * could not be written; errno says why.
 */
MUST_CHECK bool trace_file_stop(struct trace_file *f, uint64_t *missed_count);

/*
 * A trace of the spans that ended after `since_ns`, started before `until_ns`,
 * and were not overwritten yet.
 */
char *trace_window(const struct pipeline *p, uint64_t since_ns,
		   uint64_t until_ns);

/* The pipeline's policy learns a graph: group_has_blocking(). */
char *blocking_json(const struct pipeline *p);

#endif
