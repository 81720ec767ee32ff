/* SPDX-License-Identifier: MIT */
/*
 * Policies: which stage a free worker visits next, and how much it takes.
 *
 * A policy is a decision and nothing else.  It reads a snapshot, keeps a small
 * private state and returns a visit.  Locks, queues, sleeping, waking and the
 * clock belong to group.c, so a policy runs in a test without any thread.
 *
 * To add one: write policies/<name>.c, add POLICY(<name>) to policies/list.h.
 */
#ifndef STAGES_POLICY_H
#define STAGES_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct stage_view {
	uint32_t queued_count; /* events waiting */
};

/* What one worker may visit, as it was a moment ago. */
struct group_view {
	const struct stage_view *stages; /* in pipeline order */
	uint32_t stage_count;            /* >= 1 */
};

#define VISIT_UNTIL_EMPTY UINT32_MAX /* no int: not an enum in C11 */

struct visit {
	uint32_t stage;      /* index into group_view.stages */
	uint32_t events_max; /* 0: nothing worth doing, sleep */
};

/*
 * Called by one worker with its own `state`, so it needs no lock.  Must name a
 * stage that has events, or return events_max == 0; and may return that only
 * when no stage has events.
 */
typedef struct visit policy_pick_fn(void *state, const struct group_view *view);

/* Which threads handle events. */
enum policy_workers {
	POLICY_WORKERS_ROAM,   /* one per core, visiting all stages */
	POLICY_WORKERS_STAY,   /* a pool per stage, visiting only that one */
	POLICY_WORKERS_CALLER, /* none: whoever sends runs the handlers */
};

struct policy {
	const char *name;    /* as on the command line */
	const char *summary; /* one line for --list-policies */
	enum policy_workers workers;
	size_t state_bytes;   /* per worker; zeroed before use */
	policy_pick_fn *pick; /* NULL for POLICY_WORKERS_CALLER */
};

/* NULL if there is no policy of that name. */
const struct policy *policy_find(const char *name);

/* All policies, in the order of list.h; ends with NULL. */
extern const struct policy *const policy_list[];

#define POLICY(name) extern const struct policy policy_##name;
#include "stages/policies/list.h"
#undef POLICY

#endif
