/* SPDX-License-Identifier: MIT */
/*
 * Report: the results of a simulated run, as text or JSON.
 *
 * Utilisation is the share of core time that is spent in handlers.  The wait of
 * a stage is the time of its events in the queue.  Its service time is time on
 * a core; for threads that share cores, that is less than the time in the
 * handler.
 */
#ifndef STAGES_SIM_REPORT_H
#define STAGES_SIM_REPORT_H

#include "stages/sim/sim.h"

#include <stdio.h>

enum { SUMMARY_CLASSES_MAX = 16 };

struct size_classes {
	uint32_t bound_count; /* 0: the 50th, 90th and 99th percentile */
	/* ascending upper bounds, excluded */
	double bounds[SUMMARY_CLASSES_MAX - 1];
};

struct report {
	const struct sim_config *config;
	const struct sim_result *result;
	struct size_classes classes;
};

/* Both functions fill `classes` if there are none. */
void report_print(FILE *out, struct report *report);

/* One JSON object. */
void report_print_json(FILE *out, struct report *report);

#endif
