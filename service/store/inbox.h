/* SPDX-License-Identifier: MIT */
/*
 * Inbox: uploads that are allowed but have not arrived, or only in part, in a
 * folder.  Each is an entry (entries.h), a ticket:
 *
 *	DIR/ID/ticket.json     what is asked for, written by the caller
 *	DIR/ID/data.bin        the bytes that have arrived: see entry_append()
 *	DIR/ID/claim.txt       the id of the image that it becomes
 *	DIR/ID/end.json        it has become that image; then data.bin is gone
 *	DIR/ID/problem.json    why the last picture was refused
 *	DIR/tmp/               entries being made or removed
 *
 *	inbox_make() -> inbox_append() ... -> inbox_claim() -> inbox_end()
 *	                    ^---- inbox_refuse() ----'
 *
 * A ticket becomes at most one image.  The image is put into the store between
 * claim and end: if a crash comes between them, only the upload of the same
 * image is accepted again.
 *
 * The name of a ticket cannot be guessed, so who knows it may use it.  It
 * begins with the time at which it expires; a thread removes it then.  After
 * STORE_OK, what was written survives a crash or power loss.
 *
 * Threads    One thread calls inbox_open(), inbox_start() and inbox_close().
 *            Any number may call the others at the same time; those that need
 *            a hold, only its owner.  They wait for the disk.
 * Errors     After STORE_FAILED and STORE_FULL, errno says why; 0: the quota.
 * Limits     The quota counts disk blocks, also of tickets without bytes.
 */
#ifndef SERVICE_INBOX_H
#define SERVICE_INBOX_H

#include "service/store/entries.h"

enum { INBOX_TEXT_BYTES = 16 << 10, INBOX_END_BYTES = 256 };

struct inbox;

/* Called by the thread of the inbox with a sentence for the log. */
typedef void inbox_report_fn(void *arg, const char *text);

struct inbox_stats {
	uint64_t used_bytes, quota_bytes;
	uint64_t made_count, ended_count, refused_count, expired_count;
	uint64_t received_bytes; /* by inbox_append() */
};

/*
 * Open the inbox, a folder, which is made if its parent exists; no other
 * process may have it open.  quota_bytes 0: no limit.  NULL: `why` is the
 * reason.
 */
struct inbox *inbox_open(const char *path, uint64_t quota_bytes,
			 struct error *why);
void inbox_close(struct inbox *b); /* NULL is fine */

/*
 * Start the thread that removes what has expired; after the sandbox was
 * entered.  False: no thread.
 */
MUST_CHECK bool inbox_start(struct inbox *b, inbox_report_fn *report,
			    void *arg);

/* End it, so that nothing is reported any more.  NULL is fine. */
void inbox_stop(struct inbox *b);

/*
 * A hold: one request uses the ticket.  The owner must not move it while it is
 * held.
 */
struct inbox_hold {
	char id[STORE_ID_BYTES]; /* set by inbox_hold() or inbox_name() */
	/*
	 * Another request wants the ticket; may be called by any thread while
	 * it is held, under a lock, and must not block.  NULL: nothing is done.
	 */
	void (*ask)(struct inbox_hold *h);
	struct inbox_hold *next;
	bool is_held;
};

/* Name a new ticket, which will expire in `seconds`, and begin a hold. */
void inbox_name(struct inbox *b, struct inbox_hold *h, uint32_t seconds);

/* Begin a hold.  False: another request has it, and was asked for it. */
MUST_CHECK bool inbox_hold(struct inbox *b, struct inbox_hold *h,
			   const char *id);

/* From now on, `ask` is not called any more.  Needs a hold, or is ignored. */
void inbox_ignore(struct inbox *b, struct inbox_hold *h);

/* End a hold; if there is none, `b` may be NULL. */
void inbox_release(struct inbox *b, struct inbox_hold *h);

/* When a ticket of this name expires, in seconds since 1970; is that over? */
uint64_t inbox_expires_s(const char *id);
bool inbox_has_expired(const char *id);

/* What is known of a ticket. */
struct inbox_ticket {
	uint64_t bytes;                 /* that have arrived */
	char text[INBOX_TEXT_BYTES];    /* ticket.json */
	char problem[INBOX_TEXT_BYTES]; /* of the last picture; "": none */
	char claim[STORE_ID_BYTES];     /* "": none */
	char end[INBOX_END_BYTES];      /* end.json; "": it has not ended */
};

/* STORE_NOT_FOUND: there is no such ticket, or it has expired. */
MUST_CHECK enum store_answer inbox_find(struct inbox *b, const char *id,
					struct inbox_ticket *out);

/*
 * Has the ticket become an image, was its picture refused, or is there no such
 * ticket?  Looks only for names.
 */
bool inbox_is_settled(struct inbox *b, const char *id);

/* These need a hold. */

/* Make the ticket that inbox_name() has named. */
MUST_CHECK enum store_answer
inbox_make(struct inbox *b, const struct inbox_hold *h, const char *text);

/* Replace its text; the bytes that have arrived are dropped. */
MUST_CHECK enum store_answer
inbox_restart(struct inbox *b, const struct inbox_hold *h, const char *text);

/* Replace its text. */
MUST_CHECK enum store_answer
inbox_change(struct inbox *b, const struct inbox_hold *h, const char *text);

/* More bytes have arrived; `offset` have arrived before. */
MUST_CHECK enum store_answer inbox_append(struct inbox *b,
					  const struct inbox_hold *h,
					  uint64_t offset, const void *bytes,
					  size_t count);

/* Read the first `count` bytes.  STORE_DAMAGED: there are fewer. */
MUST_CHECK enum store_answer
inbox_read(struct inbox *b, const struct inbox_hold *h, void *to, size_t count);

/*
 * It becomes this image.  STORE_DAMAGED: it has been claimed by another one.
 */
MUST_CHECK enum store_answer
inbox_claim(struct inbox *b, const struct inbox_hold *h, const char *image);

/* It becomes this image, and the one that has claimed it is not stored. */
MUST_CHECK enum store_answer inbox_claim_again(struct inbox *b,
					       const struct inbox_hold *h,
					       const char *image);

/* The image that has claimed it is stored; `text` is JSON about it. */
MUST_CHECK enum store_answer
inbox_end(struct inbox *b, const struct inbox_hold *h, const char *text);

/* Its bytes are no picture: drop them, and keep the problem (JSON). */
MUST_CHECK enum store_answer
inbox_refuse(struct inbox *b, const struct inbox_hold *h, const char *problem);

MUST_CHECK enum store_answer inbox_remove(struct inbox *b,
					  const struct inbox_hold *h);

void inbox_read_stats(const struct inbox *b, struct inbox_stats *out);

#endif
