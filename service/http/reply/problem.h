/* SPDX-License-Identifier: MIT */
/*
 * Problems: everything that can be wrong with a request, as RFC 9457
 * application/problem+json.  Codes are stable: clients may rely on them.
 */
#ifndef SERVICE_PROBLEM_H
#define SERVICE_PROBLEM_H

#include "service/pipeline/upload.h"

enum problem {
	PROBLEM_NONE = 0,
	PROBLEM_BAD_REQUEST,
	PROBLEM_BAD_PARAMETER,
	PROBLEM_BAD_TIMEOUT,
	PROBLEM_BAD_FORM,
	PROBLEM_NO_FILE,
	PROBLEM_SECOND_FILE,
	PROBLEM_EMPTY_BODY,
	PROBLEM_BAD_UPLOAD,
	PROBLEM_BAD_DIGEST,
	PROBLEM_DIGEST_MISMATCH,
	PROBLEM_UNAUTHORIZED,
	PROBLEM_INVALID_KEY,
	PROBLEM_KEY_NOT_ALLOWED,
	PROBLEM_BAD_SIGNATURE,
	PROBLEM_SIGNATURE_EXPIRED,
	PROBLEM_CROSS_SITE,
	PROBLEM_WEBHOOK_NOT_ALLOWED,
	PROBLEM_WRONG_HOST,
	PROBLEM_NOT_FOUND,
	PROBLEM_NO_TRACE,
	PROBLEM_NO_BLOCKING_GRAPH,
	PROBLEM_NO_STORE,
	PROBLEM_NO_INBOX,
	PROBLEM_METHOD_NOT_ALLOWED,
	PROBLEM_REQUEST_TIMEOUT,
	PROBLEM_NO_ORIGINAL,
	PROBLEM_VARIANT_EXISTS,
	PROBLEM_TOO_MANY_VARIANTS,
	PROBLEM_WRONG_OFFSET,
	PROBLEM_UPLOAD_ENDED,
	PROBLEM_UPLOAD_EXPIRED,
	PROBLEM_LENGTH_REQUIRED,
	PROBLEM_PRECONDITION_FAILED,
	PROBLEM_TUS_VERSION,
	PROBLEM_BODY_TOO_LARGE,
	PROBLEM_PICTURE_TOO_LARGE,
	PROBLEM_OUTPUT_TOO_LARGE,
	PROBLEM_TOO_MUCH_CPU,
	PROBLEM_TARGET_TOO_LONG,
	PROBLEM_HEADERS_TOO_LARGE,
	PROBLEM_BAD_RANGE,
	PROBLEM_NOT_A_JPEG,
	PROBLEM_UNSUPPORTED_JPEG,
	PROBLEM_UNSUPPORTED_PICTURE,
	PROBLEM_EXPECTATION_FAILED,
	PROBLEM_CORRUPT_JPEG,
	PROBLEM_TRUNCATED_JPEG,
	PROBLEM_CORRUPT_PICTURE,
	PROBLEM_DECODER_LOST,
	PROBLEM_DECODER_DOWN,
	PROBLEM_TRUNCATED_PICTURE,
	PROBLEM_CROP_OUTSIDE,
	PROBLEM_TOO_MANY_BYTES,
	PROBLEM_BLOCKED,
	PROBLEM_TOO_MANY_SCANS,
	PROBLEM_TOO_MUCH_MEMORY,
	PROBLEM_UPLOAD_BUSY,
	PROBLEM_CHECKSUM_MISMATCH,
	PROBLEM_OVERLOADED,
	PROBLEM_MEMORY_FULL,
	PROBLEM_DEADLINE_EXCEEDED,
	PROBLEM_DEADLINE_UNREACHABLE,
	PROBLEM_STOPPING,
	PROBLEM_NOT_READY,
	PROBLEM_TOO_MANY_VIEWERS,
	PROBLEM_TRACE_BUSY,
	PROBLEM_OUT_OF_MEMORY,
	PROBLEM_STORE_FAILED,
	PROBLEM_STORE_FULL,
	PROBLEM_STORE_UNAVAILABLE,
	PROBLEM_WEBHOOKS_FULL,
	PROBLEM_IMAGE_DAMAGED,
	PROBLEM_PROCESS_ENDED,
	PROBLEM_VERSION_UNKNOWN,
	PROBLEMS
};

/*
 * The problem of an upload that ended or was not accepted; not for UPLOAD_GONE.
 * PROBLEM_NONE: the upload has its results.
 */
enum problem problem_of_upload(const struct upload *u);

/* The problem with this code; PROBLEM_NONE: no problem has it. */
enum problem problem_find(const char *code);

/*
 * Can an upload that was accepted end with this problem for good, so that it is
 * not tried again?
 */
bool problem_is_final(enum problem problem);

/*
 * Was an upload refused for lack of a slot or of memory, or because the server
 * stops?  These refusals are counted.
 */
bool problem_is_refusal(enum problem problem);

/*
 * Is the request at fault, and not the state of the server?
 */
bool problem_is_of_request(enum problem problem);

/*
 * For a 503: the value of Retry-After in seconds. 0: the value depends on the
 * uploads in the pipeline.
 */
uint32_t problem_retry_s(enum problem problem);

unsigned int problem_status(enum problem problem);

const char *problem_code(enum problem problem);

/* For people: its title, and its own sentence. */
const char *problem_title(enum problem problem);
const char *problem_detail(enum problem problem);

/*
 * The body of a reply; the caller frees it.  `detail` NULL: the problem's own
 * sentence; `excess` NULL or {0}, and `request_id` NULL: none.  NULL: no
 * memory.
 */
char *problem_json(enum problem problem, const char *detail,
		   const struct excess *excess, const char *request_id);

#endif
