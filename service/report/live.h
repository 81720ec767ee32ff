/* SPDX-License-Identifier: MIT */
/*
 * Live: a running server as it goes on, in events of a text/event-stream: a
 * hello, which tells what there is, then frames, which tell what it does.
 *
 * docs/http-api.md describes each member.
 *
 * Memory     125 KiB for each worker, besides its trace.
 * Threads    live_hello(): any, at once.  The rest: one.
 */
#ifndef SERVICE_LIVE_H
#define SERVICE_LIVE_H

#include "service/report/stats.h"

#include <stdbool.h>

struct live;

/* `source` has its pipeline, and both outlive it.  NULL: no memory. */
struct live *live_new(const struct stats_source *source);

/* NULL is fine. */
void live_free(struct live *l);

/* An event each, whole, for the caller to free().  NULL: no memory. */
char *live_hello(const struct live *l);

/* `is_first`: nobody watched, and what is of late begins anew. */
char *live_frame(struct live *l, bool is_first);

#endif
