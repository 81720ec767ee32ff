/* SPDX-License-Identifier: MIT */
/*
 * Two search servers with the same steps (query.h), and their clients: one of
 * stages, one of threads.  Each client sends its next query as soon as it has
 * the answer to the last.
 *
 *	stages    A query is a closure, which goes from stage to stage.  The
 *	          cache is an exclusive stage, so it needs no lock; but with
 *	          replicas, of which each has such a stage.
 *	threads   Each client has a thread, which does all steps.
 */
#ifndef SEARCH_SERVER_H
#define SEARCH_SERVER_H

#include "query.h"
#include "workload.h"

#include <stages/stage.h>
#include <stages/stats.h>

struct check;

struct server_config {
	const struct index *index;
	const struct workload *workload;
	const struct cores *cores;
	/* Complete for the number of stages; NULL: threads. */
	const struct schedule *schedule;
	size_t cache_bytes;
	uint32_t client_count;
	/* So many queries and, if it is 0, for so long after the warm-up. */
	uint64_t query_count;
	double warmup_seconds, seconds;
	/* Steps with little work are no stages (server_has_stage()). */
	bool has_few_stages;
	/* The lists of a query are read at the same time. */
	bool reads_at_once;
	const struct check *check; /* NULL: the answers are not checked */
};

/* Of the queries that were answered after the warm-up. */
struct server_result {
	double seconds, cpu_seconds;
	/* Of each answer, in any order: when, since then, and how long. */
	struct answered {
		float at_seconds, seconds;
	} * answers;
	size_t answer_count;
	uint64_t counts[ANSWER_KINDS];
	uint64_t corrected_count, wrong_count;
	uint64_t sum; /* equal if all replies were */
	/* With stages, since the start; the names of others are NULL. */
	struct stage_stats stages[STEPS];
	bool has_stats[STEPS];
};

bool server_has_stage(enum step step, bool has_few_stages);
uint32_t server_stage_count(bool has_few_stages);

/*
 * False: it has said on stderr why.  Always free result->answers; the result is
 * large.
 */
bool serve(const struct server_config *config, struct server_result *result);

#endif
