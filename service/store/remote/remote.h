/* SPDX-License-Identifier: MIT */
/*
 * Remote store: images as objects of an S3-compatible store, one object for
 * each image (package.h).  The server has no socket to it: a helper process has
 * (protocol.h), which a keeper starts (service/keeper.h).
 *
 *	store_put() --MESSAGE_PUT--> helper --PUT--> object store
 *	     ^                          |
 *	     '----- receiver <--answer--'
 *
 * A call waits until its answer comes or its deadline passes.  One thread, the
 * receiver, takes all answers.  When a helper has ended and another is started,
 * it sends again what has no answer.  It also asks every second whether the
 * store can be used, so that its state is known without requests.  If the store
 * could not be used for 5 seconds, calls wait for 1 second only.  A helper that
 * has answered nothing for 10 seconds (after its start, 60), not even a probe,
 * is replaced.
 *
 * An id that the store has just not known is not asked for again for a moment
 * (unknown.h).
 *
 * Everything from the helper is checked: the size of files, the index of
 * packages.
 */
#ifndef SERVICE_STORE_REMOTE_H
#define SERVICE_STORE_REMOTE_H

#include "service/keeper.h"
#include "service/store/store.h"

enum {
	REMOTE_WAIT_MS = 30000, /* the longest wait for an answer */
	REMOTE_BUCKET_BYTES = 64,
	REMOTE_PREFIX_BYTES = 201,
};

/* NULL: the helper's default, which may be an AWS_* variable. */
struct remote_config {
	char bucket[REMOTE_BUCKET_BYTES];
	char prefix[REMOTE_PREFIX_BYTES]; /* "": none */
	const char *endpoint;
	const char *region;
	bool uses_path_style;
	const char *credentials_file;
	const char *cache; /* a folder; NULL: none */
	uint64_t cache_quota_bytes;
	const char *program; /* of the helper; NULL: beside this program */
};

/* Does a value of --store name a remote store?  It begins with "s3://". */
bool remote_is_url(const char *text);

/* Read s3://BUCKET[/PREFIX] into `out`.  False: `error` says what is wrong. */
MUST_CHECK bool remote_read_url(struct remote_config *out, const char *url,
				struct error *error);

/*
 * Can the keys, the endpoint and the region be used, as far as can be seen
 * without a connection?  The helper says so: keeper_check_flags().
 */
MUST_CHECK enum keeper_result remote_check_flags(const struct remote_config *c,
						 struct error *error);

/*
 * Can the folder of the cache be written, or be made?  The helper opens it, and
 * would fail again and again.
 */
MUST_CHECK bool remote_check_cache(const char *path, struct error *error);

/*
 * Start the keeper.  Call it before there are threads and a sandbox.  The store
 * itself is not asked: a server may start while it is away.  NULL: `error` says
 * why.  store_close() ends keeper and helper.
 */
struct store *remote_open(const struct remote_config *c, struct error *error);

/* Overwrite and remove the variables AWS_* of this process. */
void remote_forget_keys(void);

/* Read the keys again; the report tells the result. */
void remote_reload_keys(struct store *s);

#endif
