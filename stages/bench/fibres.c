/* SPDX-License-Identifier: MIT */
#include "stages/bench/fibres.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/machine_usage.h"
#include "stages/policy.h"
#include "stages/stage.h"
#include "stages/threads/fibre.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

const struct fibres_view fibres_views[FIBRES_FIGURES] = {
	[FIBRES_SWITCH_NS] = { "switch_ns", "ns per switch", 1 },
	[FIBRES_PICK_NS] = { "pick_ns", "policy alone", 1 },
	[FIBRES_STACK_NS] = { "stack_ns", "stacks alone", 1 },
	[FIBRES_BYTES] = { "bytes", "bytes per thread", 0 },
	[FIBRES_LEFT_BYTES] = { "left_bytes", "after their ends", 0 },
	[FIBRES_KERNEL_BYTES] = { "kernel_thread_bytes",
				  "bytes per kernel thread", 0 },
};

/*
 * An event in the middle of something larger, as the event of an upload is, so
 * that no two are in one line of the cache.
 */
enum { USER_BYTES = 512, HUGE_BYTES = 2 << 20 };

union user {
	struct event event;
	char bytes[USER_BYTES];
};

/* What a user-level thread does, in its event's `key`. */
enum { USER_RUNS, USER_WAITS, USER_HAS_BEGUN };

/* Members without a comment are used by the worker alone while it runs. */
struct run {
	const struct fibres_config *config;
	struct stage *stage;
	union user *users; /* owned */
	_Atomic uint32_t begun_count, ended_count;
	_Atomic bool is_counting; /* set by the main thread, once */
	_Atomic bool is_over;     /* set by the worker, once */
	uint64_t waited_count;
	uint64_t switch_count;
	uint64_t from_ns, to_ns;
};

/* --- Resident memory --- */

static void sleep_ms(long ms)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* --- The whole switch, in a group --- */

/* True: this thread has nothing more to do. */
static bool count_switch(struct run *r)
{
	uint64_t wanted = r->config->switch_count;

	if (atomic_load_explicit(&r->is_over, memory_order_relaxed))
		return true;
	if (!atomic_load_explicit(&r->is_counting, memory_order_relaxed))
		return false;
	if (r->from_ns == 0) {
		r->from_ns = clock_thread_cpu_ns();
		return false;
	}
	if (++r->switch_count < wanted)
		return false;
	r->to_ns = clock_thread_cpu_ns();
	atomic_store(&r->is_over, true);
	return true;
}

static void handle(struct event *ev, void *arg)
{
	struct run *r = arg;
	bool waits = ev->key == USER_WAITS;
	bool is_sent;

	if (ev->key != USER_HAS_BEGUN) {
		ev->key = USER_HAS_BEGUN;
		atomic_fetch_add(&r->begun_count, 1);
	}
	if (waits) {
		r->waited_count++;
		stage_wait();
	}
	if (waits || count_switch(r)) {
		atomic_fetch_add(&r->ended_count, 1);
		return;
	}
	is_sent = stage_send(r->stage, ev);
	assert(is_sent); /* the queue has room for all */
}

/* The numbers below `count`, in a random order that is always the same. */
static uint32_t *shuffle(uint32_t count)
{
	uint32_t *numbers = calloc(count, sizeof(*numbers));
	uint64_t random = 1;

	for (uint32_t i = 0; numbers != NULL && i < count; i++) {
		uint32_t other = random_below(&random, i + 1);

		numbers[i] = numbers[other];
		numbers[other] = i;
	}
	return numbers;
}

static bool prepare_users(struct run *r, const uint32_t *order)
{
	uint32_t count = r->config->count;
	uint32_t waiting_count = 0;
	size_t bytes = (size_t)count * sizeof(*r->users);

	bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
	r->users = aligned_alloc(HUGE_BYTES, bytes);
	if (r->users == NULL)
		return false;
	(void)madvise(r->users, bytes,
		      r->config->uses_huge_pages ? MADV_HUGEPAGE :
						   MADV_NOHUGEPAGE);
	memset(r->users, 0, bytes);
	if (!r->config->are_all_runnable && count > FIBRES_RUNNABLE_FEW)
		waiting_count = count - FIBRES_RUNNABLE_FEW;
	for (uint32_t i = 0; i < waiting_count; i++)
		r->users[order[i]].event.key = USER_WAITS;
	return true;
}

