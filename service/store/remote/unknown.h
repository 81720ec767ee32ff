/* SPDX-License-Identifier: MIT */
/*
 * Unknown: ids of which the object store has just said that it has no such
 * image.  They are remembered for UNKNOWN_MS, so that requests for them do not
 * all go to the store.
 *
 *	unknown_begin() -> the store is asked -> unknown_end()
 *	             \--- unknown_forget(): the image is put by this server
 *
 * An image that was put meanwhile is not remembered as unknown, whichever of
 * the two answers of the store comes first.  One that another server puts may
 * be unknown here for UNKNOWN_MS.
 *
 * Limits     UNKNOWN_IDS ids; a newer one takes the place of an older one.
 * Threads    The caller holds a lock.
 */
#ifndef SERVICE_STORE_UNKNOWN_H
#define SERVICE_STORE_UNKNOWN_H

#include "service/store/entries.h"

#include <stdbool.h>
#include <stdint.h>

enum { UNKNOWN_MS = 1000, UNKNOWN_IDS = 1024 };

struct unknown_id {
	char id[STORE_ID_BYTES];
	uint64_t ticket;   /* of the newest question for it */
	uint64_t until_ns; /* 0: it is not known whether it is unknown */
};

/* {0}: nothing is remembered.  now_ns: CLOCK_MONOTONIC. */
struct unknown {
	struct unknown_id ids[UNKNOWN_IDS];
	uint64_t last_ticket;
};

bool unknown_has(const struct unknown *u, const char *id, uint64_t now_ns);

/* Before the store is asked for `id`.  Returns a ticket for unknown_end(). */
uint64_t unknown_begin(struct unknown *u, const char *id);

/* The store has no such image. */
void unknown_end(struct unknown *u, const char *id, uint64_t ticket,
		 uint64_t now_ns);

/* Before and after this server puts it. */
void unknown_forget(struct unknown *u, const char *id);

#endif
