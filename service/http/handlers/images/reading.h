/* SPDX-License-Identifier: MIT */
/*
 * Reading: what GETs of images may take of the server while a store beyond the
 * network is slow, or their clients are: memory, threads of the store stage,
 * and connections.  The rest is always there for uploads.
 *
 * Memory     Each GET has a charge on a budget of its own, for what it has
 *            fetched.
 * Turns      A limited number of GETs is in the store stage at once; the others
 *            wait here, first come, first served, without a thread and without
 *            memory.
 * Limits     The number of GETs with a turn or waiting, too: each has a
 *            connection, which cannot be closed for a new one meanwhile.
 * Threads    Any number at the same time.
 */
#ifndef SERVICE_READING_H
#define SERVICE_READING_H

#include "service/pipeline/budget.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

TAILQ_HEAD(read_turns, read_turn);

struct reading {
	struct budget budget;
	pthread_mutex_t lock;            /* of the members below */
	uint32_t admitted, admitted_max; /* GETs that run or wait */
	uint32_t running, running_max;
	struct read_turns waiting;
};

/* Embed it in what waits. */
struct read_turn {
	TAILQ_ENTRY(read_turn) link;
};

/*
 * `store_threads`: of the store stage; 0: it has none, and nobody waits.
 * Half of `connections` is for GETs.
 */
void reading_init(struct reading *g, uint64_t bytes_max, uint32_t store_threads,
		  uint32_t connections);
void reading_release(struct reading *g);

/*
 * Before reading_enter().  False: there are too many GETs, and this one must be
 * refused.  If its reply has begun, it is always admitted.
 */
bool reading_admit(struct reading *g, bool has_begun);

/*
 * Get a turn.  False: there is none; reading_leave() will return `t` when it is
 * its turn.
 */
MUST_CHECK bool reading_enter(struct reading *g, struct read_turn *t);

/* A turn is over.  Returns the one whose turn begins, or NULL. */
MUST_CHECK struct read_turn *reading_leave(struct reading *g);

/* Bytes of a picture that are fetched at a time if it is not fetched whole. */
uint64_t reading_piece_bytes(const struct reading *g);

/*
 * Charge `bytes` for a whole picture; half of the memory is for that, and the
 * rest for pieces.  False: it must be sent in pieces.
 */
bool reading_charge_whole(struct charge *c, uint64_t bytes);

#endif
