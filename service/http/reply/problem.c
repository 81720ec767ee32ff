/* SPDX-License-Identifier: MIT */
#include "service/http/reply/problem.h"

#include "base/json.h"
#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * After this time another viewer may have left, the trace may have been sent,
 * or a receiver may have come back.
 */
enum { VIEWERS_RETRY_S = 10, TRACE_RETRY_S = 5, WEBHOOKS_RETRY_S = 30 };

enum { FIRST_STATUS_OF_SERVER = 500 };

static const struct {
	unsigned int status;
	const char *code;
	const char *title;
	const char *detail; /* the default */
} table[] = {
	[PROBLEM_BAD_REQUEST] = { 400, "bad_request", "Bad request",
				  "The head does not strictly follow HTTP/1.1; "
				  "a proxy might read it differently." },
	[PROBLEM_BAD_PARAMETER] = { 400, "bad_parameter", "Bad parameter",
				    "A parameter is wrong." },
	[PROBLEM_BAD_TIMEOUT] = { 400, "bad_timeout", "Bad timeout",
				  "Request-Timeout is not a number of "
				  "seconds." },
	[PROBLEM_BAD_FORM] = { 400, "bad_form", "Bad form",
			       "The form is broken or cut short." },
	[PROBLEM_NO_FILE] = { 400, "no_file", "No file",
			      "The form holds no file: send a part with a file "
			      "name, or named file, image or media." },
	[PROBLEM_SECOND_FILE] = { 400, "second_file", "Second file",
				  "The form has more than one file; send one "
				  "with each request." },
	[PROBLEM_EMPTY_BODY] = { 400, "empty_body", "Empty body",
				 "The request holds no picture." },
	[PROBLEM_BAD_UPLOAD] = { 400, "bad_upload", "Bad upload",
				 "A header about the upload is wrong." },
	[PROBLEM_BAD_DIGEST] = { 400, "bad_digest", "Bad digest",
				 "The header with the body's digest is "
				 "malformed, or has no known algorithm." },
	[PROBLEM_DIGEST_MISMATCH] = { 400, "digest_mismatch", "Digest mismatch",
				      "The body does not have the digest that "
				      "its header gives." },
	[PROBLEM_CHECKSUM_MISMATCH] = { 460, "checksum_mismatch",
					"Checksum mismatch",
					"The bytes do not have the "
					"Upload-Checksum; send them again." },
	[PROBLEM_NO_INBOX] = { 404, "no_inbox", "No inbox",
			       "This server takes no uploads by ticket or in "
			       "parts; start it with --store DIR, or with "
			       "--inbox DIR too." },
	[PROBLEM_NO_ORIGINAL] = { 404, "no_original", "No original",
				  "There is no such image, or it was stored "
				  "without its original: see "
				  "--store-original." },
	[PROBLEM_VARIANT_EXISTS] = { 409, "variant_exists", "Variant exists",
				     "The image has another variant of this "
				     "name; choose a new name." },
	[PROBLEM_TOO_MANY_VARIANTS] = { 409, "too_many_variants",
					"Too many variants",
					"The image has as many variants as it "
					"can have." },
	[PROBLEM_WRONG_OFFSET] = { 409, "wrong_offset", "Wrong offset",
				   "Upload-Offset is not the number of bytes "
				   "that have arrived." },
	[PROBLEM_UPLOAD_ENDED] = { 410, "upload_ended", "Upload ended",
				   "This upload has become an image; a ticket "
				   "is for one." },
	[PROBLEM_UPLOAD_EXPIRED] = { 410, "upload_expired", "Upload expired",
				     "The time of this upload is over; ask for "
				     "another." },
	[PROBLEM_TUS_VERSION] = { 412, "tus_version", "Version of tus",
				  "The request needs \"Tus-Resumable: "
				  "1.0.0\"." },
	[PROBLEM_UPLOAD_BUSY] = { 423, "upload_busy", "Upload busy",
				  "Another request sends bytes of this upload; "
				  "try again soon." },
	[PROBLEM_UNAUTHORIZED] = { 401, "unauthorized", "Unauthorized",
				   "Send a key as \"Authorization: Bearer "
				   "KEY\", or sign the query." },
	[PROBLEM_INVALID_KEY] = { 401, "invalid_key", "Invalid key",
				  "This server does not know the key." },
	[PROBLEM_KEY_NOT_ALLOWED] = { 403, "key_not_allowed", "Key not allowed",
				      "This key may only read /metrics." },
	[PROBLEM_BAD_SIGNATURE] = { 403, "bad_signature", "Bad signature",
				    "The signature does not belong to this "
				    "request, or expires is missing." },
	[PROBLEM_SIGNATURE_EXPIRED] = { 403, "signature_expired",
					"Signature expired",
					"The time that expires gives "
					"is over." },
	[PROBLEM_CROSS_SITE] = { 403, "cross_site", "Cross-site request",
				 "The request comes from a page of another "
				 "origin; see --cors-origin." },
	[PROBLEM_WEBHOOK_NOT_ALLOWED] = { 403, "webhook_not_allowed",
					  "Webhook not allowed",
					  "The origin of the webhook is not "
					  "one of --webhook-allow." },
	[PROBLEM_WEBHOOKS_FULL] = { 503, "webhooks_full", "Webhooks full",
				    "Too many webhooks wait for their "
				    "receivers; try again later." },
	[PROBLEM_WRONG_HOST] = { 421, "wrong_host", "Wrong host",
				 "The Host header has a name that this server "
				 "does not know; give it by --host." },
	[PROBLEM_NOT_FOUND] = { 404, "not_found", "Not found",
				"There is nothing at this path." },
	[PROBLEM_NO_TRACE] = { 404, "no_trace", "No trace",
			       "With this policy connections run the stages, "
			       "and there are no workers to trace." },
	[PROBLEM_NO_BLOCKING_GRAPH] = { 404, "no_blocking_graph",
					"No blocking graph",
					"Only --policy capriccio has a "
					"blocking graph, with --resources "
					"learn." },
	[PROBLEM_NO_STORE] = { 404, "no_store", "No store",
			       "This server keeps no images; start it with "
			       "--store." },
	[PROBLEM_METHOD_NOT_ALLOWED] = { 405, "method_not_allowed",
					 "Method not allowed",
					 "See the Allow header." },
	[PROBLEM_REQUEST_TIMEOUT] = { 408, "request_timeout", "Request timeout",
				      "The request came too slowly." },
	[PROBLEM_LENGTH_REQUIRED] = { 411, "length_required", "Length required",
				      "Send one Content-Length, or the body "
				      "in chunks." },
	[PROBLEM_PRECONDITION_FAILED] = { 412, "precondition_failed",
					  "Precondition failed",
					  "The stored image does not meet "
					  "If-Match or If-None-Match; it may "
					  "have changed." },
	[PROBLEM_BODY_TOO_LARGE] = { 413, "body_too_large", "Body too large",
				     "The body is over the byte limit." },
	[PROBLEM_PICTURE_TOO_LARGE] = { 413, "picture_too_large",
					"Picture too large",
					"The picture, or the result asked for, "
					"has too many pixels; or the picture "
					"has a side that is too long or needs "
					"too much memory to decode." },
	[PROBLEM_OUTPUT_TOO_LARGE] = { 413, "output_too_large",
				       "Output too large",
				       "The results asked for have too many "
				       "pixels together." },
	[PROBLEM_TOO_MUCH_CPU] = { 413, "too_much_cpu", "Too much CPU",
				   "The request would take too much CPU "
				   "time." },
	[PROBLEM_TARGET_TOO_LONG] = { 414, "target_too_long", "Target too long",
				      "The target is too long, or has too many "
				      "parameters." },
	[PROBLEM_HEADERS_TOO_LARGE] = { 431, "headers_too_large",
					"Headers too large",
					"The head of the request is too "
					"large." },
	[PROBLEM_BAD_RANGE] = { 416, "bad_range", "Bad range",
				"The range begins after the end; see "
				"Content-Range." },
	[PROBLEM_NOT_A_JPEG] = { 415, "not_a_jpeg", "Unknown format",
				 "The body does not begin like a file of a "
				 "format that is read." },
	[PROBLEM_UNSUPPORTED_JPEG] = { 415, "unsupported_jpeg",
				       "Unsupported JPEG",
				       "This kind of JPEG is not supported, "
				       "such as 12-bit or lossless." },
	[PROBLEM_UNSUPPORTED_PICTURE] = { 415, "unsupported_picture",
					  "Unsupported picture",
					  "This kind of its format is not "
					  "supported." },
	[PROBLEM_EXPECTATION_FAILED] = { 417, "expectation_failed",
					 "Expectation failed",
					 "The only supported value of Expect "
					 "is 100-continue." },
	[PROBLEM_CORRUPT_JPEG] = { 422, "corrupt_jpeg", "Corrupt JPEG",
				   "The JPEG's data contradict themselves." },
	[PROBLEM_TRUNCATED_JPEG] = { 422, "truncated_jpeg", "Truncated JPEG",
				     "The JPEG ends before its last pixel." },
	[PROBLEM_CORRUPT_PICTURE] = { 422, "corrupt_picture", "Corrupt picture",
				      "The file's data contradict "
				      "themselves." },
	[PROBLEM_DECODER_LOST] = { 422, "decoder_lost", "Decoder lost",
				   "Decoding this file crashed its decoder, or "
				   "took too long." },
	[PROBLEM_DECODER_DOWN] = { 503, "decoder_down", "Decoder down",
				   "The program that decodes this format has "
				   "ended; send the upload to another "
				   "server." },
	[PROBLEM_TRUNCATED_PICTURE] = { 422, "truncated_picture",
					"Truncated picture",
					"The file ends before its last "
					"pixel." },
	[PROBLEM_TOO_MANY_BYTES] = { 422, "max_bytes_too_small",
				     "Too many bytes",
				     "No result is as small as max_bytes; ask "
				     "for fewer pixels, or another format." },
	[PROBLEM_BLOCKED] = { 422, "blocked", "Blocked",
			      "This server does not take this picture." },
	[PROBLEM_CROP_OUTSIDE] = { 422, "crop_outside", "Crop outside",
				   "The crop begins outside of the picture." },
	[PROBLEM_TOO_MANY_SCANS] = { 422, "too_many_scans", "Too many scans",
				     "The JPEG has more scans than any "
				     "picture needs." },
	[PROBLEM_TOO_MUCH_MEMORY] = { 413, "too_much_memory", "Too much memory",
				      "This upload alone needs more memory "
				      "than the server may use." },
	[PROBLEM_OVERLOADED] = { 503, "overloaded", "Overloaded",
				 "All upload slots are taken; see "
				 "Retry-After." },
	[PROBLEM_MEMORY_FULL] = { 503, "memory_full", "Memory full",
				  "Uploads in progress use all memory; see "
				  "Retry-After." },
	[PROBLEM_DEADLINE_EXCEEDED] = { 503, "deadline_exceeded",
					"Deadline exceeded",
					"The upload could not be finished in "
					"time; see Retry-After." },
	[PROBLEM_DEADLINE_UNREACHABLE] = { 503, "deadline_unreachable",
					   "Deadline unreachable",
					   "The time left until the deadline "
					   "is too short for the upload; see "
					   "Retry-After." },
	[PROBLEM_STOPPING] = { 503, "stopping", "Stopping",
			       "The server is shutting down." },
	[PROBLEM_NOT_READY] = { 503, "not_ready", "Not ready",
				"Send more uploads to another server." },
	[PROBLEM_TOO_MANY_VIEWERS] = { 503, "too_many_viewers",
				       "Too many viewers",
				       "This server has as many viewers as it "
				       "allows." },
	[PROBLEM_TRACE_BUSY] = { 503, "trace_busy", "Trace busy",
				 "Another trace is being sent, and only one "
				 "is sent at a time." },
	[PROBLEM_OUT_OF_MEMORY] = { 503, "out_of_memory", "Out of memory",
				    "There was not enough memory." },
	[PROBLEM_STORE_FAILED] = { 500, "store_failed", "Store failed",
				   "The image could not be written or "
				   "removed." },
	[PROBLEM_STORE_FULL] = { 507, "store_full", "Store full",
				 "There is no room to keep the image." },
	[PROBLEM_STORE_UNAVAILABLE] = { 503, "store_unavailable",
					"Store unavailable",
					"The store does not answer; see "
					"Retry-After." },
	[PROBLEM_IMAGE_DAMAGED] = { 500, "image_damaged", "Image damaged",
				    "The stored file is damaged; upload the "
				    "picture again to replace it." },
	[PROBLEM_PROCESS_ENDED] = { 500, "process_ended", "Process ended",
				    "The server's process has ended three "
				    "times while it worked on this upload, so "
				    "it is not tried again." },
	[PROBLEM_VERSION_UNKNOWN] = { 505, "version_unknown", "Version unknown",
				      "The server speaks HTTP/1.1 and 1.0." },
};

