/* SPDX-License-Identifier: MIT */
/*
 * Spool: uploads that were accepted (202) and are not stored yet.  Each is an
 * entry of the store, made and removed like those of images, and counted for
 * the quota.
 *
 *	DIR/spool/ID/upload.jpg    the upload's bytes
 *	DIR/spool/ID/request.txt   the parameters of its image
 *	DIR/failed/ID/             both, and problem.json: why it cannot become
 *	                           an image
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
 * Threads    spool_open(), spool_close(), spool_list(): one.  The rest: any
 *            number at the same time.  All except spool_has() and
 *            spool_find_failed() may wait for the disk and for each other.
 */
#ifndef SERVICE_SPOOL_H
#define SERVICE_SPOOL_H

#include "service/store/store.h"

#define SPOOL_FOLDER "spool"
#define SPOOL_FAILED_FOLDER "failed"

enum { SPOOL_TEXT_BYTES = 16 << 10 }; /* of a request or a problem, with NUL */

struct spool_hold {
	char id[STORE_ID_BYTES]; /* set by the caller */
	struct spool_hold *next;
};

/* An entry that was opened. */
struct spool_entry {
	char request[SPOOL_TEXT_BYTES];
	int fd; /* of the upload; the caller closes it */
	uint64_t bytes;
};

/* Called by store.c.  NULL: failed, see errno. */
struct spool *spool_open(struct store *s);
void spool_close(struct spool *s); /* NULL is fine */

/*
 * Call `take` for each entry.  False: the folder could not be read, or `take`
 * returned false.
 */
MUST_CHECK bool spool_list(const struct spool *s,
			   bool (*take)(void *arg, const char *id), void *arg);

/* Is there such an entry? */
bool spool_has(const struct spool *s, const char *id);

/*
 * Read the problem that spool_fail() has written, and append a NUL.  STORE_OK:
 * also, no entry of that id can become an image any more.
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
 * nothing has changed, and `h` continues.
 */
MUST_CHECK enum store_answer spool_finish(struct spool *s, struct spool_hold *h,
					  const struct store_file *files,
					  uint32_t file_count);

/*
 * The upload cannot become an image: add `problem` (JSON), move the entry to
 * failed/, and end `h`.  If the result is neither STORE_OK nor STORE_NOT_FOUND,
 * nothing has changed.
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
