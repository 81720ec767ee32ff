/* SPDX-License-Identifier: MIT */
/*
 * Listing: the keys of a bucket that begin with the store's prefix, page by
 * page (ListObjectsV2), and the commands for people that work on them.
 */
#ifndef SERVICE_STORE_LISTING_H
#define SERVICE_STORE_LISTING_H

#include "service/store/remote/helper/s3.h"
#include "service/store/remote/protocol.h"

/*
 * Can the bucket be listed?  The call is repeated for at most 8 s.  False:
 * `error` says why not.
 */
MUST_CHECK bool store_check(struct s3 *s3, struct error *error);

/* Make the bucket, unless it is there and belongs to these keys. */
MUST_CHECK bool store_create(struct s3 *s3, struct error *error);

/* Print id, bytes and time of each image.  False: `error`. */
MUST_CHECK bool store_list(struct s3 *s3, FILE *out, struct error *error);

/*
 * A page for a server (MESSAGE_LIST): the query that asks for it, and its reply
 * of `bytes` bytes in `fd`, which is replaced by lines.  *has_more is set if
 * there are images behind it.  False: too long, or `error`.
 */
MUST_CHECK bool listing_print_query(const struct s3 *s3,
				    const struct message *m,
				    char query[S3_QUERY_BYTES]);
MUST_CHECK bool listing_convert(const struct s3 *s3, const struct message *m,
				int fd, uint64_t bytes, bool *has_more,
				struct error *error);

struct verified {
	uint64_t good, bytes; /* images, and bytes of all of them */
	uint64_t bad;         /* damaged, or not readable; each is printed */
	uint64_t removed;     /* listed at first, and then no more */
	uint64_t others;      /* objects that are not images of the store */
};

/* Fetch and check each image.  False: `error`. */
MUST_CHECK bool store_verify(struct s3 *s3, FILE *out, struct verified *v,
			     struct error *error);

#endif
