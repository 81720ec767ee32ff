/* SPDX-License-Identifier: MIT */
/*
 * Picture request: what the handlers of stored images remember of a request,
 * and what images.c and pieces.c need of each other.
 *
 * pieces.c has the bytes of a picture that is in a store beyond the network:
 *
 *	pieces_fetch()  whole, if there is memory: SHA-256 compared, then sent
 *	                from a file in memory
 *	                else twice, in pieces: first to compare the SHA-256 of
 *	                the picture, and to note that of each piece; then, as
 *	                fast as the client reads, to send it
 *
 * So a picture whose bytes are wrong is not sent, and a client that reads
 * slowly holds one piece.  A piece that has changed since it was compared is
 * fetched once more; if it is still another, the connection is closed before
 * it.
 */
#ifndef SERVICE_PICTURE_REQUEST_H
#define SERVICE_PICTURE_REQUEST_H

#include "service/http/http_state.h"
#include "service/http/handlers/images/image_meta.h"
#include "service/http/handlers/images/reading.h"
#include "service/http/handlers/waiting.h"
#include "service/http/request.h"
#include "service/pipeline/pipeline.h"
#include "service/store/store.h"

/* What is known about an image that may not be stored yet. */
struct image_state {
	enum accepted_state accepted;
	enum problem failed_by;
	bool is_durable; /* it is in the spool */
};

enum { PIECE_DIGEST_BYTES = 16 }; /* of a SHA-256 */

/*
 * The `own` of a request for a stored image, or for one of its pictures, or to
 * remove it.
 */
struct picture_request {
	struct request *request; /* that it belongs to */
	const char *key;         /* of the image, or of its original: */
	char original[STORE_ID_BYTES];
	/* Task of the store stage: read, check or delete. */
	struct task task;
	bool is_open;
	/* Its descriptor is -1 if it is sent in pieces. */
	struct store_part file;
	char etag[ETAG_BYTES]; /* its SHA-256, in quotes; "": not known */
	struct stored_picture picture; /* set with `etag`, if it is one */
	bool has_image; /* the image is stored, if its picture is not */
	bool is_known;  /* the client has it already, by its If-None-Match */
	char *meta;     /* the JSON text about the image; owned; NULL: none */
	struct image_state state;
	struct waiter waiter;            /* for the image to be stored */
	void (*work)(struct request *r); /* what the task does */
	/* When a store beyond the network must have answered; 0: none. */
	uint64_t deadline_ns;
	char damaged[STORE_FILE_NAME_BYTES]; /* the file that is; "": unknown */
	/* A store beyond the network: a turn, and the memory that is used. */
	bool has_turn;
	struct read_turn turn;
	struct charge charge;
	/* Sent in pieces: see images/pieces.c. */
	uint64_t package_at; /* of the picture */
	/* Of the image whose `meta` it is; 0 and "": not known. */
	uint64_t package_bytes;
	char version[STORE_VERSION_BYTES];
	uint8_t (*digests)[PIECE_DIGEST_BYTES]; /* of the pieces; owned */
	bool has_piece;
	struct store_part piece;
	uint64_t piece_at, sent_from; /* in the picture */
};

static inline struct picture_request *picture_of(const struct request *r)
{
	return (struct picture_request *)((char *)r->own +
					  r->handler->picture_at);
}

/*
 * Fetch the picture at `at` of its package, of the `bytes` of its `file`, and
 * with the SHA-256 of its ETag.  A task of the store stage.
 */
enum problem pieces_fetch(struct request *r, uint64_t at, bool is_fresh);

/* Send the picture in pieces?  If not, it is in its `file`. */
static inline bool pieces_are_needed(const struct request *r)
{
	return picture_of(r)->file.fd < 0;
}

/* Begin a reply with `count` bytes of the picture, from `from` on. */
void pieces_begin_reply(struct request *r, struct reply *p, uint64_t from,
			uint64_t count);

/* Free what the functions above have left in the request. */
void pieces_release(struct request *r);

/*
 * images.c: run `work` as a task of the store stage.  True: the connection is
 * suspended, and resumed when it is done.  A read of a remote store waits for
 * its turn; begin: of a GET whose reply has not begun, which may be refused.
 */
bool images_begin_work(struct request *r, void (*work)(struct request *r));
bool images_begin_read(struct request *r, void (*work)(struct request *r));
bool images_send_read(struct request *r, void (*work)(struct request *r));

/*
 * images.c, for images/making.c.  Is there a store, and has the path a valid
 * id?
 */
enum problem images_check_target(struct request *r);

/*
 * Begin to find the image, or its picture that the second segment of the path
 * names, as start() does.  PROBLEM_NOT_FOUND, but `has_image`: only the picture
 * is not there.
 */
bool images_start_image(struct request *r);
bool images_start_picture(struct request *r);
bool images_reply_picture(struct request *r);
bool images_reply_image(struct request *r);

/* The value of the header Cache-Control of a reply with a picture. */
const char *images_cache_control(const struct request *r);

/*
 * Read the text about the image into `meta`, from the store itself, with the
 * image's `version`.  In the store stage.
 */
enum problem images_read_meta(struct request *r);

/*
 * Open the original as the picture; from now on, `key` is its key.
 * PROBLEM_NO_ORIGINAL: there is none.  In the store stage.
 */
enum problem images_open_original(struct request *r);

/* This file of the image is missing, or its bytes are wrong. */
enum problem images_note_damage(struct request *r, const char *name);

/*
 * restoring.c: originals that are packed, in a folder.
 *
 * restoring_begin() is called when the packed file has been opened as the
 * picture's; from then on the file has the size of the original.
 * restoring_read() writes the original to `to`; restoring_open() replaces the
 * file by one in memory, which stays charged until images_release().  The last
 * two wait for a process, in the store stage.
 */
enum problem restoring_begin(struct request *r);
enum problem restoring_read(struct request *r, uint8_t *to);
enum problem restoring_open(struct request *r);

static inline bool restoring_is_needed(const struct request *r)
{
	return picture_of(r)->picture.packed_bytes > 0;
}

/* Read all of the picture, its `file`, into memory.  In the store stage. */
enum problem images_read_picture(struct request *r, uint8_t *to);

/* Free what these have left in the request. */
void images_release(struct request *r);

/* images.c: the problem of an answer of the store, and its detail. */
enum problem images_store_problem(struct request *r, enum store_answer answer,
				  const char *what, const char *why);

/*
 * images.c: charge `bytes` for what this GET has fetched.  If there is no
 * memory, a problem.
 */
enum problem images_charge(struct request *r, uint64_t bytes);

/*
 * images.c: begin a reply whose body is the text about an image, with the base
 * of urls_base() before each path in a `url`.  `meta` must stay in memory until
 * the request ends.  False: no memory.
 */
MUST_CHECK bool images_begin_meta(struct request *r, struct reply *p,
				  const char *meta, const char *base);

#endif
