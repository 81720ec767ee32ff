/* SPDX-License-Identifier: MIT */
/*
 * Schedules: all choices of how stages get the CPU, by the flags of the command
 * line; one reading of them for the server, the simulator and the benchmark.
 */
#ifndef STAGES_SCHEDULE_H
#define STAGES_SCHEDULE_H

#include "stages/discipline.h"
#include "stages/flags.h"
#include "stages/policy.h"
#include "stages/regime.h"

enum { STAGES_MAX = 32, SCHEDULE_ERROR_BYTES = 160 };

enum balance {
	BALANCE_SHARED,    /* one graph for all cores */
	BALANCE_REPLICATE, /* copies of the graph */
	BALANCE_PARTITION, /* each stage belongs to some of the cores */
};

enum distribute {
	DISTRIBUTE_ROUND_ROBIN,
	DISTRIBUTE_LEAST_LOADED, /* fewest events under way */
};

struct schedule {
	const struct policy *policy;
	struct regime regime;
	struct discipline discipline;
	enum balance balance;
	uint32_t part_count; /* replicas or partitions; 0: as many as can be */
	enum distribute distribute; /* to replicas */
	bool steal;
	bool pool_is_auto;
	uint32_t pool_threads[STAGES_MAX]; /* by stage; of each part */
	struct threshold thresholds[STAGES_MAX];
	bool has_thresholds;
	uint32_t given; /* flags set so far, by place in the table */
};

extern const struct flag schedule_flags[];

/* A schedule of all defaults; every pool has one thread. */
void schedule_init(struct schedule *s);

/*
 * Set one flag, `name` as in the table.  `text` is the value, NULL for a flag
 * that takes none; `stages` are the names that --pool and --threshold may use.
 * Set again, the last value is used; of those two, the last of each stage.
 * False: it is none of `values`.
 */
__attribute__((warn_unused_result)) bool
schedule_set(struct schedule *s, const char *name, const char *text,
	     const char *const *stages, uint32_t stage_count);

/*
 * False: these choices make no sense together, or with so many stages and
 * cores; `error` is a sentence that names a flag and says why.  Only what was
 * given is refused.  On success part_count is at least 1.
 */
__attribute__((warn_unused_result)) bool
schedule_complete(struct schedule *s, uint32_t stage_count, uint32_t core_count,
		  char error[SCHEDULE_ERROR_BYTES]);

#endif