/*
 * PROBLEM_NONE for IMG_OK.  JPEGs have problems of their own, because these are
 * older than the other formats.
 */
static enum problem problem_of_image(enum img_err err,
				     const struct img_format *format)
{
	bool is_jpeg = format == img_formats[IMG_FORMAT_JPEG];

	switch (err) {
	case IMG_OK:
		return PROBLEM_NONE;
	case IMG_ERR_UNKNOWN_FORMAT:
		return PROBLEM_NOT_A_JPEG;
	case IMG_ERR_UNSUPPORTED:
		return is_jpeg ? PROBLEM_UNSUPPORTED_JPEG :
				 PROBLEM_UNSUPPORTED_PICTURE;
	case IMG_ERR_CORRUPT:
		return is_jpeg ? PROBLEM_CORRUPT_JPEG : PROBLEM_CORRUPT_PICTURE;
	case IMG_ERR_TRUNCATED:
		if (format == NULL) /* it ends before its format is known */
			return PROBLEM_NOT_A_JPEG;
		return is_jpeg ? PROBLEM_TRUNCATED_JPEG :
				 PROBLEM_TRUNCATED_PICTURE;
	case IMG_ERR_TOO_LARGE:
		return PROBLEM_PICTURE_TOO_LARGE;
	case IMG_ERR_TOO_MANY_SCANS:
		return PROBLEM_TOO_MANY_SCANS;
	case IMG_ERR_TOO_MANY_BYTES:
		return PROBLEM_TOO_MANY_BYTES;
	case IMG_ERR_OUTSIDE:
		return PROBLEM_CROP_OUTSIDE;
	case IMG_ERR_LOST:
		return PROBLEM_DECODER_LOST;
	case IMG_ERR_NO_DECODER:
		return PROBLEM_DECODER_DOWN;
	case IMG_ERR_NO_MEMORY:
		return PROBLEM_OUT_OF_MEMORY;
	case IMG_ERR_IRREGULAR:
	case IMG_ERR_NEEDS_ALL_SCANS:
	case IMG_ERR_TEXTURE:
	case IMG_ERR_BORDER:
		break; /* the pipeline decodes such a file again */
	}
	abort();
}

