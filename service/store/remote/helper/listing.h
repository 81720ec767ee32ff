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

enum { LISTING_TEXT_BYTES = 2048 };

/* A page for a server (MESSAGE_LIST); {0} at first. */
struct listing {
	bool has_more; /* there may be images behind it */
	/*
	 * Not "": none of its objects is one of this program, so the server
	 * would not know where to go on; ask for the page that follows.
	 */
	char token[LISTING_TEXT_BYTES];
	char last_key[LISTING_TEXT_BYTES]; /* of the objects so far */
	uint32_t page_count;
};

/*
 * The query that asks for it, and its reply of `bytes` bytes in `fd`, which is
 * replaced by lines.  False: too long, or `error`.
 */
MUST_CHECK bool listing_print_query(const struct s3 *s3,
				    const struct message *m,
				    const struct listing *l,
				    char query[S3_QUERY_BYTES]);
MUST_CHECK bool listing_convert(const struct s3 *s3, const struct message *m,
				int fd, uint64_t bytes, struct listing *l,
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
