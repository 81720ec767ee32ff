/* SPDX-License-Identifier: MIT */
/*
 * Saved replies: the replies of a run in a folder, and the comparison of a
 * later run's replies with them.
 *
 * The body of each 2xx reply goes to a file that is named after the upload: its
 * path with '/' written as '__'.  If a file is sent several times, the last
 * reply stays.  status.tsv gets one line for each request, in the order in
 * which requests end: path; status or error; bytes of the reply.  Control
 * characters of a path are '?' in status.tsv.
 */
#ifndef LOADGEN_REPORT_SAVED_REPLIES_H
#define LOADGEN_REPORT_SAVED_REPLIES_H

#include "loadgen/client/result.h"
#include "loadgen/dataset/dataset.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct save;

/*
 * Make `dir` if it does not exist, and begin status.tsv.  The dataset is lent.
 * NULL: `error` says why.  It is an error if two uploads would have the same
 * file name.
 */
struct save *save_new(const char *dir, const struct dataset *dataset,
		      struct error *error);

/* Write one result.  False: `error` names the file. */
MUST_CHECK bool save_add(struct save *s, const struct result *result,
			 struct error *error);

/*
 * Finish status.tsv and free `s`.  False: status.tsv is not complete.  `s` may
 * be NULL.
 */
bool save_free(struct save *s, struct error *error);

/*
 * Compare `bytes` with the reply to the upload `path` that an earlier run saved
 * in `dir`.  The file is read at each call, so that the saved replies need not
 * fit into memory.  False: they differ or the file cannot be read; `why` says
 * which.
 */
MUST_CHECK bool saved_reply_equals(const char *dir, const char *path,
				   const void *bytes, size_t size,
				   struct error *why);

#endif
