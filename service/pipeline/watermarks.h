/* SPDX-License-Identifier: MIT */
/*
 * Watermarks: the pictures of --watermark, which results may have drawn over
 * them.  Their files are read before the server has threads and a sandbox.
 *
 * Threads    One, until all are loaded; then any number may read them.
 * Limits     WATERMARKS_MAX files, of up to WATERMARK_FILE_BYTES_MAX bytes and
 *            IMG_WATERMARK_PIXELS_MAX pixels.  Their memory is not of --memory.
 */
#ifndef SERVICE_WATERMARKS_H
#define SERVICE_WATERMARKS_H

#include "base/error.h"
#include "imgops/imgops.h"

enum {
	WATERMARKS_MAX = 16,
	WATERMARK_NAME_BYTES = 33,
	WATERMARK_FILE_BYTES_MAX = 16 << 20,
};

struct watermark {
	char name[WATERMARK_NAME_BYTES];
	char *path;
	struct img_watermark *picture; /* NULL: not loaded yet */
};

/* {0} is empty. */
struct watermarks {
	struct watermark list[WATERMARKS_MAX];
	uint32_t count;
};

/*
 * Read the value of --watermark, "NAME=FILE;..."; NULL: there are none.  The
 * files are not opened.  False: `error` says what is wrong; also then, release
 * it.
 */
MUST_CHECK bool watermarks_read(struct watermarks *w, const char *spec,
				struct error *error);

/* Read the files.  False: `error` names the one that is wrong, and says why. */
MUST_CHECK bool watermarks_load(struct watermarks *w, struct error *error);

void watermarks_release(struct watermarks *w);

/* That of a result; NULL: it has none. */
const struct img_watermark *
watermarks_of(const struct watermarks *w,
	      const struct img_transform *transform);

#endif
