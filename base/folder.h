/* SPDX-License-Identifier: MIT */
/*
 * Folder: the files below a folder, at any depth, in the order of their paths.
 *
 * Hidden files and folders (a name that begins with a dot) are left out.
 * Symbolic links are followed.  Nothing else is skipped silently: a folder or a
 * wanted file that cannot be read is an error, and so is a link to nothing or
 * to a folder that contains the link.
 *
 * Ownership  Paths belong to the list.
 */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum folder_kind {
	FOLDER_JPEGS,    /* *.jpg and *.jpeg, in upper or lower case */
	FOLDER_PICTURES, /* those, and of the other formats */
	FOLDER_ALL_FILES,
};

struct folder_file {
	char *path;       /* for open() */
	const char *name; /* the part of `path` below the folder */
	uint64_t bytes;
};

/* A struct of zeros is empty. */
struct folder_list {
	struct folder_file *files;
	size_t count; /* may be 0 */
};

/*
 * List the regular files of `dir`.  A folder that contains a file called `mark`
 * is left out, with everything below it; if `mark` is NULL, no folder is.
 * False: `error` names the file or folder that cannot be listed, and `list` is
 * empty.
 */
MUST_CHECK bool folder_list_read(struct folder_list *list, const char *dir,
				 enum folder_kind kind, const char *mark,
				 struct error *error);

/* Make `list` empty.  An empty one is fine. */
void folder_list_release(struct folder_list *list);

#endif
