/* SPDX-License-Identifier: MIT */
/*
 * Inside store*.c: folders of files, by the descriptor of the folder that they
 * are in.  Links are not followed.
 *
 * Failures say why in errno.
 */
#ifndef SERVICE_STORE_FOLDER_H
#define SERVICE_STORE_FOLDER_H

#include "service/store/store.h"

#include <dirent.h>

bool folder_is_file_name(const char *text);

/* -1: failed. */
int folder_open(int parent, const char *name);

/* A folder to be read by folder_next() and closed by closedir(). */
DIR *folder_list(int parent, const char *name);

/* The name of what comes next in it; NULL: nothing. */
const char *folder_next(DIR *list);

/* Make a folder of these files, on the disk.  False: some may be there. */
MUST_CHECK bool folder_write(int parent, const char *name,
			     const struct store_file *files,
			     uint32_t file_count);

/* Has the folder all these files, and are they as long as these? */
bool folder_has(int parent, const char *name, const struct store_file *files,
		uint32_t file_count);

/* Of all its files together; 0 if there is no such folder. */
uint64_t folder_bytes(int parent, const char *name);

/*
 * Remove the folder and its files, as far as that can be done; a folder with
 * anything else in it stays, with that.  What is no folder is removed as such.
 * Returns the bytes of the files.
 */
uint64_t folder_remove(int parent, const char *name);

/*
 * store_claim.c: is the folder a store, or new and then made one, and nobody
 * else's?  Returns what holds it until it is closed.  -1: *why says why not,
 * or else errno, and what was no store is as it was.
 */
int store_claim(int root, const char **why);

/* Close `fd` between a failed call and who asks for errno. */
void folder_close(int fd);

#endif
