/* SPDX-License-Identifier: MIT */
#include "service/http/handlers/images/picture_request.h"

#include "service/log/log.h"

#include "base/clock.h"
#include "base/util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nettle/base16.h>
#include <nettle/sha2.h>

enum {
	READ_BYTES = 16 << 10, /* the transport's buffer for a reply */
	TRIES = 2,             /* to fetch a piece */
	PIECES_AT_ONCE = 8,    /* to compare, if there is memory */
};

static uint64_t piece_bytes(const struct request *r)
{
	return reading_piece_bytes(&r->http->reading);
}

/* Of the piece that begins at `at` of the picture. */
static uint64_t bytes_of_piece(const struct request *r, uint64_t at)
{
	const struct picture_request *own = picture_of(r);

	return min_u64(piece_bytes(r), own->file.bytes - at);
}

static enum store_answer fetch(struct request *r, uint64_t at, uint64_t bytes,
			       bool is_fresh, struct store_part *part,
			       struct error *why)
{
	struct picture_request *own = picture_of(r);

	return store_fetch(r->config->store, own->key, own->package_at + at,
			   bytes, is_fresh, own->deadline_ns, part, why);
}

/* Hash a piece, and add it to the hash of the picture unless that is NULL. */
static enum store_answer hash_piece(const struct store_part *part,
				    struct sha256_ctx *picture,
				    uint8_t digest[PIECE_DIGEST_BYTES])
{
	uint8_t bytes[READ_BYTES];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	for (uint64_t at = 0; at < part->bytes;) {
		ssize_t n = pread(part->fd, bytes,
				  min_u64(sizeof(bytes), part->bytes - at),
				  (off_t)(part->offset + at));

		if (n <= 0)
			return n < 0 ? STORE_FAILED : STORE_DAMAGED;
		sha256_update(&ctx, (size_t)n, bytes);
		if (picture != NULL)
			sha256_update(picture, (size_t)n, bytes);
		at += (uint64_t)n;
	}
	sha256_digest(&ctx, PIECE_DIGEST_BYTES, digest);
	return STORE_OK;
}

/* Has the picture its SHA-256? */
static bool is_right(const struct picture_request *p, struct sha256_ctx *ctx)
{
	char text[BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE)];
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(ctx, sizeof(digest), digest);
	base16_encode_update(text, sizeof(digest), digest);
	return memcmp(text, p->picture.sha256, sizeof(text)) == 0;
}

/* Hash the pieces that a part has, from `at` of the picture on. */
static enum store_answer hash_pieces(struct request *r,
				     const struct store_part *part, uint64_t at,
				     struct sha256_ctx *picture)
{
	struct picture_request *own = picture_of(r);
	uint64_t step = piece_bytes(r);
	enum store_answer answer = STORE_OK;

	for (uint64_t done = 0; answer == STORE_OK && done < part->bytes;
	     done += step) {
		struct store_part piece = *part;

		piece.offset += done;
		piece.bytes = min_u64(step, part->bytes - done);
		answer = hash_piece(&piece, picture,
				    own->digests[(at + done) / step]);
	}
	return answer;
}

/* Fetch and hash all pieces, `step` bytes at a time, and keep none. */
static enum store_answer compare_pieces(struct request *r, uint64_t step,
					bool is_fresh, struct error *why)
{
	struct picture_request *p = picture_of(r);
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	for (uint64_t at = 0; at < p->file.bytes; at += step) {
		struct store_part part;
		enum store_answer answer =
			fetch(r, at, min_u64(step, p->file.bytes - at),
			      is_fresh, &part, why);

		if (answer != STORE_OK)
			return answer;
		answer = hash_pieces(r, &part, at, &ctx);
		error_set(why, "%s", strerror(errno));
		(void)close(part.fd);
		if (answer != STORE_OK)
			return answer;
	}
	return is_right(p, &ctx) ? STORE_OK : STORE_DAMAGED;
}

static enum problem fetch_whole(struct request *r, bool is_fresh)
{
	struct picture_request *p = picture_of(r);
	struct store_part part;
	struct error why;
	enum store_answer answer =
		fetch(r, 0, p->file.bytes, is_fresh, &part, &why);

	if (answer == STORE_OK) {
		answer =
			store_check(r->config->store, &part, p->picture.sha256);
		error_set(&why, "%s", strerror(errno));
		if (answer == STORE_OK)
			p->file = part;
		else
			(void)close(part.fd);
	}
	return images_store_problem(r, answer, "read", why.text);
}

