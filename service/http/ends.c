/* SPDX-License-Identifier: MIT */
#include "service/http/ends.h"

#include <string.h>

void ends_init(struct ends *e)
{
	(void)pthread_mutex_init(&e->lock, NULL);
	e->first = NULL;
	e->broken_count = 0;
}

void ends_release(struct ends *e)
{
	(void)pthread_mutex_destroy(&e->lock);
}

void ends_promise(struct ends *e, struct promise *p)
{
	(void)pthread_mutex_lock(&e->lock);
	p->previous = NULL;
	p->next = e->first;
	if (e->first != NULL)
		e->first->previous = p;
	e->first = p;
	(void)pthread_mutex_unlock(&e->lock);
}

/* Caller holds the lock. */
static void forget(struct ends *e, struct promise *p)
{
	if (p->previous != NULL)
		p->previous->next = p->next;
	else
		e->first = p->next;
	if (p->next != NULL)
		p->next->previous = p->previous;
}

void ends_settle(struct ends *e, struct promise *p, enum problem problem)
{
	(void)pthread_mutex_lock(&e->lock);
	forget(e, p);
	if (problem != PROBLEM_NONE) {
		size_t i = e->broken_count++ % ENDS_MAX;

		(void)memcpy(e->broken[i].id, p->id, sizeof(p->id));
		e->broken[i].problem = problem;
	}
	(void)pthread_mutex_unlock(&e->lock);
}

/* Caller holds the lock. */
static enum promise_state find(const struct ends *e, const char *id,
			       enum problem *problem)
{
	uint64_t count = e->broken_count;

	for (const struct promise *p = e->first; p != NULL; p = p->next)
		if (strcmp(p->id, id) == 0)
			return PROMISE_MADE;
	for (uint64_t n = 0; n < ENDS_MAX && n < count; n++) {
		size_t i = (count - 1 - n) % ENDS_MAX;

		if (strcmp(e->broken[i].id, id) == 0) {
			*problem = e->broken[i].problem;
			return PROMISE_BROKEN;
		}
	}
	return PROMISE_NONE;
}

enum promise_state ends_find(struct ends *e, const char *id,
			     enum problem *problem)
{
	(void)pthread_mutex_lock(&e->lock);

	enum promise_state state = find(e, id, problem);

	(void)pthread_mutex_unlock(&e->lock);
	return state;
}
