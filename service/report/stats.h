/* SPDX-License-Identifier: MIT */
/*
 * Statistics: the same figures as JSON for /stats and as a table for SIGUSR1.
 *
 * service/README.md describes each.
 *
 * Threads    stats_json(), _print() and _read_process(): any, at once.
 */
#ifndef SERVICE_STATS_H
#define SERVICE_STATS_H

#include "service/pipeline/pipeline.h"
#include "service/report/process.h"
#include "service/sandbox.h"

#include "stages/measure.h"

#include <pthread.h>
#include <stdio.h>

/* What there is to tell about. */
struct stats_source {
	const struct pipeline *pipeline; /* set before the first reading */
	const struct pipeline_config *config;
	const struct sandbox *sandbox;
	const struct store *store; /* NULL: none */
	uint64_t start_ns;         /* CLOCK_MONOTONIC */

	pthread_mutex_t lock; /* of what follows */
	struct process process;
	/* Rates of late, as of the last reading. */
	struct measure measures[PIPELINE_STAGES];
	struct stage_view recent[PIPELINE_STAGES];
};

/* Before the sandbox is entered.  Both must outlive the source. */
void stats_init(struct stats_source *source,
		const struct pipeline_config *config,
		const struct sandbox *sandbox);
void stats_release(struct stats_source *source);

/* The JSON of /stats, for the caller to free().  NULL: no memory. */
char *stats_json(struct stats_source *source);

void stats_print(struct stats_source *source, FILE *to);

void stats_read_process(struct stats_source *source, struct process_stats *out);

#endif
