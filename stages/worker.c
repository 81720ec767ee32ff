/* SPDX-License-Identifier: MIT */
/*
 * Workers: pick a stage, visit it, pick again; nothing to visit: sleep.
 *
 * The policy picks among the stations of the worker's part, the regime says how
 * long the visit lasts, the thresholds what interrupts it.
 *
 * A worker that finds nothing sleeps at once, where the papers' look again for
 * exponentially longer times: a send wakes it within some 7 us (stages_bench
 * --wake), and looking takes the core from whoever sends.
 */
#include "stages/group.h"

#include "stages/cores.h"

#include <assert.h>

/* Every now and then, what the policy may know of each stage. */
static void measure(struct worker *w, uint64_t now_ns)
{
	struct group *g = w->group;

	if (!g->schedule.policy->reads_rates ||
	    now_ns - w->measured_ns < MEASURE_INTERVAL_NS)
		return;
	w->measured_ns = now_ns;
	w->measured_count++;
	for (uint32_t i = 0; i < w->station_count; i++) {
		const struct stage *s = w->stations[i]->stage;

		if (s == NULL)
			continue;
		struct measure_totals totals = stage_totals(s);
		uint32_t workers =
			g->schedule.balance == BALANCE_PARTITION ?
				g->parts[atomic_load(&s->part)].core_count :
				g->worker_count;

		measure_update(&w->measures[i], &totals, now_ns, workers,
			       &w->views[i]);
	}
}

/* Ask the policy, and hold it to the contract of policy_pick_fn. */
static uint32_t pick(struct worker *w)
{
	struct group_view view = {
		.stages = w->views,
		.stage_count = w->station_count,
		.measured_count = w->measured_count,
		.is_gated = regime_is_gated(&w->group->schedule.regime),
	};
	bool any = false;

	for (uint32_t i = 0; i < w->station_count; i++) {
		w->views[i].queued_count = worker_open_count(w, i);
		any |= w->views[i].queued_count > 0;
	}
	uint32_t at = w->group->schedule.policy->pick(w->policy_state, &view);

	assert(any == (at != POLICY_IDLE));
	assert(!any ||
	       (at < w->station_count && w->views[at].queued_count > 0));
	return at;
}

/* The longest queue of another replica; NULL: all are empty. */
static struct station *longest_elsewhere(const struct worker *w)
{
	const struct group *g = w->group;
	struct station *longest = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < g->stage_count; i++)
		for (uint32_t p = 0; p < g->part_count; p++) {
			const struct stage *s = g->stages[i];
			uint32_t count;

			if (p == w->part || s->config.type != STAGE_SHARED)
				continue;
			count = station_waiting_count(s->stations[p]);
			if (count <= most)
				continue;
			most = count;
			longest = s->stations[p];
		}
	return longest;
}

/*
 * Handle a share of another replica's queue, one in as many as there are
 * replicas, as long as the regime lets a visit last.  What the handlers send
 * goes on in the thief's replica.  False: there was nothing.
 *
 * After Larus and Parkes, technical report, BalanceLoad.  Deviations: a thief
 * has nothing to do at all, where theirs had fewer than four events; and the
 * share stays where it is until it is handled, where theirs moved.
 */
static bool steal(struct worker *w)
{
	struct station *from = longest_elsewhere(w);

	if (from == NULL)
		return false;
	uint32_t share = station_waiting_count(from) / w->group->part_count;

	tally_add(&w->stolen_count,
		  worker_visit_elsewhere(w, from, share > 0 ? share : 1));
	return true;
}

/* One visit, if there is one to make. */
static bool work(struct worker *w)
{
	uint32_t at = pick(w);

	if (at == POLICY_IDLE)
		return w->group->schedule.steal && steal(w);
	measure(w, worker_visit(w, at));
	return true;
}

/* Is there something to do?  Looks only, at what pick() and steal() see. */
static bool has_work(struct worker *w)
{
	for (uint32_t i = 0; i < w->station_count; i++)
		if (worker_open_count(w, i) > 0)
			return true;
	return w->group->schedule.steal && longest_elsewhere(w) != NULL;
}

bool worker_sleep(struct worker *w, struct eventcount *ec, uint32_t ticket,
		  uint32_t who, uint64_t patience_ns)
{
	if (!COUNTING_IS_ON)
		return eventcount_wait(ec, ticket, who, patience_ns);

	uint64_t start_ns = group_now_ns(), end_ns;

	atomic_store_explicit(&w->asleep_since_ns, start_ns,
			      memory_order_relaxed);
	tally_add(&w->asleep_ns, -start_ns);

	bool was_woken = eventcount_wait(ec, ticket, who, patience_ns);

	end_ns = group_now_ns();
	tally_add(&w->asleep_ns, end_ns);
	/* Pair A of trace.c: who has read of this sleep sees its end. */
	atomic_store_explicit(&w->asleep_since_ns, 0, memory_order_relaxed);
	trace_add(&w->trace, &(struct span){
				     .start_ns = start_ns,
				     .end_ns = end_ns,
				     .kind = SPAN_SLEEP,
			     });
	return was_woken;
}

/* Until there may be work.  False: the group is drained. */
static bool sleep_for_work(struct worker *w)
{
	struct pool *p = &w->stations[0]->pool;
	uint32_t ticket = eventcount_prepare(w->sleeps);

	if (has_work(w) || group_is_drained(w->group)) {
		eventcount_cancel(w->sleeps);
		return !group_is_drained(w->group);
	}
	worker_rests(w);
	tally_add(&w->sleep_count, 1);
	if (!worker_sleep(w, w->sleeps, ticket, w->who,
			  p->is_auto && w->lane > 0 ? POOL_PATIENCE_NS : 0))
		pool_shrink(p, w->lane);
	return true;
}

void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct group *g = w->group;

	(void)pthread_setname_np(pthread_self(), w->name);
	/* Refused (a container may): it runs all the same, unpinned. */
	(void)cores_bind(g->cores, w->core_first, w->core_count);
	stage_handle_here(g, w, w->part);
	atomic_store(&w->counts_hardware, perf_open(&w->perf));
	for (bool goes_on = true; goes_on;) {
		struct pool *p = &w->stations[0]->pool;

		if (p->thread_count > 0 && !pool_is_active(p, w->lane))
			goes_on = pool_park(w, p);
		else if (!work(w))
			goes_on = sleep_for_work(w);
	}
	perf_close(&w->perf);
	return NULL;
}
