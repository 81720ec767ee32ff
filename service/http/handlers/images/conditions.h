/* SPDX-License-Identifier: MIT */
/*
 * Conditions: what the headers of a request for a stored image say about it, as
 * RFC 9110 (13 and 14) defines: which one is meant, and which part of it.
 *
 * Pure.
 */
#ifndef SERVICE_CONDITIONS_H
#define SERVICE_CONDITIONS_H

#include "service/http/transport.h"

enum condition {
	CONDITION_HOLDS,  /* or there is none */
	CONDITION_UNLIKE, /* If-Match names another image */
	CONDITION_KNOWN,  /* If-None-Match names this one */
};

/* Are there conditions? */
bool conditions_exist(const struct request_head *head);

/*
 * In the order of 13.2.2; those with a date are ignored, because there are no
 * dates to compare with.  `etag`: that of the image, with its quotes; "": it is
 * not known; NULL: there is no image.
 */
enum condition conditions_check(const struct request_head *head,
				const char *etag);

enum range_kind {
	RANGE_ALL,  /* the whole file: no range, or one that may be ignored */
	RANGE_PART, /* one part */
	RANGE_NONE, /* the range begins after the end of the file */
};

struct range {
	uint64_t offset, count; /* the part, if RANGE_PART */
};

/* Read the value of the header Range; NULL: there is none. */
enum range_kind range_read(const char *text, uint64_t file_bytes,
			   struct range *out);

#endif
