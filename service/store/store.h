/* SPDX-License-Identifier: MIT */
/*
 * Store: images, each a small set of files, in a folder of the disk or in an
 * object store beyond the network (remote/remote.h).  A store in a folder also
 * has the spool: uploads that were accepted (202) but whose image is not stored
 * yet.
 *
 *	DIR/darkroom-store         marks the folder as a store; locked while
 *	                           it is open
 *	DIR/ab/ab12...f/           an image, by its id
 *	DIR/originals/ab/KEY/      an original: see store_original_key()
 *	DIR/spool/ID/upload.jpg    the upload's bytes
 *	DIR/spool/ID/request.txt   the parameters of its image
 *	DIR/failed/ID/             both files, and problem.json: why the upload
 *	                           cannot become an image
 *	DIR/tmp/                   entries being made or removed; emptied when
 *	                           the store is opened
 *
 * Each folder DIR/ab/ab12...f/, DIR/originals/ab/KEY/ and DIR/spool/ID/ is an
 * entry: see entries.h.  An original is put, found and deleted as an image is,
 * by its key in place of an id.  An original whose image is neither stored nor
 * in the spool, because of a crash or an error between the two, is an orphan:
 * store_drop_orphan().
 * After STORE_OK an entry is complete on the disk, even after a crash or power
 * loss, or the object store has confirmed it.  No reader ever sees an
 * incomplete entry.
 *
 * Threads    One thread calls store_open(), store_start(), store_close() and
 *            spool_list(); store_start() before any other thread uses the
 *            store.  Any number of threads may call the others at the same
 *            time.  All may wait for the disk and for each other, except
 *            spool_has() and spool_find_failed(); store_put(), store_find(),
 *            store_fetch() and store_delete() of a remote store wait for the
 *            network, at most until their deadline (CLOCK_MONOTONIC; 0: none,
 *            which a remote store limits to REMOTE_WAIT_MS).
 * Errors     After an answer other than STORE_OK and STORE_NOT_FOUND, `why` is
 *            a sentence for the client, without its full stop.
 * Limits     The quota covers images and the spool, but not the folders that
 *            contain entries; originals have their own.
 * Safety     Ids and file names cannot contain a path, and links are not
 *            followed, so nothing outside the folder is read or written.  Only
 *            an empty folder becomes a store.  Files are removed only if their
 *            names have the form that the store uses.
 */
#ifndef SERVICE_STORE_H
#define SERVICE_STORE_H

#include "service/store/list.h"
#include "service/store/package.h"
#include "service/store/remote/protocol.h"

#include "base/error.h"

/* Counted since the start, except waiting_count. */
struct spool_stats {
	uint64_t waiting_count;   /* entries that exist now */
	uint64_t written_count;   /* entries made */
	uint64_t finished_count;  /* entries whose image was stored */
	uint64_t recovered_count; /* finished, but not at the first attempt */
	/* Entries moved to failed/: no image can be made. */
	uint64_t failed_count;
	uint64_t damaged_count; /* failed, because damaged on the disk */
};

/* Of a remote store; all 0 in a folder. */
struct remote_stats {
	bool is_remote;
	uint32_t is_available;     /* 1: it has answered lately */
	uint64_t unavailable_ns;   /* for how long it has not been available */
	uint64_t helper_starts;    /* of the helper process */
	struct store_figures sums; /* of all helpers since the start */
	char why[MESSAGE_DETAIL_BYTES]; /* it is not available; else "" */
};

struct store_stats {
	uint32_t is_writable; /* 1: store_look() is STORE_OK */
	uint64_t quota_bytes; /* 0: no quota; then used_bytes is not known */
	uint64_t used_bytes;  /* on the disk, including entries being made */
	/* The same for originals. */
	uint64_t original_quota_bytes, original_used_bytes;
	/* Of the file system of a folder; free: for this process. */
	uint64_t disk_bytes, disk_free_bytes;
	uint64_t disk_files, disk_free_files; /* both 0: there is no limit */
	uint64_t put_count;                   /* entries made */
	uint64_t same_count; /* entries not made, because they existed */
	uint64_t deleted_count;
	uint64_t full_count;   /* entries not made: STORE_FULL */
	uint64_t failed_count; /* entries not made or deleted: STORE_FAILED */
	uint64_t unavailable_count; /* STORE_UNAVAILABLE, of all calls */
	struct spool_stats spool;
	struct remote_stats remote;
};

