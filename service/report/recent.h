/* SPDX-License-Identifier: MIT */
/*
 * Recent: what happened in the last few frames of /v1/live.
 *
 *	struct recent    what a stage did
 *	struct cpu_use   how many cores the process and each stage used
 *
 * The program counts since its start.  Both structs keep copies of the counts
 * at the last RECENT_COPIES frames; the recent counts are the counts now minus
 * the oldest copy.
 *
 * The service time of a stage is wall-clock time: it includes the time in which
 * its thread waits for a disk, or for a core that other programs use.  So the
 * service times of all stages can add up to more than the CPU time.  Therefore
 * struct cpu_use takes the CPU time of each worker group (see pipeline.h), and
 * divides it among the stages of the group in proportion to their service
 * times.  The cores of all stages never add up to more than those of the
 * process:
 *
 *	process 1.30 cores = stages 0.40 + 0.10 + 0.05 + 0.60, others 0.15
 *
 * Threads    One.
 * Limits     Recent counts are wrong if a bucket of a histogram grows by 2^32
 *            or more within RECENT_COPIES frames.
 * Units      Cores: seconds of CPU time per second.
 */
#ifndef SERVICE_RECENT_H
#define SERVICE_RECENT_H

#include "service/pipeline/pipeline.h"

#include "stages/stats.h"

enum { RECENT_COPIES = 10 };

/* A struct of zeros has no copies yet. */
struct recent {
	uint64_t added_count; /* the next copy goes to [added_count % COPIES] */
	struct recent_copy {
		uint32_t waits[HISTOGRAM_BUCKETS];
		uint32_t services[HISTOGRAM_BUCKETS];
		uint64_t turn_count, filled_count;
		uint64_t service_ns, time_ns;
	} copies[RECENT_COPIES];
};

/* Counts of a stage, or of one of its parts: since the start, or recent. */
struct spread {
	struct histogram_copy waits, services;
	uint64_t turn_count;
	uint64_t filled_count; /* visits that handled at least one event */
	uint64_t service_ns;
	uint64_t time_ns; /* the time now, or the length of the recent time */
};

void spread_read(const struct stage_stats *from, uint64_t now_ns,
		 struct spread *out);

/* Forget all copies. */
void recent_begin(struct recent *r);

/*
 * Set *out to the growth of the counts since the oldest of the last
 * RECENT_COPIES calls; all zero at the first call.
 */
void recent_add(struct recent *r, const struct spread *now, struct spread *out);

/* Readings since the start.  Stages are those of pipeline_stats. */
struct cpu_reading {
	uint64_t at_ns, process_ns;
	uint64_t groups_ns[WORKER_GROUPS_MAX];
	uint64_t services_ns[PIPELINE_STAGES];
};

struct cpu_use {
	bool is_known; /* true after two readings */
	double process;
	double stages[PIPELINE_STAGES]; /* sum: at most `process` */

	uint64_t added_count;
	struct cpu_reading readings[RECENT_COPIES];
};

/* Forget all readings. */
void cpu_use_begin(struct cpu_use *u);

void cpu_use_add(struct cpu_use *u, const struct pipeline *p,
		 const struct pipeline_stats *s, uint64_t now_ns);

#endif
