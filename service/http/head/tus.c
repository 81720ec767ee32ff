/* SPDX-License-Identifier: MIT */
#include "service/http/head/tus.h"

#include "service/http/head/digest.h"
#include "service/http/head/params.h"
#include "service/http/request.h"

#include "base/take.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* False: it is there, and is not a number; `detail` says so. */
static bool read_number(struct request *r, const char *name, bool *has,
			uint64_t *out)
{
	const char *text = request_header(r, name);
	char shown[PARAMS_SHOWN_BYTES];

	*has = text != NULL;
	if (text == NULL || number_read_whole(text, 0, UINT64_C(1) << 53, out))
		return true;
	request_explain(r, "%s must be a number of bytes, not '%s'.", name,
			params_shown(shown, text));
	return false;
}

static bool is_metadata(const char *text)
{
	for (const char *c = text; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return strlen(text) <= TUS_METADATA_BYTES_MAX;
}

static enum problem read_length(struct tus_head *out, struct request *r)
{
	const char *defer = request_header(r, "Upload-Defer-Length");

	if (!read_number(r, "Upload-Length", &out->has_length, &out->length))
		return PROBLEM_BAD_UPLOAD;
	out->defers_length = defer != NULL;
	if (defer == NULL || (strcmp(defer, "1") == 0 && !out->has_length))
		return PROBLEM_NONE;
	request_explain(r, "Upload-Defer-Length must be 1, and not be with "
			   "Upload-Length.");
	return PROBLEM_BAD_UPLOAD;
}

enum problem tus_check_version(const struct request *r)
{
	const char *version = request_header(r, "Tus-Resumable");

	return version == NULL || strcmp(version, TUS_VERSION) == 0 ?
		       PROBLEM_NONE :
		       PROBLEM_TUS_VERSION;
}

/* Says one of the drafts that this is not the whole file? */
static bool is_of_draft(const struct request *r)
{
	const char *complete = request_header(r, "Upload-Complete");
	const char *incomplete = request_header(r, "Upload-Incomplete");

	return (complete != NULL && strcmp(complete, "?0") == 0) ||
	       (incomplete != NULL && strcmp(incomplete, "?1") == 0);
}

enum problem tus_read(struct tus_head *out, struct request *r)
{
	enum problem problem = tus_check_version(r);

	*out = (struct tus_head){
		.is_tus = request_header(r, "Tus-Resumable") != NULL,
		.metadata = request_header(r, "Upload-Metadata"),
	};
	if (problem != PROBLEM_NONE)
		return problem;
	/* Each of these parts would be taken for a picture. */
	if (request_header(r, "Upload-Concat") != NULL) {
		request_explain(r, "Uploads cannot be joined (Upload-Concat); "
				   "with tus-js-client: parallelUploads: 1.");
		return PROBLEM_BAD_UPLOAD;
	}
	if (is_of_draft(r)) {
		request_explain(r,
				"This is a part of an upload by a draft of the "
				"IETF; parts are taken by tus 1.0.");
		return PROBLEM_BAD_UPLOAD;
	}
	problem = read_length(out, r);
	if (problem != PROBLEM_NONE)
		return problem;
	if (!read_number(r, "Upload-Offset", &out->has_offset, &out->offset))
		return PROBLEM_BAD_UPLOAD;
	if (out->metadata == NULL || is_metadata(out->metadata))
		return PROBLEM_NONE;
	request_explain(r,
			"Upload-Metadata must be printable ASCII, at most %d "
			"characters.",
			TUS_METADATA_BYTES_MAX);
	return PROBLEM_BAD_UPLOAD;
}

bool tus_has_type(struct request *r)
{
	const char *type = request_header(r, "Content-Type");
	char shown[PARAMS_SHOWN_BYTES];

	if (type != NULL && strcasecmp(type, TUS_TYPE) == 0)
		return true;
	request_explain(
		r, "The Content-Type of PATCH must be " TUS_TYPE ", not '%s'.",
		params_shown(shown, type != NULL ? type : ""));
	return false;
}

void tus_add_options(struct reply *p, uint64_t bytes_max)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, bytes_max);
	reply_add_header(p, "Tus-Resumable", TUS_VERSION);
	reply_add_header(p, "Tus-Version", TUS_VERSION);
	reply_add_header(p, "Tus-Extension", TUS_EXTENSIONS);
	reply_add_header(p, "Tus-Max-Size", text);
	reply_add_header(p, "Tus-Checksum-Algorithm", DIGEST_TUS_NAMES);
}
