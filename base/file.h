/* SPDX-License-Identifier: MIT */
/*
 * File: whole files, read at once, and written so that no reader ever sees one
 * half written.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The bytes of a file, followed by a NUL, for the caller to free(); *bytes is
 * their number.  NULL: it cannot be read or has more than `bytes_max`; *why
 * says which, without the path.
 */
MUST_CHECK char *file_read_bytes(const char *path, size_t bytes_max,
				 size_t *bytes, const char **why);

/* The same of a text; a file with a zero byte is not text. */
MUST_CHECK char *file_read_text(const char *path, size_t bytes_max,
				const char **why);

/*
 * A new version of a file.  It is written as PATH.tmp and replaces PATH when it
 * is complete.  All zero: none is open.
 */
struct file_draft {
	FILE *out; /* to write to; file_draft_commit() finds its errors */
	char *path;
	char *draft_path;
};

/* False: `error` names the file, errno says why, and nothing is open. */
MUST_CHECK bool file_draft_open(struct file_draft *d, const char *path,
				struct error *error);

/*
 * Write the draft to disk, and put it in place of the file.  False: `error`
 * names the file, which is as it was, and errno says why.  Either way the draft
 * is closed.
 */
MUST_CHECK bool file_draft_commit(struct file_draft *d, struct error *error);

/* Close the draft and remove it.  One that is not open is fine. */
void file_draft_drop(struct file_draft *d);

/*
 * Replace the file `name` of the folder `dir` by `text`, by a draft.  If `text`
 * is NULL, the error is that memory did not suffice for it.
 */
MUST_CHECK bool file_write_text(const char *dir, const char *name,
				const char *text, struct error *error);

#endif
