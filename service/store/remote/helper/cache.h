/* SPDX-License-Identifier: MIT */
/*
 * Cache: a folder with copies of objects, up to a quota.
 *
 *	DIR/darkroom-store-cache     marks the folder, and is locked
 *	DIR/tmp/0123456789abcdef     copies that are not complete
 *	DIR/ab/ab12...               a package, named by its image's id
 *
 * A copy is there completely or not at all: it is written to tmp/, checked, and
 * moved by one rename.  When room is needed, the copies that were not used for
 * the longest time are removed.  Their order is kept in memory; at the start it
 * is that of their modification times, which a use renews at most each minute.
 *
 * A copy that is found is checked: its bytes and its time of change must be
 * those that it had when its SHA-256 was checked, else that is done again.
 * Other files in the folder are never touched.  Links are not followed.
 *
 * Limits     The quota counts the bytes of copies, complete or not, rounded up
 *            to 4 KiB.
 */
#ifndef SERVICE_STORE_CACHE_H
#define SERVICE_STORE_CACHE_H

#include "base/error.h"
#include "service/store/package.h"
#include "service/store/remote/protocol.h"

#include <sys/queue.h>

struct cache;

/*
 * Open the folder; it is made if its parent exists.  A folder without the mark
 * must be empty.  A lock that another process has is waited for, up to 5 s.
 * NULL: `error` says why.
 */
MUST_CHECK struct cache *cache_open(const char *path, uint64_t quota_bytes,
				    struct error *error);

void cache_free(struct cache *c);

/* The copy of `id`, whose descriptor the caller closes; -1: there is none. */
MUST_CHECK int cache_find(struct cache *c, const char *id, uint64_t *bytes);

/* Remove the copy, if there is one; and a draft of it will be dropped. */
void cache_remove(struct cache *c, const char *id);

/* A copy that is being written.  A struct of zeros is not begun. */
struct cache_draft {
	int fd; /* to write to; closed by commit and drop */
	bool is_begun, is_stale;
	uint64_t bytes;
	char name[17];
	char id[STORE_ID_BYTES];
	LIST_ENTRY(cache_draft) link;
};

/*
 * Begin a copy of `bytes` bytes, and make room for it.  False: errno says why;
 * there may be no room.
 */
MUST_CHECK bool cache_begin(struct cache *c, struct cache_draft *d,
			    const char *id, uint64_t bytes);

/*
 * Complete the copy, whose bytes the caller has checked by package_check().
 * Returns a descriptor of it that only reads, for the caller to close, also if
 * it could not be kept.  -1: it could not be opened again, and is dropped.
 */
MUST_CHECK int cache_commit(struct cache *c, struct cache_draft *d);

/* Count a draft that the caller could not write, for this errno. */
void cache_fail(struct cache *c, int error);

/* Give the draft up.  Nothing happens if it is not begun. */
void cache_drop(struct cache *c, struct cache_draft *d);

/* Set the figures of the cache, except hits and misses. */
void cache_read(struct cache *c, struct store_figures *out);

#endif
