/* SPDX-License-Identifier: MIT */
/* Verdict: how many replies were looked at, and what was wrong with them. */
#ifndef LOADGEN_VERDICT_H
#define LOADGEN_VERDICT_H

#include "loadgen/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Zero one to begin. */
struct verdict {
	uint64_t checked_count;
	uint64_t wrong_count;
	struct error first_wrong; /* "file: what was wrong"; empty: nothing */
};

/* Count the reply to `path`; `why` is read only if it is not right. */
static inline void verdict_count(struct verdict *v, const char *path,
				 bool is_right, const struct error *why)
{
	v->checked_count++;
	if (is_right)
		return;
	if (v->wrong_count++ == 0)
		error_set(&v->first_wrong, "%s: %s", path, why->text);
}

#endif
