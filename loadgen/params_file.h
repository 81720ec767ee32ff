/* SPDX-License-Identifier: MIT */
/*
 * Params file: a query per line, as "w=320&h=320&q=75"; or its weight, a TAB
 * and the query.  Without a weight it is 1.  (lines.h says what else may stand
 * there.)
 */
#ifndef LOADGEN_PARAMS_FILE_H
#define LOADGEN_PARAMS_FILE_H

#include "loadgen/params.h"

/* Fill the empty `p`.  False: `error` names file and line; `p` is empty. */
MUST_CHECK bool params_read(struct params *p, const char *path,
			    struct error *error);

#endif
