/* SPDX-License-Identifier: MIT */
/*
 * After Larus and Parkes, "Using Cohort Scheduling to Enhance Server
 * Performance", technical report MSR-TR-2001-39, section 5.2.  As there,
 * children are sent when their parent's method has returned, because only then
 * is their number known, and whether anybody waits for them.
 *
 * A closure that waits for children needs no lock: `left` counts them, and
 * whoever ends the last one owns the parent.  A closure that waits for an event
 * is owned by whoever changes `wake` from WAITS to WOKEN: closure_resume(),
 * session_cancel(), or its own worker, if one of them came before it waited.
 * While it waits it stays pending, so that a stop waits for it.  closure.pml is
 * a model of this.
 */
#include "stages/group.h"

#include <assert.h>
#include <sched.h>

enum { RUNS, WAITS, WOKEN }; /* closure.wake */

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

/* False: its stage has no slot for it. */
static bool send(struct closure *c)
{
	uint32_t part = c->session != NULL && c->stage->group->part_count > 1 ?
				c->session->key % c->stage->group->part_count :
				c->part;

	return stage_send_accepted(c->stage, &c->event, part);
}

/*
 * `c` has ended.  If it was the last child of its parent, the parent goes on,
 * or has ended, too.
 */
static void end(struct closure *c, enum closure_end how)
{
	for (;;) {
		struct closure *parent = c->parent;

		c->end(c, how);
		if (parent == NULL || atomic_fetch_sub(&parent->left, 1) != 1)
			return;
		c = parent;
		if (c->method != NULL && !is_cancelled(c) && send(c))
			return;
		how = CLOSURE_DONE;
		if (is_cancelled(c))
			how = CLOSURE_CANCELLED;
		else if (c->method != NULL)
			how = CLOSURE_REFUSED;
	}
}

/* The closure, which has waited for an event, belongs to the caller. */
static void go_on(struct closure *c)
{
	struct stage_group *g = c->stage->group;

	atomic_store(&c->wake, RUNS);
	if (!send(c))
		end(c, CLOSURE_REFUSED);
	group_let_go(g);
}

/*
 * Start the children of `c`, which is their parent if it `waits`, and may have
 * gone when this returns.  False: it waits, but has none.
 */
static bool start_children(struct closure *c, bool waits)
{
	struct closure *child = NULL, *next;
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
		child->part = c->part;
		if (!send(child))
			end(child, CLOSURE_REFUSED);
	}
	return !waits || count > 0;
}

/* Wait for closure_resume().  From here on `c` may belong to another thread. */
static void wait_for_event(struct closure *c)
{
	uint32_t runs = RUNS;

	group_hold(c->stage->group);
	if (!session_enter(c)) {
		go_on(c); /* and ends */
		return;
	}
	if (atomic_compare_exchange_strong(&c->wake, &runs, WAITS))
		return;
	session_leave(c);
	go_on(c);
}

/* What the method has said; false: `c` may belong to somebody else now. */
static bool act(struct closure *c, enum closure_action action)
{
	switch (action) {
	case CLOSURE_COMPLETE:
		(void)start_children(c, false);
		end(c, CLOSURE_DONE);
		return false;
	case CLOSURE_DISPATCH_CHILDREN:
		return start_children(c, false);
	case CLOSURE_WAIT_FOR_CHILDREN:
		if (c->children != NULL) {
			(void)start_children(c, true);
			return false;
		}
		if (c->method == NULL)
			end(c, CLOSURE_DONE);
		return c->method != NULL;
	case CLOSURE_WAIT_FOR_EVENT:
		(void)start_children(c, false);
		wait_for_event(c);
		return false;
	case CLOSURE_GO_TO:
		(void)start_children(c, false);
		if (!send(c))
			end(c, CLOSURE_REFUSED);
		return false;
	}
	return false;
}

void closure_handle(struct event *ev, void *arg)
{
	struct closure *c = container_of(ev, struct closure, event);

	c->part = group_current_part();
	for (;;) {
		if (is_cancelled(c)) {
			end(c, CLOSURE_CANCELLED);
			return;
		}
		assert(c->children == NULL);
		if (!act(c, c->method(c, arg)))
			return;
	}
}

bool closure_start(struct closure *c, struct stage *s, closure_fn *method)
{
	c->stage = s;
	c->method = method;
	if (c->session != NULL)
		c->event.key = c->session->key;
	return stage_send_to(s, &c->event,
			     c->session != NULL ?
				     c->session->key % s->group->part_count :
				     PART_ANY);
}

void closure_invoke(struct closure *parent, struct closure *child,
		    struct stage *s, closure_fn *method)
{
	assert(s->group == parent->stage->group);
	child->stage = s;
	child->method = method;
	child->session = parent->session;
	if (child->session != NULL)
		child->event.key = child->session->key;
	child->event.born_ns = parent->event.born_ns;
	child->event.patience_ns = parent->event.patience_ns;
	child->next = parent->children;
	parent->children = child;
}

void closure_resume(struct closure *c)
{
	if (atomic_exchange(&c->wake, WOKEN) != WAITS)
		return;
	session_leave(c);
	go_on(c);
}

void session_cancel(struct session *s)
{
	struct closure *c;

	session_lock(s);
	atomic_store(&s->is_cancelled, true);
	while ((c = s->waiting) != NULL) {
		unlink_waiting(c);
		if (atomic_exchange(&c->wake, WOKEN) != WAITS)
			continue; /* whoever was first goes on with it */
		session_unlock(s);
		go_on(c);
		session_lock(s);
	}
	session_unlock(s);
}
