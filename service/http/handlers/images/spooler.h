/* SPDX-License-Identifier: MIT */
/*
 * Spooler: a thread that makes images from the uploads in the spool.
 *
 *	start           entries of an earlier run ---+
 *	spooler_take()  uploads that were answered --+--> pipeline --> stored
 *	                202 and then failed                  |
 *	                        ^---- try again later -------+--> failed/
 *
 * An upload that fails for a temporary reason (no memory, a full store, a stop)
 * is tried again after 1 s, 2 s, 4 s and so on up to 64 s, and after a restart.
 * An upload that fails because of its contents is moved to failed/, with the
 * problem that GET will reply; so is an entry whose files are damaged.
 *
 * Of an entry of an earlier run, it is noted on the disk that a try begins,
 * once the pipeline has a slot and memory for it, and that it has failed.  An
 * entry at whose tries a process has ended is tried after the others, and with
 * no other entry beside it; uploads of clients may be.  After three of them it
 * is moved to failed/.
 *
 * Uploads of clients go first: while there are any, only one entry at a time is
 * in the pipeline, and it takes only a free slot and free memory.  With a
 * policy whose uploads wait for memory, it waits in the same line as they do.
 *
 * Threads    Any number of threads may call spooler_take() at the same time; it
 *            does not block.  One thread calls the others.
 */
#ifndef SERVICE_SPOOLER_H
#define SERVICE_SPOOLER_H

#include "service/http/reply/problem.h"
#include "service/pipeline/pipeline.h"
#include "service/store/store.h"

#include <sys/queue.h>

struct hooks;
struct log;
struct packer;
struct spooler;
struct spooler_hooks;

/*
 * An entry of the spool that is in use; its hold prevents others from removing
 * it.
 */
struct spooled {
	struct spool_hold hold;
	bool is_old; /* of an earlier run */
	/* How many processes have ended while they worked on it. */
	uint32_t death_count;
	bool has_begun;       /* a try was noted, which has not failed yet */
	enum problem problem; /* why the last try failed */
	uint32_t try_count;
	uint64_t due_ns; /* time of the next try */
	/* Set by spooled_tell(). */
	const struct spooler_hooks *hooks;
	const char *meta;
	TAILQ_ENTRY(spooled) link;
};

/* What is needed for the webhooks of images. */
struct spooler_hooks {
	struct hooks *hooks; /* NULL: no webhooks */
	struct spool *spool;
	const char *public_url; /* or NULL */
};

/*
 * When spool_finish() has stored the image, its webhooks are queued, before the
 * entry is removed.  `meta` is that of the image, and stays until then.
 */
void spooled_tell(struct spooled *e, const struct spooler_hooks *hooks,
		  const char *meta);

struct spooler_config {
	struct pipeline *pipeline;
	struct store *store;
	struct spool *spool; /* of `store` */
	struct log *log;
	struct packer *packer;    /* NULL: none */
	_Atomic uint64_t *number; /* number of the last upload */
	struct spooler_hooks hooks;
};

/* NULL: no memory, no thread, or the spool could not be read. */
struct spooler *spooler_start(const struct spooler_config *config);

/*
 * An upload `u` that was answered 202 has failed.  `e` is its entry, from
 * malloc(), and belongs to the spooler from now on.
 */
void spooler_take(struct spooler *s, struct spooled *e, const struct upload *u);

/* Send nothing to the pipeline any more. */
void spooler_leave(struct spooler *s);

/* True: no entry of the spool is in the pipeline. */
bool spooler_is_idle(struct spooler *s);

/*
 * Log how many entries are left, and free the spooler.  The pipeline has
 * stopped, and spooler_take() is not called any more.  NULL is fine.
 */
void spooler_stop(struct spooler *s);

#endif
