/* SPDX-License-Identifier: MIT */
/*
 * The turns of requests that make pictures: see making.h.
 */
#ifndef SERVICE_MAKING_TURNS_H
#define SERVICE_MAKING_TURNS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

TAILQ_HEAD(making_turns, making_turn);

/* A request that makes something, or waits for one that makes the same. */
struct making_turn {
	const char *id, *what; /* image, and hash of the parameters */
	bool is_making;
	bool is_called; /* a waiting one: the other has ended */
	TAILQ_ENTRY(making_turn) link;
};

enum { MAKING_LOCKS = 64 };

/* All of them. */
struct making {
	pthread_mutex_t lock; /* of the members below, and of turns */
	pthread_cond_t called;
	struct making_turns turns;
	/* Held while an image gets more files, or is removed: by its id. */
	pthread_mutex_t adding[MAKING_LOCKS];
};

void making_init(struct making *m);
void making_release(struct making *m);
void making_lock(struct making *m, const char *id);
void making_unlock(struct making *m, const char *id);

#endif
