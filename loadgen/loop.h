/* SPDX-License-Identifier: MIT */
/*
 * Loop: carries out libcurl transfers as their sockets become ready.
 *
 *	loop_add(easy) -> [ libcurl multi <- epoll ] -> done(easy, outcome)
 *
 * Work per event does not grow with the number of transfers, so thousands of
 * connections cost no more per request than one.  Each transfer is reported
 * right after the event that ended it, before the next event is looked at: a
 * clock read in `done` is not late by the work of other connections.
 *
 * Ownership  The caller owns the easy handles, and takes back those still in
 *            the loop, with loop_remove(), before loop_free().
 * Threads    One.  `done` may call loop_add() and loop_remove().
 */
#ifndef LOADGEN_LOOP_H
#define LOADGEN_LOOP_H

#include "loadgen/error.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#define LOOP_NEVER UINT64_MAX

struct loop;

/* A transfer has ended, well or not.  `easy` is out of the loop already. */
typedef void loop_done_fn(CURL *easy, CURLcode outcome, void *arg);

/*
 * At most `connections` are kept alive between transfers.  NULL: no memory or
 * no file descriptor left.
 */
struct loop *loop_new(long connections, loop_done_fn *done, void *arg);
void loop_free(struct loop *l);

/* Begin the transfer of `easy` at the next step.  False: out of memory. */
MUST_CHECK bool loop_add(struct loop *l, CURL *easy);

/* Break the transfer of `easy` off.  `done` is not called. */
void loop_remove(struct loop *l, CURL *easy);

/*
 * Wait until something is ready, and do it.  Waits until `wake_ns` (by
 * clock_now_ns(); or LOOP_NEVER) and for a tenth of a second at most.  False:
 * libcurl or the kernel failed, which leaves the loop unusable.
 */
MUST_CHECK bool loop_step(struct loop *l, uint64_t wake_ns);

#endif
