/* SPDX-License-Identifier: MIT */
/*
 * HTTP counts: what requests brought and what they were answered, since start.
 *
 * Threads    Any, at once.
 */
#ifndef SERVICE_HTTP_COUNTS_H
#define SERVICE_HTTP_COUNTS_H

#include "service/http/problem.h"

#include <stdatomic.h>

/* What a path is for: which port serves it, and to whom, if there are keys. */
enum role {
	ROLE_NONE,    /* no such path */
	ROLE_UPLOAD,  /* the main one; by key or signature */
	ROLE_IMAGE,   /* the main one; all: an id tells who has the picture */
	ROLE_REMOVAL, /* of an image; the main one; by key */
	ROLE_PROBE,   /* both; all */
	ROLE_PAGE,    /* both; all: it is the same everywhere */
	ROLE_REPORT,  /* the admin port, or else the main one; by key */
	ROLES
};

extern const char *const role_names[ROLES];

enum { STATUSES = 600 };

struct http_counts {
	_Atomic uint64_t replies[ROLES][STATUSES];
	_Atomic uint64_t problems[PROBLEMS];
	_Atomic uint64_t refusals[PROBLEMS]; /* of uploads; see problem.h */
	/* Of bodies; a client may not read a reply to its end. */
	_Atomic uint64_t received_bytes[ROLES];
	_Atomic uint64_t sent_bytes[ROLES];
};

#endif
