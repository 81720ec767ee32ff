/* SPDX-License-Identifier: MIT */
/*
 * After Larus and Parkes, "Using Cohort Scheduling to Enhance Server
 * Performance", technical report MSR-TR-2001-39, section 5.2.  As there,
 * children are sent when their parent's method has returned, because only then
 * is their number known, and whether anybody waits for them.
 *
 * A closure that waits for children needs no lock: `left` counts them, and
 * whoever ends the last one owns the parent.  A closure that waits for an event
 * is owned by whoever wakes it (event.h): closure_resume(), session_cancel(),
 * or its own worker, if one of them came before it waited.  While it waits it
 * stays pending, so that a stop waits for it.  closure.pml is a model of this.
 */
#include "stages/event.h"
#include "stages/group.h"

#include <assert.h>
#include <sched.h>

static bool is_cancelled(const struct closure *c)
{
	return c->session != NULL && atomic_load(&c->session->is_cancelled);
}

/* --- The list of a session: its closures that wait for an event. --- */

static void session_lock(struct session *s)
{
	while (atomic_flag_test_and_set(&s->is_locked))
		(void)sched_yield();
}

static void session_unlock(struct session *s)
{
	atomic_flag_clear(&s->is_locked);
}

/* False: it is cancelled. */
static bool session_enter(struct closure *c)
{
	struct session *s = c->session;
	bool is_open = true;

	if (s == NULL)
		return true;
	session_lock(s);
	is_open = !atomic_load(&s->is_cancelled);
	if (is_open) {
		c->next_waiting = s->waiting;
		c->at_waiting = &s->waiting;
		if (s->waiting != NULL)
			s->waiting->at_waiting = &c->next_waiting;
		s->waiting = c;
	}
	session_unlock(s);
	return is_open;
}

/* Caller holds the lock. */
static void unlink_waiting(struct closure *c)
{
	*c->at_waiting = c->next_waiting;
	if (c->next_waiting != NULL)
		c->next_waiting->at_waiting = c->at_waiting;
	c->at_waiting = NULL;
}

/* If session_cancel() has not done so. */
static void session_leave(struct closure *c)
{
	if (c->session == NULL)
		return;
	session_lock(c->session);
	if (c->at_waiting != NULL)
		unlink_waiting(c);
	session_unlock(c->session);
}

/* --- Sending, continuing and ending. --- */

/*
 * The replica of a session.  Stations take keys by their remainder, so this
 * takes other bits of it.
 */
static uint32_t session_part(const struct session *s,
			     const struct stage_group *g)
{
	const uint32_t golden = 2654435769u; /* as in visit.c */

	return (s->key * golden >> 16) % g->part_count;
}

/*
 * False: its stage has no slot for it.  `has_thread`: the user-level thread
 * that runs may go on as `c`.
 */
static bool send(struct closure *c, bool has_thread)
{
	uint32_t part = c->session != NULL ?
				session_part(c->session, c->stage->group) :
				c->part;

	if (c->part == PART_ANY)
		return stage_send_to(c->stage, &c->event, part);
	if (has_thread && part == group_current_part())
		handling_become(&c->event);
	return stage_send_accepted(c->stage, &c->event, part);
}

/* Why a closure ends that found no slot. */
static enum closure_end refusal(const struct closure *c)
{
	return is_cancelled(c) ? CLOSURE_CANCELLED : CLOSURE_REFUSED;
}

/*
 * `c` has ended.  If it was the last child of its parent, the parent goes on,
 * or has ended, too.
 */
static void end(struct closure *c, enum closure_end how)
{
	for (;;) {
		struct closure *parent = c->parent;
		bool has_thread = handling_disown(&c->event);

		c->end(c, how);
		if (parent == NULL || atomic_fetch_sub(&parent->left, 1) != 1)
			return;
		c = parent;
		if (c->method != NULL && !is_cancelled(c) &&
		    send(c, has_thread))
			return;
		how = c->method == NULL && !is_cancelled(c) ? CLOSURE_DONE :
							      refusal(c);
	}
}

