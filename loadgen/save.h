/* SPDX-License-Identifier: MIT */
/*
 * Save: the replies of a run, in a folder, to compare servers by.
 *
 * The body of each 2xx reply goes to a file named as the path of the upload
 * with '/' written '__'; of several passes the last stays.  status.tsv has one
 * line for each request, as they end: path, status or error, reply bytes.
 * (Control characters in a path are written '?' there.)
 */
#ifndef LOADGEN_SAVE_H
#define LOADGEN_SAVE_H

#include "loadgen/dataset.h"
#include "loadgen/error.h"
#include "loadgen/result.h"

#include <stdbool.h>

struct save;

/*
 * The name of the file for the reply to `path`: 'a/b.jpg' -> 'a__b.jpg'.  The
 * caller frees it.  NULL: out of memory.
 */
char *save_name(const char *path);

/*
 * Make `dir` if it is not there, and begin status.tsv.  The dataset is lent.
 * NULL: `error` says why; two uploads that would share a file are a reason.
 */
struct save *save_new(const char *dir, const struct dataset *dataset,
		      struct error *error);

/* Write one result.  False: `error` names the file. */
MUST_CHECK bool save_add(struct save *s, const struct result *result,
			 struct error *error);

/* Finish status.tsv and free `s`.  False: it is not whole.  NULL is fine. */
bool save_free(struct save *s, struct error *error);

#endif
