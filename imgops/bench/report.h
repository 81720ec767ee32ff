/* SPDX-License-Identifier: MIT */
/* Report: what was measured, for people and for programs. */
#ifndef IMGOPS_BENCH_REPORT_H
#define IMGOPS_BENCH_REPORT_H

#include "imgops/bench/measure.h"

void report_print(FILE *out, const struct measure *m, const struct options *o);

/* False: it could not be written. */
MUST_CHECK bool report_write_json(FILE *out, const struct measure *m,
				  const struct options *o);

#endif
