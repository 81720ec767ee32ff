/* SPDX-License-Identifier: MIT */
/*
 * Events: sent, handled and counted.
 *
 * Counters are single numbers that any thread may add to.  A handler takes
 * milliseconds and an addition some ten nanoseconds, even contended.
 */
#include "stages/group.h"

#include "stages/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

/* What the calling thread handles now; asked by stage_send(). */
struct handling {
	struct group *group; /* NULL: nothing */
	uint32_t replica;
	struct event *first, **end; /* sent while a caller runs handlers */
};

static _Thread_local struct handling handling;

void stage_handle_here(struct group *g, uint32_t replica)
{
	handling = (struct handling){ .group = g, .replica = replica };
}

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t more(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Counters are only read for statistics: no order needed among them. */
static void count(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void count_max(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t seen = atomic_load_explicit(counter, memory_order_relaxed);

	while (seen < n && !atomic_compare_exchange_weak_explicit(
				   counter, &seen, n, memory_order_relaxed,
				   memory_order_relaxed))
		;
}

/*
 * Run the handler; returns the time at its end.  The clock said `ns` before
 * `ev` was popped, perhaps even before it was sent.
 */
static uint64_t handle(struct station *s, struct event *ev, uint64_t ns)
{
	struct counters *c = &s->counters;
	uint64_t start_ns = more(ns, ev->sent_ns);
	uint64_t wait_ns = start_ns - ev->sent_ns;

	assert(ev->stage == s->stage);
	ev->stage = NULL;
	ev->waited_ns += wait_ns;
	s->stage->config.handler(ev, s->stage->config.arg);

	uint64_t end_ns = now_ns();

	count(&c->wait_ns_total, wait_ns);
	count_max(&c->wait_ns_max, wait_ns);
	count(&c->service_ns_total, end_ns - start_ns);
	count_max(&c->service_ns_max, end_ns - start_ns);
	count(&c->handled_count, 1);
	group_leave(s->stage->group);
	return end_ns;
}

void station_visit(struct station *s)
{
	uint64_t ns = now_ns();
	bool is_empty = true;
	struct event *ev;

	while ((ev = queue_pop(s->queue)) != NULL) {
		ns = handle(s, ev, ns);
		is_empty = false;
	}
	count(&s->counters.visit_count, 1);
	if (is_empty)
		count(&s->counters.visit_empty_count, 1);
}

uint32_t station_queued_count(const struct station *s)
{
	return queue_count(s->queue);
}

/* Run `ev`, then what its handlers send, until nothing is left. */
static void run_in_caller(struct station *s, struct event *ev)
{
	struct handling outer = handling;
	uint64_t ns = ev->sent_ns;

	handling = (struct handling){ .group = s->stage->group };
	handling.end = &handling.first;
	while (ev != NULL) {
		s = &ev->stage->stations[0];
		/* It waited for its own thread, not in a queue. */
		ev->sent_ns = ns;
		count(&s->counters.visit_count, 1);
		ns = handle(s, ev, ns);
		ev = handling.first;
		if (ev != NULL)
			handling.first = ev->next;
		if (handling.first == NULL)
			handling.end = &handling.first;
	}
	handling = outer;
}

static void hand_to_caller(struct station *s, struct event *ev, bool inside)
{
	count(&s->counters.arrived_count, 1);
	if (!inside) {
		run_in_caller(s, ev);
		return;
	}
	ev->next = NULL;
	*handling.end = ev;
	handling.end = &ev->next;
}

static uint32_t choose_replica(struct group *g)
{
	if (g->config.replica_count == 1)
		return 0;
	return atomic_fetch_add_explicit(&g->next_replica, 1,
					 memory_order_relaxed) %
	       g->config.replica_count;
}

bool stage_send(struct stage *s, struct event *ev)
{
	struct group *g = s->group;
	bool inside = handling.group == g;
	uint32_t replica = inside ? handling.replica : choose_replica(g);
	struct station *to = &s->stations[replica];

	assert(g->is_started);
	assert(ev->stage == NULL); /* sent twice */
	if (!group_enter(g, inside)) {
		count(&to->counters.refused_count, 1);
		return false;
	}
	ev->stage = s;
	ev->sent_ns = now_ns();
	if (!inside)
		ev->born_ns = ev->sent_ns;
	if (g->config.policy->workers == POLICY_WORKERS_CALLER) {
		hand_to_caller(to, ev, inside);
		return true;
	}
	if (!queue_push(to->queue, ev)) {
		ev->stage = NULL;
		group_leave(g);
		count(&to->counters.refused_count, 1);
		return false;
	}
	count(&to->counters.arrived_count, 1);
	count_max(&to->counters.queued_count_max, queue_count(to->queue));
	eventcount_wake_one(to->wakes);
	return true;
}

static uint64_t read_one(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void stage_read(const struct stage *s, struct stage_stats *out)
{
	*out = (struct stage_stats){ 0 };
	for (uint32_t r = 0; r < s->group->config.replica_count; r++) {
		const struct station *from = &s->stations[r];
		const struct counters *c = &from->counters;

		out->arrived_count += read_one(&c->arrived_count);
		out->refused_count += read_one(&c->refused_count);
		out->handled_count += read_one(&c->handled_count);
		out->visit_count += read_one(&c->visit_count);
		out->visit_empty_count += read_one(&c->visit_empty_count);
		out->wait_ns_total += read_one(&c->wait_ns_total);
		out->service_ns_total += read_one(&c->service_ns_total);
		out->wait_ns_max =
			more(out->wait_ns_max, read_one(&c->wait_ns_max));
		out->service_ns_max =
			more(out->service_ns_max, read_one(&c->service_ns_max));
		out->queued_count_max = (uint32_t)more(
			out->queued_count_max, read_one(&c->queued_count_max));
		out->queued_count += queue_count(from->queue);
	}
}

struct stage *stage_new(struct group *g, const struct stage_config *config)
{
	uint32_t replicas = g->config.replica_count;
	struct stage *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->config = *config;
	s->group = g;
	s->stations = calloc(replicas, sizeof(*s->stations));
	bool ok = s->stations != NULL;

	for (uint32_t r = 0; ok && r < replicas; r++) {
		s->stations[r].stage = s;
		s->stations[r].queue = queue_new(config->slots);
		ok = s->stations[r].queue != NULL;
	}
	if (ok)
		return s;
	stage_free(s);
	return NULL;
}

void stage_free(struct stage *s)
{
	if (s == NULL)
		return;
	if (s->stations != NULL)
		for (uint32_t r = 0; r < s->group->config.replica_count; r++)
			queue_free(s->stations[r].queue);
	free(s->stations);
	free(s);
}
