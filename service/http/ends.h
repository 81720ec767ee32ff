/* SPDX-License-Identifier: MIT */
/*
 * Ends: what becomes of images that were promised before they were stored.
 *
 * Ownership  A promise is the caller's, and must stay where it is until it is
 *            kept or broken.
 * Threads    Any, at once; nobody waits but for a look through the list.
 * Limits     The last ENDS_MAX broken promises are remembered.
 */
#ifndef SERVICE_ENDS_H
#define SERVICE_ENDS_H

#include "service/http/problem.h"
#include "service/store/store.h"

#include <pthread.h>

enum { ENDS_MAX = 1024 };

struct promise {
	char id[STORE_ID_BYTES]; /* set it first */
	struct promise *previous, *next;
};

struct ends {
	pthread_mutex_t lock;
	struct promise *first; /* those that are neither kept nor broken */
	uint64_t broken_count; /* so far; the next one's place, modulo */
	struct {
		char id[STORE_ID_BYTES];
		enum problem problem;
	} broken[ENDS_MAX];
};

enum promise_state {
	PROMISE_NONE,   /* never made, kept, or forgotten */
	PROMISE_MADE,   /* perhaps only one of several */
	PROMISE_BROKEN, /* the last one */
};

void ends_init(struct ends *e);
void ends_release(struct ends *e);

void ends_promise(struct ends *e, struct promise *p);

/* It is stored, or `problem` says why not. */
void ends_settle(struct ends *e, struct promise *p, enum problem problem);

/* *problem is set if it was broken. */
enum promise_state ends_find(struct ends *e, const char *id,
			     enum problem *problem);

#endif
