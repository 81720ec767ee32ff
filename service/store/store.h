/* SPDX-License-Identifier: MIT */
/*
 * Store: a folder of entries.  An entry is a small set of files; it exists
 * completely or not at all.
 *
 *	DIR/darkroom-store   marks the folder as a store; locked while open
 *	DIR/ab/ab12...f/     an entry, by its id
 *	DIR/spool/           uploads accepted and not yet stored: spool.h
 *	DIR/failed/          uploads that cannot become an image: spool.h
 *	DIR/tmp/             entries being made or removed; emptied at opening
 *
 * An entry is written to tmp/ and synced to the disk, files and folder; then
 * one rename moves it to its place, and that folder is synced too.  So after
 * STORE_OK an entry is complete on the disk, also after a crash or power loss,
 * and no reader ever sees a part of it.  An entry is removed by a rename, too.
 *
 * Threads    store_open(), store_close(): one.  The rest: any number at the
 *            same time.
 * Limits     The quota covers the disk blocks of entries, of their folders and
 *            of entries being made, but not the folders above entries.
 * Safety     Ids and file names cannot contain a path, and links are not
 *            followed, so nothing outside the folder is read or written.  Only
 *            an empty folder becomes a store.  Only names of the form that the
 *            store makes are removed.
 */
#ifndef SERVICE_STORE_H
#define SERVICE_STORE_H

#include "base/util.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	STORE_ID_BYTES = 64 + 1,   /* lower-case hexadecimal digits */
	STORE_NAME_BYTES = 32 + 1, /* of [a-z0-9_-], without ".jpg" */
	STORE_CALL_FILES = 3       /* descriptors that one call uses at most */
};

enum store_answer {
	STORE_OK,
	STORE_NOT_FOUND,
	STORE_FULL,    /* over the quota, or the disk is full */
	STORE_FAILED,  /* see errno */
	STORE_DAMAGED, /* the bytes are not those that were stored */
};

/* Named NAME.jpg, NAME.json or NAME.txt; not empty. */
struct store_file {
	const char *name;
	const void *bytes;
	size_t count;
};

/* Counted since the start, except waiting_count. */
struct spool_stats {
	uint64_t waiting_count;   /* entries now */
	uint64_t written_count;   /* entries made */
	uint64_t finished_count;  /* entries whose image was stored */
	uint64_t recovered_count; /* of those: not at the first attempt */
	uint64_t failed_count;    /* moved to failed/: no image can be made */
	uint64_t damaged_count;   /* of those: damaged on the disk */
};

struct store_stats {
	uint64_t quota_bytes; /* 0: no quota, and used_bytes is unknown */
	uint64_t used_bytes;  /* on the disk, with entries being made */
	uint64_t put_count;   /* entries made */
	uint64_t same_count;  /* entries not made, because they existed */
	uint64_t deleted_count;
	uint64_t full_count;   /* entries not made: STORE_FULL */
	uint64_t failed_count; /* entries not made or deleted: STORE_FAILED */
	struct spool_stats spool;
};

struct store;
struct spool;

/*
 * Open the folder, which must be a store or empty, and remove what a crash
 * left.  With a quota (not 0), the existing entries are counted.  NULL: *why is
 * the reason, and a folder that is not a store has not changed.
 */
struct store *store_open(const char *path, uint64_t quota_bytes,
			 const char **why);
void store_close(struct store *s); /* NULL is fine */

/* The spool of an open store. */
struct spool *store_spool(const struct store *s);

bool store_is_id(const char *text);
bool store_is_name(const char *text);

/*
 * Make the entry `id` with these files.  An existing entry with the same names
 * and bytes stays; any other, such as a damaged one, is replaced.  If the
 * result is not STORE_OK, nothing has changed; only if the last sync failed,
 * the entry may exist.
 */
MUST_CHECK enum store_answer store_put(struct store *s, const char *id,
				       const struct store_file *files,
				       uint32_t file_count);

/*
 * Open an entry: *folder is for store_read(); the caller closes it.  If the
 * entry is replaced meanwhile, store_read() still finds the old files.
 */
MUST_CHECK enum store_answer store_find(const struct store *s, const char *id,
					int *folder);

/* Open a file of an entry for reading; the caller closes *fd. */
MUST_CHECK enum store_answer store_read(int folder, const char *name, int *fd,
					uint64_t *bytes);

/*
 * store_check() reads an open file and compares its SHA-256 (in hexadecimal
 * digits); the file position does not move.  store_is_checked() only asks
 * whether that succeeded during the last hour and the file has not changed
 * since: it costs one fstat().
 */
bool store_is_checked(const struct store *s, int fd, const char *sha256);
MUST_CHECK enum store_answer store_check(const struct store *s, int fd,
					 const char *sha256);

/* Files of the entry that are open can still be read. */
MUST_CHECK enum store_answer store_delete(struct store *s, const char *id);

void store_stats(const struct store *s, struct store_stats *out);

#endif