/* An image, opened. */
struct store_image {
	int fd;          /* its folder, or the file of its package */
	bool is_package; /* what follows is set */
	bool is_copy;    /* the file is on the disk, so it takes no memory */
	struct package index;
	uint64_t here_bytes; /* of the package, from its begin */
	/* Another one has another version; "": none is known. */
	char version[STORE_VERSION_BYTES];
};

/* A file of an image: `bytes` bytes from `offset` of an open file. */
struct store_part {
	int fd;          /* -1: it must be fetched first */
	bool is_fetched; /* for one request: the file is in no folder */
	uint64_t offset;
	uint64_t bytes;
};

struct store;
struct spool;

/*
 * Open the folder, which must be a store or empty and which this process can
 * write, and remove what a crash has left.  With a quota (not 0), the size of
 * existing entries is counted.  NULL: `why` is the reason, with owner and mode
 * of what cannot be written; a folder that is not a store has not changed.
 */
struct store *store_open(const char *path, uint64_t quota_bytes,
			 struct error *why);
void store_close(struct store *s); /* NULL is fine */

/* Called by any thread with a sentence for the log. */
typedef void store_report_fn(void *arg, bool is_wrong, const char *text);

/*
 * Keep originals from now on; with a quota (not 0), those that exist are
 * counted.  Call it before store_start().  False: `why` is the reason.  Without
 * this, those that exist can be found and deleted.
 */
MUST_CHECK bool store_keep_originals(struct store *s, uint64_t quota_bytes,
				     struct error *why);
bool store_keeps_originals(const struct store *s);

/* Has it originals, or a place for them? */
bool store_has_originals(const struct store *s);

/*
 * Held by who puts an original and then its image, by who removes both, and by
 * store_drop_orphan(); so these follow each other.  Ids with the same first two
 * digits share a lock.  Does nothing, if originals are not kept or are in a
 * remote store.
 */
void store_lock_original(struct store *s, const char *id);
void store_unlock_original(struct store *s, const char *id);

/*
 * From now on, report what goes wrong, and start the store's thread, if it has
 * one; after the sandbox was entered.  False: no thread.
 */
MUST_CHECK bool store_start(struct store *s, store_report_fn *report,
			    void *arg);

/*
 * What would store_put() answer, as far as is known?  Not STORE_OK if the
 * folder cannot be written or is full, if the object store does not answer, or
 * for a while after a store_put() has failed.  `why` is for clients then: it
 * names no path outside the store.  Does not wait for a network.  Looks at the
 * disk at most once per second, and after each store_put() that has failed; one
 * thread does, and others get the answer before, or that the disk does not
 * answer.
 */
MUST_CHECK enum store_answer store_look(struct store *s, struct error *why);

/* The spool of an open store, which owns it.  NULL: a remote store has none. */
struct spool *store_spool(struct store *s);

/* May its functions wait for a network? */
bool store_is_remote(const struct store *s);

/*
 * Make the image `id` with these files.  An existing one with the same names
 * and bytes stays; any other, such as a damaged one, is replaced.  (A remote
 * store is asked for its ETag, so it does not notice that it is damaged itself:
 * store_delete() helps.)  If the result is not STORE_OK, nothing has changed,
 * with two exceptions: if the last sync failed, or if a remote store did not
 * answer, the image may exist.
 */
MUST_CHECK enum store_answer store_put(struct store *s, const char *id,
				       const struct store_file *files,
				       uint32_t file_count,
				       uint64_t deadline_ns, struct error *why);

/*
 * Add files to the image `id`, in this order, or replace those of the same
 * name.  STORE_NOT_FOUND: there is no such image.  After any other answer than
 * STORE_OK, the image may have some of them.  One thread at a time for an
 * image.
 * `version` is that of the store_image to which the files fit.  STORE_CHANGED:
 * another server has changed the image since; read it again.  "", or a remote
 * store without conditions (docs/store.md): of several servers that do this at
 * once, the last one wins.
 */