/* The worker runs until is_over; then all threads end. */
static void measure_switches(struct run *r, const uint32_t *order,
			     double before_bytes, struct fibres_result *out)
{
	uint32_t count = r->config->count;

	for (uint32_t i = 0; i < count; i++) {
		bool is_sent = stage_send(r->stage, &r->users[order[i]].event);

		assert(is_sent);
	}
	while (atomic_load(&r->begun_count) < count)
		sleep_ms(1);
	out->values[FIBRES_BYTES] =
		(machine_resident_bytes() - before_bytes) / (double)count;
	atomic_store(&r->is_counting, true);
	while (!atomic_load(&r->is_over))
		sleep_ms(1);
}

static void wake_users(struct run *r, const uint32_t *order)
{
	uint32_t runnable = FIBRES_RUNNABLE_FEW;

	if (r->config->are_all_runnable)
		return;
	for (uint32_t i = 0; i + runnable < r->config->count; i++)
		stage_wake(&r->users[order[i]].event);
}

static void wait_for_ends(const struct run *r)
{
	while (atomic_load(&r->ended_count) < r->config->count)
		sleep_ms(1);
	sleep_ms(1); /* the last one gives its stack back */
}

static bool run_group(struct run *r, const uint32_t *order,
		      const struct schedule *schedule,
		      const struct cores *cores, struct fibres_result *out)
{
	struct stage_group *g = group_new(&(struct group_config){
		.schedule = schedule,
		.cores = cores,
		/* Some are reserved for threads that others start. */
		.stacks_max = 2 * r->config->count + 8,
	});
	bool ok = false;

	if (g != NULL)
		r->stage = group_add(
			g, &(struct stage_config){ .name = "yield",
						   .handler = handle,
						   .arg = r,
						   .slots = r->config->count });
	if (r->stage != NULL && group_start(g)) {
		double before_bytes = machine_resident_bytes();

		measure_switches(r, order, before_bytes, out);
		wake_users(r, order);
		wait_for_ends(r);
		out->values[FIBRES_LEFT_BYTES] =
			fmax(machine_resident_bytes() - before_bytes, 0) /
			(double)r->config->count;
		ok = true;
	}
	if (g != NULL)
		group_stop(g);
	group_free(g);
	out->values[FIBRES_SWITCH_NS] =
		(double)(r->to_ns - r->from_ns) / (double)r->switch_count;
	out->switch_count = r->switch_count;
	out->waited_count = r->waited_count;
	out->ended_count = atomic_load(&r->ended_count);
	return ok;
}

/* --- Parts of a switch --- */

static bool measure_pick(const struct thread_policy *policy, uint64_t count,
			 struct fibres_result *out)
{
	static const struct blocking_site *site;
	struct usage used = { .cpu_ns = 100 };
	void *state = calloc(1, policy->state_bytes + 1);
	uint32_t place = PLACE_NONE;
	uint64_t ready = 0, from_ns;

	if (state == NULL)
		return false;
	site = BLOCKING_SITE();
	if (policy->start != NULL)
		policy->start(state, NULL);
	/*
	 * More turns than a path has blocking points, so that the timed loop
	 * meets none that is new.
	 */
	for (int i = 0; i < 2 * PLACES_MAX; i++) {
		place = policy->arrive(state, place, site, &used);
		ready |= UINT64_C(1) << place;
	}
	from_ns = clock_thread_cpu_ns();
	for (uint64_t i = 0; i < count; i++) {
		place = policy->pick(state, ready, from_ns + 100 * i);
		(void)policy->arrive(state, place, site, &used);
	}
	out->values[FIBRES_PICK_NS] =
		(double)(clock_thread_cpu_ns() - from_ns) / (double)count;
	free(state);
	return true;
}

