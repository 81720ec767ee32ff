/* SPDX-License-Identifier: MIT */
/*
 * Promise: a closure goes on when all its children have ended, or its event has
 * come, with every policy, shared and replicated, also while new threads hold
 * all stacks that they may have; and each closure ends exactly once: also if
 * its session is cancelled, a queue is full, or the group stops.
 */
#include "stages/stage.h"

#include "base/test/check.h"
#include "base/util.h"
#include "stages/stats.h"
#include "stages/test/line.h"
#include "stages/test/watchdog.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 6, TREES = 20, WAITING = 64, ROUNDS = 20 };

enum { MANY_STACKS = 64, FEW_STACKS = 2 };

/*
 * The stages of a group: shared, exclusive, partitioned by key, pass-through.
 */
enum { SHARED, EXCLUSIVE, KEYED, PASSED, KINDS };

static struct stage *stages[KINDS];
static _Atomic uint32_t begun_count, end_counts[CLOSURE_REFUSED + 1];

static struct stage_group *start_group(const struct line_setup *setup,
				       uint32_t slots, uint32_t stacks_max)
{
	static const char *const names[KINDS] = { "shared", "one", "keyed",
						  "passed" };
	static const enum stage_type types[KINDS] = { STAGE_SHARED,
						      STAGE_EXCLUSIVE,
						      STAGE_PARTITIONED,
						      STAGE_PASS_THROUGH };
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
		.stacks_max = stacks_max,
	});

	for (uint32_t i = 0; i < KINDS; i++) {
		stages[i] = group_add(g, &(struct stage_config){
						 .name = names[i],
						 .handler = closure_handle,
						 .arg = &stages[i],
						 .slots = slots,
						 .type = types[i],
					 });
		CHECK(stages[i] != NULL);
	}
	CHECK(group_start(g));
	begun_count = 0;
	for (uint32_t i = 0; i < ARRAY_SIZE(end_counts); i++)
		end_counts[i] = 0;
	return g;
}

static void stop_group(struct stage_group *g)
{
	group_stop(g);
	group_free(g);
}

static void count_end(enum closure_end how)
{
	atomic_fetch_add(&end_counts[how], 1);
}

static uint32_t ended_count(void)
{
	return end_counts[CLOSURE_DONE] + end_counts[CLOSURE_CANCELLED] +
	       end_counts[CLOSURE_REFUSED];
}

/* --- A tree of children, each at another stage. --- */

struct node {
	struct closure closure;
	struct node *parent;
	_Atomic uint64_t *root_sum;
	_Atomic uint64_t sum; /* written by the children */
	uint32_t depth;
	uint32_t added_count; /* calls of add() */
};

static void end_node(struct closure *c, enum closure_end how)
{
	count_end(how);
	CHECK_NUMBER(c->event.born_ns, >, 0);
	free(c);
}

static struct node *new_node(uint32_t depth, struct node *parent)
{
	struct node *n = calloc(1, sizeof(*n));

	CHECK(n != NULL);
	n->closure.end = end_node;
	n->closure.event.key = depth;
	n->depth = depth;
	n->parent = parent;
	return n;
}

static enum closure_action add_here(struct closure *c, void *arg)
{
	struct node *n = (struct node *)c;

	(void)arg;
	CHECK_NUMBER(++n->added_count, ==, 1);
	CHECK_NUMBER(n->sum, ==, UINT64_C(2) << (n->depth - 1));
	if (n->parent != NULL)
		atomic_fetch_add(&n->parent->sum, n->sum);
	else
		atomic_fetch_add(n->root_sum, n->sum);
	return CLOSURE_COMPLETE;
}

static enum closure_action add(struct closure *c, void *arg)
{
	const struct node *n = (struct node *)c;

	CHECK_NUMBER(*(struct stage **)arg, ==, stages[n->depth % KINDS]);
	return add_here(c, arg);
}

static enum closure_action split(struct closure *c, void *arg)
{
	struct node *n = (struct node *)c;

