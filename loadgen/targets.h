/* SPDX-License-Identifier: MIT */
/*
 * Targets: the path and query of each kind of request, made before a run.
 *
 * The URL's own query comes first, then that of the file, then a drawn one.
 *
 * Pure.
 *
 * Limits     TARGETS_MAX: as many as there are queries to draw, times the
 *            files if files have queries of their own.
 */
#ifndef LOADGEN_TARGETS_H
#define LOADGEN_TARGETS_H

#include "loadgen/dataset.h"
#include "loadgen/error.h"
#include "loadgen/params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TARGETS_MAX = 10000000 };

struct targets {
	char **texts;         /* of one file after the other; owned */
	uint32_t file_count;  /* 1: all files have the same */
	uint32_t param_count; /* 1 if nothing is drawn */
};

/* Fill the empty `t`; `base` is the URL's.  False: `error` says why not. */
MUST_CHECK bool targets_init(struct targets *t, const char *base,
			     const struct dataset *dataset,
			     const struct params *params, struct error *error);

/* `param` is 0 if nothing is drawn.  Lent. */
const char *targets_find(const struct targets *t, uint32_t file,
			 uint32_t param);

/* Make `t` empty.  An empty one is fine. */
void targets_release(struct targets *t);

#endif
