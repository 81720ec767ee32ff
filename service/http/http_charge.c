/* SPDX-License-Identifier: MIT */
/*
 * What an upload is charged while its body comes: the buffer, which grows with
 * what has come, and so much of the guess for its picture, or bodies would take
 * all memory and leave none for what is to be made of them.  Who announces much
 * and sends little takes little.  Before the last of it comes, all is charged,
 * so that hardly any upload that is whole finds no room.
 */
#include "service/http/http_request.h"

#include <stdlib.h>

enum { ROOM_BYTES_MIN = 64 << 10, ROOM_GROWTH = 4 };

/* With a buffer of `room_bytes`. */
static uint64_t body_bytes(const struct request *r, uint64_t room_bytes)
{
	return img_pool_count(room_bytes) + body_extra_bytes(r->connection);
}

/* A guess does not refuse what may well fit. */
static uint64_t guess_picture_bytes(const struct request *r)
{
	struct pipeline *p = r->config->pipeline;
	uint64_t bytes = pipeline_likely_bytes(p, r->length_bytes);
	uint64_t guess_end = pipeline_budget(p)->limit_bytes / 2;
	uint64_t body = body_bytes(r, r->length_bytes);
	uint64_t left = body < guess_end ? guess_end - body : 0;

	return bytes < left ? bytes : left;
}

static uint64_t charge_bytes(const struct request *r, uint64_t room_bytes)
{
	double part = (double)room_bytes / (double)(r->length_bytes + 1);

	return body_bytes(r, room_bytes) +
	       (uint64_t)(part * (double)guess_picture_bytes(r));
}

/*
 * The buffer for so many bytes.  The one before is there until it is copied:
 * where both do not fit, all is taken at once.
 */
static uint64_t room_bytes_for(const struct request *r, uint64_t bytes)
{
	uint64_t limit = pipeline_budget(r->config->pipeline)->limit_bytes;
	uint64_t room = ROOM_BYTES_MIN;

	while (room < bytes)
		room *= ROOM_GROWTH;
	if (room >= r->length_bytes ||
	    img_pool_count(room) + body_bytes(r, r->length_bytes) > limit)
		return r->length_bytes;
	return room;
}

static enum problem charge(struct request *r, uint64_t bytes)
{
	switch (budget_charge(&r->upload.charge, bytes)) {
	case BUDGET_OK:
		return PROBLEM_NONE;
	case BUDGET_FULL:
		return PROBLEM_MEMORY_FULL;
	case BUDGET_NEVER:
		return PROBLEM_TOO_MUCH_MEMORY;
	}
	abort();
}

/* There must be room for all of it now, and then it takes what it needs. */
enum problem http_admit_body(struct request *r)
{
	struct pipeline *p = r->config->pipeline;
	uint64_t room_bytes = room_bytes_for(r, 0);
	enum problem problem;

	r->upload.charge.budget = pipeline_budget(p);
	r->upload.jpeg_charge_bytes = body_bytes(r, r->length_bytes);
	problem = charge(r, charge_bytes(r, r->length_bytes));
	if (problem != PROBLEM_NONE)
		return problem;
	budget_lower(&r->upload.charge, charge_bytes(r, room_bytes));
	return body_init(&r->body, r->connection, room_bytes,
			 pipeline_memory(p));
}

static enum problem grow(struct request *r)
{
	uint64_t room_bytes = room_bytes_for(r, r->received_bytes);
	uint64_t after = charge_bytes(r, room_bytes);
	/* What is guessed for its picture serves to copy it, too. */
	uint64_t both =
		body_bytes(r, room_bytes) + img_pool_count(r->body.count_max);
	enum problem problem = charge(r, both > after ? both : after);

	if (problem != PROBLEM_NONE)
		return problem;
	problem = body_grow(&r->body, room_bytes);
	budget_lower(&r->upload.charge, after);
	return problem;
}

enum problem http_make_room(struct request *r)
{
	return r->received_bytes <= r->body.count_max ? PROBLEM_NONE : grow(r);
}