/* The closure, which has waited for an event, belongs to the caller. */
static void go_on(struct closure *c)
{
	struct stage_group *g = c->stage->group;

	wake_reset(&c->wake);
	if (!send(c, false))
		end(c, refusal(c));
	group_let_go(g);
}

/*
 * Start the children of `c`, which is their parent if it `waits`, and may have
 * gone when this returns.  Then its user-level thread goes on as the last one.
 */
static void start_children(struct closure *c, bool waits)
{
	struct closure *child = NULL, *next;
	bool has_thread = waits && handling_disown(&c->event);
	uint32_t count = 0;

	/* The last one is first in the list. */
	for (struct closure *i = c->children; i != NULL; i = next, count++) {
		next = i->next;
		i->next = child;
		child = i;
	}
	c->children = NULL;
	if (waits)
		atomic_store(&c->left, count);
	for (; child != NULL; child = next) {
		next = child->next;
		child->parent = waits ? c : NULL;
		child->part = child->stage->group == c->stage->group ? c->part :
								       PART_ANY;
		if (!send(child, has_thread && next == NULL))
			end(child, refusal(child));
	}
}

/* Wait for closure_resume().  From here on `c` may belong to another thread. */
static void wait_for_event(struct closure *c)
{
	group_hold(c->stage->group);
	if (!session_enter(c)) {
		go_on(c); /* and ends */
		return;
	}
	if (wake_wait(&c->wake))
		return;
	session_leave(c);
	go_on(c);
}

/* What the method has said; false: `c` may belong to somebody else now. */
static bool act(struct closure *c, enum closure_action action)
{
	bool waits = action == CLOSURE_WAIT_FOR_CHILDREN && c->children != NULL;

	start_children(c, waits);
	switch (action) {
	case CLOSURE_COMPLETE:
		end(c, CLOSURE_DONE);
		return false;
	case CLOSURE_DISPATCH_CHILDREN:
		return true;
	case CLOSURE_WAIT_FOR_CHILDREN:
		return !waits;
	case CLOSURE_WAIT_FOR_EVENT:
		wait_for_event(c);
		return false;
	case CLOSURE_GO_TO:
		if (!send(c, false))
			end(c, refusal(c));
		return false;
	}
	return false;
}

void closure_handle(struct event *ev, void *arg)
{
	struct closure *c = container_of(ev, struct closure, event);
	const struct stage_group *g = c->stage->group;
	enum closure_action action;

	c->part = group_current_part();
	do {
		if (is_cancelled(c) || c->method == NULL) {
			end(c,
			    is_cancelled(c) ? CLOSURE_CANCELLED : CLOSURE_DONE);
			return;
		}
		assert(c->children == NULL);
		action = c->method(c, arg);
		assert(c->stage->group == g); /* closure_go_to() */
	} while (act(c, action));
}

bool closure_start(struct closure *c, struct stage *s, closure_fn *method)
{
	c->stage = s;
	c->method = method;
	return stage_send_to(s, &c->event,
			     c->session != NULL ?
				     session_part(c->session, s->group) :
				     PART_ANY);
}

void closure_invoke(struct closure *parent, struct closure *child,
		    struct stage *s, closure_fn *method)
{
	child->stage = s;
	child->method = method;
	child->session = parent->session;
	child->event.born_ns = parent->event.born_ns;
	child->event.patience_ns = parent->event.patience_ns;
	child->event.expected_ns = parent->event.expected_ns;
	child->event.under_way_count = parent->event.under_way_count;
	child->next = parent->children;
	parent->children = child;
}

void closure_resume(struct closure *c)
{
	if (!wake_up(&c->wake))
		return;
	session_leave(c);
	go_on(c);
}

void session_cancel(struct session *s)
{
	struct closure *c, *next, *mine = NULL;

	session_lock(s);
	atomic_store(&s->is_cancelled, true);
	while ((c = s->waiting) != NULL) {
		unlink_waiting(c);
		if (!wake_up(&c->wake))
			continue; /* whoever was first goes on with it */
		c->next_waiting = mine;
		mine = c;
	}
	session_unlock(s);
	/* When the last one has ended, the session may have gone. */
	for (c = mine; c != NULL; c = next) {
		next = c->next_waiting;
		go_on(c);
	}
}
