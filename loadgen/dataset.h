/* SPDX-License-Identifier: MIT */
/*
 * Dataset: every upload of a folder, in memory before the run begins.
 *
 * Reads the regular files below a folder, symbolic links followed, sorted by
 * path.  Hidden files and folders are skipped, and so is what is not named
 * *.jpg or *.jpeg (in any case) unless all files are asked for.
 *
 * Ownership  The dataset owns its paths and bytes; everybody else is lent them.
 * Threads    Read-only once loaded.
 * Limits     A folder that holds more than `bytes_max` is an error, so that a
 *            wrong folder does not eat the memory of the machine.
 */
#ifndef LOADGEN_DATASET_H
#define LOADGEN_DATASET_H

#include "loadgen/error.h"
#include "loadgen/jpeg_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATASET_BYTES_MAX (UINT64_C(4) << 30)

struct dataset_file {
	char *path; /* relative to the folder */
	char *bytes;
	size_t size_bytes;
	struct jpeg_header image; /* all 0: not a JPEG */
};

struct dataset {
	struct dataset_file *files; /* in order of path */
	uint32_t count;             /* >= 1 once loaded */
	uint64_t bytes_total;
};

/*
 * Fill the empty `d`.  False: `error` names the file or folder at fault, and
 * `d` is still empty.  No file at all is an error too.
 */
MUST_CHECK bool dataset_load(struct dataset *d, const char *dir, bool all_files,
			     uint64_t bytes_max, struct error *error);

/* Free the files and make `d` empty.  An empty one is fine. */
void dataset_release(struct dataset *d);

#endif
