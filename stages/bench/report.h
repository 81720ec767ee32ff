/* SPDX-License-Identifier: MIT */
/* Report: what all runs came to, as a Markdown table and as JSON. */
#ifndef STAGES_BENCH_REPORT_H
#define STAGES_BENCH_REPORT_H

#include "stages/bench/options.h"

/* `results`: of each arm in the first round, then in the second, ... */
void report_print(FILE *out, const struct options *o,
		  const struct run_result *results);

/* False: not written, and errno says why. */
__attribute__((warn_unused_result)) bool
report_save(const struct options *o, const struct run_result *results);

#endif