struct pausing {
	struct fibre *fibre;
	bool is_over;
};

static void pause_always(void *arg)
{
	struct pausing *p = arg;

	while (!p->is_over)
		fibre_pause(p->fibre);
}

static bool measure_stacks(const struct fibres_config *config,
			   const uint32_t *order, struct fibres_result *out)
{
	uint32_t count = config->count;
	struct fibres *set =
		fibres_new(&(struct fibre_stacks){ .count = count });
	struct pausing *all = calloc(count, sizeof(*all));
	uint64_t from_ns, at = 0;
	bool has_ended = false;

	if (set == NULL || all == NULL) {
		fibres_free(set);
		free(all);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct pausing *p = &all[order[i]];

		p->fibre = fibres_take(set);
		has_ended |= fibre_run(p->fibre, pause_always, p);
	}
	from_ns = clock_thread_cpu_ns();
	for (; at < config->switch_count; at++)
		has_ended |= fibre_resume(all[at % count].fibre);
	out->values[FIBRES_STACK_NS] =
		(double)(clock_thread_cpu_ns() - from_ns) / (double)at;
	assert(!has_ended);
	for (uint32_t i = 0; i < count; i++) {
		all[i].is_over = true;
		has_ended = fibre_resume(all[i].fibre);
		assert(has_ended);
		fibres_give(set, all[i].fibre);
	}
	fibres_free(set);
	free(all);
	return true;
}

/* --- Kernel threads, which wait --- */

struct waiting {
	pthread_mutex_t lock; /* protects the other members */
	pthread_cond_t changed;
	uint32_t begun_count;
	bool is_over;
};

static void *wait_for_end(void *arg)
{
	struct waiting *w = arg;

	(void)pthread_mutex_lock(&w->lock);
	w->begun_count++;
	while (!w->is_over)
		(void)pthread_cond_wait(&w->changed, &w->lock);
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

static bool have_begun(struct waiting *w, uint32_t count)
{
	bool have;

	(void)pthread_mutex_lock(&w->lock);
	have = w->begun_count == count;
	(void)pthread_mutex_unlock(&w->lock);
	return have;
}

static bool measure_threads(uint32_t count, struct fibres_result *out)
{
	struct waiting w = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	pthread_t *threads = calloc(count, sizeof(*threads));
	double before_bytes = machine_resident_bytes();
	pthread_attr_t attr;
	uint32_t made = 0;

	if (threads == NULL || pthread_attr_init(&attr) != 0) {
		free(threads);
		return false;
	}
	(void)pthread_attr_setstacksize(&attr, fibres_stack_bytes());
	while (made < count &&
	       pthread_create(&threads[made], &attr, wait_for_end, &w) == 0)
		made++;
	while (!have_begun(&w, made))
		sleep_ms(1);
	out->values[FIBRES_KERNEL_BYTES] =
		(machine_resident_bytes() - before_bytes) / (double)count;
	(void)pthread_mutex_lock(&w.lock);
	w.is_over = true;
	(void)pthread_cond_broadcast(&w.changed);
	(void)pthread_mutex_unlock(&w.lock);
	for (uint32_t i = 0; i < made; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_attr_destroy(&attr);
	free(threads);
	return made == count;
}

bool fibres_run(const struct fibres_config *config,
		const struct schedule *schedule, const struct cores *cores,
		struct fibres_result *out)
{
	struct run r = { .config = config };
	uint32_t *order = shuffle(config->count);
	bool ok;

	*out = (struct fibres_result){ .ended_count = 0 };
	ok = order != NULL && prepare_users(&r, order) &&
	     run_group(&r, order, schedule, cores, out) &&
	     measure_pick(schedule->policy->threads, config->switch_count,
			  out) &&
	     measure_stacks(config, order, out);
	if (ok && config->count <= FIBRES_THREADS_MAX)
		ok = measure_threads(config->count, out);
	free(r.users);
	free(order);
	return ok;
}