enum problem problem_of_upload(const struct upload *u)
{
	switch (u->end) {
	case UPLOAD_ENDED:
		return problem_of_image(u->err, u->header.format);
	case UPLOAD_NO_SLOT:
		return PROBLEM_OVERLOADED;
	case UPLOAD_MEMORY_FULL:
		return PROBLEM_MEMORY_FULL;
	case UPLOAD_TOO_MUCH:
		return PROBLEM_TOO_MUCH_MEMORY;
	case UPLOAD_TOO_MUCH_OUTPUT:
		return PROBLEM_OUTPUT_TOO_LARGE;
	case UPLOAD_TOO_MUCH_CPU:
		return PROBLEM_TOO_MUCH_CPU;
	case UPLOAD_ABANDONED:
		return PROBLEM_STOPPING;
	case UPLOAD_LATE:
		return PROBLEM_DEADLINE_EXCEEDED;
	case UPLOAD_BLOCKED:
		return PROBLEM_BLOCKED;
	case UPLOAD_UNREACHABLE:
		return PROBLEM_DEADLINE_UNREACHABLE;
	case UPLOAD_NOT_PARSED:
		return PROBLEM_BAD_FORM; /* the request has the reason */
	case UPLOAD_STORE_FULL:
		return PROBLEM_STORE_FULL;
	case UPLOAD_NOT_STORED:
		return PROBLEM_STORE_FAILED;
	case UPLOAD_STORE_UNAVAILABLE:
		return PROBLEM_STORE_UNAVAILABLE;
	case UPLOAD_GONE:
		break; /* no client reads it */
	}
	abort();
}