	CHECK_NUMBER(*(struct stage **)arg, ==, stages[n->depth % KINDS]);
	if (n->depth == 0) {
		atomic_fetch_add(&n->parent->sum, 1);
		return CLOSURE_COMPLETE;
	}
	for (uint32_t i = 0; i < 2; i++) {
		struct node *child = new_node(n->depth - 1, n);

		closure_invoke(c, &child->closure, stages[child->depth % KINDS],
			       split);
	}
	return closure_wait_for_children(c, add);
}

/* As split(), all at one stage. */
static enum closure_action split_here(struct closure *c, void *arg)
{
	struct node *n = (struct node *)c;

	(void)arg;
	if (n->depth == 0) {
		atomic_fetch_add(&n->parent->sum, 1);
		return CLOSURE_COMPLETE;
	}
	for (uint32_t i = 0; i < 2; i++)
		closure_invoke(c, &new_node(n->depth - 1, n)->closure,
			       stages[SHARED], split_here);
	return closure_wait_for_children(c, add_here);
}

static void test_parents_wait_for_children(const struct line_setup *setup)
{
	struct stage_group *g = start_group(setup, 4096, MANY_STACKS);
	_Atomic uint64_t sum = 0;

	for (uint32_t i = 0; i < TREES; i++) {
		struct node *root = new_node(DEPTH, NULL);

		root->root_sum = &sum;
		CHECK(closure_start(&root->closure, stages[DEPTH % KINDS],
				    split));
	}
	stop_group(g);
	CHECK_NUMBER(sum, ==, TREES << DEPTH);
	CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, TREES * ((2u << DEPTH) - 1));
	CHECK_NUMBER(ended_count(), ==, end_counts[CLOSURE_DONE]);
}

static void test_parents_and_children_share_threads(const struct line_setup *s)
{
	struct stage_group *g = start_group(s, 4096, MANY_STACKS);
	struct node *root = new_node(DEPTH, NULL);
	_Atomic uint64_t sum = 0;
	struct fibre_stats stats;

	root->root_sum = &sum;
	CHECK(closure_start(&root->closure, stages[SHARED], split_here));
	group_stop(g);
	CHECK_NUMBER(sum, ==, 1u << DEPTH);
	/* One for each leaf: of two children, the second has its parent's. */
	if (group_read_fibres(g, &stats))
		CHECK_NUMBER(stats.begun_count, ==, 1u << DEPTH);
	group_free(g);
}

/* --- A closure at a pass-through stage, resumed by another replica. --- */

static struct {
	struct closure waiter, wakers[4];
	_Atomic uint32_t waits, woken, ended;
} passing;

static void end_passing(struct closure *c, enum closure_end how)
{
	(void)c;
	CHECK_NUMBER(how, ==, CLOSURE_DONE);
	atomic_fetch_add(&passing.ended, 1);
}

static enum closure_action finish_passing(struct closure *c, void *arg)
{
	(void)c;
	(void)arg;
	atomic_fetch_add(&passing.woken, 1);
	return CLOSURE_COMPLETE;
}

static enum closure_action leave_passed(struct closure *c, void *arg)
{
	(void)arg;
	return closure_go_to(c, stages[SHARED], finish_passing);
}

static enum closure_action wait_in_passing(struct closure *c, void *arg)
{
	(void)arg;
	atomic_fetch_add(&passing.waits, 1);
	return closure_wait_for_event(c, leave_passed);
}

static enum closure_action wake_passing(struct closure *c, void *arg)
{
	(void)c;
	(void)arg;
	closure_resume(&passing.waiter);
	return CLOSURE_COMPLETE;
}

static void test_another_replica_resumes_in_passing(const struct line_setup *s)
{
	struct stage_group *g = start_group(s, 64, MANY_STACKS);

	(void)memset(&passing, 0, sizeof(passing));
	passing.waiter.end = end_passing;
	CHECK(closure_start(&passing.waiter, stages[PASSED], wait_in_passing));
	while (atomic_load(&passing.waits) == 0)
		(void)sched_yield();
	/* So that replicas sleep. */
	(void)usleep(1000);
	for (uint32_t i = 0; i < ARRAY_SIZE(passing.wakers); i++) {
		passing.wakers[i].end = end_passing;
		CHECK(closure_start(&passing.wakers[i], stages[SHARED],
				    wake_passing));
	}
	while (atomic_load(&passing.ended) < 1 + ARRAY_SIZE(passing.wakers))
		(void)sched_yield();
	stop_group(g);
	CHECK_NUMBER(passing.woken, ==, 1);
}