/* For a moment, there may be memory for several pieces. */
static enum store_answer compare(struct request *r, bool is_fresh,
				 struct error *why)
{
	struct picture_request *own = picture_of(r);
	struct charge *charge = &own->charge;
	uint64_t step = piece_bytes(r), kept = charge->bytes;
	enum store_answer answer;

	if (budget_try(charge, kept + (PIECES_AT_ONCE - 1) * step))
		step *= PIECES_AT_ONCE;
	answer = compare_pieces(r, step, is_fresh, why);
	budget_lower(charge, kept);
	return answer;
}

enum problem pieces_fetch(struct request *r, uint64_t at, bool is_fresh)
{
	struct picture_request *p = picture_of(r);
	uint64_t count = p->file.bytes / piece_bytes(r) + 1;
	uint64_t digest_bytes = count * PIECE_DIGEST_BYTES;
	enum problem problem;
	struct error why;

	p->package_at = at;
	if (reading_charge_whole(&p->charge, p->file.bytes))
		return fetch_whole(r, is_fresh);
	problem = images_charge(r, piece_bytes(r) + READ_BYTES + digest_bytes);
	if (problem != PROBLEM_NONE)
		return problem;
	free(p->digests);
	p->digests = malloc(digest_bytes);
	if (p->digests == NULL)
		return PROBLEM_OUT_OF_MEMORY;
	return images_store_problem(r, compare(r, is_fresh, &why), "read",
				    why.text);
}

static void drop_piece(struct picture_request *p)
{
	if (p->has_piece)
		(void)close(p->piece.fd);
	p->has_piece = false;
}

/* Fetch the piece at p->piece_at, and compare it. */
static enum store_answer fetch_piece(struct request *r, bool is_fresh,
				     struct error *why)
{
	struct picture_request *p = picture_of(r);
	uint8_t digest[PIECE_DIGEST_BYTES];
	const uint8_t *right = p->digests[p->piece_at / piece_bytes(r)];
	enum store_answer answer =
		fetch(r, p->piece_at, bytes_of_piece(r, p->piece_at), is_fresh,
		      &p->piece, why);

	if (answer != STORE_OK)
		return answer;
	p->has_piece = true;
	answer = hash_piece(&p->piece, NULL, digest);
	if (answer == STORE_OK && memcmp(digest, right, sizeof(digest)) != 0)
		answer = STORE_DAMAGED;
	error_set(why, "%s", strerror(errno));
	if (answer != STORE_OK)
		drop_piece(p);
	return answer;
}

/* A task of the store stage. */
static void fetch_next(struct request *r)
{
	enum store_answer answer = STORE_DAMAGED;
	struct error why;

	for (uint32_t i = 0; i < TRIES && answer == STORE_DAMAGED; i++)
		answer = fetch_piece(r, i > 0, &why);
	if (answer == STORE_OK)
		return;
	r->problem = images_store_problem(r, answer, "read", why.text);
	log_message(r->config->log, LOG_LEVEL_ERROR,
		    "the stored image %s could not be sent to its end: %s",
		    picture_of(r)->key,
		    answer == STORE_DAMAGED ? "it is damaged" : why.text);
}

static bool has_byte(const struct picture_request *p, uint64_t at)
{
	return p->has_piece && at >= p->piece_at &&
	       at < p->piece_at + p->piece.bytes;
}

/* The read() of a reply. */
static ssize_t read_pieces(void *arg, uint64_t at, char *to, size_t bytes_max)
{
	struct request *r = arg;
	struct picture_request *p = picture_of(r);
	uint64_t from = p->sent_from + at, offset;
	ssize_t n;

	if (!has_byte(p, from) && r->problem == PROBLEM_NONE) {
		drop_piece(p);
		p->piece_at = from - from % piece_bytes(r);
		if (images_send_read(r, fetch_next))
			return 0;
	}
	if (!has_byte(p, from))
		return REPLY_END;
	offset = from - p->piece_at;
	n = pread(p->piece.fd, to, min_u64(bytes_max, p->piece.bytes - offset),
		  (off_t)(p->piece.offset + offset));
	return n > 0 ? n : REPLY_END;
}

void pieces_begin_reply(struct request *r, struct reply *p, uint64_t from,
			uint64_t count)
{
	struct picture_request *own = picture_of(r);

	reply_init(p);
	p->kind = REPLY_READ;
	p->bytes = count;
	p->read = read_pieces;
	p->read_bytes = READ_BYTES;
	p->arg = r;
	own->sent_from = from;
	r->reply_bytes = count;
	reply_limit_unsent(r);
}

void pieces_release(struct request *r)
{
	struct picture_request *own = picture_of(r);

	drop_piece(own);
	free(own->digests);
	own->digests = NULL;
}
