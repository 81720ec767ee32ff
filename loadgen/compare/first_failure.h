/* SPDX-License-Identifier: MIT */
/* First failure: which request of a run was the first not answered 2xx. */
#ifndef LOADGEN_COMPARE_FIRST_FAILURE_H
#define LOADGEN_COMPARE_FIRST_FAILURE_H

#include "loadgen/error.h"

#include <stdbool.h>

/*
 * Look through the rows that loadgen wrote with --csv.  True: there is one,
 * and `failure` tells its file and what came: "a.jpg: status 500".
 */
MUST_CHECK bool first_failure_find(const char *csv, struct error *failure);

#endif