/* --- Children in another group. --- */

struct abroad {
	struct closure closure;
	struct closure children[3];
	struct stage *there;
	const struct stage_group *group;
	_Atomic uint32_t child_count, ended_count;
};

static void end_abroad(struct closure *c, enum closure_end how)
{
	struct abroad *a = (struct abroad *)c;

	CHECK_NUMBER(how, ==, CLOSURE_DONE);
	CHECK_NUMBER(a->child_count, ==, ARRAY_SIZE(a->children));
	atomic_fetch_add(&a->ended_count, 1);
}

static void end_child_abroad(struct closure *c, enum closure_end how)
{
	CHECK_NUMBER(c->event.born_ns, >, 0);
	CHECK_NUMBER(how, ==, CLOSURE_DONE);
}

static enum closure_action run_abroad(struct closure *c, void *arg)
{
	struct abroad *a = (struct abroad *)c->parent;

	CHECK_NUMBER(*(struct stage **)arg, ==, a->there);
	atomic_fetch_add(&a->child_count, 1);
	return CLOSURE_COMPLETE;
}

static enum closure_action go_abroad(struct closure *c, void *arg)
{
	struct abroad *a = (struct abroad *)c;

	(void)arg;
	for (uint32_t i = 0; i < ARRAY_SIZE(a->children); i++) {
		a->children[i].end = end_child_abroad;
		closure_invoke(c, &a->children[i], a->there, run_abroad);
	}
	return closure_wait_for_children(c, NULL);
}

static void test_children_in_another_group(const struct line_setup *setup)
{
	struct stage_group *g = start_group(setup, 4096, MANY_STACKS);
	struct stage_group *here = group_new(&(struct group_config){
		.schedule = &setup->schedule,
		.cores = setup->cores,
	});
	struct stage *from = group_add(here, &(struct stage_config){
						     .name = "here",
						     .handler = closure_handle,
						     .slots = 8,
					     });
	struct abroad abroad[8] = { 0 };

	CHECK(group_start(here));
	for (uint32_t i = 0; i < ARRAY_SIZE(abroad); i++) {
		abroad[i].closure.end = end_abroad;
		abroad[i].there = stages[i % KINDS];
		CHECK(closure_start(&abroad[i].closure, from, go_abroad));
	}
	stop_group(here);
	stop_group(g);
	for (uint32_t i = 0; i < ARRAY_SIZE(abroad); i++)
		CHECK_NUMBER(abroad[i].ended_count, ==, 1);
}

/* --- One closure, whose members are its children. --- */

struct step {
	struct closure closure;
	struct family *family;
};

struct family {
	struct closure closure;
	struct step children[3];
	uint32_t ended_count; /* children, before the parent goes on */
	uint32_t dispatched_count;
	bool has_no_continuation;
	pthread_t worker;
};

static void end_child(struct closure *c, enum closure_end how)
{
	(void)c;
	count_end(how);
}

static void end_family(struct closure *c, enum closure_end how)
{
	struct family *f = (struct family *)c;

	CHECK_NUMBER(end_counts[CLOSURE_DONE] + end_counts[CLOSURE_REFUSED], >=,
		     3);
	f->ended_count++;
	count_end(how);
}

static enum closure_action go_back(struct closure *c, void *arg)
{
	CHECK_NUMBER(*(struct stage **)arg, ==, stages[EXCLUSIVE]);
	(void)c;
	return CLOSURE_COMPLETE;
}

static enum closure_action pass_on(struct closure *c, void *arg)
{
	CHECK_NUMBER(*(struct stage **)arg, ==, stages[SHARED]);
	return closure_go_to(c, stages[EXCLUSIVE], go_back);
}

static enum closure_action start_family(struct closure *c, void *arg)
{
	struct family *f = (struct family *)c;

