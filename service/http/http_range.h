/* SPDX-License-Identifier: MIT */
/*
 * Ranges and conditions of a GET (RFC 9110, 13 and 14), for a file with a
 * strong ETag.  Pure.
 */
#ifndef SERVICE_HTTP_RANGE_H
#define SERVICE_HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum range_kind {
	RANGE_ALL,  /* no range, or none that has to be understood */
	RANGE_PART, /* one part */
	RANGE_NONE, /* it begins behind the end */
};

struct range {
	uint64_t offset, count; /* of RANGE_PART */
};

/*
 * `text` is the value of a Range header; NULL is fine.  Several ranges are all
 * of the file.
 */
enum range_kind range_read(const char *text, uint64_t file_bytes,
			   struct range *out);

/* Does an If-None-Match name it?  `etag` has its quotes. */
bool etag_is_listed(const char *list, const char *etag);

#endif
