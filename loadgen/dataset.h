/* SPDX-License-Identifier: MIT */
/*
 * Dataset: every upload, in memory before the run begins.
 *
 * Of a folder: the regular files below it, symbolic links followed, sorted by
 * path.  Hidden files and folders are skipped, and so is what is not named
 * *.jpg or *.jpeg (in any case) unless all files are asked for.
 * Of a manifest, which is a file: the files that it lists, in its order.  A
 * line is PATH or PATH, a TAB and a QUERY; paths are relative to its folder.
 * (lines.h says what else may stand there.)
 *
 * Ownership  The dataset owns its texts and bytes; everybody else is lent them.
 * Threads    Read-only once loaded.
 * Limits     More than `bytes_max` is an error, so that a wrong folder does not
 *            eat the memory of the machine.
 */
#ifndef LOADGEN_DATASET_H
#define LOADGEN_DATASET_H

#include "loadgen/error.h"
#include "loadgen/jpeg_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATASET_TYPE_BYTES = 100 };

#define DATASET_BYTES_MAX (UINT64_C(4) << 30)

struct dataset_file {
	char *path;  /* relative to the folder, or as in the manifest */
	char *query; /* to add to the URL's; NULL: none */
	char *bytes; /* within the body */
	size_t size_bytes;
	char *body; /* what is sent: the file, wrapped or not */
	size_t body_bytes;
	struct jpeg_header image; /* all 0: not a JPEG */
};

struct dataset {
	struct dataset_file *files;
	uint32_t count;                        /* >= 1 once loaded */
	uint64_t bytes_total;                  /* of the files themselves */
	uint64_t bytes_max;                    /* while it is loaded */
	char content_type[DATASET_TYPE_BYTES]; /* of the bodies */
};

/*
 * Fill the empty `d` from a folder or a manifest.  False: `error` names the
 * file at fault, and `d` is still empty.  No file at all is an error too.
 */
MUST_CHECK bool dataset_load(struct dataset *d, const char *path,
			     bool all_files, uint64_t bytes_max,
			     struct error *error);

/*
 * For those that load: read the file `location` and add it as `path`, with
 * `query` or NULL.  False: `why` says why not, without its name.
 */
MUST_CHECK bool dataset_add(struct dataset *d, const char *location,
			    const char *path, const char *query,
			    struct error *why);

/*
 * Make each body a form with the file in `field` (multipart.h).  False: `error`
 * says why not.
 */
MUST_CHECK bool dataset_wrap(struct dataset *d, const char *field,
			     struct error *error);

/* Free the files and make `d` empty.  An empty one is fine. */
void dataset_release(struct dataset *d);

#endif