	(void)arg;
	if (f->dispatched_count++ == 0)
		return closure_dispatch_children(c, start_family);
	for (uint32_t i = 0; i < ARRAY_SIZE(f->children); i++) {
		f->children[i] = (struct step){ .closure.end = end_child };
		closure_invoke(c, &f->children[i].closure, stages[SHARED],
			       pass_on);
	}
	/* The next call is the continuation, or there is none. */
	return closure_wait_for_children(c, f->has_no_continuation ? NULL :
								     go_back);
}

static void
test_children_are_part_of_their_parent(const struct line_setup *setup)
{
	for (uint32_t slots = 64; slots > 0; slots = slots == 64 ? 1 : 0) {
		struct stage_group *g = start_group(setup, slots, MANY_STACKS);
		struct family f = { .closure.end = end_family,
				    .has_no_continuation = slots == 1 };

		CHECK(closure_start(&f.closure, stages[EXCLUSIVE],
				    start_family));
		stop_group(g);
		/* With one slot some children are refused; none is lost. */
		CHECK_NUMBER(f.ended_count, ==, 1);
		CHECK_NUMBER(f.dispatched_count, ==, 2);
		CHECK_NUMBER(ended_count(), ==, 4);
		if (slots > 1)
			CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, 4);
		CHECK_NUMBER(end_counts[CLOSURE_CANCELLED], ==, 0);
	}
}

/* --- Events. --- */

struct waiter {
	struct closure closure;
	_Atomic uint32_t waits, resumed; /* how often */
	uint32_t rounds;
};

static struct waiter waiters[WAITING];

static void end_waiter(struct closure *c, enum closure_end how)
{
	(void)c;
	count_end(how);
}

static enum closure_action await(struct closure *c, void *arg)
{
	struct waiter *w = (struct waiter *)c;

	(void)arg;
	atomic_fetch_add(&begun_count, 1);
	/* Woken as often as it has waited. */
	CHECK_NUMBER(w->resumed, >=, w->waits);
	if (w->waits == w->rounds)
		return CLOSURE_COMPLETE;
	atomic_fetch_add(&w->waits, 1);
	return closure_wait_for_event(c, await);
}

static void start_waiters(uint32_t rounds, struct session *session)
{
	for (uint32_t i = 0; i < WAITING; i++) {
		waiters[i] = (struct waiter){ .closure.end = end_waiter,
					      .closure.session = session,
					      .closure.event.key = i,
					      .rounds = rounds };
		CHECK(closure_start(&waiters[i].closure, stages[i % KINDS],
				    await));
	}
}

/* Resume each waiter when it waits, or is about to. */
static void *resume_all(void *arg)
{
	(void)arg;
	for (uint32_t left = WAITING; left > 0;) {
		left = 0;
		for (uint32_t i = 0; i < WAITING; i++) {
			struct waiter *w = &waiters[i];

			if (w->resumed < w->waits) {
				w->resumed++;
				closure_resume(&w->closure);
			}
			left += w->resumed < w->rounds;
		}
		(void)sched_yield();
	}
	return NULL;
}

/* A stop waits for closures that wait. */
static void test_events_resume(const struct line_setup *setup)
{
	struct stage_group *g = start_group(setup, WAITING, MANY_STACKS);
	pthread_t resumes;

	start_waiters(ROUNDS, NULL);
	CHECK_NUMBER(pthread_create(&resumes, NULL, resume_all, NULL), ==, 0);
	group_stop(g);
	CHECK_NUMBER(pthread_join(resumes, NULL), ==, 0);
	group_free(g); /* nobody is in closure_resume() any more */
	CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, WAITING);
	CHECK_NUMBER(begun_count, ==, WAITING * (ROUNDS + 1));
}

/* --- Stacks that are reserved for work under way. --- */

/* Both in one replica. */
static struct session one_part = { .key = 9 };
static struct waiter holder;

static enum closure_action hold_stack(struct closure *c, void *arg)
{
	(void)c;
	(void)arg;
	atomic_fetch_add(&holder.waits, 1);
	stage_wait();
	return CLOSURE_COMPLETE;
}

static enum closure_action release_stack(struct closure *c, void *arg)
{
	(void)c;
	(void)arg;
	stage_wake(&holder.closure.event);
	return CLOSURE_COMPLETE;
}

