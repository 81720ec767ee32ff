/* SPDX-License-Identifier: MIT */
/*
 * Arrival: what a request for /v1/uploads adds to an upload: it makes a ticket,
 * or brings bytes for one (store/inbox.h).
 *
 *	POST /v1/uploads         makes a ticket, perhaps with the first bytes
 *	PUT or POST of a ticket  brings all bytes
 *	PATCH of a ticket        brings the next ones
 *
 * The last bytes become the image as those of any stored upload do: the body's
 * buffer has room for what came before, which is read into it.  What is not the
 * last is written to the inbox, also if the connection is lost in the middle.
 * The last byte counts only when the image is stored, so a client that has not
 * got its reply sends at least that one again.
 *
 * The work takes several steps: start() of the handler is called again after
 * each task of the store stage.
 *
 *	make the ticket > write the bytes, or read those before > the pipeline
 *	> if that failed: keep the bytes, or refuse the picture
 *
 * Threads    As struct upload_request.
 */
#ifndef SERVICE_ARRIVAL_H
#define SERVICE_ARRIVAL_H

#include "service/http/handlers/body.h"
#include "service/http/handlers/uploads/ticket.h"
#include "service/http/head/tus.h"
#include "service/http/request.h"
#include "service/pipeline/upload.h"
#include "service/store/inbox.h"

enum arrival_kind { ARRIVAL_NEW, ARRIVAL_WHOLE, ARRIVAL_PART };

/* What start() does next. */
enum arrival_step {
	ARRIVAL_PREPARE, /* a task: make the ticket, write or read bytes */
	ARRIVAL_SUBMIT,  /* the upload is complete: into the pipeline */
	ARRIVAL_SETTLE,  /* the pipeline is done */
	ARRIVAL_REPLY,   /* nothing */
};

struct arrival {
	struct request *request;
	enum arrival_kind kind;
	enum arrival_step step;
	struct inbox_hold hold;
	struct inbox_ticket found;
	struct ticket ticket;
	struct tus_head tus;
	uint64_t offset; /* bytes that came before this body */
	bool is_last;    /* the upload is complete with this body */
	bool restarts;   /* tus: creation by the URL of a ticket */
	bool is_stored;
	bool is_kept;  /* its bytes are in the inbox, or need not be */
	bool is_taken; /* another image has claimed the ticket */
	char *refusal; /* JSON of the problem to keep; owned */
	struct task task;
};

/*
 * Begin: read the head, and find the ticket, or name a new one.  Sets
 * `arrival` of the request's own, also if there is a problem.
 */
enum problem arrival_begin(struct request *r, enum arrival_kind kind);

/* The bytes that the body may have, with those that came before. */
struct body_length arrival_length(const struct request *r);

/* The body has no room for this piece: explain it. */
enum problem arrival_refuse_piece(struct request *r, size_t bytes);

/* As start() of a handler; it calls upload_submit(). */
bool arrival_start(struct request *r);

/* The reply to a request without a problem. */
bool arrival_reply(struct request *r);

/* As refuse() and end() of a handler. */
void arrival_refuse(struct request *r);
void arrival_end(struct request *r);

void arrival_release(struct request *r);

/* Called by the store stage before and after the image is stored. */
enum store_answer arrival_claim(struct request *r, const char *image);
void arrival_finish(struct request *r, const char *image);

#endif
