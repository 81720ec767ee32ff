/* SPDX-License-Identifier: MIT */
/*
 * Package: all files of an image in one run of bytes, for stores that keep one
 * object for each image.
 *
 *	darkroom-package 1 BYTES\n       BYTES of the index: 8 decimal digits
 *	NAME OFFSET BYTES SHA256\n       a line for each file
 *	...
 *	the bytes of the files           in the order of the lines, without gaps
 *
 * The index is text, and ends where the first file begins.  One of the files is
 * meta.json; the server puts it first.  So the first PACKAGE_HEAD_BYTES contain
 * the index and, nearly always, meta.json, and all of a small image.
 *
 * Bytes from outside are not trusted: package_read_index() accepts only an
 * index that package_write() could have written.
 *
 * Threads    Any, at the same time.
 */
#ifndef SERVICE_PACKAGE_H
#define SERVICE_PACKAGE_H

#include "service/store/entries.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PACKAGE_FILES_MAX = 64,
	PACKAGE_INDEX_BYTES_MAX = 16 << 10,
	PACKAGE_HEAD_BYTES = 64 << 10,
};

/* The process darkroom-store takes no larger one. */
#define PACKAGE_BYTES_MAX (UINT64_C(1) << 30)

struct package_file {
	char name[STORE_FILE_NAME_BYTES];
	char sha256[STORE_ID_BYTES]; /* hexadecimal digits */
	uint64_t offset;             /* from the begin of the package */
	uint64_t bytes;
};

struct package {
	uint64_t bytes; /* of the whole package */
	uint32_t file_count;
	struct package_file files[PACKAGE_FILES_MAX];
};

/*
 * Write a package of these files at the begin of `fd`.  False: errno says why,
 * or there are too many files (E2BIG).
 */
MUST_CHECK bool package_write(int fd, const struct store_file *files,
			      uint32_t file_count, struct package *out);

/*
 * Read the index in the first `count` bytes of a package.  STORE_DAMAGED: it is
 * not an index, or it does not fit into `count` bytes.
 */
MUST_CHECK enum store_answer
package_read_index(struct package *out, const void *bytes, size_t count);

/*
 * Is this text the begin of the meta.json of the image `id`?  Its first member
 * is the id.
 */
bool package_is_meta_of(const char *text, size_t count, const char *id);

/* Has the package all these files, with these bytes? */
bool package_has(const struct package *p, const struct store_file *files,
		 uint32_t file_count);

/* NULL: there is no such file. */
const struct package_file *package_find(const struct package *p,
					const char *name);

/*
 * Check the package of `bytes` bytes in `fd`: its index, the SHA-256 of each
 * file, and whether its meta.json is that of the image `id`.
 */
MUST_CHECK enum store_answer package_check(int fd, uint64_t bytes,
					   const char *id);

#endif