static enum closure_action await_release(struct closure *c, void *arg)
{
	(void)arg;
	atomic_fetch_add(&((struct waiter *)c)->waits, 1);
	return closure_wait_for_event(c, release_stack);
}

/* The only stack that is not reserved is given back when `waiter` goes on. */
static void test_resumed_closure_is_not_new(const struct line_setup *setup)
{
	struct waiter waiter = { .closure.end = end_waiter,
				 .closure.session = &one_part };
	struct stage_group *g;

	if (setup->schedule.policy->workers != POLICY_WORKERS_FIBRES)
		return;
	g = start_group(setup, WAITING, FEW_STACKS);
	holder = (struct waiter){ .closure.end = end_waiter,
				  .closure.session = &one_part };
	CHECK(closure_start(&waiter.closure, stages[SHARED], await_release));
	while (waiter.waits == 0)
		(void)sched_yield();
	CHECK(closure_start(&holder.closure, stages[SHARED], hold_stack));
	while (holder.waits == 0)
		(void)sched_yield();
	closure_resume(&waiter.closure);
	stop_group(g);
	CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, 2);
}

/* --- Sessions. --- */

static void *cancel(void *session)
{
	session_cancel(session);
	return NULL;
}

/* Cancelled while they are on their way, twice at once. */
static void test_cancelled_session_ends_all(const struct line_setup *setup)
{
	struct stage_group *g = start_group(setup, WAITING, MANY_STACKS);
	struct session session = { .key = 7 };
	pthread_t other;

	start_waiters(UINT32_MAX, &session);
	CHECK_NUMBER(pthread_create(&other, NULL, cancel, &session), ==, 0);
	session_cancel(&session);
	CHECK_NUMBER(pthread_join(other, NULL), ==, 0);
	stop_group(g); /* does not wait for events that never come */
	CHECK_NUMBER(end_counts[CLOSURE_CANCELLED], ==, WAITING);
	CHECK_NUMBER(ended_count(), ==, WAITING);
	CHECK_NUMBER(begun_count, <=, WAITING);
}

/* Nothing of a session begins once it is cancelled. */
static void
test_cancelled_session_begins_nothing(const struct line_setup *setup)
{
	struct stage_group *g = start_group(setup, WAITING, MANY_STACKS);
	struct session session = { .key = 1 };

	session_cancel(&session);
	start_waiters(1, &session);
	stop_group(g);
	CHECK_NUMBER(begun_count, ==, 0);
	CHECK_NUMBER(end_counts[CLOSURE_CANCELLED], ==, WAITING);
}

static enum closure_action note_worker(struct closure *c, void *arg)
{
	struct family *f = (struct family *)c;

	(void)arg;
	if (f->dispatched_count++ > 0)
		CHECK(pthread_equal(f->worker, pthread_self()));
	f->worker = pthread_self();
	return f->dispatched_count < ROUNDS ?
		       closure_go_to(c, stages[KEYED], note_worker) :
		       CLOSURE_COMPLETE;
}

/* At a partitioned stage, all of a session runs on one worker. */
static void test_session_stays_on_its_worker(const struct line_setup *setup)
{
	struct session session = { .key = 5 };
	struct family f = { .closure = { .end = end_child,
					 .session = &session,
					 .event.key = session.key } };
	struct stage_group *g = start_group(setup, 4, MANY_STACKS);

	CHECK(closure_start(&f.closure, stages[KEYED], note_worker));
	stop_group(g);
	CHECK_NUMBER(f.dispatched_count, ==, ROUNDS);
	CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, 1);
}

/* --- Data private to a worker. --- */

enum { PRIVATE_MAX = 64, ADDERS = 500 };

/* Not atomic: ThreadSanitizer would see two threads at one element. */
static uint32_t sums[KINDS][PRIVATE_MAX];

static enum closure_action add_privately(struct closure *c, void *arg)
{
	uint32_t kind = (uint32_t)((struct stage **)arg - stages);
	uint32_t number = stage_private_number();

	CHECK_NUMBER(number, <, stage_private_count(stages[kind]));
	sums[kind][number]++;
	return kind == KEYED ? CLOSURE_COMPLETE :
			       closure_go_to(c, stages[KEYED], add_privately);
}

