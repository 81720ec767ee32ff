/* SPDX-License-Identifier: MIT */
/*
 * Live: reports on the running server, as a text/event-stream for GET /v1/live.
 * Each viewer gets one event `hello`; then all viewers get the same events
 * `frame`.
 *
 * docs/http-api.md describes each member.
 *
 * Memory     125 KiB for each worker, besides its trace.
 * Threads    Any number of threads may call live_hello() at the same time; one
 *            thread calls the others.
 */
#ifndef SERVICE_LIVE_H
#define SERVICE_LIVE_H

#include "service/http/handlers/watch/minute.h"
#include "service/report/stats.h"

#include <stdbool.h>

struct live;

/*
 * source->pipeline is set; `source` and the pipeline must outlive the result.
 * NULL: no memory.
 */
struct live *live_new(const struct stats_source *source);

/* NULL is fine. */
void live_free(struct live *l);

/* Each returns one whole event; the caller frees it.  NULL: no memory. */
char *live_hello(const struct live *l, struct minute *m);

/*
 * `is_first`: nobody watched before this frame, so recent figures start again.
 */
char *live_frame(struct live *l, struct minute *m, bool is_first);

#endif
