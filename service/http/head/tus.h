/* SPDX-License-Identifier: MIT */
/*
 * Tus: the headers of resumable uploads, tus 1.0 (https://tus.io/protocols),
 * with the extensions creation, creation-with-upload, creation-defer-length,
 * termination, expiration and checksum.
 */
#ifndef SERVICE_TUS_H
#define SERVICE_TUS_H

#include "service/http/reply/problem.h"
#include "base/util.h"

#include <stdbool.h>
#include <stdint.h>

#define TUS_VERSION "1.0.0"
#define TUS_EXTENSIONS                                                         \
	"creation,creation-with-upload,creation-defer-length,termination,"     \
	"expiration,checksum"
#define TUS_TYPE "application/offset+octet-stream"

/* The longest names of files take 1020 characters of base64. */
enum { TUS_METADATA_BYTES_MAX = 2048 };

struct reply;
struct request;

/* What a request says. */
struct tus_head {
	bool is_tus; /* it has Tus-Resumable */
	bool has_length, has_offset, defers_length;
	uint64_t length, offset;
	const char *metadata; /* Upload-Metadata; NULL: none */
};

/* PROBLEM_TUS_VERSION: Tus-Resumable is there, with another version. */
MUST_CHECK enum problem tus_check_version(const struct request *r);

/*
 * Read the headers.  PROBLEM_TUS_VERSION, or PROBLEM_BAD_UPLOAD with `detail`:
 * one is malformed, or asks for uploads to be joined.
 */
MUST_CHECK enum problem tus_read(struct tus_head *out, struct request *r);

/* Does its body come as a part of an upload?  False: `detail` says why not. */
MUST_CHECK bool tus_has_type(struct request *r);

/* Headers of the reply to OPTIONS. */
void tus_add_options(struct reply *p, uint64_t bytes_max);

#endif
