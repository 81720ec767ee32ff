/* SPDX-License-Identifier: MIT */
/*
 * Viewers: the clients of GET /v1/live, and the thread that makes the frames
 * that they get.  control.c has the handler of that path.
 *
 *	frame() -> text -> connection, for each viewer
 *
 * While there are viewers, one frame for all of them is made every
 * VIEWERS_INTERVAL_MS; otherwise the thread sleeps.  A viewer gets a greeting,
 * and then, whenever it has read a frame to its end, the newest one.  A slow
 * viewer misses frames and delays nobody.
 *
 * Threads    Any number of threads may call viewers_count() and viewer_add() at
 *            the same time; the thread of a viewer's connection calls
 *            viewer_read() and viewer_remove(); one thread calls the others.
 * Limits     VIEWERS_MAX viewers.
 */
#ifndef SERVICE_VIEWERS_H
#define SERVICE_VIEWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VIEWERS_MAX = 8, VIEWERS_INTERVAL_MS = 500 };

struct connection;
struct viewer;
struct viewers;

enum viewers_entry {
	VIEWERS_ENTERED,
	VIEWERS_FULL,
	VIEWERS_ENDED, /* the server stops */
	VIEWERS_NO_MEMORY,
};

/*
 * Makes the text of a frame, to be freed by free().  NULL: no memory, so there
 * is no frame this time.  `is_first`: there were no viewers before this frame.
 */
typedef char *viewers_frame_fn(void *arg, bool is_first);

/* NULL: no memory, or no thread. */
struct viewers *viewers_start(viewers_frame_fn *frame, void *arg);

uint32_t viewers_count(struct viewers *all);

/*
 * `hello` is the first thing to read, and freed with the viewer; if the viewer
 * is not admitted, `hello` still belongs to the caller.  `connection` is
 * suspended while there is nothing to read; if it is NULL, the connection has a
 * thread of its own, which waits.
 */
enum viewers_entry viewer_add(struct viewers *all, char *hello,
			      struct connection *connection,
			      struct viewer **viewer);

/*
 * Copy the next bytes, at most `bytes_max`.  Returns how many; 0: there are
 * none yet, and the connection is suspended until there are some; -1: the
 * stream ends.
 */
ssize_t viewer_read(struct viewer *v, char *to, size_t bytes_max);

void viewer_remove(struct viewer *v);

/* End all viewers, and admit no new ones.  NULL is fine. */
void viewers_end(struct viewers *all);

/* Call it when there are no connections any more.  `all` may be NULL. */
void viewers_stop(struct viewers *all);

#endif
