/* SPDX-License-Identifier: MIT */
/*
 * S3: requests to an object store over HTTP, signed, with retries.
 *
 *	s3_send(call) -> [queue] -> attempt -> ... -> attempt -> call->done()
 *
 * An attempt that fails for a reason that may pass (no connection, no answer,
 * 5xx, 429, a reply that ends early, a PUT that was answered in another way
 * than by 200 with the ETag of its body) is repeated until the deadline of the
 * call, on a new connection, after a random pause that grows from 50 ms to 2 s.
 * An attempt without progress for 4 s is given up; the next one gets twice that
 * time, so a frozen server is soon asked again, and a slow one gets its time in
 * the end.
 *
 * Ownership  A call belongs to its caller, and stays at its place until done()
 *            is called.  done() may free it, or send it again.
 * Threads    One.
 * Limits     S3_ACTIVE_MAX calls at once, S3_READS_MAX of them reads; others
 *            wait in a queue, in which reads are behind all others.  Of a reply
 *            that is an error, at most 4 KiB are kept; a head has at most
 *            64 KiB.  Redirects are not followed.
 */
#ifndef SERVICE_STORE_S3_H
#define SERVICE_STORE_S3_H

#include "service/store/entries.h"
#include "service/store/remote/helper/credentials.h"
#include "service/store/remote/protocol.h"

#include <sys/queue.h>

enum {
	S3_ACTIVE_MAX = 64,
	S3_READS_MAX = 48, /* of these; the rest is for other calls */
	S3_PREFIX_BYTES = 256,
	S3_KEY_BYTES = S3_PREFIX_BYTES + STORE_ID_BYTES + 4,
	S3_CODE_BYTES = 64,
	S3_ETAG_BYTES = STORE_VERSION_BYTES,
	S3_MD5_BYTES = 32 + 1, /* hexadecimal digits */
	S3_QUERY_BYTES = 4096,
	S3_ERROR_BYTES = 4096,
};

struct s3_config {
	const char *endpoint; /* NULL: Amazon's */
	const char *region;
	const char *bucket;
	const char *prefix;  /* "": none; without "/" at its ends */
	bool path_style;     /* the bucket is in the path, not in the host */
	const char *ca_file; /* NULL: that of the system */
	const struct credentials *credentials;
};

enum s3_method { S3_GET, S3_HEAD, S3_PUT, S3_DELETE };

enum s3_result {
	S3_OK,
	/*
	 * No object with this key.  To a HEAD, the reply does not say whether
	 * the store gave it, or something before the store that is broken.
	 */
	S3_NOT_FOUND,
	S3_BAD_RANGE, /* the object ends before `from` */
	S3_EXISTS,    /* not put: there is an object, or another than `match` */
	S3_NOT_SUPPORTED, /* the store does not know conditions */
	S3_FULL,          /* no room, or over a quota */
	S3_NO_SINK,       /* `sink` returned -1, or writing to it failed */
	S3_FAILED,
	S3_UNAVAILABLE, /* no answer, or not in time */
};

struct s3_call {
	/* Set by the caller. */
	enum s3_method method;
	char key[S3_KEY_BYTES]; /* "": the bucket itself */
	const char *query;      /* sorted and percent-encoded, or NULL */
	uint64_t deadline_ns;   /* CLOCK_MONOTONIC; 0: 60 s */
	bool is_urgent;         /* does not wait in the queue */
	bool is_single;         /* only one attempt */
	bool is_read;           /* others go before it */
	int body;               /* PUT: the descriptor of the bytes */
	uint64_t body_bytes;
	bool must_be_new; /* PUT: only if no object has this key */
	/* PUT: only if the object has this ETag; "": in any case. */
	char match[S3_ETAG_BYTES];
	bool has_range; /* GET: only the bytes from `from` to `to` */
	uint64_t from, to;
	uint64_t reply_bytes_max; /* GET: of the object, and of the reply */
	/*
	 * GET: called at the begin of a good reply's body, when
	 * `object_bytes` and `is_part` are known; for each attempt again.
	 * Returns the descriptor for the body, or for the part of it that was
	 * asked for, which begins there at 0.  -1: S3_NO_SINK, for the reason
	 * in `detail`, or errno if that is "".
	 */
	int (*sink)(struct s3_call *call);
	void (*done)(struct s3_call *call);
	void *owner;

