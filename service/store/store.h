/* SPDX-License-Identifier: MIT */
/*
 * Store: a folder of entries, each a small set of files, whole or not there.
 *
 *	DIR/darkroom-store   says that this is one; held while it is open
 *	DIR/ab/ab12...f/     an entry, by its id
 *	DIR/tmp/             entries being made or removed; cleared by opening
 *
 * An entry is made in tmp/, its files and its folder are synced to the disk,
 * then one rename puts it in its place, which is synced in turn.  So whoever
 * was told that it is stored finds it whole, after a crash and a loss of power
 * too, and nobody ever sees a part of it.  It leaves by a rename as well.
 *
 * Threads    store_open(), store_close(): one.  The rest: any, at once.
 * Limits     The quota: bytes of all files, without what the file system adds.
 * Safety     Ids and names of files have no room for a path, and links are not
 *            followed: nothing outside the folder is read or written.  A folder
 *            that is not a store does not become one unless it is empty, and
 *            what is removed has a name of the form that the store gives.
 */
#ifndef SERVICE_STORE_H
#define SERVICE_STORE_H

#include "stages/stage.h"

#include <stddef.h>
#include <sys/types.h>

enum {
	STORE_ID_BYTES = 64 + 1,   /* lower-case hexadecimal digits */
	STORE_NAME_BYTES = 32 + 1, /* of [a-z0-9_-], without ".jpg" */
	STORE_CALL_FILES = 3       /* descriptors, of a call at a time */
};

enum store_answer {
	STORE_OK,
	STORE_NOT_FOUND,
	STORE_FULL,   /* over the quota, or the disk is full */
	STORE_FAILED, /* errno says why */
};

/* Named NAME.jpg or NAME.json. */
struct store_file {
	const char *name;
	const void *bytes;
	size_t count;
};

struct store_stats {
	uint64_t quota_bytes; /* 0: none, and used_bytes not known */
	uint64_t used_bytes;  /* entries that are being made included */
	uint64_t put_count;   /* entries made */
	uint64_t same_count;  /* not made, as they were there */
	uint64_t deleted_count;
	uint64_t full_count;   /* not made: STORE_FULL */
	uint64_t failed_count; /* not made or deleted: STORE_FAILED */
};

struct store;

/*
 * Open the folder, which must exist and be a store, or empty, and clear away
 * what a crash left.  With a quota (not 0), all files are counted.  NULL: *why
 * says why not, and nothing was changed in a folder that is not a store.
 */
struct store *store_open(const char *path, uint64_t quota_bytes,
			 const char **why);
void store_close(struct store *s); /* NULL is fine */

bool store_is_id(const char *text);
bool store_is_name(const char *text);

/*
 * Make the entry `id` of these files.  One that is there with the same names
 * and sizes stays as it is; any other, as a damaged one, is replaced.  But for
 * STORE_OK, nothing has changed, unless the last sync failed: then the entry
 * may be there.
 */
MUST_CHECK enum store_answer store_put(struct store *s, const char *id,
				       const struct store_file *files,
				       uint32_t file_count);

/*
 * Open an entry: *folder is for store_read() and close().  Its files stay
 * together even if it is replaced in the meantime.
 */
MUST_CHECK enum store_answer store_find(const struct store *s, const char *id,
					int *folder);

/* Open a file of an entry for reading: *fd is the caller's. */
MUST_CHECK enum store_answer store_read(int folder, const char *name, int *fd,
					uint64_t *bytes);

/* Whoever has it open can go on reading, as far as he has opened its files. */
MUST_CHECK enum store_answer store_delete(struct store *s, const char *id);

void store_stats(const struct store *s, struct store_stats *out);

#endif
