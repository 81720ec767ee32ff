/* SPDX-License-Identifier: MIT */
/*
 * Inside stats*.c: one reading, and its figures by name.
 */
#ifndef SERVICE_STATS_FIGURES_H
#define SERVICE_STATS_FIGURES_H

#include "service/report/stats.h"
#include "service/store/store.h"

enum { FIGURES_MAX = 16 };

/* Numbers with their names in /stats. */
struct figures {
	uint32_t count;
	struct figure {
		const char *name;
		double value;
	} list[FIGURES_MAX];
};

struct stats {
	struct pipeline_stats pipeline;
	struct process_stats process;
	double uptime_s;
	struct stage_view recent[PIPELINE_STAGES];
};

void stats_read(struct stats_source *source, struct stats *out);

/* The flags of the schedule, for the caller to free().  NULL: no memory. */
char *stats_schedule(const struct pipeline_config *config);

/* In ms: the end of its bucket, but no more than the most there was. */
double stats_quantile_ms(const struct histogram_copy *h, double q,
			 uint64_t most_ns);

struct figures stats_process(const struct stats *s);
struct figures stats_uploads(const struct stats *s);
struct figures stats_buffers(const struct stats *s);
struct figures stats_memory(const struct stats *s);
struct figures stats_store(const struct store *store);

/* Each a group of figures that belong together. */
typedef struct figures stats_counts_fn(const struct stage_stats *counts);

/* Of a stage, and of all that a worker did; both end with NULL. */
extern stats_counts_fn *const stats_of_stage[];
extern stats_counts_fn *const stats_of_work[];

/* Of a stage, lately. */
struct figures stats_rates(const struct stage_view *recent);

/* Where they are counted: group_counts_hardware(). */
stats_counts_fn stats_hardware;

struct figures stats_worker(const struct stats *s,
			    const struct worker_stats *worker);

#endif