MUST_CHECK enum store_answer
store_extend(struct store *s, const char *id, const char *version,
	     const struct store_file *files, uint32_t file_count,
	     uint64_t deadline_ns, struct error *why);

/*
 * A moment before the next attempt, after STORE_CHANGED; `attempt` counts from
 * 0.  False: there were enough, or the deadline would have passed.
 */
MUST_CHECK bool store_try_again(uint32_t attempt, uint64_t deadline_ns);

/*
 * Replace all files of the image `id` by these, in one step.  STORE_NOT_FOUND:
 * there is no such image; so one that was deleted meanwhile does not come back.
 * Not of a remote store.
 */
MUST_CHECK enum store_answer store_replace(struct store *s, const char *id,
					   const struct store_file *files,
					   uint32_t file_count,
					   struct error *why);

/*
 * List the folder `shard` of the originals, for folder_next(); closedir()
 * closes the list.  NULL: there is none, or it cannot be read.  Names that are
 * not store_is_key() are no originals.  Not of a remote store.
 */
DIR *store_list_originals(struct store *s, uint32_t shard);

/*
 * Remove the original of the image `id`, if it has not changed for `age_s`, and
 * the image is neither stored nor in the spool.  STORE_NOT_FOUND: that is not
 * so.  *is_young: it would be removed if it were older.  Not of a remote store.
 */
MUST_CHECK enum store_answer store_drop_orphan(struct store *s, const char *id,
					       uint64_t age_s, bool *is_young);

/*
 * Open an image; the caller closes it.  If the image is replaced meanwhile,
 * store_read() still finds the old files.  Of a remote image, at most
 * PACKAGE_HEAD_BYTES are fetched into memory, or it is a copy of the cache.
 * `is_fresh`: from the store itself, because the last one was damaged.
 */
MUST_CHECK enum store_answer store_find(struct store *s, const char *id,
					bool is_fresh, uint64_t deadline_ns,
					struct store_image *image,
					struct error *why);
void store_close_image(struct store_image *image);

/*
 * Open a file of it; the caller closes part->fd.  If that is -1, the file was
 * not fetched; its offset is then that in the package.  STORE_NOT_FOUND: the
 * image has no such file.
 */
MUST_CHECK enum store_answer store_read(const struct store_image *image,
					const char *name,
					struct store_part *part);

/*
 * Fetch `bytes` bytes of a remote image's package, from `from` on, into memory
 * (or open the copy of the cache); the caller closes part->fd.
 */
MUST_CHECK enum store_answer store_fetch(struct store *s, const char *id,
					 uint64_t from, uint64_t bytes,
					 bool is_fresh, uint64_t deadline_ns,
					 struct store_part *part,
					 struct error *why);

/*
 * store_check() reads a file and compares its SHA-256 (in hexadecimal digits);
 * the file position does not move.  store_is_checked() costs only one fstat().
 * It says whether store_check() was successful for this file during the last
 * hour and the file has not changed since; never for one that is_fetched.
 */
bool store_is_checked(struct store *s, const struct store_part *part,
		      const char *sha256);
MUST_CHECK enum store_answer
store_check(struct store *s, const struct store_part *part, const char *sha256);

/* List images, a page at a time; no originals. */
MUST_CHECK enum store_answer
store_list_page(struct store *s, const struct list_query *q,
		uint64_t deadline_ns, struct list_page *out, struct error *why);

/* Files of the image that are open can still be read. */
MUST_CHECK enum store_answer store_delete(struct store *s, const char *id,
					  uint64_t deadline_ns,
					  struct error *why);

/* All calls that wait for a network end, now and from now on. */
void store_abandon(struct store *s);

/*
 * End the thread that store_start() has started, so that nothing is reported
 * any more.  Nobody may call the other functions meanwhile.  NULL is fine.
 */
void store_stop(struct store *s);

void store_stats(struct store *s, struct store_stats *out);

/*
 * The spool.
 *
 *	spool_put() -> on the disk -> spool_finish() -> stored, entry removed
 *	                        \--> spool_fail()   -> in failed/
 *	                        \--> spool_delete() -> nothing
 *
 * Uploads with the same id share an entry.  Each upload that needs the entry
 * has a hold on it.  An entry without a hold comes from an earlier run and was
 * not handled yet.
 *
 * Ownership  The caller owns a hold, and must not move it between the call that
 *            begins it and the call that ends it.
 */
