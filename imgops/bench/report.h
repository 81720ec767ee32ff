/* SPDX-License-Identifier: MIT */
/* Report: what was measured, for people and for programs. */
#ifndef IMGOPS_BENCH_REPORT_H
#define IMGOPS_BENCH_REPORT_H

#include "imgops/bench/measure.h"

#include <cjson/cJSON.h>

void report_print(FILE *out, const struct measure *m, const struct options *o);

/* False: it could not be written. */
MUST_CHECK bool report_write_json(FILE *out, const struct measure *m,
				  const struct options *o);

/* Write `object`, which it deletes.  False: it could not be written. */
MUST_CHECK bool report_print_json(FILE *out, cJSON *object);

#endif