bool problem_is_final(enum problem problem)
{
	switch (problem) {
	case PROBLEM_NOT_A_JPEG:
	case PROBLEM_UNSUPPORTED_JPEG:
	case PROBLEM_UNSUPPORTED_PICTURE:
	case PROBLEM_CORRUPT_PICTURE:
	case PROBLEM_TRUNCATED_PICTURE:
	case PROBLEM_CORRUPT_JPEG:
	case PROBLEM_TRUNCATED_JPEG:
	case PROBLEM_PICTURE_TOO_LARGE:
	case PROBLEM_CROP_OUTSIDE:
	case PROBLEM_TOO_MANY_BYTES:
	case PROBLEM_BLOCKED:
	case PROBLEM_TOO_MANY_SCANS:
	case PROBLEM_TOO_MUCH_MEMORY:
	case PROBLEM_OUTPUT_TOO_LARGE:
	case PROBLEM_TOO_MUCH_CPU:
	case PROBLEM_STORE_FAILED: /* the spooled upload is damaged */
	case PROBLEM_PROCESS_ENDED:
		return true;
	default:
		return false;
	}
}

bool problem_is_refusal(enum problem problem)
{
	return problem == PROBLEM_OVERLOADED ||
	       problem == PROBLEM_MEMORY_FULL ||
	       problem == PROBLEM_TOO_MUCH_MEMORY ||
	       problem == PROBLEM_OUT_OF_MEMORY || problem == PROBLEM_STOPPING;
}

