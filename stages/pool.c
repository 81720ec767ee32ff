/* SPDX-License-Identifier: MIT */
/*
 * Pools of changing size: SEDA's thread pool controller, without a thread of
 * its own.
 *
 * A sender that finds a long queue adds a thread, a thread that was idle for
 * long leaves, the last one to come first.  All threads exist from the start;
 * those not in use are parked, and cost nothing.
 *
 * After Welsh, Culler and Brewer, SOSP 2001, section 3.4, as in Gordon,
 * UCAM-CL-TR-781, section 2.4.1: the controllers know nothing of each other,
 * and may well oscillate.  Their queue of 100 events is shorter here, as events
 * take milliseconds.
 */
#include "stages/group.h"

enum {
	POOL_LENGTH = 4,                  /* of a queue that asks for more */
	POOL_GROW_INTERVAL_NS = 20000000, /* at most one thread in that time */
};

void pool_consider(struct station *s, uint32_t queued_count, uint64_t now_ns)
{
	struct pool *p = &s->pool;
	uint64_t grown_ns = atomic_load(&p->grown_ns);
	uint32_t active = atomic_load(&p->active_count);

	if (queued_count <= POOL_LENGTH || active == p->thread_count ||
	    now_ns < grown_ns + POOL_GROW_INTERVAL_NS)
		return;
	/* One sender does it, unless a thread just left. */
	if (atomic_compare_exchange_strong(&p->grown_ns, &grown_ns, now_ns) &&
	    atomic_compare_exchange_strong(&p->active_count, &active,
					   active + 1))
		eventcount_wake_all(&p->parked, EVENTCOUNT_ANY);
}

bool pool_is_active(const struct pool *p, uint32_t lane)
{
	return lane < atomic_load(&p->active_count);
}

void pool_shrink(struct pool *p, uint32_t lane)
{
	uint32_t last = lane + 1;

	if (lane > 0)
		(void)atomic_compare_exchange_strong(&p->active_count, &last,
						     lane);
}

bool pool_park(struct worker *w, struct pool *p)
{
	uint32_t ticket = eventcount_prepare(&p->parked);

	if (pool_is_active(p, w->lane) || group_is_drained(w->group))
		eventcount_cancel(&p->parked);
	else
		(void)worker_sleep(w, &p->parked, ticket, EVENTCOUNT_ANY, 0);
	return !group_is_drained(w->group);
}
