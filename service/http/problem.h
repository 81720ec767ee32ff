/* SPDX-License-Identifier: MIT */
/*
 * Problems: everything that can be wrong with a request, as RFC 9457
 * application/problem+json.  Codes are stable: clients may rely on them.
 */
#ifndef SERVICE_PROBLEM_H
#define SERVICE_PROBLEM_H

#include "imgops/imgops.h"

enum problem {
	PROBLEM_NONE = 0,
	PROBLEM_BAD_REQUEST,
	PROBLEM_BAD_PARAMETER,
	PROBLEM_BAD_FORM,
	PROBLEM_NO_FILE,
	PROBLEM_EMPTY_BODY,
	PROBLEM_UNAUTHORIZED,
	PROBLEM_INVALID_KEY,
	PROBLEM_BAD_SIGNATURE,
	PROBLEM_SIGNATURE_EXPIRED,
	PROBLEM_NOT_FOUND,
	PROBLEM_NO_TRACE,
	PROBLEM_NO_STORE,
	PROBLEM_METHOD_NOT_ALLOWED,
	PROBLEM_REQUEST_TIMEOUT,
	PROBLEM_LENGTH_REQUIRED,
	PROBLEM_BODY_TOO_LARGE,
	PROBLEM_PICTURE_TOO_LARGE,
	PROBLEM_BAD_RANGE,
	PROBLEM_NOT_A_JPEG,
	PROBLEM_UNSUPPORTED_JPEG,
	PROBLEM_EXPECTATION_FAILED,
	PROBLEM_CORRUPT_JPEG,
	PROBLEM_TRUNCATED_JPEG,
	PROBLEM_TOO_MANY_SCANS,
	PROBLEM_TOO_MUCH_MEMORY,
	PROBLEM_OVERLOADED,
	PROBLEM_MEMORY_FULL,
	PROBLEM_DEADLINE_EXCEEDED,
	PROBLEM_STOPPING,
	PROBLEM_NOT_READY,
	PROBLEM_TOO_MANY_VIEWERS,
	PROBLEM_TRACE_BUSY,
	PROBLEM_OUT_OF_MEMORY,
	PROBLEM_STORE_FAILED,
	PROBLEM_STORE_FULL,
	PROBLEMS
};

/* PROBLEM_NONE for IMG_OK. */
enum problem problem_of_image(enum img_err err);

/*
 * An upload was turned away for want of places, memory or time to live, not for
 * what it is.
 */
bool problem_is_refusal(enum problem problem);

/* It may be over when uploads that are inside have left. */
bool problem_passes(enum problem problem);

unsigned int problem_status(enum problem problem);

const char *problem_code(enum problem problem);

/*
 * The body, for the caller to free().  `detail` NULL: the problem's own
 * sentence; `request_id` NULL: none.  NULL: no memory.
 */
char *problem_json(enum problem problem, const char *detail,
		   const char *request_id);

#endif
