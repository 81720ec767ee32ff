/* SPDX-License-Identifier: MIT */
#include "stages/regime.h"

bool regime_is_gated(const struct regime *r)
{
	return r->kind == REGIME_GATED || r->kind == REGIME_N_GATED ||
	       r->kind == REGIME_CUTOFF;
}

struct visit visit_begin(const struct regime *r, uint32_t queued_count,
			 uint64_t now_ns)
{
	struct visit v = {
		.events_max = regime_is_gated(r) ? queued_count : UINT32_MAX,
		.end_ns = UINT64_MAX,
		.cutoff_ns = UINT64_MAX,
	};

	if (r->kind == REGIME_N_GATED && r->limit < v.events_max)
		v.events_max = (uint32_t)r->limit;
	if (r->kind == REGIME_TIME_GATED && r->limit < UINT64_MAX - now_ns)
		v.end_ns = now_ns + r->limit;
	if (r->kind == REGIME_CUTOFF)
		v.cutoff_ns = r->limit;
	return v;
}

bool visit_goes_on(const struct visit *v, uint64_t now_ns)
{
	return v->handled_count < v->events_max && now_ns < v->end_ns;
}

bool threshold_is_exceeded(const struct threshold *t, uint32_t queued_count,
			   uint64_t last_visit_ns, uint64_t now_ns)
{
	bool is_long = t->queued_count > 0 && queued_count > t->queued_count;
	/* Another worker may have been there since the clock was read. */
	bool is_late = t->unvisited_ns > 0 && now_ns > last_visit_ns &&
		       now_ns - last_visit_ns > t->unvisited_ns;

	return queued_count > 0 && (is_long || is_late);
}