static void test_private_data_needs_no_lock(const struct line_setup *setup)
{
	static struct waiter adders[ADDERS];
	struct stage_group *g = start_group(setup, ADDERS, MANY_STACKS);

	memset(sums, 0, sizeof(sums));
	for (uint32_t i = 0; i < ADDERS; i++) {
		adders[i] = (struct waiter){ .closure.end = end_waiter,
					     .closure.event.key = i };
		CHECK(closure_start(&adders[i].closure, stages[EXCLUSIVE],
				    add_privately));
	}
	stop_group(g);
	for (uint32_t kind = EXCLUSIVE; kind < PASSED; kind++) {
		uint32_t sum = 0;

		for (uint32_t i = 0; i < PRIVATE_MAX; i++)
			sum += sums[kind][i];
		CHECK_NUMBER(sum, ==, ADDERS);
	}
	CHECK_NUMBER(stage_private_number(), ==, 0);
}

/* --- What has nothing left to do ends. --- */

static void end_and_free(struct closure *c, enum closure_end how)
{
	count_end(how);
	memset(c, 0xff, sizeof(*c)); /* nobody looks at it any more */
	free(c);
}

static enum closure_action wait_for_nobody(struct closure *c, void *arg)
{
	(void)arg;
	return closure_wait_for_children(c, NULL);
}

static enum closure_action go_nowhere(struct closure *c, void *arg)
{
	(void)arg;
	return closure_go_to(c, stages[EXCLUSIVE], NULL);
}

static enum closure_action dispatch_nobody(struct closure *c, void *arg)
{
	(void)arg;
	return closure_dispatch_children(c, NULL);
}

static void test_nothing_to_go_on_with_is_an_end(const struct line_setup *setup)
{
	closure_fn *const methods[] = { wait_for_nobody, go_nowhere,
					dispatch_nobody };
	struct stage_group *g =
		start_group(setup, ARRAY_SIZE(methods), MANY_STACKS);

	for (uint32_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct closure *c = calloc(1, sizeof(*c));

		c->end = end_and_free;
		CHECK(closure_start(c, stages[SHARED], methods[i]));
	}
	stop_group(g);
	CHECK_NUMBER(end_counts[CLOSURE_DONE], ==, ARRAY_SIZE(methods));
	CHECK_NUMBER(ended_count(), ==, ARRAY_SIZE(methods));
}

/*
 * As many wait as have slots at their stage, one after the other; when they are
 * cancelled at once, some find no slot, but none was refused.
 */
static void test_cancelled_without_a_slot(const struct line_setup *setup)
{
	struct session session = { .key = 3 };
	struct stage_group *g = start_group(setup, 1, MANY_STACKS);
	uint32_t started = 0;

	for (uint32_t i = 0; i < WAITING; i++) {
		waiters[i] = (struct waiter){ .closure.end = end_waiter,
					      .closure.session = &session,
					      .rounds = 1 };
		while (!closure_start(&waiters[i].closure, stages[SHARED],
				      await))
			(void)sched_yield();
		while (waiters[i].waits == 0)
			(void)sched_yield();
		started++;
	}
	session_cancel(&session);
	stop_group(g);
	CHECK_NUMBER(end_counts[CLOSURE_CANCELLED], ==, started);
	CHECK_NUMBER(ended_count(), ==, started);
}

int main(void)
{
	watchdog_start();
	line_each_setup(test_parents_wait_for_children);
	line_each_setup(test_parents_and_children_share_threads);
	line_each_setup(test_another_replica_resumes_in_passing);
	line_each_setup(test_children_in_another_group);
	line_each_setup(test_children_are_part_of_their_parent);
	line_each_setup(test_events_resume);
	line_each_setup(test_resumed_closure_is_not_new);
	line_each_setup(test_cancelled_session_ends_all);
	line_each_setup(test_cancelled_session_begins_nothing);
	line_each_setup(test_session_stays_on_its_worker);
	line_each_setup(test_private_data_needs_no_lock);
	line_each_setup(test_nothing_to_go_on_with_is_an_end);
	line_each_setup(test_cancelled_without_a_slot);
	return 0;
}
