/* SPDX-License-Identifier: MIT */
/*
 * Viewers: the clients of GET /v1/live, and the thread that makes the frames
 * that they get.  viewers.c also has the handler of that path.
 *
 *	frame() -> text -> connection, for each viewer
 *
 * While there is a viewer, a frame is made every VIEWERS_INTERVAL_MS, once for
 * all; otherwise the thread sleeps.  A viewer gets a greeting, and then,
 * whenever it has read a frame to its end, the newest one.  A slow viewer
 * misses frames and delays nobody.
 *
 * Threads    viewers_count(): any, at once.  The rest: one.
 * Limits     VIEWERS_MAX viewers.
 */
#ifndef SERVICE_VIEWERS_H
#define SERVICE_VIEWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VIEWERS_MAX = 8, VIEWERS_INTERVAL_MS = 500 };

struct viewers;

/*
 * Makes the text of a frame, to be free()d; NULL: no memory, and there is no
 * frame this time.  `is_first`: it is the first since there were no viewers.
 */
typedef char *viewers_frame_fn(void *arg, bool is_first);

/* NULL: no memory, or no thread. */
struct viewers *viewers_start(viewers_frame_fn *frame, void *arg);

uint32_t viewers_count(struct viewers *all);

/* End all viewers, and admit no new ones.  NULL is fine. */
void viewers_end(struct viewers *all);

/* There are no connections any more.  NULL is fine. */
void viewers_stop(struct viewers *all);

#endif