bool problem_is_of_request(enum problem problem)
{
	unsigned int status = problem_status(problem);

	return status < FIRST_STATUS_OF_SERVER ||
	       problem == PROBLEM_VERSION_UNKNOWN;
}

uint32_t problem_retry_s(enum problem problem)
{
	switch (problem) {
	case PROBLEM_TOO_MANY_VIEWERS:
		return VIEWERS_RETRY_S;
	case PROBLEM_TRACE_BUSY:
		return TRACE_RETRY_S;
	case PROBLEM_WEBHOOKS_FULL:
		return WEBHOOKS_RETRY_S;
	default:
		return 0;
	}
}

unsigned int problem_status(enum problem problem)
{
	assert(table[problem].status != 0);
	return table[problem].status;
}

const char *problem_code(enum problem problem)
{
	assert(table[problem].code != NULL);
	return table[problem].code;
}

const char *problem_title(enum problem problem)
{
	return table[problem].title;
}

const char *problem_detail(enum problem problem)
{
	return table[problem].detail;
}

enum problem problem_find(const char *code)
{
	for (int i = PROBLEM_NONE + 1; i < PROBLEMS; i++)
		if (strcmp(table[i].code, code) == 0)
			return (enum problem)i;
	return PROBLEM_NONE;
}

/* A value that is not known is left out. */
static void add_excess(struct json *j, const struct excess *e)
{
	if (e == NULL || e->unit == NULL)
		return;
	json_add_number(j, "limit", e->limit);
	if (!isnan(e->value))
		json_add_number(j, "value", e->value);
	json_add_text(j, "unit", e->unit);
}

char *problem_json(enum problem problem, const char *detail,
		   const struct excess *excess, const char *request_id)
{
	struct text text;
	struct json j;
	FILE *out = text_open(&text);

	assert(table[problem].status != 0);
	if (out == NULL)
		return NULL;
	json_begin(&j, out, JSON_COMPACT);
	json_open_object(&j, NULL);
	json_add_text(&j, "type", "about:blank");
	json_add_text(&j, "title", table[problem].title);
	json_add_whole(&j, "status", table[problem].status);
	json_add_text(&j, "detail",
		      detail != NULL ? detail : table[problem].detail);
	json_add_text(&j, "code", table[problem].code);
	add_excess(&j, excess);
	if (request_id != NULL)
		json_add_text(&j, "request_id", request_id);
	json_close(&j);
	return text_close(&text, out);
}