/* Size of a request or a problem, with its NUL. */
enum { SPOOL_TEXT_BYTES = 16 << 10 };

struct spool_hold {
	char id[STORE_ID_BYTES]; /* set by the caller */
	/*
	 * Called by spool_finish() when the image is stored, before the entry
	 * is removed.  If it does not return STORE_OK, neither does
	 * spool_finish().  NULL: nothing is called.
	 */
	enum store_answer (*stored)(struct spool_hold *h);
	struct spool_hold *next;
};

/* An entry that was opened. */
struct spool_entry {
	char request[SPOOL_TEXT_BYTES];
	int fd; /* of upload.jpg; the caller closes it */
	uint64_t bytes;
};

/*
 * Call `take` for each entry.  False: the folder could not be read, or `take`
 * returned false.
 */
MUST_CHECK bool spool_list(const struct spool *s,
			   bool (*take)(void *arg, const char *id), void *arg);

/* Is there such an entry? */
bool spool_has(const struct spool *s, const char *id);

/*
 * Read the problem that spool_fail() has written, and append a NUL.  STORE_OK
 * also means that this entry can become no image any more; another upload of
 * the same id can.  STORE_DAMAGED: there is such an entry, but not its problem.
 */
MUST_CHECK enum store_answer spool_find_failed(const struct spool *s,
					       const char *id,
					       char text[SPOOL_TEXT_BYTES]);

/*
 * Make an entry `h->id`, unless it exists, and begin the hold `h`.  If the
 * result is not STORE_OK, there is no hold.
 */
MUST_CHECK enum store_answer spool_put(struct spool *s, struct spool_hold *h,
				       const char *request, const void *jpeg,
				       size_t jpeg_bytes);

/* Begin a hold on an entry that spool_list() has found. */
void spool_hold(struct spool *s, struct spool_hold *h);

/*
 * A number that is kept with the entry, and synced to the disk: of attempts to
 * make its image whose end is not known.  0: there is none, and after
 * spool_fail().  STORE_NOT_FOUND: there is no such entry.
 */
uint32_t spool_attempts(const struct spool *s, const char *id);
MUST_CHECK enum store_answer spool_set_attempts(struct spool *s, const char *id,
						uint32_t count);

/* A number of the entry that no other entry of this id has; 0: it is gone. */
uint64_t spool_stamp(const struct spool *s, const char *id);

/* End `h`; the entry stays. */
void spool_release(struct spool *s, struct spool_hold *h);

/* End `h`; the entry is removed unless there are other holds. */
void spool_drop(struct spool *s, struct spool_hold *h);

/* STORE_NOT_FOUND: it was removed, or was not made by spool_put(). */
MUST_CHECK enum store_answer spool_read(const struct spool *s, const char *id,
					struct spool_entry *out);

/*
 * Store an image with these files, then remove the entry and end `h`.
 * STORE_NOT_FOUND: the entry is gone, because the image was deleted or another
 * upload with this id was stored; `h` has ended.  STORE_FULL and STORE_FAILED:
 * the entry is still there, and `h` continues; if the last sync failed, the
 * image may exist.
 */
MUST_CHECK enum store_answer spool_finish(struct spool *s, struct spool_hold *h,
					  const struct store_file *files,
					  uint32_t file_count);

/*
 * The upload cannot become an image: add `problem` (JSON), move the entry to
 * failed/, and end `h`.  STORE_NOT_FOUND: there is no such entry, or another
 * upload has replaced a damaged one; `h` has ended.  After any other result the
 * entry is still there, perhaps with the problem in it.
 */
MUST_CHECK enum store_answer spool_fail(struct spool *s, struct spool_hold *h,
					const char *problem, bool is_damaged);

/*
 * Remove the image `id`, and entries of that id in spool/ and failed/.
 * STORE_NOT_FOUND: none of them existed.
 */
MUST_CHECK enum store_answer spool_delete(struct spool *s, const char *id);

/* Count an image that was not stored at the first attempt. */
void spool_count_recovered(struct spool *s);

void spool_stats(const struct spool *s, struct spool_stats *out);

#endif
