/* SPDX-License-Identifier: MIT */
/*
 * Kinds of stores: what folder.c and remote/remote.c implement, and store.c
 * calls.  Not for users of stores.
 *
 * The contracts are those of the functions of the same name in store.h.  `why`
 * is empty at first; if it stays empty after a failure, errno says why.
 */
#ifndef SERVICE_STORE_KIND_H
#define SERVICE_STORE_KIND_H

#include "service/store/entries.h"
#include "service/store/list.h"

#include "base/error.h"
#include "base/util.h"

#include <pthread.h>

struct spool;
struct store;
struct store_image;
struct store_part;
struct store_stats;

struct store_kind {
	/* Its functions may wait for a network. */
	bool is_remote;
	/*
	 * `version`, of a remote store: only in place of this one; "": only if
	 * there is none; or STORE_CHANGED.  NULL: in any case.
	 */
	enum store_answer (*put)(struct store *s, const char *id,
				 const struct store_file *files,
				 uint32_t file_count, const char *version,
				 uint64_t deadline_ns, bool *is_same,
				 struct error *why);
	/* NULL: there are no store_replace() and no store_list_originals(). */
	enum store_answer (*replace)(struct store *s, const char *id,
				     const struct store_file *files,
				     uint32_t file_count, struct error *why);
	/* NULL: failed, or there are none. */
	DIR *(*list_originals)(struct store *s, uint32_t shard);
	/* NULL: an image is read, and put again with more files. */
	enum store_answer (*extend)(struct store *s, const char *id,
				    const struct store_file *files,
				    uint32_t file_count, struct error *why);
	/* False: see errno.  NULL: nothing is needed, and there is no quota. */
	bool (*keep_originals)(struct store *s, uint64_t quota_bytes);
	enum store_answer (*find)(struct store *s, const char *id,
				  bool is_fresh, uint64_t deadline_ns,
				  struct store_image *image, struct error *why);
	enum store_answer (*list)(struct store *s, const struct list_query *q,
				  uint64_t deadline_ns, struct list_page *out,
				  struct error *why);
	/* NULL: its images are no packages. */
	enum store_answer (*fetch)(struct store *s, const char *id,
				   uint64_t from, uint64_t bytes, bool is_fresh,
				   uint64_t deadline_ns,
				   struct store_part *part, struct error *why);
	enum store_answer (*remove)(struct store *s, const char *id,
				    uint64_t deadline_ns, struct error *why);
	/*
	 * For store_look(), which holds no lock meanwhile.  Of a store that is
	 * not remote, one thread at a time.
	 */
	enum store_answer (*look)(struct store *s, struct error *why);
	/* False: no thread.  NULL: nothing starts. */
	bool (*start)(struct store *s);
	/* Add what store.c does not count. */
	void (*stats)(struct store *s, struct store_stats *out);
	/* NULL: nothing waits. */
	void (*abandon)(struct store *s);
	void (*stop)(struct store *s); /* NULL: there is no thread */
	void (*free)(struct store *s);
};

struct checks;

enum { ORIGINAL_LOCKS = STORE_SHARDS }; /* see store_lock_original() */

/* What is known about storing; the lock guards all of it. */
struct store_health {
	pthread_mutex_t lock;
	uint64_t looked_ns;  /* 0: never */
	uint64_t looking_ns; /* when a look began that has not ended; or 0 */
	enum store_answer answer;
	struct error why; /* not STORE_OK; lacks a path outside the store */
	/* Of the last store_put() that failed; 0: it says nothing any more. */
	uint64_t failed_ns;
	enum store_answer failed_answer;
	struct error failed_why;
	bool is_explained;     /* the last look has found a reason */
	bool is_told_bad;      /* the last answer that store_look() gave */
	uint64_t told_ns;      /* of the last failure that was reported */
	uint64_t untold_count; /* failures since */
};

/* The beginning of each kind's own structure. */
struct store {
	const struct store_kind *kind;
	struct spool *spool; /* NULL: this kind has none */
	bool keeps_originals;
	struct checks *checks; /* files known to be intact */
	pthread_mutex_t original_locks[ORIGINAL_LOCKS];
	/* A store_report_fn; NULL: not started. */
	void (*report)(void *arg, bool is_wrong, const char *text);
	void *report_arg;
	struct store_health health;
	_Atomic uint64_t put_count;
	_Atomic uint64_t same_count;
	_Atomic uint64_t deleted_count;
	_Atomic uint64_t full_count;
	_Atomic uint64_t failed_count;
	_Atomic uint64_t unavailable_count;
};

/* False: no memory; store_close() is then allowed. */
MUST_CHECK bool store_init(struct store *s, const struct store_kind *kind,
			   struct spool *spool);

/*
 * Report a failure, which has no client or is more than the client may know.
 * If there are many, only some are reported, and counted.
 */
__attribute__((format(printf, 2, 3))) void
store_tell_failure(struct store *s, const char *format, ...);

#endif
