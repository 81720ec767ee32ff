/* SPDX-License-Identifier: MIT */
/*
 * Folder: the JPEGs below a folder, by name, and the bytes of a file.
 *
 * Files are *.jpg and *.jpeg in any case, symbolic links followed, hidden ones
 * left out, in the order of their paths.
 */
#ifndef DATASETS_FOLDER_H
#define DATASETS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct folder {
	char **paths; /* complete */
	uint32_t count;
};

struct content {
	uint8_t *bytes;
	size_t size_bytes;
};

/*
 * List what is below `dir`, but not in folders that hold a file called `mark`
 * (NULL: in all).  False: `dir` cannot be read (errno); one without JPEGs is
 * fine.
 */
bool folder_list(struct folder *f, const char *dir, const char *mark);

void folder_release(struct folder *f);

/* False: not readable (errno).  Else the content is its caller's to free(). */
bool content_read(struct content *c, const char *path);

#endif