	/* Set before sink() and done(). */
	bool is_part;          /* GET: a part, not the whole object */
	bool is_too_long;      /* GET: S3_NO_SINK because of reply_bytes_max */
	uint64_t object_bytes; /* of the whole; UINT64_MAX: unknown */
	bool is_removed;       /* HEAD: the head is that of a delete marker */
	uint64_t received_bytes;
	uint64_t kept_bytes;      /* GET: of these, those written to the sink */
	int sink_errno;           /* S3_NO_SINK: why */
	char etag[S3_ETAG_BYTES]; /* "": none, or two that differ */
	char md5[S3_MD5_BYTES];   /* PUT: of the body */
	enum s3_result result;
	char code[S3_CODE_BYTES];          /* of an error; or "" */
	char detail[MESSAGE_DETAIL_BYTES]; /* why it is not S3_OK */

	/* Only for s3.c. */
	TAILQ_ENTRY(s3_call) link;
	struct curl_slist *headers;
	void *easy;
	char sha256[STORE_ID_BYTES];
	uint32_t attempt_count;
	int sink_fd;
	uint64_t due_ns; /* of the next attempt, or when this one is given up */
	uint64_t part_from, part_bytes; /* of the reply; UINT64_MAX: unknown */
	uint64_t sent_bytes;            /* of the body, in this attempt */
	uint64_t progress_bytes;        /* since `due_ns` was moved */
	int unsent_bytes;               /* that the kernel holds */
	int64_t skew_s;                 /* the store's clock minus ours */
	uint64_t head_bytes;            /* in this attempt */
	bool has_head, has_range_reply, has_sink, is_bad_reply, has_two_etags;
	bool is_etag_opaque; /* the object's encryption hides its MD5 */
	/* The body of a reply that is not for the sink. */
	char error_text[S3_ERROR_BYTES];
	size_t error_bytes;
	bool is_binary;                   /* it is no text */
	char cause[MESSAGE_DETAIL_BYTES]; /* why the last attempt failed */
};

struct s3;

/* NULL: `error` says which part of `config` is wrong. */
MUST_CHECK struct s3 *s3_new(const struct s3_config *config,
			     struct error *error);

void s3_send(struct s3 *s, struct s3_call *call);

/*
 * Do what can be done, which calls done() functions.  If none was called, wait
 * for the network, for `fd` (unless -1) to be readable, or `ms`.  Returns
 * whether `fd` is readable.
 */
bool s3_turn(struct s3 *s, int fd, int ms);

/* Print the key of the image `id`, or the id of a key (false: it has none). */
void s3_print_key(const struct s3 *s, const char *id, char key[S3_KEY_BYTES]);
MUST_CHECK bool s3_read_key(const struct s3 *s, const char *key,
			    char id[STORE_ID_BYTES]);

/*
 * Does this ETag say which object it is, for a condition?  A weak one does not.
 * Print it with its quotes, or without, as some stores compare it.
 */
MUST_CHECK bool s3_is_strong(const char *etag);
void s3_print_etag(char out[S3_ETAG_BYTES], const char *etag, bool has_quotes);

/* The MD5 that an ETag is, a weak one, too.  False: it is none. */
MUST_CHECK bool s3_read_md5(const char *etag, char md5[S3_MD5_BYTES]);

/*
 * May the bucket have this name?  If it was given as the alias of one of
 * Amazon's access points, any.
 */
bool s3_is_bucket(const struct s3 *s, const char *name);

/* The key of an object that is no image, to try what the store can do. */
void s3_print_trial_key(const struct s3 *s, char key[S3_KEY_BYTES]);

/* The prefix of all keys, with "/" at its end; or "". */
const char *s3_prefix(const struct s3 *s);

/* Calls that are not done. */
uint32_t s3_call_count(const struct s3 *s);

/* All but the cache's. */
const struct store_figures *s3_figures(const struct s3 *s);

/* End all calls, without done(). */
void s3_drop(struct s3 *s);

/* Calls that are not done are dropped.  NULL is fine. */
void s3_free(struct s3 *s);

#endif
