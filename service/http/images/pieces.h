/* SPDX-License-Identifier: MIT */
/*
 * Pieces: the bytes of a picture that is in a store beyond the network.
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
#ifndef SERVICE_PIECES_H
#define SERVICE_PIECES_H

#include "service/http/request.h"

/*
 * Fetch the picture at `at` of its package, of r->picture.file.bytes bytes, and
 * with the SHA-256 of its ETag.  A task of the store stage.
 */
enum problem pieces_fetch(struct request *r, uint64_t at, bool is_fresh);

/* Send the picture in pieces?  If not, it is in r->picture.file. */
static inline bool pieces_are_needed(const struct request *r)
{
	return r->picture.file.fd < 0;
}

/* Begin a reply with `count` bytes of the picture, from `from` on. */
void pieces_begin_reply(struct request *r, struct reply *p, uint64_t from,
			uint64_t count);

/* Free what the functions above have left in the request. */
void pieces_release(struct request *r);

/*
 * images.c: run `work` as a task of the store stage, when it is its turn.
 * True: the connection is suspended, and resumed when it is done.
 */
bool images_send_read(struct request *r, void (*work)(struct request *r));

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
