/* SPDX-License-Identifier: MIT */
/* Reports: results -> report.md, report.html and the plots, in one folder. */
#ifndef LOADGEN_COMPARE_REPORTS_H
#define LOADGEN_COMPARE_REPORTS_H

#include "loadgen/error.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Write them anew.  False: the error says what was wrong or not written. */
MUST_CHECK bool reports_write(const char *folder, const cJSON *results,
			      struct error *error);

#endif
