/* SPDX-License-Identifier: MIT */
/*
 * Measured rates of a stage, for policies: counters in, moving means out.
 *
 * Each mean forgets with a time constant of one second of the clock it is
 * given, which in a simulation is virtual.
 */
#ifndef STAGES_MEASURE_H
#define STAGES_MEASURE_H

#include <stdint.h>

struct stage_view;

#define MEASURE_INTERVAL_NS UINT64_C(50000000) /* between two updates */

/* Totals since start, of one stage. */
struct measure_totals {
	uint64_t arrived_count;
	uint64_t handled_count;
	uint64_t service_ns;
	uint64_t switch_count; /* visits that followed another at once */
	uint64_t switch_ns;
};

struct measure {
	struct measure_totals last;
	uint64_t last_ns; /* 0: no update yet */
};

/*
 * Put the means of what happened since the last update into `view`, where the
 * means so far are.  The first call only notes where it begins.
 * `worker_count`: among so many the arrivals are shared.
 */
void measure_update(struct measure *m, const struct measure_totals *now,
		    uint64_t now_ns, uint32_t worker_count,
		    struct stage_view *view);

#endif
