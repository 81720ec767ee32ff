/* SPDX-License-Identifier: MIT */
/*
 * Blocking: the blocking graph of a policy of user-level threads, as JSON for
 * GET /v1/blocking-graph: where the threads of uploads block, and what they use
 * from each of these points to the next.
 *
 * docs/http-api.md describes each member.
 *
 * Threads    Any number at the same time.  The pipeline may run meanwhile.
 */
#ifndef SERVICE_BLOCKING_H
#define SERVICE_BLOCKING_H

#include "service/pipeline/pipeline.h"

/*
 * The pipeline's policy learns a graph: group_has_blocking().  The caller frees
 * the result.  NULL: no memory.
 */
char *blocking_json(const struct pipeline *p);

#endif
