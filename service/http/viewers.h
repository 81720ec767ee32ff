/* SPDX-License-Identifier: MIT */
/*
 * Viewers: who watches the server live, and the thread that makes what they
 * see.
 *
 *	frame() -> text -> viewer_read() -> connection, for each viewer
 *
 * A frame is made every VIEWERS_INTERVAL_MS, once for all, as long as there is
 * a viewer; else the thread sleeps, for as long as nobody comes.  A viewer gets
 * its greeting, then the frame that is the newest whenever it has read one to
 * its end: who is slow misses some, and delays nobody.
 *
 * Ownership  A viewer is its connection's, from viewer_add() to
 *            viewer_remove().
 * Threads    viewer_add(), _read(), _remove(), viewers_count(): any, at once;
 *            of one viewer, its connection's.  The rest: one.
 * Limits     VIEWERS_MAX viewers.
 */
#ifndef SERVICE_VIEWERS_H
#define SERVICE_VIEWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { VIEWERS_MAX = 8, VIEWERS_INTERVAL_MS = 500 };

struct MHD_Connection;
struct viewer;
struct viewers;

/*
 * Makes a frame's text, to be free()d; NULL: no memory, and there is none this
 * time.  `is_first`: none was made since somebody came to watch.
 */
typedef char *viewers_frame_fn(void *arg, bool is_first);

/* NULL: no memory, or no thread. */
struct viewers *viewers_start(viewers_frame_fn *frame, void *arg);

enum viewers_entry {
	VIEWERS_ENTERED,
	VIEWERS_FULL,
	VIEWERS_ENDED, /* nobody may enter any more */
	VIEWERS_NO_MEMORY,
};

/*
 * `hello` is freed with the viewer; where it cannot enter, it is the caller's.
 * `connection`: it is suspended while there is nothing to read; NULL: it has a
 * thread of its own, which waits.
 */
enum viewers_entry viewer_add(struct viewers *all, char *hello,
			      struct MHD_Connection *connection,
			      struct viewer **viewer);

/*
 * From the connection's callback: copy what comes next, at most `bytes_max`.
 * 0: nothing, and the connection is suspended until there is; -1: the end.
 */
ssize_t viewer_read(struct viewer *v, char *to, size_t bytes_max);

void viewer_remove(struct viewer *v);

uint32_t viewers_count(struct viewers *all);

/* All reach their end, and nobody enters any more.  NULL is fine. */
void viewers_end(struct viewers *all);

/* All have been removed.  NULL is fine. */
void viewers_stop(struct viewers *all);

#endif
