/* SPDX-License-Identifier: MIT */
/*
 * File: read or write a whole file at once; replace a file so that no other
 * program ever sees it half written.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * The bytes of a file, followed by a NUL, for the caller to free(); *bytes is
 * their number.  NULL: the file cannot be read or has more than `bytes_max`
 * bytes; *why says which, without the path.
 */
MUST_CHECK char *file_read_bytes(const char *path, size_t bytes_max,
				 size_t *bytes, const char **why);

/* The same for a text.  A file with a zero byte is refused: it is not text. */
MUST_CHECK char *file_read_text(const char *path, size_t bytes_max,
				const char **why);

/*
 * Set `why` to the text of `error`, an errno, with owner and mode of `file` in
 * the folder `path` ("": of `path` itself), or of the next folder above it that
 * can be looked at, up to "/" or the current one; and to the user that this
 * process is.  It reads the lists of users: for one thread, before the sandbox.
 */
void file_explain(struct error *why, const char *path, const char *file,
		  int error);

/*
 * Open the file of --json, for the figures of a program.  "-" is standard
 * output, which then has nothing else: what the program writes to `stdout` is
 * lost.  NULL: `error` is a sentence.
 */
MUST_CHECK FILE *file_open_figures(const char *path, struct error *error);

/* Close it.  False: not all is written; `error` is a sentence. */
MUST_CHECK bool file_close_figures(FILE *figures, const char *path,
				   struct error *error);

/* Write all bytes.  False: errno says why, and some may be written. */
MUST_CHECK bool file_write_all(int fd, const void *bytes, size_t count);

/*
 * Read this many bytes.  False: errno says why not; 0: the file is shorter.
 */
MUST_CHECK bool file_read_all(int fd, void *to, size_t count);

/*
 * The path of the program `name` in the folder of this program, for at most
 * PATH_MAX bytes.  False: nobody may run it, or there is none.
 */
MUST_CHECK bool file_beside_program(char *path, const char *name);

/*
 * If stdin, stdout or stderr is closed, open /dev/null in its place.  Otherwise
 * a socket or a file could get its number, and receive what is printed.  What
 * is printed to such a stdout is lost, which file_finish() finds out.
 */
void file_fill_standard(void);

/*
 * Has all that was printed to `out`, such as stdout, been written?  False:
 * `error` says so, and why.
 */
MUST_CHECK bool file_finish(FILE *out, struct error *error);

/*
 * A new version of a file.  It is written as PATH.tmp and replaces PATH when it
 * is complete.  A struct of zeros is a draft that is not open.
 */
struct file_draft {
	FILE *out; /* write to it; file_draft_commit() reports errors */
	char *path;
	char *draft_path;
};

/* False: `error` names the file, errno says why, and nothing is open. */
MUST_CHECK bool file_draft_open(struct file_draft *d, const char *path,
				struct error *error);

/*
 * Write the draft to disk, and put it in place of the file.  False: `error`
 * names the file, which is as it was, and errno says why.  The draft is closed
 * in both cases.
 */
MUST_CHECK bool file_draft_commit(struct file_draft *d, struct error *error);

/* Close the draft and delete PATH.tmp.  Nothing happens if it is not open. */
void file_draft_drop(struct file_draft *d);

/*
 * Replace the file `name` in the folder `dir` by `text`, through a draft.  If
 * `text` is NULL, this fails with the error that there was too little memory.
 */
MUST_CHECK bool file_write_text(const char *dir, const char *name,
				const char *text, struct error *error);

#endif
