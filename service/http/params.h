/* SPDX-License-Identifier: MIT */
/*
 * Parameters: what may be asked of an upload, or of one of its variants.
 *
 * One table names each parameter with its range, default and help; it parses,
 * and prints itself for --help.
 */
#ifndef SERVICE_PARAMS_H
#define SERVICE_PARAMS_H

#include "service/pipeline/upload.h"

#include <stdio.h>

enum { PARAMS_DETAIL_BYTES = 256, PARAMS_SHOWN_BYTES = 41 };

/* Parameters being read.  Start with one of the two below. */
struct params {
	struct img_recipe recipe;
	bool placeholder;
	const char *variant; /* its name; NULL: the whole upload's */
	uint32_t seen;       /* bit i: entry i of the table */
};

void params_init(struct params *p);

/* Those of a variant, which may change what is asked of the whole upload. */
void params_init_variant(struct params *p, const struct params *all,
			 const char *name);

/*
 * Take one "key=value"; `value` NULL: there was no "=".  False: `detail` is a
 * sentence about what was wrong, and `p` is as before.
 */
MUST_CHECK bool params_set(struct params *p, const char *key, const char *value,
			   char detail[PARAMS_DETAIL_BYTES]);

/* As much of `in` as fits, safe to show: printable ASCII only. */
const char *params_shown(char out[PARAMS_SHOWN_BYTES], const char *in);

/* For --help: a line for each parameter. */
void params_print_help(FILE *to);

#endif
