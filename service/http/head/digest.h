/* SPDX-License-Identifier: MIT */
/*
 * Digest: the hash that a body must have, by a header of its request:
 *
 *	Content-MD5       RFC 1864, as Rails' Active Storage sends it
 *	Content-Digest    RFC 9530: md5, sha, sha-256, sha-512; others of the
 *	Repr-Digest       list are ignored
 *	Upload-Checksum   tus 1.0: md5, sha1, sha256, sha512
 *
 * Pure.
 */
#ifndef SERVICE_DIGEST_H
#define SERVICE_DIGEST_H

#include "service/http/transport.h"

#include "base/util.h"

#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

/* The algorithms, as Tus-Checksum-Algorithm lists them. */
#define DIGEST_TUS_NAMES "md5,sha1,sha256,sha512"

enum { DIGEST_BYTES_MAX = SHA512_DIGEST_SIZE };

struct digest {
	const char *header; /* the name of the header; NULL: none */
	bool is_tus;        /* it is Upload-Checksum */
	const struct digest_kind *kind;
	uint8_t wanted[DIGEST_BYTES_MAX];
	union {
		struct md5_ctx md5;
		struct sha1_ctx sha1;
		struct sha256_ctx sha256;
		struct sha512_ctx sha512;
	} state;
};

/*
 * Read the first of these headers that the head has.  False: it is malformed,
 * or has no algorithm that is known; `header` is set.
 */
MUST_CHECK bool digest_begin(struct digest *d, const struct request_head *head);

/* A piece of the body.  Does nothing without a header. */
void digest_add(struct digest *d, const void *bytes, size_t count);

/* The body is over.  True: it has this digest, or there is no header. */
MUST_CHECK bool digest_end(struct digest *d);

#endif
