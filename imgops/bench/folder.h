/* SPDX-License-Identifier: MIT */
/*
 * Folder: the JPEGs of a folder, in memory before anything is measured.
 *
 * The regular files named *.jpg or *.jpeg, in any case, at any depth, hidden
 * ones left out, in order of path.
 */
#ifndef IMGOPS_BENCH_FOLDER_H
#define IMGOPS_BENCH_FOLDER_H

#include "imgops/bench/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file {
	char *path; /* relative to the folder */
	uint8_t *bytes;
	size_t size_bytes;
};

struct folder {
	struct file *files;
	size_t count; /* >= 1 once loaded */
};

/*
 * Load the files of fewer than `max_bytes`.  False: `error` says why, and
 * `f`, which must be empty, still is.  No file at all is an error too.
 */
MUST_CHECK bool folder_load(struct folder *f, const char *dir,
			    uint64_t max_bytes, struct error *error);

void folder_release(struct folder *f);

/* One file, `name` of `dir`.  Its path is `name`, copied. */
MUST_CHECK bool file_read(struct file *file, const char *dir, const char *name,
			  struct error *error);

/* Write it, with the folders that `name` needs. */
MUST_CHECK bool file_write(const char *dir, const char *name,
			   const uint8_t *bytes, size_t size_bytes,
			   struct error *error);

void file_release(struct file *file);

#endif
