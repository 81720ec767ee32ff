/* SPDX-License-Identifier: MIT */
/*
 * Budget: how much memory uploads may take together, and have taken.
 *
 * It counts; it allocates nothing.  Each upload has a charge, which is raised
 * before its memory is asked for and lowered after it is freed.
 *
 * Threads    Budgets: any, at once, without a lock.  A charge belongs to whom
 *            its upload belongs.
 */
#ifndef SERVICE_BUDGET_H
#define SERVICE_BUDGET_H

#include "stages/stage.h"

#include <stdatomic.h>

struct budget {
	uint64_t limit_bytes;
	_Atomic uint64_t used_bytes; /* never more than the limit */
	_Atomic uint64_t peak_bytes; /* of them */
	_Atomic uint64_t refused_count;
};

/* {0} is one of no bytes, of no budget. */
struct charge {
	struct budget *budget;
	uint64_t bytes;
};

enum budget_answer {
	BUDGET_OK,
	BUDGET_FULL,  /* not now */
	BUDGET_NEVER, /* more than the limit */
};

/* `peak_bytes` may be a moment behind `used_bytes`. */
struct budget_stats {
	uint64_t limit_bytes;
	uint64_t used_bytes;
	uint64_t peak_bytes;
	uint64_t refused_count;
};

void budget_init(struct budget *b, uint64_t limit_bytes);

/* Make `c` a charge of `bytes`.  But for BUDGET_OK, it is as before. */
MUST_CHECK enum budget_answer budget_charge(struct charge *c, uint64_t bytes);

/* Make `c` a charge of at most `bytes`. */
void budget_lower(struct charge *c, uint64_t bytes);

void budget_read(const struct budget *b, struct budget_stats *out);

#endif
