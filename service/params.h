/* SPDX-License-Identifier: MIT */
/*
 * Parameters: the query of an upload, and what it may hold.
 *
 * One table names each parameter with its range, default and help; it parses,
 * and prints itself for --help.
 */
#ifndef SERVICE_PARAMS_H
#define SERVICE_PARAMS_H

#include "service/pipeline.h"

#include <stdio.h>

enum { PARAMS_DETAIL_BYTES = 200 };

/* A query being read.  Start with params_init(). */
struct params {
	struct img_recipe recipe;
	uint32_t seen; /* bit i: entry i of the table */
};

void params_init(struct params *p);

/*
 * Take one "key=value"; `value` NULL: there was no "=".  False: `detail` is a
 * sentence about what was wrong, and `p` is as before.
 */
MUST_CHECK bool params_set(struct params *p, const char *key, const char *value,
			   char detail[PARAMS_DETAIL_BYTES]);

/* For --help: a line for each parameter. */
void params_print_help(FILE *to);

#endif
