/* SPDX-License-Identifier: MIT */
/*
 * Inside store/: folders with files, and calls of store.c that spool.c uses.  A
 * folder is named by the descriptor of its parent and its name there.  Links
 * are not followed.  A failed call sets errno.
 */
#ifndef SERVICE_STORE_FILES_H
#define SERVICE_STORE_FILES_H

#include "service/store/store.h"

#include <dirent.h>

bool folder_is_file_name(const char *text);

/* -1: failed. */
int folder_open(int parent, const char *name);

/* Open a folder for folder_next(); closedir() closes it.  NULL: failed. */
DIR *folder_list(int parent, const char *name);

/* The name of the next entry; NULL: there is none. */
const char *folder_next(DIR *list);

/*
 * Make a folder with these files and sync it.  *bytes: its size on the disk.
 * False: a part of it may exist.
 */
MUST_CHECK bool folder_write(int parent, const char *name,
			     const struct store_file *files,
			     uint32_t file_count, uint64_t *bytes);

/*
 * Add a file to an open folder and sync it.  What it takes on the disk is added
 * to *bytes.  False: a part of it may exist.
 */
MUST_CHECK bool folder_add_file(int folder, const struct store_file *f,
				uint64_t *bytes);

/* Returns the bytes that it took on the disk; 0: it was not removed. */
uint64_t folder_remove_file(int folder, const char *name);

/* Does the folder have all these files, with these bytes? */
bool folder_has(int parent, const char *name, const struct store_file *files,
		uint32_t file_count);

/*
 * The bytes that the folder and its files take on the disk, in whole blocks.
 * 0: there is no such folder.
 */
uint64_t folder_disk_bytes(int parent, const char *name);

/*
 * Remove the folder and its files as far as possible.  If it contains anything
 * else, that and the folder stay.  If `name` is no folder, it is removed as a
 * file.  Returns the bytes freed on the disk.
 */
uint64_t folder_remove(int parent, const char *name);

/*
 * Checks: which files had their SHA-256 when they were last read to the end.  A
 * bounded number of files is remembered, each for an hour.
 *
 * Threads    checks_has(), checks_make(): any number at the same time.
 */
struct checks;

struct checks *checks_new(void); /* NULL: no memory */
void checks_free(struct checks *c);

/* See store_is_checked() and store_check(). */
bool checks_has(struct checks *c, int fd, const char *sha256);
MUST_CHECK enum store_answer checks_make(struct checks *c, int fd,
					 const char *sha256);

/*
 * In store.c: entries of the store's folders (images, spool, failed).  `folder`
 * is the descriptor of such a folder.  Every change is synced to the disk and
 * counted for the quota.
 */

/* The folder that contains all others. */
int store_root(const struct store *s);

/* Like store_put(), but not counted.  *moved: this call made the entry. */
MUST_CHECK enum store_answer store_place(struct store *s, int folder,
					 const char *id,
					 const struct store_file *files,
					 uint32_t file_count, bool *moved);

/* Remove an entry, or anything else with its name. */
enum store_answer store_take_out(struct store *s, int folder, const char *id);

/* Add a file to an entry, or replace the file with the same name. */
MUST_CHECK enum store_answer store_extend(struct store *s, int folder,
					  const char *id,
					  const struct store_file *file);

/* Move an entry to another folder; it replaces what has its name there. */
MUST_CHECK enum store_answer store_move(struct store *s, int from, int to,
					const char *id);

/* Close `fd` without changing errno. */
void folder_close(int fd);

#endif
