/* SPDX-License-Identifier: MIT */
/*
 * Dataset: all files to upload, in memory before the run begins.
 *
 * A folder gives the pictures below it (FOLDER_PICTURES of base/folder.h), or
 * all files on request, sorted by path.  Symbolic links are followed; hidden
 * files and folders are left out.  A list (a file) gives the files that it
 * names, in its order.  A line is PATH, or PATH, a TAB and a QUERY; paths are
 * relative to the folder of the list.  lines.h says what else the list may
 * contain.
 *
 * Ownership  The dataset owns its texts and bytes and lends them.
 * Threads    Read-only once loaded.
 * Limits     More than `bytes_max` in all is an error.  This protects the
 *            machine's memory if somebody names a wrong folder.
 */
#ifndef LOADGEN_DATASET_DATASET_H
#define LOADGEN_DATASET_DATASET_H

#include "base/error.h"
#include "loadgen/dataset/picture_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATASET_TYPE_BYTES = 100 };

#define DATASET_BYTES_MAX (UINT64_C(4) << 30)

struct dataset_file {
	char *path;  /* relative to the folder, or as in the list */
	char *query; /* added to the URL's query; NULL: none */
	char *bytes; /* the file: a part of `body` */
	size_t size_bytes;
	char *body; /* what is sent: the file, or a form that contains it */
	size_t body_bytes;
	struct picture_header image; /* all 0: no picture */
	/* Content-Type of `body`.  NULL: that of the dataset. */
	const char *content_type;
};

struct dataset {
	struct dataset_file *files;
	uint32_t count;       /* >= 1 once loaded */
	uint64_t bytes_total; /* size of all files, without forms */
	/* Limit of bytes_total while loading. */
	uint64_t bytes_max;
	char content_type[DATASET_TYPE_BYTES]; /* of the other bodies */
};

/*
 * Can a query, such as "w=320&h=240", be sent as it is?  It must be visible
 * ASCII, not empty, not begin with '?', and have no '#'.
 */
bool query_is_clean(const char *query);

/*
 * Fill the empty `d` from a folder or a list.  False: `error` names the file at
 * fault, and `d` is still empty.  No file at all is an error too.
 */
MUST_CHECK bool dataset_load(struct dataset *d, const char *path,
			     bool all_files, uint64_t bytes_max,
			     struct error *error);

/*
 * Make each body a form that uploads the file as `field`, as a browser would
 * (RFC 7578).  False: `error` says why not.
 */
MUST_CHECK bool dataset_wrap(struct dataset *d, const char *field,
			     struct error *error);

/* Free the files and make `d` empty.  An empty one is fine. */
void dataset_release(struct dataset *d);

#endif
