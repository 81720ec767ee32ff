/* SPDX-License-Identifier: MIT */
/*
 * Report: what a simulated run came to, for people and for scripts.
 *
 * Utilisation is the share of core time spent in handlers.  The wait of a stage
 * is that of its events in the queue; the service is time on a core, which for
 * threads that share cores is less than the time in the handler.
 */
#ifndef STAGES_SIM_REPORT_H
#define STAGES_SIM_REPORT_H

#include "stages/sim/summary.h"

#include <stdio.h>

struct report {
	const struct engine_config *config;
	const struct engine_result *result;
	struct size_classes classes;
};

void report_print(FILE *out, const struct report *report);

/* One JSON object.  False: not written. */
__attribute__((warn_unused_result)) bool
report_print_json(FILE *out, const struct report *report);

#endif
