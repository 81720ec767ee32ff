/* SPDX-License-Identifier: MIT */
/*
 * Making: new pictures of an image that is stored with its original.
 *
 *	GET  /v1/images/ID?w=320               one picture, which is the reply
 *	POST /v1/images/ID?variant=a:w=320     variants with names; the reply is
 *	                                       the text about the image
 *
 * The original goes through the pipeline as an upload does, with the same
 * limits.  The pictures are added to the image, so a second GET is one of a
 * stored picture.  The name of a picture that GET has made is a hash of what
 * was asked for.
 *
 *	look     is the picture there already?
 *	turn     one at a time makes what equal requests ask for; the others
 *	         wait, and then look again
 *	read     memory is charged, and the original read, in the store stage
 *	submit   the pipeline makes the pictures, and store() adds them
 *	end      the next turn
 *
 * A picture of GET that cannot be added, because the store is full or the image
 * has too many variants, is sent nevertheless.
 *
 * Threads    As other requests; store() is a worker's of the store stage.
 */
#ifndef SERVICE_MAKING_H
#define SERVICE_MAKING_H

#include "service/http/handlers/images/picture_request.h"
#include "service/http/handlers/upload_request.h"

/* Variants of an image, with those that were made later. */
enum { MAKING_VARIANTS_MAX = 48 };

enum making_step {
	MAKING_LOOK,
	MAKING_TURN,
	MAKING_READ,
	MAKING_SUBMIT,
	MAKING_END,
};

/* The `own` of a request that makes pictures. */
struct making_request {
	struct upload_request upload; /* first: its hooks know only this */
	struct picture_request picture;
	struct making_turn turn;
	enum making_step step;
	char what[SHA256_TEXT_BYTES];
	bool is_made;         /* by this request */
	enum problem problem; /* why the pictures were not added */
};

static inline struct making_request *making_of(const struct request *r)
{
	return r->own;
}

/* Hooks of handlers, whose other hooks are those of uploads. */
enum problem making_admit(struct request *r); /* GET */
enum problem adding_admit(struct request *r); /* POST */
bool making_start(struct request *r);
bool making_reply(struct request *r);
bool adding_reply(struct request *r);

/* What the hook release() does besides that of uploads. */
void making_leave(struct request *r);

#endif
