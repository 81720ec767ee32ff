/* SPDX-License-Identifier: MIT */
/*
 * Statistics: figures of the process, of uploads, stages and workers; as JSON
 * for GET /stats, as tables for SIGUSR1, and as text for GET /metrics.
 *
 * figures.def has each figure.
 *
 * Threads    One thread calls stats_init() and stats_release().  Any number of
 *            threads may call the others at the same time.
 */
#ifndef SERVICE_STATS_H
#define SERVICE_STATS_H

#include "service/direct/uthread.h"
#include "service/pipeline/pipeline.h"
#include "service/sandbox.h"

#include "stages/stats.h"

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
	struct store *store; /* NULL: none */
	const char *commit;  /* of the sources; NULL: unknown */
	uint32_t io_threads; /* set before the first reading, too */
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

/* A member is 0 if the system does not report it. */
struct process_stats {
	uint64_t started_unix_ns;
	uint64_t cpu_ns;
	uint64_t resident_bytes, resident_bytes_peak;
	uint64_t virtual_bytes;
	/* Context switches, including those of ended threads. */
	uint64_t switch_count;
	uint64_t file_count, file_count_max; /* open files */
};

/*
 * Call it before the sandbox is entered.  `config` and `sandbox` must outlive
 * `source`.
 */
void stats_init(struct stats_source *source,
		const struct pipeline_config *config,
		const struct sandbox *sandbox);
void stats_release(struct stats_source *source);

/* The JSON of /stats; the caller frees it.  NULL: no memory. */
char *stats_json(struct stats_source *source);

void stats_print(struct stats_source *source, FILE *to);

/* The text of /metrics, in Prometheus' format; as stats_json(). */
char *metrics_text(struct stats_source *source, const struct http_report *http);

/* The flags of the schedule; the caller frees it.  NULL: no memory. */
char *stats_schedule(const struct pipeline_config *config);

#endif
